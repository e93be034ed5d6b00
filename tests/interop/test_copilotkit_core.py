"""The real core of CopilotKit against `/copilotkit`: what its users do, and what they come back to.

Twice: with the client that it brings (0.0.59, which says no version), and with the one that speaks AG-UI 1.0.
"""

import asyncio
import json
from typing import Any

import pytest

from agui_gate import tool
from agui_gate.config.settings import Settings
from tests.interop import pages
from tests.interop.pages import BACK, HANGING, Page, browser, fine, idle, shown
from tests.product.kit import TIMEOUT, product, streamed
from tests.product.shop import SEARCH, Shop, call, outputs, refund, say, script, users
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, pytest.mark.interop]

CARD = ["confirm_changes"]
YES, NO = {"accepted": True}, {"accepted": False}
APPROVED = {"approved": True}


@pytest.fixture(autouse=True, params=[pages.COPILOTKIT, pages.COPILOTKIT_ON_1_0], ids=["0.0.59", "1.0.0"])
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> pages.Client:
    """What `browser` starts."""
    monkeypatch.setattr(pages, "COPILOTKIT", request.param)
    made: pages.Client = request.param
    return made


async def test_a_run_with_a_tool_of_the_server() -> None:
    shop = Shop()
    async with shown(shop.tools, script(SEARCH, after="Found it.")) as (p, b):
        page = await b.open(p.url, "t")
        seen = fine(await page.say("look for ada"))
        assert seen.said == [("user", "look for ada"), ("assistant", "Found it.")]
        assert list(seen.results.values()) == ['["found ada"]']
        assert seen.agents == ["support", "default"]
        assert (await p.get("/threads/t"))["messages"] == seen.messages


async def test_a_page_that_names_no_agent_has_the_first() -> None:
    async with shown([], script(say("Hello."))) as (p, b):
        page = await b.open(p.url, "t/1 ä", agent="default")
        assert fine(await page.say("hi")).text == "Hello."
        assert (await p.get("/threads/t%2F1%20%C3%A4"))["agent"] == "support"


@shows("B1")
@pytest.mark.parametrize(("answer", "refunded"), [(YES, ["A1"]), (NO, [])])
async def test_a_card(answer: Any, refunded: list[str]) -> None:
    shop = Shop()
    async with shown(shop.tools, script(refund())) as (p, b):
        page = await b.open(p.url, "t", tools=CARD)
        seen = fine(await page.say("refund A1", until="cards"))
        (card,) = seen.cards
        assert seen.calls[card]["function_arguments"] == {"order_id": "A1", "amount": 20}
        await page.do("respond", card=card, answer=answer)
        seen = fine(await page.until("idle"))
        assert (seen.text, shop.orders) == ("Done.", refunded)
        assert set(seen.results) == set(seen.calls)


async def test_cards_of_one_turn_come_one_after_the_other() -> None:
    shop = Shop()
    async with shown(shop.tools, script(refund("A1"), SEARCH, refund("B2"))) as (p, b):
        page = await b.open(p.url, "t", tools=CARD)
        first = fine(await page.say("refund both", until="cards"))
        await page.do("respond", card=first.cards[0], answer=NO)
        second = fine(await page.until("cards"))
        assert second.cards != first.cards
        await page.do("respond", card=second.cards[0], answer=YES)
        seen = fine(await page.until("idle"))
        assert (seen.text, shop.orders) == ("Done.", ["B2"])
        assert set(seen.results) == set(seen.calls)


async def test_typing_beside_an_open_card() -> None:
    shop = Shop()
    async with shown(shop.tools, script(refund())) as (p, b):
        page = await b.open(p.url, "t", tools=CARD)
        await page.say("refund A1", until="cards")
        await page.do("say", text="never mind")
        seen = fine(await page.until("text", text="Done."))
        assert set(seen.results) == set(seen.calls), "the card has lost its buttons"
        assert shop.refunds == []
        assert users(p.inputs()[-1])[-1] == "never mind"


@shows("B1", "B21")
async def test_an_interrupt_is_answered_and_shows_the_real_result() -> None:
    shop = Shop()
    async with shown(shop.tools, script(refund(), refund("B2"))) as (p, b):
        page = await b.open(p.url, "t")
        seen = fine(await page.say("refund both", until="interrupts"))
        first, second = (i["id"] for i in seen.interrupts)
        assert await page.do("resolve", interrupt=first, answer=APPROVED) == "waiting"
        assert await page.do("resolve", interrupt=second, answer=None) == "resume"
        seen = fine(await page.until("idle"))
        assert (seen.text, seen.interrupts, shop.orders) == ("Done.", [], ["A1"])
        told = {seen.calls[call_id]["order_id"]: json.loads(content) for call_id, content in seen.results.items()}
        assert told["A1"] == {"refunded": 20, "order": "A1"}, "the tool's result, not the person's answer"
        assert told["B2"]["status"] == "cancelled"


async def test_typing_beside_an_interrupt_is_refused_by_the_page_and_answered_with_the_resume() -> None:
    shop = Shop()
    async with shown(shop.tools, script(refund())) as (p, b):
        page = await b.open(p.url, "t")
        asked = await page.say("refund A1", until="interrupts")
        seen = await page.say("and hurry")
        (error,) = seen.errors
        assert "pending interrupt" in error["message"]
        await page.do("resolve", interrupt=asked.interrupts[0]["id"], answer=APPROVED)
        seen = await page.until("idle")
        assert (seen.text, len(seen.errors), shop.orders) == ("Done.", 1, ["A1"])
        assert users(p.inputs()[-1])[-1] == "and hurry"


async def test_a_tool_of_the_page() -> None:
    shop = Shop()
    async with shown(shop.tools, script(call("pick", of="three"), SEARCH)) as (p, b):
        page = await b.open(p.url, "t", tools=["pick"])
        seen = fine(await page.say("pick one"))
        assert seen.text == "Done."
        assert outputs(p.inputs()[-1]) == ['{"page":"pick","given":{"of":"three"}}', '["found ada"]']


async def test_a_tool_of_the_page_and_a_gated_one_in_one_turn(client: pages.Client) -> None:
    """A peer of 1.0 is asked at once (INT-1): the page works, its next run is refused, the resume brings both."""
    shop = Shop()
    async with shown(shop.tools, script(call("pick", of="three"), refund())) as (p, b):
        page = await b.open(p.url, "t", tools=["pick"])
        seen = await page.say("both", until="interrupts")
        await page.do("resolve", interrupt=seen.interrupts[0]["id"], answer=APPROVED)
        seen = await page.until("idle")
        assert (seen.text, shop.orders, seen.complaints) == ("Done.", ["A1"], [])
        assert [error["code"] for error in seen.errors] == ["agent_run_failed"] * (client == pages.COPILOTKIT_ON_1_0)
        assert sorted(seen.results) == sorted(seen.calls)


@shows("S33", "B17")
async def test_stop_in_the_middle_of_the_text_and_go_on() -> None:
    async with shown([], [HANGING, BACK]) as (p, b):
        page = await b.open(p.url, "t")
        await page.do("say", text="talk")
        await page.until("text", text="word")
        await page.do("stop")
        seen = fine(await page.until("idle"))
        assert seen.text.startswith("word")
        assert (await idle(p, "t"))["run"]["status"] == "cancelled"
        seen = fine(await page.say("go on"))
        assert [role for role, _ in seen.said] == ["user", "assistant", "user", "assistant"]
        assert seen.text == "Back."


async def test_stop_while_a_card_waits_denies_it_and_goes_on() -> None:
    shop = Shop()
    async with shown(shop.tools, [{"output": [refund()]}, BACK]) as (p, b):
        page = await b.open(p.url, "t", tools=CARD)
        await page.say("refund A1", until="cards")
        await page.do("stop")
        seen = await page.until("idle")
        assert seen.cards == []
        seen = await page.say("go on")
        assert (seen.text, shop.refunds) == ("Back.", [])
        assert set(seen.results) == set(seen.calls)


@shows("B17")
async def test_a_page_that_is_left_changes_nothing_and_finds_the_rest() -> None:
    """Whatever `on_disconnect` says: here only Stop is a stop."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def dig() -> str:
        """Takes its time."""
        begun.set()
        await go_on.wait()
        return "dug"

    async with shown([dig], script(call("dig")), on_disconnect="cancel", settings=Settings(disconnect_grace=0)) as (
        p,
        b,
    ):
        async with browser() as closed, asyncio.timeout(TIMEOUT):
            page = await closed.open(p.url, "t")
            await page.do("say", text="dig")
            await begun.wait()
            await (await closed.open(p.url, "t")).until("running")
        async with asyncio.timeout(TIMEOUT):
            while p.app.state.engine.following("local", "t")._readers:
                await p.get("/healthz")  # gives everybody a turn
        go_on.set()
        assert (await idle(p, "t"))["run"]["status"] == "finished"
        again = await b.open(p.url, "t")
        seen = fine(await again.until("idle"))
        assert (seen.text, list(seen.results.values())) == ("Done.", ["dug"])


@shows("B17")
async def test_a_page_that_is_opened_while_a_run_runs_follows_and_stops_it() -> None:
    async with shown([], [HANGING, BACK]) as (p, b):
        page = await b.open(p.url, "t")
        await page.do("say", text="talk")
        await page.until("text", text="word")
        second = await b.open(p.url, "t")
        seen = await second.until("text", text="word")
        assert (seen.running, [role for role, _ in seen.said]) == (True, ["user", "assistant"])
        await second.do("stop")
        theirs, ours = fine(await second.until("idle")), fine(await page.until("idle"))
        assert theirs.said == ours.said, "both streams have ended with the same"
        assert (await idle(p, "t"))["run"]["status"] == "cancelled"
        assert fine(await second.say("go on")).text == "Back."


@shows("B5")
async def test_a_reload_brings_the_card_back() -> None:
    shop = Shop()
    async with shown(shop.tools, script(SEARCH, refund())) as (p, b):
        page = await b.open(p.url, "t", tools=CARD)
        before = await page.say("refund A1", until="cards")
        again = await b.open(p.url, "t", tools=CARD)
        seen = fine(await again.until("cards"))
        assert seen.cards == before.cards
        assert streamed(seen.messages) == before.messages
        await again.do("respond", card=seen.cards[0], answer=YES)
        seen = fine(await again.until("text", text="Done."))
        assert shop.orders == ["A1"]
        assert set(seen.results) == set(seen.calls)
        third = await b.open(p.url, "t", tools=CARD)
        shown_again = fine(await third.until("idle"))
        assert (shown_again.cards, shown_again.messages) == ([], seen.messages)


@shows("B5")
async def test_a_reload_brings_the_interrupt_back() -> None:
    shop = Shop()
    async with shown(shop.tools, script(refund(), refund("B2"))) as (p, b):
        page = await b.open(p.url, "t")
        before = await page.say("refund both", until="interrupts")
        again = await b.open(p.url, "t")
        seen = fine(await again.until("interrupts"))
        assert (seen.interrupts, streamed(seen.messages)) == (before.interrupts, streamed(before.messages))
        for interrupt in seen.interrupts:
            await again.do("resolve", interrupt=interrupt["id"], answer=APPROVED)
        assert fine(await again.until("idle")).text == "Done."
        assert shop.orders == ["A1", "B2"]


async def test_a_failed_run_is_reported_once_and_not_again_after_a_reload() -> None:
    turns = [{"fault": {"kind": "status", "status": 400}, "when": {"user": "fail"}}, BACK]
    async with product([], turns) as p, browser() as b:
        page = await b.open(p.url, "t")
        seen = await page.say("fail")
        assert [error["code"] for error in seen.errors] == ["agent_run_error_event"]
        again = await b.open(p.url, "t")
        assert (await again.until("idle")).errors == []
        assert (await again.say("go on")).text == "Back."


async def test_two_threads_on_two_pages() -> None:
    shop = Shop()
    turns = [
        {"output": [refund("A1")], "when": {"user": "refund A1"}},
        {"output": [refund("B2")], "when": {"user": "refund B2"}},
        {"output": [say("Done.")], "repeat": True},
    ]
    async with shown(shop.tools, turns) as (p, b):
        one, two = [await b.open(p.url, thread, tools=CARD) for thread in ("one", "two")]
        for page, order in ((one, "A1"), (two, "B2")):
            await page.do("say", text=f"refund {order}")
        first, second = fine(await one.until("cards")), fine(await two.until("cards"))
        await two.do("respond", card=second.cards[0], answer=YES)
        assert fine(await two.until("idle")).text == "Done."
        assert shop.orders == ["B2"]
        await one.do("respond", card=first.cards[0], answer=YES)
        assert fine(await one.until("idle")).text == "Done."
        assert shop.orders == ["A1", "B2"]


async def test_a_server_that_has_no_rest_for_this_page() -> None:
    """`useSingleEndpoint`: everything goes through one route."""
    shop = Shop()
    async with shown(shop.tools, [{"output": [refund()]}, HANGING, BACK]) as (p, b):
        page = await b.open(p.url, "t", tools=CARD, transport="single")
        seen = fine(await page.say("refund A1", until="cards"))
        again = await b.open(p.url, "t", tools=CARD, transport="single")
        await again.until("cards")
        await page.do("respond", card=seen.cards[0], answer=YES)
        assert fine(await page.until("idle")).text == "Back."
        await page.do("say", text="talk")
        await page.until("text", text="word")
        await page.do("stop")
        assert fine(await page.until("idle")).text.startswith("word")


async def test_the_drawer_of_threads() -> None:
    async with shown([], [{"output": [say("Hello.")], "repeat": True}]) as (p, b):
        page = await b.open(p.url, "t0")
        for thread in ("t0", "t1", "t/2"):
            await (await b.open(p.url, thread)).say(f"I am {thread}")
        listed = await page.do("threads", limit=2)
        assert ([row["id"] for row in listed["threads"]], listed["more"]) == (["t/2", "t1"], True)
        assert listed["threads"][0]["name"] == "I am t/2"
        rest = await page.do("threads", change="fetchNextPage")
        assert [row["id"] for row in rest["threads"]] == ["t/2", "t1", "t0"]
        await page.do("threads", change="renameThread", given=["t/2", "Two"])
        await page.do("threads", change="archiveThread", given=["t1"])
        await page.do("threads", change="deleteThread", given=["t0"])
        listed = await page.do("threads")
        assert [(row["id"], row["name"]) for row in listed["threads"]] == [("t/2", "Two")]
        everything = await (await b.open(p.url, "t0")).do("threads", includeArchived=True)
        assert [(row["id"], row["archived"]) for row in everything["threads"]] == [("t/2", False), ("t1", True)]
        await page.do("threads", change="unarchiveThread", given=["t1"])
        assert [row["id"] for row in (await page.do("threads"))["threads"]] == ["t/2", "t1"]


@pytest.mark.parametrize("transport", ["auto", "single"])
async def test_suggestions_are_no_thread(transport: str) -> None:
    """T21. Its own route, or (a runtime of one route) a run like any other that forces the tool."""
    idea = {"title": "Refund it", "message": "Refund order A1"}
    suggested = {"output": [call("copilotkitSuggest", suggestions=[idea])]}
    shop = Shop()
    async with shown(shop.tools, [*script(SEARCH)[:1], {"output": [say("Found it.")]}, suggested]) as (p, b):
        page = await b.open(p.url, "t", transport=transport)
        fine(await page.say("look for ada"))
        told = await page.do("suggest", instructions="Short ones.")
        assert [{key: one[key] for key in idea} for one in told["suggestions"]] == [idea]
        fine(await page.until("idle"))
        assert [thread["id"] for thread in (await p.get("/threads"))["threads"]] == ["t"]
        assert [one["name"] for one in p.inputs()[-1]["tools"]] == ["copilotkitSuggest"]


async def test_each_person_has_their_own() -> None:
    settings = Settings(tokens={"alice": "secret-of-alice-0123456789", "bob": "secret-of-bob-0123456789"})
    async with shown([], [{"output": [say("Hello.")], "repeat": True}], settings=settings) as (p, b):
        alice = {"authorization": "Bearer secret-of-alice-0123456789"}
        bob = {"authorization": "Bearer secret-of-bob-0123456789"}
        page = await b.open(p.url, "t", headers=alice)
        fine(await page.say("hi"))
        theirs = await b.open(p.url, "t", headers=bob)
        assert fine(await theirs.until("idle")).messages == []
        assert (await theirs.do("threads"))["threads"] == []
        assert [row["id"] for row in (await page.do("threads"))["threads"]] == ["t"]
        nobody: Page = await b.open(p.url, "t")
        seen = await nobody.until("errors")
        assert seen.agents == []
        assert "Authentication is required" in seen.errors[0]["message"]
