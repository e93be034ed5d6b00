"""What people do about a call, in every way, with every adapter, wherever it is made, over a restart: by pairs.

Everybody who decides shares the thread (one team), so that they can answer in its runs as well. Each provider is at the
paths that it has, and takes one key. What it gave with the call has to come back to it after the decision.

All cases, not only those that the pairs take: `pytest tests/people/test_everywhere.py --every --numprocesses=2`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from agui_gate import Agent, Gate, Grant, Principal, create_app, pipeline
from agui_gate.adapter import Adapter
from agui_gate.cli.program import program
from agui_gate.client import Limits
from agui_gate.core.freezes import Freeze
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.mcp import MCPTools
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, Stream, connecting, serving
from agui_gate_adapters.testkit.conformance.ground import think
from agui_gate_adapters.testkit.journal import Entry
from tests.adapters.mcp.server import Wiki, listed, text
from tests.product.shop import Shop, call, refund, say
from tests.support.pairwise import pairs

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
FINANCE = ("user", "approver", "finance")
PEOPLE = {
    name: Principal(name, "acme", roles, "team")
    for name, roles in {
        "ada": ("user",),
        **dict.fromkeys(("ann", "ben", "cat", "eve"), FINANCE),
        "dan": ("user", "approver"),
        "zoe": ("user", "break-glass"),
    }.items()
}
ALARM = {"break_glass": True, "reason": "The till burns."}
IN_RUNS = ("card", "interrupt")
KEY = "the-key"
CALLS = ("call_of_the_first", "call_of_the_second")
"""The ids that the provider gives to the calls of `refund`."""
WHY = "Is it fair?"
"""What the model thinks before it asks for a refund."""


class Decided(NamedTuple):
    """What was decided about a call, as far as it matters for what its provider gets back."""

    asked: Entry
    """The request whose answer has the call."""
    leaves_task: bool
    """Whether the call waited in a task: another run goes on with it then."""
    edited: Json
    """The arguments that ran, where a person changed them at the server that asks the provider; else empty."""


Kept = Callable[[Json, Decided], bool]
"""Whether the body of a request has what the provider gave in answer to the one before it."""


def by_previous(body: Json, decided: Decided) -> bool:
    """Only the output, and the response that it follows."""
    return body["previous_response_id"] == decided.asked.response_id and kinds(body) == ["function_call_output"]


def by_conversation(body: Json, decided: Decided) -> bool:
    """Only the output, and the conversation that keeps the rest; that of a task is not gone on with by another run."""
    if decided.leaves_task:
        return "conversation" not in body and kinds(body) == ["message", "function_call", "function_call_output"]
    named = (decided.asked.body or {})["conversation"]
    return bool(named) and body["conversation"] == named and kinds(body) == ["function_call_output"]


def by_value(body: Json, decided: Decided) -> bool:
    """Everything: sealed reasoning, and behind it the call under the id of its item.

    A call that a person changed is not what was thought of any more. It comes as it ran, without either (S19, B11).
    """
    items = body["input"]
    at = max(n for n, item in enumerate(items) if item["type"] == "function_call")
    before, made = items[at - 1], items[at]
    if decided.edited:
        whole = kinds(body) == ["message", "function_call", "function_call_output"]
        return whole and "id" not in made and json.loads(made["arguments"]) == decided.edited
    is_sealed = before["type"] == "reasoning" and str(before.get("encrypted_content")).startswith("gAAAA")
    return is_sealed and made["id"].startswith("fc_") and "previous_response_id" not in body


def in_message(body: Json, decided: Decided) -> bool:
    """The call in the message that has what was thought."""
    return bool(_last_answer(body)["reasoning_content"] == WHY)


def in_blocks(body: Json, decided: Decided) -> bool:
    """The call behind the block that has what was thought, signed."""
    block, use = _last_answer(body)["content"]
    return (block["type"], block["thinking"], use["type"]) == ("thinking", WHY, "tool_use") and bool(block["signature"])


def _last_answer(body: Json) -> Json:
    return next(dict(one) for one in reversed(body["messages"]) if one["role"] == "assistant")


def kinds(body: Json) -> list[str]:
    return [item["type"] for item in body["input"]]


class Provider(NamedTuple):
    """One host: where its APIs are on its server, how the strict emulator plays it, and what has to come back."""

    make: Callable[[str, str], Adapter]
    kept: Kept
    path: str = ""
    emulator: Mapping[str, Any] = MappingProxyType({})


AZURE, PROJECT = "/openai", "/api/projects/p/openai"
THINKING = {"type": "enabled", "budget_tokens": 1024}
PROVIDERS = {
    "chain": Provider(
        lambda url, name: OpenAIResponses(name, mode="chain", base_url=f"{url}/v1", api_key=KEY), by_previous
    ),
    "chat": Provider(
        lambda url, name: OpenAIChat(name, base_url=f"{url}/v1", api_key=KEY, profile="kimi"),
        in_message,
        emulator={"chat": "kimi"},
    ),
    "anthropic": Provider(
        lambda url, name: AnthropicMessages(name, base_url=url, api_key=KEY, thinking=THINKING), in_blocks
    ),
    "azure": Provider(
        lambda url, name: OpenAIResponses.azure(name, mode="stateless", endpoint=url, api_key=KEY),
        by_value,
        AZURE,
        {"profile": "azure_v1"},
    ),
    "azure chat": Provider(  # which never shows what was thought
        lambda url, name: OpenAIChat(name, base_url=f"{url}{AZURE}/v1", api_key=KEY, profile="azure"),
        lambda body, decided: len(_last_answer(body)["tool_calls"]) == 1,
        AZURE,
        {"chat": "azure"},
    ),
    "foundry": Provider(
        lambda url, name: OpenAIResponses.foundry(
            name, mode="conversation", endpoint=url, project="p", token_provider=lambda: KEY
        ),
        by_conversation,
        PROJECT,
        {"profile": "foundry"},
    ),
}


class Till(Wiki):
    """An MCP server that has the shop's refund."""

    def __init__(self, shop: Shop) -> None:
        super().__init__()
        self._refunds = shop.refunds
        self.tools = [listed("refund", order_id={"type": "string"}, amount={"type": "number"})]

    async def _refund(self, ctx: Any, order_id: str, amount: float) -> Any:
        self._refunds.append((order_id, amount))
        return text("refunded")


class Place:
    """One call of `refund` that ada asks for, and the people around it. Its server can be another one after a while."""

    def __init__(self, way: str, adapter: str, where: str, of: str, file: Path, **gate: Any) -> None:
        self.way, self.provider, self.where, self.of, self.file = way, PROVIDERS[adapter], where, of, file
        self.gate: Json = {"approvers": "finance", "editable": ["amount"], **gate}
        self.shop = Shop(**self.gate)
        self.emulator = Emulator(self.script(), api_key=KEY, **self.provider.emulator)
        self.stack = AsyncExitStack()
        self.thread: AGUIClient | None = None
        self.asked = Stream()
        self.url = ""

    def script(self) -> list[Json]:
        """The worker asks for two refunds, one a message; whoever stands before it passes the work on."""
        turns: list[Json] = []
        for call_id in CALLS:
            if self.where == "sub-agent":
                turns.append({"output": [call("clerk", task="Refund A1.")], "when": {"model": "lead"}})
            turns.append({"output": [think(WHY), refund() | {"call_id": call_id}], "when": {"model": "clerk"}})
            turns.append({"output": [say("Done.")], "when": {"model": "clerk"}})
            if self.where in ("sub-agent", "workflow"):
                turns.append({"output": [say("Done.")], "when": {"model": "lead"}})
        return turns

    def agent(self, base_url: str) -> Agent:
        make = self.provider.make
        clerk = Agent(name="clerk", description="Refunds.", model=make(base_url, "clerk"), tools=self.tools())
        lead: Json = {"name": "lead", "description": "Leads.", "model": make(base_url, "lead")}
        match self.where:
            case "sub-agent":
                return Agent(**lead, tools=[clerk.as_tool()])
            case "workflow":
                return pipeline("line", clerk, Agent(**lead))
        return clerk

    def tools(self) -> Any:
        """The shop's, here or behind MCP."""
        return self.shop.tools if self.of == "shop" else [MCPTools.http(self.till, gate={"refund": Gate(**self.gate)})]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Place"]:
        """Within: it serves, and ada has asked."""
        async with self.stack:
            app = Starlette(routes=[Mount(self.provider.path, app=self.emulator.app)])
            self.base_url = await self.stack.enter_async_context(serving(app))
            if self.of == "mcp":
                self.till = f"{await self.stack.enter_async_context(serving(Till(self.shop).app()))}/mcp"
            self.http = await self.stack.enter_async_context(connecting())
            if self.where == "remote":  # whose model is far away; the tool is here
                model = self.provider.make(self.base_url, "clerk")
                far = create_app(Agent(name="expert", model=model), store="memory://")
                self.far = await self.stack.enter_async_context(serving(far))
            self.here = await self.stack.enter_async_context(AsyncExitStack())
            await self.start()
            self.thread = self.client("ada")
            self.asked = await self.thread.say("Refund A1.")
            yield self
            await self.here.aclose()

    async def start(self) -> None:
        if self.where == "remote":
            limits = Limits(idle=60.0, total=60.0)
            agent: Agent = RemoteAgent(f"{self.far}/agents/expert", name="desk", tools=self.tools(), limits=limits)
        else:
            agent = self.agent(self.base_url)
        self.store = SQLiteStore(str(self.file))

        def auth(request: Request) -> Principal | None:
            return PEOPLE.get(request.headers.get("authorization", "").removeprefix("Bearer "))

        self.url = await self.here.enter_async_context(serving(create_app(agent, store=self.store, auth=auth)))

    async def restart(self) -> None:
        await self.here.aclose()
        await self.start()

    def client(self, who: str) -> AGUIClient:
        """Somebody's page on the thread; all of them have its messages."""
        tools = [CARD_TOOL] if self.way == "card" else []
        page = AGUIClient(self.http, self.url, thread_id="t", tools=tools, headers=self.headers(who))
        if self.thread is not None:
            page.messages = self.thread.messages
        return page

    @staticmethod
    def headers(who: str) -> dict[str, str]:
        return {"authorization": f"Bearer {who}"}

    async def get(self, path: str, who: str = "ada") -> Json:
        found: Json = (await self.http.get(self.url + path, headers=self.headers(who))).json()
        return found

    async def post(self, path: str, body: Json, who: str) -> int:
        return (await self.http.post(self.url + path, json=body, headers=self.headers(who))).status_code

    async def waiting(self, view: str = "") -> Json:
        (found,) = (await self.get(f"/approvals{view}"))["approvals"]
        return dict(found)

    async def decide(self, who: str, **decision: Any) -> None:
        """Somebody's yes, in this way. Whether it was taken is seen in the record."""
        decision = {"approved": True} | decision
        if self.way in IN_RUNS:
            self.asked = await self.client(who).decide(self.asked, decision)
        elif self.way == "http":
            await self.post(f"/approvals/{(await self.waiting())['id']}", decision, who)
        elif self.way == "inbox":
            card = await self.waiting("?view=card")  # as the page has it: what was seen goes back with the yes
            seen = {} if "edited_arguments" in decision else {"effective_arguments": card["effective_arguments"]}
            await self.post(f"/approvals/{card['id']}", decision | seen, who)
        else:
            await asyncio.to_thread(self.by_shell, who, (await self.waiting())["id"], decision)

    def by_shell(self, who: str, approval_id: str, decision: Json) -> None:
        more = ["--edit", f"amount={decision['edited_arguments']['amount']}"] if "edited_arguments" in decision else []
        more += ["--break-glass", "--reason", decision["reason"]] if "break_glass" in decision else []
        more += ["--grant", decision["grant"]["scope"]] if "grant" in decision else []
        command = ["approvals", "approve", approval_id, "--url", self.url, "--token", who, "--no-continue", *more]
        CliRunner().invoke(program, command)

    async def goes_on(self) -> None:
        """After an answer outside of runs, ada's page runs the thread."""
        if self.way not in IN_RUNS:
            self.asked = await self.client("ada").go()

    async def done(self, amount: float, **decision: Any) -> Json:
        """The call ran once, with that amount, and the conversation has gone on. Returns its record."""
        await self.goes_on()
        assert self.shop.refunds == [("A1", amount)]
        assert self.asked[-1]["type"] == "RUN_FINISHED", self.asked[-1]
        assert not self.emulator.refusals, [(one.rule, one.error) for one in self.emulator.refusals]
        (record,) = (await self.get("/approvals?state=decided"))["approvals"]
        assert record["state"] == "done"
        assert {name: record["decision"].get(name) for name in decision} == decision
        ran = record["effective_arguments"]
        self.check_kept(CALLS[0], waited=True, edited=ran if ran != record["arguments"] else {})
        return dict(record)

    def check_kept(self, call_id: str, *, waited: bool, edited: Json) -> None:
        """The provider got the output of that call by its id, and all that it gave before it.

        ``waited``: for people. A server far away is told of an edit by the output alone, and has the call as it was.
        """
        asked = answer = None
        for entry in self.emulator.accepted:
            body = entry.body or {}
            if body["model"] == "clerk" and f'"{call_id}"' in json.dumps(body):
                answer = entry
                break
            asked = entry if body["model"] == "clerk" else asked
        assert answer is not None, "no output came"
        assert asked is not None
        leaves_task = waited and self.where in ("sub-agent", "workflow")
        decided = Decided(asked, leaves_task, {} if self.where == "remote" else edited)
        assert self.provider.kept(answer.body or {}, decided), answer.body
        assert "Refund A1" in json.dumps(answer.items), "what was said before the call"

    async def still_waits(self) -> Json:
        assert self.shop.refunds == []
        return await self.waiting()


Feature = Callable[[Place, Callable[[], Any]], Any]


async def second_person(place: Place, again: Callable[[], Any]) -> None:
    await place.decide("ada")
    await place.decide("ben")
    await place.decide("ben")
    assert [one["by"] for one in (await place.still_waits())["approvals"]] == ["ben"]
    await again()
    await place.decide("cat")
    await place.done(20, by="cat")


async def edit_by_the_first(place: Place, again: Callable[[], Any]) -> None:
    await place.decide("ben", edited_arguments={"order_id": "A1", "amount": 15})
    assert (await place.still_waits())["effective_arguments"] == {"order_id": "A1", "amount": 15}
    await again()
    await place.decide("cat")
    await place.still_waits()  # who edited isn't one of the two
    await place.decide("eve")
    await place.done(15, by="eve")


async def grant(place: Place, again: Callable[[], Any]) -> None:
    await place.decide("ben", grant={"scope": "arguments"})
    record = await place.done(20, by="ben")
    await again()
    place.asked = await place.client("ada").say("Refund A1 again.")
    assert place.shop.refunds == [("A1", 20)] * 2
    decided = (await place.get("/approvals?state=decided"))["approvals"]
    ways = {one["decision"]["way"]: one["decision"]["grant"] for one in decided}
    assert ways["grant"] == record["decision"]["grant"]
    place.check_kept(CALLS[1], waited=False, edited={})


async def deputy(place: Place, again: Callable[[], Any]) -> None:
    await place.decide("dan")
    await place.still_waits()
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert await place.post("/deputies", {"deputy": "dan", "until": until}, "ann") == 201
    await again()
    await place.decide("dan")
    await place.done(20, by="dan", deputy_of="ann")


async def break_glass(place: Place, again: Callable[[], Any]) -> None:
    await place.decide("zoe")
    await place.still_waits()
    await again()
    await place.decide("zoe", **ALARM)
    await place.done(20, by="zoe", break_glass=True)


async def freeze(place: Place, again: Callable[[], Any]) -> None:
    await place.store.freeze(Freeze(tool="refund"))
    await place.decide("ben")
    assert "frozen" in await place.still_waits()
    await again()
    await place.decide("ben")
    await place.still_waits()
    await place.store.freeze(Freeze(tool="refund"), lift=True)
    await place.decide("ben")
    await place.done(20, by="ben")


async def hand_to(place: Place, again: Callable[[], Any]) -> None:
    approval_id = (await place.waiting())["id"]
    assert await place.post(f"/approvals/{approval_id}/hand-to", {"to": "cat"}, "ben") == 200
    await again()
    assert (await place.still_waits())["handed_to"] == {"to": "cat", "by": "ben"}
    await place.decide("cat")
    await place.done(20, by="cat")


FEATURES: dict[str, tuple[Feature, Json]] = {
    "second person": (second_person, {"needs": 2}),
    "edit by the first": (edit_by_the_first, {"needs": 2}),
    "grant": (grant, {"grants": [Grant.arguments()]}),
    "deputy": (deputy, {}),
    "break-glass": (break_glass, {"needs": 2}),
    "freeze": (freeze, {}),
    "hand-to": (hand_to, {}),
}


@pytest.mark.parametrize(
    ("feature", "way", "adapter", "where", "of", "restarts"),
    pairs(
        FEATURES,
        ["card", "interrupt", "http", "shell", "inbox"],
        PROVIDERS,
        ["plain", "sub-agent", "workflow", "remote"],
        ["shop", "mcp"],
        [False, True],
    ),
)
async def test_people_decide_everywhere(
    feature: str, way: str, adapter: str, where: str, of: str, restarts: bool, tmp_path: Path
) -> None:
    act, gate = FEATURES[feature]

    async def nothing() -> None:
        pass

    async with Place(way, adapter, where, of, tmp_path / "store.db", **gate).opened() as place:
        await act(place, place.restart if restarts else nothing)


@pytest.mark.parametrize("style", ["card", "interrupt"])
async def test_people_of_the_server_behind_decide_what_is_asked_in_front(style: str) -> None:
    """The gate is at the far server, which knows its people. The page in front asks with one of their tokens."""
    shop = Shop(approvers="finance", needs=2)
    far = Emulator([{"output": [refund()]}, {"output": [say("Done.")], "repeat": True}])

    def auth(request: Request) -> Principal | None:
        return PEOPLE.get(request.headers.get("authorization", "").removeprefix("Bearer "))

    async with serve(far) as base_url, connecting() as http:
        model = OpenAIResponses("gpt", mode="stateless", base_url=base_url, api_key="k")
        expert = Agent(name="expert", model=model, tools=shop.tools)
        async with serving(create_app(expert, store="memory://", auth=auth)) as back:
            desk = RemoteAgent(f"{back}/agents/expert", name="desk", headers=Place.headers("ada"))
            async with serving(create_app(desk, store="memory://")) as front:
                page = AGUIClient(http, front, tools=[CARD_TOOL] if style == "card" else [])
                asked = await page.say("Refund A1.")

                async def decide(who: str) -> tuple[int, str]:
                    found = (await http.get(f"{back}/approvals", headers=Place.headers(who))).json()["approvals"]
                    path = f"{back}/approvals/{found[0]['id']}"
                    answer = await http.post(path, json={"approved": True}, headers=Place.headers(who))
                    return answer.status_code, answer.json().get("state", "")

                asked = await page.decide(asked, approved=True)  # it is ada's yes there, who asked
                assert (shop.refunds, len(asked.interrupts or asked.cards)) == ([], 1), "it is asked again"
                assert await decide("ada") == (403, "")
                assert await decide("ben") == (200, "pending")
                assert await decide("cat") == (200, "done")
                assert shop.refunds == [("A1", 20)]
                done = await page.decide(asked, approved=True)
                assert (done[-1]["type"], shop.refunds) == ("RUN_FINISHED", [("A1", 20)])
                assert (list(done.interrupts), list(done.cards)) == ([], [])
                assert "Done." in done.text
                assert not far.refusals
