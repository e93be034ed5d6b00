"""No statement of a store reads more than it needs, however much there is: the planner of each database is asked.

A statement may go along an index in its order, as far as its LIMIT, or take what is equal in a column that few rows
have in common. Anything else reads more the more there is. Each database is asked as it is when nobody has counted
(`ANALYZE`), and when somebody has; and its tables are, or are said to be, large.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
import pytest

from agui_gate.stores.postgres import PostgresStore, commit_check, schema
from agui_gate.stores.sql.operations import NAME
from agui_gate.stores.sqlite import SQLiteStore
from tests.stores.every_statement import EPOCH, TABLES, USES, Record, Said, places, recorded, use_everything
from tests.stores.large import fill
from tests.stores.support import Clock

pytestmark = pytest.mark.anyio

FEW = {"key", "id", "thread", "thread_id", "approval", "run_key", "alias", "was", "rowid", "seq", "person", "day"}
"""Columns of which few rows have the same value."""
SMALL = {"threads_running", "approvals_unsettled"}
"""Indexes of what runs, and of what is at work or ended without anybody knowing how: read as a whole here and there."""
OVERDUE = {
    "approvals_overdue",
    "approvals_expiring",
    "counted_calls_old",
    "grants_old",
    "deputies_old",
    "approval_events_emergencies",
    "deliveries_old",
    "approval_steps_due",
}
"""Indexes of which only what is overdue is read."""
STOPS = ("Sort", "Limit", "Aggregate", "Result")
"""Nodes of a plan that take all of what is below them, or as much of it as they need."""
KINDS = "kind IN ('approval_pending'"
"""Notices of a newer version are passed over, if there are any."""
COUNTED = "SELECT count(*) FROM (SELECT 1 FROM threads WHERE tenant = :tenant AND CASE"
"""A tenant's threads, up to a limit: where all rows are of that tenant, they are read as they come."""
ROWS = 2_000
MOST_READ = 200
"""Rows that a statement reads at most where it asks for few: all of what runs, which are fifty, and a few of each."""


def check(plans: Mapping[str, Sequence[str]]) -> None:
    once = {text for migration in schema._migrations() for text in migration}
    asked = {text: steps for text, steps in plans.items() if text not in once and not text.startswith(EPOCH)}
    bad = {text: steps for text, steps in asked.items() if steps and KINDS not in text and not text.startswith(COUNTED)}
    assert not bad, "".join(f"\n{text}\n    {steps}" for text, steps in bad.items())


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000_000)


async def record_of(
    store: SQLiteStore | PostgresStore, clock: Clock, monkeypatch: pytest.MonkeyPatch, *folders: str
) -> Record:
    """Every statement that this store sends; there is no other."""
    with recorded(monkeypatch) as record:
        await store.start()
        await use_everything(store, clock)
        if isinstance(store, PostgresStore):
            await store._do("write", lambda: commit_check.deleted(1))
        await store.aclose()
    unseen = [
        f"{module}:{first}"
        for module, first, last in places(*folders)
        if not any(name == module and first <= line <= last for name, line in record.places)
    ]
    assert unseen == [], "use_everything doesn't come to these"
    return record


# --- SQLite


def sqlite_plan(connection: sqlite3.Connection, said: Said) -> Iterator[str]:
    """What reads too much."""
    given = {name: said.values.get(name, "" if name == "tenant" else 1) for name in NAME.findall(said.text)}
    steps = connection.execute(f"EXPLAIN QUERY PLAN {said.text}", given).fetchall()
    sorts = {parent for _, parent, _, step in steps if step == "USE TEMP B-TREE FOR ORDER BY"}
    for _, parent, _, step in steps:
        found = re.match(r"(SCAN|SEARCH) (\w+)(?: USING (?:COVERING )?(?:INDEX )?([\w ]+?) \((.*)\))?", step)
        if found is None or found[2] not in TABLES:
            continue
        equal = set(re.findall(r"(\w+)=\?", found[4] or ""))
        walks = ("LIMIT" in said.text and parent not in sorts) or re.search(r"SELECT (min|max)\(|EXISTS", said.text)
        if not (equal & FEW or found[3] in SMALL | OVERDUE or walks):
            yield step


@contextmanager
def steps_of(connection: sqlite3.Connection) -> Iterator[list[int]]:
    """Within, the steps that SQLite takes are counted, in tens."""
    steps = [0]

    def count() -> None:
        steps[0] += 1

    connection.set_progress_handler(count, 10)
    yield steps
    connection.set_progress_handler(None, 0)


async def test_sqlite_takes_as_many_steps_however_much_there_is(
    path: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan doesn't tell of rows that are read along an index and left out."""
    record = await record_of(SQLiteStore(path, clock=clock), clock, monkeypatch, "sql")
    took: dict[str, list[int]] = {}
    for rows in (ROWS // 4, ROWS):
        with closing(sqlite3.connect(path, isolation_level=None, cached_statements=0)) as connection:
            connection.execute("BEGIN")
            fill(connection.execute, rows)
            for said in record.statements.values():
                connection.execute("SAVEPOINT one")
                with steps_of(connection) as steps, suppress(sqlite3.IntegrityError):  # it is there already
                    connection.execute(said.text, _few(said)).fetchall()
                connection.execute("ROLLBACK TO one")
                took.setdefault(said.text, []).extend(steps)
    more = {text: steps for text, steps in took.items() if not text.startswith(EPOCH) and steps[1] > steps[0] + 20}
    assert more == {}


def _few(said: Said) -> dict[str, object]:
    """Values of a statement that asks for few rows."""
    given = {name: said.values.get(name, "" if name == "tenant" else 1) for name in NAME.findall(said.text)}
    return given | dict.fromkeys(given.keys() & {"limit", "most", "step"}, 3)


@pytest.mark.parametrize("counted", [False, True], ids=["as it is", "counted"])
async def test_sqlite_reads_no_more_than_it_needs(
    path: str, clock: Clock, monkeypatch: pytest.MonkeyPatch, counted: bool
) -> None:
    record = await record_of(SQLiteStore(path, clock=clock), clock, monkeypatch, "sql")
    with closing(sqlite3.connect(path)) as connection:
        if counted:
            fill(connection.execute, ROWS)
            connection.execute("ANALYZE")
        plans = {said.text: list(sqlite_plan(connection, said)) for said in record.statements.values()}
    check(plans)


async def test_statistics_of_a_nearly_empty_file_are_replaced_when_it_is_opened(path: str, clock: Clock) -> None:
    """What `ANALYZE` found on an early day would lead the planner astray for good."""

    def statistics() -> list[Any]:
        with closing(sqlite3.connect(path)) as connection:
            return sorted(connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1").fetchall())

    store = SQLiteStore(path, clock=clock)
    await store.start()
    await store.aclose()
    ours = statistics()
    with closing(sqlite3.connect(path)) as connection:
        fill(connection.execute, 50)
        connection.execute("ANALYZE")
        connection.commit()
    assert statistics() != ours
    await store.start()
    await store.aclose()
    assert statistics() == ours


# --- PostgreSQL

_GIVEN: Mapping[str, object] = {"tenant": "", "now": 1, "ticks": 1}
_LARGE = """
    UPDATE pg_class SET reltuples = 1e6 * CASE WHEN relpages < 8 AND relkind = 'i' THEN 0.001 ELSE 1 END
    WHERE relnamespace = current_schema()::regnamespace
"""
"""Says that each table has a million rows. It goes by `relpages`, which are made right before."""
_PAGES = """
    UPDATE pg_class SET relpages = pg_relation_size(oid) / 8192
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')
"""


def nodes(node: Mapping[str, Any], *above: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], ...]]:
    """Each node of a plan, followed by those above it, the next one first."""
    yield node, *above
    for child in node.get("Plans", ()):
        yield from nodes(child, node, *above)


def postgres_plan(plan: Mapping[str, Any]) -> Iterator[str]:
    """What reads too much."""
    for part, *above in nodes(plan):
        if part["Node Type"] == "Bitmap Heap Scan" or "Scan" not in part["Node Type"]:
            continue
        heap = [one for one in above if one["Node Type"] == "Bitmap Heap Scan"] if "Bitmap" in part["Node Type"] else []
        node = {**(heap[0] if heap else {}), **part}
        if node.get("Relation Name") not in TABLES:
            continue
        index, condition = node.get("Index Name", ""), node.get("Index Cond", "")
        equal = set(re.findall(r"\((\w+) = ", condition))
        stops = [one["Node Type"] for one in above if one["Node Type"] in STOPS and one.get("Strategy") != "Sorted"]
        exact = "Filter" not in node and (index in OVERDUE or stops[:1] == ["Limit"] or stops[:1] == ["Result"])
        if not (equal & FEW or index in SMALL or (index and exact)):
            yield f"{node['Node Type']} {index} ({condition}) {node.get('Filter', '')} below {stops}"


@pytest.mark.parametrize("counted", ["when it starts", "by others"])
async def test_postgres_reads_no_more_than_it_needs(
    database: str, clock: Clock, monkeypatch: pytest.MonkeyPatch, counted: str
) -> None:
    """A database that was restored has no statistics; then the store sees to it that there are some."""
    store = PostgresStore(database, clock=clock)
    record = await record_of(store, clock, monkeypatch, "sql")
    with psycopg.connect(database, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        fill(lambda text: connection.execute(text.encode()), ROWS)
        if counted == "by others":
            connection.execute("ANALYZE")
        await store.start()
        await store.aclose()
        connection.execute(_PAGES)
        connection.execute(_LARGE)
        plans: dict[str, list[str]] = {}
        read: dict[str, int] = {}
        for said in record.statements.values():
            if USES.search(said.text):
                text = NAME.sub(r"%(\1)s", said.text.replace("%", "%%"))
                values = {name: _value(value) for name, value in {**_GIVEN, **said.values}.items()}
                ((found,),) = connection.execute(f"EXPLAIN (FORMAT JSON) {text}".encode(), values).fetchall()
                plans[said.text] = list(postgres_plan(found[0]["Plan"]))
                with suppress(psycopg.IntegrityError), connection.transaction(force_rollback=True):
                    few = {name: _value(value) for name, value in _few(said).items()}
                    ((found,),) = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}".encode(), few).fetchall()
                    read[said.text] = sum(map(rows_of, nodes(found[0]["Plan"])))
    check(plans)
    assert {text: rows for text, rows in read.items() if rows > MOST_READ and not text.startswith(EPOCH)} == {}


def rows_of(part: Sequence[Mapping[str, Any]]) -> int:
    """Rows of ours that a node of a plan has read, with those that it left out."""
    node = part[0]
    if node.get("Relation Name") not in TABLES:
        return 0
    return int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])


def _value(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return value.decode() if isinstance(value, bytes) else value
