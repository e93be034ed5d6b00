"""Three tabs and a shell on one thread, doing anything in any order, histories of any age (T4, T6)."""

import json
import random
from collections.abc import Awaitable, Callable, Container, Sequence
from typing import Any

import pytest

from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, Stream, product
from tests.product.shop import SEARCH, Shop, refund, say
from tests.requirements import shows
from tests.support.chance import seeds, some

pytestmark = [pytest.mark.anyio, shows("T4", "T5", "T6")]
Json = dict[str, Any]

Act = Callable[[Chat], Awaitable[Stream | None]]

STEPS = some(20, 30)
ANSWERS: list[Any] = [
    {"accepted": True},
    {"accepted": False, "reason": "no"},
    {"accepted": True, "edited_arguments": {"order_id": "A1", "amount": 7}},
    {"accepted": True, "edited_arguments": {"order_id": "B9", "amount": 7}},
    {"accepted": "true"},
    "yes",
    '{"status":"replaced","message":"This question is asked again below."}',
]


class Tabs:
    """Random clients of one thread. ``said_yes`` are the calls that anybody ever said yes to."""

    fine: Container[str] = ("approval_refused",)
    """The codes of errors in which a run may end."""
    answers: Sequence[Any] = ANSWERS

    def __init__(self, p: Product, chance: random.Random, *tools: Json, **more: Any) -> None:
        self.p, self.random = p, chance
        first = p.chat(tools=list(tools), **more)
        self.tabs = [first, *(p.chat(thread_id=first.thread_id, tools=first.tools, **more) for _ in range(2))]
        for tab in self.tabs:
            tab.streams.append(Stream([]))  # none of them is held to be the first that speaks
        self.past: list[list[Json]] = []
        self.cards: dict[str, str] = {}
        self.said_yes: set[str] = set()
        self.thread_id = first.thread_id

    async def step(self) -> None:
        tab = self.random.choice(self.tabs)
        self.p.emulator.load(self.turns())
        stream = await self.random.choice(self.acts())(tab)
        if stream is None:
            return
        assert stream.status in (200, 409), stream
        if stream.status == 200:
            assert stream[-1]["type"] == "RUN_FINISHED" or stream[-1]["code"] in self.fine, stream[-1]
            self.learn(stream)
            self.past.append(json.loads(json.dumps(tab.messages)))

    def acts(self) -> list[Act]:
        """What may be done next."""
        return [self.say, self.answer, self.answer, self.old, self.back, self.edit, self.shell, self.go]

    def turns(self) -> list[Any]:
        turns = [[refund()], [refund("A2"), SEARCH], [SEARCH], [say("Well.")], [refund(), refund("A3")]]
        return [{"output": self.random.choice(turns)}, {"output": [say("Done.")], "repeat": True}]

    def learn(self, stream: Stream) -> None:
        for card_id in stream.cards:
            deltas = [e["delta"] for e in stream.of("TOOL_CALL_ARGS") if e["toolCallId"] == card_id]
            self.cards[card_id] = json.loads("".join(deltas))["function_call_id"]

    async def say(self, tab: Chat) -> Stream:
        return await tab.say(self.random.choice(["refund", "thanks", "hurry"]))

    async def go(self, tab: Chat) -> Stream:
        return await tab.go()

    async def answer(self, tab: Chat) -> Stream | None:
        """An answer to any card that was ever shown, or to any call or interrupt."""
        answer = self.random.choice(self.answers)
        yes = isinstance(answer, dict) and answer["accepted"] is True
        known = await self.calls()
        if not known:
            return None
        call = self.random.choice(known)
        of_call = [card_id for card_id, call_id in self.cards.items() if call_id == call["call_id"]]
        if yes:
            self.said_yes.add(call["call_id"])
        way = self.random.random()
        if of_call and way < 0.6:
            return await tab.answer((self.random.choice(of_call), answer))
        if way < 0.8:
            return await tab.answer((call["call_id"], answer))
        return await tab.resume((call["id"], answer))

    async def old(self, tab: Chat) -> Stream | None:
        """A tab that was asleep sends an old history, as it was."""
        if not self.past:
            return None
        tab.messages = json.loads(json.dumps(self.random.choice(self.past)))
        return await tab.go()

    async def back(self, tab: Chat) -> Stream | None:
        """Any of the user's messages is answered anew."""
        places = [i for i, message in enumerate(tab.messages) if message["role"] == "user"]
        if not places:
            return None
        del tab.messages[self.random.choice(places) + 1 :]
        return await tab.go()

    async def edit(self, tab: Chat) -> Stream | None:
        places = [i for i, message in enumerate(tab.messages) if message["role"] == "user"]
        if not places:
            return None
        place = self.random.choice(places)
        del tab.messages[place + 1 :]
        tab.messages[place] = {**tab.messages[place], "content": f"refund {self.random.random()}"}
        return await tab.go()

    async def shell(self, tab: Chat) -> None:
        known = await self.calls()
        if not known:
            return
        call, approved = self.random.choice(known), self.random.random() < 0.6
        if approved:
            self.said_yes.add(call["call_id"])
        decided = await self.p.decide(call["id"], {"approved": approved, "continue": self.random.random() < 0.7})
        assert decided["status_code"] in (200, 409)
        if decided["status_code"] == 409:
            assert decided["error"]["record"]["state"] == decided["state"] != "pending"
        elif key := (decided["run"] or {}).get("key") if "run" in decided else None:
            response = await self.p.client.get(f"{self.p.url}/runs/{key}/events", timeout=TIMEOUT)
            assert "RUN_FINISHED" in response.text

    async def calls(self) -> list[Json]:
        view = await self.p.get(f"/threads/{self.thread_id}?view=calls")
        return list(view.get("calls", ()))


async def check(tabs: Tabs, shop: Shop) -> None:
    """Nothing ran that nobody said yes to, nothing twice, and nothing that ran is out of sight."""
    assert len(shop.call_ids) == len(set(shop.call_ids))
    assert set(shop.call_ids) <= tabs.said_yes
    view = await tabs.p.get(f"/threads/{tabs.thread_id}")
    ran = [record for record in view["calls"] if record["state"] in ("done", "failed", "unknown")]
    assert ([record["call_id"] for record in ran if record["state"] == "done"] and shop.call_ids) or not shop.call_ids
    shown = {call["id"]: call for message in view["messages"] for call in message.get("toolCalls", ())}
    for record in ran:
        call = shown[record["call_id"]]
        assert json.loads(call["function"]["arguments"]) == record["effective_arguments"]
        assert call["metadata"]["agui-gate"]["state"] == record["state"]
    ids = [message["id"] for message in view["messages"]]
    assert len(ids) == len(set(ids))
    assert set(shop.call_ids) == {record["call_id"] for record in ran}


@pytest.mark.parametrize("policy", ["supersede", "represent"])
@pytest.mark.parametrize("card", [True, False], ids=["cards", "interrupts"])
async def test_whatever_is_done_in_whatever_order(policy: str, card: bool) -> None:
    for seed in seeds(3):
        shop = Shop(editable=["amount"])
        mode = ("chain", "conversation", "stateless")[seed % 3]
        async with product(shop.tools, mode=mode, on_unanswered=policy) as p:
            tabs = Tabs(p, random.Random(seed), *([CARD_TOOL] if card else []))
            for _ in range(STEPS):
                await tabs.step()
            await check(tabs, shop)
            p.assert_clean()
