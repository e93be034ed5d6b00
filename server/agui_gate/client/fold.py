"""Folds events into messages, state and questions, exactly as `@ag-ui/client` 1.0.0 does.

Pure. Takes the events of runs in order, without chunks (`chunks.py`). What names something that isn't there means
nothing, as it does there; a patch that can't be applied changes nothing.

Texts and arguments grow by small pieces. They are kept as pieces, and joined when somebody looks (`messages`). Messages
are kept in groups, each with the results that follow it: so a result finds its place however many messages there are.

What a run's events may cause is bounded (`core/work_budget.py`): what goes through a patch's value or through all
messages takes from one budget. Raises `TooMuch` when that is used up.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agui_gate.client import events as ev
from agui_gate.client.errors import TooMuch
from agui_gate.client.events import Json
from agui_gate.client.placement import Placement
from agui_gate.core.json_changes import NotApplicable, patched
from agui_gate.core.work_budget import PER_VALUE, TooMuchWork, Work


@contextmanager
def bounded() -> Iterator[None]:
    """Within: work that is too much raises `TooMuch`."""
    try:
        yield
    except TooMuchWork:
        raise TooMuch("The agent's events take more work to process than a run may.") from None


_OWNED = "@ag-ui/client"
"""Metadata of a snapshot that says which kinds of activities are all in it."""

PER_PATCH = 150.0
"""Microseconds, about, that a patch takes besides its operations."""

PER_MESSAGE = 5 * PER_VALUE
"""Work that it takes to put a message in its place."""

PER_NEW = 100.0
"""Work that a new message or call takes: from then on the garbage collector goes through it again and again."""


class Fold:
    """Messages, state and what waits, of one thread. Lists and objects that it gives away are its own: don't change."""

    def __init__(self, messages: Sequence[Json] = (), state: Any = None) -> None:
        self.state: Any = {} if state is None else state
        self.interrupts: list[Json] = []
        """The interrupts with which the last run that finished asks."""
        self.subagents: dict[str, str] = {}
        """Names of the subagents that this thread has seen, by the ids of their runs."""
        self.work = Work()
        """The work that the events of the run may still cause."""
        self._all = Placement([_owned(message) for message in messages])
        self._pieces: dict[int, tuple[Json, str, list[str]]] = {}
        self._begun: dict[str, None] = {}
        self._answered: set[str] = set()
        self._pending: tuple[str, ...] = ()

    @property
    def messages(self) -> list[Json]:
        """All messages, as they go back to the server."""
        self._join()
        return self._all.messages

    @property
    def pending(self) -> tuple[str, ...]:
        """Ids of the calls that the last run left without a result, in order."""
        return self._pending

    def call(self, call_id: str) -> Json | None:
        """Returns the call of that id, if there is one."""
        call = self._all.calls.get(call_id)
        if call is not None:
            self._join_one(call["function"])
        return call

    def restart(self, call_id: str) -> None:
        """Begins the call's arguments anew, if there is such a call: what comes is not glued to them."""
        call = self._all.calls.get(call_id)
        if call is not None:
            self._pieces.pop(id(call["function"]), None)
            call["function"]["arguments"] = ""

    def message(self, message_id: str) -> Json | None:
        """Returns the message of that id, if there is one."""
        message = self._all.by_id.get(message_id)
        if message is not None:
            self._join_one(message)
        return message

    def add(self, message: Json) -> None:
        """Adds a message of this side. A tool message goes where a result would."""
        if message["role"] == "tool":
            self._place(message)
        else:
            self._all.append(message)

    def apply(self, event: ev.AnyEvent) -> None:
        """Changes everything as the event says. Raises `TooMuch`; then nothing more may be applied."""
        self.work.begin()
        with bounded():
            self._apply(event)

    def _apply(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.TextMessageContent() | ev.ReasoningMessageContent():
                self._grow(event)
            case ev.ToolCallArgs():
                self._argue(event)
            case ev.TextMessageStart() | ev.ReasoningMessageStart():
                self._begin(event)
            case ev.TextMessageEnd() | ev.ReasoningMessageEnd():
                _note(self._streamed(event.message_id), event)
            case ev.ToolCallStart():
                self._call(event)
            case ev.ToolCallEnd():
                _note(self._all.calls.get(event.tool_call_id), event)
            case ev.ToolCallResult():
                self._result(event)
            case _:
                self._apply_rare(event)

    def _apply_rare(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.StateSnapshot():
                self.state = event.snapshot
            case ev.StateDelta():
                self.state = self._patched(self.state, event.delta, self.state)
            case ev.MessagesSnapshot():
                self._snapshot(event)
            case ev.ActivitySnapshot():
                self._activity(event)
            case ev.ActivityDelta():
                self._change_activity(event)
            case ev.ReasoningEncryptedValue():
                self._seal(event)
            case ev.SubagentStarted():
                self.subagents[event.subagent_run_id] = event.name
            case ev.RunStarted():
                self._start(event)
            case ev.RunFinished():
                self._finish(event)
            case _:
                pass

    # Texts and reasoning.

    def _streamed(self, message_id: str) -> Json | None:
        """Returns the message of that id, if it is one that text may go into."""
        message = self._all.by_id.get(message_id)
        return message if message is not None and message["role"] != "activity" else None

    def _begin(self, event: ev.TextMessageStart | ev.ReasoningMessageStart) -> None:
        if event.message_id not in self._all.by_id:
            self.work.spend(PER_NEW)
            role = event.role if isinstance(event, ev.TextMessageStart) else "reasoning"
            message: Json = {"id": event.message_id, "role": role, "content": ""}
            if isinstance(event, ev.TextMessageStart) and event.name is not None:
                message["name"] = event.name
            self._all.append(message | _owner(event))
        _note(self._streamed(event.message_id), event)

    def _grow(self, event: ev.TextMessageContent | ev.ReasoningMessageContent) -> None:
        message = self._streamed(event.message_id)
        if message is not None:
            self._more(message, "content", event.delta)
            _note(message, event)

    def _more(self, target: Json, member: str, piece: str) -> None:
        kept = self._pieces.get(id(target))
        if kept is None:
            before = target.get(member)
            kept = self._pieces[id(target)] = (target, member, [before if isinstance(before, str) else ""])
        kept[2].append(piece)

    def _join(self) -> None:
        for target, member, pieces in self._pieces.values():
            target[member] = "".join(pieces)
        self._pieces.clear()

    def _join_one(self, target: Json) -> None:
        """Joins the pieces as `_join` does, of one message or call."""
        kept = self._pieces.pop(id(target), None)
        if kept is not None:
            target[kept[1]] = "".join(kept[2])

    # Calls.

    def _call(self, event: ev.ToolCallStart) -> None:
        call_id = event.tool_call_id
        self._begun[call_id] = None
        known = self._all.calls.get(call_id)
        if known is not None:
            known["function"]["name"] = event.tool_call_name
            _note(known, event)
            return
        self.work.spend(PER_NEW)
        call: Json = {"id": call_id, "type": "function", "function": {"name": event.tool_call_name, "arguments": ""}}
        self._all.add_call(call, self._parent_of(event))
        _note(call, event)

    def _parent_of(self, event: ev.ToolCallStart) -> str | None:
        """Returns the message that a call is shown on: the one it names, or a new one, which is the last one (None)."""
        parent = event.parent_message_id
        existing = self._all.by_id.get(parent) if parent else None
        if existing is not None and existing["role"] == "assistant":
            return parent
        message_id = parent if parent and existing is None else event.tool_call_id
        new = message_id not in self._all.by_id
        message: Json = {"id": message_id, "role": "assistant", "toolCalls": []}
        self._all.append(message | (_owner(event) if new else {}))
        return None

    def _argue(self, event: ev.ToolCallArgs) -> None:
        call = self._all.calls.get(event.tool_call_id)
        if call is not None:
            self._more(call["function"], "arguments", event.delta)
            _note(call, event)

    def _result(self, event: ev.ToolCallResult) -> None:
        self._answered.add(event.tool_call_id)
        self.work.spend(PER_NEW)
        message: Json = {"id": event.message_id, "toolCallId": event.tool_call_id, "role": "tool"}
        message |= {"content": event.content} | _owner(event)
        _note(message, event)
        self._place(message)

    def _place(self, message: Json) -> None:
        again = message["id"] in self._all.by_id
        self._all.add_result(message)
        if again:
            self._put(self.messages)  # of several of one id the first in order counts

    # Snapshots and activities.

    def _snapshot(self, event: ev.MessagesSnapshot) -> None:
        before = self.messages
        self.work.spend((len(before) + len(event.messages)) * PER_MESSAGE)
        told = [_owned(message) for message in event.messages]
        by_id = {message["id"]: message for message in told}
        kept = _keeps(event, told)
        merged = [by_id.get(m["id"], m) for m in before if m["id"] in by_id or kept(m)]
        there = {message["id"] for message in merged}
        self._put(merged + [message for message in told if message["id"] not in there])

    def _activity(self, event: ev.ActivitySnapshot) -> None:
        replaces = event.replace is not False
        message: Json = {"id": event.message_id, "role": "activity", "activityType": event.activity_type}
        message |= {"content": event.content} | _owner(event)
        before = self._all.by_id.get(event.message_id)
        if before is None:
            self.work.spend(PER_NEW)
            self._all.append(message)
            _note(message, event)
        elif before["role"] == "activity":
            if replaces:
                before.pop("subagentRunId", None)
                before.update(message)
            _note(before, event)
        elif replaces:
            self._put([message if one is before else one for one in self.messages])
            _note(message, event)

    def _change_activity(self, event: ev.ActivityDelta) -> None:
        message = self._all.by_id.get(event.message_id)
        if message is None or message["role"] != "activity":
            return
        _note(message, event)
        content = self._patched(message["content"], event.patch, _UNCHANGED)
        if content is not _UNCHANGED:
            message |= {"content": content, "activityType": event.activity_type}

    def _seal(self, event: ev.ReasoningEncryptedValue) -> None:
        found = self._all.calls if event.subtype == "tool-call" else self._all.by_id
        entity = found.get(event.entity_id)
        if entity is not None and entity.get("role") != "activity":
            entity["encryptedValue"] = event.encrypted_value

    def _patched(self, value: Any, operations: list[Json], otherwise: Any) -> Any:
        """Returns the value with the change made; ``otherwise`` if it can't be."""
        self.work.spend(PER_PATCH)
        try:
            return patched(value, operations, self.work)
        except (NotApplicable, KeyError, TypeError, RecursionError):
            return otherwise

    # Runs.

    def _start(self, event: ev.RunStarted) -> None:
        self.work = Work()
        self._begun, self._answered, self._pending = {}, set(), ()
        for message in (event.input or {}).get("messages") or ():
            if message["id"] not in self._all.by_id:
                self.work.spend(PER_MESSAGE)
                self._all.append(_owned(message))

    def _finish(self, event: ev.RunFinished) -> None:
        outcome = event.outcome or {}
        self.interrupts = list(outcome.get("interrupts") or ())
        named = outcome.get("pendingToolCallIds")
        self._pending = tuple(named or (one for one in self._begun if one not in self._answered))

    def _put(self, messages: list[Json]) -> None:
        """Takes these as all messages from now on."""
        self.work.spend(len(messages) * PER_MESSAGE)
        self._all = Placement(messages)


_UNCHANGED = object()


def _note(target: Json | None, event: ev.Event) -> None:
    """Merges the event's metadata into what it builds: key by key, the last one counts (META-2)."""
    if target is not None and event.metadata is not None:
        target["metadata"] = target.get("metadata") or {}
        target["metadata"].update(event.metadata)


def _owned(message: Json) -> Json:
    """Returns a copy of all that changes in a message when events come."""
    own = dict(message)
    if own.get("metadata"):
        own["metadata"] = dict(own["metadata"])
    if own.get("toolCalls"):
        own["toolCalls"] = [
            _owned(call) | {"function": dict(call["function"])} if "function" in call else dict(call)
            for call in own["toolCalls"]
        ]
    return own


def _owner(event: ev.Event) -> Json:
    return {} if event.subagent_run_id is None else {"subagentRunId": event.subagent_run_id}


def _keeps(event: ev.MessagesSnapshot, told: list[Json]) -> Any:
    """Returns a test of a message that the snapshot leaves out: activities and reasoning stay where it has none of
    them.
    """
    roles = {message["role"] for message in told}
    owned = _owned_activities(event)

    def stays(message: Json) -> bool:
        if message["role"] == "reasoning":
            return "reasoning" not in roles
        if message["role"] != "activity":
            return False
        return "activity" not in roles if owned is None else not owned(message.get("activityType"))

    return stays


def _owned_activities(event: ev.MessagesSnapshot) -> Any:
    """Returns the kinds of activities that are all in the snapshot, by its own word; None if it has none."""
    said = (event.metadata or {}).get(_OWNED, _UNCHANGED)
    if said is _UNCHANGED:
        return None
    kinds = said.get("authoritativeActivityTypes", _UNCHANGED) if isinstance(said, dict) else ()
    if kinds is _UNCHANGED:
        return None
    if kinds is None:
        return lambda kind: True
    named = kinds if isinstance(kinds, list) and all(isinstance(kind, str) for kind in kinds) else ()
    return lambda kind: kind in named
