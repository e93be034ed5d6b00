"""Two agui-gates in a row: the one in front has an agent that is the one behind."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from agui_gate import Agent, create_app
from agui_gate.client import Limits
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, Stream, connecting, serving
from tests.client.servers import Scripted, scripted

Json = dict[str, Any]


@dataclass
class Row:
    """Both servers, and whoever talks to the front."""

    emulator: Emulator
    back: str
    front: str
    http: Any

    def chat(self, *tools: Json, **more: Any) -> AGUIClient:
        """A client of the one in front."""
        return AGUIClient(self.http, self.front, tools=list(tools), **more)

    async def get(self, url: str, path: str) -> Any:
        """A JSON route."""
        return (await self.http.get(url + path)).json()

    def asked(self) -> list[Json]:
        """What the model at the back was sent."""
        return [e.body for e in self.emulator.accepted if e.path.endswith("/responses") and e.body is not None]


@asynccontextmanager
async def behind(
    emulator: Emulator, tools: Sequence[Any], store: Any = "memory://", **agent: Any
) -> AsyncIterator[str]:
    """The server at the back."""
    async with serve(emulator) as base_url:
        model = OpenAIResponses("gpt-5.4-mini", mode="stateless", base_url=base_url, api_key="k")
        app = create_app(Agent(name="expert", model=model, tools=tools, **agent), store=store)
        async with serving(app) as url:
            yield url


@asynccontextmanager
async def in_front(url: str, tools: Sequence[Any] = (), store: Any = "memory://", **agent: Any) -> AsyncIterator[str]:
    """The server in front of the one at ``url``."""
    limits = agent.pop("limits", None) or Limits(idle=60.0, total=60.0)
    app = create_app(RemoteAgent(url, name="desk", tools=tools, limits=limits, **agent), store=store)
    async with serving(app) as front:
        yield front


@asynccontextmanager
async def chatting(*runs: Any, **client: Any) -> AsyncIterator[tuple[Scripted, AGUIClient]]:
    """A remote that answers so, run by run; and a client of the server in front of it."""
    async with scripted(*runs) as server, in_front(server.url) as url, connecting() as http:
        yield server, AGUIClient(http, url, **client)


@asynccontextmanager
async def row(script: Any, theirs: Sequence[Any] = (), ours: Sequence[Any] = (), **agent: Any) -> AsyncIterator[Row]:
    """Both, with nothing kept."""
    emulator = Emulator(script=script)
    async with (
        behind(emulator, theirs) as back,
        in_front(f"{back}/agents/expert", ours, **agent) as front,
        connecting() as http,
    ):
        yield Row(emulator, back, front, http)


def pages(way: str) -> list[Json]:
    """The tools of a page that wants to be asked this way."""
    return [CARD_TOOL] if way == "card" else []


def told(stream: Stream, name: str) -> list[str]:
    """Results of the calls of a tool, in order."""
    return [stream.results[i] for i, called in stream.calls.items() if called == name and i in stream.results]


def status(content: str) -> str:
    """The word of a result that isn't a tool's own."""
    word = json.loads(content)["status"]
    assert isinstance(word, str)
    return word
