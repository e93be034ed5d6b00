"""The setting of the scenarios: the emulator, the adapter, the server, a client, and the tools of a small shop."""

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import pytest

import agui_gate
from agui_gate import Agent, Gate, ToolContext, create_app
from agui_gate.adapter import Adapter
from agui_gate_adapters.testkit.agui import AGUIClient, Stream, connecting, serving
from agui_gate_adapters.testkit.emulator import Emulator
from agui_gate_adapters.testkit.journal import Entry
from agui_gate_adapters.testkit.server import serve
from agui_gate_adapters.testkit.spec import assert_conforms

# The tools of a small shop, which remember what they did, and scripts of what the model does with them.

Item = dict[str, Any]

LOOP = "asyncio", {"use_uvloop": sys.platform != "win32"}
"""The loop that the server runs on."""

YES, NO = {"approved": True}, {"approved": False}
COLOR = {
    "name": "pick_color",
    "description": "Let the user pick a colour.",
    "parameters": {"type": "object", "properties": {"hint": {"type": "string"}}},
}
"""A tool of the client's."""


def call(name: str, call_id: str | None = None, **arguments: Any) -> Item:
    """The model calls a tool; ``call_id`` forces the provider's id."""
    item: Item = {"type": "function_call", "name": name, "arguments": arguments}
    return item if call_id is None else item | {"call_id": call_id}


def refund(order_id: str = "A1", amount: float = 20) -> Item:
    """The model asks for a refund."""
    return call("refund", order_id=order_id, amount=amount)


def search(q: str = "ada") -> Item:
    """The model searches."""
    return call("search", q=q)


def say(text: str) -> Item:
    """The model says something."""
    return {"type": "message", "text": text}


def think(text: str = "Let me think.") -> Item:
    """The model reasons where one can see it."""
    return {"type": "reasoning", "summary": [text]}


def turn(*items: Item, **more: Any) -> Item:
    """One turn of a script."""
    return {"output": list(items), **more}


def script(*items: Item, after: str = "Done.") -> list[Item]:
    """One turn with these items, then ``after`` whatever is said."""
    return [turn(*items), turn(say(after), repeat=True)]


def status(content: str) -> str:
    """The status word of a result that isn't a tool's own."""
    return str(json.loads(content)["status"])


class Shop:
    """A gated `refund` whose amount can be edited, a free `search`."""

    def __init__(self) -> None:
        self.refunds: list[tuple[str, float]] = []
        self.searches: list[str] = []

        @agui_gate.tool(gate=Gate(editable=["amount"]))
        async def refund(order_id: str, amount: float, ctx: ToolContext) -> Item:
            """Refund an order."""
            self.refunds.append((order_id, amount))
            return {"refunded": amount, "order": order_id}

        @agui_gate.tool
        def search(q: str) -> list[str]:
            """Search the shop."""
            self.searches.append(q)
            return [f"found {q}"]

        self.tools = [refund, search]

    @property
    def orders(self) -> list[str]:
        """The orders that were refunded, sorted."""
        return sorted(order for order, _ in self.refunds)


Json = dict[str, Any]


class Suite:
    """The description of an adapter, by a subclass."""

    pytestmark: ClassVar[list[Any]] = [pytest.mark.anyio]

    emulator_options: ClassVar[Json] = {}
    """Keywords for `Emulator`: the profile of the provider that is stood in for."""
    reasons: ClassVar[bool] = True
    """Whether this provider has reasoning that an adapter can show."""
    says_end: ClassVar[bool] = True
    """Whether this provider says where an answer ends; else a proper end of the body is all there is."""
    object_arguments: ClassVar[bool] = False
    """Whether arguments are an object on the wire, so that they can't be broken JSON or cut within."""
    finish_reason: ClassVar[bool] = True
    """Whether this provider says why an answer ended: else one that a limit cut looks like any other."""
    continues: ClassVar[bool] = False
    """Whether this provider remembers the conversation: a second turn goes on from a `ConversationRef` of the first."""

    @pytest.fixture
    def anyio_backend(self) -> tuple[str, dict[str, bool]]:
        """The loop that the server runs on."""
        return LOOP

    def make_adapter(self, base_url: str) -> Adapter:
        """A new adapter that talks to the emulator at ``base_url``, with any key but an empty one."""
        raise NotImplementedError

    def served(self, agent: Agent) -> Agent:
        """The agent that clients post to, made of the one under test: by default that itself."""
        return agent

    def emulator(self, script: Any) -> Emulator:
        """The provider, with this script."""
        return Emulator(script, **self.emulator_options)

    def grounded(self, emulator: Emulator, http: Any, agent: Agent) -> "Ground":
        """What a scenario works with, before its server has an address."""
        return Ground(emulator, http, agent)

    def failures(self, stream: Stream) -> list[Json]:
        """The events that say that the agent under test has failed."""
        return stream.of("RUN_ERROR")

    @asynccontextmanager
    async def ground(
        self,
        tools: Sequence[Any] = (),
        script: Any = None,
        *,
        store: str = "memory://",
        may_refuse: Sequence[str] = (),
        departs: Sequence[str] = (),
        **agent: Any,
    ) -> AsyncIterator["Ground"]:
        """A server with one agent that has these tools, and a provider that plays this script.

        Leaving the block without an error requires that the provider refused nothing, but by the rules ``may_refuse``,
        and that every stream keeps the specification, but for ``departs``.
        """
        emulator = self.emulator(script)
        async with serve(emulator) as base_url, connecting() as http:
            shop = Agent(name="shop", model=self.make_adapter(base_url), tools=tools, **agent)
            ground = self.grounded(emulator, http, shop)
            app = create_app(self.served(shop), store=store)
            async with serving(app) as ground.url:
                try:
                    yield ground
                except AssertionError as failure:
                    failure.add_note(ground.why())
                    raise
        refused = [(entry.rule, entry.error) for entry in emulator.refusals if entry.rule not in may_refuse]
        assert not refused, f"the provider refused {refused}"
        for stream in (stream for client in ground.clients for stream in client.streams):
            assert_conforms(stream.raw, input=stream.input, departs=departs)


class Ground:
    """One running server with its provider."""

    def __init__(self, emulator: Emulator, http: Any, agent: Agent) -> None:
        self.emulator, self.http, self.agent, self.url = emulator, http, agent, ""
        self.clients: list[AGUIClient] = []

    def client(self, **more: Any) -> AGUIClient:
        """A client on a new thread."""
        self.clients.append(AGUIClient(self.http, self.url, **more))
        return self.clients[-1]

    def why(self) -> str:
        """What may be behind a failure, which a missing word of the answer alone doesn't say."""
        ends = [end for client in self.clients for stream in client.streams for end in stream.of("RUN_ERROR")]
        errors = [f"a run ended with {end['code']}: {end['message']}" for end in ends]
        refused = [f"the provider refused a request ({entry.rule}): {entry.error}" for entry in self.emulator.refusals]
        return "\n".join([*errors, *refused]) or "no run failed, and the provider refused nothing"

    @property
    def requests(self) -> list[Entry]:
        """The model requests that were accepted, oldest first."""
        return self.emulator.accepted

    @property
    def newest(self) -> "SeenRequest":
        """What the newest model request told the model."""
        return SeenRequest(self.requests[-1].items)

    @property
    def advertised(self) -> set[str]:
        """The names of the newest model request's tools, as the provider was told them."""
        return set(self.requests[-1].tools)


class SeenRequest:
    """A conversation as the provider saw it, whatever its API."""

    def __init__(self, items: Sequence[Json]) -> None:
        self.items = items

    @property
    def users(self) -> list[str]:
        """The user's texts."""
        return [_text(item) for item in self.items if item.get("role") == "user" and _text(item)]

    @property
    def outputs(self) -> list[str]:
        """The calls' outputs."""
        return [_text(item) for item in self.items if item.get("type") == "function_call_output"]

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """Name and arguments of the calls."""
        found = [item for item in self.items if item.get("type") == "function_call"]
        return [(item["name"], json.loads(item["arguments"])) for item in found]


def _text(item: Json) -> str:
    content = item.get("output", item.get("content"))
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""
