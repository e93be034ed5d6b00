"""Upgrades a SQLite file that an older version made, after whoever has it locked, and tells of that."""

import sqlite3
import time

from agui_gate.stores.sqlite.database import Database, migrate, migrations, version_of
from agui_gate.stores.upgrade import UPGRADE_SECONDS, Upgrade


def upgrade(database: Database, path: str) -> None:
    """Does what `migrate` does. Waits for who has the file locked, such as another process that upgrades it, at most
    `UPGRADE_SECONDS`. Raises what SQLite does.
    """
    told = Upgrade(version_of(database, path), len(migrations()))
    until = time.monotonic() + UPGRADE_SECONDS
    while True:
        try:
            migrate(database, path, told.steps)
        except sqlite3.OperationalError as error:  # SQLite itself has waited for BUSY_MS
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            told.waits("another process, which has the file locked")
        else:
            told.end()
            return
