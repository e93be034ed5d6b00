"""The drill of docs/operations.md#restoring-a-backup, from outside."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.stores import open_store
from agui_gate_adapters.testkit import Emulator
from tests.product import drill
from tests.product.drill import YES, Place, run, server
from tests.product.shop import Shop, refund, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("K2")]


@pytest.fixture(params=drill.KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with drill.at(request.param, request, tmp_path) as made:
        yield made


@pytest.mark.parametrize("cards", [False, True])
async def test_what_ran_since_the_backup_does_not_run_again(place: Place, cards: bool) -> None:
    assert "asked again: 1." in await drill.what_ran_since_does_not_run_again(place, cards=cards)
    trail = await asyncio.to_thread(run, "audit", "export", "--store", place.url)
    assert trail.count('"kind":"restored"') == 1


async def test_a_backup_that_was_made_while_the_call_was_at_work(place: Place) -> None:
    """It ended since, and nobody knows that now: it is unknown, and the model is told so."""
    shop, emulator = Shop(), Emulator(script=script(refund()))
    serve = server(shop, emulator, place)
    async with serve() as p:
        chat = p.chat()
        await chat.say("refund A1")
        (before,) = (await p.get("/approvals"))["approvals"]
    await claim(place.url, before["id"])
    await asyncio.to_thread(place.back_up)
    await asyncio.to_thread(place.restore)
    assert "not run: 1." in await asyncio.to_thread(drill.migrate, place.url)
    async with serve() as p:
        chat.product, chat.url = p, p.url
        after = await chat.resume((before["id"], YES))
        assert (after.text, shop.orders) == ("Done.", [])
        record = await p.get(f"/approvals/{before['id']}")
        assert (record["state"], "backup" in record["result"]) == ("unknown", True)
        p.assert_clean()


async def claim(url: str, approval_id: str) -> None:
    """As a process does that is about to run the tool."""
    store = open_store(url)
    await store.start()
    await store.move(approval_id, State.CLAIMED, decision=Decision(True, "local", way="resume"))
    await store.aclose()
