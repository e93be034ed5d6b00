"""The whole product over real sockets: the emulator as provider, the server under uvicorn, and a client that behaves as
AG-UI clients do (it pins its thread id and replays its full history with every run).
"""

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.core.json_changes import patched
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, Stream, parse
from agui_gate_adapters.testkit.agui import connecting as client_of
from agui_gate_adapters.testkit.agui import serving as running
from agui_gate_adapters.testkit.spec import breaches
from tests.conforming import DEPARTURES
from tests.interop.validate import assert_in_catalogue

__all__ = [
    "CARD_TOOL",
    "MODES",
    "TIMEOUT",
    "Chat",
    "Product",
    "Stream",
    "client_of",
    "parse",
    "product",
    "record",
    "running",
    "streamed",
]

Json = dict[str, Any]
MODES = ("chain", "conversation", "stateless")
TIMEOUT = 60.0

RECORDED: list["Stream"] = []
"""Every whole stream of this process that a client was sent, for the real clients to look at in the end."""


def record(stream: Stream, body: Json, *, replays: bool = False) -> None:
    """Keep a stream that was read from its first event to its last, with the request that it answers.

    It is held to the specification, whatever the test is about. What we depart from is in `DEPARTURES`.
    """
    stream.input = body
    RECORDED.append(stream)
    found = breaches(stream.raw, input=body, replays=replays, notes=("STATE-2",))  # we restate what users said
    unkept = [one for one in found if one.rule not in DEPARTURES]
    assert not unkept, "\n".join(map(str, unkept))


@dataclass
class Chat(AGUIClient):
    """One client on one thread of a `Product`; everything that it is sent is held against the rule catalogue."""

    product: "Product" = field(kw_only=True)

    async def go(self, **more: Any) -> Stream:
        """One run with the history as it is."""
        earlier = bool(self.streams)
        stream = await super().go(**more)
        if stream.status == 200:
            resumed = earlier or any(message["role"] != "user" for message in stream.input["messages"])
            assert_in_catalogue(stream.raw, resumed=resumed)
        return stream

    async def post(self, body: Any) -> Stream:
        """One request, read to its end."""
        return await self.product.post(self.path, body, self.headers)


def activities(stream: Iterable[Json]) -> list[tuple[str, str, Json]]:
    """Id, type and content of an activity, as a page has it after each event about one."""
    held: dict[str, Json] = {}
    found = []
    for event in stream:
        if event["type"] in ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"):
            name = event["messageId"]
            held[name] = event["content"] if "content" in event else patched(held[name], event["patch"])
            found.append((name, event["activityType"], held[name]))
    return found


def streamed(messages: Sequence[Json]) -> list[Json]:
    """Messages as they are streamed: without what the ledger says of calls, which is known only afterwards."""
    found = [{k: v for k, v in message.items() if k != "metadata"} for message in messages]
    for message in found:
        if "toolCalls" in message:
            message["toolCalls"] = [{k: v for k, v in c.items() if k != "metadata"} for c in message["toolCalls"]]
    return found


class Product:
    """A running server and its provider."""

    def __init__(self, emulator: Emulator, app: Any, url: str, client: httpx2.AsyncClient) -> None:
        self.emulator, self.app, self.url, self.client = emulator, app, url, client

    def chat(self, **more: Any) -> Chat:
        """A new client on a new thread."""
        return Chat(self.client, self.url, product=self, **more)

    async def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Stream:
        """One run, read to its end."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = {"content-type": "application/json", **(headers or {})}
        response = await self.client.post(self.url + path, content=content, headers=head)
        if response.status_code != 200:
            stream = Stream([{"type": "HTTP", **response.json()}])
        else:
            stream = parse(response.text)
            stream.run_key = response.headers["agui-run-key"]
            if isinstance(body, dict):
                record(stream, body, replays=path.endswith("/connect"))
        stream.status = response.status_code
        return stream

    async def get(self, path: str, headers: dict[str, str] | None = None) -> Any:
        """A JSON route."""
        response = await self.client.get(self.url + path, headers=headers)
        return response.json() | {"status_code": response.status_code}

    async def decide(self, approval_id: str, payload: Any, headers: dict[str, str] | None = None) -> Json:
        """`POST /approvals/{id}`."""
        response = await self.client.post(f"{self.url}/approvals/{approval_id}", json=payload, headers=headers)
        return response.json() | {"status_code": response.status_code}

    def inputs(self) -> list[Json]:
        """The bodies of the accepted model requests, oldest first."""
        return [e.body for e in self.emulator.accepted if e.path.endswith("/responses") and e.body is not None]

    def assert_clean(self) -> None:
        """The provider refused nothing."""
        assert not self.emulator.refusals, [(e.rule, e.error) for e in self.emulator.refusals]


@asynccontextmanager
async def product(
    tools: Sequence[Any] = (),
    script: Any = None,
    *,
    mode: str = "chain",
    store: Any = "memory://",
    bus: Any = None,
    auth: Any = None,
    settings: Settings | None = None,
    emulator: Emulator | None = None,
    model: Json | None = None,
    **agent: Any,
) -> AsyncIterator[Product]:
    """The product around one agent called ``support``."""
    emulator = emulator or Emulator(script=script)
    async with serve(emulator) as base_url:
        adapter = OpenAIResponses("gpt-5.4-mini", mode=mode, base_url=base_url, api_key="k", **(model or {}))
        app = create_app(
            Agent(name="support", model=adapter, tools=tools, **agent),
            store=store,
            bus=bus,
            auth=auth,
            settings=settings or Settings(),
        )
        async with running(app) as url, client_of() as client:
            yield Product(emulator, app, url, client)
