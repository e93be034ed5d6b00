"""The stores that replicas are killed on, and what has to pass there before another one may take over."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agui_gate.stores.base import LEASE_MS
from tests.product.kit import TIMEOUT

if TYPE_CHECKING:
    from tests.support.servers import Postgres

# Found before PostgreSQL's own function of that name, by who doesn't say which of them is meant.
_AHEAD = """
CREATE SCHEMA ahead;
CREATE TABLE ahead.ahead AS SELECT 0::bigint AS ms;
CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + ms * interval ''1 ms'' FROM ahead.ahead';
"""


class Ground(NamedTuple):
    """A store. ``apart``: whether its replicas are on machines of their own, so that none sees whether another lives.
    Then ``lapse`` is what has to happen after a death: the store's clock goes on by as much as a lease lasts.
    ``execute`` does something to the store that no server does: one statement.
    """

    url: str
    apart: bool
    lapse: Callable[[], None]
    execute: Callable[[str], object]

    def age(self, ms: int) -> None:
        """Have all threads that there are be so much older."""
        self.execute(f"UPDATE threads SET updated_at = updated_at - {ms}")


def on_sqlite(folder: Path) -> Ground:
    """A file of one machine: who is dead is seen."""
    file = folder / "agui-gate.db"

    def execute(statement: str) -> None:
        with closing(sqlite3.connect(file, isolation_level=None, timeout=TIMEOUT)) as connection:
            connection.execute(statement)

    return Ground(f"sqlite:///{file}", False, lambda: None, execute)


def on_postgres(server: "Postgres", url: str) -> Ground:
    """A new database at ``url``, whose clock can be set forward."""
    name = url.rpartition("/")[2]
    for statement in _AHEAD.strip().split(";\n"):
        server.execute(statement, name)
    server.execute(f"ALTER DATABASE {name} SET search_path = public, ahead, pg_catalog")

    def execute(statement: str) -> None:
        server.execute(statement, name)

    def lapse() -> None:
        execute(f"UPDATE ahead.ahead SET ms = ms + {LEASE_MS}")

    return Ground(url, True, lapse, execute)
