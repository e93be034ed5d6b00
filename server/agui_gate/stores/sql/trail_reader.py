"""The trail as people read it, in SQL: newest first, with the records that its events are about."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.audit import Event
from agui_gate.core.json_text import parse_object
from agui_gate.stores.audit import Keys, Link, Part, TrailEntry
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.reasons import keys_named, reading, reason_of
from agui_gate.stores.sql.store_chain import begin_keys
from agui_gate.stores.sql.trail import EVENT, event_of
from agui_gate.stores.tombstones import Tombstone
from agui_gate.stores.usage import ModelRequest

if TYPE_CHECKING:
    from agui_gate.stores.sql.store import Operations

MOST_BYTES = 4 * 1024 * 1024
"""Bytes of records that are read at once; a single one may have more."""
_LONG = ("arguments", "message", "decision", "people")
"""The columns of a record that may be long; of its output there is the beginning."""

_NEWEST = "ORDER BY at DESC, thread DESC, seq DESC LIMIT :most"
_TOMBSTONE = Tombstone.__struct_fields__
_OF_CALL = (
    "thread = coalesce((SELECT thread FROM approvals WHERE tenant = :tenant AND id = :approval_id), "
    "(SELECT thread FROM approvals WHERE tenant = :tenant AND was = :approval_id AND was <> ''), "
    "(SELECT thread FROM approval_events WHERE tenant = :tenant "
    "AND principal = (SELECT principal FROM tombstones WHERE tenant = :tenant AND id = :approval_id) "
    "AND thread_id = (SELECT thread_id FROM tombstones WHERE tenant = :tenant AND id = :approval_id) "
    "AND approval_id = :approval_id LIMIT 1)) AND approval_id = :approval_id"
)
"""The SQL for what happened to one call, also where its thread is gone."""
_REQUEST = tuple(name for name in ModelRequest.__struct_fields__ if name != "spent")


def entries(ledger: Ledger, part: Part, before: Link, limit: int) -> Steps[list[TrailEntry]]:
    """Returns events of a part, newest first, with their records. See `ReadableTrail.read`."""
    wanted = _OF_CALL
    if part.approval_id is None:
        tenant = f"({ledger.variant.owners_tenant}) = :of"
        wheres = {"principal = :owner": part.owner, "by = :by AND by <> ''": part.by, tenant: part.tenant}
        wanted = " AND ".join(text for text, value in wheres.items() if value is not None) or "1 = 1"
    where = " AND ".join(("tenant = :tenant", wanted, "(at, thread, seq) < (:at, :thread, :seq)"))
    text = f"SELECT {', '.join(EVENT)} FROM approval_events WHERE {where} {_NEWEST}"  # noqa: S608 our names
    values = {**msgspec.structs.asdict(part), **msgspec.structs.asdict(before), "of": part.tenant, "most": limit}
    (found,) = yield [Statement(text, values)]
    events = yield from _as_many_as_fit(ledger, [event_of(row) for row in found.rows])
    ids = {"ids": ledger.variant.listed(sorted({event.approval_id for event in events if event.approval_id}))}
    among = ledger.variant.among("id", "ids")
    graves = f"SELECT {', '.join(_TOMBSTONE)} FROM tombstones WHERE tenant = :tenant AND {among}"  # noqa: S608 our names
    asked = [event for event in events if event.kind == "asked"]
    named = keys_named(events)
    batch = [Statement(ledger.reading(among, listed=True), ids), Statement(graves, ids)]
    batch += [reading(ledger.variant, named)] if named else []
    read, left, *keys = yield batch if asked else Last(batch)
    records = {record.id: record for record in ledger.approvals(read)}
    rows = [dict(zip(_TOMBSTONE, row, strict=True)) for row in left.rows]
    buried = {one.id: one for one in msgspec.convert(rows, list[Tombstone], strict=False)}
    requests = (yield from _requests(ledger, asked)) if asked else {}
    known = dict(keys[0].rows) if keys else {}
    return [
        TrailEntry(
            event,
            records.get(event.approval_id),
            buried.get(event.approval_id),
            requests.get(event.hash),
            reason_of(event, known),
        )
        for event in events
    ]


def _as_many_as_fit(ledger: Ledger, events: list[Event]) -> Steps[list[Event]]:
    """Returns the first events, whose records have no more than `MOST_BYTES` together; one at least."""
    ids = sorted({event.approval_id for event in events if event.approval_id})
    if len(ids) < 2:
        return events
    size = " + ".join(f"coalesce({ledger.variant.size(name)}, 0)" for name in _LONG)
    text = f"SELECT id, {size} FROM approvals WHERE tenant = :tenant AND {ledger.variant.among('id', 'ids')}"  # noqa: S608 ours
    (found,) = yield [Statement(text, {"ids": ledger.variant.listed(ids)})]
    sizes = dict(found.rows)
    total = 0
    for number, event in enumerate(events):
        total += sizes.pop(event.approval_id, 0)
        if total > MOST_BYTES and number:
            return events[:number]
    return events


def _requests(ledger: Ledger, asked: Sequence[Event]) -> Steps[dict[str, ModelRequest]]:
    """Returns the request to a model whose answer asked, by the event's hash: the last one of its run and agent that
    ended before. It is known where usage is kept.
    """
    runs: dict[str, dict[str, int]] = {}
    for event in asked:
        of_thread = runs.setdefault(event.thread_id, {})
        of_thread[event.run_key] = max(event.at, of_thread.get(event.run_key, 0))
    text = (
        f"SELECT {', '.join(_REQUEST)} FROM model_requests WHERE tenant = :tenant AND thread_id = :thread_id "  # noqa: S608 ours
        f"AND {ledger.variant.among('run_key', 'runs')} AND (at, id) < (:until, '') AND outcome = 'ok' "
        "ORDER BY at DESC, id DESC LIMIT 1000"
    )
    found = yield Last(
        [
            Statement(
                text, {"thread_id": name, "runs": ledger.variant.listed(sorted(of)), "until": max(of.values()) + 1}
            )
            for name, of in runs.items()
        ]
    )
    requests = [ModelRequest(**dict(zip(_REQUEST, row, strict=True))) for some in found for row in reversed(some.rows)]
    agents = {event.hash: (parse_object(event.body) or {}).get("agent") for event in asked}
    return {
        event.hash: one
        for event in asked
        for one in requests
        if one.run_key == event.run_key and one.at <= event.at and one.agent == agents[event.hash]
    }


def reason(ledger: Ledger, event: Event) -> Steps[str | None]:
    """See `ReadableTrail.reason`."""
    (found,) = yield Last([reading(ledger.variant, keys_named([event]))])
    return reason_of(event, dict(found.rows))


def unread(ledger: Ledger, key: int) -> Steps[list[str]]:
    """See `ReadableTrail.unread`."""
    (found,) = yield Last([Statement(ledger.reading("thread = :key"), {"key": key})])
    records: list[dict[str, Any]] = msgspec.json.decode(found.rows[0][0])
    return [str(record.get("id")) for record in records if not _is_whole(record)]


def _is_whole(record: dict[str, Any]) -> bool:
    try:
        approval = msgspec.convert(record, Approval)
    except msgspec.ValidationError:
        return False
    parts = ("asker", "decision", "output", "people")
    return all(record.get(name) == _again(getattr(approval, name)) for name in parts)


def _again(value: object) -> Any:
    """Returns a part of a record as this version would have written it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def strays() -> Steps[bool]:
    """See `ReadableTrail.strays`."""
    (found,) = yield Last([Statement("SELECT 1 FROM approval_events WHERE tenant > :tenant LIMIT 1")])
    return bool(found.rows)


class TrailReader:
    """See `ReadableTrail`. ``do`` runs an operation in a transaction."""

    def __init__(self, do: Callable[..., Any], operations: "Operations") -> None:
        self._do, self._sql = do, operations

    @property
    def keys(self) -> Keys | None:
        """The keys by which what is added from now on is signed."""
        return self._sql.trail.keys

    @keys.setter
    def keys(self, keys: Keys | None) -> None:
        self._sql.trail.keys = keys

    async def read(self, part: Part, before: Link, limit: int) -> Sequence[TrailEntry]:
        """See `ReadableTrail`."""
        found: Sequence[TrailEntry] = await self._do("read", lambda: entries(self._sql.ledger, part, before, limit))
        return found

    async def reason(self, event: Event) -> str | None:
        """See `ReadableTrail`."""
        if not keys_named([event]):
            return reason_of(event, {})
        found: str | None = await self._do("read", lambda: reason(self._sql.ledger, event))
        return found

    async def unread(self, thread: str) -> Sequence[str]:
        """See `ReadableTrail`."""
        found: Sequence[str] = await self._do("read", lambda: unread(self._sql.ledger, int(thread)))
        return found

    async def strays(self) -> bool:
        """See `ReadableTrail`."""
        return bool(await self._do("read", strays))

    async def begin_keys(self) -> None:
        """See `ReadableTrail`."""
        await self._do("write", lambda: begin_keys(self._sql.ledger.variant, self._sql.trail))
