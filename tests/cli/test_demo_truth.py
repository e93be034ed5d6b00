"""The demo tells what happened, whatever one types, edits, rejects or repeats: server, agent, emulator."""

import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_gate.cli.demo.agent import EXAMPLES, support_agent
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator
from tests.product.kit import MODES, Chat, Product, Stream, product
from tests.support.chance import seeds

pytestmark = pytest.mark.anyio


@pytest.fixture
async def demo() -> AsyncIterator[Product]:
    """The demo's agent over the emulator, as `agui-gate demo` has them."""
    agent = support_agent(OpenAIResponses("demo-model", base_url="http://127.0.0.1:9/v1", api_key="none"))
    async with product(agent.tools, emulator=Emulator(), settings=Settings(), instructions=agent.instructions) as p:
        yield p


async def decided(chat: Chat, text: str, **payload: object) -> str:
    """What the demo says at the end, when ``text`` was asked and the card was answered with ``payload``."""
    asked = await chat.say(text)
    (interrupt,) = asked.interrupts
    if "amount" in payload:
        edited = {**interrupt["metadata"]["arguments"], "amount": payload["amount"]}
        payload = {"approved": True, "editedArgs": edited}
    return (await chat.resume((interrupt["id"], payload))).text


async def test_an_edit_is_told_with_the_values_that_ran(demo: Product) -> None:
    told = await decided(demo.chat(), "Refund 20 euros of order 1003", amount=12.5)
    assert told.startswith("I've refunded order **1003** (amount: 12.50 €).")
    assert "The amount was changed from 20 € to 12.50 € before it was approved." in told
    assert "left to refund: 52.40 €" in told
    assert "{" not in told


@pytest.mark.parametrize(
    ("amount", "why"),
    [
        (1000, "Order 1003 has 64.90 € left to refund; 1000.00 € is more than that. Nothing was refunded."),
        (12.345, "12.345 € is not an amount in whole cents. Nothing was refunded."),
    ],
)
async def test_what_failed_is_told_with_why(demo: Product, amount: float, why: str) -> None:
    told = await decided(demo.chat(), "Refund 20 euros of order 1003", amount=amount)
    assert told.startswith(f"I could not refund order **1003** (amount: {amount} €). {why}")
    assert "I've refunded" not in told


@pytest.mark.parametrize("amount", [-5, 0])
async def test_an_amount_that_is_none_is_refused_before_anything_runs(demo: Product, amount: float) -> None:
    """The tool's schema says so, on the page that edits and in the server."""
    chat = demo.chat()
    asked = await chat.say("Refund 20 euros of order 1003")
    (interrupt,) = asked.interrupts
    edited = {**interrupt["metadata"]["arguments"], "amount": amount}
    again = await chat.resume((interrupt["id"], {"approved": True, "editedArgs": edited}))
    assert "refused" in again.interrupts[0]["metadata"]
    (record,) = (await demo.get(f"/threads/{chat.thread_id}"))["calls"]
    assert record["state"] == "pending"


async def test_two_calls_can_be_approved_at_once(demo: Product) -> None:
    """Neither may be edited, so that a page may offer to approve both."""
    chat = demo.chat()
    asked = await chat.say("Cancel orders 1002 and 1004")
    assert [one["metadata"]["arguments"] for one in asked.interrupts] == [{"order_id": "1002"}, {"order_id": "1004"}]
    assert not any(one["metadata"].get("editable") for one in asked.interrupts)
    told = await chat.resume(*[(one["id"], {"approved": True}) for one in asked.interrupts])
    assert told.text.count("I've cancelled order") == 2
    late = await decided(chat, "Cancel order 1001", approved=True)
    assert "Order 1001 is delivered, so it can't be cancelled. Nothing was changed." in late


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("approved", [True, False])
async def test_an_old_decision_is_not_told_as_new(mode: str, approved: bool) -> None:
    """A provider that remembers nothing is sent all outputs with each request; so is any other one after a Stop."""
    support = support_agent(OpenAIResponses("demo-model", base_url="http://127.0.0.1:9/v1", api_key="none"))
    async with product(support.tools, emulator=Emulator(), mode=mode, settings=Settings()) as p:
        chat = p.chat()
        await decided(chat, "Refund 20 euros of order 1003", approved=approved)
        assert (await chat.say("Hello")).text.startswith("Hello! I'm a small demo model")
        told = (await chat.say("What is the state of order 1002?")).text
        assert "refund order" not in told
        assert "refunded order" not in told


async def test_a_rejection_is_told_with_its_whole_reason(demo: Product) -> None:
    reason = "the customer has sent no receipt, and we have asked for one twice by now"
    told = await decided(demo.chat(), "Refund 20 euros of order 1003", approved=False, reason=reason)
    assert "it was **rejected**, and nothing was changed" in told
    assert reason in told


async def test_what_was_refunded_is_not_refunded_again_in_the_same_chat(demo: Product) -> None:
    chat = demo.chat()
    await decided(chat, "Refund order 1001", approved=True)
    again = await chat.say("Refund order 1001")
    assert (again.interrupts, again.text) == ([], "Order **1001** is already refunded. There is nothing left to do.")


async def test_what_is_left_is_what_the_next_refund_is_about(demo: Product) -> None:
    chat = demo.chat()
    await decided(chat, "Refund 20 euros of order 1003", approved=True)
    rest = await chat.say("Refund order 1003")
    assert rest.interrupts[0]["metadata"]["arguments"] == {"order_id": "1003", "amount": 44.9}
    assert rest.interrupts[0]["message"] == "Refund 44.90 € for order 1003?"


async def test_every_chat_has_the_orders_anew(demo: Product) -> None:
    for thread in ("one", "two"):
        told = await decided(demo.chat(thread_id=thread), "Find Anna's orders and refund the first one", approved=True)
        assert told.startswith("I've refunded order **1001** (amount: 249 €).")


async def test_what_was_decided_elsewhere_is_told_with_the_next_words(demo: Product) -> None:
    chat = demo.chat()
    asked = await chat.say("Refund 20 euros of order 1003")
    await demo.decide(asked.interrupts[0]["id"], {"approved": True})
    assert (await chat.say("Thank you")).text.startswith("I've refunded order **1003** (amount: 20 €).")


SAID = (
    "Refund order 1001",
    "Refund 20 euros of order 1003",
    "refund -5 euros of order 1004",
    "refund 1002 and 1005, 10 euros each",
    "Find Anna's orders and refund the first one",
    "Find Ben's orders and refund all of them",
    "refund order 9999",
    "refund it",
    "Refund 0,5 euro of 1003 then 1,5 of 1005",
)


@pytest.mark.parametrize("seed", seeds(6))
async def test_it_never_says_what_did_not_happen(demo: Product, seed: int) -> None:
    """Whatever is asked for, edited, rejected and repeated: the refunds that are told are those that ran."""
    chance, chat = random.Random(seed), demo.chat()
    for text in chance.choices(SAID, k=6):
        stream = await chat.say(text)
        told = stream.text
        while stream.interrupts:
            stream = await chat.resume(*[(one["id"], at_random(chance, one)) for one in stream.interrupts])
            told += stream.text
        thread = await demo.get(f"/threads/{chat.thread_id}")
        assert "{" not in told
        assert claimed(told) == ran_since(thread)


def at_random(chance: random.Random, interrupt: dict[str, Any]) -> dict[str, Any]:
    arguments = interrupt["metadata"]["arguments"]
    edited = {"approved": True, "editedArgs": {**arguments, "amount": chance.choice([-5, 0, 2.5, 7.25, 12.345, 500])}}
    return chance.choice([{"approved": True}, edited, {"approved": False, "reason": "no"}])


def claimed(told: str) -> Counter[tuple[str, str]]:
    found = re.findall(r"I've refunded order \*\*(\d+)\*\* \(amount: ([\d.]+) €\)", told)
    return Counter((order, f"{float(amount):g}") for order, amount in found)


def ran_since(thread: dict[str, Any]) -> Counter[tuple[str, str]]:
    """The refunds that took effect after the person's last words."""
    last = max(at for at, message in enumerate(thread["messages"]) if message["role"] == "user")
    calls = {call["id"] for message in thread["messages"][last:] for call in message.get("toolCalls", ())}
    done = [one for one in thread["calls"] if one["call_id"] in calls and one["state"] == "done"]
    return Counter(
        (one["effective_arguments"]["order_id"], f"{one['effective_arguments']['amount']:g}") for one in done
    )


async def again(chat: Chat) -> Stream:
    """What the demo says when its last answer is asked for anew."""
    chat.messages = chat.messages[:1]
    return await chat.go()


async def test_what_ran_in_an_answer_that_was_replaced_is_told_before_it_is_asked_for_again(demo: Product) -> None:
    chat = demo.chat()
    await decided(chat, "Refund 20 euros of order 1003", approved=True)
    once_more = await again(chat)
    assert once_more.text.startswith(
        "In an answer that was replaced I have already refunded order **1003** (amount: 20 €). "
    )
    assert once_more.interrupts[0]["metadata"]["already_ran"][0]["replaced"] is True


async def test_a_whole_refund_is_not_asked_for_again(demo: Product) -> None:
    chat = demo.chat()
    await decided(chat, "Refund order 1001", approved=True)
    once_more = await again(chat)
    assert once_more.interrupts == []
    assert once_more.text.endswith("Order **1001** is already refunded. There is nothing left to do.")


@pytest.mark.parametrize(
    "text",
    [
        "Did you refund order 1003?",
        "Has order 1003 been refunded?",
        "Is order 1003 already refunded?",
        "You refunded 50 euros of order 1003, right?",
        "I've refunded order 1003",
        "Thanks for refunding order 1003",
        "Undo the refund of order 1003",
        "Cancel the refund of order 1003",
        "Was the email sent to Ben?",
    ],
)
async def test_a_question_about_what_happened_asks_for_nothing(demo: Product, text: str) -> None:
    told = await demo.chat().say(text)
    assert told.interrupts == []
    assert "I've refunded" not in told.text
    assert "You're welcome" not in told.text
    assert "- refunded: 0 €" in told.text or "what I can do here" in told.text


ASKED = {
    "Find Anna's orders and refund the first one": ["refund"],
    "Refund 20 euros of order 1003": ["refund"],
    "Cancel orders 1002 and 1004": ["cancel_order", "cancel_order"],
    "What is the state of order 1002?": [],
    "Email Ben that his parcel is on its way": ["send_email"],
}


@pytest.mark.parametrize("text", EXAMPLES)
async def test_an_example_asks_for_what_it_says_and_for_nothing_else(demo: Product, text: str) -> None:
    """A question about an order was taken for the wish to cancel it."""
    told = await demo.chat().say(text)
    assert [told.calls[asked["toolCallId"]] for asked in told.interrupts] == ASKED[text]


@pytest.mark.parametrize(
    "text",
    ["Where is order 1004?", "Is order 1002 on its way?", "When does order 1002 arrive?", "The order 1004, please"],
)
async def test_a_question_about_an_order_is_looked_up(demo: Product, text: str) -> None:
    told = await demo.chat().say(text)
    assert told.interrupts == []
    assert "- status: on its way" in told.text


async def test_a_call_that_was_cancelled_is_not_told_as_an_order_that_was(demo: Product) -> None:
    """It said "I did not cancel order 1002: it was cancelled"."""
    chat = demo.chat()
    (asked,) = (await chat.say("Cancel order 1002")).interrupts
    told = (await chat.go(resume=[{"interruptId": asked["id"], "status": "cancelled"}])).text
    assert "I did not cancel order **1002**: the approval was **cancelled**, and nothing was changed." in told


@pytest.mark.parametrize("text", ["What happened?", "And now?", "What did you do?", "Did it work?", "So?"])
async def test_whoever_asks_what_happened_is_told_it_again(demo: Product, text: str) -> None:
    chat = demo.chat()
    await decided(chat, "Refund 20 euros of order 1003", amount=12.5)
    await decided(chat, "Refund 30 euros of order 1001", approved=False, reason="no receipt")
    told = (await chat.say(text)).text
    assert "I've refunded order **1003** (amount: 12.50 €). The amount was changed from 20 € to 12.50 €" in told
    assert "I did not refund order **1001** (amount: 30 €): it was **rejected**" in told


async def test_where_nothing_happened_nothing_is_told(demo: Product) -> None:
    assert "what I can do here" in (await demo.chat().say("What happened?")).text


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("Refund half of order 1003", 32.45),
        ("Refund 20% of order 1003", 12.98),
        ("Refund twenty euros of order 1003", 20),
        ("Refund €1.000,50 of order 1003", 1000.5),
        ("The kettle you shipped is broken, refund order 1003", 64.9),
    ],
)
async def test_an_amount_is_the_one_that_was_meant(demo: Product, text: str, amount: float) -> None:
    (asked,) = (await demo.chat().say(text)).interrupts
    assert asked["metadata"]["arguments"] == {"order_id": "1003", "amount": amount}


async def test_what_it_says_to_try_works(demo: Product) -> None:
    chat = demo.chat()
    tried = re.findall(r"Try: “(.+)”", (await chat.say("hi")).text)
    assert tried == ["Look up order 1003"]
    assert "Pour-over kettle" in (await chat.say(tried[0])).text
