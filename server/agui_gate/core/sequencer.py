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
  `leave_open` because a person or the client owes it. What is left without a result is named where extras are sent;
* a sub-agent is announced before it says anything, after its parents, and ends before RUN_FINISHED (`core/lane.py`).

The verifier of the real clients is the source of these rules (docs/clients.md#legal-streams).
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from agui_gate.core import events as ev
from agui_gate.core.dialect import PROTOCOL_VERSION, Dialect
from agui_gate.core.lane import Emit, Lane, Stream
from agui_gate.core.stop_reasons import ASKED, Stop

UNFINISHED = '{"status":"unknown","message":"What became of this call was not recorded. Check before trying again."}'
"""Content of the result of a call that nobody finished: what it came to, if it ran, could not be saved."""


class Sequencer(Lane):
    """One run's stream, and what the agent says on it that clients post to.

    ``emit`` takes each event in order; it must not raise.
    """

    __slots__ = ("_begun", "_dialect", "_run_id", "_thread_id")

    def __init__(self, thread_id: str, run_id: str, emit: Emit, dialect: Dialect = Dialect.V0) -> None:
        super().__init__(Stream(emit), emit)
        self._thread_id = thread_id
        self._run_id = run_id
        self._dialect = dialect
        self._begun = False

    def started(self) -> None:
        """RUN_STARTED."""
        if not self._begun:
            self._begun = self._stream.is_open = True
            self._emit(ev.RunStarted(self._thread_id, self._run_id, PROTOCOL_VERSION))

    @property
    def has_subagents(self) -> bool:
        """Whether a sub-agent was announced that has not ended."""
        return bool(self._stream.running)

    def knows(self, task: str) -> bool:
        """Whether the sub-agent of this id has a lane on this stream."""
        return task in self._stream.lanes

    # --- the end ------------------------------------------------------------------------------------------------
    def finish(self, outcome: ev.Finished | None = None, usage: Sequence[Any] = (), result: Any = None) -> None:
        """RUN_FINISHED of a run that has come to its own end."""
        self._finish(outcome, usage, result)

    def stop(self, why: Stop, usage: Sequence[Any] = ()) -> None:
        """The end of a run that was stopped before it was complete, as its dialect says that."""
        if self._dialect.v1:
            self._finish(ev.CancelledOutcome(), usage, metadata=why.metadata)
        elif why.reason is None or why.silent:
            self.fail(why.code, why.message, usage)
        else:
            self._finish(None, usage, {"reason": why.reason})

    def _finish(
        self,
        outcome: ev.Outcome | None,
        usage: Sequence[Any],
        result: Any = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        if self._close():
            self._end_subagents(outcome)
            if self._stream.owed:
                outcome = outcome or self._success()
            if isinstance(outcome, ev.InterruptOutcome) and not self._dialect.extras:
                outcome = _without_expiry(outcome)
            self._over(ev.RunFinished(self._thread_id, self._run_id, result, outcome, tuple(usage), metadata))

    def _success(self) -> ev.SuccessOutcome | None:
        """What a run that ends well left without a result, for others to give; nothing for clients that derive it."""
        return ev.SuccessOutcome(tuple(self._stream.owed)) if self._dialect.extras else None

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
        """End what is half said, and give the results that are still owed."""
        self.end_unfinished()
        for call_id, lane in list(self._stream.owed.items()):
            if lane is not None:
                lane.result(call_id, f"{call_id}-result", UNFINISHED)

    def _end_subagents(self, outcome: ev.Outcome | None) -> None:
        """End those that are still at work, the inner ones first: they wait for somebody, or were stopped."""
        asked = outcome.interrupts if isinstance(outcome, ev.InterruptOutcome) else ()
        for lane in reversed(list(self._stream.running.values())):
            if isinstance(outcome, ev.CancelledOutcome):
                lane.failed(ASKED.code, ASKED.message)
            else:
                lane.suspended([interrupt.id for interrupt in asked if interrupt.subagent_run_id == lane.id])

    def _close(self) -> bool:
        """End what is half said; False if the stream is over already (or never began)."""
        if not self._stream.is_open:
            return False
        self.settle()
        return True

    def _over(self, last: ev.Event) -> None:
        self._stream.is_open = False
        self._emit(last)


def _without_expiry(outcome: ev.InterruptOutcome) -> ev.InterruptOutcome:
    """The questions without `expiresAt`, where clients may choke on one that has passed."""
    if all(one.expires_at is None for one in outcome.interrupts):
        return outcome
    return ev.InterruptOutcome(tuple(msgspec.structs.replace(one, expires_at=None) for one in outcome.interrupts))
