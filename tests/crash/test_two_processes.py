"""Two servers on one SQLite file: stopping and deleting reach what the other one is at (T7)."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate.core.approvals import State
from agui_gate.stores.base import LEASE_MS
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.tombstones import Tombstone
from agui_gate_adapters.testkit.agui.stream import apply
from tests.crash.processes import Machine, Server, machine
from tests.interop.validate import assert_valid
from tests.product.kit import TIMEOUT, Chat
from tests.product.live import Following, cancel, connecting, starting
from tests.product.shop import call, say, script, status

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
HANGS: list[Json] = [{"output": [say("word " * 9)], "fault": {"kind": "hang", "after_events": 6}}]


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path / "agui-gate.db", script(), "chain") as found:
        yield found


@asynccontextmanager
async def running(box: Machine) -> AsyncIterator[tuple[Server, Server, Chat, Following]]:
    """A run whose model hangs, in the first of two servers; the chat speaks to the second."""
    box.emulator.load(HANGS)
    async with box.server() as first, box.server() as second:
        chat = first.chat()
        async with starting(first.product, chat, "go") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            yield first, second, second.chat(chat), reader


@asynccontextmanager
async def deciding(box: Machine, *options: str) -> AsyncIterator[tuple[Server, Server, Chat, "asyncio.Task[Json]"]]:
    """An approved tool that never ends, in the first of two servers; the chat speaks to the second."""
    box.emulator.load(script(call("stall", order_id="A0")))
    async with box.server(*options) as first, box.server(*options) as second:
        chat = first.chat()
        asked = (await chat.say("do it")).interrupts[0]["id"]
        decision = asyncio.create_task(first.product.decide(asked, {"approved": True}))
        assert await first.line() == "ran stall A0"
        yield first, second, second.chat(chat), decision
        decision.cancel()
        await asyncio.gather(decision, return_exceptions=True)


async def delete(server: Server, chat: Chat) -> int:
    response = await server.product.client.delete(f"{server.product.url}/threads/{chat.thread_id}")
    return int(response.status_code)


async def tombstones(box: Machine) -> list[Tombstone]:
    store = SQLiteStore(box.store.removeprefix("sqlite:///"))
    await store.start()
    try:
        return await store.tombstones("local")
    finally:
        await store.aclose()


async def test_a_stop_reaches_the_run_of_the_other_process(box: Machine) -> None:
    async with running(box) as (_, second, chat, reader):
        begun = time.monotonic()
        assert await cancel(second.product, chat) == {"cancelled": True, "status_code": 200}
        assert time.monotonic() - begun < LEASE_MS / 1000, "it didn't wait for a lease to end"
        assert (await reader.end())[-1]["code"] == "abort"
        thread = await second.product.get(f"/threads/{chat.thread_id}")
        assert thread["run"]["status"] == "cancelled"
        assert (await cancel(second.product, chat))["message"] == "No run of this thread is active."


async def test_who_connects_elsewhere_is_told_that_a_run_goes_on_and_what_came_of_it(box: Machine) -> None:
    """No end as long as another message would be refused."""
    async with running(box) as (_, second, chat, _), connecting(second.product, chat) as other:
        await other.until("agui-gate:at_work")
        assert "RUN_FINISHED" not in other.raw
        assert (await cancel(second.product, chat))["cancelled"] is True
        told = await other.end()
        assert_valid(told.raw, resumed=True)
        assert (told[-1]["type"], told[-1]["code"]) == ("RUN_ERROR", "abort")
        thread = await second.product.get(f"/threads/{chat.thread_id}")
        assert apply([], told) == thread["messages"]


async def test_who_connects_while_the_other_process_decides_is_told_its_result(box: Machine) -> None:
    async with deciding(box) as (_, second, chat, _), connecting(second.product, chat) as other:
        await other.until("agui-gate:at_work")
        assert (await cancel(second.product, chat))["cancelled"] is True
        told = await other.end()
        assert (told[-1]["type"], told.interrupts) == ("RUN_FINISHED", [])
        (result,) = [message["content"] for message in apply([], told) if message["role"] == "tool"]
        assert status(result) == "unknown"


async def test_a_stop_reaches_the_decision_of_the_other_process(box: Machine) -> None:
    async with deciding(box) as (_, second, chat, decision):
        assert (await cancel(second.product, chat))["cancelled"] is True
        async with asyncio.timeout(TIMEOUT):
            assert (await decision)["state"] == "unknown"


async def test_deleting_stops_the_run_of_the_other_process_first(box: Machine) -> None:
    async with running(box) as (_, second, chat, reader):
        assert await delete(second, chat) == 200
        assert (await reader.end())[-1]["code"] == "abort"
        assert (await second.product.get(f"/threads/{chat.thread_id}"))["status_code"] == 404


async def test_what_the_other_process_runs_by_somebodys_approval_is_not_deleted(box: Machine) -> None:
    """Unless it is stopped, or its process is gone. Then a mark is left that says that nobody knows."""
    async with deciding(box, "impatient") as (first, second, chat, _):
        assert await delete(second, chat) == 409
        assert (await second.product.get(f"/threads/{chat.thread_id}"))["status_code"] == 200
        await first.kill()
        assert await delete(second, chat) == 200
        (tomb,) = await tombstones(box)
        assert (tomb.state, tomb.approved, tomb.way) == (State.UNKNOWN, True, "http")
