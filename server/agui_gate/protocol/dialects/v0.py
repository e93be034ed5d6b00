"""The dialect of clients that declare no version: 0.0.59 and its relatives, whose schemas refuse what came later.

Every call is shown where the model made it, whoever it belongs to, and every call that ends gets a result. People are
asked by interrupt only if nothing else is asked for (INT-1).

They have no word for a run that was stopped, and get what they know:

| stopped by | the last event |
|---|---|
| a person, the application, or the end of the process | RUN_ERROR `abort` |
| a limit of the agent or the server | RUN_ERROR `limit_reached` |
| a limit or filter of the provider (it has a ``reason``) | RUN_FINISHED, with the reason as its result |

Their schema refuses a whole snapshot for one shape that it doesn't know. It knows no `file` sources, and results that
are text alone. Such a part is left out, with nothing in its place; what is left empty is an empty string (VER-6,
TOOL-3). Everything else it takes, or strips by itself: the ids of parts, metadata of texts, names of results. What is
lost is told to developers (VER-7).
"""

from collections.abc import Collection, Sequence, Set
from typing import Any

import msgspec

from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, Style
from agui_gate.core.sequencer import LastEvent, RunName
from agui_gate.core.stop_reasons import ASKED, DRAINED, Stop
from agui_gate.core.transcript import CARD_TOOL, CallPart, CardClosedEntry, CardEntry, Entry, ResultEntry
from agui_gate.protocol.dialects.base import (
    Dialect,
    Message,
    Place,
    Result,
    RunClient,
    Shapes,
    Told,
    View,
    renamed,
    stopped,
    without_deadlines,
    without_extras,
)
from agui_gate.protocol.run_input import RunInput

CANCELLED = "that the run was stopped before its end, and did not fail (the outcome cancelled)"
_NOTHING, _A_STOP = frozenset[str](), frozenset({CANCELLED})
FILES = "parts of messages with a file handle (source file)"
RESULTS = "parts of results other than text"

DECLARE = "the client declares no version: use one of AG-UI 1.0 or newer"

_SNAPSHOT = b'\ndata: {"type":"MESSAGES_SNAPSHOT"'
_DATA = len(b"\ndata: ")


class V0:
    """See `Dialect`."""

    snapshot_due_at_end = False  # results say it all

    def __init__(self, client: RunClient, style: Style, shapes: Shapes) -> None:
        self._client, self.style, self.shapes = client, style, shapes
        self.snapshot_due = False

    def held_back(self, gated: Set[str], tasks: Set[str]) -> Set[str] | None:
        """Returns None: no calls are held back."""
        return None

    def interrupts(self, *, waits_for_page: bool) -> bool:
        """Returns whether people are asked by interrupt; not while the page owes results: such a client can't give both
        (INT-1).
        """
        return self.style == "interrupt" and not waits_for_page

    def retires_cards(self) -> bool:
        """Returns False: a new card alone ends an older one."""
        return False

    def has_outcome(self, call_id: str) -> bool:
        """Returns False: outcomes are told where the model made the call, so none comes before what is said now."""
        return False

    def saw_end(self, said: Collection[str]) -> bool:
        """Returns False: a card's end is a result, of which the journal knows whether it was told."""
        return False

    def behind(self) -> None:
        """Does nothing: such a client shows what it got."""

    def decided(self, call: CallPart | None, record: Approval) -> None:
        """Does nothing: the call is shown already."""

    def outcome(self, call: CallPart | None, record: Approval, result: Result) -> None:
        """Streams the result."""
        self._client.lane_of(result.call_id).result(*result)

    def task_result(self, call: CallPart, record: Approval | None, result: Result) -> None:
        """Streams the result."""
        self._client.lane_of(result.call_id).result(*result)

    def gave_up(self, result: Result) -> None:
        """Streams the result: the call would run for ever else."""
        self._client.lane_of(result.call_id).result(*result)

    def card_ended(self, result: Result) -> None:
        """Streams the result, so that the card loses its buttons."""
        self._client.seq.result(*result)


class V0View:
    """See `View`: everything, where the model said it."""

    def place(self, call: CallPart, result: ResultEntry | None, record: Approval | None) -> Place:
        """Returns the place where the model said it."""
        return Place.HERE

    def cards(self, entries: Sequence[Entry]) -> Set[str]:
        """Returns all cards."""
        return {entry.id for entry in entries if isinstance(entry, CardEntry)}

    def shows_end(self, closed: CardClosedEntry) -> bool:
        """Returns True, whoever answered."""
        return True

    def fit(self, messages: Sequence[Message]) -> Set[str]:
        """Leaves out of ``messages`` what the schema refuses."""
        lost: set[str] = set()
        for message in messages:
            content = message.get("content")
            if isinstance(content, list):
                if message["role"] == "tool":
                    message["content"] = _flat(content, lost)
                elif message["role"] == "user":
                    message["content"] = _without_files(content, lost)
        return lost


VIEW = V0View()


class V0Shapes:
    """See `Shapes`. ``reads_stops``: see `Choice.choose`."""

    def __init__(self, version: str | None = None, remedy: str = DECLARE, *, reads_stops: bool = False) -> None:
        self.version, self.remedy = version, remedy
        self._lost: Set[str] = _NOTHING if reads_stops else _A_STOP

    def style(self, hitl: str, run: RunInput) -> Style:
        """Returns ``card`` where the agent says so, also for a page that has none: it shows every call it gets."""
        return "card" if hitl == "card" or (hitl == "auto" and CARD_TOOL in run.client_tools) else "interrupt"

    def view(self, style: Style) -> View:
        """Returns the same view however people are asked."""
        return VIEW

    def dialect(self, client: RunClient, style: Style) -> Dialect:
        """See `Shapes`."""
        return V0(client, style, self)

    def asked(self, style: Style, pending: Sequence[Approval], bare: Sequence[Approval]) -> Sequence[Approval]:
        """Returns what has no card, beside the cards of the rest. For a page that knows no cards they are no cards."""
        return pending if style == "interrupt" else bare

    def messages(self, made: msgspec.Raw) -> Told:
        """Most have no parts, and cost nothing."""
        if b'"content":[' not in bytes(made):
            return Told(made)
        read: list[Message] = msgspec.json.decode(made)
        lost = VIEW.fit(read)
        return Told(msgspec.Raw(msgspec.json.encode(read)), lost)

    def frames(self, data: bytes) -> tuple[bytes, Set[str]]:
        """Few snapshots have anything that the schema refuses."""
        lost: set[str] = set()
        at = data.find(_SNAPSHOT)
        while at >= 0:
            begin = at + _DATA
            end = data.index(b"\n\n", begin)
            event = msgspec.json.decode(data[begin:end])
            if found := VIEW.fit(event["messages"]):
                data = data[:begin] + msgspec.json.encode(event) + data[end:]
                lost |= found
            at = data.find(_SNAPSHOT, begin)
        return data, lost

    def finished(
        self, run: RunName, outcome: ev.Finished | None, owed: Sequence[str], usage: tuple[Any, ...], result: Any
    ) -> ev.Event:
        """RUN_FINISHED; nothing of what is owed, which these clients derive."""
        return ev.RunFinished(*run, result, without_deadlines(outcome), usage)

    def stopped(self, run: RunName, why: Stop, usage: tuple[Any, ...]) -> LastEvent:
        """See the module. RUN_ERROR too where the provider stopped it before anything was said."""
        if why == DRAINED:
            why = ASKED
        if why.reason is None or why.silent:
            return LastEvent(ev.RunError(why.message, why.code, usage), self._lost)
        return LastEvent(ev.RunFinished(*run, {"reason": why.reason}, None, usage), self._lost)

    def last_event(self, event: dict[str, Any], run: RunName) -> tuple[Any, Set[str]]:
        """Returns a stop as these clients know it; of the rest nothing optional."""
        why = stopped(event)
        if why is not None:
            return self.stopped(run, why, tuple(event.get("usage", ())))
        return without_extras(renamed(event, run)), frozenset()


UNDECLARED = {reads_stops: V0Shapes(reads_stops=reads_stops) for reads_stops in (False, True)}
"""The shapes for clients that declare no version, by `reads_stops`."""


def _flat(parts: list[dict[str, Any]], lost: set[str]) -> str:
    texts = [part["text"] for part in parts if part["type"] == "text"]
    if len(texts) < len(parts):
        lost.add(RESULTS)
    return "".join(texts)


def _without_files(parts: list[dict[str, Any]], lost: set[str]) -> list[dict[str, Any]] | str:
    left = [part for part in parts if part["type"] == "text" or part["source"]["type"] != "file"]
    if len(left) < len(parts):
        lost.add(FILES)
    return left or ""
