"""Approving, stopping and deleting raced over two servers on one file, one of which is killed now and then.

Whatever happens: no call runs twice, and none that ran leaves no trace (T7).
"""

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_gate.core.approvals import State
from agui_gate.stores.sqlite import SQLiteStore
from tests.crash.processes import Machine, Server, machine
from tests.product.kit import TIMEOUT
from tests.product.shop import call, say
from tests.support.chance import seeds

pytestmark = pytest.mark.anyio

THREADS = 16
RAN = {State.CLAIMED, State.DONE, State.FAILED, State.UNKNOWN}


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Machine]:
    asks: list[Any] = [
        {"output": [call("refund", order_id=f"A{n:02}")], "when": {"user": f"refund-{n:02}"}} for n in range(THREADS)
    ]
    script = [*asks, {"output": [say("Done.")], "repeat": True}]
    async with machine(tmp_path / "agui-gate.db", script, "chain") as found:
        yield found


class Pair:
    """Two servers; a killed one is followed by another. ``said``: what those said that were killed."""

    def __init__(self, box: Machine, stack: AsyncExitStack) -> None:
        self._box, self._stack = box, stack
        self.servers: list[Server] = []
        self.said: list[str] = []

    async def start(self) -> None:
        self.servers.append(await self._stack.enter_async_context(self._box.server()))

    async def kill(self) -> None:
        victim = self.servers.pop(0)
        await victim.kill()
        self.said += await victim.rest()


async def anything(pair: Pair, chance: random.Random, thread: str, asked: str) -> None:
    """One thing that somebody does, on one of the servers. It may be refused, or cut off."""
    url = chance.choice(pair.servers).product.url
    client = pair.servers[0].product.client
    doors: list[tuple[str, str, Any]] = [
        ("POST", f"/approvals/{asked}", {"approved": True}),
        ("POST", f"/threads/{thread}/cancel", {}),
        ("DELETE", f"/threads/{thread}", None),
        ("DELETE", f"/copilotkit/threads/{thread}", None),
    ]
    method, path, body = chance.choice([doors[0], *doors])
    try:
        response = await client.request(method, url + path, json=body)
    except httpx2.HTTPError:
        return  # its server was killed
    assert response.status_code < 500, response.text


async def one(pair: Pair, chance: random.Random, number: int) -> None:
    """One thread: a call is asked for, and then everything happens at once."""
    chat = chance.choice(pair.servers).chat()
    asked = (await chat.say(f"refund-{number:02}")).interrupts[0]["id"]
    acts = [anything(pair, chance, chat.thread_id, asked) for _ in range(chance.randint(2, 5))]
    if chance.random() < 0.3:
        await asyncio.gather(*acts, pair.kill(), pair.start())
    else:
        await asyncio.gather(*acts)


@pytest.mark.parametrize("seed", seeds(2))
async def test_nothing_runs_twice_and_what_ran_leaves_a_trace(box: Machine, seed: int) -> None:
    chance = random.Random(seed)
    async with AsyncExitStack() as stack:
        pair = Pair(box, stack)
        await pair.start()
        await pair.start()
        async with asyncio.timeout(6 * TIMEOUT):
            for number in range(THREADS):
                await one(pair, chance, number)
            while pair.servers:
                await pair.kill()
    ran = Counter(line.rpartition(" ")[2] for line in pair.said if line.startswith("ran "))
    assert set(ran.values()) == {1}
    assert set(ran) <= await traced(box)


async def traced(box: Machine) -> set[str]:
    """The orders of which the store says that they were refunded, or may have been."""
    store = SQLiteStore(box.store.removeprefix("sqlite:///"))
    await store.start()
    try:
        left = {t.arguments_digest for t in await store.tombstones("local", limit=1000) if t.state in RAN}
        page = await store.list_approvals("local", limit=1000, which="decided")
        left |= {hashlib.sha256(a.arguments.encode()).hexdigest() for a in page.approvals if a.state in RAN}
        names = {hashlib.sha256(f'{{"order_id":"A{n:02}"}}'.encode()).hexdigest(): f"A{n:02}" for n in range(THREADS)}
        return {names[digest] for digest in left}
    finally:
        await store.aclose()
