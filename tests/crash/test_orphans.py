"""`kill -9` while an approved tool runs, and then nobody asks: who is left settles the call, once, and says so."""

import asyncio
import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_gate.stores import open_store
from tests.crash.ground import Ground
from tests.crash.nursery import Nursery, Replica
from tests.crash.world import World, orders_of, world
from tests.product.kit import TIMEOUT, Chat, Product
from tests.product.live import connect
from tests.product.shop import status
from tests.product.test_approval_events import Watching, watching
from tests.requirements import shows

pytestmark = [
    pytest.mark.anyio,
    shows("B9"),
    pytest.mark.parametrize("ground", ["sqlite", "postgres"], indirect=True),
]

Json = dict[str, Any]
ORDERS = {
    "order A1": orders_of(("stall", "ORDER-A1")),
    "order A4": orders_of(("stall_again", "ORDER-A4")),
    "order A2": orders_of(("stall", "ORDER-A2"), ("refund", "ORDER-A3")),
}


def at(found: World, replica: Replica) -> Product:
    return Product(found.emulator, None, replica.url, found.client)


async def approved_and_killed(
    found: World, ground: Ground, first: Replica, text: str, seen: Watching | None = None
) -> tuple[Chat, str, str]:
    """A chat whose first call is at work in a process that dies; the ids of its approval and of the call.

    ``seen`` has told that it waits before it is approved.
    """
    chat = at(found, first).chat()
    asked = (await chat.say(text)).interrupts[0]
    if seen is not None:
        await until(seen, asked["id"], "pending")
    deciding = asyncio.ensure_future(chat.product.decide(asked["id"], {"approved": True}))
    async with asyncio.timeout(TIMEOUT):
        while not found.ran():
            await chat.product.get("/healthz")
    await first.kill()
    with contextlib.suppress(httpx2.HTTPError):
        await deciding
    ground.lapse()
    return chat, asked["id"], asked["toolCallId"]


async def until(seen: Watching, approval_id: str, state: str) -> Json:
    """The record that says so; nothing is asked of the server for it."""
    while True:
        _, told = await seen.next()
        if told.get("id") == approval_id and told.get("state") == state:
            return dict(told)


async def events(url: str, approval_id: str) -> list[str]:
    store = open_store(url)
    await store.start()
    try:
        page = await store.read_events(limit=100)
        return [event.kind for event in page.events if event.approval_id == approval_id]
    finally:
        await store.aclose()


def said(found: World, approval_id: str, skip: int) -> list[str]:
    """The lines that the servers have logged about the approval."""
    return [line for line in found.log()[skip:].splitlines() if approval_id in line]


async def told_by_all(found: World, chat: Chat, ids: tuple[str, str], elsewhere: Product) -> None:
    """What the lists, the thread and the asker's next run say."""
    approval_id, call_id = ids
    (listed,) = (await elsewhere.get("/approvals?state=unknown"))["approvals"]
    assert (listed["id"], status(listed["result"])) == (approval_id, "unknown")
    assert (await elsewhere.get("/approvals?state=claimed"))["approvals"] == []
    (call,) = (await elsewhere.get(f"/threads/{chat.thread_id}?view=calls"))["calls"]
    assert call["state"] == "unknown"
    shown = await connect(elsewhere, chat)
    assert (shown[-1]["type"], shown[-1].get("code")) == ("RUN_ERROR", "interrupted")
    chat.product = elsewhere
    chat.url = elsewhere.url
    done = await chat.go()
    assert (done.text, status(done.results[call_id])) == ("Done.", "unknown")
    assert len(found.ran()) == 1


async def test_the_others_settle_it_once_and_tell_everybody(ground: Ground, replicas: Nursery, tmp_path: Path) -> None:
    async with world(replicas, tmp_path, ground, ORDERS) as found:
        skip = len(found.log())
        first, *others = (found.replica(settles=number > 0) for number in range(3))
        async with watching(at(found, others[0])) as seen:
            chat, approval_id, call_id = await approved_and_killed(found, ground, first, "order A1", seen)
            record = await until(seen, approval_id, "unknown")
        assert record["decision"]["approved"] is True
        assert Counter(await events(ground.url, approval_id))["unknown"] == 1
        lines = said(found, approval_id, skip)
        for line, event in zip(lines, ("event=orphaned", "event=outcome_unknown"), strict=True):
            assert all(word in line for word in (event, "WARNING", chat.thread_id, "stall"))
            assert "ORDER-A1" not in line
        await told_by_all(found, chat, (approval_id, call_id), at(found, others[1]))


@pytest.mark.parametrize("text", ["order A1", "order A4"])
async def test_so_does_the_server_that_is_started_again(
    ground: Ground, replicas: Nursery, tmp_path: Path, text: str
) -> None:
    """Also a call of an idempotent tool: nothing runs that again then, and everybody is told so."""
    async with world(replicas, tmp_path, ground, ORDERS) as found:
        chat, approval_id, call_id = await approved_and_killed(found, ground, found.replica(), text)
        second = found.replica(settles=True)
        async with asyncio.timeout(TIMEOUT):
            while "unknown" not in await events(ground.url, approval_id):
                pass
        await told_by_all(found, chat, (approval_id, call_id), at(found, second))


async def test_a_stream_that_is_opened_after_the_crash_tells_of_it(
    ground: Ground, replicas: Nursery, tmp_path: Path
) -> None:
    async with world(replicas, tmp_path, ground, ORDERS) as found:
        _, approval_id, _ = await approved_and_killed(found, ground, found.replica(), "order A1")
        reader = found.replica()
        (listed,) = (await at(found, reader).get("/approvals?state=claimed"))["approvals"]
        assert listed["id"] == approval_id
        async with watching(at(found, reader)) as seen:
            assert await seen.next() == ("waiting", {"ids": []})
            found.replica(settles=True)
            await until(seen, approval_id, "unknown")


async def test_what_still_waits_on_the_thread_waits(ground: Ground, replicas: Nursery, tmp_path: Path) -> None:
    async with world(replicas, tmp_path, ground, ORDERS) as found:
        others = found.replica(settles=True)
        async with watching(at(found, others)) as seen:
            chat, approval_id, _ = await approved_and_killed(found, ground, found.replica(), "order A2", seen)
            await until(seen, approval_id, "unknown")
        (waiting,) = (await at(found, others).get("/approvals"))["approvals"]
        assert waiting["tool"] == "refund"
        assert (await at(found, others).decide(waiting["id"], {"approved": True}))["state"] == "done"
        thread = await at(found, others).get(f"/threads/{chat.thread_id}")
        assert [call["state"] for call in thread["calls"]] == ["unknown", "done"]
