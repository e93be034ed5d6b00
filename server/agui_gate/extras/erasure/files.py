"""Writes a SQLite file anew, so that nothing is left in it of rows that were deleted, nor in its write-ahead log."""

import sqlite3
import time

from agui_gate.errors import Unavailable
from agui_gate.stores.sql.store import SQLStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.sqlite.database import Database

AGAIN_SECONDS = 0.1
"""Seconds between two tries while others read or write."""


async def clean(store: SQLStore, seconds: float) -> None:
    """Cleans the file of a store that has one, also while servers use it: they wait meanwhile. Raises `Unavailable`."""
    if isinstance(store, SQLiteStore):
        await store._run(lambda db: _clean(db, seconds))


def _clean(database: Database, seconds: float) -> None:
    until = time.monotonic() + seconds
    is_anew = False
    while True:
        try:
            if not is_anew:
                database.execute("VACUUM")
                is_anew = True
            ((busy, *_),) = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if not busy:
                return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
        if time.monotonic() > until:
            raise Unavailable(
                "Others were at work in the file all the time, so deleted rows may still be in it. Run this again when "
                "there is less to do."
            )
        time.sleep(AGAIN_SECONDS)  # on the store's own thread
