"""Two neighbouring versions on one PostgreSQL: a rolling upgrade, and one that is taken back (B5, B6, B17, B18).

Both are in server processes of their own. The older one is this tree; the newer one is this tree with what a next
version would bring, and writes what this tree doesn't know (`newer`).
"""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from agui_gate.stores.postgres import schema
from tests.crash.ground import Ground, on_postgres
from tests.crash.nursery import ROOT, Nursery, Replica, nursery
from tests.crash.trail import trail
from tests.crash.world import World, orders_of, world
from tests.product.kit import TIMEOUT, Chat, Product, streamed
from tests.product.live import connect, resuming, starting
from tests.product.shop import status
from tests.replicas.balancer import balancing
from tests.replicas.place import moved
from tests.requirements import shows
from tests.support.servers import Postgres, Valkey

pytestmark = [pytest.mark.anyio, shows("B5", "B6", "B17", "B18")]

Json = dict[str, Any]
YES, NO, LATER = {"approved": True}, {"approved": False}, {"approved": False, "reason": "later"}
ORDERS = {
    **{f"order {order}": orders_of(("refund", order)) for order in ("A1", "A2", "A3", "A4", "A5")},
    "order B1": orders_of(("wait", "B1")),
    "order C1": orders_of(("stall", "C1")),
    "look": orders_of(("look", "L1")),
}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Nursery, Nursery]]:
    """Where replicas of each version come from."""
    logs = tmp_path_factory.mktemp("logs")
    with nursery(logs / "older") as older, nursery(logs / "newer", ahead=1) as newer:
        yield older, newer


@dataclass
class Upgrade:
    """A store with replicas of both versions."""

    ground: Ground
    postgres: Postgres
    bus: str | None
    older_world: World
    newer_world: World
    door: Path

    async def older(self) -> Product:
        """A replica of this tree, which is ready."""
        return await self._begun(self.older_world, "older")

    async def newer(self) -> Product:
        """One of the next version."""
        return await self._begun(self.newer_world, "newer")

    async def _begun(self, world: World, name: str) -> Product:
        replica: Replica = world.replica(machine=name, bus=self.bus, door=str(self.door))
        p = Product(world.emulator, None, replica.url, world.client)
        async with asyncio.timeout(TIMEOUT):
            while await ready(p) != 200:
                pass
        return p

    def ran(self) -> Counter[str]:
        """How often each order took effect."""
        return Counter(effect.order for effect in self.older_world.ran())

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What is in the database."""
        return self.postgres.execute(statement, self.ground.url.rpartition("/")[2])

    async def until(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        """Wait until that is in the database."""
        async with asyncio.timeout(TIMEOUT):
            while await asyncio.to_thread(self.rows, statement) != rows:
                pass

    def version(self) -> tuple[int, int]:
        """Of the tables, and the oldest that can work with them."""
        ((version, oldest),) = self.rows("SELECT version, oldest_reader FROM agui_schema")
        return version, oldest

    def written(self, chat: Chat) -> list[tuple[Any, ...]]:
        """All that is kept of a thread, but for what its lease leaves behind."""
        key = f"(SELECT key FROM threads WHERE id = '{chat.thread_id}')"
        return [
            row
            for table, of in (("threads", "key"), ("journal", "thread"), ("approvals", "thread"))
            for row in self.rows(f"SELECT to_jsonb(t) - 'lease_until' FROM {table} AS t WHERE {of} = {key} ORDER BY 1")
        ]


@pytest.fixture(params=["postgres", "valkey"])
async def upgrade(
    request: pytest.FixtureRequest,
    homes: tuple[Nursery, Nursery],
    postgres: Postgres,
    database: str,
    tmp_path: Path,
) -> AsyncIterator[Upgrade]:
    """Without a replica. The bus is the database, or Valkey."""
    valkey: Valkey | None = request.getfixturevalue("valkey") if request.param == "valkey" else None
    ground, door = on_postgres(postgres, database), tmp_path / "door"
    os.mkfifo(door)
    async with world(homes[0], tmp_path, ground, ORDERS) as found:
        try:
            yield Upgrade(ground, postgres, valkey.url if valkey else None, found, found.of(homes[1]), door)
        finally:
            await homes[1].empty()


on_postgres_alone = pytest.mark.parametrize("upgrade", ["postgres"], indirect=True)


async def ready(p: Product) -> int:
    return (await p.client.get(f"{p.url}/readyz")).status_code


async def asks(p: Product, order: str) -> tuple[Chat, str]:
    """A thread in which a call waits for somebody."""
    chat = p.chat()
    (interrupt,) = (await chat.say(f"order {order}")).interrupts
    return chat, interrupt["id"]


async def test_the_newer_one_migrates_while_the_older_one_serves(upgrade: Upgrade) -> None:
    older = await upgrade.older()
    assert upgrade.version() == (schema.known(), schema.OLDEST_READER)
    _, before = await asks(older, "A1")
    chat, waits = await asks(older, "B1")
    answer = [{"interruptId": waits, "status": "resolved", "payload": YES}]
    async with starting(older, chat, resume=answer) as run:
        async with asyncio.timeout(TIMEOUT):
            while not upgrade.ran():
                await older.get("/healthz")
        newer = await upgrade.newer()
        assert upgrade.version() == (schema.known() + 1, schema.OLDEST_READER)
        async with resuming(newer, run.run_key) as reader:
            await reader.until("RUN_STARTED")
            busy = await newer.post("/", moved(chat, newer).body())
            assert (busy.status, busy[0]["error"]["code"]) == (409, "thread_busy")
            await asyncio.to_thread(upgrade.door.write_bytes, b"")
            assert (await run.end()).text == "Done."
            await reader.end()
    assert reader.frames == run.frames
    _, after = await asks(newer, "A2")
    for approval_id, elsewhere, back in ((before, newer, older), (after, older, newer)):
        assert (await elsewhere.decide(approval_id, YES))["state"] == "done"
        late = await back.decide(approval_id, NO)
        assert (late["status_code"], late["state"]) == (409, "done")
    assert upgrade.ran() == {"B1": 1, "A1": 1, "A2": 1}
    assert await ready(older) == 200


async def test_each_request_of_a_conversation_comes_to_the_other_version(upgrade: Upgrade) -> None:
    older, newer = await upgrade.older(), await upgrade.newer()
    both = (older, newer)
    chats = []
    async with balancing([urlsplit(p.url).port or 0 for p in both]) as balancer:
        front = Product(older.emulator, None, balancer.url, older.client)
        for order in ("A1", "A2"):
            chat = front.chat()
            assert (await chat.say("hello")).text == "Done."
            asked = await chat.say(f"order {order}")
            assert (await chat.resume((asked.interrupts[0]["id"], YES))).text == "Done."
            assert (await chat.say("thanks")).text == "Done."
            await front.get("/healthz")  # so that the next conversation begins with the other one
            chats.append(chat)
        assert set(balancer.served.values()) == {5}
    assert upgrade.ran() == {"A1": 1, "A2": 1}
    assert upgrade.rows("SELECT weight FROM approvals ORDER BY seq") == [("heavy",), ("light",)]
    for chat in chats:
        moods = 'SELECT sum(regexp_count(body, \'"mood":"curious"\')) FROM journal'
        (told,) = {str((await p.get(f"/threads/{chat.thread_id}"))["messages"]) for p in both}
        assert all(str(message["id"]) in told for message in chat.messages)
        kept = upgrade.rows(moods)
        again = moved(chat, older)
        del again.messages[-1]
        assert (await again.go()).text == "Done.", "the last answer anew: what stands before it stays"
        assert upgrade.rows(moods) == kept
        shown = [(await p.get(f"/threads/{chat.thread_id}"))["messages"] for p in both]
        assert streamed(shown[0]) == streamed(shown[1]) == streamed(again.messages)
    older.assert_clean()


@on_postgres_alone
async def test_a_thread_that_only_the_newer_one_can_read_is_refused_alone_and_left_as_it_is(upgrade: Upgrade) -> None:
    older, newer = await upgrade.older(), await upgrade.newer()
    chat = newer.chat()
    assert (await chat.say("look")).text == "Done."
    (ask,) = (await chat.say("order A1")).interrupts
    other, _ = await asks(newer, "A2")
    before = upgrade.written(chat)
    here = moved(chat, older)
    refusals = [
        await here.go(),
        await here.resume((ask["id"], YES)),
        await older.post("/agents/support/connect", here.body()),
    ]
    assert [(found.status, found[0]["error"]["code"]) for found in refusals] == [(503, "unavailable")] * 3
    for found in (await older.get(f"/threads/{chat.thread_id}"), await older.decide(ask["id"], YES)):
        assert (found["status_code"], found["error"]["code"]) == (503, "unavailable")
        assert "this version of agui-gate can't read safely" in found["error"]["message"]
    assert (upgrade.ran(), upgrade.written(chat)) == ({}, before)
    assert {thread["id"] for thread in (await older.get("/threads"))["threads"]} == {chat.thread_id, other.thread_id}
    assert (await moved(other, older).say("thanks"))[-1]["type"] == "RUN_FINISHED"
    assert (await newer.decide(ask["id"], YES))["state"] == "done"
    assert (await chat.say("thanks")).text == "Done."
    assert upgrade.ran() == {"A1": 1}


@on_postgres_alone
async def test_a_state_that_only_the_newer_one_knows_is_never_acted_on_by_the_older_one(upgrade: Upgrade) -> None:
    older, newer = await upgrade.older(), await upgrade.newer()
    chat, waits = await asks(newer, "A1")
    assert (await newer.decide(waits, LATER))["state"] == "snoozed"
    before = upgrade.rows("SELECT to_jsonb(a) FROM approvals AS a")
    assert (await older.get(f"/approvals/{waits}"))["state"] == "unknown"
    for answer in (YES, NO, LATER):
        late = await older.decide(waits, answer)
        assert (late["status_code"], late["state"]) == (409, "unknown")
    here = moved(chat, older)
    resumed = await here.resume((waits, YES))
    assert {status(result) for result in resumed.results.values()} == {"unknown"}
    assert (await here.say("thanks")).text == "Done."
    assert (upgrade.ran(), upgrade.rows("SELECT to_jsonb(a) FROM approvals AS a")) == ({}, before)
    assert (await newer.get(f"/approvals/{waits}"))["state"] == "snoozed"
    assert (await newer.decide(waits, YES))["state"] == "done"
    assert (await older.get(f"/approvals/{waits}"))["state"] == "done"
    assert upgrade.ran() == {"A1": 1}
    told = await trail(upgrade.ground.url, {waits: "done"})
    assert told.broken == [], "this tree checks what the other one wrote"
    assert told.events["snoozed"] == 1


@on_postgres_alone
async def test_an_upgrade_that_is_taken_back_and_made_again(upgrade: Upgrade) -> None:
    newer = await upgrade.newer()
    done, first = await asks(newer, "A1")
    await newer.decide(first, YES)
    pending, waits = await asks(newer, "A2")
    _, snoozed = await asks(newer, "A3")
    claimed, stalls = await asks(newer, "C1")
    deciding = asyncio.ensure_future(newer.decide(stalls, YES))
    async with asyncio.timeout(TIMEOUT):
        while "C1" not in upgrade.ran():
            await newer.get("/healthz")
    with psycopg.connect(upgrade.ground.url) as connection:  # as long as that is locked, nobody tells of it
        connection.execute("LOCK TABLE outbox_taker")
        await newer.decide(snoozed, LATER)
        await upgrade.newer_world.home.empty()
    assert isinstance((await asyncio.gather(deciding, return_exceptions=True))[0], Exception)
    upgrade.ground.lapse()

    older = await upgrade.older()
    assert upgrade.version() == (schema.known() + 1, schema.OLDEST_READER)
    assert (await moved(done, older).say("thanks")).text == "Done."
    assert (await older.decide(waits, YES))["state"] == "done"
    told = await moved(claimed, older).go()
    assert [status(result) for result in told.results.values()] == ["unknown"]
    asked, new = await asks(older, "A4")
    await upgrade.until("SELECT DISTINCT kind FROM outbox", [("snooze",)])
    shown = {c.thread_id: await older.get(f"/threads/{c.thread_id}") for c in (done, pending, claimed, asked)}
    await upgrade.older_world.home.empty()

    newer = await upgrade.newer()
    for thread_id, seen in shown.items():
        assert (await newer.get(f"/threads/{thread_id}"))["messages"] == seen["messages"]
    for approval_id in (snoozed, new):
        assert (await newer.decide(approval_id, YES))["state"] == "done"
    assert (await connect(newer, asked))[-1]["type"] == "RUN_FINISHED"
    await upgrade.until("SELECT kind FROM outbox", [])
    assert upgrade.ran() == {"A1": 1, "A2": 1, "A3": 1, "A4": 1, "C1": 1}
    assert upgrade.rows("SELECT DISTINCT weight FROM approvals WHERE arguments LIKE '%A4%'") == [("light",)]
    assert upgrade.rows("SELECT DISTINCT weight FROM approvals WHERE arguments NOT LIKE '%A4%'") == [("heavy",)]


@on_postgres_alone
async def test_tables_that_the_older_one_can_t_live_with(upgrade: Upgrade) -> None:
    older, newer = await upgrade.older(), await upgrade.newer()
    chat, waits = await asks(older, "A1")
    code, told = await command("migrate", "--store", upgrade.ground.url, ahead=2)
    assert (code, "upgrade_ended" in told) == (0, True), told
    version = schema.known() + 2
    assert upgrade.version() == (version, version - 1)
    sentence = (
        f"The store's tables were made by a newer agui-gate (schema {version}; this one knows {schema.known()}, and "
        f"{version - 1} is the oldest that can work with them). Start that version."
    )
    for words in (("migrate",), ("serve", "examples.replicas.agent:agent", "--port", "0")):
        code, said = await command(*words, "--store", upgrade.ground.url)
        wrong = [line for line in said.splitlines() if "server_starting" not in line]
        assert (code, len(wrong)) == (1, 1)
        assert sentence in wrong[0]
    refused = await older.client.get(f"{older.url}/readyz")
    assert (refused.status_code, sentence in refused.text) == (503, True)
    late = await older.decide(waits, YES)
    assert (late["status_code"], late["error"]["message"]) == (503, sentence)
    assert await ready(newer) == 200
    assert (await newer.decide(waits, YES))["state"] == "done"
    assert (await moved(chat, newer).say("thanks")).text == "Done."
    assert upgrade.ran() == {"A1": 1}


async def command(*words: str, ahead: int = 0) -> tuple[int | None, str]:
    """What `agui-gate` does, of this tree or of a version ahead of it: its exit code, and what it says is wrong."""
    become = f"from tests.replicas.newer import become; become({ahead}); " if ahead else ""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"{become}from agui_gate.cli import main; main()", *words),
        cwd=ROOT,
        env=dict(os.environ, OPENAI_API_KEY="k"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(TIMEOUT):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, said.decode()
