"""A thread outlives its server: restarts, lost records, and clients that know it by the provider's name (B5)."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate_adapters.testkit import Emulator
from tests.product.kit import CARD_TOOL, MODES, Chat, Product, Stream, product
from tests.product.shop import SEARCH, Shop, outputs, refund, say, script, status, users
from tests.requirements import shows

pytestmark = pytest.mark.anyio
every_mode = pytest.mark.parametrize("mode", MODES)
styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
YES = {"approved": True}


class Life:
    """One provider and one file; servers come and go."""

    def __init__(self, path: Path, mode: str, *turn: dict[str, Any], **gate: Any) -> None:
        self.path, self.mode, self.shop = path, mode, Shop(**gate)
        self.emulator = Emulator(script=script(*turn))

    @asynccontextmanager
    async def server(self, store: str | None = None, **agent: Any) -> AsyncIterator[Product]:
        url = store or f"sqlite:///{self.path}"
        async with product(self.shop.tools, mode=self.mode, emulator=self.emulator, store=url, **agent) as p:
            yield p


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agui-gate.db"


async def approve(chat: Chat, asked: Stream) -> Stream:
    if asked.interrupts:
        return await chat.resume(*((ask["id"], YES) for ask in asked.interrupts))
    return await chat.answer(*((card_id, {"accepted": True}) for card_id in asked.cards))


@every_mode
@styles
@shows("B5", "S1", "S11")
async def test_a_restart_between_pause_and_approval(mode: str, tools: list[dict[str, Any]], path: Path) -> None:
    life = Life(path, mode, say("One moment."), SEARCH, refund())
    async with life.server() as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund A1")
        before = await p.get(f"/threads/{chat.thread_id}")
    async with life.server() as p:
        chat.product = p
        assert await p.get(f"/threads/{chat.thread_id}") == before
        done = await approve(chat, asked)
        assert (done.text, life.shop.orders, life.shop.searches) == ("Done.", ["A1"], ["ada"])
    async with life.server() as p:
        chat.product = p
        again = await approve(chat, asked) if asked.interrupts else await chat.go()
        assert (again.text, life.shop.orders) == ("", ["A1"])
        assert (await chat.say("thanks")).text == "Done."
        p.assert_clean()


@every_mode
@shows("B5", "B1", "S11")
async def test_a_restart_and_a_decision_out_of_band(mode: str, path: Path) -> None:
    life = Life(path, mode, refund())
    async with life.server() as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
    async with life.server() as p:
        decided = await p.decide(asked.interrupts[0]["id"], YES)
        assert (decided["status_code"], decided["state"]) == (200, "done")
    async with life.server() as p:
        chat.product = p
        done = await chat.go()
        assert (done.text, done.results[asked.interrupts[0]["toolCallId"]]) == ("Done.", decided["result"])
        assert life.shop.orders == ["A1"]
        p.assert_clean()


@every_mode
@styles
@pytest.mark.parametrize("text", [None, "hello again"])
@shows("B5", "B28", "S27", "S15", "B12")
async def test_the_record_is_gone(mode: str, tools: list[dict[str, Any]], text: str | None, path: Path) -> None:
    """The client answers what no server knows any more: nothing runs, the call is closed, and the thread goes on."""
    life = Life(path, mode, say("One moment."), refund())
    async with life.server() as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund A1")
    async with life.server("memory://") as p:
        chat.product = p
        if text is not None:
            chat.messages.append({"id": "u-new", "role": "user", "content": text})
        done = await approve(chat, asked)
        call_id = next(i for i, name in asked.calls.items() if name == "refund")
        assert (done[-1]["type"], done.text, life.shop.refunds) == ("RUN_FINISHED", "Done.", [])
        assert status(done.results[call_id]) in ("cancelled", "unknown")
        body = p.inputs()[-1]
        assert len(outputs(body)) == 1
        assert users(body) == ["refund A1"] + ([text] if text else [])
        assert (await chat.say("thanks")).text == "Done."
        p.assert_clean()


@pytest.mark.parametrize("mode", ["chain", "conversation"])
@styles
@shows("S2", "S11", "S12")
async def test_a_client_that_uses_the_providers_id(mode: str, tools: list[dict[str, Any]], path: Path) -> None:
    life = Life(path, mode, refund())
    async with life.server() as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund A1")
        entry = p.emulator.accepted[-1]
        provider = p.inputs()[-1].get("conversation") if mode == "conversation" else entry.response_id
        assert isinstance(provider, str)
        mine, chat.thread_id = chat.thread_id, provider
        done = await approve(chat, asked)
        assert (done[0]["threadId"], done.text, life.shop.orders) == (provider, "Done.", ["A1"])
        assert len((await p.get(f"/threads/{mine}"))["messages"]) == len(chat.messages)
        chat.thread_id = mine
        again = await chat.say("thanks")
        assert (again[0]["threadId"], again.text) == (mine, "Done.")
        assert life.shop.orders == ["A1"]
        p.assert_clean()


@every_mode
@shows("S2", "S11", "S12")
async def test_a_thread_id_that_looks_like_a_providers_is_just_the_clients(mode: str, path: Path) -> None:
    life = Life(path, mode, refund())
    async with life.server() as p:
        for thread_id in ("conv_0123456789abcdef", "resp_0123456789abcdef"):
            life.emulator.load(script(refund()))
            life.shop.refunds.clear()
            chat = p.chat(thread_id=thread_id)
            asked = await chat.say("refund A1")
            assert asked[0]["threadId"] == thread_id
            done = await approve(chat, asked)
            assert (done.text, life.shop.orders) == ("Done.", ["A1"])
            assert thread_id not in json.dumps(p.inputs())
        p.assert_clean()


@every_mode
@shows("S12")
async def test_run_started_goes_out_before_the_provider_is_asked(mode: str, path: Path) -> None:
    """The provider never answers; the client's own ids are in the stream all the same."""
    life = Life(path, mode)
    life.emulator.load([{"output": [say("never")], "fault": {"kind": "hang", "after_events": 0}}])
    async with life.server() as p:
        chat = p.chat()
        chat.messages.append({"id": "u-1", "role": "user", "content": "hello"})
        async with p.client.stream("POST", p.url + "/", json=chat.body(runId="run-of-the-client")) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    first = json.loads(line[6:])
                    break
        assert (first["type"], first["threadId"], first["runId"]) == (
            "RUN_STARTED",
            chat.thread_id,
            "run-of-the-client",
        )


@every_mode
@shows("B5", "B26")
async def test_the_tool_is_gone_after_the_restart(mode: str, path: Path) -> None:
    life = Life(path, mode, refund())
    async with life.server() as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
    life.shop.tools = life.shop.tools[2:]
    async with life.server() as p:
        chat.product = p
        done = await approve(chat, asked)
        assert json.loads(done.results[asked.interrupts[0]["toolCallId"]])["error"] == "There is no tool called refund."
        assert (done.text, life.shop.refunds) == ("Done.", [])
        p.assert_clean()
