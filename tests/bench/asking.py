"""What heavy requests to a provider keep the event loop from: each adapter, a thread as large as one may be.

The provider is a process of its own that reads everything and answers "ok" (`sink.py`). The threads are made in the
store, and the limits are the default ones.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.core.transcript import CallPart, Entry, Output, ResultEntry, Text, TextPart, TurnEntry, UserEntry
from agui_gate.stores.base import Change
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.bench.heart import Heartbeat, as_served
from tests.bench.processes import Child
from tests.product.inprocess import request, run_body, started, user

Json = dict[str, Any]
ENTRIES = 19_900
"""A little less than a thread may have."""

BYTES = 30_000_000
"""The same of its bytes."""

LONGEST = 4_000_000
"""Bytes of what comes in at once: a message, a result."""

WAYS: dict[str, Callable[[str], Any]] = {
    "chain": lambda url: OpenAIResponses("m", mode="chain", base_url=f"{url}/v1", api_key="k"),
    "stateless": lambda url: OpenAIResponses("m", mode="stateless", base_url=f"{url}/v1", api_key="k"),
    "conversation": lambda url: OpenAIResponses("m", mode="conversation", base_url=f"{url}/v1", api_key="k"),
    "chat": lambda url: OpenAIChat("m", base_url=f"{url}/v1", api_key="k"),
    "messages": lambda url: AnthropicMessages("m", base_url=url, api_key="k"),
}


class Asking:
    """An application with a real adapter, and one thread. ``heartbeat`` beats while it is asked."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.heartbeat = Heartbeat()

    async def thread(self, entries: Iterator[Entry]) -> None:
        """Make the thread."""
        store = self._app.state.engine.store
        opened = await store.lease_thread("local", "t", "a", "make")
        await store.commit(opened, Change(entries=list(entries), status="finished"), "make")

    async def say(self, message_id: str, **more: Any) -> None:
        """A run, which has to be answered."""
        data = json.dumps(run_body("t", user("go", message_id), **more)).encode()
        async with self.heartbeat:
            answer = await request(self._app, "POST", "/", data)
        assert answer.events()[-1]["type"] == "RUN_FINISHED", answer.events()[-1]

    async def asks_twice(self, entries: Iterator[Entry]) -> None:
        """Two runs on such a thread. In chain mode the provider has then forgotten everything, and is told it again."""
        await self.thread(entries)
        await self.say("new")
        await self.say("newer")


async def long_messages(asking: Asking) -> None:
    """30 MB in messages of 4 MB."""
    await asking.asks_twice(UserEntry(f"m{i}", (Text("x" * LONGEST),)) for i in range(BYTES // LONGEST))


async def many_messages(asking: Asking) -> None:
    """30 MB in as many messages as a thread may have."""
    text = "x" * (BYTES // ENTRIES - 100)
    both = ((UserEntry(f"m{i}", (Text(text),)), _said(i, TextPart(f"p{i}", text))) for i in range(ENTRIES // 2))
    await asking.asks_twice(entry for pair in both for entry in pair)


async def many_calls(asking: Asking) -> None:
    """As many calls as a thread may have, a hundred in a turn."""
    turns = ([_call(f"{turn}-{i}", "look") for i in range(100)] for turn in range(ENTRIES // 202))
    both: Iterator[list[Entry]] = ([_said(i, *calls), *map(_result, calls)] for i, calls in enumerate(turns))
    await asking.asks_twice(entry for one in both for entry in one)


async def odd_names(asking: Asking) -> None:
    """Calls of 9,000 names that no provider takes."""
    calls = [_call(str(i), f"functions.look {i}") for i in range(9_000)]
    await asking.asks_twice(entry for i, call in enumerate(calls) for entry in (_said(i, call), _result(call)))


async def long_result(asking: Asking) -> None:
    """A tool's result of 4 MB."""
    call = _call("0", "look")
    await asking.asks_twice(iter([_said(0, call), _result(call, 'line "x"\n' * (LONGEST // 9))]))


async def long_schemas(asking: Asking) -> None:
    """3 MB of tools' schemas."""
    schema = {"type": "object", "properties": {f"p{i}": {"type": "string", "description": "x" * 20} for i in range(60)}}
    tools = [{"name": f"t{i}", "description": "x" * 200, "parameters": schema} for i in range(700)]
    await asking.say("new", tools=tools)


CASES = (long_messages, many_messages, many_calls, odd_names, long_result, long_schemas)
Case = Callable[[Asking], Awaitable[None]]


def _said(turn: int, *parts: TextPart | CallPart) -> TurnEntry:
    return TurnEntry(f"t{turn}", parts)


def _call(name: str, tool: str) -> CallPart:
    return CallPart(f"c{name}", f"w{name}", tool, '{"a":1}', f"p{name}")


def _result(call: CallPart, content: str = "seen") -> ResultEntry:
    return ResultEntry(call.id, f"r{call.id}", Output(content))


@contextmanager
def provider() -> Iterator[str]:
    """The provider's address."""
    with tempfile.TemporaryDirectory() as folder:
        child = Child(Path(folder), "sink")
        try:
            yield f"http://127.0.0.1:{child.port}"
        finally:
            child.stop()


async def measure(way: str, case: Case, url: str) -> Heartbeat:
    """One case with one adapter, in an application of its own."""
    async with _asking(WAYS[way](url)) as asking:
        await case(asking)
        return asking.heartbeat


@asynccontextmanager
async def _asking(model: Any) -> AsyncIterator[Asking]:
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Agent(name="a", model=model), store=f"sqlite:///{folder}/a.db", settings=Settings())
        async with started(app):
            await request(app, "POST", "/", json.dumps(run_body("warm", user("hi"))).encode())
            with as_served():
                yield Asking(app)
        await model.aclose()
