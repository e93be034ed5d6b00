"""As `test_after_weeks`, for what is asked in a sub-agent's task. What nobody can carry out now keeps that open, too.

A replica of another version, or the same one after the next deployment, may know again who works on it.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import CARD_TOOL, Chat, Json, Product, Stream, client_of, running
from tests.product.live import over
from tests.product.shop import call, outputs, say, status
from tests.product.test_after_weeks import ASKED, LATER, NO, RAN, YES
from tests.product.test_gated_tasks import Model, served
from tests.product.test_subagents import by, requests
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("K3", "B15")]

ways = pytest.mark.parametrize("way", ["card", "resume", "http"])
SCRIPT = [
    by("entry", call("clerk", task="Pay it.")),
    by("clerk", call("pay", amount=5)),
    by("clerk", say("Seen to."), repeat=True),
    by("entry", say("Done."), repeat=True),
]


@dataclass
class Office:
    """A thread whose question waits in a task of the clerk's, while servers come and go."""

    store: str
    way: str
    emulator: Emulator = field(default_factory=lambda: Emulator(script=SCRIPT))
    chat: Chat = field(init=False)
    asked: Stream = field(init=False)
    question: str = field(init=False)

    @asynccontextmanager
    async def server(
        self, tools: Sequence[Any] = ASKED, *, name: str = "clerk", gate: bool = False
    ) -> AsyncIterator[Product]:
        async with serve(self.emulator) as base_url:
            clerk = Agent(name=name, model=OpenAIResponses("clerk", base_url=base_url, api_key="k"), tools=tools)
            model = OpenAIResponses("entry", base_url=base_url, api_key="k")
            delegate = clerk.as_tool(name="clerk", gate=True) if gate else clerk.as_tool()
            entry = Agent(name="support", model=model, tools=[delegate])
            app = create_app(entry, store=self.store, settings=Settings())
            async with running(app) as url, client_of() as client:
                p = Product(self.emulator, app, url, client)
                if hasattr(self, "chat"):
                    self.chat.product, self.chat.url = p, p.url
                yield p
                p.assert_clean()

    async def ask(self) -> None:
        RAN.clear()
        async with self.server() as p:
            self.chat = p.chat(tools=[CARD_TOOL] if self.way == "card" else [])
            self.asked = await self.chat.say("pay")
            self.question = (await p.get("/approvals"))["approvals"][0]["id"]

    async def answer(self, said: dict[str, Any]) -> Stream:
        """Answer, and let the conversation go on."""
        if self.way == "card":
            found = await self.chat.answer((next(iter(self.asked.cards)), {"accepted": said["approved"]}))
            self.asked = found if found.cards else self.asked
            return found
        if self.way == "resume":
            return await self.chat.resume((self.question, said))
        await self.chat.product.decide(self.question, said)
        return await self.chat.go()

    async def state(self) -> str:
        return str((await self.chat.product.get(f"/approvals/{self.question}"))["state"])

    def told(self) -> str:
        """What the entry agent's model was told of the task, last."""
        return outputs(requests(self.chat.product, "entry")[-1])[-1]


@pytest.fixture
async def office(request: pytest.FixtureRequest, way: str) -> Office:
    kind = getattr(request, "param", "sqlite")
    name = "tables" if kind == "postgres" else "tmp_path"
    place = request.getfixturevalue(name)
    office = Office(place if kind == "postgres" else f"sqlite:///{place / 'gate.db'}", way)
    await office.ask()
    return office


@ways
async def test_a_tool_of_another_schema_waits_and_can_be_rejected(office: Office) -> None:
    async with office.server(LATER["schema"]):
        await office.answer(YES)
        assert (await office.state(), RAN) == ("pending", [])
        assert (await office.answer(NO)).text == "Seen to.Done."
        assert (await office.state(), RAN, office.told()) == ("rejected", [], "Seen to.")


@ways
@pytest.mark.parametrize(("change", "state", "ran"), [("gone", "failed", []), ("no gate", "done", ["pay 5"])])
async def test_a_tool_that_is_gone_has_failed_and_one_without_a_gate_runs(
    office: Office, change: str, state: str, ran: list[str]
) -> None:
    async with office.server(LATER[change]):
        assert (await office.answer(YES)).text == "Seen to.Done."
        assert (await office.state(), RAN, office.told()) == (state, ran, "Seen to.")


@ways
@pytest.mark.parametrize("office", ["sqlite", "postgres"], indirect=True)
async def test_where_the_sub_agent_is_unknown_its_task_stays_open_until_it_is_known_again(office: Office) -> None:
    async with office.server(name="scribe"):
        again = await office.answer(YES)
        assert (again.results, again[-1]["type"]) == ({}, "RUN_FINISHED"), "the task has not failed"
        assert (await office.state(), RAN) == ("pending", [])
        shown = [event["outcome"]["type"] for event in again.of("SUBAGENT_FINISHED")]
        assert shown == ["suspended"]
    async with office.server():
        assert (await office.answer(YES)).text == "Seen to.Done."
        assert (await office.state(), RAN, office.told()) == ("done", ["pay 5"], "Seen to.")


@ways
async def test_where_the_sub_agent_is_gone_for_good_a_no_ends_its_task(office: Office) -> None:
    async with office.server(name="scribe"):
        await office.answer(YES)
        done = await office.answer(NO)
        assert (done.text, await office.state(), RAN) == ("Done.", "rejected", [])
        assert status(office.told()) == "error"
        assert "the agent clerk is gone, or has changed" in office.told()
        assert (await office.chat.say("and?")).text == "Done."


@pytest.mark.parametrize("way", ["http"])
async def test_where_the_sub_agent_is_gone_a_no_out_of_band_lets_the_conversation_go_on(office: Office) -> None:
    async with office.server(name="scribe") as p:
        decided = await p.decide(office.question, NO | {"continue": True})
        assert decided["run"] is not None, decided
        thread = await over(p, office.chat, "finished")
        assert (thread["messages"][-1]["content"], await office.state(), RAN) == ("Done.", "rejected", [])


@pytest.mark.parametrize("way", ["http"])
async def test_where_the_sub_agent_is_gone_what_ran_in_its_task_is_not_passed_over(office: Office) -> None:
    """The agent that delegated could have it done again otherwise."""
    async with office.server() as p:
        await p.decide(office.question, YES)
    async with office.server(name="scribe"):
        assert (await office.chat.go()).text == "Done."
        assert (RAN, status(office.told())) == (["pay 5"], "error")
        assert "what was done in it stays done" in office.told()


async def test_another_agent_behind_a_gated_task_that_had_begun_does_not_say_it_had_not(tmp_path: Path) -> None:
    RAN.clear()
    office = Office(f"sqlite:///{tmp_path / 'gate.db'}", "resume")
    async with office.server(gate=True) as p:
        office.chat = p.chat()
        asked = await office.chat.say("pay")
        inside = await office.chat.resume((asked.interrupts[0]["id"], YES))
        await p.decide(inside.interrupts[0]["id"], YES)
    async with office.server(gate=True, name="scribe"):
        assert (await office.chat.go()).text == "Done."
        assert (RAN, status(office.told())) == (["pay 5"], "error")
        assert "Not finished" in office.told()
        assert "what was done in it stays done" in office.told()


@pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
@pytest.mark.parametrize("version", [{}, {"protocolVersion": "1.0"}], ids=["0.x", "1.x"])
async def test_where_a_task_is_left_those_inside_it_have_an_end_too(
    tmp_path: Path, tools: list[Json], version: Json
) -> None:
    def team(model: Model, clerk: str = "clerk") -> Agent:
        packer = Agent(name="packer", model=model("packer"), tools=ASKED)
        between = Agent(name=clerk, model=model("clerk"), tools=[packer.as_tool()])
        return Agent(name="support", model=model("entry"), tools=[between.as_tool()])

    said = [by("clerk", call("packer", task="Pay it.")), by("packer", call("pay", amount=5))]
    emulator = Emulator(script=[SCRIPT[0], *said, SCRIPT[-1]])
    store = f"sqlite:///{tmp_path / 'gate.db'}"
    RAN.clear()
    async with served(emulator, team, store) as p:
        chat = p.chat(tools=tools, extra=version)
        await chat.say("pay")
        (waits,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waits["id"], YES)
    async with served(emulator, lambda model: team(model, "scribe"), store) as p:
        chat.product, chat.url = p, p.url
        assert (await chat.go()).text == "Done."
        messages = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
        ended = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
        made = {one["id"]: one["function"]["name"] for m in messages for one in m.get("toolCalls", ())}
        assert ended.keys() == made.keys()
        assert {made[call_id] for call_id in ended if "stays done" in ended[call_id]} == {"packer", "clerk"}
        mine = {m["toolCallId"] for m in chat.messages if m["role"] == "tool"}
        assert mine >= {one["id"] for m in chat.messages for one in m.get("toolCalls", ())}
        assert RAN == ["pay 5"]
        p.assert_clean()
