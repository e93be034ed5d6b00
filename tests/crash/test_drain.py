"""A server that is told to stop lets what is in flight come to its end, takes nothing new, and waits no longer than it
was told to.
"""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_gate import ToolContext, tool
from agui_gate.cli.server import uvicorn_server
from agui_gate.config.settings import Settings
from tests.crash.ground import on_sqlite
from tests.crash.nursery import Nursery, Replica
from tests.crash.rolling import Rolling, rolling
from tests.crash.world import World, orders_of, world
from tests.product.kit import TIMEOUT, Chat, Product, product
from tests.product.live import Following, starting
from tests.product.shop import call, say
from tests.requirements import shows
from tests.support.servers import Postgres

pytestmark = [pytest.mark.anyio, shows("S30")]

Json = dict[str, Any]
YES = {"approved": True}
ROOT = Path(__file__).resolve().parents[2]
ORDERS = {
    "order A1": orders_of(("wait", "A1")),
    "order A2": orders_of(("wait_here", "A2")),
    "order A3": orders_of(("refund", "A3")),
}


class Stopping:
    """A server with two approved calls in flight, one by POST and one in a run, and a third that waits."""

    def __init__(self, found: World, replica: Replica, door: Path) -> None:
        self.world, self.replica, self.door = found, replica, door
        self.product = Product(found.emulator, None, replica.url, found.client)

    async def asks(self, order: str) -> tuple[Chat, str]:
        """A thread in which a call waits for somebody."""
        chat = self.product.chat()
        (interrupt,) = (await chat.say(f"order {order}")).interrupts
        return chat, interrupt["id"]

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait for that."""
        async with asyncio.timeout(TIMEOUT):
            while not await holds():
                pass

    async def is_not_ready(self) -> bool:
        """What a load balancer sees, on a connection of its own."""
        async with httpx2.AsyncClient(trust_env=False, timeout=TIMEOUT) as client:
            return (await client.get(f"{self.replica.url}/readyz")).status_code == 503

    async def at_work(self, number: int) -> bool:
        """Whether so many tools have begun."""
        await self.product.get("/healthz")
        return len(self.world.ran()) == number


@asynccontextmanager
async def stopping(home: Nursery, folder: Path, **more: Any) -> AsyncIterator[Stopping]:
    """Such a server, on SQLite."""
    door = folder / "door"
    os.mkfifo(door)
    async with world(home, folder, on_sqlite(folder), ORDERS) as found:
        yield Stopping(found, found.replica(door=str(door), **more), door)


@asynccontextmanager
async def two_in_flight(s: Stopping) -> AsyncIterator[tuple["asyncio.Task[Json]", Following, str]]:
    """The decision of one, the stream of the other, and the id of the third."""
    _, first = await s.asks("A1")
    chat, second = await s.asks("A2")
    _, third = await s.asks("A3")
    deciding = asyncio.ensure_future(s.product.decide(first, YES))
    async with AsyncExitStack() as exits:
        answer = [{"interruptId": second, "status": "resolved", "payload": YES}]
        run = await exits.enter_async_context(starting(s.product, chat, resume=answer))
        await s.until(lambda: s.at_work(2))
        yield deciding, run, third


async def noted(home: Nursery, after: int) -> bool:
    """Whether a server has said, in its terminal, that it waits."""
    await asyncio.sleep(0)
    return "Press Ctrl-C again" in home.log.read_text()[after:]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_what_was_approved_runs_to_its_end_and_nothing_new_begins(
    replicas: Nursery, tmp_path: Path, number: signal.Signals
) -> None:
    async with stopping(replicas, tmp_path, drain=10 * TIMEOUT) as s, two_in_flight(s) as (deciding, run, third):
        said = len(replicas.log.read_text())
        s.replica.signal(number)
        await s.until(s.is_not_ready)
        body = s.product.chat().body()
        refused = [
            await s.product.client.post(f"{s.product.url}/", json=body),
            await s.product.client.post(f"{s.product.url}/approvals/{third}", json=YES),
            await s.product.client.get(f"{s.product.url}/approvals/events"),
        ]
        for answer in refused:
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) > 0
        assert (await s.product.get(f"/approvals/{third}"))["state"] == "pending"
        assert not deciding.done()
        if number is signal.SIGINT:  # a person is told within a tenth of a second what is waited for
            await s.until(partial(noted, replicas, said))
        await asyncio.to_thread(s.door.write_bytes, b"")
        decided, stream = await deciding, await run.end()
        await s.replica.gone()
        assert (decided["status_code"], decided["state"]) == (200, "done")
        assert (stream[-1]["type"], stream.text) == ("RUN_FINISHED", "Done.")
        assert list(stream.results.values()) == ["refunded A2"]
        assert await noted(replicas, said) is (number is signal.SIGINT)


async def test_a_second_signal_stops_at_once(replicas: Nursery, tmp_path: Path) -> None:
    async with stopping(replicas, tmp_path, drain=10 * TIMEOUT) as s, two_in_flight(s) as (deciding, run, _):
        s.replica.signal(signal.SIGTERM)
        await s.until(s.is_not_ready)
        s.replica.signal(signal.SIGTERM)
        decided, stream = await deciding, await run.end()
        await asyncio.to_thread(s.door.write_bytes, b"")  # no process ends before asyncio's own threads have
        await s.replica.gone()
        assert decided["state"] == "unknown"
        assert stream[-1]["type"] == "RUN_ERROR"


async def test_a_terminal_that_closes_says_so_twice_and_that_is_no_second_signal(
    replicas: Nursery, tmp_path: Path
) -> None:
    async with stopping(replicas, tmp_path, drain=10 * TIMEOUT) as s, two_in_flight(s) as (deciding, run, _):
        s.replica.signal(signal.SIGHUP)
        await s.until(s.is_not_ready)
        s.replica.signal(signal.SIGHUP)
        await s.until(s.is_not_ready)
        await asyncio.to_thread(s.door.write_bytes, b"")
        assert (await deciding)["state"] == "done"
        assert (await run.end())[-1]["type"] == "RUN_FINISHED"
        await s.replica.gone()


async def test_what_takes_longer_than_that_is_stopped_and_told(replicas: Nursery, tmp_path: Path) -> None:
    async with stopping(replicas, tmp_path, drain=0.1) as s, two_in_flight(s) as (deciding, run, _):
        s.replica.signal(signal.SIGTERM)
        decided, stream = await deciding, await run.end()
        await asyncio.to_thread(s.door.write_bytes, b"")  # no process ends before asyncio's own threads have
        await s.replica.gone()
        assert decided["state"] == "unknown"
        assert stream[-1]["type"] == "RUN_ERROR"


async def test_where_nothing_is_in_flight_nobody_waits(replicas: Nursery, tmp_path: Path) -> None:
    async with stopping(replicas, tmp_path, drain=10 * TIMEOUT) as s:
        await s.asks("A1")  # a person who is asked is nothing in flight
        s.replica.signal(signal.SIGINT)
        await s.replica.gone()


async def test_other_hosts_wait_at_the_end_of_the_lifespan() -> None:
    """They have cut the connections by then, or let them go on to their end."""
    begun, release = asyncio.Event(), asyncio.Event()

    @tool(gate=True)
    async def pay(ctx: ToolContext) -> str:
        """Pay."""
        begun.set()
        await release.wait()
        return "paid"

    paid = {"when": {"has_output_for": "pay"}, "output": [say("Paid.")], "repeat": True}
    script = [paid, {"output": [call("pay")], "repeat": True}]
    async with product([pay], script, settings=Settings(disconnect_grace=0.001)) as p:
        engine = p.app.state.engine
        (chat, by_run), (_, by_post) = await _asked(p), await _asked(p)
        yes = [{"interruptId": by_run, "status": "resolved", "payload": YES}]
        async with starting(p, chat, resume=yes):
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
            deciding = asyncio.ensure_future(engine.decide("local", by_post, YES))
            await _until(lambda: bool(engine._decisions.working.keys))
            draining = asyncio.ensure_future(engine.drain(10 * TIMEOUT))
            await _until(lambda: engine.following("local", chat.thread_id).is_draining)
        live = engine.following("local", chat.thread_id)
        async with asyncio.timeout(TIMEOUT):
            await _until(lambda: live.alone)  # its reader was cut off, and the grace has begun
            for _ in range(3):
                live._stop_alone()
            assert not draining.done()
            release.set()
            await draining
        assert (await deciding).record.state == "done"
        assert (await p.get(f"/approvals/{by_run}"))["state"] == "done"


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 nobody tells
        await asyncio.sleep(0)


async def _asked(p: Product) -> tuple[Chat, str]:
    chat = p.chat()
    return chat, (await chat.say("go")).interrupts[0]["id"]


async def test_rolling_restarts_lose_nothing(
    replicas: Nursery, postgres: Postgres, database: str, tmp_path: Path
) -> None:
    """`python -m tests.crash.rolling` has 50 of them, with a tool that takes 20 seconds."""
    report = await rolling(replicas, postgres, database, tmp_path, Rolling(restarts=6, tool_ms=400, customers=6))
    assert report.broken == []
    assert report.done > 6, "there was work all the time"


def test_what_starts_replicas_gives_them_more_time_than_they_take() -> None:
    needed = Settings().drain_seconds + uvicorn_server.END_SECONDS + uvicorn_server.GRACE_SECONDS
    places = {
        "examples/replicas/compose.yaml": r"stop_grace_period: (\d+)s",
        "examples/replicas/agui-gate.service": r"TimeoutStopSec=(\d+)",
        "examples/replicas/local.py": r"STOP_SECONDS = (\d+)",
        "examples/replicas/nginx.conf": r"worker_shutdown_timeout (\d+)s",
        "examples/kubernetes/deployment.yaml": r"terminationGracePeriodSeconds: (\d+)",
        "docs/operations.md": r"terminationGracePeriodSeconds: (\d+)",
    }
    given = {path: re.findall(pattern, (ROOT / path).read_text()) for path, pattern in places.items()}
    assert all(given.values()), given
    assert all(float(seconds) > needed for found in given.values() for seconds in found), given
