"""The parts of a thread that extras keep while its lease is held: the state that pages and tools share, and activities.

Each part is an extra that hangs on the hooks of `ThreadPart`. It is loaded when the agent declares it, when the store
has something of it, when a request brings something for it, or when a tool uses it. The hooks that a run has called
before are then called for it, so that a part doesn't know how late it came.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import Shown, Told, Tool
from agui_gate.core import events as ev
from agui_gate.core.sequencer import Emit
from agui_gate.core.transcript import Entry
from agui_gate.extra_loader import find, load
from agui_gate.protocol.run_input import RunInput

if TYPE_CHECKING:
    from agui_gate.threads.leased_thread import LeasedThread

STATE, ACTIVITIES = "shared_state", "activities"

_ABOUT_STATE = (ev.StateSnapshot, ev.StateDelta)
_NO_STATE = msgspec.Raw(b"{}")

log = structlog.get_logger("agui_gate.threads")


class ThreadPart:
    """One part of one leased thread. Every hook is called on the event loop and must not block; by default it does
    nothing.
    """

    @property
    def is_large(self) -> bool:
        """True if beginning and ending a tool takes so long that other tasks should get a turn between two tools."""
        return False

    def check(self, run: RunInput, agent: Agent) -> None:
        """Checks what a request brings, before a stream begins. Raises `RequestError`; changes nothing."""

    def opened(self, agent: Agent) -> None:
        """Learns who the thread's entry agent is now."""

    def asked(self, run: RunInput, emit: Emit, restart: Callable[[], None], *, known: bool) -> None:
        """Takes over what the run's request brings and tells the client what differs: before all else that it is told.

        ``restart`` makes clients that connect later begin at this point. ``known``: the client keeps what it sends.
        """

    def tool_begins(self, tool: Tool) -> Any:
        """Begins a tool that takes a context. Returns its `ToolContext.state`, or None if that is another part's."""

    def tool_ended(self, tool: Tool | None, call_id: str, emit: Emit) -> None:
        """Ends what `tool_begins` has begun for a call's tool where it takes a context, however the tool has ended."""

    def pass_on(self, told: Told, emit: Emit) -> bool:
        """Takes what a tool tells its client, and passes it on to ``emit``. Returns False if it is for another part."""
        return False

    def calls_ended(self, calls: Collection[str] | None, emit: Emit) -> None:
        """Ends these calls (None: all), or lets them wait for a person: takes back what was shown only until then."""

    def asks(self, emit: Emit) -> None:
        """Tells the client everything, whatever it was told before: the run is about to end with a question."""

    def told(self) -> msgspec.Raw | None:
        """Returns the state that clients have been told by now, as JSON. None: this part has none."""
        return None

    def entries(self) -> Sequence[Entry]:
        """Returns what is shown now and isn't in the journal like that."""
        return ()

    def changes(self) -> bytes | None:
        """Returns the thread's state for the store, as JSON, if it differs from what was `saved`. None: nothing to
        save.
        """
        return None

    def saved(self, changes: bytes) -> None:
        """Notes that the store has committed these `changes`."""


class Parts:
    """The parts of ``thread`` that are loaded. ``stored`` is the state that the store has of it."""

    __slots__ = ("_agent", "_ask", "_loaded", "_stored", "_thread")

    def __init__(self, thread: "LeasedThread", stored: Any) -> None:
        self._thread, self._stored = thread, stored
        self._loaded: dict[str, ThreadPart] = {}
        self._agent: Agent | None = None
        self._ask: Callable[[ThreadPart], None] | None = None

    def close(self) -> None:
        """Lets go of the thread, which nobody works on any more."""
        del self._ask, self._thread

    def need(self, name: str) -> ThreadPart:
        """Returns the part of that name, loaded the first time. Raises `ExtraMissing`."""
        part = self._loaded.get(name)
        if part is None:
            part = load(name).thread_part(self._thread, self._stored)
            assert isinstance(part, ThreadPart)
            if self._agent is not None:  # it is told what it has missed
                part.opened(self._agent)
            if self._ask is not None:
                self._ask(part)
            self._loaded = dict(sorted({**self._loaded, name: part}.items()))  # always in the same order
        return part

    def _has(self, name: str) -> bool:
        """Returns whether the part is loaded now. One that is missing is logged: what it keeps stays in the store."""
        if name not in self._loaded and find(name) is None:
            log.warning("extra_missing", extra=name, thread=self._thread.thread.id)
            return False
        return bool(self.need(name))

    # --- a run or a decision --------------------------------------------------------------------------------------
    def check(self, run: RunInput, agent: Agent) -> None:
        """Checks what a request brings: see `ThreadPart.check`. Raises `ExtraMissing` if nobody here can take it."""
        if run.state and (find(STATE) is not None or run.state != self._stored):
            self.need(STATE).check(run, agent)

    def opened(self, agent: Agent) -> None:
        """See `ThreadPart.opened`."""
        if agent.state is not None or self._stored is not None:
            self._has(STATE)
        for part in self._loaded.values():
            part.opened(agent)
        self._agent = agent

    def asked(self, run: RunInput, ask: Callable[[ThreadPart], None]) -> None:
        """Has each part take over what the request brings, by ``ask``: also those that come later."""
        if run.state is not None and run.state != {}:
            self._has(STATE)
        for part in self._loaded.values():
            ask(part)
        self._ask = ask

    # --- tools ------------------------------------------------------------------------------------------------------
    @property
    def are_large(self) -> bool:
        """See `ThreadPart.is_large`."""
        return any(part.is_large for part in self._loaded.values())

    @contextmanager
    def tool(self, tool: Tool | None, call_id: str, emit: Emit) -> Iterator[Any]:
        """Gives a tool the state while it is at work. However that ends, the parts are told that it has."""
        given: list[Any] = []
        if tool is not None and tool.takes_context and self._has(STATE):
            given = [state for part in self._loaded.values() if (state := part.tool_begins(tool)) is not None]
        try:
            yield given[0] if given else {}
        finally:
            for part in self._loaded.values():
                part.tool_ended(tool, call_id, emit)

    def tell(self, told: Told, emit: Emit) -> None:
        """Passes on what a tool tells its client. Where the extra that keeps it is missing, the client is told
        alone.
        """
        if isinstance(told, Shown):
            if not (self._has(ACTIVITIES) and self.need(ACTIVITIES).pass_on(told, emit)):
                emit(told.event)
        elif not (isinstance(told, _ABOUT_STATE) and self._has(STATE) and self.need(STATE).pass_on(told, emit)):
            emit(told)

    def calls_ended(self, emit: Emit, calls: Collection[str] | None = None) -> None:
        """See `ThreadPart.calls_ended`."""
        for part in self._loaded.values():
            part.calls_ended(calls, emit)

    def asks(self, emit: Emit) -> None:
        """See `ThreadPart.asks`. The state is told also where there is none: a page that comes back begins with it."""
        if STATE not in self._loaded:
            emit(ev.StateSnapshot(self.told()))
        for part in self._loaded.values():
            part.asks(emit)

    # --- readers and the store --------------------------------------------------------------------------------------
    def told(self) -> msgspec.Raw:
        """Returns the state that clients have been told by now, as JSON."""
        for part in self._loaded.values():
            if (told := part.told()) is not None:
                return told
        return _NO_STATE if self._stored is None else msgspec.Raw(msgspec.json.encode(self._stored))

    def entries(self) -> list[Entry]:
        """See `ThreadPart.entries`."""
        return [entry for part in self._loaded.values() for entry in part.entries()] if self._loaded else []

    def changes(self) -> bytes | None:
        """See `ThreadPart.changes`."""
        return next((c for part in self._loaded.values() if (c := part.changes()) is not None), None)

    def saved(self, changes: bytes) -> None:
        """See `ThreadPart.saved`."""
        for part in self._loaded.values():
            part.saved(changes)
