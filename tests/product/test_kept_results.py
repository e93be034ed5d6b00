"""A known result is kept: the store can't be written at the very moment a tool ends (T8).

Another process keeps the file locked, or the disk is full. The result is saved as soon as that is over, the tool runs
once, and the thread is free again at once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from agui_gate import tool
from agui_gate.stores.sqlite import SQLiteStore, database
from agui_gate.threads import lease
from tests.product.kit import TIMEOUT, Chat, Product, product
from tests.product.live import Following, starting
from tests.product.shop import call, outputs, script
from tests.requirements import shows
from tests.stores.test_processes import process

pytestmark = [pytest.mark.anyio, shows("T8")]

YES = {"approved": True}
RECEIPT = "receipt " * 50_000
"""Larger than what a full database has room for."""


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite waits for another process's lock for a moment only, so that a test sees many attempts."""
    monkeypatch.setattr(database, "BUSY_MS", 100)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "KEEP_SECONDS", 0.5)


class Shop:
    """A tool, gated or not, that ends when it is let go."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.ran: list[str] = []

    def tool(self, *, gate: bool) -> Any:
        @tool(gate=gate)
        async def pay(order_id: str) -> str:
            """Pay."""
            self.begun.set()
            await self.go.wait()
            self.ran.append(order_id)
            return RECEIPT

        return pay


@asynccontextmanager
async def paying(path: str, *, gate: bool = True) -> AsyncIterator[tuple[Product, Chat, Shop]]:
    shop = Shop(path)
    async with product([shop.tool(gate=gate)], script(call("pay", order_id="A1")), store=f"sqlite:////{path}") as p:
        yield p, p.chat(), shop


@contextmanager
def locked(p: Product, shop: Shop) -> Iterator[Callable[[], Awaitable[None]]]:
    """Another process is in the middle of writing, until it is let go."""
    with process("lock", shop.path) as writer:

        async def release() -> None:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()

        yield release


@contextmanager
def full(p: Product, shop: Shop) -> Iterator[Callable[[], Awaitable[None]]]:
    """There is no room left, until somebody makes some."""
    store: SQLiteStore = p.app.state.engine.store

    def limit(pages: int) -> None:
        store._run(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())

    async def release() -> None:
        limit(1_073_741_823)

    limit(1)  # which SQLite makes as small as the file is now
    yield release


TROUBLES = (locked, full)


@pytest.fixture
def path(tmp_path: Any) -> str:
    return str(tmp_path / "t.db")


async def ask(chat: Chat, shop: Shop) -> str:
    asked: str = (await chat.say("pay")).interrupts[0]["id"]
    return asked


@asynccontextmanager
async def approved(p: Product, chat: Chat, shop: Shop, asked: str) -> AsyncIterator[Following]:
    """Somebody said yes, and the tool is at work."""
    resume = [{"interruptId": asked, "status": "resolved", "payload": YES}]
    async with starting(p, chat, resume=resume) as reader:
        async with asyncio.timeout(TIMEOUT):
            await shop.begun.wait()
        yield reader


async def until(p: Product, path: str, *wanted: str) -> None:
    """Until the thread's run, or the approval, is in one of these states."""
    async with asyncio.timeout(60):
        while True:
            found = await p.get(path)
            if (found["run"]["status"] if "run" in found else found["state"]) in wanted:
                return


async def at_work(shop: Shop, answering: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """The task that answers, once the tool has begun because of it."""
    task = asyncio.create_task(answering)
    async with asyncio.timeout(TIMEOUT):
        await shop.begun.wait()
    return task


async def tried(seconds: float = 0.4) -> None:
    """Some attempts later. (Not for something to happen: for it not to happen meanwhile.)"""
    await asyncio.sleep(seconds)


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_result_is_saved_once_that_is_possible_and_the_run_goes_on(path: str, trouble: Any) -> None:
    async with paying(path) as (p, chat, shop):
        asked = await ask(chat, shop)
        running = await at_work(shop, chat.resume((asked, YES)))
        with trouble(p, shop) as release:
            shop.go.set()
            await tried()
            assert not running.done()
            await release()
            async with asyncio.timeout(TIMEOUT):
                stream = await running
        assert stream.text == "Done."
        assert outputs(p.inputs()[-1]) == [RECEIPT]
        assert shop.ran == ["A1"]


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_decision_out_of_band_waits_likewise(path: str, trouble: Any) -> None:
    async with paying(path) as (p, chat, shop):
        asked = await ask(chat, shop)
        deciding = await at_work(shop, p.decide(asked, YES))
        with trouble(p, shop) as release:
            shop.go.set()
            await tried()
            await release()
            async with asyncio.timeout(TIMEOUT):
                assert (await deciding)["state"] == "done"
        assert shop.ran == ["A1"]


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_the_result_of_a_free_tool_is_kept_too(path: str, trouble: Any) -> None:
    async with paying(path, gate=False) as (p, chat, shop):
        running = await at_work(shop, chat.say("pay"))
        with trouble(p, shop) as release:
            shop.go.set()
            await tried()
            await release()
            async with asyncio.timeout(TIMEOUT):
                assert (await running).text == "Done."
        assert shop.ran == ["A1"]


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_run_that_could_not_wait_says_so_and_the_next_one_tells_the_result(
    path: str, trouble: Any, impatient: None
) -> None:
    """It says that the call ran. The thread is free as soon as the store works again, not when its lease ends."""
    async with paying(path) as (p, chat, shop):
        asked = await ask(chat, shop)
        running = await at_work(shop, chat.resume((asked, YES)))
        with trouble(p, shop) as release:
            shop.go.set()
            async with asyncio.timeout(TIMEOUT):
                stream = await running
            assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "unavailable")
            assert stream[-1]["message"].startswith("pay ran, but its result could not be saved.")
            assert '"status":"unknown"' in next(iter(stream.results.values()))
            await release()
            await until(p, f"/threads/{chat.thread_id}", "failed")
        assert (await p.get(f"/approvals/{asked}"))["state"] == "done"
        again = await chat.go()
        assert list(again.results.values()) == [RECEIPT]
        assert again.text == "Done."
        assert shop.ran == ["A1"]


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_decision_that_could_not_wait_says_that_it_ran(path: str, trouble: Any, impatient: None) -> None:
    async with paying(path) as (p, chat, shop):
        asked = await ask(chat, shop)
        deciding = await at_work(shop, p.decide(asked, YES))
        with trouble(p, shop) as release:
            shop.go.set()
            async with asyncio.timeout(TIMEOUT):
                answer = await deciding
            assert (answer["status_code"], answer["state"]) == (200, "unknown")
            assert "It ran, but its result could not be saved yet." in answer["result"]
            await release()
            await until(p, f"/approvals/{asked}", "done")
        assert (await chat.go()).text == "Done."
        assert shop.ran == ["A1"]


async def test_a_stop_while_a_result_is_being_saved_does_not_lose_it(path: str) -> None:
    async with paying(path) as (p, chat, shop):
        asked = await ask(chat, shop)
        async with approved(p, chat, shop, asked) as reader:
            with locked(p, shop) as release:
                shop.go.set()
                await tried(0.2)
                stopping = asyncio.create_task(p.client.post(f"{p.url}/threads/{chat.thread_id}/cancel"))
                await tried(0.2)
                await release()
                async with asyncio.timeout(TIMEOUT):
                    assert (await stopping).json() == {"cancelled": True}
            await reader.end()
        await until(p, f"/approvals/{asked}", "done", "unknown")
        assert (await p.get(f"/approvals/{asked}"))["state"] == "done"
        assert shop.ran == ["A1"]


async def test_what_is_owed_when_the_server_ends_is_unknown_and_told(path: str, impatient: None) -> None:
    """Nobody knows it any more then. It is not run again."""
    async with paying(path) as (p, chat, shop):
        asked = await ask(chat, shop)
        running = await at_work(shop, chat.resume((asked, YES)))
        with locked(p, shop) as release:
            shop.go.set()
            async with asyncio.timeout(TIMEOUT):
                await running
                await p.app.state.engine.aclose(0.1)
            await release()
        await p.app.state.engine.start()
        assert (await p.get(f"/approvals/{asked}"))["state"] == "claimed"
        again = await chat.go()
        assert '"status":"unknown"' in next(iter(again.results.values()))
        assert shop.ran == ["A1"]


async def test_a_stop_while_the_store_is_away_is_a_stop(path: str, impatient: None) -> None:
    """The tool was cut off, and that can't be saved yet. The run says that it was stopped, and the record follows."""
    async with paying(path) as (p, chat, shop):
        asked = await ask(chat, shop)
        async with approved(p, chat, shop, asked) as reader:
            with locked(p, shop) as release:
                async with asyncio.timeout(TIMEOUT):
                    stopped = await p.client.post(f"{p.url}/threads/{chat.thread_id}/cancel")
                assert stopped.json() == {"cancelled": True}
                assert (await reader.end())[-1]["code"] == "abort"
                await release()
        await until(p, f"/approvals/{asked}", "done", "unknown")
        assert (await p.get(f"/approvals/{asked}"))["state"] == "unknown"
        assert shop.ran == []
