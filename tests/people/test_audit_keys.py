"""The keyed audit trail: who owns the database, and not the key, changes nothing unnoticed."""

import random
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg import sql
from structlog.testing import capture_logs

from agui_gate import ConfigurationError, Principal, create_app
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, State
from agui_gate.core.audit import Event, event_hash
from agui_gate.core.freezes import Freeze
from agui_gate.core.transcript import Output
from agui_gate.extras.audit.entries import END, view
from agui_gate.extras.audit.heads import Heads
from agui_gate.extras.audit.keys import Keys, key_id, keyed
from agui_gate.extras.audit.verification import Checked, read_head, read_heads, verify
from agui_gate.protocol.cards import record
from agui_gate.stores import open_store
from agui_gate.stores.audit import Part
from agui_gate.stores.base import Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.deliveries import Step
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.operators import Act
from tests.people.desk import Desk
from tests.product.inprocess import started
from tests.requirements import shows
from tests.stores.support import ask, gated
from tests.support.chance import some

pytestmark = [pytest.mark.anyio, shows("K1")]

KEY, OTHER = "k" * 40, "o" * 40
PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "ben": Principal("ben", "acme", ("finance",), claims={"acr": "mfa"}),
    "cat": Principal("cat", "acme", ("finance",)),
}
NOT_COVERED = {("approvals", "seq")}
"""The order of rows, which says nothing by itself."""


def url_of(place: Path | str) -> str:
    """The URL of a store: a file's, or it is one."""
    return f"sqlite:///{place}" if isinstance(place, Path) else place


async def store_of(place: Path | str, *keys: str) -> FullStore:
    """The store there, signed by these keys; open."""
    store: Any = open_store(url_of(place))
    keyed(store, Settings(audit_key=keys))
    await store.start()
    return store  # type: ignore[no-any-return]  # it is one


async def verified(place: Path | str, *keys: str, heads: Sequence[str] = ()) -> list[str]:
    """What is wrong with the store there."""
    store: Any = open_store(url_of(place), any_past=True)
    await store.start()
    try:
        checked: Checked = await verify(store, list(map(read_head, heads)), _keys(keys))
    finally:
        await store.aclose()
    return [place.why for place in checked.broken]


def _keys(keys: Sequence[str]) -> Keys | None:
    return Keys([key.encode() for key in keys]) if keys else None


def execute(path: Path, statement: str, *values: Any) -> list[Any]:
    """What the owner of the database does."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def content(path: Path) -> bytes:
    """What a file has."""
    return path.read_bytes()


async def worked(place: Path | str, *keys: str) -> None:
    """Calls that end in all ways."""
    store = await store_of(place, *keys)
    try:
        people: dict[str, Any] = {"approvers": "finance", "needs": 2, "editable": ["amount"], "expires_after": 3600}
        async with Desk(PEOPLE, **people).open(store) as desk:
            for thread in ("t1", "t2", "t3", "t4"):
                approval_id = await desk.ask("ada", thread=thread)
                if thread == "t4":
                    continue
                edited = {"order_id": "A1", "amount": 15}
                if thread == "t3":
                    await desk.decide("ben", approval_id, False, reason="no")
                    continue
                await desk.decide("ben", approval_id, edited_arguments=edited)
                await desk.decide("cat", approval_id, effective_arguments=edited)
                desk.people["dan"] = Principal("dan", "acme", ("finance",))
                await desk.decide("dan", approval_id, effective_arguments=edited)
            await desk.say("ada", "more", "t1")
    finally:
        await store.aclose()


@pytest.fixture
async def place(tmp_path: Path) -> Path:
    path = tmp_path / "gate.db"
    await worked(path, KEY)
    return path


async def test_a_whole_trail_is_whole(place: Path) -> None:
    assert await verified(place, KEY) == []
    assert await verified(place, OTHER, KEY) == []
    assert set(await verified(place)) >= {"it is signed by a key that is not given"}
    events = execute(place, "SELECT count(*), sum(key_id = ?) FROM approval_events", key_id(KEY.encode()))
    assert events[0][0] == events[0][1] > 15


def _changes(path: Path) -> list[tuple[str, str, int]]:
    """Every column of every row of ledger and trail."""
    found = []
    for table in ("approvals", "approval_events"):
        columns = [row[1] for row in execute(path, f"PRAGMA table_info({table})")]
        rows = execute(path, f"SELECT count(*) FROM {table}")[0][0]
        found += [(table, name, row) for name in columns if (table, name) not in NOT_COVERED for row in range(rows)]
    return found


def _other(value: Any, chance: random.Random) -> Any:
    """Another value than this one, of its type where it has one."""
    new = value
    while new == value:
        new = _some_other(value, chance)
    return new


def _some_other(value: Any, chance: random.Random) -> Any:
    if value is None:
        return chance.choice([7, "x", '{"approved":true,"by":"mallory"}'])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + chance.choice([-1, 1, 3_600_000])
    if value.startswith("{") and chance.random() < 0.5:
        return value.replace("a", "b", 1) if "a" in value else "{}"
    place = chance.randrange(len(value) + 1)
    return chance.choice([value[:place] + "x" + value[place:], value[1:] or "y", value + "0"])


async def test_whatever_the_owner_of_the_database_changes_is_found(place: Path, tmp_path: Path) -> None:
    """Each column in turn, in a row by chance; some of them as texts that mean the same to a reader."""
    chance = random.Random(23)
    every = _changes(place)
    chance.shuffle(every)
    columns = {(table, name): (table, name, row) for table, name, row in every}
    wanted = [*columns.values(), *every][: some(len(columns) + 10, 1_000)]
    while len(wanted) < some(0, 1_000):
        wanted.append(chance.choice(every))
    missed = []
    copy = tmp_path / "copy.db"
    for table, name, row in wanted:
        shutil.copyfile(place, copy)
        key = "seq" if table == "approvals" else "thread, seq"
        ((old, *where),) = execute(copy, f"SELECT {name}, {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {row}")
        new = _other(old, chance)
        condition = " AND ".join(f"{column} = {value}" for column, value in zip(key.split(", "), where, strict=True))
        try:
            execute(copy, f"UPDATE {table} SET {name} = ? WHERE {condition}", new)
        except sqlite3.IntegrityError:
            continue  # the database itself refuses it
        try:
            found = await verified(copy, KEY)
        except Exception as error:
            found = [type(error).__name__]
        if not found:
            missed.append((table, name, old, new))
    assert missed == []


async def missed_in_postgres(url: str, verified: Callable[[], Awaitable[list[str]]], number: int) -> list[Any]:
    """Changes ``number`` values of ledger and trail, one at a time, each column in turn in a row by chance, and puts
    each back as it was. Returns those that were not found.
    """
    chance, missed, kept = random.Random(29), list[Any](), 0
    with psycopg.connect(url, autocommit=True) as owner:
        named = owner.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' "
            "AND table_name IN ('approvals', 'approval_events') ORDER BY 1, 2"
        ).fetchall()
        columns = [column for column in named if column not in NOT_COVERED]
        chance.shuffle(columns)
        for place in range(number):
            table, name = map(sql.Identifier, columns[place % len(columns)])
            pick = sql.SQL("SELECT ctid::text, {} FROM {} ORDER BY md5(ctid::text || {}) LIMIT 1")
            ((row, old),) = owner.execute(pick.format(name, table, str(chance.random()))).fetchall()
            change = sql.SQL("UPDATE {} SET {} = %s WHERE ctid = %s::tid RETURNING ctid::text").format(table, name)
            new = _other(old, chance)
            try:
                ((row,),) = owner.execute(change, [new, row]).fetchall()
            except (psycopg.IntegrityError, psycopg.DataError, psycopg.ProgrammingError):
                kept += 1  # the database itself refuses it
                continue
            try:
                found = await verified()
            except Exception as error:
                found = [type(error).__name__]
            owner.execute(change, [old, row])
            if not found:
                missed.append((*columns[place % len(columns)], old, new))
    assert await verified() == []
    assert kept < number / 2
    return missed


async def test_so_it_is_in_postgres(tables: str) -> None:
    """As above, in a database with types. Some columns; all of them by night."""
    await worked(tables, KEY)
    assert await missed_in_postgres(tables, lambda: verified(tables, KEY), some(12, 1_000)) == []


async def test_a_chain_that_was_written_anew_without_the_key_is_found(place: Path) -> None:
    columns = ", ".join(name for name in Event.__struct_fields__)
    ((thread,),) = execute(place, "SELECT thread FROM approval_events WHERE thread_id = 't3' LIMIT 1")
    rows = execute(place, f"SELECT {columns} FROM approval_events WHERE thread = ? ORDER BY seq", thread)
    prev = ""
    for row in rows:
        members = dict(zip(Event.__struct_fields__, row, strict=True))
        changed = {"thread": str(members["thread"]), "prev": prev, "key_id": ""}
        event = Event(**members | changed | {"by": members["by"] and "mallory"})
        prev = event_hash(event)
        execute(
            place,
            "UPDATE approval_events SET by = ?, prev = ?, hash = ?, key_id = '' WHERE thread = ? AND seq = ?",
            event.by, event.prev, prev, thread, event.seq,
        )  # fmt: skip
    assert await verified(place, KEY) == [
        *["it is not signed, and events before it are"] * len(rows),
        "approval " + rows[0][7] + ": its record has another decision, or a decision of another person",
    ]


async def test_all_heads_are_told_also_of_more_chains_than_one_read_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agui_gate.extras.audit.heads.STEP", 2)
    store: Any = await store_of(tmp_path / "store.db", KEY)
    heads = Heads()
    await heads.start(type("Server", (), {"store": store})())
    for number in range(5):
        await ask(store, gated(f"a{number}", thread_id=f"t{number}"), thread_id=f"t{number}")
    found = {event.head for event in (await store.read_events(limit=100)).events if event.kind == "asked"}
    assert set(await heads.log_heads()) == found
    assert await heads.log_heads() == []
    await store.aclose()


async def test_an_end_that_was_cut_off_is_found_by_a_head_of_the_log(place: Path) -> None:
    """A question that was shown again changes no record, so nothing else tells of it."""
    store: Any = await store_of(place, KEY)
    heads = Heads()
    await heads.start(type("Server", (), {"store": store})())
    thread = (await store.read_events(limit=100)).events[-1]
    asked = (await store.read_ledger(thread.thread))[0]
    from agui_gate.core.audit import shown

    await store.note([shown(asked, "ada", "card", "")])
    with capture_logs() as lines:
        told = await heads.log_heads()
        await heads.stop()
    await store.aclose()
    assert [(line["event"], line["log_level"]) for line in lines] == [("audit_head", "info")]
    head = lines[0]["head"]
    assert [(one.thread, one.seq) for one in told] == [tuple_of(head)]
    assert await verified(place, KEY, heads=[head]) == []
    execute(place, "DELETE FROM approval_events WHERE thread = ? AND seq = ?", *map(int, head.split(":")[:2]))
    assert await verified(place, KEY) == []
    assert await verified(place, KEY, heads=[head]) == ["it is missing: truncated, removed, or expired with its chain"]
    assert read_heads([f"2026-11-27 INFO agui_gate.audit: event=audit_head head={head}", "", "more"]) == [
        read_head(head)
    ]
    with pytest.raises(ConfigurationError):
        read_heads(["nothing"])
    assert read_heads(["", "\n"]) == [], "of a trail that has none yet"
    execute(place, "UPDATE approval_events SET tenant = 'x' WHERE thread = ?", int(head.split(":")[0]))
    assert "rows of the trail were given to another tenant" in await verified(place)


def tuple_of(head: str) -> tuple[str, int]:
    thread, seq, _ = head.split(":")
    return thread, int(seq)


async def test_keys_are_changed_while_two_are_valid(tmp_path: Path) -> None:
    path = tmp_path / "gate.db"
    await worked(path)
    assert await verified(path) == []
    for keys in ((KEY,), (OTHER, KEY)):
        store = await store_of(path, *keys)
        async with Desk(PEOPLE, approvers="finance").open(store) as desk:
            await desk.decide("cat", await desk.ask("ada", thread=f"by {keys[0][0]}"))
            await desk.decide("ada", await desk.ask("ada", thread=f"no by {keys[0][0]}"), False)
        await store.aclose()
    assert await verified(path, OTHER, KEY) == [], "those of before stay as they are"
    assert set(await verified(path, OTHER)) == {"it is signed by a key that is not given"}
    await worked_more(path)
    assert set(await verified(path, OTHER, KEY)) == {"it is not signed, and events before it are"}
    execute(path, "DELETE FROM approval_events WHERE thread = 0")
    assert "the trail does not say since when its events are signed" in await verified(path, OTHER, KEY)


async def worked_more(path: Path) -> None:
    """A call by a server to which nobody gave the key."""
    store: Any = open_store(f"sqlite:///{path}")
    async with Desk(PEOPLE, approvers="finance").open(store) as desk:
        await desk.decide("cat", await desk.ask("ada", thread="without"))
    await store.aclose()


async def test_without_the_file_nothing_starts_and_nothing_is_lost(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    settings = Settings(store=f"sqlite:///{place}", audit_key_file=str(file))
    agent = Desk(PEOPLE).agent()
    before = content(place)
    with pytest.raises(ConfigurationError, match=r"keys of the audit trail, .*keys, can't be read: No such file"):
        create_app(agent, settings=settings)
    assert content(place) == before
    file.write_text("# from the vault\n\n")
    with pytest.raises(ConfigurationError, match="AGUI_GATE_AUDIT_KEY_FILE needs keys of 32 characters"):
        create_app(agent, settings=settings)
    file.write_text(f"{KEY}\n{KEY}\n")
    with pytest.raises(ConfigurationError, match="has a key twice"):
        create_app(agent, settings=settings)
    with pytest.raises(ConfigurationError, match="not both"):
        create_app(agent, settings=Settings(audit_key=(KEY,), audit_key_file=str(file)))
    file.write_text(f"# from the vault\n{KEY}\n")
    async with started(create_app(agent, settings=settings)):
        pass
    assert await verified(place, KEY) == []


def test_a_store_that_can_t_sign_is_named() -> None:
    with pytest.raises(ConfigurationError, match="can't sign"):
        keyed(object(), Settings(audit_key=(KEY,)))  # type: ignore[arg-type]  # a store of somebody's own


async def test_a_restored_backup_is_signed_on(place: Path) -> None:
    store: Any = await store_of(place, KEY)
    await store.begin_epoch()
    await store.aclose()
    assert await verified(place, KEY) == []
    execute(place, "UPDATE approvals SET was = '' WHERE was <> ''")
    assert [why.partition(": ")[2] for why in await verified(place, KEY)] == ["its record was changed"]


def test_settings_mask_keys() -> None:
    settings = Settings(audit_key=(KEY, OTHER))
    assert KEY not in settings.shown("audit_key")
    assert KEY not in repr(settings)
    with pytest.raises(ConfigurationError, match="32 characters"):
        Settings(audit_key=("short",))
    assert msgspec.json.encode({"id": key_id(KEY.encode())}) != KEY.encode()


async def test_every_change_of_a_record_is_signed(store: FullStore) -> None:
    """Those of operators, of the clock, of escalations and of restored backups, too, on every store."""
    keyed(store, Settings(audit_key=(KEY,)))
    await store.start()
    act, found = Act("olga", "why not"), Output("found out")
    yes = Decision(True, "bob", "s3cret", edited_arguments='{"amount":20}', way="http")
    await ask(
        store, *(gated(name) for name in ("done", "unknown", "no", "waits", "step")), gated("task", runner="agent")
    )
    await ask(store, gated("expires", expires_at=1), thread_id="late")
    await store.move("done", State.CLAIMED, decision=yes)
    await store.move("done", State.DONE, output=Output("refunded", is_error=True))
    await store.move("task", State.CLAIMED, decision=yes)
    await store.move("task", State.DONE)
    await store.move("unknown", State.CLAIMED, decision=yes)
    await store.move("unknown", State.UNKNOWN, output=Output("?"))
    await store.move("no", State.REJECTED, decision=Decision(False, "bob", way="http"))
    steps = [Step("step", "escalated", 2, "lead")]
    await store.deliveries().plan(steps, 0)
    assert await store.deliveries().take_step(steps[0], tell=True) is not None
    thread = await store.lease_thread("alice", "t", "support", "decide_1", whole=False)
    await store.operators.settle("unknown", State.DONE, found, act, "decide_1")
    await store.operators.hand_on(thread, "bob", act, "decide_1")
    await store.commit(thread, Change(replaced=["no"], status="waiting"), "decide_1")
    for lift in (False, True):
        await store.operators.freeze(Freeze(tool="x", reason="why not"), act, lift=lift)
    await store.expire()

    async def differences() -> list[str]:
        checked: Checked = await verify(store, [], Keys([KEY.encode()]))
        return [place.why for place in checked.broken if "not in the thread's journal" not in place.why]

    assert await differences() == []
    if not isinstance(store, MemoryStore):
        await store.begin_epoch()
        assert await differences() == []
    told = {one.event.kind for one in await store.trail.read(Part(), END, 100)}
    assert told >= {"settled", "handed_on", "escalated", "expired", "replaced", "frozen", "lifted", "keyed"}
    entries = [view(one, record, True) for one in await store.trail.read(Part(), END, 100)]
    sentences = [one["text"] for one in entries]
    assert "olga handed thread t on from alice to bob: “why not”" in sentences
    assert "olga froze gated calls of tool x: “why not”" in sentences
    assert "olga lifted the freeze of gated calls of tool x: “why not”" in sentences
    story = [(one["text"], one["result"]) for one in entries if one["approval_id"] == "unknown"][:3]
    assert story == [
        ("It counts as done.", "found out"),
        ("olga found out that it took effect: “why not”", None),
        ("It may have run: it was interrupted before it could say so.", None),
    ], "what was found out later is no result of what was not known"
    assert "Nobody had decided it, so lead may, too." in sentences
