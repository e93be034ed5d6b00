"""The real assistant-ui, with its runtime for AG-UI: what works with it, as docs/clients.md says."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.interop import pages
from tests.interop.pages import BACK, HANGING, Browser, fine, idle
from tests.product.kit import Product
from tests.product.shop import SEARCH, Shop, refund, script, users

pytestmark = [pytest.mark.anyio, pytest.mark.interop]


def shown(tools: Any, turns: Any, **options: Any) -> AbstractAsyncContextManager[tuple[Product, Browser]]:
    """A server, and pages with assistant-ui to look at it."""
    return pages.shown(tools, turns, client=pages.ASSISTANT_UI, **options)


@pytest.mark.parametrize(
    ("approved", "refunded", "editable"), [(True, ["A1"], ()), (False, [], ()), (True, ["A1"], ("amount",))]
)
async def test_its_own_buttons_answer_an_interrupt(
    approved: bool, refunded: list[str], editable: tuple[str, ...]
) -> None:
    shop = Shop(editable=editable)
    async with shown(shop.tools, script(refund())) as (p, b):
        page = await b.open(p.url, "t")
        seen = fine(await page.say("refund A1", until="interrupts"))
        (interrupt,) = seen.interrupts
        assert interrupt["approval"] == {"id": interrupt["id"], "prompt": "Run refund?"}
        await page.do("resolve", interrupt=interrupt["id"], answer={"approved": approved, "reason": "as agreed"})
        await page.until("text", text="Done.")
        seen = fine(await page.until("idle"))
        assert (shop.orders, seen.interrupts) == (refunded, [])
        assert set(seen.results) == set(seen.calls)


async def test_two_interrupts_are_answered_together() -> None:
    shop = Shop()
    async with shown(shop.tools, script(refund("A1"), SEARCH, refund("B2"))) as (p, b):
        page = await b.open(p.url, "t")
        asked = fine(await page.say("refund both", until="interrupts")).interrupts
        for interrupt, approved in zip(asked, (False, True), strict=True):
            await page.do("resolve", interrupt=interrupt["id"], answer={"approved": approved})
        await page.until("text", text="Done.")
        assert (fine(await page.until("idle")).interrupts, shop.orders) == ([], ["B2"])


async def test_another_message_instead_of_an_answer() -> None:
    """What its `steerAway` sends: the interrupt is cancelled, and the message is answered."""
    shop = Shop()
    async with shown(shop.tools, script(refund())) as (p, b):
        page = await b.open(p.url, "t")
        await page.say("refund A1", until="interrupts")
        await page.do("steer", text="never mind")
        await page.until("text", text="Done.")
        seen = fine(await page.until("idle"))
        assert (seen.interrupts, shop.refunds, users(p.inputs()[-1])) == ([], [], ["never mind"])


async def test_a_reload_while_a_run_runs_follows_and_stops_it() -> None:
    async with shown([], [HANGING, BACK]) as (p, b):
        page = await b.open(p.url, "t")
        await page.do("say", text="talk")
        await page.until("text", text="word")
        again = await b.open(p.url, "t")
        seen = fine(await again.until("text", text="word"))
        assert (seen.running, [role for role, _ in seen.said]) == (True, ["user", "assistant"])
        for one in (page, again):
            await one.do("stop")
        await again.until("idle")
        assert (await idle(p, "t"))["run"]["status"] == "cancelled"
        assert fine(await again.say("go on")).text == "Back."


async def test_a_reload_brings_the_interrupt_back() -> None:
    shop = Shop()
    async with shown(shop.tools, script(refund())) as (p, b):
        before = await (await b.open(p.url, "t")).say("refund A1", until="interrupts")
        again = await b.open(p.url, "t")
        seen = fine(await again.until("interrupts"))
        assert [i["id"] for i in seen.interrupts] == [i["id"] for i in before.interrupts]
        await again.do("resolve", interrupt=seen.interrupts[0]["id"], answer={"approved": True})
        await again.until("text", text="Done.")
        assert fine(await again.until("idle")).interrupts == []
        assert shop.orders == ["A1"]
