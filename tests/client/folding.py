"""What our client makes of recorded bodies, without a socket; and that it is what client 1.0.0 makes of them."""

from collections.abc import Iterable
from typing import Any

from agui_gate.client.chunks import Chunks
from agui_gate.client.connection import Frames
from agui_gate.client.event_decoder import Reader
from agui_gate.client.fold import Fold
from tests.interop.replay import Case, Result, Run

PIECE = 97
"""Bytes that a body is cut into: frames end anywhere."""


def folded(fold: Fold, body: str) -> Fold:
    """Everything that a body says, folded."""
    frames, reader, chunks = Frames(10_000_000), Reader(), Chunks()
    sent = body.encode()
    payloads = [p for start in range(0, len(sent), PIECE) for p in frames.feed(sent[start : start + PIECE])]
    for payload in payloads + frames.flush():
        event = reader.read(payload)
        for one in chunks.unfolded(event) if event is not None else ():
            fold.apply(one)
    return fold


def takes_over(fold: Fold, run: Run) -> Fold:
    """What the harness does before a run: messages of the input, where they are new or replace all; its state."""
    messages = run.input.get("messages") or []
    state = run.input.get("state")
    if run.replace:
        fold = Fold(messages, fold.state)
    else:
        known = {message["id"] for message in fold.messages}
        for message in messages:
            if message["id"] not in known:
                fold.add(message)
    if state is not None:
        fold.state = state
    return fold


def as_folded_by_1_0(cases: Iterable[Case], results: Iterable[Result]) -> list[str]:
    """Where our fold differs from the real client's, after any run of any case that this one accepted."""
    by_name = {case.name: case for case in cases}
    wrong = []
    for result in results:
        if result.version != "1.0.0":
            continue
        fold = Fold()
        for number, (run, theirs) in enumerate(zip(by_name[result.case].runs, result.runs, strict=True)):
            if not theirs.accepted:
                break
            fold = folded(takes_over(fold, run), run.body)
            ours: dict[str, Any] = {"messages": fold.messages, "state": fold.state, "asked": fold.interrupts}
            real = {"messages": theirs.messages, "state": theirs.state, "asked": theirs.pending_interrupts}
            wrong += [
                f"{result.case}, run {number}, {name}:\n  ours {ours[name]}\n  1.0.0 {real[name]}"
                for name in ours
                if ours[name] != real[name]
            ]
    return wrong
