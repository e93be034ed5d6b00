"""Empties a file's write-ahead log, so that nothing is left in it of rows that were deleted."""

import sqlite3

from agui_gate.stores.sqlite.database import Database


def emptied(db: Database) -> bool:
    """Writes the log into the file, and empties it. Returns whether that could be done: it waits for nobody."""
    ((busy_ms,),) = db.execute("PRAGMA busy_timeout").fetchall()
    db.execute("PRAGMA busy_timeout = 0")
    try:
        ((busy, *_),) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return not busy
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return False
        raise
    finally:
        db.execute(f"PRAGMA busy_timeout = {busy_ms}")
