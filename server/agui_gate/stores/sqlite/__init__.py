"""The embedded store: one SQLite file. `store` has the methods, `database` the connection, the rest its statements."""

from agui_gate.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
