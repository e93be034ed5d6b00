"""The judge: checks a stream against every rule that a stream can show.

    assert_conforms(response.text, input=request)

It is a pure fold over the events. Each event goes to a few small judges. They share what a page that reads the stream
knows at that point (`Page`), which is brought up to date after the event.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agui_gate_adapters.testkit.spec import lifecycle
from agui_gate_adapters.testkit.spec.frames import BINARY, Frame, binary_frames, framed, frames
from agui_gate_adapters.testkit.spec.items import Calls, Chunks, Items
from agui_gate_adapters.testkit.spec.lifecycle import Lifecycle, Subagents
from agui_gate_adapters.testkit.spec.page import Page
from agui_gate_adapters.testkit.spec.rules import Breach, Finding, Json, finding
from agui_gate_adapters.testkit.spec.shapes import EVENTS, breach, faults
from agui_gate_adapters.testkit.spec.snapshots import Snapshots

JUDGED = frozenset(
    (
        *("GEN-1", "EVT-1", "EVT-2", "EVT-3", "EVT-4", "EVT-6", "IN-1", "IN-6", "IN-10", "VER-1", "META-1", "STR-1"),
        *("STR-2", "SNAP-2", "INT-1", "INT-2", "TR-1", "SSE-1", "SSE-2", "LIFE-1", "LIFE-2", "LIFE-3"),
        *("LIFE-5", "LIFE-6", "LIFE-7", "LIFE-8", "LIFE-9", "USE-1", "USE-2", "USE-3", "TEXT-1", "TEXT-2", "TOOL-2"),
        *("TOOL-4", "TOOL-5", "TOOL-6", "STATE-1", "STATE-2", "ACT-1", "REAS-1", "REAS-2", "REAS-5", "SUB-1"),
        *("SUB-2", "SUB-3", "SUB-4", "PASS-1"),
    )
)
"""The rules that a stream can show: any of them may be in a finding."""


def judge(
    stream: str | bytes | Sequence[Json],
    *,
    input: Mapping[str, Any] | None = None,
    replays: bool = False,
    media: str = "text/event-stream",
) -> list[Finding]:
    """Finds the rules that a whole stream breaks, in its order.

    ``stream`` is a body as it stood on the wire, of this ``media`` type (SSE's or `BINARY`), or its events.
    ``input`` is the request that it answers: without it, what depends on it isn't judged. ``replays``: the stream shows
    earlier runs, as after reconnecting.
    """
    if isinstance(stream, bytes) and media == BINARY:
        read, found = binary_frames(stream)
    elif isinstance(stream, str | bytes):
        read, found = frames(stream)
    else:
        read, found = framed(list(stream)), []
    return sorted([*found, *_Fold(dict(input or {}), replays).judge(read)], key=_place)


def _place(one: Finding) -> float:
    return float("inf") if one.frame is None else one.frame


class _Fold:
    """All that is known at one place of the stream."""

    def __init__(self, given: Json, replays: bool) -> None:
        self.page = Page(given, replays=replays)
        self.chunks = Chunks()
        self.lifecycle = Lifecycle(given, replays)
        self.judges = (
            self.lifecycle.judge,
            Items(self.page).judge,
            Calls(self.page).judge,
            Snapshots(self.page).judge,
            Subagents().judge,
            lifecycle.judge_usage,
            lifecycle.judge_passthrough,
        )

    def judge(self, read: Sequence[Frame]) -> Iterator[Finding]:
        for number, frame in enumerate(read):
            if frame.event is not None:
                for told in self._event(frame.event):
                    yield finding(told, number, frame.text)
        for told in self.lifecycle.end():
            yield finding(told)

    def _event(self, event: Json) -> Iterator[Breach]:
        kind = event.get("type")
        if kind not in EVENTS:
            yield Breach("EVT-1", f"{kind!r} is not an event type")
            return
        for fault in faults(event):
            yield breach(str(kind), fault)
        yield from self.chunks.judge(event)
        for plain in self.chunks.unfolded(event):
            for one in self.judges:
                yield from one(plain)
            self.page.see(plain)


DOWNGRADED = frozenset({"TOOL-4", "TOOL-5", "TOOL-6", "STATE-2", "LIFE-8"})
"""Rules that are younger than the clients of 0.x, which know another way for what they are about."""


def is_older(given: Mapping[str, Any]) -> bool:
    """Whether a request is of a client of 0.x: one that declares no version, or one before 1.0."""
    version = given.get("protocolVersion")
    return version is None or (isinstance(version, str) and version.startswith("0."))


def breaches(
    stream: str | bytes | Sequence[Json],
    *,
    input: Mapping[str, Any] | None = None,
    replays: bool = False,
    departs: Iterable[str] = (),
    notes: Container[str] = (),
) -> list[Finding]:
    """Returns the findings of `judge` but those that a test expects (``departs``) or a 0.x client needs.

    ``notes``: rules whose notes count as well, where a server promises more than the specification asks.
    """
    left_out = {*departs, *(DOWNGRADED if input is not None and is_older(input) else ())}
    found = judge(stream, input=input, replays=replays)
    return [one for one in found if one.rule not in left_out and (one.strength != "note" or one.rule in notes)]


def assert_conforms(
    stream: str | bytes | Sequence[Json],
    *,
    input: Mapping[str, Any] | None = None,
    replays: bool = False,
    departs: Iterable[str] = (),
) -> None:
    """Fail with every rule, MUST or SHOULD, that the stream doesn't keep. ``departs``: ids that it may break."""
    found = breaches(stream, input=input, replays=replays, departs=departs)
    assert not found, "the stream breaks the specification:\n" + "\n".join(map(str, found))
