"""The shared state as a part of a leased thread: what requests bring of it, tools do to it, and clients are told."""

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

import msgspec
import structlog

from agui_gate.agents.agent import Agent
from agui_gate.agents.state_form import DICT, StateForm, Unfit
from agui_gate.agents.tool import Told, Tool
from agui_gate.core import events as ev
from agui_gate.core.document import Document
from agui_gate.core.sequencer import Emit
from agui_gate.core.transcript import PreviewEntry, StateEntry
from agui_gate.extras.shared_state.state_intake import check_fit, to_keep
from agui_gate.extras.shared_state.thread_state import SharedState
from agui_gate.protocol.run_input import RunInput
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.threads.parts import STATE, ThreadPart

MAX_BACK = 8 * 1024
"""Bytes of the way back from a change of the state: a longer one is not kept
(`extras/shared_state/state_intake.py`)."""

log = structlog.get_logger("agui_gate.tools")


class StatePart(ThreadPart):
    """The `shared` state of ``thread``, of which the store has ``stored``."""

    def __init__(self, thread: LeasedThread, stored: Any) -> None:
        self._thread, self._stored = thread, stored
        self.shared = SharedState(stored, thread.limits.state_bytes)
        self._saved = self.shared.json

    @property
    def is_large(self) -> bool:
        """True if the state is large: it is encoded when a call begins, and when it ends."""
        return self.shared.is_large

    def check(self, run: RunInput, agent: Agent) -> None:
        """Raises `InvalidRequest` for a state that the agent's model doesn't take."""
        check_fit(run, self._thread.journal, self._stored, form_of(agent))

    def opened(self, agent: Agent) -> None:
        """Reads the state as ``agent`` has it."""
        self.shared.take_form(form_of(agent))

    def asked(self, run: RunInput, emit: Emit, restart: Callable[[], None], *, known: bool) -> None:
        """Takes over the state that the client sends, if it is to be, and shows it what is kept if that is something
        else (SNAP-1). From here on it is told what changes.
        """
        if run.state:
            self._take(run, restart)
        self.shared.holds({} if run.state is None else run.state, known=known)
        self.shared.tell(emit, whole=True)

    def _take(self, run: RunInput, restart: Callable[[], None]) -> None:
        kept, previews = to_keep(run, self._thread.journal, self.shared.value)
        if kept is not self.shared.value:
            with suppress(Unfit):  # the page's changes don't go together with a tool's: what is kept stays
                self.shared.keep(Document(kept))
            restart()
        for call_id, place, arguments in previews:
            self.shared.preview(call_id, place, arguments)

    def tool_begins(self, tool: Tool) -> Any:
        """Returns the object that all tools at work share."""
        return self.shared.begin()

    def tool_ended(self, tool: Tool | None, call_id: str, emit: Emit) -> None:
        """Keeps what the tool has left, if it fits, with the way back; and tells the client."""
        if tool is not None and tool.takes_context:
            back, problem = self.shared.end()
            if problem:
                log.error(problem, tool=tool.name, call_id=call_id)
            if back:
                small = len(msgspec.json.encode(back)) <= MAX_BACK
                self._thread.append([StateEntry(call_id, tuple(back) if small else None)])
        self.shared.withdraw(call_id)
        self.shared.tell(emit)

    def pass_on(self, told: Told, emit: Emit) -> bool:
        """Takes the events about the state: see `SharedState.emitted`."""
        if not isinstance(told, ev.StateSnapshot | ev.StateDelta):
            return False
        self.shared.emitted(told, emit)
        return True

    def calls_ended(self, calls: Collection[str] | None, emit: Emit) -> None:
        """Takes back the previews of ``calls`` (None: of all) that don't wait for a person."""
        previews = self.shared.previews
        if not previews:
            return
        waiting = {approval.call_id for approval in self._thread.journal.pending()}
        new = [name for name in previews if name in waiting and name not in self._thread.journal.calls.previews]
        self._thread.append([PreviewEntry(name, previews[name][0]) for name in new])
        for call_id in [name for name in previews if name not in waiting and (calls is None or name in calls)]:
            self.shared.withdraw(call_id)
        self.shared.tell(emit)

    def asks(self, emit: Emit) -> None:
        """Tells the client all of it."""
        self.shared.tell_whole(emit)

    def told(self) -> msgspec.Raw:
        """Returns what clients that follow have by now."""
        return self.shared.told()

    def changes(self) -> bytes | None:
        """Returns what the store is to have, if that is something else."""
        state = self.shared.to_save
        return state if state != self._saved else None

    def saved(self, changes: bytes) -> None:
        """Notes that the store has the state."""
        self._saved = changes


def form_of(agent: Agent) -> StateForm:
    """Returns how the shared state of an agent's threads is read and written."""
    return agent.state_form or DICT


def state_of(thread: LeasedThread) -> SharedState:
    """Returns the shared state of a leased thread."""
    part = thread.parts.need(STATE)
    assert isinstance(part, StatePart)
    return part.shared
