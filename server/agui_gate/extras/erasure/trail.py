"""The name in the trail and in the records of others: which chains have it, and how it is replaced there.

A chain is changed in one transaction, under the lock of its thread. Each event is checked before: nobody is to vouch
for what somebody else has changed.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.audit import STORE_CHAIN, Event, Happened, about, as_erased, digest, event_hash
from agui_gate.core.audit_verification import unsigned_hash
from agui_gate.core.json_text import canonical
from agui_gate.errors import Unavailable
from agui_gate.extras.audit.verification import all_events
from agui_gate.extras.erasure.names import Name, erased_event, erased_record
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.reasons import PersonKey, key_of
from agui_gate.stores.sql.store_chain import LOCK, add
from agui_gate.stores.sql.trail import EVENT, event_of

if TYPE_CHECKING:
    from agui_gate.stores.sql.store import Operations

PAGE = 500
"""Events, or parts of records, that are read at once."""
RECORDS = 20
"""Records that are read at once with all that they have, and changed together with their events."""

_RECORDS = (
    "SELECT seq, thread, principal, coalesce(asker, ''), coalesce(decision, ''), coalesce(people, '') FROM approvals "
    "WHERE tenant = :tenant AND seq > :after ORDER BY seq LIMIT :most"
)
_IDS = (
    "SELECT seq, id FROM approvals WHERE tenant = :tenant AND thread = :key AND seq > :after ORDER BY seq LIMIT :most"
)
_EVENTS = f"SELECT {', '.join(EVENT)} FROM approval_events WHERE tenant = :tenant AND thread = :key"  # noqa: S608 ours
_END = (
    "SELECT seq, hash FROM approval_events WHERE tenant = :tenant AND thread = :key "  # none before the trail began
    "ORDER BY seq DESC LIMIT 1"
)
_REPLACE = (
    "UPDATE approval_events SET principal = :principal, thread_id = :thread_id, by = :by, body = :body, "
    "erased = :erased WHERE tenant = :tenant AND thread = :key AND seq = :seq"
)
_RECORD = (
    "UPDATE approvals SET asker = coalesce(:asker, asker), decision = coalesce(:decision, decision), "
    "people = coalesce(:people, people), output = coalesce(:output, output) WHERE tenant = :tenant AND id = :id"
)
_FORGET = "DELETE FROM person_keys WHERE tenant = :tenant AND of_tenant = :of_tenant AND person = :person"
_HAS_KEY = "SELECT 1 FROM person_keys WHERE tenant = :tenant AND of_tenant = :of_tenant AND person = :person"


class Found(msgspec.Struct):
    """The chains that have the name, and in how many events and records it is."""

    chains: set[int] = msgspec.field(default_factory=set)
    events: int = 0
    records: int = 0
    unsigned: int = 0
    """Of the events, those whose hash isn't made by a key."""
    persons: set[str] = msgspec.field(default_factory=set)
    """Persons whom the principal of this name stood for: they are another name, with reasons of their own."""


async def find(store: FullStore, do: Callable[..., Any], operations: "Operations", who: Name) -> Found:
    """Returns where the name is. Raises `Unavailable` where the trail is signed and no key is given, and where an event
    with the name was changed.
    """
    found = Found()
    keys = operations.trail.keys
    async for event in all_events(store):
        if event.key_id and keys is None:
            raise Unavailable(
                "The audit trail is signed. Give its keys (AGUI_GATE_AUDIT_KEY): names in it can't be replaced without."
            )
        if erased_event(who, event, keeps_thread=True) != event:
            _check_unchanged(event, operations)
            found.chains.add(int(event.thread))
            found.events += 1
            found.unsigned += not event.key_id
            found.persons |= _persons(who, event)
    async for key in _records(do, who):
        found.chains.add(key)
        found.records += 1
    return found


def _check_unchanged(event: Event, operations: "Operations") -> None:
    """Raises `Unavailable` if somebody has changed an event: its names are not replaced."""
    keys = operations.trail.keys
    hash_of = unsigned_hash if keys is None else keys.hash_of
    kept = as_erased(event) if event.erased else event
    if kept.hash != hash_of(kept):
        raise Unavailable(
            f"Event {event.seq} of the chain {event.thread} of the audit trail was changed, so its names are not "
            "replaced. Run `agui-gate audit verify`, and find out by whom."
        )


def _persons(who: Name, event: Event) -> set[str]:
    said = msgspec.json.decode(event.body)
    person = said.get("person") if isinstance(said, dict) and event.by == who.name else None
    return {person} if isinstance(person, str) and person not in ("", who.name) else set()


async def _records(do: Callable[..., Any], who: Name) -> AsyncIterator[int]:
    """Yields the threads' keys of records of others that have the name, of each such record."""
    after = 0
    while True:
        rows = await do("read", partial(_page, after))
        for _, thread, principal, *texts in rows:
            if principal != who.key and any(who.is_in(text, principal) for text in texts):
                yield thread
        if len(rows) < PAGE:
            return
        after = rows[-1][0]


def _page(after: int) -> Steps[Sequence[tuple[int, int, str, str, str, str]]]:
    (found,) = yield Last([Statement(_RECORDS, {"after": after, "most": PAGE})])
    return found.rows


async def records_of(do: Callable[..., Any], operations: "Operations", who: Name) -> AsyncIterator[Approval]:
    """Yields the records of others that have the name."""
    keys = sorted({key async for key in _records(do, who)})
    for key in keys:
        for record in await do("read", partial(_of_thread, operations, key)):
            if erased_record(who, record) != record:
                yield record


def _of_thread(operations: "Operations", key: int) -> Steps[list[Approval]]:
    (found,) = yield Last([Statement(operations.ledger.reading("thread = :key", listed=True), {"key": key})])
    return operations.ledger.approvals(found)


class TrailEraser:
    """Replaces the name. ``by``: who erases."""

    def __init__(self, operations: "Operations", who: Name, by: str) -> None:
        self._sql, self._who, self._by = operations, who, by
        variant = operations.ledger.variant
        self._lock = f"SELECT key, tenant FROM threads WHERE tenant = :tenant AND key = :key{variant.lock}"  # noqa: S608 ours
        self._alone = Statement(variant.alone, {"name": LOCK})

    def records(self, key: int, after: int) -> Steps[int | None]:
        """Replaces the name in the next records of a thread, with the events of their calls. ``after``: the ``seq`` of
        a record. Returns where to go on; None at the end.
        """
        (listed,) = yield [Statement(_IDS, {"key": key, "after": after, "most": RECORDS})]
        if not listed.rows:
            return None
        ledger = self._sql.ledger
        values = {"key": key, "ids": ledger.variant.listed([name for _, name in listed.rows])}
        texts = (
            f"{_EVENTS} AND {ledger.variant.among('approval_id', 'ids')} ORDER BY seq",
            ledger.reading(ledger.variant.among("id", "ids"), listed=True),
            _END,
            "SELECT :now + 0",
        )
        locked, chain, read, end, now = yield [
            Statement(self._lock, values),
            *(Statement(text, values) for text in texts),
        ]
        batch: list[Statement] = []
        happened: list[Happened] = []
        changed: list[Approval] = []
        for record in ledger.approvals(read):
            new = erased_record(self._who, record)
            if new != record:
                batch.append(Statement(_RECORD, _row(record, new)))
                happened.append(self._erased(record, new))
                changed.append(new)
        batch += [one for row in chain.rows for one in self._event(event_of(row), key, keeps_thread=True)]
        if happened:
            batch += self._sql.trail.added(key, locked.rows[0][1], end.rows, now.rows[0][0], happened, changed)
        if batch:
            yield Last(batch)
        return int(listed.rows[-1][0]) if len(listed.rows) == RECORDS else None

    def events(self, key: int, after: int) -> Steps[int | None]:
        """Replaces the name in the next events of a chain. ``after``: the ``seq`` of one. Returns where to go on; None
        at the end.
        """
        values = {"key": key, "after": after, "most": PAGE}
        first = self._alone if key == STORE_CHAIN else Statement(self._lock, values)
        locked, chain = yield [first, Statement(f"{_EVENTS} AND seq > :after ORDER BY seq LIMIT :most", values)]
        is_there = key != STORE_CHAIN and bool(locked.rows)
        batch = [one for row in chain.rows for one in self._event(event_of(row), key, keeps_thread=is_there)]
        if batch:
            yield Last(batch)
        return int(chain.rows[-1][EVENT.index("seq")]) if len(chain.rows) == PAGE else None

    def _event(self, event: Event, key: int, *, keeps_thread: bool) -> list[Statement]:
        new = erased_event(self._who, event, keeps_thread=keeps_thread)
        if new == event:
            return []
        _check_unchanged(event, self._sql)
        keys = self._sql.trail.keys
        behind = msgspec.structs.replace(new, prev=event.hash, key_id="" if keys is None else keys.current, erased="")
        mark = event_hash(behind) if keys is None else keys.hash_of(behind)
        values = {name: getattr(new, name) for name in ("principal", "thread_id", "by", "body", "seq")}
        return [Statement(_REPLACE, {**values, "key": key, "erased": f"{behind.key_id}:{mark}"})]

    def _erased(self, record: Approval, new: Approval) -> Happened:
        body = {} if new.output is None or new.output == record.output else {"output": digest(new.output.content)}
        return msgspec.structs.replace(about(new, "erased", body=body), by=self._by, way="operator")

    def end(self, receipt: str) -> Steps[None]:
        """Destroys the key of the person, and says in the trail that they were erased."""
        whose = {"of_tenant": self._who.tenant, "person": self._who.name}
        yield [Statement(_FORGET, whose)]
        happened = Happened(
            kind="erased",
            principal=self._who.new_key,
            thread_id="",
            approval_id="",
            by=self._by,
            way="operator",
            body=canonical({"receipt": receipt}),
        )
        yield from add(self._sql.ledger.variant, self._sql.trail, happened)


def may_change() -> Steps[bool]:
    """Returns whether the role of a PostgreSQL database may change the trail: that of servers need not."""
    (found,) = yield Last([Statement("SELECT has_table_privilege('approval_events', 'UPDATE')")])
    return bool(found.rows[0][0])


def begin(who: Name) -> Steps[Name]:
    """Returns the name with its pseudonym, which follows from the key of the person: that is destroyed at the end."""
    key: PersonKey = yield from key_of(who.tenant, who.name)
    return msgspec.structs.replace(who, pseudonym=f"erased-{digest(f'pseudonym {key.key}')[:12]}")


def has_key(who: Name) -> Steps[bool]:
    """Returns whether the person has a key: they gave a reason, or erasing them has begun."""
    (found,) = yield Last([Statement(_HAS_KEY, {"of_tenant": who.tenant, "person": who.name})])
    return bool(found.rows)


def _row(record: Approval, new: Approval) -> dict[str, object]:
    """Returns the new values; None where it stays."""
    row: dict[str, object] = {"id": record.id}
    for name in ("asker", "decision", "people", "output"):
        old, value = getattr(record, name), getattr(new, name)
        row[name] = None if value == old else msgspec.json.encode(value).decode()
    return row
