"""Writes what a store of this version looks like with something in every table: `python -m tests.releases.fixture`.

It is run once for each release, and its two files are committed: `test_releases.py` opens them with all later versions.
What is in them was written by the product: a desk, where people ask and decide, and the store's methods.
"""

import asyncio
import re
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg

from agui_gate import Principal
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, State
from agui_gate.core.freezes import Freeze
from agui_gate.core.grants import Grant, GrantLimits
from agui_gate.core.terms import Seen, Sum, Terms
from agui_gate.core.transcript import CallPart, Output, TurnEntry
from agui_gate.extras.audit.keys import keyed
from agui_gate.stores import open_store
from agui_gate.stores.base import Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.deliveries import Delivery, Step
from agui_gate.stores.operators import Act
from agui_gate.stores.sql.usage import ledger_of
from agui_gate.stores.usage import Want
from tests.people.desk import Desk
from tests.stores.support import gated, said

FOLDER = Path(__file__).parent
KEY = "the key of the trail in the files of this folder"
ADA = "acme\x1fada"
PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "ben": Principal("ben", "acme", ("finance",)),
    "dan": Principal("dan", "acme", ("finance",)),
    "aud": Principal("aud", "acme", ("auditor",)),
}
GATE: dict[str, Any] = {"approvers": "finance"}
YES = Decision(True, "acme/ben", way="http", roles=("finance",))
USED: dict[str, Any] = {"usage": True, "budgets": "principal:100000000"}
WAYS: dict[str, tuple[State, ...]] = {
    "claimed": (State.CLAIMED,),
    "failed": (State.CLAIMED, State.FAILED),
    "unknown": (State.CLAIMED, State.UNKNOWN),
    "superseded": (State.SUPERSEDED,),
    "cancelled": (State.CANCELLED,),
}
"""What becomes of calls, by their threads, where more than a person is needed for it."""
HOSTED = {
    "passed": (State.CLAIMED, State.PASSED),
    "given back": (State.CLAIMED, State.PASSED, State.GIVEN_BACK),
}
"""The same, of calls that their provider runs."""
EMPTY = {"processes", "checks", "run_heads", "run_events", "run_openings"}
"""Tables of which nothing is left when no server runs."""
_HEADER = "-- What a store of {release} looks like: made by tests/releases/fixture.py, and never changed.\n"


def opened(url: str) -> FullStore:
    """The store, whose trail is signed."""
    store: Any = open_store(url)
    return keyed(store, Settings(audit_key=(KEY,)))  # type: ignore[return-value]  # it is one


async def fill(url: str) -> None:
    """Puts something into every table, and calls of every state."""
    store: Any = opened(url)
    async with Desk(PEOPLE, **GATE, expires_after=0.001).open(store) as desk:
        await desk.ask("ada", thread="expired")
        await store.expire()
    store = opened(url)
    async with Desk(PEOPLE, **GATE).open(store, **USED) as desk:
        await desk.say("ada", "hello", "talks")
        assert (await desk.decide("ben", await desk.ask("ada", thread="done"), reason="as agreed")).status == 200
        rejected = await desk.ask("ada", thread="rejected")
        assert (await desk.decide("ben", rejected, False, reason="too much")).status == 200
        await desk.ask("ada", thread="waits")
        handed = await desk.ask("ada", thread="handed on")
        assert (await desk.post("ben", f"/approvals/{handed}/hand-to", {"to": "dan"})).status == 200
        deputy = {"deputy": "dan", "until": "2027-01-10T00:00:00Z"}
        assert (await desk.post("ben", "/deputies", deputy)).status == 201
        calls = {name: await desk.ask("ada", thread=name) for name in (*WAYS, "gone", "counted")}
    store = opened(url)
    await store.start()
    for name in HOSTED:
        calls[name] = await _asked_for_a_provider(store, name)
    for name, way in (WAYS | HOSTED).items():
        for to in way:
            decision = YES if to is State.CLAIMED else None
            output = Output(f"It is {to}.") if to in (State.FAILED, State.UNKNOWN) else None
            await store.move(calls[name], to, decision=decision, output=output)
    await _rest(store, calls["counted"], calls["gone"])
    await store.aclose()


async def _asked_for_a_provider(store: Any, thread_id: str) -> str:
    call = gated(f"call {thread_id}", principal=ADA, thread_id=thread_id, runner="provider")
    turn = TurnEntry("turn", (CallPart(call.call_id, call.call_id, call.tool, call.arguments, "turn"),))
    thread = await store.lease_thread(ADA, thread_id, "support", "asks")
    change = Change(entries=[*said("refund"), turn], approvals=[call], status="waiting")
    await store.commit(thread, change, "asks")
    return call.id


async def _rest(store: Any, counted: str, gone: str) -> None:
    """What a desk without settings for it doesn't write."""
    await store.move(gone, State.CLAIMED, decision=YES)
    await store.delete_thread(await store.lease_thread(ADA, "gone", "support", "deletes"), "deletes")
    grant = Grant(
        id="grant", owner=ADA, agent="support", tool="refund", scope="thread", limits=GrantLimits(10**12),
        approval_id=counted, thread_id="counted", giver="ben",
    )  # fmt: skip
    seen = Seen(Sum("owner", ADA, "refund", "amount", 0), 0.0)
    await store.move(counted, State.CLAIMED, decision=YES, terms=Terms(seen=(seen,), given=grant))
    await store.move(counted, State.UNKNOWN, output=Output("nobody knows"))
    await store.operators.freeze(Freeze(tool="wire"), Act("olga", "until it is mended"), lift=False)
    deliveries = store.deliveries()
    await deliveries.add([Delivery("desk", name, counted, "{}") for name in ("waits", "dead")])
    await deliveries.failed((await deliveries.take("desk", "server", 2)).deliveries[1], "away", None)
    await deliveries.plan([Step(counted, "reminder", 10**14)], 0)
    ledger = ledger_of(store)
    assert ledger is not None
    await ledger.reserve([Want(f"principal:1:{ADA}", 10, None)], 1, 1)
    await store.want_runs(True)
    await store.take_notices("server", limit=1)


# --- as text ----------------------------------------------------------------------------------------------------------


def sqlite_text(path: Path) -> str:
    """A file as statements."""
    with closing(sqlite3.connect(path)) as connection:
        marks = [
            (name, connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version")
        ]
        lines = [line for line in connection.iterdump() if "sqlite_stat1" not in line]
    return "\n".join([*(f"PRAGMA {name} = {value};" for name, value in marks), *lines, ""])


def postgres_text(url: str) -> str:
    """A database as statements, without the words for psql."""
    from tests.support.servers import programs

    command = [
        str(programs() / "pg_dump"),
        "--inserts",
        "--no-owner",
        "--no-privileges",
        "--no-comments",
        "--dbname",
        url,
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    kept = [line for line in text.splitlines() if line and not line.startswith(("--", "\\", "SET "))]
    return "\n".join([line for line in kept if "set_config('search_path'" not in line] + [""])


def load(text: str, url: str) -> None:
    """Makes a database of it, as if a server had stopped a moment ago."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(text)
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(text.encode())
        connection.execute(
            "UPDATE epoch SET goes_on_in = NULL"
        )  # it is the same database, not a copy that was restored


def counts(url: str) -> dict[str, int]:
    """How many rows each table has."""
    listed = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    if url.startswith("sqlite"):
        listed = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    with closing(connected(url)) as connection:
        names = [name for (name,) in connection.execute(listed).fetchall()]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


def connected(url: str) -> Any:
    """A connection, of sqlite3 or psycopg."""
    return sqlite3.connect(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else psycopg.connect(url)


def write(name: str, text: str) -> None:
    """Writes a file of this release, unless there is one."""
    release = re.sub(r"\.dev.*|\+.*", "", version("agui-gate"))
    path = FOLDER / f"{release}.{name}.sql"
    if path.exists():
        raise SystemExit(f"{path} is there: what was released is never changed.")
    path.write_text(_HEADER.format(release=release) + text)


def main() -> None:
    """Writes the two files."""
    from tests.support.servers import Postgres

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gate.db"
        asyncio.run(fill(f"sqlite:///{path}"))
        write("sqlite", sqlite_text(path))
    server = Postgres()
    server.start()
    try:
        url = server.url(server.create())
        asyncio.run(fill(url))
        write("postgres", postgres_text(url))
    finally:
        server.close()


if __name__ == "__main__":
    main()
