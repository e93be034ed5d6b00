"""An approval that is answered after weeks: what it is about has changed, or is gone. One clear outcome each.

| what became of its tool | a yes | what the model is told |
|---|---|---|
| another schema | 422 `approval_refused`; it goes on waiting, and can be rejected | that it was rejected |
| another source | the same | the same |
| another gate, or none any more | it runs, as it was asked about | the result |
| it is gone | 200, `failed` | that there is no such tool |
| its agent is gone | 503 `unavailable`; it goes on waiting, and can be rejected | that it was rejected |
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate import Agent, Gate, Tool, create_app
from agui_gate.config.settings import Settings
from agui_gate.stores.memory import MemoryStore
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import CARD_TOOL, Chat, Product, Stream, client_of, running
from tests.product.shop import call, outputs, script, status
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("K3")]

YES, NO = {"approved": True}, {"approved": False}
RAN: list[str] = []


def pay(amount: int) -> str:
    """Pay."""
    RAN.append(f"pay {amount}")
    return "paid"


def paid(amount: int, currency: str = "EUR") -> str:
    """Pay."""
    RAN.append(f"pay {amount} {currency}")
    return "paid"


ASKED = [Tool(pay, gate=Gate(editable=["amount"], expires_after=10_000_000))]
LATER: dict[str, Sequence[Any]] = {
    "schema": [Tool(paid, name="pay", gate=True)],
    "other gate": [Tool(pay, gate=Gate(when=lambda arguments: False, expires_after=1))],
    "no gate": [Tool(pay)],
    "gone": [],
    "agent": [Tool(pay, gate=True)],
}
WAYS = ("card", "tool message", "resume", "user message", "http")


class Weeks:
    """A thread whose approval waits while servers come and go."""

    def __init__(self) -> None:
        RAN.clear()
        self.store, self.emulator = MemoryStore(), Emulator(script=script(call("pay", amount=5)))

    @asynccontextmanager
    async def server(self, tools: Sequence[Any], name: str = "support") -> AsyncIterator[Product]:
        async with serve(self.emulator) as base_url:
            model = OpenAIResponses("gpt-5.4-mini", base_url=base_url, api_key="k")
            app = create_app(Agent(name=name, model=model, tools=tools), store=self.store, settings=Settings())
            async with running(app) as url, client_of() as client:
                yield Product(self.emulator, app, url, client)


class Waiting:
    """The client whose question waits, on a server of weeks later."""

    def __init__(self, p: Product, chat: Chat, asked: Stream, record: dict[str, Any]) -> None:
        self.p, self.chat, self.asked, self.record = p, chat, asked, record

    async def answer(self, way: str, said: dict[str, Any]) -> Stream:
        """Answer in a run."""
        match way:
            case "card":
                return await self.chat.answer((next(iter(self.asked.cards)), {"accepted": said["approved"]}))
            case "tool message":
                return await self.chat.answer((self.record["call_id"], said))
            case "resume":
                return await self.chat.resume((self.record["id"], said))
            case _:
                item = {"id": self.record["id"], "call_id": self.record["call_id"], "name": "pay", **said}
                message = {"id": f"u{said['approved']}", "role": "user", "content": "", "function_approvals": [item]}
                self.chat.messages.append(message)
                return await self.chat.go()

    async def state(self) -> str:
        found = (await self.p.get(f"/approvals/{self.record['id']}"))["state"]
        assert isinstance(found, str)
        return found


@asynccontextmanager
async def weeks_later(change: str, way: str) -> AsyncIterator[Waiting]:
    weeks = Weeks()
    async with weeks.server(ASKED) as p:
        chat = p.chat(tools=[CARD_TOOL] if way == "card" else [])
        asked = await chat.say("pay")
        (record,) = (await p.get("/approvals"))["approvals"]
    async with weeks.server(LATER[change], "other" if change == "agent" else "support") as p:
        chat.product, chat.url = p, p.url
        yield Waiting(p, chat, asked, record)
        p.assert_clean()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", ["other gate", "no gate"])
async def test_what_was_asked_about_runs_whatever_its_gate_is_now(change: str, way: str) -> None:
    async with weeks_later(change, way) as waiting:
        if way == "http":
            decided = await waiting.p.decide(waiting.record["id"], YES)
            assert (decided["status_code"], decided["state"], decided["result"]) == (200, "done", "paid")
            done = await waiting.chat.go()
        else:
            done = await waiting.answer(way, YES)
        assert (done.text, RAN, outputs(waiting.p.inputs()[-1])) == ("Done.", ["pay 5"], ["paid"])
        assert await waiting.state() == "done"


@pytest.mark.parametrize("way", WAYS)
async def test_a_tool_that_is_gone_has_failed(way: str) -> None:
    async with weeks_later("gone", way) as waiting:
        if way == "http":
            decided = await waiting.p.decide(waiting.record["id"], YES)
            assert (decided["status_code"], decided["state"]) == (200, "failed")
            assert "There is no tool called pay" in decided["result"]
            done = await waiting.chat.go()
        else:
            done = await waiting.answer(way, YES)
        (told,) = outputs(waiting.p.inputs()[-1])
        assert (done.text, status(told), RAN) == ("Done.", "error", [])
        assert await waiting.state() == "failed"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("change", "code"), [("schema", (422, "approval_refused")), ("agent", (503, "unavailable"))])
async def test_what_can_t_be_carried_out_here_waits_and_can_be_rejected(
    change: str, code: tuple[int, str], way: str
) -> None:
    async with weeks_later(change, way) as waiting:
        chat, record = waiting.chat, waiting.record
        if way == "http":
            refused = await waiting.p.decide(record["id"], YES)
            assert (refused["status_code"], refused["error"]["code"]) == code
            assert (await waiting.state(), RAN) == ("pending", [])
            rejected = await waiting.p.decide(record["id"], NO | {"continue": change == "agent"})
            assert (rejected["status_code"], rejected["state"]) == (200, "rejected")
            assert ("not served here" in rejected.get("not_continued", "")) is (change == "agent")
            done = await chat.say("and?")
        else:
            again = await waiting.answer(way, YES)
            (told,) = (e["value"] for e in again if e.get("name") == "agui-gate:answer_refused")
            assert told["approvalId"] == record["id"]
            assert (await waiting.state(), RAN) == ("pending", [])
            waiting.asked = again
            done = await waiting.answer("resume" if way == "tool message" else way, NO)
        assert done.text == "Done."
        (output,) = outputs(waiting.p.inputs()[-1])
        assert (await waiting.state(), status(output), RAN) == ("rejected", "rejected", [])


async def test_a_thread_whose_agent_is_gone_can_be_listed_read_and_deleted() -> None:
    async with weeks_later("agent", "http") as waiting:
        p, thread_id = waiting.p, waiting.chat.thread_id
        (listed,) = (await p.get("/threads"))["threads"]
        assert (listed["id"], listed["agent"]) == (thread_id, "support")
        read = await p.get(f"/threads/{thread_id}")
        assert (read["agent"], [a["id"] for a in read["approvals"]]) == ("support", [waiting.record["id"]])
        assert (await p.get(f"/threads/{thread_id}?view=calls"))["calls"][0]["state"] == "pending"
        assert (await p.get("/approvals"))["approvals"][0]["id"] == waiting.record["id"]
        response = await p.client.delete(f"{p.url}/threads/{thread_id}")
        assert response.status_code == 200
        assert (await p.get("/approvals"))["approvals"] == []
        assert (await p.decide(waiting.record["id"], YES))["status_code"] == 404
