"""The whole product over real sockets: the emulator as provider, the server under uvicorn, and a client that behaves as
AG-UI clients do (it pins its thread id and replays its full history with every run).
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx2
import uvicorn

from agui_gate import Agent, create_app
from agui_gate.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.interop.validate import assert_valid
from tests.product.reducer import apply

Json = dict[str, Any]
MODES = ("chain", "conversation", "stateless")
TIMEOUT = 20.0
CARD_TOOL = {"name": "confirm_changes", "description": "Confirm.", "parameters": {"type": "object", "properties": {}}}

_ids = count(1)

RECORDED: list["Stream"] = []
"""Every whole stream of this process that a client was sent, for the real clients to look at in the end."""


class Stream(list[Json]):
    """The events of one run, with the raw bytes and the response's head."""

    raw: str = ""
    status: int = 200
    run_key: str = ""
    input: Json

    def of(self, kind: str) -> list[Json]:
        """The events of one type."""
        return [event for event in self if event["type"] == kind]

    def types(self) -> list[str]:
        """All types, in order."""
        return [event["type"] for event in self]

    @property
    def text(self) -> str:
        """All assistant text."""
        return "".join(event["delta"] for event in self.of("TEXT_MESSAGE_CONTENT"))

    @property
    def results(self) -> dict[str, str]:
        """Content of each result by call id; a second result for one call is a failure."""
        found: dict[str, str] = {}
        for event in self.of("TOOL_CALL_RESULT"):
            assert event["toolCallId"] not in found, f"two results for {event['toolCallId']}"
            found[event["toolCallId"]] = event["content"]
        return found

    @property
    def calls(self) -> dict[str, str]:
        """Tool name by call id."""
        return {event["toolCallId"]: event["toolCallName"] for event in self.of("TOOL_CALL_START")}

    @property
    def interrupts(self) -> list[Json]:
        """What the run waits for."""
        outcome = self[-1].get("outcome") or {}
        return list(outcome.get("interrupts", ()))

    @property
    def cards(self) -> dict[str, Json]:
        """Arguments of each confirm card by its call id."""
        cards = {i: n for i, n in self.calls.items() if n == "confirm_changes"}
        return {i: json.loads(self.arguments(i)) for i in cards}

    def arguments(self, call_id: str) -> str:
        """The streamed arguments of a call."""
        return "".join(e["delta"] for e in self.of("TOOL_CALL_ARGS") if e["toolCallId"] == call_id)


def record(stream: Stream, body: Json) -> None:
    """Keep a stream that was read from its first event to its last, with the request that it answers."""
    stream.input = body
    RECORDED.append(stream)


def parse(raw: str) -> Stream:
    """Decode an SSE body, checking the framing that clients depend on."""
    assert "\r" not in raw
    stream = Stream()
    stream.raw = raw
    for frame in raw.split("\n\n"):
        lines = [line for line in frame.split("\n") if line and not line.startswith(":")]
        if lines:
            assert len(lines) == 2, lines
            assert lines[0].startswith("id: "), lines
            assert lines[1].startswith("data: "), lines
            stream.append(json.loads(lines[1][6:]))
    return stream


@dataclass
class Chat:
    """One client on one thread."""

    product: "Product"
    thread_id: str = field(default_factory=lambda: f"thread-{next(_ids)}")
    tools: list[Json] = field(default_factory=list)
    messages: list[Json] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    path: str = "/"
    state: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)
    streams: list[Stream] = field(default_factory=list)

    async def say(self, text: str, **more: Any) -> Stream:
        """Send a new user message."""
        self.messages.append({"id": f"u{next(_ids)}", "role": "user", "content": text})
        return await self.go(**more)

    async def resume(self, *answers: tuple[str, Any], **more: Any) -> Stream:
        """Answer interrupts by id."""
        entries = [{"interruptId": i, "status": "resolved", "payload": payload} for i, payload in answers]
        return await self.go(resume=entries, **more)

    async def answer(self, *answers: tuple[str, Any], **more: Any) -> Stream:
        """Answer cards (or real calls) with tool messages."""
        for call_id, payload in answers:
            content = payload if isinstance(payload, str) else json.dumps(payload)
            self.messages.append({"id": f"a{next(_ids)}", "role": "tool", "toolCallId": call_id, "content": content})
        return await self.go(**more)

    async def go(self, **more: Any) -> Stream:
        """One run with the history as it is."""
        body = self.body(**more)
        stream = await self.product.post(self.path, body, self.headers)
        if stream.status == 200:
            assert_valid(stream.raw, resumed=any(m["role"] != "user" for m in body["messages"]) or bool(self.streams))
            self.streams.append(stream)
            apply(self.messages, stream)
        return stream

    def body(self, **more: Any) -> Json:
        """The request's body."""
        return {
            "threadId": self.thread_id,
            "runId": f"run-{next(_ids)}",
            "messages": json.loads(json.dumps(self.messages)),
            "tools": self.tools,
            "context": [],
            "state": self.state,
            "forwardedProps": {},
            **self.extra,
            **more,
        }


class Product:
    """A running server and its provider."""

    def __init__(self, emulator: Emulator, app: Any, url: str, client: httpx2.AsyncClient) -> None:
        self.emulator, self.app, self.url, self.client = emulator, app, url, client

    def chat(self, **more: Any) -> Chat:
        """A new client on a new thread."""
        return Chat(self, **more)

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
                record(stream, body)
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
async def running(app: Any) -> AsyncIterator[str]:
    """Serve an ASGI app on a loopback socket in this loop."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio turns Nagle off for TCP
    sock.bind(("127.0.0.1", 0))
    sock.listen(512)
    config = uvicorn.Config(app, log_level="warning", access_log=False, ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[sock])
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        for listener in server.servers:
            listener.close()
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        async with asyncio.timeout(TIMEOUT):
            await server.lifespan.shutdown()
        sock.close()


def client_of() -> httpx2.AsyncClient:
    """A client for loopback alone: without TLS, whose set-up takes longer than most tests."""
    return httpx2.AsyncClient(timeout=TIMEOUT, verify=False)


@asynccontextmanager
async def product(
    tools: Sequence[Any] = (),
    script: Any = None,
    *,
    mode: str = "chain",
    store: Any = "memory://",
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
            auth=auth,
            settings=settings or Settings(),
        )
        async with running(app) as url, client_of() as client:
            yield Product(emulator, app, url, client)
