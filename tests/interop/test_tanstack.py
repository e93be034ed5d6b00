"""The real chat client of TanStack AI: what works with it, as docs/clients.md says."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from agui_gate import tool
from agui_gate.config.settings import Settings
from tests.interop import pages
from tests.interop.pages import TIMEOUT, Browser, fine
from tests.product.kit import Product
from tests.product.shop import Shop, call, refund, script, users

pytestmark = [pytest.mark.anyio, pytest.mark.interop]


def shown(tools: Any, turns: Any, **options: Any) -> AbstractAsyncContextManager[tuple[Product, Browser]]:
    """A server, and pages with TanStack AI to look at it."""
    return pages.shown(tools, turns, client=pages.TANSTACK, **options)


@pytest.mark.parametrize(("approved", "refunded"), [(True, ["A1"]), (False, [])])
async def test_an_interrupt_is_shown_and_decided_over_http(approved: bool, refunded: list[str]) -> None:
    """It calls interrupts that are not its own `unbound`: they are shown, and answered by who has asked."""
    shop = Shop()
    async with shown(shop.tools, script(refund())) as (p, b):
        page = await b.open(p.url, "t")
        seen = fine(await page.say("refund A1", until="interrupts"))
        (interrupt,) = seen.interrupts
        assert (interrupt["kind"], interrupt["canResolve"]) == ("unbound", False)
        await page.do("decide", approval=interrupt["id"], answer={"approved": approved})
        seen = fine(await page.until("text", text="Done."))
        assert (shop.orders, seen.interrupts) == (refunded, [])
        assert set(seen.results) == set(seen.calls)
        assert fine(await page.say("thanks")).said[-2:] == [("user", "thanks"), ("assistant", "Done.")]


@pytest.mark.parametrize(("approved", "refunded"), [(True, ["A1"]), (False, [])])
async def test_an_interrupt_is_answered_by_its_own_method(approved: bool, refunded: list[str]) -> None:
    shop = Shop()
    async with shown(shop.tools, script(refund())) as (p, b):
        page = await b.open(p.url, "t")
        (interrupt,) = fine(await page.say("refund A1", until="interrupts")).interrupts
        await page.do("resume", approval=interrupt["id"], answer={"approved": approved})
        seen = fine(await page.until("text", text="Done."))
        assert (shop.orders, set(seen.results)) == (refunded, set(seen.calls))
        seen = await page.say("thanks")
        assert (seen.errors, seen.complaints) == ([], [])
        assert (seen.said[-2:], seen.interrupts) == ([("user", "thanks"), ("assistant", "Done.")], [])


async def test_a_card_is_answered_with_the_next_message() -> None:
    """It goes on by itself only when every call of a turn has a result, and the gated one has none yet."""
    shop = Shop()
    async with shown(shop.tools, script(refund())) as (p, b):
        page = await b.open(p.url, "t", tools=["confirm_changes"])
        seen = fine(await page.say("refund A1", until="cards"))
        await page.do("respond", card=seen.cards[0], answer={"accepted": True})
        seen = fine(await page.say("go on"))
        assert (seen.text, shop.orders, users(p.inputs()[-1])) == ("Done.", ["A1"], ["go on"])


async def test_a_connection_that_breaks_is_made_again_where_it_broke() -> None:
    """The same request once more with `Last-Event-ID`: its own way to a run of which it has lost the end."""
    go_on, dug = asyncio.Event(), []

    @tool
    async def dig() -> str:
        """Takes its time."""
        await go_on.wait()
        dug.append("dug")
        return "dug"

    kept = Settings(disconnect_grace=TIMEOUT)
    async with shown([dig], script(call("dig")), settings=kept) as (p, b), asyncio.timeout(TIMEOUT):
        page = await b.open(p.url, "t", breaks="TOOL_CALL_START")
        await page.do("say", text="dig")
        while len(asked := await page.do("asked")) < 2:
            await p.get("/healthz")  # gives everybody a turn
        go_on.set()
        await page.until("text", text="Done.")
        seen = fine(await page.until("idle"))
        assert (seen.text, list(seen.results.values()), dug) == ("Done.", ["dug"], ["dug"])
        first, second = asked
        assert (first["last"], first["input"]) == (None, second["input"])
        assert second["last"]
