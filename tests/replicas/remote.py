"""Tools and gates that are asked in one process and do their work in another: the test's own.

A replica is a process of its own, and what its tools do has to be seen by the test, whichever replica did it. So there
a tool's function, and its gate's, is replaced by a call over a Unix socket. The function itself runs in the test's loop
(a sync one in a thread): what it counts is counted over all replicas, and what it waits for is the test's to give. A
call that is cancelled, or whose process is gone, is cancelled here.
"""

import asyncio
import os
import pickle
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import fields, replace
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from agui_gate import Agent, ToolContext
from agui_gate.agents.tool import Told, Tool
from agui_gate.extras.teams import Delegation

STOP_SECONDS = 5.0
"""How long a cancelled call waits for its function to end; the engine has a bound of its own."""

PASSED = [field.name for field in fields(ToolContext) if field.init and field.name not in ("tell", "state")]


def tools_of(agents: Sequence[Agent]) -> list[Tool]:
    """Every tool of the agents and of those they call, in an order that is the same in each process."""
    tools: dict[int, Tool] = {}
    found = {id(agent): agent for agent in agents}
    waiting = list(found.values())
    while waiting:
        agent = waiting.pop()
        tools |= {id(tool): tool for tool in agent.by_name.values()}
        delegates = [tool.agent for tool in agent.by_name.values() if isinstance(tool, Delegation)]
        called = {id(other): other for other in [*agent.handoffs, *delegates] if id(other) not in found}
        found |= called
        waiting += called.values()
    return [tool for tool in tools.values() if not isinstance(tool, Delegation)]


def send_away(agents: Sequence[Agent], path: Path) -> None:
    """In a replica: from now on its tools and gates do their work where `at_home` listens at ``path``."""
    tools = tools_of(agents)
    for number, tool in enumerate(tools):
        tool.fn = _away(number, path)
        tool.is_async = True
        if tool.gate is not None and tool.gate.when is not None:
            tool.gate = replace(tool.gate, when=_away(len(tools) + number, path))


@asynccontextmanager
async def at_home(agents: Sequence[Agent], path: Path) -> AsyncIterator[None]:
    """In the test: run what the replicas' tools are asked for."""
    home = _Home(tools_of(agents))
    server = await asyncio.start_unix_server(home.accept, path)
    try:
        yield
    finally:
        server.close()
        await home.aclose()


# --- in a replica ----------------------------------------------------------------------------------------------------
def _away(number: int, path: Path) -> Callable[..., Any]:
    async def away(*args: Any, **kwargs: Any) -> Any:
        named = next((name for name, value in kwargs.items() if isinstance(value, ToolContext)), None)
        context: ToolContext | None = kwargs.pop(named) if named else None
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            _send(writer, (number, args, kwargs, named, _passed(context) if context else {}))
            answer = asyncio.ensure_future(_answer(reader, context))
            try:
                value, error = await asyncio.shield(answer)
            except asyncio.CancelledError:
                writer.write_eof()
                await asyncio.wait([answer], timeout=STOP_SECONDS)
                answer.cancel()
                raise
            if error is not None:
                raise error
            return value
        finally:
            writer.close()

    return away


_kept: list[Any] = []


def _passed(context: ToolContext) -> dict[str, Any]:
    _kept.append(context.state)  # so that its id stays its own
    return {name: getattr(context, name) for name in PASSED} | {
        "state": context.state,
        "shared": (os.getpid(), id(context.state)),
    }


async def _answer(reader: asyncio.StreamReader, context: ToolContext | None) -> tuple[Any, BaseException | None]:
    """What a call returns or raises. On the way: what it tells, and what it made of the shared state."""
    while True:
        kind, value, state = await _receive(reader)
        if context is not None:
            _make(context.state, state)
        if kind == "told":
            assert context is not None
            assert context.tell is not None
            context.tell(value)
        else:
            return (value, None) if kind == "returned" else (None, value)


# --- in the test -----------------------------------------------------------------------------------------------------
class _Home:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._work = [(tool.fn, tool.is_async) for tool in tools]
        whens = [tool.gate.when if tool.gate else None for tool in tools]
        self._work += [(when or _nothing, iscoroutinefunction(when)) for when in whens]
        self._calls: set[asyncio.Task[None]] = set()
        self._states: dict[tuple[int, int], Shared] = {}

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One call."""
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        task.add_done_callback(lambda _: writer.close())

    async def aclose(self) -> None:
        """Cancel what is still at work."""
        for task in self._calls:
            task.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):  # its process is gone
            await self._work_for(reader, writer)

    async def _work_for(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, args, kwargs, named, passed = await _receive(reader)
        shared = self._states.setdefault(passed.pop("shared"), Shared(passed["state"])) if named else Shared({})
        context = _context(passed, shared, writer) if named else None
        fn, is_async = self._work[number]
        given = kwargs | ({named: context} if named else {})
        work = asyncio.ensure_future(_contained(partial(fn, *args), is_async, given))
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=STOP_SECONDS)
        if work.done():
            shared.known()
            said = ("raised", asyncio.CancelledError()) if work.cancelled() else work.result()
            _send(writer, (*said, shared.state))
            await writer.drain()


def _nothing() -> None:
    """What a gate without a function is asked: never."""


def _context(passed: dict[str, Any], shared: "Shared", writer: asyncio.StreamWriter) -> ToolContext:
    loop = asyncio.get_running_loop()
    shared.met(passed["state"])

    def tell(event: Told) -> None:
        shared.known()
        loop.call_soon_threadsafe(writer.write, _packed(("told", event, shared.state)))

    return ToolContext(**{**passed, "state": shared.state}, tell=tell)


class Shared:
    """The shared state of a run in a replica. Its calls share one object here, as they do there.

    A call comes with the state as it is in the replica, which may not have heard yet of what another call made of it.
    """

    def __init__(self, state: Any) -> None:
        self.state = state
        self._known: set[str] = set()

    def known(self) -> None:
        """What it is now has been told to the replica, or came from there."""
        self._known.add(repr(self.state))

    def met(self, state: Any) -> None:
        """A call came with this. If it never was that, the replica has changed it."""
        if repr(state) not in self._known:
            _make(self.state, state)
            self.known()


def _make(state: Any, other: Any) -> None:
    """Have ``state``, a dict or a model's object, be what ``other`` is."""
    members = dict(_members(other))
    _members(state).clear()
    _members(state).update(members)


def _members(state: Any) -> dict[str, Any]:
    return state if isinstance(state, dict) else vars(state)


async def _contained(fn: Callable[..., Any], is_async: bool, kwargs: dict[str, Any]) -> tuple[str, Any]:
    try:
        value = await fn(**kwargs) if is_async else await _in_thread(fn, kwargs)
        return "returned", await value if asyncio.iscoroutine(value) else value
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return "raised", asyncio.CancelledError()
    except BaseException as error:  # one that ends the loop ends the call here, too
        return "raised", error


async def _in_thread(fn: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """In a thread that nobody waits for in the end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((value, error))

    def work() -> None:
        try:
            outcome: tuple[Any, BaseException | None] = fn(**kwargs), None
        except BaseException as error:
            outcome = None, error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, daemon=True).start()
    value, error = await done
    if error is not None:
        raise error
    return value


def _send(writer: asyncio.StreamWriter, message: tuple[Any, ...]) -> None:
    writer.write(_packed(message))


def _packed(message: tuple[Any, ...]) -> bytes:
    data = pickle.dumps(message)
    return len(data).to_bytes(4, "big") + data


async def _receive(reader: asyncio.StreamReader) -> Any:
    size = int.from_bytes(await reader.readexactly(4), "big")
    return pickle.loads(await reader.readexactly(size))
