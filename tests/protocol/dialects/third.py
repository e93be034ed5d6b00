"""A dialect that there is not, 2.x: written as one `Dialect` and one `Shapes`, and known to nobody but its choice.

RUN_FINISHED says how the run ended in one member, ``end``, in words of its own; questions are called so; the content of
a tool message is an object. `in_1_x` tells the judge of streams what that is in 1.x.
"""

import json
from collections.abc import Collection, Sequence, Set
from typing import Any

import msgspec

from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, Style
from agui_gate.core.sequencer import LastEvent, RunName
from agui_gate.core.stop_reasons import DRAINED, Stop
from agui_gate.core.transcript import CARD_TOOL, CallPart, CardClosedEntry, CardEntry, Entry, ResultEntry
from agui_gate.protocol.dialects.base import Deployment, Dialect, Place, Result, RunClient, Shapes, Told, View, stopped
from agui_gate.protocol.run_input import RunInput
from agui_gate.protocol.snapshot import as_run

Json = dict[str, Any]
VERSION = "2.0"


class RunEnded(ev.Event, tag="RUN_FINISHED"):
    """The end of a run."""

    thread_id: str
    run_id: str
    end: Json
    usage: tuple[Any, ...] = ()


class Third:
    """See `Dialect`: what the request held is never said twice, and anything else is said by results."""

    def __init__(self, client: RunClient, style: Style, shapes: Shapes) -> None:
        self.client, self.style, self.shapes = client, style, shapes
        self.snapshot_due = False
        messages = client.input.messages
        self.sent = {call.id for message in messages for call in message.tool_calls or ()}
        self.answered = {message.tool_call_id for message in messages if message.role == "tool"}

    @property
    def snapshot_due_at_end(self) -> bool:
        return self.snapshot_due

    def held_back(self, gated: Set[str], tasks: Set[str]) -> Set[str] | None:
        return {*gated, *tasks} if self.style == "card" else tasks if self.client.input.client_tools else None

    def interrupts(self, *, waits_for_page: bool) -> bool:
        return self.style == "interrupt"

    def retires_cards(self) -> bool:
        return True

    def has_outcome(self, call_id: str) -> bool:
        return call_id in self.answered & self.sent

    def saw_end(self, said: Collection[str]) -> bool:
        return bool(said)

    def behind(self) -> None:
        self.snapshot_due = True

    def decided(self, call: CallPart | None, record: Approval) -> None:
        if call is not None and call.shown == "when_decided" and call.id not in self.sent:
            self.client.show(call, as_run(call.arguments, record))

    def outcome(self, call: CallPart | None, record: Approval, result: Result) -> None:
        self._say(call, record, result)

    def task_result(self, call: CallPart, record: Approval | None, result: Result) -> None:
        self._say(call, record, result)

    def _say(self, call: CallPart | None, record: Approval | None, result: Result) -> None:
        late = call is not None and call.shown in ("when_done", "when_decided")
        if result.call_id in self.answered or (late and result.call_id in self.sent):
            self.snapshot_due = True
            self.client.seq.restated(result.call_id)
            return
        if call is not None and late:
            self.client.show(call, None if record is None else as_run(call.arguments, record))
        self.client.lane_of(result.call_id).result(*result)

    def gave_up(self, result: Result) -> None:
        self.client.seq.leave_open([result.call_id])
        self.snapshot_due = True

    def card_ended(self, result: Result) -> None:
        self.snapshot_due = True


class ThirdView:
    """See `View`: what is open is shown where it is asked about, and what is over where it was told."""

    def __init__(self, style: Style) -> None:
        self.style = style

    def place(self, call: CallPart, result: ResultEntry | None, record: Approval | None) -> Place:
        if result is not None and result.given_up:
            return Place.NOWHERE
        if call.shown in ("when_done", "when_decided"):
            told = result is not None or (record is not None and record.output is not None and not record.is_begun)
            asked = record is not None and record.is_pending and self.style == "interrupt"
            return Place.DECIDED if told else Place.HERE if asked else Place.NOWHERE
        return Place.AFTER if call.shown == "after_turn" else Place.HERE

    def cards(self, entries: Sequence[Entry]) -> Set[str]:
        closed = [entry for entry in entries if isinstance(entry, CardClosedEntry)]
        answered = {entry.card_id for entry in closed if entry.by_client}
        over = {entry.card_id for entry in closed}
        shown = {entry.id for entry in entries if isinstance(entry, CardEntry) and self.style == "card"}
        return answered | (shown - over)

    def shows_end(self, closed: CardClosedEntry) -> bool:
        return closed.by_client

    def fit(self, messages: Sequence[Json]) -> Set[str]:
        for message in messages:
            if message["role"] == "tool" and not isinstance(message["content"], dict):
                message["content"] = {"text": message["content"]}
        return frozenset()


class ThirdShapes:
    """See `Shapes`."""

    version: str | None = VERSION
    remedy = ""

    def style(self, hitl: str, run: RunInput) -> Style:
        return "card" if CARD_TOOL in run.client_tools else "interrupt"

    def view(self, style: Style) -> View:
        return ThirdView(style)

    def dialect(self, client: RunClient, style: Style) -> Dialect:
        return Third(client, style, self)

    def asked(self, style: Style, pending: Sequence[Approval], bare: Sequence[Approval]) -> Sequence[Approval]:
        return pending if bare or style == "interrupt" else ()

    def messages(self, made: msgspec.Raw) -> Told:
        read = msgspec.json.decode(made)
        return Told(msgspec.Raw(msgspec.json.encode(read)), ThirdView("card").fit(read))

    def frames(self, data: bytes) -> tuple[bytes, Set[str]]:
        return b"\n\n".join(map(self._frame, data.split(b"\n\n"))), frozenset()

    def _frame(self, frame: bytes) -> bytes:
        head, _, said = frame.partition(b"\ndata: ")
        if not said.startswith(b'{"type":"MESSAGES_SNAPSHOT"'):
            return frame
        event = msgspec.json.decode(said)
        ThirdView("card").fit(event["messages"])
        return head + b"\ndata: " + msgspec.json.encode(event)

    def finished(
        self, run: RunName, outcome: ev.Finished | None, owed: Sequence[str], usage: tuple[Any, ...], result: Any
    ) -> ev.Event:
        if isinstance(outcome, ev.InterruptOutcome):
            questions = [_question(msgspec.to_builtins(one)) for one in outcome.interrupts]
            return RunEnded(*run, {"how": "asks", "questions": questions}, usage)
        return RunEnded(*run, {"how": "done", "owed": list(owed), "result": result}, usage)

    def stopped(self, run: RunName, why: Stop, usage: tuple[Any, ...]) -> LastEvent:
        if why == DRAINED:
            return LastEvent(ev.RunError(why.message, why.code, usage))
        return LastEvent(RunEnded(*run, {"how": "stopped", "why": why.message}, usage))

    def last_event(self, event: Json, run: RunName) -> tuple[Any, Set[str]]:
        if event["type"] == "RUN_ERROR" and stopped(event) is None:
            return event, frozenset()
        usage = tuple(event.get("usage", ()))
        if "end" in event:
            return RunEnded(*run, event["end"], usage), frozenset()
        if (why := stopped(event)) is not None:
            return self.stopped(run, why, usage)
        outcome = event.get("outcome") or {}
        if outcome.get("type") == "interrupt":
            end: Json = {"how": "asks", "questions": [_question(one) for one in outcome["interrupts"]]}
        else:
            end = {"how": "done", "owed": outcome.get("pendingToolCallIds", []), "result": event.get("result")}
        return RunEnded(*run, end, usage), frozenset()


def _question(interrupt: Json) -> Json:
    return {"question": interrupt["id"], "call": interrupt["toolCallId"], "text": interrupt["message"]}


class ByVersion:
    """A `Choice`: the third dialect for who declares it, and what there is for the others."""

    def choose(self, run: RunInput, *, reads_stops: bool = False) -> Shapes:
        if run.protocol_version == VERSION:
            return ThirdShapes()
        return Deployment.AUTO.choose(run, reads_stops=reads_stops)


def in_1_x(event: Json) -> Json:
    """What an event says, for who reads 1.x."""
    if event["type"] == "MESSAGES_SNAPSHOT":
        said = [message["content"] for message in event["messages"] if message["role"] == "tool"]
        assert all(isinstance(content, dict) for content in said), "every snapshot has its shapes"
        told = [m | {"content": m["content"]["text"]} if m["role"] == "tool" else m for m in event["messages"]]
        return event | {"messages": told}
    if event["type"] != "RUN_FINISHED":
        return event
    assert "outcome" not in event, "every end has its shapes"
    end = event.pop("end")
    match end["how"]:
        case "asks":
            asked = [
                {"id": one["question"], "reason": "tool_call", "toolCallId": one["call"], "message": one["text"]}
                for one in end["questions"]
            ]
            return event | {"outcome": {"type": "interrupt", "interrupts": asked}}
        case "stopped":
            return event | {"outcome": {"type": "cancelled"}}
    owed = {"pendingToolCallIds": end["owed"]} if end["owed"] else {}
    return event | {"outcome": {"type": "success", **owed}}


def translated(raw: str) -> str:
    """A stream of the third dialect as one of 1.x."""
    frames = [frame.partition("\ndata: ") for frame in raw.split("\n\n") if frame]
    return "".join(
        f"{head}{mark}{json.dumps(in_1_x(json.loads(said)))}\n\n" if said else f"{head}\n\n"
        for head, mark, said in frames
    )
