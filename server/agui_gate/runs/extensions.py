"""Calls the hooks of extensions, so that none of them can hold up or break what the server does: see
`agui_gate.extension`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, TypeVar

import structlog

from agui_gate.agents.agent import Agent
from agui_gate.concurrency import bounded, stop_tasks
from agui_gate.errors import ConfigurationError
from agui_gate.extension import Extension, Hint, Server, Written
from agui_gate.protocol.run_input import RunInput

START_SECONDS = 10.0
"""Seconds that one extension may take to start."""
STOP_SECONDS = 5.0
"""Seconds that all extensions may take to stop."""
TICK_SECONDS = 1.0
"""Seconds that one tick may take."""

T = TypeVar("T")

log = structlog.get_logger("agui_gate.extensions")


class Extensions:
    """The extensions of one engine: those that `create_app` was given, and those that the server adds where they are
    used. ``server`` is what they are started with; `create_app` sets it.
    """

    def __init__(self, extensions: Iterable[Extension] = ()) -> None:
        self.server: Server | None = None
        self.all: list[Extension] = []
        self.consumers: list[Extension] = []
        """The extensions that take notices."""
        self._written: list[Extension] = []
        self._separate: list[Extension] = []
        self._tickers: list[Extension] = []
        self._ticks: dict[int, asyncio.Task[None]] = {}
        self._started: list[Extension] = []
        self._failing: set[tuple[int, str]] = set()
        self._draining = False
        for extension in extensions:
            self.add(extension)

    def add(self, extension: Extension) -> None:
        """Calls its hooks from now on. One that comes after the start is not started before the next one."""
        self.all.append(extension)
        hooks = {
            "notices": self.consumers,
            "written": self._written,
            "separate_run": self._separate,
            "tick": self._tickers,
        }
        for hook, called in hooks.items():
            if getattr(type(extension), hook) is not getattr(Extension, hook):
                called.append(extension)
        if self._draining:
            self._call(extension, "drain", extension.drain)

    async def start(self) -> None:
        """Starts them one after the other. If one fails, those before it are stopped, and its error is raised."""
        self._draining = False
        if (server := self.server) is None:
            return
        for extension in self.all:
            try:
                await bounded(extension.start(server), START_SECONDS)
            except BaseException as error:
                await self.stop()
                if isinstance(error, TimeoutError):
                    name = _name(extension)
                    raise ConfigurationError(f"{name} did not start within {START_SECONDS:g} seconds.") from None
                raise
            self._started.append(extension)

    def drain(self) -> None:
        """Tells them that the server is about to end."""
        self._draining = True
        for extension in self.all:
            self._call(extension, "drain", extension.drain)

    async def stop(self) -> None:
        """Stops those that have started, and what their ticks are still doing."""
        ticks, started = list(self._ticks.values()), self._started
        self._started = []
        await stop_tasks(ticks)
        await asyncio.gather(*(self._await(one, "stop", one.stop, STOP_SECONDS) for one in started))

    def tick(self) -> None:
        """Begins a tick of each whose last one is over."""
        for extension in self._tickers:
            key = id(extension)
            if key not in self._ticks:
                tick = self._await(extension, "tick", extension.tick, TICK_SECONDS)
                self._ticks[key] = asyncio.create_task(tick, name=f"agui-gate tick of {_name(extension)}")
                self._ticks[key].add_done_callback(partial(self._ticks.pop, key))

    def written(self, principal: str, thread_id: str, what: Written, *, here: bool = True) -> None:
        """Gives extensions a `Hint`."""
        for extension in self._written:
            self._call(extension, "written", extension.written, Hint(principal, thread_id, what, here))

    def separate_run(self, agent: Agent, run: RunInput) -> Agent | None:
        """Returns who answers this request apart from its thread: see `Extension.separate_run`."""
        for extension in self._separate:
            if (other := self._call(extension, "separate_run", extension.separate_run, agent, run)) is not None:
                return other
        return None

    def _call(self, extension: Extension, hook: str, call: Callable[..., T], *args: Any) -> T | None:
        try:
            result = call(*args)
        except Exception as error:
            self._failed(extension, hook, error)
            return None
        self._failing.discard((id(extension), hook))
        return result

    async def _await(
        self, extension: Extension, hook: str, call: Callable[[], Coroutine[Any, Any, None]], seconds: float
    ) -> None:
        try:
            await bounded(call(), seconds)
        except Exception as error:
            self._failed(extension, hook, error)
        else:
            self._failing.discard((id(extension), hook))

    def _failed(self, extension: Extension, hook: str, error: Exception) -> None:
        """Logs the first of failures in a row: a hook may be called a thousand times a second."""
        if (id(extension), hook) not in self._failing:
            self._failing.add((id(extension), hook))
            log.error("extension_failed", extension=_name(extension), hook=hook, exc_info=error)


def _name(extension: Extension) -> str:
    return f"{type(extension).__module__}.{type(extension).__qualname__}"
