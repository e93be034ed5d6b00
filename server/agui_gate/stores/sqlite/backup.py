"""A consistent copy of a SQLite store while servers use it.

The copy is of one moment: it is read in one transaction, which in WAL mode holds up no writer. It is made under another
name beside its target, checked, written to the disk, and only then given its name. So whatever has that name is whole.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.stores.sqlite.database import APPLICATION_ID
from agui_gate.stores.sqlite.variant import COPY

PAGES = 512
"""Pages that are copied between two reports of how far it is."""

Report = Callable[[int, int], None]
"""Told how many pages of how many are copied."""


def back_up(source: Path, target: Path, *, replace: bool = False, report: Report = lambda done, total: None) -> int:
    """Copies the database ``source`` to ``target``, readable by its owner alone, and returns its bytes.

    Raises `ConfigurationError` if that can't be (it says why), and `Unavailable` if the copy would not be good. Then
    ``target`` is as it was.
    """
    _check_target(source, target, replace)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _copy(source, partial, report)
        _check(partial)
        _sync(partial)
        size = partial.stat().st_size
        partial.replace(target)
        _sync(target.parent)
    except OSError as error:
        raise ConfigurationError(f"{target} can't be written: {error.strerror or error}.") from error
    finally:
        for left in (partial, *_companions(partial)):
            with suppress(OSError):
                left.unlink()
    return size


def _check_target(source: Path, target: Path, replace: bool) -> None:
    if not source.is_file():
        raise ConfigurationError(f"There is no database {source} to copy; name it with --store.")
    if not target.exists():
        if in_the_way := next((file for file in _companions(target) if file.exists()), None):
            raise ConfigurationError(f"{in_the_way} exists already; choose another name for the copy.")
        return
    if target.samefile(source):
        raise ConfigurationError(f"{target} is the store itself; choose another name for the copy.")
    if not replace:
        raise ConfigurationError(f"{target} exists already; --force replaces it.")
    if not target.is_file() or any(file.exists() for file in _companions(target)):
        raise ConfigurationError(f"{target} is in use, or is not a file; choose another name for the copy.")


def _companions(path: Path) -> tuple[Path, ...]:
    """Returns the files that SQLite keeps beside a database in use, and would take for a part of another one in its
    place.
    """
    return tuple(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))


def _copy(source: Path, partial: Path, report: Report) -> None:
    try:
        with closing(_open(source)) as old, closing(sqlite3.connect(partial, isolation_level=None)) as new:
            old.execute("BEGIN")  # one moment, whatever is written meanwhile
            _require_ours(old, source)
            old.backup(new, pages=PAGES, progress=lambda _, left, total: report(total - left, total), sleep=0)
            new.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
            if new.execute("SELECT 1 FROM sqlite_master WHERE name = 'processes'").fetchone():
                new.execute("DELETE FROM processes")  # they use the source, and not the copy
            new.execute(f"CREATE TABLE IF NOT EXISTS {COPY} (one INTEGER)")  # no server starts on it before its epoch
    except sqlite3.Error as error:
        raise ConfigurationError(f"The database {source} can't be copied ({error}).") from error


def _open(source: Path) -> sqlite3.Connection:
    """Opens what exists. Not read-only where it need not be: SQLite then leaves files beside it that it made."""
    return sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=30)


def _require_ours(database: sqlite3.Connection, path: Path) -> None:
    if database.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise ConfigurationError(f"{path} is not a database of agui-gate.")


def _check(partial: Path) -> None:
    with closing(_open(partial)) as copy:
        (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise Unavailable(f"The copy is damaged, and the store may be damaged too ({found}). The copy was not kept.")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
