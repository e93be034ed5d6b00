"""What assistant-ui and TanStack AI do alike, each with the library itself (docs/clients.md)."""

import pytest

from tests.interop.pages import ASSISTANT_UI, BACK, HANGING, TANSTACK, Client, fine, idle, shown
from tests.product.shop import SEARCH, Shop, call, outputs, script, users

pytestmark = [pytest.mark.anyio, pytest.mark.interop]

each = pytest.mark.parametrize("client", [ASSISTANT_UI, TANSTACK], ids=["assistant-ui", "tanstack"])


@each
async def test_a_run_with_a_tool_of_the_server(client: Client) -> None:
    shop = Shop()
    async with shown(shop.tools, script(SEARCH, after="Found it."), client=client) as (p, b):
        page = await b.open(p.url, "t")
        seen = fine(await page.say("look for ada"))
        assert seen.said == [("user", "look for ada"), ("assistant", "Found it.")]
        assert list(seen.results.values()) == ['["found ada"]']
        seen = fine(await page.say("and again"))
        assert [role for role, _ in seen.said] == ["user", "assistant"] * 2
        assert users(p.inputs()[-1]) == ["and again"], "a chain: the provider has the rest"


@each
async def test_a_tool_of_the_page(client: Client) -> None:
    shop = Shop()
    async with shown(shop.tools, script(call("pick", of="three"), SEARCH), client=client) as (p, b):
        page = await b.open(p.url, "t", tools=["pick"])
        await page.do("say", text="pick one")
        await page.until("text", text="Done.")
        seen = fine(await page.until("idle"))
        assert outputs(p.inputs()[-1]) == ['{"page":"pick","given":{"of":"three"}}', '["found ada"]']
        assert set(seen.results) == set(seen.calls)


@each
async def test_stop_and_go_on(client: Client) -> None:
    async with shown([], [HANGING, BACK], client=client) as (p, b):
        page = await b.open(p.url, "t")
        await page.do("say", text="talk")
        await page.until("text", text="word")
        await page.do("stop")
        fine(await page.until("idle"))
        assert (await idle(p, "t"))["run"]["status"] == "cancelled"
        assert fine(await page.say("go on")).text == "Back."


@each
async def test_a_reload_of_a_chat_that_is_over(client: Client) -> None:
    shop = Shop()
    async with shown(shop.tools, script(SEARCH, after="Found it."), client=client) as (p, b):
        before = fine(await (await b.open(p.url, "t")).say("look for ada"))
        again = await b.open(p.url, "t")
        seen = fine(await again.until("text", text="Found it."))
        assert (seen.said, seen.results) == (before.said, before.results)
        assert fine(await again.say("thanks")).text == "Found it."
        assert users(p.inputs()[-1]) == ["thanks"]


@each
async def test_a_reload_while_a_run_runs_follows_it_to_its_end(client: Client) -> None:
    async with shown([], [HANGING, BACK], client=client) as (p, b):
        page = await b.open(p.url, "t")
        await page.do("say", text="talk")
        await page.until("text", text="word")
        again = await b.open(p.url, "t")
        seen = fine(await again.until("text", text="word"))
        assert (seen.running, [role for role, _ in seen.said]) == (True, ["user", "assistant"])
        await page.do("stop")
