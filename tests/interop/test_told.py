"""What the ledger says of calls reaches pages through both real clients, and stays in their messages (T4, T5).

Measured with 0.0.59 and 1.0.0: `metadata` is kept on a call, on a tool message, on an assistant message and on
TOOL_CALL_RESULT (whose metadata becomes the tool message's); a snapshot replaces a message of the same id whole, and
adds others at its end, in its own order; all of it is sent back with the history, where the server takes nothing of it.
"""

import asyncio
import json
from typing import Any

import pytest

from tests.interop.replay import VERSIONS, Case, Result, Run, assert_accepted, replay
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, product
from tests.product.shop import Shop, refund, script
from tests.requirements import shows

pytestmark = [pytest.mark.interop, shows("T4", "T5")]

YES = {"approved": True}
EDITED = {"approved": True, "edited_arguments": {"order_id": "A1", "amount": 12.5}, "reason": "half"}
Json = dict[str, Any]
Held = tuple[list[Run], list[Json]]


async def edited_elsewhere(p: Product, *, card: bool) -> Chat:
    p.emulator.load(script(refund()))
    chat = p.chat(tools=[CARD_TOOL] if card else [])
    asked = await chat.say("refund")
    (pending,) = (await p.get("/approvals"))["approvals"]
    await p.decide(pending["id"], EDITED)
    await chat.decide(asked, {"accepted": False})  # in a tab that shows its buttons still
    await chat.say("thanks")
    return chat


async def tried_again(p: Product) -> Chat:
    p.emulator.load(script(refund()))
    chat = p.chat(tools=[CARD_TOOL])
    asked = await chat.say("refund")
    await chat.answer((next(iter(asked.cards)), {"accepted": True}))
    del chat.messages[1:]
    p.emulator.load(script(refund(amount=14), after="Again."))
    again = await chat.go()
    await chat.answer((next(iter(again.cards)), {"accepted": True}))
    await chat.say("thanks")
    return chat


async def hold() -> dict[str, Held]:
    """Every conversation run by run, with the messages that the server has in the end."""
    found: dict[str, Held] = {}
    async with product(Shop(editable=["amount"]).tools, mode="stateless") as p, asyncio.timeout(3 * TIMEOUT):
        talks = {
            "card": edited_elsewhere(p, card=True),
            "interrupt": edited_elsewhere(p, card=False),
            "again": tried_again(p),
        }
        for name, talk in talks.items():
            chat = await talk
            runs = [Run(s.raw, s.input, replace=len(s.input["messages"]) == 1) for s in chat.streams]
            found[name] = runs, (await p.get(f"/threads/{chat.thread_id}"))["messages"]
        p.assert_clean()
    return found


@pytest.fixture(scope="module")
def held() -> dict[str, Held]:
    return asyncio.run(hold())


@pytest.fixture(scope="module")
def results(held: dict[str, Held]) -> dict[tuple[str, str], Result]:
    return {(r.case, r.version): r for r in replay([Case(name, runs) for name, (runs, _) in held.items()])}


def told(messages: list[Json]) -> list[Json]:
    """Ids, arguments and metadata of messages and their calls."""
    return [
        {
            "id": message["id"],
            "metadata": message.get("metadata"),
            "calls": [(c["id"], json.loads(c["function"]["arguments"]), c.get("metadata")) for c in calls],
        }
        for message in messages
        for calls in [message.get("toolCalls", ())]
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["card", "interrupt", "again"])
def test_both_clients_hold_what_the_server_says(
    name: str, version: str, held: dict[str, Held], results: dict[tuple[str, str], Result]
) -> None:
    result = results[name, version]
    assert_accepted([result])
    assert told(result.last.messages) == told(held[name][1])
    states = [m["metadata"]["agui-gate"].get("state") for m in result.last.messages if m["role"] == "tool"]
    assert set(states) == {"done"}
    sent = result.runs[-1].request
    assert sent is not None
    assert any("metadata" in message for message in sent["messages"]), "and it comes back, which changes nothing"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_ran_before_is_shown_behind_the_question(
    version: str, held: dict[str, Held], results: dict[tuple[str, str], Result]
) -> None:
    messages = results["again", version].last.messages
    assert [m["role"] for m in messages[:4]] == ["user", "assistant", "tool", "assistant"]
    assert messages[1]["metadata"] == {"agui-gate": {"replaced": True}}
    assert messages[2]["metadata"]["agui-gate"]["replaced"] is True
