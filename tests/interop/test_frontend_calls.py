"""Both real clients make the same of what is told of cards and frontend calls by the specification's rules.

0.0.59 is there too: behind a Node runtime that declares 1.0 it reads these streams (docs/clients.md).
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conforming import conforms
from tests.interop.replay import VERSIONS, Case, Result, Run, assert_accepted, replay
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, product
from tests.product.live import connect
from tests.product.shop import COLOR, PICK, SEARCH, Shop, refund, say, script

pytestmark = [pytest.mark.interop, conforms("TOOL-4", "TOOL-6", "STATE-2")]

Json = dict[str, Any]
YES = {"accepted": True}


async def approved(p: Product, chat: Chat) -> None:
    p.emulator.load(script(say("Let me see."), SEARCH, refund()))
    asked = await chat.say("refund")
    await chat.decide(asked, YES)
    await chat.say("thanks")


async def typed_over(p: Product, chat: Chat) -> None:
    p.emulator.load(script(refund(), PICK))
    await chat.say("refund and paint")
    await chat.say("never mind")


async def asked_again(p: Product, chat: Chat) -> None:
    p.emulator.load(script(refund("A1"), say("And."), PICK, refund("A2")))
    asked = await chat.say("refund and paint")
    part = await chat.decide(asked, YES)
    picked = next(i for i, name in asked.calls.items() if name == "pick_color")
    await chat.answer((next(iter(part.cards)), YES), (picked, "green"))


async def decided_elsewhere(p: Product, chat: Chat) -> None:
    p.emulator.load(script(refund()))
    await chat.say("refund")
    (pending,) = (await p.get("/approvals"))["approvals"]
    await p.decide(pending["id"], {"approved": True})
    await chat.say("and?")


async def interrupted(p: Product, chat: Chat) -> None:
    chat.tools = [COLOR]
    p.emulator.load(script(say("Let me see."), PICK, refund()))
    asked = await chat.say("refund and paint")
    entry = {"interruptId": asked.interrupts[0]["id"], "status": "resolved", "payload": {"approved": True}}
    picked = next(i for i, name in asked.calls.items() if name == "pick_color")
    await chat.answer((picked, "green"), resume=[entry])


TALKS: dict[str, Callable[[Product, Chat], Awaitable[None]]] = {
    talk.__name__: talk for talk in (approved, typed_over, asked_again, decided_elsewhere, interrupted)
}


async def held() -> dict[str, tuple[list[Run], list[Json]]]:
    """Every talk, run by run and then connected to once more, with the messages that the page is to have."""
    found = {}
    async with product(Shop().tools) as p, asyncio.timeout(3 * TIMEOUT):
        for name, talk in TALKS.items():
            chat = p.chat(tools=[CARD_TOOL, COLOR], extra={"protocolVersion": "1.0"})
            await talk(p, chat)
            streams = [*chat.streams, await connect(p, chat)]
            found[name] = [Run(s.raw, s.input) for s in streams], chat.messages
        p.assert_clean()
    return found


TALKED = pytest.fixture(scope="module", name="talked")(lambda: asyncio.run(held()))


@pytest.fixture(scope="module")
def results(talked: dict[str, tuple[list[Run], list[Json]]]) -> dict[tuple[str, str], Result]:
    return {(r.case, r.version): r for r in replay([Case(name, runs) for name, (runs, _) in talked.items()])}


def told(messages: list[Json]) -> list[Any]:
    """What a page shows of each message."""
    return [
        (
            message["id"],
            message["role"],
            message.get("content") or "",
            message.get("toolCallId"),
            [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls],
        )
        for message in messages
        for calls in [message.get("toolCalls") or ()]
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", TALKS)
def test_both_clients_show_the_same(
    name: str,
    version: str,
    talked: dict[str, tuple[list[Run], list[Json]]],
    results: dict[tuple[str, str], Result],
) -> None:
    result, (_, messages) = results[name, version], talked[name]
    assert_accepted([result])
    *_, before, connected = result.runs
    assert told(before.messages) == told(messages)
    assert told(connected.messages) == told(messages), "and it stays so when the page comes back"
