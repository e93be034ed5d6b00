"""Tools that are called in one process and do their work in another: the test's own.

A replica is a process of its own, and what its tools do has to be seen by the test, whichever replica did it. So there
a tool's function is replaced by a call over a Unix socket. The function itself runs in the test's loop (a sync one in a
thread): what it counts is counted over all replicas, and what it waits for is the test's to give. A call that is
cancelled, or whose process is gone, is cancelled here.
"""

import asyncio
import pickle
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from agui_gate import Agent, ToolContext
from agui_gate.core.events import Event
from agui_gate.tool import Tool

STOP_SECONDS = 5.0
"""How long a cancelled call waits for its function to end; the engine has a bound of its own."""

PASSED = [field.name for field in fields(ToolContext) if field.init and field.name not in ("tell", "state")]


def tools_of(agents: Sequence[Agent]) -> list[Tool]:
    """Every tool of the agents, in an order that is the same in each process."""
    return [tool for agent in agents for tool in agent.by_name.values()]


def send_away(agents: Sequence[Agent], path: Path) -> None:
    """In a replica: from now on its tools do their work where `at_home` listens at ``path``."""
    for number, tool in enumerate(tools_of(agents)):
        tool.fn = _away(number, path)
        tool.is_async = True


@asynccontextmanager
async def at_home(agents: Sequence[Agent], path: Path) -> AsyncIterator[None]:
    """In the test: run what the replicas' tools are asked for."""
    home = _Home(tools_of(agents))
    server = await asyncio.start_unix_server(home.serve, path)
    try:
        yield
    finally:
        server.close()
        await home.aclose()


# --- in a replica ----------------------------------------------------------------------------------------------------
def _away(number: int, path: Path) -> Callable[..., Any]:
    async def away(**kwargs: Any) -> Any:
        named = next((name for name, value in kwargs.items() if isinstance(value, ToolContext)), None)
        context: ToolContext | None = kwargs.pop(named) if named else None
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            _send(writer, (number, kwargs, named, _passed(context) if context else {}))
            answer = asyncio.ensure_future(_answer(reader, context))
            try:
                return await asyncio.shield(answer)
            except asyncio.CancelledError:
                writer.write_eof()
                await asyncio.wait([answer], timeout=STOP_SECONDS)
                answer.cancel()
                raise
        finally:
            writer.close()

    return away


def _passed(context: ToolContext) -> dict[str, Any]:
    return {name: getattr(context, name) for name in PASSED} | {"state": context.state}


async def _answer(reader: asyncio.StreamReader, context: ToolContext | None) -> Any:
    """What a call comes to. On the way: what it tells, and what it made of the shared state."""
    while True:
        kind, value, state = await _receive(reader)
        if context is not None:
            context.state.clear()
            context.state.update(state)
        if kind == "told":
            assert context is not None
            assert context.tell is not None
            context.tell(value)
        elif kind == "raised":
            raise value
        else:
            return value


# --- in the test -----------------------------------------------------------------------------------------------------
class _Home:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._work = [(tool.fn, tool.is_async) for tool in tools]
        self._calls: set[asyncio.Task[None]] = set()
        self._states: dict[tuple[str, str], tuple[dict[str, Any], int]] = {}
        """The shared state of each thread that has calls at work, and how many those are: they share one object."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One call."""
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # its process is gone
        finally:
            self._calls.discard(task)
            writer.close()

    async def aclose(self) -> None:
        """Cancel what is still at work."""
        for task in self._calls:
            task.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, kwargs, named, passed = await _receive(reader)
        context = self._context(passed, writer) if named else None
        fn, is_async = self._work[number]
        given = kwargs | ({named: context} if named else {})
        try:
            work = asyncio.ensure_future(_contained(fn, is_async, given))
            gone = asyncio.ensure_future(reader.read(1))
            try:
                await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
                if not work.done():
                    work.cancel()
                    await asyncio.wait({work}, timeout=STOP_SECONDS)
            if work.done() and not work.cancelled():
                _send(writer, (*work.result(), context.state if context else {}))
                await writer.drain()
        finally:
            if context is not None:
                self._release(context)

    def _context(self, passed: dict[str, Any], writer: asyncio.StreamWriter) -> ToolContext:
        loop = asyncio.get_running_loop()
        key = passed["principal"], passed["thread_id"]
        state, calls = self._states.get(key, (passed["state"], 0))
        self._states[key] = state, calls + 1

        def tell(event: Event) -> None:
            loop.call_soon_threadsafe(_send, writer, ("told", event, dict(state)))

        return ToolContext(**{**passed, "state": state}, tell=tell)

    def _release(self, context: ToolContext) -> None:
        key = context.principal, context.thread_id
        state, calls = self._states.pop(key)
        if calls > 1:
            self._states[key] = state, calls - 1


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
    data = pickle.dumps(message)
    writer.write(len(data).to_bytes(4, "big") + data)


async def _receive(reader: asyncio.StreamReader) -> Any:
    size = int.from_bytes(await reader.readexactly(4), "big")
    return pickle.loads(await reader.readexactly(size))
