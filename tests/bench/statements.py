"""The time of each statement of a store that holds a lot, on both databases.

    python -m tests.bench.statements [--rows 1000000]

Every statement is sent that the methods of a store send (`tests/stores/every_statement.py`), to a database with so many
threads and approvals, half of them one principal's. Each is undone. Counted is the best of some times, with the way to
the database and back. It takes about ten minutes, most of it to fill the tables.
"""

import argparse
import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import psycopg
import pytest

from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sql.operations import NAME
from agui_gate.stores.sqlite import SQLiteStore
from tests.bench.report import Row, table
from tests.stores.every_statement import EPOCH, USES, Said, recorded, use_everything
from tests.stores.large import fill
from tests.stores.support import Clock

TIMES = 5
SHOWN = 5
PAGES = {"limit": 51, "most": 101}
"""What is asked for where a test asks for one row."""
_GIVEN: Mapping[str, object] = {"tenant": "", "now": 1_800_000_000_000, "ticks": 1}

Send = Callable[[Said], object]
Taken = Callable[[], float]
"""Seconds of CPU time that the database has taken."""


def main() -> int:
    """Measure, print the table, and say by the exit code whether the goal is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.statements")
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows: int = parser.parse_args().rows
    lines = []
    for name, opened in (("SQLite", in_sqlite), ("PostgreSQL", in_postgres)):
        with opened(rows) as (said, send, taken):
            lines += list(measure(name, rows, said, partial(timed, send, taken)))
    print(table(lines))
    return any(line.met is False for line in lines)


def measure(name: str, rows: int, said: list[Said], timed: Callable[[Said], float]) -> Iterator[Row]:
    """Rows of the table: the slowest statements."""
    took = sorted(((timed(one), one.text) for one in said if not one.text.startswith(EPOCH)), reverse=True)
    yield Row(
        what=f"the slowest of {len(took)} statements, {name}, {rows:,} threads", unit="ms", ours=took[0][0], goal=2
    )
    for milliseconds, text in took[:SHOWN]:
        print(f"{name}  {milliseconds:6.2f} ms  {text[-200:]}", file=sys.stderr)


def timed(send: Send, taken: Taken, said: Said) -> float:
    """Milliseconds, at best."""
    best = float("inf")
    for _ in range(TIMES):
        before = taken()
        send(said)
        best = min(best, taken() - before)
    return best * 1e3


@contextmanager
def in_sqlite(rows: int) -> Iterator[tuple[list[Said], Send, Taken]]:
    """A file, filled."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "store.db")
        said = record(SQLiteStore(path, clock=(clock := Clock(1_800_000_000_000))), clock)
        with closing(sqlite3.connect(path, isolation_level=None, cached_statements=512)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            fill(connection.execute, rows)

            def send(one: Said) -> None:
                connection.execute("BEGIN")
                with suppress(sqlite3.IntegrityError):  # it is there already
                    connection.execute(one.text, values_of(one)).fetchall()
                connection.execute("ROLLBACK")

            yield said, send, time.thread_time


@contextmanager
def in_postgres(rows: int) -> Iterator[tuple[list[Said], Send, Taken]]:
    """A database, filled."""
    from tests.support.servers import Postgres

    server = Postgres(shared_buffers="1GB", max_wal_size="8GB")
    server.start()
    try:
        url = server.url(server.create())
        said = record(PostgresStore(url, clock=(clock := Clock(1_800_000_000_000))), clock)
        with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
            fill(lambda text: connection.execute(text.encode()), rows)
            connection.execute("VACUUM ANALYZE")

            def send(one: Said) -> None:
                text = NAME.sub(r"%(\1)s", one.text.replace("%", "%%"))
                with suppress(psycopg.IntegrityError), connection.transaction(force_rollback=True):
                    values = values_of(one).items()
                    connection.execute(
                        text.encode(), {name: v.decode() if isinstance(v, bytes) else v for name, v in values}
                    )

            spent = Path(f"/proc/{connection.info.backend_pid}/schedstat")  # Linux only
            yield [one for one in said if USES.search(one.text)], send, lambda: int(spent.read_text().split()[0]) / 1e9
    finally:
        server.close()


def values_of(said: Said) -> dict[str, object]:
    """The values of a statement, with pages as long as lists have."""
    values = {**_GIVEN, **said.values}
    values |= {name: PAGES[name] for name in PAGES.keys() & values.keys()}
    named = {name: values[name] for name in NAME.findall(said.text)}
    return {name: int(value) if isinstance(value, bool) else value for name, value in named.items()}


def record(store: SQLiteStore | PostgresStore, clock: Clock) -> list[Said]:
    """Every statement that it sends."""

    async def use() -> None:
        await store.start()
        await use_everything(store, clock)
        await store.aclose()

    with recorded(pytest.MonkeyPatch()) as made:
        asyncio.run(use())
    return list(made.statements.values())


if __name__ == "__main__":
    sys.exit(main())
