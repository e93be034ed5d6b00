"""The tables in which a person's name may be, besides those of threads and the trail; and what becomes of their rows.

Each is read as a whole, in the order of its key, in pages: nothing else looks for a name there, so there is no index.
`TABLES` has each table of a store but those of `WITHOUT_NAMES`; a test holds it against the schema.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from agui_gate.core.approvals import SEPARATOR
from agui_gate.core.json_text import parse_object
from agui_gate.core.principals import owner_key, tenant_of
from agui_gate.extras.erasure.names import Changed, Name, Row
from agui_gate.stores.sql.operations import Last, Statement, Steps

PAGE = 500
"""Rows that are read at once."""


class Table(NamedTuple):
    """A table: its key, the other columns that are looked at, and what becomes of a row."""

    name: str
    key: Mapping[str, Any]
    """Its columns (besides ``tenant``), each with a value that is before all others."""
    columns: Sequence[str]
    change: Callable[[Name, Row], Changed]


def _grant(who: Name, row: Row) -> Changed:
    is_theirs = row["owner"] == who.key or row["giver"] == who.key or who.is_in(row["body"], row["owner"])
    return "delete" if is_theirs else None


def _counted(who: Name, row: Row) -> Changed:
    places = {"owner": who.key, "principal": f"{who.tenant}{SEPARATOR}{who.name}"}
    return "delete" if places.get(row["whose"]) == row["place"] else None


def _outbox(who: Name, row: Row) -> Changed:
    return "delete" if row["principal"] == who.key else _renamed(who, row, row["principal"])


def _delivery(who: Name, row: Row) -> Changed:
    said = parse_object(row["body"]) or {}
    owner = owner_key(said.get("tenant") or "", said.get("owner") or "")
    return "delete" if owner == who.key else _renamed(who, row, owner)


def _renamed(who: Name, row: Row, owner: str) -> Changed:
    """Returns what becomes of news of somebody else's call: those who wait for it are still told."""
    return {"body": who.renamed(row["body"])} if who.is_in(row["body"], owner) else None


def _step(who: Name, row: Row) -> Changed:
    """Returns what becomes of the people to whom a call that waits is going to be told."""
    to = (parse_object(row["who"]) or {}).get("to")
    if not isinstance(to, list) or who.name not in to or not who.is_in(row["who"], row[_OF_STEP] or ""):
        return None
    return {"who": msgspec.json.encode({"to": [who.one(one) for one in to]}).decode()}


def _tombstone(who: Name, row: Row) -> Changed:
    if row["principal"] == who.key:
        return {
            "principal": who.new_key,
            "thread_id": who.thread(row["thread_id"]),
            "decided_by": row["decided_by"] and who.one(row["decided_by"]),
        }
    is_theirs = row["decided_by"] == who.name and tenant_of(row["principal"]) == who.tenant
    return {"decided_by": who.pseudonym} if is_theirs else None


def _request(who: Name, row: Row) -> Changed:
    if row["of_tenant"] != who.tenant or who.name not in (row["principal"], row["owner"].rpartition(SEPARATOR)[2]):
        return None
    owned = row["owner"] == who.key
    return {
        "owner": who.owner(row["owner"]),
        "principal": who.one(row["principal"]),
        "thread_id": who.thread(row["thread_id"]) if owned else row["thread_id"],
    }


def _day(who: Name, row: Row) -> Changed:
    if row["of_tenant"] != who.tenant:
        return None
    new = {"owner": who.owner(row["owner"]), "principal": who.one(row["principal"])}
    return None if new == {name: row[name] for name in new} else new


def _budget(who: Name, row: Row) -> Changed:
    scope, _, rest = row["id"].partition(":")
    return "delete" if scope == "principal" and rest.partition(":")[2] == who.key else None


def _events_of_run(who: Name, row: Row) -> Changed:
    return "delete" if row["principal"] == who.key else None


def _said(who: Name, row: Row) -> Changed:
    """Returns what becomes of frames, or an opening. Where it isn't known whose run it was, it may be any tenant's."""
    text, whose = list(row.values())[-2:]
    if who.quoted[1:-1] not in text or tenant_of(whose or who.key) != who.tenant:
        return None
    values = (line.removeprefix("data:") for line in text.splitlines())
    return "delete" if any(_is_named(who, value) for value in values) else None


def _is_named(who: Name, text: str) -> bool:
    try:
        return who.is_named(text)
    except msgspec.DecodeError:
        return False


def _deputy(who: Name, row: Row) -> Changed:
    return "delete" if row["of_tenant"] == who.tenant and who.is_named(row["body"]) else None


TABLES: Sequence[Table] = (
    Table("grants", {"id": ""}, ("owner", "giver", "body"), _grant),
    Table("deputies", {"id": ""}, ("of_tenant", "body"), _deputy),
    Table(
        "counted_calls",
        {"whose": "", "place": "", "tool": "", "at": -1, "approval_id": ""},
        (),
        _counted,
    ),
    Table("outbox", {"id": -1}, ("principal", "body"), _outbox),
    Table("deliveries", {"id": -1}, ("body",), _delivery),
    Table("tombstones", {"id": ""}, ("principal", "thread_id", "decided_by"), _tombstone),
    Table("model_requests", {"id": ""}, ("of_tenant", "owner", "principal", "thread_id"), _request),
    Table("budgets", {"id": ""}, (), _budget),
)
_DAY_KEY = ("of_tenant", "day", "owner", "principal", "agent", "provider", "model")
DAYS = Table("usage_days", {name: -1 if name == "day" else "" for name in _DAY_KEY}, (), _day)
"""Its key has the names, so its rows are added to those of the pseudonym."""
_OF_STEP = "(SELECT principal FROM approvals WHERE approvals.tenant = :tenant AND approvals.id = approval)"
STEPS = Table("approval_steps", {"approval": "", "kind": "", "after": -1}, ("who", _OF_STEP), _step)
_WHOSE = "(SELECT head.principal FROM run_heads AS head WHERE head.tenant = :tenant AND head.run_key = {table}.run_key)"
RUNS = Table("run_heads", {"run_key": ""}, ("principal",), _events_of_run)
BUS: Sequence[Table] = (
    RUNS,
    Table("run_events", {"run_key": "", "next": -1}, ("frames", _WHOSE.format(table="run_events")), _said),
    Table("run_openings", {"run_key": ""}, ("opening", _WHOSE.format(table="run_openings")), _said),
)
"""Events of runs, where the bus is in the database. Who follows a run of which some are gone reads what is saved."""

WITHOUT_NAMES = frozenset(
    {"journal", "outbox_taker", "outbox_kinds", "epoch", "clock", "checks", "processes", "freezes", "delivery_workers"}
)

_SUMS = ("requests", "failed", "unpriced", "input", "output", "cached_input", "cache_write_input", "reasoning", "cost")


def rows_page(table: Table, who: Name, place: Sequence[Any]) -> Steps[tuple[list[Row], Sequence[Any] | None]]:
    """Returns the rows of a page that have the name, from behind ``place`` on; and where to go on (None at the end)."""
    names = list(table.key)
    columns = [*names, *table.columns]
    text = (
        f"SELECT {', '.join(columns)} FROM {table.name} WHERE tenant = :tenant AND "  # noqa: S608 our names
        f"({', '.join(names)}) > ({', '.join(f':{name}' for name in names)}) ORDER BY {', '.join(names)} LIMIT {PAGE}"
    )
    (found,) = yield [Statement(text, dict(zip(names, place, strict=True)))]
    rows = [dict(zip(columns, values, strict=True)) for values in found.rows]
    is_last = len(rows) < PAGE
    return [row for row in rows if table.change(who, row) is not None], None if is_last else found.rows[-1][
        : len(names)
    ]


def change_page(
    table: Table, who: Name, place: Sequence[Any], *, look: bool
) -> Steps[tuple[int, int, Sequence[Any] | None]]:
    """Changes the rows of a page; returns how many go and how many stay changed, and where to go on. ``look``: changes
    nothing.
    """
    rows, after = yield from rows_page(table, who, place)
    changes = [(row, changed) for row in rows if (changed := table.change(who, row)) is not None]
    batch = [one for row, changed in changes for one in _statements(table, row, changed)]
    if batch and not look:
        yield Last(batch)
    gone = sum(changed == "delete" for _, changed in changes)
    return gone, len(changes) - gone, after


def _statements(table: Table, row: Row, changed: Row | str) -> list[Statement]:
    this = " AND ".join(f"{name} = :{name}" for name in table.key)
    key = {name: row[name] for name in table.key}
    delete = Statement(f"DELETE FROM {table.name} WHERE tenant = :tenant AND {this}", key)  # noqa: S608 our names
    if table is RUNS:
        return [*(Statement(text, key) for text in _OF_RUN), delete]
    if isinstance(changed, str):
        return [delete]
    if table is DAYS:
        return [_added(this, key, changed), delete]
    sets = ", ".join(f"{name} = :new_{name}" for name in changed)
    values = {f"new_{name}": value for name, value in changed.items()}
    return [Statement(f"UPDATE {table.name} SET {sets} WHERE tenant = :tenant AND {this}", {**key, **values})]  # noqa: S608 ours


def _added(this: str, key: Row, changed: Row) -> Statement:
    """Returns the statement that adds a day's usage to that of the pseudonym."""
    values = {f"new_{name}": value for name, value in changed.items()}
    new = ", ".join(f":new_{name}" if name in changed else name for name in _DAY_KEY)
    sums = ", ".join(f"{name} = usage_days.{name} + excluded.{name}" for name in _SUMS)
    text = (
        f"INSERT INTO usage_days (tenant, {', '.join((*_DAY_KEY, *_SUMS))}) "  # noqa: S608 our names
        f"SELECT tenant, {new}, {', '.join(_SUMS)} FROM usage_days WHERE tenant = :tenant AND {this} "
        f"ON CONFLICT (tenant, {', '.join(_DAY_KEY)}) DO UPDATE SET {sums}"
    )
    return Statement(text, {**key, **values})


_OF_RUN = (
    "DELETE FROM run_events WHERE tenant = :tenant AND run_key = :run_key",
    "DELETE FROM run_openings WHERE tenant = :tenant AND run_key = :run_key",
)
