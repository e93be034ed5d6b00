"""What people do about a call, in every way, with every adapter, wherever it is made, over a restart: by pairs.

Everybody who decides shares the thread (one team), so that they can answer in its runs as well.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.requests import Request

from agui_gate import Agent, Grant, Principal, create_app, pipeline
from agui_gate.cli.program import program
from agui_gate.client import Limits
from agui_gate.core.freezes import Freeze
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.remote_agui import RemoteAgent
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, Stream, connecting, serving
from tests.conformance.test_switching import PROVIDERS
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


class Place:
    """One call of `refund` that ada asks for, and the people around it. Its server can be another one after a while."""

    def __init__(self, way: str, adapter: str, where: str, file: Path, **gate: Any) -> None:
        self.way, self.adapter, self.where, self.file = way, adapter, where, file
        self.shop = Shop(approvers="finance", editable=["amount"], **gate)
        self.emulator = Emulator(self.script(), chat="kimi")
        self.stack = AsyncExitStack()
        self.thread: AGUIClient | None = None
        self.asked = Stream()
        self.url = ""

    def script(self) -> list[Json]:
        """The worker asks for two refunds, one a message; whoever stands before it passes the work on."""
        turns: list[Json] = []
        for _ in range(2):
            if self.where == "sub-agent":
                turns.append({"output": [call("clerk", task="Refund A1.")], "when": {"model": "lead"}})
            turns.append({"output": [refund()], "when": {"model": "clerk"}})
            turns.append({"output": [say("Done.")], "when": {"model": "clerk"}})
            if self.where in ("sub-agent", "workflow"):
                turns.append({"output": [say("Done.")], "when": {"model": "lead"}})
        return turns

    def agent(self, base_url: str) -> Agent:
        model = PROVIDERS[self.adapter]
        clerk = Agent(name="clerk", description="Refunds.", model=model(base_url, "clerk"), tools=self.shop.tools)
        lead: Json = {"name": "lead", "description": "Leads.", "model": model(base_url, "lead")}
        match self.where:
            case "sub-agent":
                return Agent(**lead, tools=[clerk.as_tool()])
            case "workflow":
                return pipeline("line", clerk, Agent(**lead))
        return clerk

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Place"]:
        """Within: it serves, and ada has asked."""
        async with self.stack:
            self.base_url = await self.stack.enter_async_context(serve(self.emulator))
            self.http = await self.stack.enter_async_context(connecting())
            if self.where == "remote":  # whose model is far away; the tool is here
                model = PROVIDERS[self.adapter](self.base_url, "clerk")
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
            agent: Agent = RemoteAgent(f"{self.far}/agents/expert", name="desk", tools=self.shop.tools, limits=limits)
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
        return dict(record)

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
    ("feature", "way", "adapter", "where", "restarts"),
    pairs(
        FEATURES,
        ["card", "interrupt", "http", "shell", "inbox"],
        ["chain", "chat", "anthropic"],
        ["plain", "sub-agent", "workflow", "remote"],
        [False, True],
    ),
)
async def test_people_decide_everywhere(
    feature: str, way: str, adapter: str, where: str, restarts: bool, tmp_path: Path
) -> None:
    act, gate = FEATURES[feature]

    async def nothing() -> None:
        pass

    async with Place(way, adapter, where, tmp_path / "store.db", **gate).opened() as place:
        await act(place, place.restart if restarts else nothing)


@pytest.mark.parametrize("style", ["card", "interrupt"])
async def test_people_of_the_server_behind_decide_what_is_asked_in_front(style: str) -> None:
    """The gate is at the far server, which knows its people. The page in front asks with one of their tokens."""
    shop = Shop(approvers="finance", needs=2)
    far = Emulator([{"output": [refund()]}, {"output": [say("Done.")], "repeat": True}], chat="kimi")

    def auth(request: Request) -> Principal | None:
        return PEOPLE.get(request.headers.get("authorization", "").removeprefix("Bearer "))

    async with serve(far) as base_url, connecting() as http:
        expert = Agent(name="expert", model=PROVIDERS["stateless"](base_url), tools=shop.tools)
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
