"""The version whose wheel is kept, beside this tree: upgrades, and the way back, with processes of both on one store.

What a next version may bring that this tree doesn't know is in `tests/replicas/test_rolling.py`.
"""

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agui_gate.stores.postgres import schema
from tests.product.kit import TIMEOUT
from tests.product.live import resuming, starting
from tests.releases import wheel
from tests.releases.fixture import FOLDER
from tests.releases.ground import Ground, Release, Server, as_, moved, opened
from tests.requirements import shows
from tests.support.servers import Postgres, Valkey

pytestmark = [pytest.mark.anyio, shows("T9", "B6", "B17", "B18")]

YES, NO = {"approved": True}, {"approved": False}
HOURLY = {"approved": True, "grant": {"scope": "thread"}}
SCHEMAS = (
    "from importlib.resources import files; from agui_gate.stores.postgres import schema; "
    "print(schema.known(), len([*(files('agui_gate.stores') / 'migrations').iterdir()]))"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the older version is."""
    return wheel.install(tmp_path_factory.mktemp("older"))


def known(*path: Path) -> tuple[int, int]:
    """Which tables a version makes, of PostgreSQL and of SQLite."""
    start = f"import sys; sys.path[:0] = {[str(one) for one in path]}; "
    said = subprocess.check_output([sys.executable, "-c", start + SCHEMAS], cwd="/", text=True, timeout=60)
    postgres, sqlite = map(int, said.split())
    return postgres, sqlite


def test_the_wheel_that_is_kept_is_of_the_last_release_with_older_tables(site: Path) -> None:
    """As soon as a migration is added to what was released, it has to be that release's (README.md)."""
    released = [re.search(r"PRAGMA user_version = (\d+)", file.read_text()) for file in FOLDER.glob("*.sqlite.sql")]
    ours, theirs = known(), known(site)
    assert theirs < ours
    before = [int(found[1]) for found in released if found and int(found[1]) < ours[1]]
    assert theirs[1] >= max(before, default=0), "python -m tests.releases.wheel with the tag of the last release"


# --- PostgreSQL: one replica after the other -------------------------------------------------------------------------


@pytest.mark.parametrize("bus", ["postgres", "valkey"])
async def test_replicas_of_both_versions(
    request: pytest.FixtureRequest, bus: str, site: Path, postgres: Postgres, database: str, tmp_path: Path
) -> None:
    valkey: Valkey | None = request.getfixturevalue("valkey") if bus == "valkey" else None
    async with opened(site, tmp_path, database, valkey.url if valkey else None) as ground:
        first, second = await asyncio.gather(ground.server("older"), ground.server("older"))
        chat, early = await second.asks("R0")
        assert version_of(postgres, database) == (known(site)[0], 1)

        newer = await ground.server("newer")  # which migrates
        assert version_of(postgres, database) == (schema.known(), schema.OLDEST_READER)
        assert (await first.ready(), await newer.ready()) == (200, 200)
        assert (await newer.answers("ben", early, HOURLY))["state"] == "done"
        chat = moved(chat, first)
        assert (await chat.say("thanks")).text == "Done."
        assert (await chat.say("order R1")).text == "Done.", "by the grant of a moment ago"
        await one_after_the_other(first, newer, "P0", "R2")
        await one_after_the_other(newer, first, "P1", "R3")
        await asyncio.gather(*(races(ground, one, other, f"R{n}") for n, one, other in (
            (4, first, newer), (5, newer, first), (6, first, newer), (7, newer, first)
        )))  # fmt: skip
        await is_read_by_both(ground, first, newer, "W0")
        await is_read_by_both(ground, newer, first, "W1")
        chat, waits = await first.asks("R8")
        await asyncio.gather(first.end(), second.end())

        other = await ground.server("newer")
        assert (await other.answers("cat", waits, YES))["state"] == "done"
        assert (await moved(chat, newer).say("thanks")).text == "Done."
        _, waits = await other.asks("R9")
        await other.end()

        back = await ground.server("older")
        assert await back.ready() == 200
        assert (await back.answers("ben", waits, YES))["state"] == "done"
        chat, _ = await back.asks("R10")
        await reads_the_same(back, newer, chat.thread_id)
        usage = [(await p.get("/usage?by=principal", as_("olga")))["total"] for p in (back, newer)]
        assert usage[0] == usage[1]
        assert usage[0]["requests"] == len(ground.emulator.accepted)
        code, said = await ground.command("older" if valkey else "newer", "audit", "verify")
        assert code == 0, said
        await ground.until_told(early, waits)
        await back.end()
        await newer.end()
        assert ground.ran() == dict.fromkeys((*(f"R{n}" for n in range(10)), "P0", "P1", "W0", "W1"), 1)
        assert ground.emulator.refusals == []


def version_of(postgres: Postgres, database: str) -> tuple[int, int]:
    """Of the tables, and the oldest that can work with them."""
    ((version, oldest),) = postgres.execute(schema.READ, database.rpartition("/")[2])
    return version, oldest


async def one_after_the_other(here: Server, there: Server, two: str, one: str) -> None:
    """Of two who have to agree, each does so at another server; and a call is asked here and answered there."""
    chat, waits = await here.asks(two)
    assert (await here.answers("ben", waits, YES))["state"] == "pending"
    assert (await there.answers("ben", waits, YES))["state"] == "pending", "the same person counts once"
    assert (await there.answers("ada", waits, YES))["status_code"] == 403, "who asked doesn't count"
    assert (await there.answers("cat", waits, YES))["state"] == "done"
    chat, waits = await there.asks(one, chat)
    assert (await here.answers("cat", waits, YES))["state"] == "done"
    late = await there.answers("ben", waits, NO)
    assert (late["status_code"], late["state"]) == (409, "done")
    await reads_the_same(here, there, chat.thread_id)


async def races(ground: Ground, here: Server, there: Server, order: str) -> None:
    """Several answer at once, by both."""
    chat, waits = await here.asks(order)
    told = await asyncio.gather(*(p.answers(name, waits, YES) for p in (here, there) for name in ("ben", "cat")))
    assert {answer["state"] for answer in told} <= {"claimed", "done"}
    assert [answer["status_code"] for answer in told].count(200) >= 1
    assert (await moved(chat, there).say("thanks")).text == "Done."
    assert ground.ran()[order] == 1


async def is_read_by_both(ground: Ground, here: Server, there: Server, order: str) -> None:
    """A run is followed at the other server, which lets nobody begin another one on its thread."""
    chat, waits = await here.asks(order)
    async with starting(here, chat, resume=[{"interruptId": waits, "status": "resolved", "payload": YES}]) as run:
        await ground.until_ran(order)
        async with resuming(there, run.run_key, headers=as_("ada")) as reader:
            await reader.until("RUN_STARTED")
            busy = await there.post("/", moved(chat, there).body(), as_("ada"))
            assert (busy.status, busy[0]["error"]["code"]) == (409, "thread_busy")
            await asyncio.to_thread(ground.open_door)
            assert (await run.end()).text == "Done."
            await reader.end()
    assert reader.frames == run.frames


async def reads_the_same(here: Server, there: Server, thread_id: str) -> None:
    """Both tell the same of a thread."""
    threads: list[dict[str, Any]] = [await p.get(f"/threads/{thread_id}", as_("ada")) for p in (here, there)]
    assert [thread["status_code"] for thread in threads] == [200, 200]
    assert threads[0]["messages"] == threads[1]["messages"]


@pytest.mark.parametrize("dies", ["older", "newer"])
async def test_one_is_killed_in_the_middle_of_a_call(dies: Release, site: Path, database: str, tmp_path: Path) -> None:
    """The other one settles it: once it is asked, and soon without being asked."""
    lives: Release = "older" if dies == "newer" else "newer"
    async with opened(site, tmp_path, database) as ground:
        here = await ground.server(dies)
        there = await ground.server(lives)
        calls = [await here.asks(order) for order in ("S0", "S1")]
        deciding = [asyncio.ensure_future(here.answers("ada", waits, YES)) for _, waits in calls]
        for order in ("S0", "S1"):
            await ground.until_ran(order)
        await here.end(signal.SIGKILL)
        assert all(isinstance(one, Exception) for one in await asyncio.gather(*deciding, return_exceptions=True))
        (chat, asked), (_, alone) = calls
        told = await moved(chat, there).say("thanks")
        assert told.text == "Done."
        assert await there.state(asked) == "unknown"
        late = await there.answers("ada", asked, YES)
        assert (late["status_code"], late["state"]) == (409, "unknown")
        await until_settled(there, alone)
        assert ground.ran() == {"S0": 1, "S1": 1}


async def until_settled(server: Server, approval_id: str) -> None:
    """Waits until it is said that nobody knows what came of a call, though nobody runs anything on its thread."""
    url, state = f"{server.url}/approvals/events", "claimed"
    async with server.client.stream("GET", url, headers=as_("ada")) as feed, asyncio.timeout(TIMEOUT):
        async for line in feed.aiter_lines():
            if line.startswith(("data", ":")) and (state := await server.state(approval_id)) != "claimed":
                break
    assert state == "unknown"


# --- SQLite: one version at a time -----------------------------------------------------------------------------------


async def test_a_file_belongs_to_the_version_that_migrated_it(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "gate.db"
    async with opened(site, tmp_path, f"sqlite:///{file}") as ground:
        older = await ground.server("older")
        chat, waits = await older.asks("R0")
        _, stalls = await older.asks("S0")
        deciding = asyncio.ensure_future(older.answers("ada", stalls, YES))
        await ground.until_ran("S0")
        code, said = await ground.command("older", "backup", str(tmp_path / "before.db"))
        assert code == 0, said

        newer = await ground.server("newer")
        assert await older.ready() == 503
        refused = await older.answers("ben", waits, YES)
        assert (refused["status_code"], refused["error"]["code"]) == (503, "unavailable")
        assert "upgraded by another version" in refused["error"]["message"]
        assert (await moved(chat, older).say("thanks")).status == 503
        assert (await newer.answers("ben", waits, YES))["state"] == "done"
        assert (await moved(chat, newer).say("thanks")).text == "Done."
        await older.end(signal.SIGKILL)
        assert isinstance((await asyncio.gather(deciding, return_exceptions=True))[0], Exception)
        await until_settled(newer, stalls)
        code, said = await ground.command("older", "serve", "shop:app", "--port", "0")
        assert (code, said.count("\n")) == (2, 1), said
        assert "was written by a newer agui-gate" in said
        await newer.end()
        assert ground.ran() == {"R0": 1, "S0": 1}

    (tmp_path / "back").mkdir()
    async with opened(site, tmp_path / "back", f"sqlite:///{tmp_path / 'before.db'}") as ground:
        code, said = await ground.command("older", "migrate", "--restored")
        assert code == 0, said
        older = await ground.server("older")
        assert await older.state(waits) != "done"
        assert ground.ran() == {}
