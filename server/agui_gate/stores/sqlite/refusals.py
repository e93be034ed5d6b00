"""What is said of a file that can't be used, and which schema one has that is not to be opened for that."""

import os
import sqlite3
from contextlib import closing

from agui_gate.errors import ConfigurationError
from agui_gate.stores.sqlite.database import BUSY_MS, Database, version_of


def schema_of(path: str) -> int:
    """Returns the version of the file's schema; 0 if there is none yet. Raises `ConfigurationError`, also for a newer
    one.
    """
    if not os.path.exists(path):
        return 0
    if os.path.isdir(path):
        raise ConfigurationError(f"{path} is a directory. Name the file of the database.")
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)) as connection:
            return version_of(Database(connection), path)
    except sqlite3.Error as error:
        raise ConfigurationError(refusal(path, error)) from error


def refusal(path: str, error: sqlite3.Error) -> str:
    """Returns why a file can't be used, and what to do about it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
        return f"The file {path} is not a SQLite database or is damaged; restore a backup or choose another file."
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        return (
            f"The database {path} can't be opened or written; check the rights of the file and its directory, and "
            "whether the disk is mounted read-only."
        )
    if code == sqlite3.SQLITE_BUSY:
        return f"The database {path} is locked by another process; stop that one first."
    return f"The database {path} can't be used ({error})."
