"""After a backup was restored here, while the agent elsewhere remembers all of it: no old answer tells it anything."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate.stores.memory import MemoryStore
from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.agui import AGUIClient, connecting
from tests.product.shop import Shop, refund, say
from tests.remote.kit import behind, in_front, status
from tests.remote.test_in_teams import ENDS, TASK, firm, turn
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("K2")]

YES = {"approved": True}
places = pytest.mark.parametrize("task", [False, True], ids=["entry", "task"])


class Two:
    """A server here, whose store is restored, and the one elsewhere."""

    def __init__(self, chat: AGUIClient, front: str, back: str, http: Any) -> None:
        self.chat, self.front, self.back, self.http = chat, front, back, http

    async def decide(self, at: str, approval_id: str) -> Any:
        return (await self.http.post(f"{at}/approvals/{approval_id}", json=YES)).json()["state"]

    async def states(self) -> list[str]:
        return [
            record["state"] for record in (await self.http.get(f"{self.front}/approvals?state=all")).json()["approvals"]
        ]


@asynccontextmanager
async def two(shop: Shop, store: Any, *, task: bool) -> AsyncIterator[Two]:
    model = Emulator(script=[turn(refund("A1")), turn(say("That was it."), repeat=True)])
    async with behind(model, shop.tools) as back:
        expert = f"{back}/agents/expert"
        if task:
            async with firm(expert, [turn(TASK), ENDS], store=store) as f:
                yield Two(f.chat(), f.front, back, f.http)
        else:
            async with in_front(expert, store=store) as front, connecting() as http:
                yield Two(AGUIClient(http, front), front, back, http)
    assert not model.refusals


@places
@pytest.mark.parametrize("ran", [False, True])
async def test_a_question_of_theirs_is_asked_again_and_answered_once(task: bool, ran: bool) -> None:
    """Also where it was answered there since: then the yes comes too late to run anything."""
    shop, store = Shop(), MemoryStore()
    async with two(shop, store, task=task) as t:
        (old,) = (await t.chat.say("refund A1")).interrupts
        if ran:
            (theirs,) = (await t.http.get(f"{t.back}/approvals")).json()["approvals"]
            assert await t.decide(t.back, theirs["id"]) == "done"
        await store.begin_epoch()
        (new,) = (await t.chat.resume((old["id"], YES))).interrupts
        assert (new["id"] != old["id"], shop.orders) == (True, ["A1"] if ran else [])
        done = await t.chat.resume((new["id"], YES))
        assert (done.text.startswith("That was it."), shop.orders) == (True, ["A1"])
        assert await t.states() == ["done"]


@places
async def test_a_yes_that_was_to_be_passed_on_is_not(task: bool) -> None:
    """Nobody knows whether it was since. They ask again, as nobody has answered."""
    shop, store = Shop(), MemoryStore()
    async with two(shop, store, task=task) as t:
        (old,) = (await t.chat.say("refund A1")).interrupts
        assert await t.decide(t.front, old["id"]) == "claimed"
        await store.begin_epoch()
        again = await t.chat.go()
        assert (status(again.results[old["toolCallId"]]), shop.orders) == ("unknown", [])
        (new,) = again.interrupts
        assert (await t.chat.resume((new["id"], YES))).text.startswith("That was it.")
        assert (shop.orders, await t.states()) == (["A1"], ["done", "unknown"])
