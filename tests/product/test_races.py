"""The same approval from everywhere at once: one execution; and one run per thread (B6, B18)."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from agui_gate import tool
from agui_gate_adapters.testkit import Emulator
from tests.product.kit import CARD_TOOL, MODES, TIMEOUT, product
from tests.product.shop import Shop, call, refund, script
from tests.requirements import shows

pytestmark = pytest.mark.anyio
YES = {"approved": True}


class Bank:
    """A gated tool that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.runs = 0
        self.started, self.go_on = asyncio.Event(), asyncio.Event()

        @tool(gate=True)
        async def pay() -> str:
            """Pay."""
            self.runs += 1
            self.started.set()
            await self.go_on.wait()
            return "paid"

        self.tools = [pay]


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@shows("B6", "B18")
async def test_fifty_resumes_and_fifty_posts_while_the_tool_runs(store: str, tmp_path: Path) -> None:
    bank = Bank()
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path / 't.db'}"
    async with product(bank.tools, script(call("pay")), store=url) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat()
        (ask,) = (await chat.say("pay")).interrupts
        body = chat.body(resume=[{"interruptId": ask["id"], "status": "resolved", "payload": YES}])
        first = asyncio.ensure_future(chat.resume((ask["id"], YES)))
        await bank.started.wait()
        resumes = asyncio.gather(*(p.post("/", body) for _ in range(50)))
        posts = asyncio.gather(*(p.decide(ask["id"], YES) for _ in range(50)))
        busy, decided = await resumes, await posts
        assert Counter((s.status, s[0]["error"]["code"]) for s in busy) == {(409, "thread_busy"): 50}
        assert {d["status_code"] for d in decided} == {409}
        bank.go_on.set()
        done = await first
        assert (done.text, done.results[ask["toolCallId"]], bank.runs) == ("Done.", "paid", 1)
        late = await p.decide(ask["id"], YES)
        assert (late["status_code"], late["state"], late["result"]) == (409, "done", "paid")
        p.assert_clean()


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@shows("B6", "B18")
async def test_fifty_posts_at_once(store: str, tmp_path: Path) -> None:
    shop = Shop()
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path / 't.db'}"
    async with product(shop.tools, script(refund()), store=url) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        payloads = [YES if n % 2 else {"approved": False} for n in range(50)]
        replies = await asyncio.gather(*(p.decide(ask["id"], payload) for payload in payloads))
        assert Counter(r["status_code"] for r in replies) == {200: 1, 409: 49}
        (ours,) = [r for r in replies if r["status_code"] == 200]
        assert len(shop.refunds) == (1 if ours["state"] == "done" else 0)
        done = await chat.go()
        assert (done.text, done.results[ask["toolCallId"]]) == ("Done.", ours["result"])
        p.assert_clean()


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@shows("B2", "B6")
async def test_two_approvals_of_one_thread_are_decided_at_once(store: str, tmp_path: Path) -> None:
    bank, shop = Bank(), Shop()
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path / 't.db'}"
    async with product([*bank.tools, *shop.tools], script(call("pay"), refund()), store=url) as p:
        async with asyncio.timeout(TIMEOUT):
            chat = p.chat()
            pay, other = (await chat.say("pay and refund")).interrupts
            first = asyncio.ensure_future(p.decide(pay["id"], YES))
            await bank.started.wait()
            second = asyncio.ensure_future(p.decide(other["id"], YES))
            again = asyncio.ensure_future(p.decide(other["id"], YES))
            bank.go_on.set()
            answers = [await first, await second, await again]
        assert sorted(answer["status_code"] for answer in answers) == [200, 200, 409]
        for answer in answers:  # who comes too late may be told of a call that is at work at that moment
            assert answer["state"] == "done" or (answer["status_code"], answer["state"]) == (409, "claimed")
        assert (bank.runs, shop.orders) == (1, ["A1"])
        assert (await chat.go()).text == "Done."
        p.assert_clean()


@pytest.mark.parametrize("mode", MODES)
@shows("B6", "B18")
async def test_fifty_resumes_at_once(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        entries = [{"interruptId": ask["id"], "status": "resolved", "payload": YES}]
        bodies = [chat.body(resume=entries) for _ in range(50)]
        streams = await asyncio.gather(*(p.post("/", body) for body in bodies))
        assert len(shop.refunds) == 1
        assert {s.status for s in streams} <= {200, 409}
        texts = [s.text for s in streams if s.status == 200]
        assert sorted(texts)[-1] == "Done."
        assert sum(bool(text) for text in texts) == 1, "the answer is given once"
        p.assert_clean()


@shows("B6", "B1")
async def test_an_interrupt_and_a_card_of_two_tabs() -> None:
    """Two pages of one thread, each in its own style, answer at the same time."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p, asyncio.timeout(TIMEOUT):
        tab = p.chat()
        (ask,) = (await tab.say("refund A1")).interrupts
        other = p.chat(thread_id=tab.thread_id, tools=[CARD_TOOL], messages=list(tab.messages))
        (card,) = (await other.go()).cards
        other.messages.append({"id": "yes", "role": "tool", "toolCallId": card, "content": '{"accepted": true}'})
        one, two = await asyncio.gather(other.go(), tab.resume((ask["id"], YES)))
        assert sorted([one.status, two.status]) in ([200, 200], [200, 409])
        assert len(shop.refunds) == 1
        p.assert_clean()


@shows("B6")
async def test_two_servers_on_one_file(tmp_path: Path) -> None:
    shop = Shop()
    emulator = Emulator(script=script(refund()))
    url = f"sqlite:///{tmp_path / 't.db'}"
    async with (
        product(shop.tools, emulator=emulator, store=url) as one,
        product(shop.tools, emulator=emulator, store=url) as two,
        asyncio.timeout(TIMEOUT),
    ):
        chat = one.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        replies = await asyncio.gather(*(p.decide(ask["id"], YES) for p in [one, two] * 25))
        assert Counter(r["status_code"] for r in replies) == {200: 1, 409: 49}
        assert len(shop.refunds) == 1
        chat.product = two
        done = await chat.resume((ask["id"], YES))
        assert (done.text, len(shop.refunds)) == ("Done.", 1)
        two.assert_clean()


@shows("B18")
async def test_a_second_run_on_a_thread_is_told_that_it_is_busy() -> None:
    bank = Bank()
    async with product(bank.tools, script(call("pay"))) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat()
        (ask,) = (await chat.say("pay")).interrupts
        first = asyncio.ensure_future(chat.resume((ask["id"], YES)))
        await bank.started.wait()
        second = await p.post("/", chat.body())
        assert (second.status, second[0]["error"]["code"]) == (409, "thread_busy")
        assert (await p.chat().say("hello")).text == "Done.", "other threads are free"
        bank.go_on.set()
        assert (await first).text == "Done."
        assert (await chat.say("and now?")).text == "Done."
