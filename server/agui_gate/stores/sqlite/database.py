"""A SQLite connection as the store uses it: opened, migrated, in transactions, with errors that people understand.

All of it runs on the store's one worker thread.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any, TypeVar

from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.stores.clock import StoreClock
from agui_gate.stores.sql.operations import GIVEN, NAME, Conflict, Operation, Result, Statement, run
from agui_gate.stores.sqlite.variant import COPY

T = TypeVar("T")

BUSY_MS = 5_000
"""Milliseconds to wait for another process's transaction."""

MAX_LOG_PAGES = 4_000
"""Pages in the write-ahead log after which a commit copies them into the file, which waits for the disk twice."""

APPLICATION_ID = 0x41474754
"""The number in the file's header ("AGGT"), so that another application's database is never mistaken for ours."""

_UPGRADED = "The store was upgraded by another version of agui-gate. Stop this server, and start the new version."

_TWICE = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}

_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it has become read-only",
    sqlite3.SQLITE_CORRUPT: "the database file is damaged",
}


class Database:
    """An open connection. ``version``: the schema's, once it is known.

    `execute` is one cursor's, which is quicker than a new one a statement: read its answer before the next statement.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.execute = connection.cursor().execute
        self._full: bool | None = None
        self._seen: int | None = None
        self.version: int | None = None

    def transaction(self, *, durable: bool) -> "Transaction":
        """Returns a transaction: all or nothing, alone among writers. ``durable``: on the disk before it returns, even
        if the power fails.

        Other commits survive a crash of the process in any case (WAL), and the next durable one takes them along.
        """
        if durable is not self._full:  # SQLite ignores the pragma inside a transaction
            self.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._full = durable
        return Transaction(self, "BEGIN IMMEDIATE")

    def snapshot(self) -> "Transaction":
        """Several reads that see one state."""
        return Transaction(self, "BEGIN")

    def is_copy(self) -> bool:
        """Returns whether it is a backup, or one that was put back and whose epoch has not begun."""
        return self.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (COPY,)).fetchone() is not None

    def perform(self, operation: Operation[T], clock: StoreClock) -> T:
        """Performs an operation within a transaction."""
        now, ticks = clock.moment()
        return run(operation, partial(self.answer, {"now": now, "ticks": ticks, "tenant": ""}))

    def answer(self, given: Mapping[str, Any], statement: Statement) -> Result:
        """Executes one statement. Raises `Conflict` for what is there already."""
        text, own, clock = _numbered(statement.text)
        values = (*map(statement.values.__getitem__, own), *map(given.__getitem__, clock))
        try:
            cursor = self.execute(text, values)
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode in _TWICE:
                raise Conflict from error
            raise
        if cursor.description is None:
            return Result([], cursor.rowcount, given["now"])
        rows = cursor.fetchall()
        return Result(rows, len(rows))

    def changed_elsewhere(self) -> bool:
        """Returns whether another connection has committed something since this was asked last (at first: yes)."""
        before, (self._seen,) = self._seen, self.execute("PRAGMA data_version").fetchone()
        return self._seen != before

    def close(self) -> None:
        """Closes; SQLite folds the WAL into the file when it is the last one."""
        self.connection.close()


class Transaction:
    """Within: a transaction. What is done is committed at its end, or nothing of it. A generator would do, and take
    twice as many calls.

    Raises `Unavailable` if the file was migrated since it was opened: what we know of it is not true any more.
    """

    __slots__ = ("_begin", "_database")

    def __init__(self, database: Database, begin: str) -> None:
        self._database, self._begin = database, begin

    def __enter__(self) -> None:
        database = self._database
        database.execute(self._begin)
        try:
            if (known := database.version) is not None and database.execute("PRAGMA user_version").fetchone() != (
                known,
            ):
                raise Unavailable(_UPGRADED)
        except BaseException as error:
            self.__exit__(error)
            raise

    def __exit__(self, error: object, *rest: object) -> None:
        try:
            if error is None:
                self._database.execute("COMMIT")
        finally:
            if self._database.connection.in_transaction:
                self._database.execute("ROLLBACK")


@lru_cache(maxsize=1024)
def _numbered(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Returns a statement with numbers for its names, as the driver looks up each name anew at each call. Then the
    names in their order: its own ones, and after them those of `GIVEN`.
    """
    names = dict.fromkeys(NAME.findall(text))
    own = tuple(name for name in names if name not in GIVEN)
    given = tuple(name for name in names if name in GIVEN)
    places = {name: number for number, name in enumerate((*own, *given), 1)}
    return NAME.sub(lambda name: f"?{places[name[1]]}", text), own, given


def open_database(path: str) -> Database:
    """Opens and migrates the file, creating it (for its owner alone) if it is new. Raises `ConfigurationError`."""
    try:
        _create(path)
        connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None, cached_statements=128)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigurationError(
            f"The database {path} can't be opened ({reason}); check the path and rights."
        ) from error
    try:
        database = Database(connection)
        _prepare(database, path)
    except sqlite3.Error as error:
        connection.close()
        from agui_gate.stores.sqlite.refusals import refusal

        raise ConfigurationError(refusal(path, error)) from error
    except BaseException:
        connection.close()
        raise
    return database


@contextmanager
def errors_as_unavailable() -> Iterator[None]:
    """Turns what SQLite raises into `Unavailable`."""
    try:
        yield
    except sqlite3.Error as error:
        raise unavailable(error) from error


def unavailable(error: sqlite3.Error) -> Unavailable:
    """Returns what people are told of an error."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code; the rest is detail
    reason = _UNAVAILABLE.get(code, "the database can't be read or written")
    return Unavailable(f"The store is not available: {reason}.")


def _create(path: str) -> None:
    """Makes an empty file that only its owner can read: it will hold conversations.

    Never opens an existing one: closing it again would drop the locks this process holds on it (POSIX).
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _prepare(database: Database, path: str) -> None:
    version = version_of(database, path)
    if not _use_wal(database):
        raise ConfigurationError(
            f"The database {path} must be on a local file system (SQLite's WAL doesn't work there)."
        )
    if version < len(migrations()):
        database.execute("PRAGMA foreign_keys = OFF")  # or a table that is made anew would take others along
        if version:
            from agui_gate.stores.sqlite.upgrade import upgrade

            upgrade(database, path)
        else:
            migrate(database, path)
    database.execute("PRAGMA foreign_keys = ON")
    database.execute(f"PRAGMA wal_autocheckpoint = {MAX_LOG_PAGES}").fetchone()
    database.version = len(migrations())
    for table in ("threads", "journal", "approvals"):  # a damaged file shows itself now rather than in a run
        database.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()  # noqa: S608 our names


def _use_wal(database: Database) -> bool:
    """Returns whether the file keeps a write-ahead log now. SQLite doesn't wait for others here, so this does, as
    long.
    """
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            return bool(database.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)  # on the store's own thread


def migrate(database: Database, path: str, steps: Callable[[list[str]], Iterable[str]] = iter) -> None:
    """Applies the missing migrations in one transaction; of two processes that start at once, one does it.

    ``steps``: yields the statements one after the other (`Upgrade.steps`).
    """
    with database.transaction(durable=True):
        scripts = migrations()
        for statement in steps(list(_statements("\n".join(scripts[version_of(database, path) :])))):
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {len(scripts)}")


def version_of(database: Database, path: str) -> int:
    """Returns the version of the file's schema. Raises `ConfigurationError` if it isn't ours to touch."""
    # One statement, so one state of the file: another process may be making the tables right now.
    version: int
    version, application, tables = database.execute(
        "SELECT user_version, application_id, EXISTS (SELECT 1 FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if (version or tables) and application != APPLICATION_ID:
        raise ConfigurationError(f"The database {path} belongs to another application; choose another file.")
    known = len(migrations())
    if version > known:
        raise ConfigurationError(
            f"The database {path} was written by a newer agui-gate (schema {version}, this one knows up to {known}); "
            "upgrade agui-gate or choose another file."
        )
    return version


def migrations() -> list[str]:
    """Returns the scripts, oldest first; the first one leads to version 1."""
    folder = files("agui_gate.stores") / "migrations"
    scripts = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [script.read_text(encoding="utf-8") for script in scripts]


def _statements(script: str) -> Iterator[str]:
    """Splits a script: `executescript` would commit the transaction it runs in."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
