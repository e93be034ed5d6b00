"""The dialect of clients that declare 1.0 or newer: the rules of the specification.

A call of the frontend's is answered by the frontend alone (TOOL-4), and what a run leaves unanswered is what a page has
to answer (TOOL-6). Nothing is sent again that the request already held (LIFE-8): a snapshot restates it. A run that was
stopped has the outcome `cancelled`, with the reason in its metadata; the end of the process is an error.

So readers are not shown

* a call of the client's that was given up, nor what the model was told in the place of its result;
* a card that nobody can answer any more and that its page has not answered;
* where people are asked by cards, a gated call that nobody has decided. It was held back from the stream, and stands
  where it was streamed in the end: with its result, where the run stood that decided it. If `connect` told it before,
  it stands before what is said next;
* where the page has tools of its own, a call that delegates a task while that is at work;
* where people are asked by interrupts, cards that are open. The gated calls are shown then, unanswered.

A call whose gate let it go free was held back until its turn was over, and stands behind what the turn showed at once.
See docs/adr/0017-no-server-results-for-frontend-calls.md.

Extras are two optional members of the last event, `pendingToolCallIds` and `expiresAt`, on which a 0.0.59 parser
chokes. They are sent where the operator says that every browser is new enough (`base.Deployment`).
"""

from collections.abc import Collection, Sequence, Set
from functools import cached_property
from typing import Any

import msgspec

from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, Style
from agui_gate.core.events import PROTOCOL_VERSION
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
from agui_gate.protocol.snapshot import as_run


class V1:
    """See `Dialect`."""

    def __init__(self, client: RunClient, style: Style, shapes: Shapes) -> None:
        self._client, self.style, self.shapes = client, style, shapes
        self.snapshot_due = False

    @property
    def snapshot_due_at_end(self) -> bool:
        """Whatever is due: nothing says it later."""
        return self.snapshot_due

    def held_back(self, gated: Set[str], tasks: Set[str]) -> Set[str] | None:
        """Returns gated calls, where nothing but the card is left to the page (TOOL-6). Tasks, where the page has tools
        for which they may wait: a task that waits for the page ends the run as a success (TOOL-5).
        """
        waiting = tasks if self._client.input.client_tools else frozenset()
        return gated | waiting if self.style == "card" else waiting or None

    def interrupts(self, *, waits_for_page: bool) -> bool:
        """Returns whether people are asked by interrupt, whatever else is waited for."""
        return self.style == "interrupt"

    def retires_cards(self) -> bool:
        """Cards and interrupts are never open together."""
        return True

    def has_outcome(self, call_id: str) -> bool:
        """Returns whether it sent the call, which was held back till then, and its result."""
        return call_id in self._answered and call_id in self._calls_sent

    def saw_end(self, said: Collection[str]) -> bool:
        """Returns whether a card's end was told. No result tells it, so what was said to the card is all there is to
        know it by.
        """
        return bool(said)

    def behind(self) -> None:
        """Has a snapshot say how the answer begins (SNAP-1)."""
        self.snapshot_due = True

    def decided(self, call: CallPart | None, record: Approval) -> None:
        """Shows a call that was held back for that, unless the client has it from a snapshot."""
        if call is not None and call.shown == "when_decided" and call.id not in self._calls_sent:
            self._client.show(call, as_run(call.arguments, record))

    def outcome(self, call: CallPart | None, record: Approval, result: Result) -> None:
        """Streams the result; but a snapshot where the request held something in its place (LIFE-8)."""
        if result.call_id in self._answered:
            self.snapshot_due = True
            return
        self.decided(call, record)
        self._client.lane_of(result.call_id).result(*result)

    def task_result(self, call: CallPart, record: Approval | None, result: Result) -> None:
        """Streams the result; but a snapshot where the request held something of it (LIFE-8).

        A call that was held back until its task is done is shown now.
        """
        late = call.shown in ("when_done", "when_decided")
        if call.id in self._results_sent or (late and call.id in self._calls_sent):
            self.snapshot_due = True
            self._client.seq.restated(call.id)
            return
        if late:
            self._client.show(call, None if record is None else as_run(call.arguments, record))
        self._client.lane_of(call.id).result(*result)

    def gave_up(self, result: Result) -> None:
        """Takes back the call by a snapshot: nobody but the page answers its calls (TOOL-4)."""
        self._client.seq.leave_open([result.call_id])
        self.snapshot_due = True

    def card_ended(self, result: Result) -> None:
        """Takes back the card by a snapshot: it is a call of the page's, too (TOOL-4)."""
        self.snapshot_due = True

    @cached_property
    def _calls_sent(self) -> frozenset[str]:
        """The calls that the client sent with its history."""
        return frozenset(call.id for message in self._client.input.messages for call in message.tool_calls or ())

    @cached_property
    def _answered(self) -> frozenset[str]:
        """The calls that have a tool message in the client's history: a result, or what somebody said to the call."""
        return frozenset(m.tool_call_id or "" for m in self._client.input.messages if m.role == "tool")

    @cached_property
    def _results_sent(self) -> frozenset[str]:
        """The calls that have anything in the place of a result."""
        return frozenset(message.tool_call_id for message in self._client.input.messages if message.tool_call_id)


class V1View:
    """See `View`. ``style``: how the reader is asked."""

    def __init__(self, style: Style) -> None:
        self._interrupts = style == "interrupt"

    def place(self, call: CallPart, result: ResultEntry | None, record: Approval | None) -> Place:
        """See the module."""
        if result is not None and result.given_up:
            return Place.NOWHERE
        if call.shown == "when_done" or (call.shown == "when_decided" and record is not None and record.is_begun):
            return Place.NOWHERE if result is None else Place.DECIDED
        if call.shown != "when_decided":
            return Place.HERE if call.shown == "at_once" else Place.AFTER
        if record is not None and record.output is not None:
            return Place.DECIDED
        return Place.HERE if self._interrupts else Place.NOWHERE

    def cards(self, entries: Sequence[Entry]) -> Set[str]:
        """Returns the cards that the page has answered, and open ones where people are asked by cards."""
        closed = [entry for entry in entries if isinstance(entry, CardClosedEntry)]
        answered = {entry.card_id for entry in closed if entry.by_client}
        if self._interrupts:
            return answered
        cards = {entry.id for entry in entries if isinstance(entry, CardEntry)}
        return answered | cards.difference(entry.card_id for entry in closed)

    def shows_end(self, closed: CardClosedEntry) -> bool:
        """Returns whether the page itself answered: it shows its own answer alone."""
        return closed.by_client

    def fit(self, messages: Sequence[Message]) -> Set[str]:
        """Leaves messages as they are: they have these shapes."""
        return frozenset()


class V1Shapes:
    """See `Shapes`. ``extras``: whether the optional members are sent."""

    def __init__(self, *, extras: bool = False) -> None:
        self.version: str | None = PROTOCOL_VERSION
        self.remedy = ""  # nothing is ever lost
        self.extras = extras

    def style(self, hitl: str, run: RunInput) -> Style:
        """Returns ``card`` only where the page has one: nothing is called that nobody advertised (TOOL-5)."""
        return "card" if hitl != "interrupt" and CARD_TOOL in run.client_tools else "interrupt"

    def view(self, style: Style) -> View:
        """Returns the view by how people are asked."""
        return V1View(style)

    def dialect(self, client: RunClient, style: Style) -> Dialect:
        """See `Shapes`."""
        return V1(client, style, self)

    def asked(self, style: Style, pending: Sequence[Approval], bare: Sequence[Approval]) -> Sequence[Approval]:
        """Returns all or nothing: cards and interrupts are never open together."""
        return pending if bare or style == "interrupt" else ()

    def messages(self, made: msgspec.Raw) -> Told:
        """Returns the messages as they are: they have these shapes."""
        return Told(made)

    def frames(self, data: bytes) -> tuple[bytes, Set[str]]:
        """Returns the frames as they are: the client's schema takes all that there is."""
        return data, frozenset()

    def finished(
        self, run: RunName, outcome: ev.Finished | None, owed: Sequence[str], usage: tuple[Any, ...], result: Any
    ) -> ev.Event:
        """RUN_FINISHED. What others are to give a result is named with extras; without, clients derive it."""
        if not self.extras:
            outcome = without_deadlines(outcome)
        elif outcome is None and owed:
            outcome = ev.SuccessOutcome(tuple(owed))
        return ev.RunFinished(*run, result, outcome, usage)

    def stopped(self, run: RunName, why: Stop, usage: tuple[Any, ...]) -> LastEvent:
        """Returns the outcome `cancelled`, and why, unless somebody wanted it. The end of the process is wanted by
        nobody.
        """
        if why == DRAINED:
            return LastEvent(ev.RunError(why.message, why.code, usage))
        said = {"code": why.code, "message": why.message}
        if why.reason is not None:
            said["reason"] = why.reason
        metadata = None if why == ASKED else {ev.METADATA: said}
        return LastEvent(ev.RunFinished(*run, None, ev.CancelledOutcome(), usage, metadata))

    def last_event(self, event: dict[str, Any], run: RunName) -> tuple[Any, Set[str]]:
        """Returns a stop as the outcome `cancelled`, whatever it was told as."""
        why = stopped(event)
        if why is not None:
            return self.stopped(run, why, tuple(event.get("usage", ())))
        named = renamed(event, run)
        return named if self.extras else without_extras(named), frozenset()
