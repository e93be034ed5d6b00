"""Takes activities and the shared state that a model tells besides its answer. Only agents of elsewhere do.

Both go the way of what tools tell (`ctx.activity`, `ctx.state`), in the name of the turn. What doesn't fit is left out,
with a line in the log: an answer doesn't fail for it.

The state is the agent's own part of the thread's: what its model declares (`Agent(state=…)`). It is sent no more than
that, and what it changes there is done to what is kept. So no other part is touched, and nobody's changes are lost.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import structlog

from agui_gate.adapter import Activity, ModelEvent, StateChanged, TurnDone
from agui_gate.agents.agent import Agent
from agui_gate.agents.state_form import Unfit
from agui_gate.agents.tool import Shown, Told
from agui_gate.agents.tool_events import Emitter
from agui_gate.concurrency import let_others_in
from agui_gate.core.document import Document
from agui_gate.core.json_changes import NotApplicable, TooDifferent, changes, patched
from agui_gate.core.sequencer import Lane
from agui_gate.core.transcript import Entry, StateEntry, TurnEntry
from agui_gate.extras.activities import activities_of
from agui_gate.extras.shared_state.part import MAX_BACK, form_of, state_of
from agui_gate.extras.shared_state.thread_state import LARGE_STATE
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns.steps import Draft, Speaker, TurnStep
from agui_gate.turns.turn_recorder import Tap

BUDGET = 64 * 1024 * 1024
"""Bytes of state and activities, as JSON, that are looked at in one turn."""

log = structlog.get_logger("agui_gate.beside")

_encode, _decode = msgspec.json.encode, msgspec.json.decode


def _shared_with(agent: Agent, thread: LeasedThread) -> Any:
    """Returns the state that the agent's model is sent; None where it shares none."""
    if agent.state is None:
        return None
    value = state_of(thread).value
    try:
        return _decode(form_of(agent).fitted(_encode({} if value is None else value)))
    except Unfit:
        return _decode(form_of(agent).default())


class RemoteState(TurnStep):
    """The step that sends a member's model the shared state, and applies what it reports in each attempt of a turn.

    ``lane`` is where that is told.
    """

    def __init__(self, agent: Agent, thread: LeasedThread, lane: Lane) -> None:
        self._agent, self._thread, self._lane = agent, thread, lane
        self._shared = state_of(thread)

    async def request(self, draft: Draft) -> None:
        """Sends the state as it is now."""
        draft.state = _shared_with(self._agent, self._thread)
        self.begin(draft.turn_id, draft.state)

    def begin(self, turn_id: str, state: Any) -> None:
        """Begins a request, with which the model was sent this ``state``: None if it shares none."""
        self._turn_id = turn_id
        self._known = None if state is None else Document(state)
        """The state as the model has it."""
        self._first = self._last = self._shared.kept
        """The state as kept before the newest changes of the model's, with nobody else's between them, and after
        them.
        """
        self._emitter = Emitter(turn_id, self._tell)
        self._budget = BUDGET
        self._back: list[dict[str, Any]] = []
        self._warned: set[str] = set()
        self._read: tuple[StateChanged, Document] | None = None
        """The newest large state, and how the model of the agent's state writes it."""

    async def received(self, events: Sequence[ModelEvent]) -> None:
        """Reads a large state in steps: the model of the agent's state, of anybody's making, takes the most time."""
        for event in events:
            if isinstance(event, StateChanged) and self._known is not None and self._budget > 0:
                try:
                    new = self._fitted(_encode(event.state))
                except (ValueError, RecursionError):
                    continue  # `take` says so
                if len(new.text) > LARGE_STATE:
                    await let_others_in()
                    _ = new.parts
                    await let_others_in()
                    self._read = event, new

    def taps(self) -> Mapping[type, Tap]:
        """Takes activities, and changes of the state."""
        return {Activity: self.take, StateChanged: self.take}

    def recorded(self, turn: TurnEntry, done: TurnDone | None) -> tuple[TurnEntry, *tuple[Entry, ...]]:
        """Returns the turn, and what was told after it, also where the turn was cut off."""
        return (turn, *self.end())

    def take(self, event: Activity | StateChanged) -> None:
        """Takes what the model tells now."""
        if self._budget < 0:
            return
        try:
            told = event.content if isinstance(event, Activity) else event.state
            text = _encode(told)
            self._budget -= len(text)
            if self._budget < 0:
                return
            if isinstance(event, Activity):
                self._emitter.show(event.key, event.kind, event.content)
            elif self._known is not None:
                read = self._read
                new = read[1] if read is not None and read[0] is event else self._fitted(text)
                self._take_state(new, self._known)
                self._known = new
        except (ValueError, RecursionError) as error:
            self._warn(type(event).__name__, str(error)[:200])

    def _warn(self, what: str, why: str) -> None:
        """Warns once for each kind of thing: who tells one that doesn't fit may tell thousands."""
        if what not in self._warned:
            self._warned.add(what)
            log.warning("left_out", what=what, why=why)

    def end(self) -> list[Entry]:
        """Returns what the journal is to have of it, once the turn is over."""
        entries: list[Entry] = [*activities_of(self._thread).end(self._turn_id)]
        self._end_stretch()
        if self._back:
            small = len(_encode(self._back)) <= MAX_BACK
            entries.append(StateEntry(self._turn_id, tuple(self._back) if small else None))
            self._back = []
        return entries

    def _fitted(self, text: bytes) -> Document:
        """Returns a state as it is kept. Raises ValueError for one that is too large, or doesn't fit."""
        limit = self._thread.limits.state_bytes
        if len(text) > limit or len(fitted := form_of(self._agent).fitted(text)) > limit:
            raise ValueError("the state is too large")
        return Document(text=fitted)

    def _take_state(self, new: Document, known: Document) -> None:
        """Keeps what has changed in the state as the model has it now, of what fits. Raises ValueError."""
        shared, form = self._shared, form_of(self._agent)
        before = shared.kept
        try:
            held = shared.held()
            if held.text == known.text:
                shared.put(new, form)
            else:
                shared.put(_changed(held, known, new))
        except ValueError:  # it would quote values
            raise ValueError("it doesn't fit the state of the thread") from None
        finally:
            self._note_change(before, shared.kept)
            shared.tell(self._lane.other)

    def _note_change(self, before: Document, after: Document) -> None:
        """The way back is looked for once for all changes between which nobody else changed anything."""
        if before is not after:
            if before is not self._last:
                self._end_stretch()
                self._first = before
            self._last = after

    def _end_stretch(self) -> None:
        if self._last is not self._first:
            self._back = [*changes(self._last, self._first), *self._back]
            self._first = self._last

    def _tell(self, told: Told) -> None:
        if isinstance(told, Shown):
            activities_of(self._thread).show(told.entry, later=True)
            self._lane.other(told.event)


def turn_step(speaker: Speaker) -> RemoteState:
    """Returns the step of a member whose model tells of the state."""
    return RemoteState(speaker.member.agent, speaker.thread, speaker.lane)


def _changed(held: Document, known: Document, new: Document) -> Document:
    """Returns what is held, with what the model has changed; where that can't be told apart, with all it has."""
    value = held.value if isinstance(held.value, dict) else {}
    try:
        return Document(patched(value, changes(known, new, small=False)))
    except (NotApplicable, TooDifferent):
        return Document(value | new.value)
