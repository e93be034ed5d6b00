"""What a model tells beside its answer: activities, and the shared state. Only agents of elsewhere do.

Both go the way of what tools tell (`ctx.activity`, `ctx.state`), in the name of the turn. What doesn't fit is left out,
with a line in the log: an answer doesn't fail for it.

The state is the agent's own part of the thread's: what its model declares (`Agent(state=…)`). It is sent no more than
that, and what it changes there is done to what is kept. So no other part is touched, and nobody's changes are lost.
"""

from typing import Any

import msgspec
import structlog

from agui_gate.adapter import Activity, StateChanged
from agui_gate.agent import Agent
from agui_gate.core.json_diff import TooDifferent, difference
from agui_gate.core.json_patch import NotApplicable, patched
from agui_gate.core.lane import Lane
from agui_gate.core.transcript import StateEntry
from agui_gate.emitting import Emitter, Shown, Told
from agui_gate.engine.leased_thread import LeasedThread
from agui_gate.engine.toolbox import MAX_BACK
from agui_gate.state_form import Unfit, replace, written

BUDGET = 64 * 1024 * 1024
"""Bytes of state and activities, as JSON, that are looked at in one turn."""

log = structlog.get_logger("agui_gate.beside")

_encode, _decode = msgspec.json.encode, msgspec.json.decode


def shared_with(agent: Agent, thread: LeasedThread) -> Any:
    """The state that the agent's model is sent; None where it shares none."""
    if agent.state is None or getattr(agent.adapter, "shares_state", False) is not True:
        return None
    value = thread.shared.value
    try:
        return _decode(agent.state_form.fitted(_encode({} if value is None else value)))
    except Unfit:
        return _decode(agent.state_form.default())


class Beside:
    """Of one turn. ``lane`` is where it is told; ``state`` is what the model was sent of the shared state."""

    def __init__(self, agent: Agent, thread: LeasedThread, lane: Lane, turn_id: str, state: Any) -> None:
        self._agent, self._thread, self._lane, self._turn_id = agent, thread, lane, turn_id
        self._known = state
        """The state as the model has it."""
        self._emitter = Emitter(turn_id, self._tell)
        self._budget = BUDGET
        self._back: list[dict[str, Any]] = []

    def take(self, event: Activity | StateChanged) -> None:
        """What it tells now."""
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
                self._take_state(text)
        except (ValueError, RecursionError) as error:
            log.warning("left_out", what=type(event).__name__, why=str(error)[:200])

    def over(self) -> None:
        """The turn is in the journal, or nothing of it is."""
        self._thread.activities.over(self._turn_id)
        if self._back:
            small = len(_encode(self._back)) <= MAX_BACK
            self._thread.append([StateEntry(self._turn_id, tuple(self._back) if small else None)])
            self._back = []

    def _take_state(self, text: bytes) -> None:
        """Keep what has changed, of what fits. Raises ValueError."""
        limit, shared = self._thread.limits.state_bytes, self._thread.shared
        if len(text) > limit or len(fitted := self._agent.state_form.fitted(text)) > limit:
            raise ValueError("the state is too large")
        new, problem = _decode(fitted), ""
        live = shared.begin()
        try:
            replace(live, _changed(_decode(written(live)), self._known, new))
        except ValueError:  # it would quote values
            problem = "it doesn't fit the state of the thread"
        finally:
            back, undone = shared.end()
        self._back = [*back, *self._back]
        shared.tell(self._lane.other)
        if problem or undone:
            raise ValueError(problem or undone)
        self._known = new

    def _tell(self, told: Told) -> None:
        if isinstance(told, Shown):
            self._thread.activities.show(told.entry, later=True)
            self._lane.other(told.event)


def _changed(held: dict[str, Any], known: Any, new: dict[str, Any]) -> dict[str, Any]:
    """What tools have in hand, with what the model has changed; where that can't be told apart, with all it has."""
    try:
        changed: dict[str, Any] = patched(held, difference(known, new, small=False))
    except (NotApplicable, TooDifferent):
        return held | new
    return changed
