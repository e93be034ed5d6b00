"""Old events of the trail go, and what is left proves itself: nobody without the key cuts a chain off unnoticed."""

import asyncio
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import asdict, replace

from agui_gate.cli.commands.audit import command
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, State
from agui_gate.core.audit import Head, chained
from agui_gate.core.audit_anchors import Pruned, anchor, seal_of
from agui_gate.core.freezes import Freeze
from agui_gate.core.transcript import Output
from agui_gate.extras.audit.entries import END, view
from agui_gate.extras.audit.keys import Keys, keyed
from agui_gate.extras.audit.verification import Checked, verify
from agui_gate.extras.retention_job import RetentionJob
from agui_gate.protocol.cards import record
from agui_gate.stores.audit import Part
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.operators import Act
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.retention import BEGINNING, DAY_MS, Ages, Swept
from agui_gate.stores.sql import trail_retention
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.test_audit_keys import _changes, _other, execute, missed_in_postgres, verified
from tests.requirements import shows
from tests.stores.support import Clock, ask, gated
from tests.stores.trails import heads, trail
from tests.support.chance import some

pytestmark = [pytest.mark.anyio, shows("K1")]

KEY, OTHER = "k" * 40, "o" * 40
AGES = Ages(trail=DAY_MS)
YES = Decision(True, by="bob", way="http")
ACT = Act("olga", "why not")


def signed(store: Any, *keys: str) -> Any:
    return keyed(store, Settings(audit_key=keys))


async def checked(store: FullStore, kept: list[Head] | None = None, *keys: str) -> Checked:
    return await verify(store, kept or [], Keys([key.encode() for key in keys or (KEY,)]))


async def broken(store: FullStore, kept: list[Head] | None = None, *keys: str) -> list[str]:
    found = (await checked(store, kept, *keys)).broken
    return [place.why for place in found if "not in the thread's journal" not in place.why]


async def prune(store: FullStore, ages: Ages = AGES) -> Swept:
    """One round; what went in it."""
    place, records, changed = BEGINNING, 0, list[str]()
    for _ in range(100):
        swept = await store.sweep(ages, place)
        records, place, changed = records + swept.records, swept.place, [*changed, *swept.broken]
        if place == BEGINNING:
            return Swept(0, records, place, changed)
    raise AssertionError("it goes on for ever")


async def done(store: FullStore, name: str, thread_id: str = "t") -> None:
    await ask(store, gated(name, name, thread_id=thread_id), thread_id=thread_id)
    await store.move(name, State.CLAIMED, decision=YES)
    await store.move(name, State.DONE, output=Output("refunded"))


async def delete(store: FullStore, thread_id: str) -> None:
    thread = await store.lease_thread("alice", thread_id, "support", "delete")
    await store.delete_thread(thread, "delete")


async def kinds(store: FullStore, thread_id: str | None = None) -> list[str]:
    return [event.kind for event in await trail(store) if thread_id in (None, event.thread_id)]


async def test_old_events_go_and_the_rest_is_verified_as_before(store: FullStore, clock: Clock) -> None:
    await signed(store, KEY).start()
    await done(store, "old")
    await store.operators.freeze(Freeze(tool="x"), ACT)
    await store.operators.freeze(Freeze(tool="x"), ACT, lift=True)
    await done(store, "gone", "u")
    await delete(store, "u")
    kept = await heads(store)
    clock.advance(DAY_MS)
    await done(store, "new")
    assert (await prune(store, Ages(trail=None, records=1))).records == 1, "a tombstone; the trail is never to go"
    assert await prune(store) == Swept(0, 3 + 4 + 5, BEGINNING, [])
    assert await kinds(store, "t") == ["asked", "approved", "claimed", "done", "pruned"]
    assert await kinds(store, "") == ["pruned", "pruned"], "of its own chain, and of a thread that is gone"
    assert await kinds(store, "u") == []
    assert await broken(store, kept) == []
    whole = await checked(store, kept)
    assert (whole.pruned, whole.pruned_heads) == (12, 3), "also by heads of what went"
    assert (await prune(store)).records == 0
    texts = [view(one, record, True)["text"] for one in await store.trail.read(Part(), END, 100)]
    assert "Old events were deleted by their age: 4, up to number 4." in texts
    assert "Old events were deleted by their age: 5, of 1 deleted threads." in texts
    forged = [Head(head.thread, head.seq, "0" * 64) for head in kept]
    assert len(await broken(store, forged)) == 3, "a head is held against the last event that went"
    # and again, of what was new then
    clock.advance(DAY_MS)
    await store.operators.freeze(Freeze(tool="y"), ACT)
    assert (await prune(store)).records == 4 + 1, "the anchor goes along, and the next one says what it said"
    assert await broken(store, await heads(store)) == []
    assert await kinds(store, "t") == ["pruned"]
    clock.advance(DAY_MS)
    assert (await prune(store)).records == 0, "a freeze that stands stays, and anchors alone do not go"


async def test_what_is_open_keeps_its_events_and_what_came_after(store: FullStore, clock: Clock) -> None:
    await signed(store, KEY).start()
    await done(store, "first")
    for name in ("waits", "unknown"):
        await ask(store, gated(name, name))
    await store.move("unknown", State.CLAIMED, decision=YES)
    await store.move("unknown", State.UNKNOWN, output=Output("?"))
    await done(store, "last")
    clock.advance(1)
    await store.operators.freeze(Freeze(tool="x"), ACT)
    clock.advance(2 * DAY_MS)
    assert (await prune(store)).records == 4 + 1, "what came before: a call that is done, and `keyed`"
    assert (await store.move("waits", State.CLAIMED, decision=YES)).state is State.CLAIMED
    await store.move("waits", State.DONE, output=Output("late"))
    clock.advance(2 * DAY_MS)
    assert (await prune(store)).records == 1, "its question, and nothing of what came after `unknown` was asked"
    assert "unknown" in {event.approval_id for event in await trail(store)}
    await store.lease_thread("alice", "t", "support", "settles", whole=False)
    await store.operators.settle("unknown", State.DONE, Output("found"), ACT, "settles")
    await store.operators.freeze(Freeze(tool="x"), ACT, lift=True)
    clock.advance(2 * DAY_MS)
    assert (await prune(store)).records > 10
    assert await broken(store) == []
    assert set(await kinds(store)) == {"pruned"}


async def test_a_grant_that_stands_keeps_the_story_of_the_yes_that_gave_it(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "gate.db"
    store = SQLiteStore(str(path), clock=clock)
    await store.start()
    await done(store, "before")
    await ask(store, gated("gives", "gives"))
    given = Decision(True, by="bob", way="http", grant="gr_1")
    await store.move("gives", State.CLAIMED, decision=given)
    await store.move("gives", State.DONE, output=Output("refunded"))
    row = "INSERT INTO grants (id, of_tenant, owner, giver, until, body) VALUES ('gr_1', '', 'alice', 'bob', ?, '{}')"
    execute(path, row, clock.now + 3 * DAY_MS)
    clock.advance(2 * DAY_MS)
    assert (await prune(store)).records == 4
    assert await kinds(store, "t") == ["asked", "approved", "claimed", "done", "pruned"]
    clock.advance(2 * DAY_MS)
    assert (await prune(store)).records == 4 + 1
    await store.aclose()


async def test_keys_rotate_and_it_is_known_since_when_events_are_signed(store: FullStore, clock: Clock) -> None:
    await signed(store, KEY).start()
    await done(store, "a")
    clock.advance(DAY_MS)
    assert (await prune(store)).records == 1 + 4
    signed(store, OTHER, KEY)
    await store.trail.begin_keys()
    await store.trail.begin_keys()
    assert await kinds(store, "") == ["pruned", "keyed"]
    clock.advance(DAY_MS)
    await done(store, "b")
    await prune(store)
    assert await broken(store, [], OTHER, KEY) == []
    before = len(await kinds(store, ""))
    await store.trail.begin_keys()
    assert len(await kinds(store, "")) == before, "an anchor says it in the place of `keyed`"
    await store.aclose()
    store.trail.keys = None
    await store.start()
    clock.advance(2 * DAY_MS)
    assert (await prune(store)).records == 0, "without the key nobody vouches for what goes"


async def make_pruned(store: FullStore, clock: Clock) -> None:
    """Chains that were pruned: of a thread that is there, of one that is gone, of none."""
    await signed(store, KEY).start()
    await done(store, "old")
    await done(store, "gone", "u")
    await delete(store, "u")
    clock.advance(DAY_MS)
    await prune(store)
    await done(store, "new")
    await store.aclose()


@pytest.fixture
async def pruned(tmp_path: Path, clock: Clock) -> Path:
    """A file with such chains."""
    path = tmp_path / "gate.db"
    await make_pruned(SQLiteStore(str(path), clock=clock), clock)
    return path


async def wrong(path: Path | str) -> list[str]:
    return [why for why in await verified(path, KEY) if "not in the thread's journal" not in why]


def content(folder: Path) -> bytes:
    """What the files there have."""
    return b"".join(file.read_bytes() for file in folder.iterdir())


CUTS = {
    "the anchor of a thread": "DELETE FROM approval_events WHERE kind = 'pruned' AND thread > 0",
    "the anchor of no thread": "DELETE FROM approval_events WHERE kind = 'pruned' AND thread = 0",
    "one event more": "DELETE FROM approval_events WHERE kind = 'pruned' AND thread > 0 "
    "OR approval_id = 'new' AND kind = 'asked'",
    "all of a chain": "DELETE FROM approval_events WHERE thread > 0",
    "the record": "DELETE FROM approvals WHERE id = 'old'",
    "another record": "UPDATE approvals SET output = replace(output, 'refunded', 'nothing') WHERE id = 'old'",
    "another decision": "UPDATE approvals SET decision = replace(decision, 'bob', 'eve') WHERE id = 'old'",
    "another question": "UPDATE approvals SET replaced = 1 WHERE id = 'old'",
    "another id": "UPDATE approvals SET was = 'x' WHERE id = 'old'",
    "moved": "UPDATE approval_events SET thread = thread + 1 WHERE kind = 'pruned' AND thread > 0",
    "a number": "UPDATE approval_events SET body = replace(body, '\"through\":4', '\"through\":5') WHERE thread > 0",
}


@pytest.mark.parametrize("cut", CUTS)
async def test_a_chain_that_somebody_cuts_off_is_found(pruned: Path, cut: str) -> None:
    assert await wrong(pruned) == []
    execute(pruned, CUTS[cut])
    assert await wrong(pruned) != []


def forge(path: Path, thread: int, seq: int, prev: str, pruned: Pruned, kept: str = "") -> None:
    """Adds an anchor that isn't signed, from before there was a key. ``kept``: the hash of the event in whose place it
    is, as if names were replaced in that.
    """
    (event,) = chained(Head(str(thread), seq - 1, kept or prev), 1, [anchor(pruned)])
    event = replace(event, prev=prev, hash=kept or event.hash, erased=f":{event.hash}" if kept else "")
    row = asdict(event)
    columns, places = ", ".join(row), ", ".join("?" * len(row))
    execute(path, f"INSERT INTO approval_events ({columns}) VALUES ({places})", *row.values())


async def seals_of(path: Path, thread: int) -> dict[str, str]:
    store = SQLiteStore(str(path))
    await store.start()
    try:
        return {record.id: seal_of(record) for record in await store.read_ledger(str(thread))}
    finally:
        await store.aclose()


async def test_an_anchor_that_is_not_signed_vouches_for_nothing_that_was(pruned: Path, tmp_path: Path) -> None:
    rows = execute(pruned, "SELECT thread, seq, prev, hash FROM approval_events WHERE thread > 0 ORDER BY seq")
    _, (key, at, before, second), *_, (_, last, _, end) = rows
    seals, kept = await seals_of(pruned, key), Head(str(key), last, end)

    async def found(heads: list[Head]) -> list[str]:
        store = SQLiteStore(str(copy))
        await store.start()
        try:
            return await broken(store, heads)
        finally:
            await store.aclose()

    copy = tmp_path / "copy.db"

    def begin(statement: str) -> None:
        shutil.copyfile(pruned, copy)
        execute(copy, statement)

    begin(f"DELETE FROM approval_events WHERE thread > 0 AND seq <= {at}")
    forge(copy, key, 1, "", Pruned(through=at, hash=second, records=seals))
    assert "events before it are missing" in await found([kept]), "at the beginning, of what came behind it"
    begin(f"DELETE FROM approval_events WHERE thread > 0 AND seq <= {at}")
    forge(copy, key, at, before, Pruned(through=at - 1, hash=before, records=seals), kept=second)
    assert "it was changed" in await found([kept]), "in the place of a signed event, as if names were replaced there"
    begin("DELETE FROM approval_events WHERE thread > 0")
    forge(copy, key, last + 9, "x", Pruned(through=last + 8, hash="x", records=seals))
    assert len(await found([kept])) == 1, "in the place of a chain, whose head was kept"
    begin("DELETE FROM approval_events WHERE thread = 0")
    forge(copy, 0, 9, "x", Pruned(through=8, hash="x", keyed={"x": 2**50}))
    assert "the trail does not say since when its events are signed" in await found([])


async def test_whatever_is_changed_in_a_pruned_trail_is_found(pruned: Path, tmp_path: Path) -> None:
    """As in a whole one: see `test_audit_keys`."""
    chance, copy, missed = random.Random(31), tmp_path / "copy.db", []
    every = _changes(pruned)
    columns = {(table, name): (table, name, row) for table, name, row in every}
    wanted = [*columns.values()]
    while len(wanted) < some(0, 1_000):
        wanted.append(chance.choice(every))
    for table, name, row in wanted:
        shutil.copyfile(pruned, copy)
        key = "seq" if table == "approvals" else "thread, seq"
        ((old, *where),) = execute(copy, f"SELECT {name}, {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {row}")
        condition = " AND ".join(f"{column} = {value}" for column, value in zip(key.split(", "), where, strict=True))
        new = _other(old, chance)
        try:
            execute(copy, f"UPDATE {table} SET {name} = ? WHERE {condition}", new)
            found = await wrong(copy)
        except sqlite3.IntegrityError:
            continue  # the database itself refuses it
        except Exception as error:
            found = [type(error).__name__]
        if not found:
            missed.append((table, name, old, new))
    assert missed == []


async def test_so_it_is_in_postgres(tables: str, clock: Clock) -> None:
    await make_pruned(PostgresStore(tables, clock=clock), clock)
    assert await missed_in_postgres(tables, lambda: wrong(tables), some(12, 1_000)) == []


async def test_what_somebody_changed_is_not_pruned(tmp_path: Path, clock: Clock) -> None:
    """An anchor would vouch for it."""
    path = tmp_path / "gate.db"
    store = SQLiteStore(str(path), clock=clock)
    await signed(store, KEY).start()
    for name in ("event", "record", "fine", "gone"):
        await done(store, name, name)
    await delete(store, "gone")
    execute(path, "UPDATE approval_events SET by = 'eve' WHERE by = 'bob' AND approval_id IN ('event', 'gone')")
    execute(path, "UPDATE approvals SET output = replace(output, 'refunded', 'x') WHERE id = 'record'")
    clock.advance(DAY_MS)
    swept = await prune(store)
    assert (swept.records, len(swept.broken)) == (1 + 4, 3)
    assert [len(await kinds(store, name)) for name in ("event", "record", "fine", "gone")] == [4, 4, 1, 5]
    assert len(await broken(store)) == 2 + 2 + 1
    await store.aclose()


async def test_a_long_chain_goes_in_steps(store: FullStore, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail_retention, "EVENTS", 5)
    monkeypatch.setattr(trail_retention, "CHAINS", 2)
    await signed(store, KEY).start()
    for number in range(4):
        await done(store, f"a{number}")
        await done(store, f"b{number}", "u")
        await done(store, f"c{number}", f"c{number}")
    await delete(store, "u")
    clock.advance(DAY_MS)
    rounds = [(await prune(store)).records for _ in range(6)]
    assert rounds[-1] == 0
    assert sum(rounds) >= 1 + 3 * 16 + 4
    assert await kinds(store, "u") == []
    assert set(await kinds(store)) == {"pruned"}
    assert await broken(store) == []


async def test_what_went_is_nowhere_in_the_file(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "gate.db"
    store = SQLiteStore(str(path), clock=clock)
    await store.start()
    for number in range(40):
        await done(store, f"secret-{number}", f"plan-{number}")
        await delete(store, f"plan-{number}")
    told = [notice.id for notice in await store.take_notices("x", limit=1_000)]
    await store.take_notices("x", told=told, limit=0)
    clock.advance(DAY_MS)
    assert "plan-7" in {event.thread_id for event in await trail(store)}
    await RetentionJob(store, Ages(records=DAY_MS, trail=DAY_MS)).tick()
    found = content(tmp_path)
    await store.aclose()
    assert found.count(b"plan-") == 0
    assert (await verified(path)) == []


async def test_the_command_says_how_many_went(pruned: Path) -> None:
    env = {"AGUI_GATE_AUDIT_KEY": KEY, "AGUI_GATE_STORE": f"sqlite:///{pruned}"}
    said = await asyncio.to_thread(CliRunner().invoke, command, ["verify"], env=env)
    assert said.output.endswith("7 events in 2 chains, 10 deleted by their age: broken.\n"), "it has no journal"
    said = await asyncio.to_thread(CliRunner().invoke, command, ["verify", "--json"], env=env)
    assert '"pruned": 10' in said.output
