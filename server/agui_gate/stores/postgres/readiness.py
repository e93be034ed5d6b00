"""Checks whether a PostgreSQL store can be used, at its start and later; and reads its clock.

The store's clock is the database's. Leases go by what it says now, ``:ticks``. Times that people see, and expiry, go by
``:now``. That never goes back: where the database's clock is set back, it stands still until it is caught up with.

Servers that use a database now are known by the bus: whoever listens to its notes holds a lock for as long as the
connection lasts, together with all others. PostgreSQL gives it back when the connection ends, however it ends.
Everybody may see who has it, also through a pooler. A server with another bus has none: its own connections may be a
pooler's, and say nothing of it.
"""

import asyncio
import time
from contextlib import suppress

from agui_gate.errors import Unavailable
from agui_gate.stores.clock import Clock, wall_clock
from agui_gate.stores.postgres import schema
from agui_gate.stores.postgres.connection import ANSWER_SECONDS
from agui_gate.stores.postgres.errors import AWAY, NOT_OURS, OutcomeUnknown, Trouble
from agui_gate.stores.postgres.link import Link, parameters
from agui_gate.stores.postgres.literals import Given
from agui_gate.stores.postgres.transaction import Guard
from agui_gate.stores.postgres.variant import PAST
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.upgrade import UPGRADE_SECONDS, Upgrade

SKEW_MS = 60_000
"""Milliseconds by which the clocks of this machine and of the database may differ."""

_TICKS = "floor(date_part('epoch', clock_timestamp()) * 1000)::bigint"
_TENANT = ("tenant", "''")
_GIVEN: Given = (
    ("ticks", f"({_TICKS})"),
    # An expression of its own, which PostgreSQL works out once a statement: so an index can be used with it.
    ("now", f"(SELECT greatest({_TICKS}, max(seen)) FROM clock)"),  # noqa: S608 ours
    _TENANT,
)

_SEEN = "UPDATE clock SET seen = :now"
_CHECKED = (
    "INSERT INTO checks (one, checked_at) VALUES (1, :now) "
    "ON CONFLICT (one) DO UPDATE SET checked_at = excluded.checked_at"
)
_SAME_PAST = f"(SELECT goes_on_in FROM epoch) = {PAST}"  # noqa: S608 ours
_TIMES = f"SELECT :now, :ticks, {_SAME_PAST}"
_FIRST = f"UPDATE epoch SET goes_on_in = {PAST} WHERE goes_on_in IS NULL"  # noqa: S608 ours
_ROOM = (
    "SET LOCAL temp_tablespaces = ''",  # where the database is: they may be on another disk
    "CREATE TEMPORARY TABLE agui_gate_room ON COMMIT DROP AS SELECT generate_series(1, 30000)",
)
NO_RIGHT = "42501"
_UTF8 = "SELECT current_setting('server_encoding') = 'UTF8'"


class DatabaseClock:
    """Gives the values of ``:now``, ``:ticks`` and ``:tenant`` in statements, and what the clock says by now.

    ``by_hand``: a clock that stands in for the database's.
    """

    def __init__(self, by_hand: Clock | None = None) -> None:
        self.by_hand = by_hand
        self._ahead = 0

    def given(self) -> Given:
        """See `literals.bind`."""
        if self.by_hand is None:
            return _GIVEN
        now = str(self.by_hand())
        return ("ticks", now), ("now", now), _TENANT

    def __call__(self) -> int:
        """Returns ms since the epoch: the database's clock as it was read last, and what has passed since."""
        return self.by_hand() if self.by_hand else _passed() + self._ahead

    def read(self, now: int, asked: int) -> None:
        """Be told that it says ``now``, by who asked at ``asked``."""
        self._ahead = now - (asked + _passed()) // 2


def _passed() -> int:
    return time.monotonic_ns() // 1_000_000


GUARD = Guard(_SAME_PAST.encode(), schema.another_past)
"""A guard: nobody decides, claims or asks in another past. A pooler may lead from one database to another at any
time.
"""


async def check(link: Link, clock: DatabaseClock, tables: schema.Tables) -> None:
    """Raises `Unavailable` unless a read and a write work now, with tables that this code knows, by a right clock."""
    asked, began = _passed(), wall_clock()
    now, ticks, version, oldest, same_past = await link.run("write", lambda: _look(_CHECKED))
    clock.read(now, asked)
    tables.read(version, oldest, same_past)
    if clock.by_hand is None and not began - SKEW_MS < ticks < wall_clock() + SKEW_MS:
        raise Unavailable(
            f"The clocks of this machine and of PostgreSQL's are {abs(ticks - began) // 1000:,} seconds apart: "
            "approvals and leases need them to agree. Correct them."
        )


NO_ROOM = ("53100", "58030")
"""SQLSTATEs of a write for which the disk has no room, or that fails."""
NO_ROOM_SECONDS = 30.0
"""Seconds for which such a write counts where nothing tells whether there is room by now."""


class Room:
    """Whether the database's disk has room, as far as its store was told. A small write may go well on a full disk, so
    none says that there is room again.
    """

    def __init__(self) -> None:
        self._refusal: Trouble | None = None
        self._refused_at = 0.0

    def refused(self, error: Trouble) -> None:
        """Be told of an operation that was refused."""
        if error.state in NO_ROOM:
            self._refusal, self._refused_at = error, time.monotonic()

    async def check(self, link: Link) -> None:
        """Raises `Unavailable` since the disk was full, until there is room. Costs nothing if it wasn't."""
        if self._refusal is None:
            return
        is_known = await check_room(link)
        if not is_known and time.monotonic() < self._refused_at + NO_ROOM_SECONDS:
            raise Unavailable(self._refusal.message)
        self._refusal = None


async def check_room(link: Link) -> bool:
    """Raises `Unavailable` if the disk is full: a megabyte is written to a table that isn't kept. False for a role that
    may make no such tables, which is not told.
    """
    try:
        await link.run("write", lambda: _look(*_ROOM))
    except Trouble as error:
        if error.state != NO_RIGHT:
            raise
        return False
    return True


async def prepare(link: Link, clock: DatabaseClock, tables: schema.Tables) -> None:
    """Makes sure that it can be worked with, and migrates if that is needed. Raises `Unavailable`."""
    await migrate(link)
    if names := await link.run("read", schema.lacking):
        raise Unavailable(
            f"The store's role lacks rights on {', '.join(names)}: it needs SELECT, INSERT, UPDATE and DELETE."
        )
    await link.run("write", _begin)
    with suppress(Unavailable):  # it only makes things quicker
        await link.run("write", schema.count_unknown)
    await check(link, clock, tables)


def _begin() -> Steps[None]:
    """Writes, as the first server, in which past the epoch goes on."""
    yield Last([Statement(_FIRST)])


MIGRATE_TRIES = 5
"""Tries of a migration that finds a table locked. Each waits `schema.LOCK_MS` for it."""
MIGRATE_PAUSE_SECONDS = 1.0
"""Seconds between two of them, in which requests that waited behind it get through."""
LOCKED = "55P03"


async def migrate(link: Link) -> int:
    """Applies the migrations that are missing, and returns how many. Raises `Unavailable`."""
    version, oldest = await link.run("read", schema.read)
    schema.require(version, oldest)
    if version >= schema.known():
        return 0
    if not await link.run("read", _is_utf8):
        raise Unavailable("The store's database has another encoding than UTF8: make one with ENCODING 'UTF8'.")
    upgrade, left, until = Upgrade(version, schema.known()), MIGRATE_TRIES, _passed() + UPGRADE_SECONDS * 1000
    while True:
        try:
            done = await link.run("durable", lambda: schema.migrate(upgrade), within=UPGRADE_SECONDS + ANSWER_SECONDS)
        except (Trouble, OutcomeUnknown) as error:
            left -= 1
            upgrade.waits(f"{await _holder(link, error, upgrade, left)}, which keeps a table locked")
        else:
            if done is not None:
                upgrade.end()
                return done
            if (pid := await link.run("read", schema.migrating)) is not None:
                upgrade.waits(f"PostgreSQL's process {pid}, which migrates the tables")
                if _passed() > until:
                    raise Unavailable(
                        f"PostgreSQL's process {pid} migrates the store's tables, and doesn't come to an end. "
                        "See what it does (pg_stat_activity), and start again."
                    )
        await asyncio.sleep(MIGRATE_PAUSE_SECONDS)


async def schema_of(url: str) -> int:
    """Returns the version of the tables as they are; 0 if there are none. Raises `Unavailable`."""
    link = Link(parameters(url), DatabaseClock().given)
    try:
        version, _ = await link.run("read", schema.read)
    finally:
        await link.aclose()
    return version


async def _holder(link: Link, error: Trouble | OutcomeUnknown, upgrade: Upgrade, left: int) -> str:
    """Returns who keeps a table locked. Raises `Unavailable` if no try is left, or ``error`` is another one."""
    if not isinstance(error, Trouble) or error.state != LOCKED:
        raise _refusal(error, upgrade) from None
    pid, name = await link.run("read", schema.holder) or (None, "")
    who = "another process of PostgreSQL" if pid is None else f"PostgreSQL's process {pid}"
    who = f"{who} ({name})" if name else who
    if not left:
        raise Unavailable(
            f"The store's tables have to be migrated, and {who} keeps them locked. "
            "End it, or wait for its end, and start again."
        )
    return who


def _refusal(error: Trouble | OutcomeUnknown, upgrade: Upgrade) -> Unavailable:
    if isinstance(error, OutcomeUnknown):
        return Unavailable(
            "The connection to PostgreSQL broke at the end of the migration, so it is not known whether it was saved. "
            "Run agui-gate migrate, or start again: it goes by what was saved."
        )
    match error.state:
        case "42501" | "3F000":
            state = "old" if upgrade.old else "missing"
            return Unavailable(
                f"The store's tables are {state}, and its role may not create them: "
                "run agui-gate migrate with a role that may."
            )
        case "42P07":
            return Unavailable(
                "The store's database has tables of another application; choose another database or schema."
            )
        case _ if upgrade.step:
            why = "the connection to the database broke" if error.why == AWAY else error.why
            return Unavailable(
                f"The migration failed at {upgrade.step}: {why}. "
                "Nothing was changed. Run agui-gate migrate, or start again."
            )
        case _:
            return error


async def beat(link: Link, clock: DatabaseClock, tables: schema.Tables) -> None:
    """Reads the clock, and notes what it says, for the case that it is set back. Raises `Unavailable` if somebody has
    migrated the tables to what this code doesn't know.
    """
    asked = _passed()
    now, _, version, oldest, same_past = await link.run("write", _look)
    clock.read(now, asked)
    tables.read(version, oldest, same_past)


def _look(*first: str) -> Steps[tuple[int, int, int, int, bool]]:
    *_, times, version = yield Last([Statement(text) for text in (*first, _SEEN, _TIMES, schema.READ)])
    if not version.rows:
        raise Trouble(NOT_OURS)
    (now, ticks, same_past), found = times.rows[0], version.rows[0]
    return now, ticks, *found, same_past is True


def _is_utf8() -> Steps[bool]:
    (found,) = yield Last([Statement(_UTF8)])
    return bool(found.rows == [(True,)])


_OURS = 1_635_214_695
"""The first half of the lock's name: a number of ours. The other half is the schema's, where the tables are."""

HERE = f"SELECT pg_try_advisory_lock_shared({_OURS}, hashtext(current_schema()))".encode()
"""Take it."""

_HOLDERS = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 "  # noqa: S608 ours
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    f"AND classid = {_OURS} AND objid = hashtext(current_schema())::oid ORDER BY pid"
)


def servers() -> Steps[list[int]]:
    """Returns the ids of PostgreSQL's own processes that serve those who hear."""
    (found,) = yield Last([Statement(_HOLDERS)])
    return [pid for (pid,) in found.rows]
