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
* a sub-agent is announced before it says anything, after its parents, and ends before RUN_FINISHED (`Lane`).

A lane is what one agent says on the stream, the entry agent or a sub-agent of it. All lanes share what is known of the
stream: which ids are taken, and which calls owe their results. What is open, each has for itself. So two sub-agents may
speak at once. A sub-agent announces itself, and its parents before it, with the first thing that it says (SUB-2). All
that it says is tagged with its id. What is said in its lane after its end has no tag: it is the run's, then (SUB-3). A
sub-agent of that id does not begin again on this stream (SUB-1).

The verifier of the real clients is the source of these rules (docs/clients.md#legal-streams). What the last event looks
like is not the sequencer's business but that of the client's dialect (`LastEvents`).
"""

from collections.abc import Callable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import msgspec

from agui_gate.core import events as ev
from agui_gate.core.stop_reasons import ASKED, Stop

Emit = Callable[[ev.Event], None]

ENDED = ("abort", "It was ended before it was done.")
"""Code and message of a sub-agent that nobody lets go on."""


NO_LANES: "Mapping[str, SubagentLane]" = MappingProxyType({})
"""The sub-agents of a stream that has none, which most are."""


class Stream:
    """The state that the lanes of one stream share."""

    __slots__ = ("calls", "emit", "is_open", "lanes", "running", "seen")

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.is_open = False
        self.seen: set[str] = set()  # every message id that was ever used; call ids are names of their own
        self.calls: dict[str, Lane | bool] = {}
        """Calls that were started, in order: who is to give the result, or True if it has one; False: not us."""
        self.lanes: Mapping[str, SubagentLane] = NO_LANES
        self.running: Mapping[str, SubagentLane] = NO_LANES
        """The sub-agents that were announced and have not ended, parents first."""


class Lane:
    """The lane of one agent. Its methods may be called in any order: what would be illegal is repaired or dropped."""

    __slots__ = ("_calls", "_emit", "_names", "_owner", "_reasoning", "_stream", "_texts")

    def __init__(self, stream: Stream, emit: Emit, owner: str | None = None) -> None:
        self._stream, self._emit, self._owner = stream, emit, owner
        self._texts: tuple[str, ...] = ()  # few at a time
        self._names: dict[str, str] = {}  # of who says messages that are to come
        self._reasoning: dict[str, bool] = {}  # id -> whether its visible message is open
        self._calls: tuple[str, ...] = ()  # between START and END

    def announce(self) -> None:
        """Has it announced, if it has to be."""

    def subagent(self, about: ev.SubagentStarted) -> "SubagentLane":
        """Returns the lane of a sub-agent of this one: one for each id, whatever else ``about`` says the next time."""
        lane = self._stream.lanes.get(about.subagent_run_id)
        if lane is None:
            lane = SubagentLane(self, about)
            self._stream.lanes = {**self._stream.lanes, lane.id: lane}
        return lane

    def named(self, message_id: str, name: str) -> None:
        """Notes that the assistant message of this id, which is to come, is said by the agent called ``name``."""
        self._names[message_id] = name

    # --- text ---------------------------------------------------------------------------------------------------
    def text(self, message_id: str, delta: str) -> None:
        """Streams a piece of assistant text; opens its message."""
        if message_id not in self._texts:
            if not (delta and self._begin(message_id)):
                return
            self._texts += (message_id,)
            self._emit(ev.TextMessageStart(message_id, "assistant", self._owner, self._names.pop(message_id, None)))
        if delta:
            self._emit(ev.TextMessageContent(message_id, delta, self._owner))

    def text_end(self, message_id: str) -> None:
        """Ends the message (nothing happens if it never had text)."""
        if message_id in self._texts:
            self._texts = tuple(one for one in self._texts if one != message_id)
            self._emit(ev.TextMessageEnd(message_id, self._owner))

    # --- reasoning ----------------------------------------------------------------------------------------------
    def reasoning(self, message_id: str, delta: str) -> None:
        """Streams a piece of visible reasoning; opens its span and message."""
        if not delta:
            return
        if message_id not in self._reasoning and not self._reasoning_start(message_id):
            return
        if not self._reasoning[message_id]:
            self._reasoning[message_id] = True
            self._emit(ev.ReasoningMessageStart(message_id, "reasoning", self._owner))
        self._emit(ev.ReasoningMessageContent(message_id, delta, self._owner))

    def reasoning_end(self, message_id: str, encrypted: str | None = None) -> None:
        """Ends the reasoning. A sealed value opens an empty span if nothing was visible."""
        if encrypted and message_id not in self._reasoning:
            self._reasoning_start(message_id)
        visible = self._reasoning.pop(message_id, None)
        if visible is None:
            return
        if encrypted and not visible:  # clients attach the value to a message, so there has to be one
            self._emit(ev.ReasoningMessageStart(message_id, "reasoning", self._owner))
            visible = True
        if visible:
            self._emit(ev.ReasoningMessageEnd(message_id, self._owner))
        if encrypted:
            self._emit(ev.ReasoningEncryptedValue("message", message_id, encrypted, self._owner))
        self._emit(ev.ReasoningEnd(message_id, self._owner))

    def _reasoning_start(self, message_id: str) -> bool:
        if not self._begin(message_id):
            return False
        self._reasoning[message_id] = False
        self._emit(ev.ReasoningStart(message_id, self._owner))
        return True

    # --- calls --------------------------------------------------------------------------------------------------
    def call(self, call_id: str, name: str, parent_id: str) -> None:
        """Begins a tool call. ``parent_id`` names the message that shows it and may be new."""
        stream = self._stream
        if name and parent_id and call_id and stream.is_open and call_id not in stream.calls:
            self._calls += (call_id,)
            stream.calls[call_id] = self
            stream.seen.add(parent_id)
            self._emit(ev.ToolCallStart(call_id, name, parent_id, self._owner))

    def call_args(self, call_id: str, delta: str) -> None:
        """Streams a piece of the call's arguments."""
        if delta and call_id in self._calls:
            self._emit(ev.ToolCallArgs(call_id, delta, self._owner))

    def call_end(self, call_id: str) -> None:
        """Ends the call's arguments: they are complete."""
        if call_id in self._calls:
            self._calls = tuple(one for one in self._calls if one != call_id)
            self._emit(ev.ToolCallEnd(call_id, self._owner))

    def result(self, call_id: str, message_id: str, content: str, metadata: dict[str, Any] | None = None) -> None:
        """Shows the call's result: once per call of this run; calls of earlier runs may get theirs here too."""
        stream = self._stream
        owner = stream.calls.get(call_id)
        if not stream.is_open or not call_id or owner is True:
            return
        stream.calls[call_id] = True
        (owner or self).call_end(call_id)
        self.restated(call_id)
        while not message_id or message_id in stream.seen:  # taken by a message that was shown under it
            message_id += "-result"
        stream.seen.add(message_id)
        self._emit(ev.ToolCallResult(message_id, call_id, content, "tool", metadata, self._owner))

    def restated(self, call_id: str) -> None:
        """Ends the task of a call that has a result, maybe by a snapshot, where the task is still at work."""
        if (task := self._stream.running.get(call_id)) is not None:
            task.failed(*ENDED)

    def leave_open(self, call_ids: Sequence[str]) -> None:
        """Leaves calls open that get their results later: a person or the client owes them."""
        for call_id in call_ids:
            if self._stream.calls.get(call_id, True) is not True:
                self._stream.calls[call_id] = False

    # --- the rest -----------------------------------------------------------------------------------------------
    def other(self, event: ev.Event) -> None:
        """Streams a snapshot or a custom event."""
        if self._stream.is_open:
            if self._owner is not None and hasattr(event, "subagent_run_id"):
                event = msgspec.structs.replace(event, subagent_run_id=self._owner)
            self._emit(event)

    def end_unfinished(self) -> None:
        """Ends the messages, reasoning and arguments that are half said."""
        for message_id in sorted(self._texts):
            self.text_end(message_id)
        for message_id in list(self._reasoning):
            self.reasoning_end(message_id)
        for call_id in sorted(self._calls):
            self.call_end(call_id)

    def _begin(self, entity_id: str) -> bool:
        """Returns whether a new entity may open now under this id; takes the id."""
        if not self._stream.is_open or not entity_id or entity_id in self._stream.seen:
            return False
        self._stream.seen.add(entity_id)
        return True


class SubagentLane(Lane):
    """The lane of a sub-agent."""

    __slots__ = ("_about", "_parent")

    def __init__(self, parent: Lane, about: ev.SubagentStarted) -> None:
        super().__init__(parent._stream, self._first, about.subagent_run_id)
        self._parent, self._about = parent, about

    @property
    def id(self) -> str:
        """The ``subagentRunId`` of the sub-agent."""
        return self._about.subagent_run_id

    def announce(self) -> None:
        """See `Lane`. Once; not after its end."""
        if self._owner is not None and self.id not in self._stream.running and self._stream.is_open:
            self._parent.announce()
            self._stream.running = {**self._stream.running, self.id: self}
            self._emit = self._stream.emit
            self._emit(self._about)

    def _first(self, event: ev.Event) -> None:
        self.announce()
        self._emit(event)

    def done(self) -> None:
        """Ends the sub-agent, which has done its task."""
        self.announce()
        self._end(ev.SubagentFinished(self.id, ev.SubagentSuccess()))

    def failed(self, code: str, message: str) -> None:
        """Ends the sub-agent, which has failed, or was ended before its task was done."""
        self.announce()
        self._end(ev.SubagentError(self.id, message, code))

    def suspended(self, interrupt_ids: Sequence[str] = ()) -> None:
        """Suspends the sub-agent: a later run goes on with it."""
        self._end(ev.SubagentFinished(self.id, ev.SubagentSuspended(tuple(interrupt_ids))))

    def _end(self, event: ev.Event) -> None:
        if self.id not in self._stream.running:
            return
        for lane in reversed(list(self._stream.running.values())):
            if lane._parent is self:
                lane.failed(*ENDED)
        self.end_unfinished()
        self._stream.running = {name: lane for name, lane in self._stream.running.items() if lane is not self}
        self._owner = None
        self._emit(event)


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
            owed = [call_id for call_id, owner in self._stream.calls.items() if owner is not True]
            self._over(self._ends.finished(self._run, outcome, owed, tuple(usage), result))

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
        for call_id, owner in list(self._stream.calls.items()):
            if isinstance(owner, Lane):
                owner.result(call_id, f"{call_id}-result", UNFINISHED)

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
