"""Somebody else's agent as ours, with an agui-gate as somebody else: over real sockets, in both directions."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, Gate, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient, connecting, serving
from tests.product.shop import SEARCH, Shop, call, refund, say, script
from tests.remote.kit import Row, behind, in_front, pages, row, status, told
from tests.support.proxy import Proxy, passes

pytestmark = pytest.mark.anyio

ways = pytest.mark.parametrize("way", ["interrupt", "card"])


async def test_text_and_a_tool_of_theirs() -> None:
    shop = Shop()
    async with row(script(say("Let me look."), SEARCH), shop.tools) as r:
        chat = r.chat()
        stream = await chat.say("find ada")
        assert stream.text == "Let me look.Done."
        assert told(stream, "search") == ['["found ada"]']
        assert shop.searches == ["ada"]
        again = await chat.say("thanks")
        assert again.text == "Done."
        assert stream[-1]["usage"][0]["model"] == "gpt-5.4-mini"
        (thread,) = (await r.get(r.back, "/threads"))["threads"]
        kept = (await r.get(r.back, f"/threads/{thread['id']}"))["messages"]
        assert [m["role"] for m in kept].count("user") == 2
        assert not r.emulator.refusals


async def test_nobody_reaches_the_thread_of_another() -> None:
    async with row(script(say("Hi."))) as r:
        for thread_id in ("t1", "t2"):
            await r.chat(thread_id=thread_id).say("hello")
        threads = (await r.get(r.back, "/threads"))["threads"]
        assert len(threads) == 2
        assert not any("t1" in t["id"] or "t2" in t["id"] or "local" in t["id"] for t in threads)


@ways
async def test_what_they_ask_people_here_decide(way: str) -> None:
    shop = Shop()
    async with row(script(refund("A1"), refund("A2")), shop.tools) as r:
        chat = r.chat(*pages(way))
        asked = await chat.say("refund both")
        assert len(asked.cards if way == "card" else asked.interrupts) == 2
        (first, second) = (await r.get(r.front, "/approvals"))["approvals"]
        assert (first["tool"], first["arguments"]) == ("refund", {"order_id": "A1", "amount": 20})
        assert second["arguments"]["order_id"] == "A2"
        assert shop.refunds == []
        done = await chat.decide(asked, {"approved": True}, {"approved": False, "reason": "not her"})
        assert shop.refunds == [("A1", 20)]
        assert done.text == "Done."
        assert '{"refunded":20.0,"order":"A1"}' in told(done, "refund")
        (no,) = [a for a in (await r.get(r.back, "/approvals?state=decided"))["approvals"] if a["state"] == "rejected"]
        assert no["decision"]["reason"] == "not her"
        states = {a["state"] for a in (await r.get(r.front, "/approvals?state=decided"))["approvals"]}
        assert states == {"done", "rejected"}
        assert (await chat.say("thanks")).text == "Done."
        assert shop.refunds == [("A1", 20)]
        assert not r.emulator.refusals


async def test_typed_over_it_is_a_no_there() -> None:
    shop = Shop()
    async with row(script(refund("A1")), shop.tools, on_unanswered="supersede") as r:
        chat = r.chat()
        await chat.say("refund")
        done = await chat.say("never mind")
        assert (done.text, shop.refunds) == ("Done.", [])
        assert (await r.get(r.back, "/approvals"))["approvals"] == []


async def test_decided_out_of_band_it_goes_on_in_the_next_run() -> None:
    shop = Shop()
    async with row(script(refund("A1")), shop.tools) as r:
        chat = r.chat()
        await chat.say("refund")
        (waiting,) = (await r.get(r.front, "/approvals"))["approvals"]
        await r.http.post(f"{r.front}/approvals/{waiting['id']}", json={"approved": True})
        assert shop.refunds == []
        done = await chat.go()
        assert (shop.orders, done.text) == (["A1"], "Done.")


def lent() -> tuple[list[Any], list[str]]:
    ran: list[str] = []

    @tool(gate=Gate(editable=["place"]))
    def paint(place: str) -> str:
        """Paint something."""
        ran.append(place)
        return f"painted {place}"

    @tool
    def measure(place: str) -> str:
        """Measure something."""
        return f"measured {place}"

    return [paint, measure], ran


@ways
async def test_a_tool_that_is_lent_runs_here_behind_its_gate(way: str) -> None:
    tools, ran = lent()
    async with row(script(call("measure", place="wall"), call("paint", place="wall")), ours=tools) as r:
        chat = r.chat(*pages(way))
        asked = await chat.say("paint it")
        assert ran == []
        (waiting,) = (await r.get(r.front, "/approvals"))["approvals"]
        assert (waiting["tool"], waiting["editable"]) == ("paint", ["place"])
        edited = {"editedArgs": {"place": "door"}, "edited_arguments": {"place": "door"}}
        name = "edited_arguments" if way == "card" else "editedArgs"
        done = await chat.decide(asked, {"approved": True, name: edited[name]})
        assert (ran, done.text) == (["door"], "Done.")
        outputs = [i["output"] for i in r.asked()[-1]["input"] if i["type"] == "function_call_output"]
        assert outputs[0] == "measured wall"
        assert "door" in outputs[1]
        assert not r.emulator.refusals


async def test_a_lent_tool_that_is_rejected() -> None:
    tools, ran = lent()
    async with row(script(call("paint", place="wall")), ours=tools) as r:
        chat = r.chat()
        done = await chat.decide(await chat.say("paint it"), approved=False)
        assert (ran, done.text) == ([], "Done.")
        assert status(told_last(r)) == "rejected"


def told_last(r: Row) -> str:
    outputs = [i["output"] for i in r.asked()[-1]["input"] if i["type"] == "function_call_output"]
    assert isinstance(outputs[-1], str)
    return outputs[-1]


async def test_a_stop_here_stops_there() -> None:
    hangs = {"output": [say("word " * 100)], "when": {"user": "go"}, "fault": {"kind": "hang", "after_events": 9}}
    async with row([hangs, {"output": [say("Back.")], "repeat": True}]) as r:
        chat = r.chat(thread_id="t1")
        async with r.http.stream("POST", r.front + "/", json=chat.body() | {"messages": [user("go")]}) as response:
            async for line in response.aiter_lines():
                if "TEXT_MESSAGE_START" in line:
                    assert (await r.http.post(f"{r.front}/threads/t1/cancel")).json()["cancelled"] is True
        (thread,) = (await r.get(r.back, "/threads"))["threads"]
        assert thread["run"] is None or thread["run"]["status"] != "running"
        assert (await chat.say("again")).text == "Back."


def user(text: str) -> dict[str, Any]:
    return {"id": f"u-{text}", "role": "user", "content": text}


@dataclass
class Lives:
    """What stays while servers come and go."""

    shop: Shop
    emulator: Emulator
    stores: dict[str, str]
    proxy: Proxy
    http: Any

    @asynccontextmanager
    async def back(self) -> AsyncIterator[str]:
        """The server at the back lives, and the network leads to it."""
        async with behind(self.emulator, self.shop.tools, self.stores["back"]) as url:
            self.proxy.lead_to(int(url.rpartition(":")[2]))
            yield url

    @asynccontextmanager
    async def front(self) -> AsyncIterator[AGUIClient]:
        """The server in front lives; a client of it."""
        url = f"http://127.0.0.1:{self.proxy.port}/agents/expert"
        async with in_front(url, store=self.stores["front"]) as front:
            yield AGUIClient(self.http, front, thread_id="t1")

    async def approve(self, chat: AGUIClient) -> dict[str, Any]:
        """Out of band; the record."""
        (waiting,) = (await self.http.get(f"{chat.url}/approvals")).json()["approvals"]
        assert (await self.http.post(f"{chat.url}/approvals/{waiting['id']}", json={"approved": True})).is_success
        return await self.record(chat, waiting["id"])

    async def record(self, chat: AGUIClient, approval_id: str) -> dict[str, Any]:
        """What the server in front says of it."""
        found: dict[str, Any] = (await self.http.get(f"{chat.url}/approvals/{approval_id}")).json()
        return found


@asynccontextmanager
async def lost_and_found(tmp_path: Path) -> AsyncIterator[Lives]:
    """Both with stores that outlive them, and a network between them that can be cut."""
    stores = {name: f"sqlite:///{tmp_path}/{name}.db" for name in ("back", "front")}
    async with Proxy(0) as proxy, connecting() as http:
        yield Lives(Shop(), Emulator(script=script(refund("A1"))), stores, proxy, http)


async def test_the_one_in_front_is_lost_in_between(tmp_path: Path) -> None:
    async with lost_and_found(tmp_path) as lives, lives.back():
        async with lives.front() as chat:
            await chat.say("refund")
        async with lives.front() as chat:
            await lives.approve(chat)
        async with lives.front() as chat:
            done = await chat.go()
            assert (lives.shop.orders, done.text) == (["A1"], "Done.")
            assert (await chat.go()).text == ""
        assert lives.shop.orders == ["A1"]


async def test_the_one_behind_is_away_when_it_is_told(tmp_path: Path) -> None:
    """Nothing was sent, so nothing is lost: the next run tells it."""
    async with lost_and_found(tmp_path) as lives, lives.front() as chat:
        async with lives.back():
            await chat.say("refund")
        await lives.proxy.away()
        record = await lives.approve(chat)
        failed = await chat.go()
        assert (failed.error, lives.shop.orders) == ("provider_unavailable", [])
        assert (await lives.record(chat, record["id"]))["state"] == "claimed"
        async with lives.back():
            await lives.proxy.restore()
            done = await chat.go()
            assert (lives.shop.orders, done.text) == (["A1"], "Done.")
            assert (await lives.record(chat, record["id"]))["state"] == "done"


async def test_it_may_have_acted_and_nobody_heard_of_it(tmp_path: Path) -> None:
    """The answer is lost on the way. It was told once, and is not told again; people are told that nobody knows."""
    async with lost_and_found(tmp_path) as lives, lives.back(), lives.front() as chat:
        await chat.say("refund")

        async def lost(_: int, piece: bytes) -> None:
            raise ConnectionError

        lives.proxy.answered = lost
        record = await lives.approve(chat)
        failed = await chat.go()
        assert failed.error == "provider_unavailable"
        assert (await lives.record(chat, record["id"]))["state"] == "unknown"
        lives.proxy.answered = passes
        done = await chat.say("and now?")
        assert done[-1]["type"] == "RUN_FINISHED"
        assert len(lives.shop.orders) <= 1


async def test_the_conversation_is_handed_to_it_and_what_it_asks_names_it() -> None:
    """Another agent answers first. The remote is told what was said, and goes on with what people decide."""
    shop, models = Shop(), [Emulator(script=script(refund("A1"))), Emulator(script=script(call("transfer_to_expert")))]
    async with behind(models[0], shop.tools) as back, serve(models[1]) as base_url, connecting() as http:
        expert = RemoteAgent(f"{back}/agents/expert")
        model = OpenAIResponses("gpt-5.4-mini", mode="stateless", base_url=base_url, api_key="k")
        app = create_app(Agent(name="desk", model=model, handoffs=[expert]), store="memory://")
        async with serving(app) as front:
            chat = AGUIClient(http, front)
            asked = await chat.say("refund A1")
            (waiting,) = (await http.get(f"{front}/approvals")).json()["approvals"]
            assert (waiting["tool"], waiting["agent"]) == ("refund", "expert")
            done = await chat.decide(asked, approved=True)
            assert (shop.orders, done.text) == (["A1"], "Done.")
            assert (await chat.say("thanks")).text == "Done."
        assert not models[0].refusals
        assert not models[1].refusals


async def test_the_conversation_is_handed_there_and_back_and_there() -> None:
    """What is said while another agent answers reaches the remote, whose own journal has none of it."""
    theirs = [{"output": [say("A1 is refunded."), call("transfer_to_desk")]}, {"output": [say("A2, too.")]}]
    ours = [
        {"output": [call("transfer_to_expert")]},
        {"output": [say("Anything else?")]},
        {"output": [say("One moment."), call("transfer_to_expert")]},
    ]
    models = [Emulator(script=theirs), Emulator(script=ours)]
    async with behind(models[0], []) as back, serve(models[1]) as base_url, connecting() as http:
        model = OpenAIResponses("gpt-5.4-mini", mode="stateless", base_url=base_url, api_key="k")
        desk = Agent(name="desk", model=model)
        expert = RemoteAgent(f"{back}/agents/expert", handoffs=[desk])
        desk = Agent(name="desk", model=model, handoffs=[expert])
        expert.handoffs[:] = [desk]
        async with serving(create_app(desk, store="memory://")) as front:
            chat = AGUIClient(http, front)
            first = await chat.say("refund A1")
            assert first.text == "A1 is refunded.Anything else?"
            second = await chat.say("and A2?")
            assert second.text == "One moment.A2, too."
            again = json.dumps(models[0].accepted[-1].body)
            for words in ("refund A1", "A1 is refunded.", "Anything else?", "and A2?", "One moment."):
                assert again.count(words) == 1
            (thread,) = (await http.get(f"{back}/threads")).json()["threads"]
            kept = (await http.get(f"{back}/threads/{thread['id']}")).json()["messages"]
            assert [m["content"] for m in kept if m["role"] == "assistant" and m.get("content")][-1] == "A2, too."
        assert not models[0].refusals
        assert not models[1].refusals
