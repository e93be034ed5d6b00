"""The stores that keep threads and approvals. `base` has the Protocols; `open_store` makes one from its URL."""

from typing import TYPE_CHECKING

from agui_gate.errors import ConfigurationError, Unusable
from agui_gate.stores.base import NO_BOUNDS, Bounds, Store

if TYPE_CHECKING:
    from agui_gate.stores.capabilities import FullStore

__all__ = ["Store", "open_store", "schema_of", "sqlite_path"]

_SCHEMES = (
    "memory://, sqlite:///file.db (relative), sqlite:////absolute/path/file.db "
    "and postgresql://user:password@host:5432/database"
)


def open_store(url: str, bounds: Bounds = NO_BOUNDS, *, any_past: bool = False) -> "FullStore":
    """Makes the store that ``url`` names; nothing is opened before its `start`.

    ``any_past``: also one that is a backup, or that was put back and whose epoch has not begun (`stores.epochs`), which
    no server may work with.

    Raises `ConfigurationError` for a URL that names none. The message never repeats the URL: it may hold a password.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise ConfigurationError(f"The store must be a URL; this version knows {_SCHEMES}.")
    match scheme:
        case "memory":
            return _memory(rest, bounds)
        case "sqlite":
            return _sqlite(rest, bounds, any_past)
        case "postgresql" | "postgres":
            return _postgres(url, bounds, any_past)
        case _:
            raise ConfigurationError(f"There is no store {scheme}://; this version knows {_SCHEMES}.")


def _memory(rest: str, bounds: Bounds) -> "FullStore":
    from agui_gate.stores.memory import MemoryStore

    if rest:
        raise ConfigurationError("The memory store is memory:// with nothing after it.")
    return MemoryStore(bounds=bounds)


def _sqlite(rest: str, bounds: Bounds, any_past: bool) -> "FullStore":
    from agui_gate.stores.sqlite import SQLiteStore  # sqlite3 is only loaded where it is used

    return SQLiteStore(_file(rest), bounds=bounds, any_past=any_past)


def _postgres(url: str, bounds: Bounds = NO_BOUNDS, any_past: bool = False) -> "FullStore":
    try:
        from agui_gate.stores.postgres import PostgresStore
    except ImportError:
        raise Unusable('A PostgreSQL store needs its driver: pip install "agui-gate[postgres]".') from None
    return PostgresStore(url, bounds=bounds, any_past=any_past)


def sqlite_path(url: str) -> str | None:
    """Returns the file of a SQLite store; None for another store. Raises `ConfigurationError` for a URL without a
    file.
    """
    scheme, _, rest = url.partition("://")
    return _file(rest) if scheme == "sqlite" else None


def _file(rest: str) -> str:
    path = rest.removeprefix("/")
    if path == rest or not path or path == ":memory:":
        raise ConfigurationError("A SQLite store needs a file: sqlite:///file.db or sqlite:////absolute/path/file.db.")
    return path


async def schema_of(url: str) -> int:
    """Returns the version of the schema that a store has as it is; 0 if it has none yet. Raises
    `ConfigurationError`.
    """
    if (path := sqlite_path(url)) is not None:
        from agui_gate.stores.sqlite.refusals import schema_of as of_file

        return of_file(path)
    if url.startswith("postgres"):
        _postgres(url)  # which says what is wrong with it
        from agui_gate.stores.postgres.readiness import schema_of as of_database

        return await of_database(url)
    open_store(url)  # which says what is wrong with it
    return 0
