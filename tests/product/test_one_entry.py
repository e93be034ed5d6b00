"""A call that waits is one entry with several keys, seen from outside: what the registry promises, the ledger keeps."""

import asyncio
from typing import Any

import pytest

from tests.product.kit import CARD_TOOL, Chat, Product, Stream, product
from tests.product.shop import Shop, refund, script
from tests.requirements import shows

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
YES = {"approved": True}
RIGHT: Json = {"name": "refund", "arguments": {"order_id": "A1", "amount": 20}}
OTHER_NAME = {**RIGHT, "name": "ship"}
OTHER_ARGUMENTS = {**RIGHT, "arguments": {"order_id": "A1", "amount": 999}}
MISMATCHES = pytest.mark.parametrize("claim", [OTHER_NAME, OTHER_ARGUMENTS], ids=["name", "arguments"])


def provider_id(p: Product) -> str:
    """The name that the provider has given to the conversation."""
    found = p.inputs()[-1].get("conversation") or p.emulator.accepted[-1].response_id
    assert isinstance(found, str)
    return found


def claiming(chat: Chat, call_id: str, claim: Json) -> Json:
    """A run whose user says yes to a call, and which call they mean."""
    item = {"call_id": call_id, **YES, **claim}
    message = {"id": "claim", "role": "user", "content": "", "function_approvals": [item]}
    return chat.body(messages=[*chat.messages, message])


async def waiting(p: Product) -> list[Json]:
    found = (await p.get("/approvals"))["approvals"]
    assert isinstance(found, list)
    return found


async def used_up(p: Product, chat: Chat, asked: Stream, shop: Shop) -> None:
    """No key leads to it any more, and it ran once."""
    assert await waiting(p) == []
    (record,) = (await p.get(f"/threads/{chat.thread_id}"))["calls"]
    assert (record["state"], record["call_id"]) == ("done", call_of(asked))
    assert (await p.decide(record["id"], YES))["status_code"] == 409
    again = await p.post("/", claiming(chat, record["call_id"], RIGHT))
    assert (again.interrupts, again.cards) == ([], {})
    assert shop.refunds == [("A1", 20)]


def call_of(asked: Stream) -> str:
    return next(i for i, name in asked.calls.items() if name == "refund")


@shows("S3", "S4")
@pytest.mark.parametrize("key", ["approval", "call", "card"])
async def test_where_the_provider_keeps_nothing_all_keys_are_those_of_one_entry(key: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode="stateless") as p:
        chat = p.chat(tools=[CARD_TOOL] if key == "card" else [])
        asked = await chat.say("refund A1")
        (entry,) = await waiting(p)
        assert (entry["thread_id"], entry["call_id"]) == (chat.thread_id, call_of(asked))
        match key:
            case "approval":
                assert (await p.decide(entry["id"], YES))["state"] == "done"
            case "call":
                await chat.answer((call_of(asked), YES))
            case _:
                await chat.answer((next(iter(asked.cards)), {"accepted": True}))
        await used_up(p, chat, asked, shop)
        p.assert_clean()


@shows("S4")
@pytest.mark.parametrize("mode", ["chain", "conversation"])
async def test_both_names_of_a_conversation_at_once_use_it_up_once(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        bodies = [claiming(chat, call_of(asked), RIGHT) | {"threadId": i} for i in (chat.thread_id, provider_id(p))]
        answers = await asyncio.gather(*(p.post("/", body) for body in bodies * 3))
        assert {answer.status for answer in answers} <= {200, 409}
        await used_up(p, chat, asked, shop)


@shows("S5")
@MISMATCHES
async def test_an_answer_that_means_another_call_leaves_the_entry_as_it_is(claim: Json) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        before = await waiting(p)
        still = await p.post("/", claiming(chat, call_of(asked), claim))
        assert (len(still.interrupts), shop.refunds) == (1, [])
        assert await waiting(p) == before
        done = await p.post("/", claiming(chat, call_of(asked), RIGHT))
        assert done.text == "Done."
        await used_up(p, chat, asked, shop)
        p.assert_clean()


@shows("S6")
async def test_of_answers_that_come_at_once_only_one_that_means_the_call_runs_it() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        claims = [OTHER_NAME, OTHER_ARGUMENTS, RIGHT] * 4
        runs = (p.post("/", claiming(chat, call_of(asked), claim)) for claim in claims)
        answers = await asyncio.gather(*runs)
        assert {answer.status for answer in answers} <= {200, 409}
        assert shop.refunds in ([], [("A1", 20)]), "a thread that is busy takes no answer"
        if not shop.refunds:
            await p.post("/", claiming(chat, call_of(asked), RIGHT))
        await used_up(p, chat, asked, shop)
