"""The judge: holds a stream to every rule that a stream can show. A pure fold over its events.

Each event goes to a few small judges. They share what a page that reads the stream knows at that point (`Page`), which
is brought up to date after the event.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agui_gate_adapters.testkit.spec import binary, passthrough, usage
from agui_gate_adapters.testkit.spec.calls import Calls
from agui_gate_adapters.testkit.spec.chunks import Chunks
from agui_gate_adapters.testkit.spec.fault_rules import breach
from agui_gate_adapters.testkit.spec.finding import Breach, Finding, Json, finding
from agui_gate_adapters.testkit.spec.frames import Frame, framed, frames
from agui_gate_adapters.testkit.spec.items import Items
from agui_gate_adapters.testkit.spec.lifecycle import Lifecycle
from agui_gate_adapters.testkit.spec.page import Page
from agui_gate_adapters.testkit.spec.shapes import EVENTS, faults
from agui_gate_adapters.testkit.spec.snapshots import Snapshots
from agui_gate_adapters.testkit.spec.subagents import Subagents

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
    """What a whole stream does against the rules, in its order.

    ``stream`` is a body as it stood on the wire, of this ``media`` type (SSE's or `BINARY`), or its events.
    ``input`` is the request that it answers: without it, what depends on it isn't judged. ``replays``: the stream shows
    earlier runs, as after reconnecting.
    """
    if isinstance(stream, bytes) and media == binary.BINARY:
        read, found = binary.frames(stream)
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
            usage.judge,
            passthrough.judge,
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
