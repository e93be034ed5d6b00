"""Approvals that expire: by the store's clock, on every way in, and never silently (B26)."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agui_gate.stores.base import Store
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.product.kit import CARD_TOOL, MODES, Chat, Product, Stream, product
from tests.product.shop import SEARCH, Shop, outputs, refund, script, status
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B26")]
every_mode = pytest.mark.parametrize("mode", MODES)

HOUR = 3_600_000
YES = {"approved": True}


class Clock:
    """The store's time in ms, which only moves when told."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000
        self.after: int | None = None

    def __call__(self) -> int:
        if self.after is not None:
            self.after -= 1
            if self.after < 0:
                return self.now + 2 * HOUR
        return self.now

    def later(self) -> None:
        self.now += HOUR + 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Store:
    return MemoryStore(clock=clock) if request.param == "memory" else SQLiteStore(str(tmp_path / "t.db"), clock=clock)


async def resume(p: Product, chat: Chat, asked: Stream) -> Stream:
    return await chat.resume((asked.interrupts[0]["id"], YES))


async def tool_message(p: Product, chat: Chat, asked: Stream) -> Stream:
    return await chat.answer((asked.interrupts[0]["toolCallId"], YES))


async def user_message(p: Product, chat: Chat, asked: Stream) -> Stream:
    item = {"call_id": asked.interrupts[0]["toolCallId"], "approved": True}
    chat.messages.append({"id": "u-late", "role": "user", "function_approvals": [item]})
    return await chat.go()


async def out_of_band(p: Product, chat: Chat, asked: Stream) -> Stream:
    late = await p.decide(asked.interrupts[0]["id"], YES)
    assert (late["status_code"], late["state"]) == (409, "expired")
    return await chat.go()


async def text(p: Product, chat: Chat, asked: Stream) -> Stream:
    return await chat.say("hello?")


async def nothing(p: Product, chat: Chat, asked: Stream) -> Stream:
    return await chat.go()


WAYS: list[Callable[[Product, Chat, Stream], Awaitable[Stream]]] = [
    resume,
    tool_message,
    user_message,
    out_of_band,
    text,
    nothing,
]


@pytest.mark.parametrize("way", WAYS)
async def test_an_expired_approval_does_not_run_by_any_way(way: Any, store: Store, clock: Clock) -> None:
    shop = Shop(expires_after=3600)
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        clock.later()
        view = await p.get(f"/threads/{chat.thread_id}")
        assert view["approvals"] == []
        assert (await p.get("/approvals"))["approvals"] == []
        done = await way(p, chat, asked)
        assert status(done.results[asked.interrupts[0]["toolCallId"]]) == "expired"
        assert [status(o) for o in outputs(p.inputs()[-1])] == ["expired"]
        assert (done.text, done.interrupts, shop.refunds) == ("Done.", [], [])
        await chat.resume((asked.interrupts[0]["id"], YES))
        assert shop.refunds == []
        p.assert_clean()


@every_mode
async def test_an_expired_card_ends_its_chip_and_its_own(mode: str, clock: Clock) -> None:
    shop = Shop(expires_after=3600)
    async with product(shop.tools, script(refund(), SEARCH), mode=mode, store=MemoryStore(clock=clock)) as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        ((card_id, card),) = asked.cards.items()
        assert card["expires_at"].startswith("2023-11-14T23:13:20")
        clock.later()
        done = await chat.say("hello?")
        assert status(done.results[card["function_call_id"]]) == "expired"
        assert status(done.results[card_id]) == "expired"
        late = await chat.answer((card_id, {"accepted": True}))
        assert (late[-1]["type"], shop.refunds) == ("RUN_FINISHED", [])
        p.assert_clean()


@every_mode
async def test_an_answer_to_an_expired_card_runs_nothing(mode: str, clock: Clock) -> None:
    shop = Shop(expires_after=3600)
    async with product(shop.tools, script(refund()), mode=mode, store=MemoryStore(clock=clock)) as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        ((card_id, card),) = asked.cards.items()
        clock.later()
        done = await chat.answer((card_id, {"accepted": True}))
        assert status(done.results[card["function_call_id"]]) == "expired"
        assert (done.text, shop.refunds) == ("Done.", [])
        p.assert_clean()


async def test_just_in_time(store: Store, clock: Clock) -> None:
    shop = Shop(expires_after=3600)
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        clock.now += HOUR - 1
        done = await resume(p, chat, asked)
        assert (done.text, shop.refunds) == ("Done.", [("A1", 20)])


@pytest.mark.parametrize("reads", range(1, 8))
async def test_it_expires_while_it_is_being_answered(reads: int, store: Store, clock: Clock) -> None:
    """Whenever the time runs out: it ran, or it is reported as expired, and never asked about again."""
    shop = Shop(expires_after=3600)
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        clock.after = reads
        done = await resume(p, chat, asked)
        result = done.results[asked.interrupts[0]["toolCallId"]]
        assert (done.text, done.interrupts) == ("Done.", [])
        assert (result.startswith('{"refunded"') and len(shop.refunds) == 1) or status(result) == "expired"
        assert bool(shop.refunds) == result.startswith('{"refunded"')
        assert outputs(p.inputs()[-1]) == [result]
        p.assert_clean()


@pytest.mark.parametrize("reads", range(1, 6))
async def test_it_expires_while_it_is_decided_out_of_band(reads: int, store: Store, clock: Clock) -> None:
    shop = Shop(expires_after=3600)
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        clock.after = reads
        decided = await p.decide(asked.interrupts[0]["id"], YES)
        expected = (200, "done") if shop.refunds else (409, "expired")
        assert (decided["status_code"], decided["state"]) == expected
        done = await chat.go()
        assert (done.text, done.interrupts) == ("Done.", [])


async def test_one_of_two_expires(store: Store, clock: Clock) -> None:
    """The one that never expires is still asked about, the other is closed."""
    from agui_gate import Gate, tool
    from tests.product.shop import call

    ran = []

    @tool(gate=Gate(expires_after=3600))
    def quick() -> str:
        """Quick."""
        ran.append("quick")
        return "quick"

    @tool(gate=True)
    def slow() -> str:
        """Slow."""
        ran.append("slow")
        return "slow"

    async with product([quick, slow], script(call("quick"), call("slow")), store=store) as p:
        chat = p.chat()
        asked = await chat.say("both")
        clock.later()
        part = await chat.resume(*((ask["id"], YES) for ask in asked.interrupts[:1]))
        assert [ask["metadata"]["tool"] for ask in part.interrupts] == ["slow"]
        assert [status(content) for content in part.results.values()] == ["expired"]
        done = await chat.resume((part.interrupts[0]["id"], YES))
        assert (done.text, ran) == ("Done.", ["slow"])
        p.assert_clean()
