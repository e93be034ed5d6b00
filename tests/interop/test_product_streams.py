"""Both real clients accept what the product streams, and end up with the messages that the server has (B14, B21).

Conversations are held here with the product itself, as a page would hold them, and replayed run by run. Whatever else
the tests of the product stream is replayed too, when a session ends: see `recorded.py`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conforming import conforms
from tests.interop.replay import VERSIONS, Case, Result, Run, assert_accepted, replay
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, Stream, product
from tests.product.shop import SEARCH, Shop, call, refund, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.interop, shows("B14", "B21")]

Talk = Callable[[Product], Awaitable[Chat]]

YES, NO = {"approved": True}, {"approved": False}
COLOR = {"name": "pick_color", "description": "Pick.", "parameters": {"type": "object", "properties": {}}}
THOUGHT = {"type": "reasoning", "summary": ["The order exists.", "It was paid."]}
HIDDEN = {"type": "reasoning", "summary": []}


def id_of(stream: Stream, tool: str) -> str:
    return next(i for i, name in stream.calls.items() if name == tool)


async def plain(p: Product) -> Chat:
    p.emulator.load(script(THOUGHT, say("Let me look."), SEARCH, HIDDEN, SEARCH))
    chat = p.chat()
    await chat.say("hello")
    await chat.say("thanks")
    return chat


async def interrupts(p: Product) -> Chat:
    p.emulator.load(script(say("One moment."), SEARCH, refund("A1"), refund("A2")))
    chat = p.chat()
    asked = await chat.say("refund both")
    first, second = asked.interrupts
    await chat.resume((first["id"], YES), (second["id"], NO))
    await chat.say("thanks")
    return chat


async def interrupts_of_a_page(p: Product) -> Chat:
    """`useInterrupt` adds a tool message of its own, whose content is the answer, and takes the old run's id again."""
    p.emulator.load(script(refund()))
    chat = p.chat()
    asked = await chat.say("refund")
    (ask,) = asked.interrupts
    entries = [{"interruptId": ask["id"], "status": "resolved", "payload": YES}]
    await chat.answer((ask["toolCallId"], YES), resume=entries, runId=asked[0]["runId"])
    await chat.say("thanks")
    return chat


async def an_interrupt_asked_again(p: Product) -> Chat:
    p.emulator.load(script(refund("A1"), refund("A2")))
    chat = p.chat()
    asked = await chat.say("refund both")
    first, second = asked.interrupts
    again = await chat.resume((first["id"], YES), (second["id"], {"approved": "perhaps"}))
    await chat.resume((again.interrupts[0]["id"], NO))
    return chat


async def a_cancelled_interrupt(p: Product) -> Chat:
    p.emulator.load(script(refund()))
    chat = p.chat()
    asked = await chat.say("refund")
    await chat.go(resume=[{"interruptId": asked.interrupts[0]["id"], "status": "cancelled"}])
    return chat


async def turn_after_turn(p: Product) -> Chat:
    turns: list[dict[str, Any]] = [{"output": [THOUGHT, say("Next."), refund(order), SEARCH]} for order in ("A1", "A2")]
    p.emulator.load([*turns, {"output": [say("Done."), say("Really.")], "repeat": True}])
    chat = p.chat()
    stream = await chat.say("refund, one after the other")
    while stream.interrupts:
        stream = await chat.resume((stream.interrupts[0]["id"], YES))
    return chat


async def cards(p: Product) -> Chat:
    p.emulator.load(script(say("One moment."), refund("A1"), SEARCH, refund("A2")))
    chat = p.chat(tools=[CARD_TOOL])
    asked = await chat.say("refund both")
    first, second = asked.cards
    await chat.answer((first, {"accepted": True}), (second, {"accepted": False}))
    await chat.say("thanks")
    return chat


async def cards_one_by_one(p: Product) -> Chat:
    p.emulator.load(script(refund("A1"), refund("A2")))
    chat = p.chat(tools=[CARD_TOOL])
    asked = await chat.say("refund both")
    again = await chat.answer((next(iter(asked.cards)), "yes"))
    part = await chat.answer((next(iter(again.cards)), {"accepted": True}))
    await chat.answer((next(iter(part.cards)), {"accepted": True}))
    return chat


async def an_ignored_card(p: Product) -> Chat:
    p.emulator.load(script(say("One moment."), refund()))
    chat = p.chat(tools=[CARD_TOOL])
    await chat.say("refund")
    await chat.say("never mind")
    return chat


async def decided_elsewhere(p: Product) -> Chat:
    p.emulator.load(script(refund()))
    chat = p.chat(tools=[CARD_TOOL])
    await chat.say("refund")
    (pending,) = [a for a in (await p.get("/approvals"))["approvals"] if a["thread_id"] == chat.thread_id]
    await p.decide(pending["id"], YES)
    await chat.go()
    return chat


async def client_tool_and_interrupt(p: Product) -> Chat:
    p.emulator.load(script(say("Two things."), call("pick_color"), refund(), SEARCH))
    chat = p.chat(tools=[COLOR])
    first = await chat.say("refund and paint")
    second = await chat.answer((id_of(first, "pick_color"), "green"))
    await chat.resume((second.interrupts[0]["id"], YES))
    return chat


async def client_tool_and_card(p: Product) -> Chat:
    p.emulator.load(script(call("pick_color"), refund()))
    chat = p.chat(tools=[COLOR, CARD_TOOL])
    asked = await chat.say("refund and paint")
    await chat.answer((id_of(asked, "pick_color"), "green"), (next(iter(asked.cards)), {"accepted": True}))
    return chat


async def a_provider_that_fails(p: Product) -> Chat:
    cut = {"output": [say("Half of an answer that breaks off."), refund()], "fault": {"kind": "cut", "after_events": 6}}
    p.emulator.load([cut, {"output": [say("Done.")], "repeat": True}])
    chat = p.chat()
    failed = await chat.say("hello")
    assert failed[-1]["type"] == "RUN_ERROR"
    again = await chat.say("again?")
    await chat.resume((again.interrupts[0]["id"], YES))
    return chat


CONVERSATIONS: dict[str, Talk] = {
    talk.__name__: talk
    for talk in (
        plain,
        interrupts,
        interrupts_of_a_page,
        an_interrupt_asked_again,
        a_cancelled_interrupt,
        turn_after_turn,
        cards,
        cards_one_by_one,
        an_ignored_card,
        decided_elsewhere,
        client_tool_and_interrupt,
        client_tool_and_card,
        a_provider_that_fails,
    )
}


async def hold(talks: dict[str, Talk]) -> dict[str, tuple[Case, list[str]]]:
    """Every conversation as a case, with the ids of the messages that the server has in the end."""
    shop = Shop(editable=["amount"])
    found = {}
    async with product(shop.tools, mode="stateless") as p, asyncio.timeout(3 * TIMEOUT):
        for name, talk in talks.items():
            chat = await talk(p)
            view = await p.get(f"/threads/{chat.thread_id}")
            case = Case(name, [Run(stream.raw, stream.input) for stream in chat.streams])
            found[name] = case, [message["id"] for message in view["messages"]]
        p.assert_clean()
    return found


@pytest.fixture(scope="module")
def held() -> dict[str, tuple[Case, list[str]]]:
    return asyncio.run(hold(CONVERSATIONS))


@pytest.fixture(scope="module")
def results(held: dict[str, tuple[Case, list[str]]]) -> dict[tuple[str, str], Result]:
    return {(r.case, r.version): r for r in replay([case for case, _ in held.values()])}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CONVERSATIONS)
@conforms("VER-8", "STR-1")
def test_a_conversation_is_accepted_and_leaves_what_the_server_has(
    name: str, version: str, held: dict[str, tuple[Case, list[str]]], results: dict[tuple[str, str], Result]
) -> None:
    result = results[name, version]
    assert_accepted([result])
    assert result.last.pending_interrupts == []
    assert [message["id"] for message in result.last.messages] == held[name][1]
