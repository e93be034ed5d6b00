"""A lane of a run's stream: what one agent says there, the entry agent or a sub-agent of it.

All lanes of a stream share what is known of it: which ids are taken, and which calls owe their results. What is open,
each has for itself. So two sub-agents may speak at once.

A sub-agent announces itself, and its parents before it, with the first thing that it says (SUB-2). All that it says is
tagged with its id. What is said in its lane after its end has no tag: it is the run's, then (SUB-3). A sub-agent of
that id does not begin again on this stream (SUB-1).
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from agui_gate.core import events as ev

Emit = Callable[[ev.Event], None]

ENDED = ("abort", "It was ended before it was done.")
"""Code and message of a sub-agent that nobody lets go on."""


class Stream:
    """The state that the lanes of one stream share."""

    __slots__ = ("emit", "is_open", "lanes", "owed", "resulted", "running", "seen", "seen_calls")

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.is_open = False
        self.seen: set[str] = set()  # every message id that was ever used; call ids are names of their own
        self.seen_calls: set[str] = set()
        self.resulted: set[str] = set()
        self.owed: dict[str, Lane | None] = {}
        """Calls that were started and have no result yet, in order. Who is to give it; None: not us."""
        self.lanes: dict[str, SubagentLane] = {}
        self.running: dict[str, SubagentLane] = {}
        """The sub-agents that were announced and have not ended, parents first."""


class Lane:
    """The lane of one agent. Its methods may be called in any order: what would be illegal is repaired or dropped."""

    __slots__ = ("_calls", "_emit", "_names", "_owner", "_reasoning", "_stream", "_texts")

    def __init__(self, stream: Stream, emit: Emit, owner: str | None = None) -> None:
        self._stream, self._emit, self._owner = stream, emit, owner
        self._texts: set[str] = set()
        self._names: dict[str, str] = {}  # of who says messages that are to come
        self._reasoning: dict[str, bool] = {}  # id -> whether its visible message is open
        self._calls: set[str] = set()  # between START and END

    def announce(self) -> None:
        """Has it announced, if it has to be."""

    def subagent(self, about: ev.SubagentStarted) -> "SubagentLane":
        """Returns the lane of a sub-agent of this one: one for each id, whatever else ``about`` says the next time."""
        lane = self._stream.lanes.get(about.subagent_run_id)
        if lane is None:
            lane = self._stream.lanes[about.subagent_run_id] = SubagentLane(self, about)
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
            self._texts.add(message_id)
            self._emit(ev.TextMessageStart(message_id, "assistant", self._owner, self._names.pop(message_id, None)))
        if delta:
            self._emit(ev.TextMessageContent(message_id, delta, self._owner))

    def text_end(self, message_id: str) -> None:
        """Ends the message (nothing happens if it never had text)."""
        if message_id in self._texts:
            self._texts.discard(message_id)
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
        if name and parent_id and call_id and stream.is_open and call_id not in stream.seen_calls:
            stream.seen_calls.add(call_id)
            self._calls.add(call_id)
            stream.owed[call_id] = self
            stream.seen.add(parent_id)
            self._emit(ev.ToolCallStart(call_id, name, parent_id, self._owner))

    def call_args(self, call_id: str, delta: str) -> None:
        """Streams a piece of the call's arguments."""
        if delta and call_id in self._calls:
            self._emit(ev.ToolCallArgs(call_id, delta, self._owner))

    def call_end(self, call_id: str) -> None:
        """Ends the call's arguments: they are complete."""
        if call_id in self._calls:
            self._calls.discard(call_id)
            self._emit(ev.ToolCallEnd(call_id, self._owner))

    def result(self, call_id: str, message_id: str, content: str, metadata: dict[str, Any] | None = None) -> None:
        """Shows the call's result: once per call of this run; calls of earlier runs may get theirs here too."""
        stream = self._stream
        if not stream.is_open or not call_id or call_id in stream.resulted:
            return
        (stream.owed.pop(call_id, None) or self).call_end(call_id)
        self.restated(call_id)
        stream.resulted.add(call_id)
        stream.seen_calls.add(call_id)
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
            if call_id in self._stream.owed:
                self._stream.owed[call_id] = None

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
            self._stream.running[self.id] = self
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
        del self._stream.running[self.id]
        self._owner = None
        self._emit(event)
