"""A store that another version, or a fork, has written to: what this version doesn't know makes no thread unreadable.

What is unknown goes unread, stays as it was written, and is never acted on (PROC-2, GEN-2).
"""

import sqlite3
from typing import Any

import msgspec
import psycopg
import pytest

from agui_gate.core.approvals import State
from agui_gate.core.stored_values import NOT_READ, decode_entries
from agui_gate.core.transcript import Text, UnreadEntry, UserEntry
from agui_gate.errors import IllegalMove, Unreadable
from agui_gate.stores.base import Change, Thread
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.retention import Ages
from tests.conforming import conforms
from tests.stores.support import Clock, ask, gated, ids, pending, said

pytestmark = [pytest.mark.anyio, conforms("PROC-2", "GEN-2")]

HOLOGRAM = b'{"type":"hologram","z":1.50,"a":{"type":"user"}}'
"""Of a kind that nobody here knows; written as no encoder of ours would write it."""


def written(place: str, statement: str, *values: Any) -> list[Any]:
    """What another version does to the database at `place`, or reads in it."""
    if place.startswith("postgresql:"):
        with psycopg.connect(place) as connection:
            cursor = connection.execute(statement.replace("?", "%s").encode(), [_text(value) for value in values])
            return cursor.fetchall() if cursor.description else []
    file = sqlite3.connect(place)
    with file:
        found = file.execute(statement, values).fetchall()
    file.close()
    return found


def _text(value: Any) -> Any:
    """What is a BLOB in SQLite is a text in PostgreSQL."""
    return value.decode() if isinstance(value, bytes) else value


async def commit(store: FullStore, change: Change, run_key: str = "r") -> Thread:
    thread = await store.lease_thread("alice", "t", "support", run_key)
    await store.commit(thread, msgspec.structs.replace(change, status="finished"), run_key)
    after = await store.read_thread("alice", "t")
    assert after is not None
    return after


async def test_an_entry_of_an_unknown_kind_stays_as_it_was_written(store: FullStore) -> None:
    one, two, three, four = said("one", "two", "three", "four")
    thread = await commit(store, Change(entries=[one, UnreadEntry(HOLOGRAM), two, UnreadEntry(HOLOGRAM), three]))
    assert thread.entries == [one, UnreadEntry(HOLOGRAM), two, UnreadEntry(HOLOGRAM), three]
    after = await commit(store, Change(entries=[four]), "r2")
    assert ids(after) == ["one", "two", "three", "four"]
    back = await commit(store, Change(keep=4, entries=[four]), "r3")
    assert back.entries == [one, UnreadEntry(HOLOGRAM), two, UnreadEntry(HOLOGRAM), four]


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
async def test_what_is_written_is_never_written_anew(store: FullStore, place: str) -> None:
    """A part of a batch is kept by a branch: with its unknown members, kinds and spellings."""
    await commit(store, Change(entries=said("one")))
    user = b'{"type":"user", "id":"u", "content":[{"type":"text","text":"hi","lang":"en"}], "mood":"fine"}'
    written(place, "UPDATE journal SET count = 4, body = ?", b"[" + b",".join([user, HOLOGRAM, user, user]) + b"]")
    written(place, "UPDATE threads SET entries = 4")
    thread = await store.read_thread("alice", "t")
    assert thread is not None
    expected = UserEntry("u", (Text("hi"),))
    assert thread.entries == [expected, UnreadEntry(HOLOGRAM), expected, expected]
    back = await commit(store, Change(keep=3, entries=said("new")))
    assert back.entries == [expected, UnreadEntry(HOLOGRAM), expected, *said("new")]
    kept = b"[" + b",".join([user, HOLOGRAM, user]) + b"]"
    assert written(place, "SELECT count, body FROM journal ORDER BY seq")[0] in ((3, kept), (3, kept.decode()))


async def plant(store: FullStore, place: str, **columns: Any) -> None:
    """A record on a thread, changed as another version might have written it."""
    await ask(store, gated())
    text = f"UPDATE approvals SET {', '.join(f'{name} = ?' for name in columns)}"
    if isinstance(store, MemoryStore):
        store._database.execute(text, tuple(columns.values()))
    else:
        written(place, text, *columns.values())


@pytest.mark.parametrize(
    "columns",
    [{"state": "snoozed"}, {"state": "snoozed", "expires_at": 1}, {"state": "claimed", "runner": "elsewhere"}],
    ids=["state", "overdue", "runner"],
)
async def test_a_record_that_cannot_be_read_is_never_pending_and_never_run(
    store: FullStore, place: str, columns: dict[str, Any]
) -> None:
    await plant(store, place, **columns)
    thread = await store.read_thread("alice", "t")
    assert thread is not None
    (record,) = thread.approvals
    assert record.state is State.UNKNOWN
    assert record.output == NOT_READ
    assert not record.is_pending
    assert not record.overdue_at(10**15)
    assert await pending(store, "alice") == []
    (listed,) = (await store.list_approvals("alice", limit=10, which="decided")).approvals
    assert (listed.id, listed.state) == ("a1", State.UNKNOWN)
    calls = await store.read_calls("alice", "t")
    assert calls is not None
    assert [call.state for call in calls.approvals] == [State.UNKNOWN]
    assert (await store.list_threads("alice", limit=10)).threads[0].pending == 0
    if columns["state"] == "snoozed":
        for to in State:
            with pytest.raises(IllegalMove):
                await store.move("a1", to)
    if not isinstance(store, MemoryStore):
        names = ", ".join(columns)
        assert written(place, f"SELECT {names} FROM approvals") == [tuple(columns.values())]


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize(
    ("columns", "state", "way"),
    [
        ({"state": "done", "decision": '{"approved":true,"by":"bob","way":"telepathy","mood":"x"}'}, State.DONE, None),
        ({"state": "rejected", "decision": '{"approved":false,"way":"http","mood":"x"}'}, State.REJECTED, "http"),
        ({"state": "done", "style": "hologram"}, State.DONE, None),
        ({"state": "done", "output": '{"content":["parts"]}'}, State.DONE, None),
        ({"state": "pending", "style": "hologram"}, State.UNKNOWN, None),
        ({"state": "pending", "editable": '{"all":true}'}, State.UNKNOWN, None),
        ({"state": "claimed", "decision": '{"approved":"perhaps"}'}, State.UNKNOWN, None),
    ],
)
async def test_a_record_is_read_as_far_as_it_can_be(
    store: FullStore, place: str, columns: dict[str, Any], state: State, way: str | None
) -> None:
    await plant(store, place, **columns)
    record = await store.approval("alice", "a1")
    assert record is not None
    assert record.state is state
    assert (record.decision.way if record.decision else None) == way
    assert await pending(store, "alice") == []
    assert (record.id, record.tool, record.arguments) == ("a1", "refund", '{"amount":50}')


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
async def test_a_thread_that_cannot_be_read_safely_is_refused_alone(store: FullStore, place: str) -> None:
    """A turn with a part that nobody here knows: its calls may hang on it."""
    await commit(store, Change(entries=said("one")))
    other = await store.lease_thread("alice", "other", "support", "r9")
    await store.commit(other, Change(entries=said("fine"), status="finished"), "r9")
    turn = b'[{"type":"turn","id":"a","parts":[{"type":"hologram"}]}]'
    for body in (turn, b'[{"type":5}]', b'[{"id":"x"}]', b"[5]", b'[{"type":'):
        written(place, "UPDATE journal SET body = ? WHERE thread = (SELECT key FROM threads WHERE id = 't')", body)
        for attempt in (store.read_thread("alice", "t"), store.lease_thread("alice", "t", "support", "r2")):
            with pytest.raises(Unreadable, match="can't read safely"):
                await attempt
        assert ids(await store.read_thread("alice", "other")) == ["fine"]
        page = await store.list_threads("alice", limit=10)
        assert {(head.id, head.run_status) for head in page.threads} == {("t", "finished"), ("other", "finished")}
    thread = await store.lease_thread("alice", "t", "support", "r3", whole=False)
    await store.delete_thread(thread, "r3")
    assert await store.read_thread("alice", "t") is None


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
async def test_what_cannot_be_read_is_not_forgotten(store: FullStore, place: str, clock: Clock) -> None:
    """It may wait, as that version knows. What finished waits for nothing, whoever wrote it."""
    await plant(store, place, state="snoozed")
    for name, status in (("stopped", "cancelled"), ("over", "finished")):
        thread = await store.lease_thread("alice", name, "support", name)
        await store.commit(thread, Change(entries=said(name), status=status), name)  # type: ignore[arg-type]
    written(place, "UPDATE journal SET body = ?", b'[{"type":"turn","id":"a","parts":[{"type":"hologram"}]}]')
    clock.advance(10)
    assert (await store.sweep(Ages(threads=10))).threads == 1
    assert {head.id for head in (await store.list_threads("alice", limit=10)).threads} == {"t", "stopped"}


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
async def test_what_only_helps_may_be_unreadable(store: FullStore, place: str) -> None:
    """What a provider remembers, and how the last run ended: neither is needed to go on."""
    await commit(store, Change(entries=said("one")))
    written(place, "UPDATE threads SET ref = ?, run_status = ?", '{"turn":["other"]}', "paused")
    thread = await store.read_thread("alice", "t")
    assert thread is not None
    assert (thread.ref, thread.run_status) == (None, "interrupted")
    (head,) = (await store.list_threads("alice", limit=10)).threads
    assert head.run_status == "interrupted"
    assert ids(await commit(store, Change(entries=said("two")))) == ["one", "two"]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_columns_of_another_version_are_left_alone(store: FullStore, place: str) -> None:
    await commit(store, Change(entries=said("one", "two")))
    await plant(store, place, state="pending")
    tables = ("threads", "journal", "approvals", "tombstones", "checks", "processes", "clock")
    for table in tables:
        written(place, f"ALTER TABLE {table} ADD COLUMN novelty TEXT")
        written(place, f"UPDATE {table} SET novelty = 'kept'")
    thread = await commit(store, Change(keep=1, entries=said("three"), state={"a": 1}), "r2")
    assert ids(thread) == ["one", "three"]
    await store.check()
    assert (await store.move("a1", State.CLAIMED)).state is State.CLAIMED
    for table in ("threads", "approvals"):
        assert written(place, f"SELECT novelty FROM {table}") == [("kept",)]
    assert written(place, "SELECT novelty FROM journal ORDER BY seq") == [("kept",), (None,)]


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
async def test_a_notice_of_an_unknown_kind_is_left_for_who_knows_it(store: FullStore, place: str) -> None:
    await ask(store, gated())
    written(place, "UPDATE outbox SET kind = 'hologram' WHERE kind = 'approval_pending'")
    (known,) = await store.take_notices("one", limit=100)
    assert known.kind == "run_ended"
    for limit in (100, 0):
        assert not await store.take_notices("one", told=[known.id], limit=limit)
    assert not await store.take_notices("two", limit=100)
    assert written(place, "SELECT kind FROM outbox") == [("hologram",)]


async def test_a_record_that_cannot_be_read_outlives_its_thread(store: FullStore, place: str) -> None:
    """It may have run, so a tombstone says that nobody knows."""
    await plant(store, place, state="snoozed")
    thread = await store.lease_thread("alice", "t", "support", "r3", whole=False)
    await store.delete_thread(thread, "r3")
    (tomb,) = await store.tombstones("alice")
    assert (tomb.id, tomb.state) == ("a1", State.UNKNOWN)


async def test_what_is_cut_off_behind_something_unknown_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        decode_entries(b"[" + HOLOGRAM + b',{"type":"us]')
