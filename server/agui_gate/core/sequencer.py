"""The one way out: turns whatever happens in a run into a legal AG-UI stream.

Theory of operation
-------------------
The sequencer knows what is open: the run itself, text messages, reasoning and tool calls. It knows which calls still
owe the client a result, too. Its methods may be called in any order with any ids. What would be illegal on the wire is
repaired: a delta opens its message, a second START is ignored. Or it is dropped: anything after the terminal event. So:

* RUN_STARTED comes first, exactly once, and exactly one RUN_FINISHED or RUN_ERROR comes last;
* every START has its END before the terminal event, in the right nesting;
* no id is opened twice, or used for two messages; no delta is empty;
* every call that was started gets exactly one result before the terminal event, unless it was handed over with
  `leave_open` because a person or the client owes it;
* a sub-agent is announced before it says anything, after its parents, and ends before RUN_FINISHED (`core/lane.py`).

The verifier of the real clients is the source of these rules (docs/clients.md#legal-streams). What the last event looks
like is not the sequencer's business but that of the client's dialect (`LastEvents`).
"""

from collections.abc import Sequence, Set
from typing import Any, NamedTuple, Protocol

from agui_gate.core import events as ev
from agui_gate.core.lane import Emit, Lane, Stream
from agui_gate.core.stop_reasons import ASKED, Stop

UNFINISHED = '{"status":"unknown","message":"What became of this call was not recorded. Check before trying again."}'
"""Content of the result of a call that nobody finished: what it came to, if it ran, could not be saved."""


class RunName(NamedTuple):
    """The ids of a run, as its client knows them."""

    thread_id: str
    run_id: str


class LastEvent(NamedTuple):
    """The last event of a run; and in words, what it can't say to its client."""

    event: ev.Event
    lost: Set[str] = frozenset()


class LastEvents(Protocol):
    """The last events of a run, as one client reads them. RUN_FINISHED or RUN_ERROR, whatever their members are."""

    def finished(
        self, run: RunName, outcome: ev.Finished | None, owed: Sequence[str], usage: tuple[Any, ...], result: Any
    ) -> ev.Event:
        """Returns the end of a run that has come to its own end. ``owed``: the calls of this run without a result, for
        others to give.
        """

    def stopped(self, run: RunName, why: Stop, usage: tuple[Any, ...]) -> LastEvent:
        """Returns the end of a run that was stopped before it was complete. RUN_ERROR ends its sub-agents as well."""


class Sequencer(Lane):
    """The stream of one run, and what the agent says on it that clients post to.

    ``emit`` takes each event in order; it must not raise.
    """

    __slots__ = ("_begun", "_ends", "_run")

    def __init__(self, thread_id: str, run_id: str, emit: Emit, ends: LastEvents) -> None:
        super().__init__(Stream(emit), emit)
        self._run = RunName(thread_id, run_id)
        self._ends = ends
        self._begun = False

    def started(self) -> None:
        """Begins the stream with RUN_STARTED."""
        if not self._begun:
            self._begun = self._stream.is_open = True
            self._emit(ev.RunStarted(*self._run, ev.PROTOCOL_VERSION))

    @property
    def has_subagents(self) -> bool:
        """True if a sub-agent was announced that has not ended."""
        return bool(self._stream.running)

    def knows(self, task: str) -> bool:
        """Returns whether the sub-agent of this id has a lane on this stream."""
        return task in self._stream.lanes

    # --- the end ------------------------------------------------------------------------------------------------
    def finish(self, outcome: ev.Finished | None = None, usage: Sequence[Any] = (), result: Any = None) -> None:
        """Ends a run that has come to its own end."""
        if self._close():
            self._suspend_subagents(outcome)
            self._over(self._ends.finished(self._run, outcome, tuple(self._stream.owed), tuple(usage), result))

    def stop(self, why: Stop, usage: Sequence[Any] = ()) -> Set[str]:
        """Ends a run that was stopped before it was complete. Returns in words what can't be told of that."""
        if not self._close():
            return frozenset()
        last, lost = self._ends.stopped(self._run, why, tuple(usage))
        if not isinstance(last, ev.RunError):
            for lane in reversed(list(self._stream.running.values())):
                lane.failed(ASKED.code, ASKED.message)
        self._over(last)
        return lost

    def fail(self, code: str, message: str, usage: Sequence[Any] = ()) -> None:
        """RUN_ERROR, which ends sub-agents as well."""
        if self._close():
            self._over(ev.RunError(message, code, tuple(usage)))

    def end_unfinished(self) -> None:
        """See `Lane`. So it is with what sub-agents have half said."""
        super().end_unfinished()
        for lane in self._stream.lanes.values():
            lane.end_unfinished()

    def settle(self) -> None:
        """Ends what is half said, and gives the results that are still owed."""
        self.end_unfinished()
        for call_id, lane in list(self._stream.owed.items()):
            if lane is not None:
                lane.result(call_id, f"{call_id}-result", UNFINISHED)

    def _suspend_subagents(self, outcome: ev.Finished | None) -> None:
        """Ends those that are still at work, the inner ones first: they wait for somebody."""
        asked = outcome.interrupts if isinstance(outcome, ev.InterruptOutcome) else ()
        for lane in reversed(list(self._stream.running.values())):
            lane.suspended([interrupt.id for interrupt in asked if interrupt.subagent_run_id == lane.id])

    def _close(self) -> bool:
        """Ends what is half said; False if the stream is over already (or never began)."""
        if not self._stream.is_open:
            return False
        self.settle()
        return True

    def _over(self, last: ev.Event) -> None:
        self._stream.is_open = False
        self._emit(last)
