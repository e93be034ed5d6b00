"""The tables of a PostgreSQL store: which version they have, who can work with them, and how they are made.

``agui_schema`` has one row. ``version`` counts the migrations that were applied. ``oldest_reader`` is the oldest
version of the code (by the migrations that it knows) that may still work with these tables. So the replicas of two
neighbouring versions run side by side while a deployment is upgraded. A migration that only adds something leaves
`OLDEST_READER` as it is. One that an older version can't live with raises it.

Migrations go forward only. They are applied in one transaction, under a lock: of replicas that start at once, one
applies them, and the others wait for it.
"""

import re
from functools import cache
from importlib.resources import files

from agui_gate.errors import Unavailable
from agui_gate.stores.epochs import ANOTHER_PAST
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.upgrade import UPGRADE_SECONDS, Upgrade

OLDEST_READER = 1
"""The oldest version that can work with the tables that the newest migration makes."""

_LOCK = 4_707_201_841_101
"""The number, of our own, of the advisory lock that guards migrations. It ends with its transaction."""

LOCK_MS = 2_000
"""Milliseconds for which a migration waits for a lock. All who use the table wait behind it meanwhile."""

_ALONE = f"SELECT pg_try_advisory_xact_lock({_LOCK})"
_BOUNDS = (
    f"SET LOCAL lock_timeout = {LOCK_MS}",
    f"SET LOCAL statement_timeout = {UPGRADE_SECONDS * 1000:.0f}",
)
_LOOK = (
    "DO $$ BEGIN PERFORM set_config('client_connection_check_interval', '5s', true); "
    "EXCEPTION WHEN invalid_parameter_value THEN END $$"
)
"""Has PostgreSQL end a long statement whose client is gone, which would keep the tables locked. Where its system can't
tell that (Windows), it refuses the setting.
"""

_FIRST = "CREATE TABLE agui_schema (one smallint PRIMARY KEY, version integer NOT NULL, oldest_reader integer NOT NULL)"
_WRITE = (
    "INSERT INTO agui_schema (one, version, oldest_reader) VALUES (1, :version, :oldest) "
    "ON CONFLICT (one) DO UPDATE SET version = excluded.version, oldest_reader = excluded.oldest_reader"
)
# Read from the catalogue itself: PostgreSQL remembers for the length of a transaction that a name means nothing.
_THERE = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'agui_schema' AND pg_table_is_visible(oid))"
READ = "SELECT version, oldest_reader FROM agui_schema"
_TABLE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)
_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")
_TRAIL = "approval_events"
"""The table that is only added to. Who deletes old events (`AGUI_GATE_RETENTION_…`) needs DELETE on it."""
_LACKING = (
    "SELECT name FROM unnest(:tables) AS name WHERE NOT ("  # noqa: S608 our names
    + " AND ".join(
        f"(coalesce(has_table_privilege(to_regclass(name), '{right}'), false)"
        + (f" OR name = '{_TRAIL}')" if right in ("UPDATE", "DELETE") else ")")
        for right in _RIGHTS
    )
    + ")"
)

_HOLDER = (
    "SELECT pid, application_name FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE relation IN (SELECT to_regclass(name) FROM unnest(:tables) AS name) AND granted "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid() "
    "AND coalesce(xact_start < now() - :ms * interval '1 ms', true) ORDER BY xact_start LIMIT 1"
)
_MIGRATING = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 "  # noqa: S608 ours
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    f"AND classid = {_LOCK >> 32} AND objid = {_LOCK & 0xFFFF_FFFF}"
)
_UNKNOWN = (
    "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
    "AND relname = ANY(:tables) AND pg_relation_size(oid) > 0 AND NOT EXISTS "
    "(SELECT FROM pg_stats WHERE schemaname = current_schema() AND tablename = relname AND attname = 'tenant')"
)


@cache
def _migrations() -> list[list[str]]:
    """Returns the statements of each migration, oldest first; the first one leads to version 1. A line's end ends
    them.
    """
    folder = files("agui_gate.stores.postgres") / "migrations"
    scripts = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [re.split(r";\s*\n", script.read_text(encoding="utf-8").strip() + "\n")[:-1] for script in scripts]


def known() -> int:
    """Returns the version that this code makes."""
    return len(_migrations())


def tables() -> list[str]:
    """Returns the names of the tables that it needs."""
    return [name for migration in _migrations() for text in migration for name in _TABLE.findall(text)]


def count_unknown() -> Steps[None]:
    """Has PostgreSQL count what is in tables of which it knows nothing, as after a restore.

    It takes any equal column for a choice of one row in 200 then, also the tenant, and reads tables as a whole. Where
    it counts by itself (autovacuum), that is done soon, or was done. A role that doesn't own them can't.
    """
    (found,) = yield [Statement(_UNKNOWN, {"tables": tables()})]
    yield [Statement(f"ANALYZE {name}") for (name,) in found.rows]


def read() -> Steps[tuple[int, int]]:
    """Returns the version of the tables, and the oldest that can work with them: zeros if there are none."""
    (there,) = yield [Statement(_THERE)]
    if there.rows != [(True,)]:
        return 0, 0
    (found,) = yield Last([Statement(READ)])
    version, oldest = found.rows[0] if found.rows else (0, 0)
    return version, oldest


def migrate(upgrade: Upgrade) -> Steps[int | None]:
    """Applies what is missing, and returns how many migrations that were; None while somebody else does so. Waits
    `LOCK_MS` for who uses a table that it changes.
    """
    (alone,) = yield [Statement(_ALONE)]
    if alone.rows != [(True,)]:
        return None
    *_, there = yield [*map(Statement, _BOUNDS), Statement(_THERE)]
    if there.rows != [(True,)]:
        yield [Statement(_FIRST)]
    (found,) = yield [Statement(READ)]
    version, oldest = found.rows[0] if found.rows else (0, 0)
    require(version, oldest)
    missing = _migrations()[version:]
    statements = [text for migration in missing for text in migration]
    if missing and not version:
        yield [Statement(text) for text in statements]
    elif missing:
        yield [Statement(_LOOK)]
        for text in upgrade.steps(statements):
            yield [Statement(text)]
    if missing:
        yield Last([Statement(_WRITE, {"version": known(), "oldest": OLDEST_READER})])
    return len(missing)


class Tables:
    """The tables of one store, as far as is known: another version may migrate them at any time, and the database may
    become another one. ``any_past``: it may be that, and is worked with all the same.
    """

    def __init__(self, any_past: bool = False) -> None:
        self.any_past = any_past
        self._read = 0, 0, True

    def read(self, version: int, oldest: int, same_past: bool) -> None:
        """Be told what they say. Raises as `require` does."""
        self._read = version, oldest, same_past
        self.require()

    def require(self) -> None:
        """Raises `Unavailable` if they were too new for this code when they were read last, or of another past."""
        *versions, same_past = self._read
        require(*versions)
        if not (same_past or self.any_past):
            raise another_past()


def another_past() -> Unavailable:
    """Returns why a database that is not the one it was is not worked with."""
    return Unavailable(
        ANOTHER_PAST.format("The store's database is a restored one, a promoted standby, or a copy of the one before.")
    )


def require(version: int, oldest: int) -> None:
    """Raises `Unavailable` if these tables are too new for this code."""
    if oldest > known():
        raise Unavailable(
            f"The store's tables were made by a newer agui-gate (schema {version}; this one knows {known()}, and "
            f"{oldest} is the oldest that can work with them). Start that version."
        )


def lacking() -> Steps[list[str]]:
    """Our tables that this role can't read and write."""
    (found,) = yield Last([Statement(_LACKING, {"tables": tables()})])
    return [name for (name,) in found.rows]


def holder() -> Steps[tuple[int, str] | None]:
    """Returns who has used the tables longest, of those for whom a migration would give up: PostgreSQL's process, and
    the name that its application gave itself.
    """
    (found,) = yield Last([Statement(_HOLDER, {"tables": tables(), "ms": LOCK_MS})])
    return found.rows[0] if found.rows else None


def migrating() -> Steps[int | None]:
    """Returns which of PostgreSQL's processes migrates the tables now, for another client."""
    (found,) = yield Last([Statement(_MIGRATING)])
    return found.rows[0][0] if found.rows else None
