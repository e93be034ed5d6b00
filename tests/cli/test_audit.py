"""`agui-gate audit` and `agui-gate migrate`: is the trail whole, what is in it, and which schema the store has."""

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agui_gate.bus import open_bus
from agui_gate.core.approvals import Decision, State
from agui_gate.core.principals import owner_key
from agui_gate.core.transcript import Output
from agui_gate.stores.base import Store
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.cli.conftest import Cli
from tests.requirements import shows
from tests.stores.support import Clock, ask, gated, pending
from tests.stores.test_migrations import SCRIPTS, version_1
from tests.support.servers import Postgres

pytestmark = shows("K1")

DAY = 86_400_000
STORE = ("--store", "sqlite:///gate.db")


async def filled(store: Store, clock: Clock) -> None:
    """Two threads of alice's and one of bob's, a day apart."""
    await store.start()
    try:
        for number, principal in enumerate(["alice", "alice", "bob"]):
            about = gated(f"a{number}", principal=principal, thread_id=f"t{number}")
            await ask(store, about, principal=principal, thread_id=f"t{number}")
            await store.move(f"a{number}", State.CLAIMED, decision=Decision(True, principal, "s3cret", way="card"))
            await store.move(f"a{number}", State.DONE, output=Output("s3cret"))
            clock.advance(DAY)
    finally:
        await store.aclose()


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    clock = Clock(1_793_491_200_000)  # 2026-11-01
    asyncio.run(filled(SQLiteStore(str(tmp_path / "gate.db"), clock=clock), clock))
    return tmp_path / "gate.db"


@pytest.fixture
def events(gate: Path, cli: Cli) -> list[dict[str, Any]]:
    result = cli("audit", "export", *STORE)
    assert (result.exit_code, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


def changed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(statement).rowcount > 0


def test_an_export_can_be_checked_by_anybody(events: list[dict[str, Any]]) -> None:
    assert len(events) == 12
    assert [e["kind"] for e in events[:4]] == ["asked", "approved", "claimed", "done"]
    prev: dict[str, str] = {}
    for event in events:
        stated = event.pop("hash")
        assert event["prev"] == prev.get(event["thread"], "")
        text = json.dumps(
            {k: v for k, v in event.items() if k != "prev"}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        assert sha256((event["prev"] + text).encode()).hexdigest() == stated
        prev[event["thread"]] = stated
    assert "s3cret" not in json.dumps(events)


def test_an_export_of_a_principal_of_a_thread_and_since(gate: Path, cli: Cli) -> None:
    def ids(*arguments: str) -> set[str]:
        result = cli("audit", "export", *STORE, *arguments)
        assert result.exit_code == 0
        return {json.loads(line)["approval_id"] for line in result.stdout.splitlines()}

    assert ids("--principal", "alice") == {"a0", "a1"}
    assert ids("--thread", "t2") == {"a2"}
    assert ids("--since", "2026-11-02") == {"a1", "a2"}
    assert ids("--since", "2026-11-02T00:00:01", "--principal", "alice") == set()


def test_chains_that_are_whole(gate: Path, cli: Cli) -> None:
    result = cli("audit", "verify", *STORE)
    assert (result.exit_code, result.stdout) == (0, "12 events in 3 chains: whole.\n")
    told = cli("audit", "verify", *STORE, "--json")
    assert (told.exit_code, json.loads(told.stdout)) == (0, {"events": 12, "chains": 3, "broken": []})


@pytest.mark.parametrize(
    ("statement", "seq", "why"),
    [
        ("UPDATE approval_events SET by = 'mallory' WHERE thread_id = 't1' AND seq = 2", 2, "it was changed"),
        ("UPDATE approval_events SET body = '{}' WHERE thread_id = 't1' AND seq = 4", 4, "it was changed"),
        ("DELETE FROM approval_events WHERE thread_id = 't1' AND seq = 2", 3, "events before it are missing"),
        ("UPDATE approval_events SET seq = 9 WHERE thread_id = 't1' AND seq = 4", 9, "it was changed"),
    ],
)
def test_a_broken_chain_is_named(gate: Path, cli: Cli, statement: str, seq: int, why: str) -> None:
    changed(gate, statement)
    result = cli("audit", "verify", *STORE)
    assert result.exit_code == 1
    line, *_, end = result.stdout.splitlines()
    assert line.startswith("thread t1 (key ")
    assert line.endswith(f"event {seq}: {why}")
    assert end.endswith(": broken.")
    broken = json.loads(cli("audit", "verify", *STORE, "--json").stdout)["broken"]
    assert broken[0] | {"thread": ""} == {
        "principal": "alice",
        "thread_id": "t1",
        "thread": "",
        "seq": seq,
        "why": why,
    }


def test_heads_that_were_kept_find_what_a_chain_alone_can_t(gate: Path, cli: Cli, tmp_path: Path) -> None:
    printed = cli("audit", "heads", *STORE)
    assert (printed.exit_code, len(printed.stdout.splitlines())) == (0, 3)
    (tmp_path / "heads.jsonl").write_text(printed.stdout)
    assert cli("audit", "verify", *STORE, "--heads", "heads.jsonl").exit_code == 0
    changed(gate, "DELETE FROM approval_events WHERE thread_id = 't1' AND seq = 4")
    changed(gate, "DELETE FROM approval_events WHERE thread_id = 't2'")
    alone = cli("audit", "verify", *STORE)
    assert (alone.exit_code, alone.stdout.count("its record is in another state")) == (1, 1)
    assert alone.stdout.count("the trail has no question") == 1, "of the chain that is gone as a whole"
    changed(gate, "DELETE FROM approvals")
    assert "no question" not in cli("audit", "verify", *STORE).stdout, "who changes both is found by the heads alone"
    found = cli("audit", "verify", *STORE, "--heads", "heads.jsonl")
    assert found.exit_code == 1
    assert found.stdout.count("it is missing: truncated, removed, or expired") == 2


@pytest.mark.parametrize("decided", [False, True])
def test_what_was_asked_before_there_was_a_trail_is_no_finding(tmp_path: Path, cli: Cli, decided: bool) -> None:
    path = str(tmp_path / "gate.db")
    version_1(path)

    async def go_on() -> None:
        store = SQLiteStore(path)
        await store.start()
        if decided:
            await store.move("a1", State.REJECTED, decision=Decision(False, "alice", way="card"))
        await ask(store, gated("b1"), thread_id="t2")
        await store.aclose()

    asyncio.run(go_on())
    whole = cli("audit", "verify", *STORE)
    assert (whole.exit_code, whole.stdout) == (0, f"{1 + decided} events in {1 + decided} chains: whole.\n")
    changed(tmp_path / "gate.db", "UPDATE approvals SET arguments = '{\"amount\":9999}' WHERE id = 'b1'")
    assert "approval b1: its record has arguments that" in cli("audit", "verify", *STORE).stdout
    changed(tmp_path / "gate.db", "UPDATE approvals SET thread = 2 WHERE id = 'b1'")
    found = cli("audit", "verify", *STORE).stdout
    assert "approval b1: it has a record, but the trail has no question about it" in found
    assert "a1" not in found


def test_what_can_t_be_read(gate: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "heads.jsonl").write_text('{"thread": 1}\n')
    wrong = cli("audit", "verify", *STORE, "--heads", "heads.jsonl")
    assert (wrong.exit_code, "agui-gate audit heads" in wrong.stderr) == (2, True)
    memory = cli("audit", "verify", "--store", "memory://")
    assert (memory.exit_code, "exists only while its server runs" in memory.stderr) == (2, True)


@pytest.mark.parametrize(
    "command", [("audit", "verify"), ("audit", "export"), ("audit", "heads"), ("migrate", "--restored")]
)
def test_a_store_that_is_not_there_is_not_said_to_be_whole(cli: Cli, tmp_path: Path, command: tuple[str, ...]) -> None:
    done = cli(*command, "--store", "sqlite:///wrong.db")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: There is no store at sqlite:///wrong.db. Name another one with --store.\n"
    assert not (tmp_path / "wrong.db").exists()


# --- migrate


def test_a_new_store_and_one_that_is_up_to_date(cli: Cli) -> None:
    first = cli("migrate", *STORE)
    assert (first.exit_code, first.stdout) == (0, f"sqlite:///gate.db: schema 0 → {len(SCRIPTS)}.\n")
    assert cli("migrate", *STORE).stdout == f"sqlite:///gate.db: schema {len(SCRIPTS)}, up to date.\n"


def test_an_upgrade_says_how_far_it_is(cli: Cli, tmp_path: Path) -> None:
    version_1(str(tmp_path / "gate.db"))
    done = cli("migrate", *STORE)
    assert (done.exit_code, done.stdout) == (0, f"sqlite:///gate.db: schema 1 → {len(SCRIPTS)}.\n")
    first, *steps, last = done.stderr.splitlines()
    assert f"event=upgrade_begun old=1 new={len(SCRIPTS)} steps={len(steps)}" in first
    assert f'event=upgrade_step step=1 of={len(steps)} statement="ALTER TABLE threads ADD COLUMN' in steps[0]
    assert f"event=upgrade_step step={len(steps)} of={len(steps)} statement=" in steps[-1]
    assert f"event=upgrade_ended old=1 new={len(SCRIPTS)} seconds=" in last
    assert cli("migrate", *STORE).stderr == ""


@shows("K2")
def test_a_restored_store_begins_an_epoch(cli: Cli, tmp_path: Path) -> None:
    async def wait() -> None:
        store = SQLiteStore(str(tmp_path / "gate.db"))
        await store.start()
        await ask(store, gated(), gated("a2"))
        await store.move("a2", State.CLAIMED, decision=Decision(True, "alice", way="http"))
        await store.aclose()

    async def after() -> list[str]:
        store = SQLiteStore(str(tmp_path / "gate.db"))
        await store.start()
        try:
            return [approval.id for approval in await pending(store, "alice")]
        finally:
            await store.aclose()

    asyncio.run(wait())
    result = cli("migrate", "--restored", *STORE)
    assert result.exit_code == 0
    assert (
        "Epoch 2 has begun. Of what waited, asked again: 1. Of what was at work, settled as unknown, or as not run: 1."
        in result.stdout
    )
    assert asyncio.run(after()) == ["a1.2"]
    assert cli("audit", "verify", *STORE).exit_code == 0


@shows("K2")
def test_no_epoch_begins_under_a_server_that_runs(cli: Cli, tmp_path: Path, another: int) -> None:
    refused = cli("migrate", "--restored", *STORE)
    assert (refused.exit_code, str(another) in refused.stderr) == (2, True)
    assert "Stop them first" in refused.stderr


@shows("K2")
def test_one_begins_in_a_copy_although_a_server_runs_beside_it(cli: Cli, another: int) -> None:
    assert cli("backup", "copy.db", *STORE).exit_code == 0
    begun = cli("migrate", "--restored", "--store", "sqlite:///copy.db")
    assert (begun.exit_code, "Epoch 2 has begun." in begun.stdout) == (0, True), begun.stderr


@shows("K2")
@pytest.mark.anyio
async def test_nor_under_one_that_hears_the_same_database(cli: Cli, postgres: Postgres, tables: str) -> None:
    name = tables.rpartition("/")[2]
    command = ("migrate", "--restored", "--store", tables)
    bus = open_bus(tables, kept_seconds=60, run_bytes=1024)
    await bus.start()
    for _ in range(2):
        refused = await asyncio.to_thread(cli, *command)
        assert (refused.exit_code, "Stop them first" in refused.stderr) == (2, True)
        ((pid,),) = postgres.execute(SEEN, name)
        assert f"process {pid}" in refused.stderr
        postgres.execute(f"SELECT pg_terminate_backend({pid})", name)
        async with asyncio.timeout(60):  # a server that was cut off comes back, and is seen again
            while (found := await asyncio.to_thread(postgres.execute, SEEN, name)) in ([], [(pid,)]):
                pass
        assert len(found) == 1
    await bus.aclose()
    async with asyncio.timeout(60):
        while await asyncio.to_thread(postgres.execute, SEEN, name):
            pass
    done = await asyncio.to_thread(cli, *command)
    assert (done.exit_code, "Epoch 2 has begun" in done.stdout) == (0, True)


SEEN = """
    SELECT pid FROM pg_locks JOIN pg_database AS d ON d.oid = database
    WHERE locktype = 'advisory' AND datname = current_database()
"""


@pytest.fixture
def another(tmp_path: Path) -> Iterator[int]:
    """Another process that has the store open."""
    import subprocess
    import sys

    program = (
        "import asyncio, sys\n"
        "from agui_gate.stores.sqlite import SQLiteStore\n"
        "async def main():\n"
        "    store = SQLiteStore('gate.db')\n"
        "    await store.start()\n"
        "    print('open', flush=True)\n"
        "    await asyncio.to_thread(sys.stdin.read)\n"
        "    await store.aclose()\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield process.pid
    finally:
        process.communicate(timeout=60)


@pytest.mark.anyio
async def test_the_same_on_postgresql(cli: Cli, tables: str) -> None:
    clock = Clock(1_793_491_200_000)
    await filled(PostgresStore(tables, clock=clock), clock)
    place = ("--store", tables)
    checked = await asyncio.to_thread(cli, "audit", "verify", *place)
    assert (checked.exit_code, checked.stdout) == (0, "12 events in 3 chains: whole.\n")
    exported = await asyncio.to_thread(cli, "audit", "export", *place, "--principal", "bob")
    assert [json.loads(line)["kind"] for line in exported.stdout.splitlines()] == [
        "asked",
        "approved",
        "claimed",
        "done",
    ]
    migrated = await asyncio.to_thread(cli, "migrate", "--restored", *place)
    assert (migrated.exit_code, "up to date" in migrated.stdout, "Epoch 2" in migrated.stdout) == (0, True, True)


def test_what_happened_is_listed_newest_first(gate: Path, cli: Cli) -> None:
    result = cli("audit", "ls", *STORE, "--limit", "2")
    assert result.exit_code == 0
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["TIME", "(UTC)", "WHAT", "TOOL", "APPROVAL"]
    assert [re.split("  +", row)[1:] for row in rows] == [
        ["It ran, and ended.", "refund", "a2"],
        ["refund was about to run.", "refund", "a2"],
    ]

    def ids(*arguments: str) -> set[str]:
        lines = cli("audit", "ls", *STORE, "--json", *arguments).stdout.splitlines()
        return {json.loads(line)["approval_id"] for line in lines}

    assert ids() == {"a0", "a1", "a2"}
    assert ids("--person", "bob") == ids("--thread", "t2") == ids("--since", "2026-11-03") == {"a2"}
    assert ids("--until", "2026-11-02") == {"a0"}
    assert (ids("--by", "alice"), ids("--by", "nobody")) == ({"a0", "a1"}, set())
    assert ids("--tenant", "") == ids("--tool", "refund", "--agent", "support", "--decision", "done")
    assert cli("audit", "ls", *STORE, "--tenant", "acme").stdout == "There is no such entry.\n"
    for command in (("ls",), ("export",), ("compare", "-")):
        result = cli("audit", *command, *STORE, "--since", "yesterday")
        assert result.exit_code == 2
        assert "since must be a time, such as 2026-11-01 or 2026-11-01T08:30:00Z." in result.stderr
        assert cli("audit", *command, *STORE, "--since", "2026-11-02T08:30+01:00").exit_code == 0
    assert cli("audit", "ls", *STORE, "--decision", "praised").exit_code == 2


def test_the_story_of_one_approval(gate: Path, cli: Cli) -> None:
    result = cli("audit", "show", "a0", *STORE)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "2026-11-01 00:00:00  support asked whether it may run refund, for alice.",
        '                     arguments: {"amount": 50}',
        "2026-11-01 00:00:00  alice approved it on a card: “s3cret”",
        "2026-11-01 00:00:00  refund was about to run.",
        '                     with: {"amount": 50}',
        "2026-11-01 00:00:00  It ran, and ended.",
        "                     result: s3cret",
    ]
    kinds = [json.loads(line)["kind"] for line in cli("audit", "show", "a0", "--json", *STORE).stdout.splitlines()]
    assert kinds == ["asked", "approved", "claimed", "done"]
    missing = cli("audit", "show", "none", *STORE)
    assert (missing.exit_code, missing.stderr) == (1, "There is no approval none in this store.\n")


def test_an_owner_in_a_tenant_is_named_as_people_do(gate: Path, cli: Cli) -> None:
    async def more() -> None:
        store = SQLiteStore(str(gate))
        await store.start()
        owner = owner_key("acme", "alice")
        await ask(store, gated("a9", principal=owner, thread_id="t9"), principal=owner, thread_id="t9")
        await store.aclose()

    asyncio.run(more())
    lines = cli("audit", "export", *STORE, "--tenant", "acme", "--principal", "alice").stdout.splitlines()
    assert [json.loads(line)["approval_id"] for line in lines] == ["a9"]
    assert cli("audit", "export", *STORE, "--tenant", "acme").exit_code == 2
    assert "alice." in cli("audit", "ls", *STORE, "--tenant", "acme").stdout
    assert "\x1f" not in cli("audit", "ls", *STORE).stdout


def test_one_head_that_was_kept(gate: Path, cli: Cli, events: list[dict[str, Any]]) -> None:
    last = events[3]
    head = f"{last['thread']}:{last['seq']}:{last['hash']}"
    assert cli("audit", "verify", *STORE, "--head", head).exit_code == 0
    changed(gate, f"DELETE FROM approval_events WHERE thread = {last['thread']}")
    changed(gate, f"DELETE FROM approvals WHERE thread = {last['thread']}")
    assert cli("audit", "verify", *STORE).exit_code == 0
    assert "it is missing" in cli("audit", "verify", *STORE, "--head", head).stdout
    assert cli("audit", "verify", *STORE, "--head", "4").exit_code == 2


def test_a_log_is_held_against_a_store_that_is_older(gate: Path, cli: Cli) -> None:
    lines = [
        "timestamp=2026-11-01T01:00:00Z level=info event=decided approved state=done approval=a0 tool=refund",
        "timestamp=2026-11-04T01:00:00Z level=info event=decided approved=false state=rejected approval=a1 tool=refund",
        'timestamp=2026-11-05T01:00:00Z level=info event=decided approved state=done approval=a8 why="a b" thread=t8',
        '{"timestamp": "2026-11-06T01:00:00Z", "event": "outcome_unknown", "approval": "a9", "call": "c9"}',
        "Traceback of another one",
        "{no JSON",
    ]
    (gate.parent / "log").write_text("\n".join(lines))
    told = cli("audit", "compare", "log", *STORE)
    assert told.exit_code == 1
    rows = [line.split() for line in told.stdout.splitlines()[1:]]
    assert [(row[2], row[-3]) for row in rows] == [("a8", "done"), ("a9", "unknown")], "what ended is as it is"
    later = cli("audit", "compare", "log", "--since", "2026-11-06", "--json", *STORE)
    (one,) = map(json.loads, later.stdout.splitlines())
    assert (one["logged"]["approval"], one["logged"]["call"], one["here"]) == ("a9", "c9", "")
    none = cli("audit", "compare", "log", "--since", "2026-11-07", *STORE)
    assert (none.exit_code, none.stdout) == (0, "The store has all that the log says was decided.\n")
