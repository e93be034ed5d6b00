"""Forgetting what is old, in SQL."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from agui_gate.core import journal as core_journal
from agui_gate.core.approvals import UNFINISHED, State
from agui_gate.errors import Unreadable
from agui_gate.stores.base import Bounds
from agui_gate.stores.lease import lapsed
from agui_gate.stores.retention import BEGINNING, FORGET, Ages, Place, Swept, Tally
from agui_gate.stores.sql.deletions import Deletions
from agui_gate.stores.sql.journal import Journal
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.trail import Trail
from agui_gate.stores.sql.trail_retention import Pruning
from agui_gate.stores.sql.variant import Variant

LOOK = 200
"""Rows of a kind that one step looks at."""
READ = 4 * 1024 * 1024
"""Bytes of journals that one step reads, about, and the longest one that is read: the event loop waits for it."""

_SETTLED = ", ".join(repr(state.value) for state in State if state not in UNFINISHED)
_THREADS = (
    "SELECT key, updated_at, run_key, run_status, lease_owner, lease_until, bytes FROM threads "
    "WHERE tenant = :tenant AND key > :after ORDER BY key LIMIT :limit"
)
_TOMBSTONES = "SELECT id, deleted_at FROM tombstones WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit"
_IDLE = (
    "tenant = :tenant AND key = :key AND updated_at = :updated_at "  # noqa: S608 our names
    "AND coalesce(run_key, '') = :run_key AND lease_until = :until AND NOT EXISTS (SELECT 1 FROM approvals "
    f"WHERE tenant = :tenant AND thread = :key AND state NOT IN ({_SETTLED}))"
)
"""The thread as it was looked at, with no approval that waits or is at work, or of which nobody here knows."""
_READABLE = "(SELECT key FROM threads WHERE tenant = :tenant AND key = :key AND bytes <= :largest)"
_STEP = 2_000
"""Rows that are counted at once."""
_COUNTED: Mapping[str, int | str] = {
    "threads": -1,
    "approvals": 0,
    "tombstones": "",
    "approval_events": -1,
    "outbox": 0,
    "model_requests": "",
}
"""The tables that are counted, and the place before their first row."""
_WAITS = "state = 'pending' AND (expires_at IS NULL OR expires_at > :now)"
_COUNTS = {
    "threads": ("key", "bytes, updated_at", "coalesce(sum(bytes), 0), min(updated_at)"),
    "approvals": ("seq", f"CASE WHEN {_WAITS} THEN 1 ELSE 0 END AS waits", "coalesce(sum(waits), 0)"),
    "tombstones": ("id", "1 AS one", "count(*)"),
    "approval_events": ("thread", "count(*) AS events", "coalesce(sum(events), 0)"),
    "outbox": ("id", "1 AS one", "count(*)"),
    "model_requests": ("id", "at", "min(at)"),
}
"""By table: what its rows are ordered by, what is read of them, and what that amounts to. Events go by whole chains."""


def _counting(table: str, place: str, columns: str, sums: str) -> str:
    by_chain = " GROUP BY thread" if table == "approval_events" else ""
    rows = (
        f"SELECT {place}, {columns} FROM {table} WHERE tenant = :tenant AND {place} > :after{by_chain} "  # noqa: S608 ours
        f"ORDER BY {place} LIMIT :limit"
    )
    return f"SELECT count(*), max({place}), {sums} FROM ({rows}) AS part"  # noqa: S608 our names


_COUNT = {table: _counting(table, *parts) for table, parts in _COUNTS.items()}
_OLDEST_EVENT = "SELECT min(at) FROM approval_events WHERE tenant = :tenant"


class _Seen(msgspec.Struct, array_like=True):
    """A thread that was looked at."""

    key: int
    updated_at: int
    run_key: str | None
    run_status: str | None
    lease_owner: str | None
    lease_until: int
    bytes: int

    def is_idle(self, ticks: int) -> bool:
        """Returns whether no run is at work on it."""
        return self.run_status != "running" or lapsed("running", self.lease_owner, self.lease_until, ticks)


_decode_threads = msgspec.json.Decoder(list[_Seen]).decode
_decode_tombstones = msgspec.json.Decoder(list[tuple[str, int]]).decode


class Retention:
    """The statements and steps of retention; see `RetentionStore`."""

    counted = _COUNTED

    def __init__(
        self,
        variant: Variant,
        ledger: Ledger,
        journal: Journal,
        trail: Trail,
        deletions: Deletions,
        bounds: Bounds,
    ) -> None:
        self._variant = variant
        self._ledger = ledger
        self._journal = journal
        self._deletions = deletions
        self._largest = 2**62 if bounds.thread_bytes is None else bounds.thread_bytes
        self._whole = (journal.reading(_READABLE), ledger.reading(f"thread = {_READABLE}", listed=True))
        self._threads = f"SELECT {variant.arrays(_Seen.__struct_fields__)}, :now, :ticks FROM ({_THREADS}) AS found"  # noqa: S608 ours
        self._pruning = Pruning(ledger, trail)
        self._tombstones = f"SELECT {variant.arrays(['id', 'deleted_at'])}, :now FROM ({_TOMBSTONES}) AS found"  # noqa: S608 ours
        self._idle = f"SELECT key, :now, tenant FROM threads WHERE {_IDLE}{variant.lock}"  # noqa: S608 our names

    def sweep(self, ages: Ages, place: Place | None, most: int | None) -> Steps[Swept]:
        """Takes one step: of ``most`` threads, of tombstones, of chains. See `RetentionStore` for what None means."""
        place, most = place or BEGINNING, FORGET if most is None else most
        threads = records = 0
        if ages.threads is not None:
            threads, thread = yield from self._sweep_threads(ages.threads, place.thread, most)
            place = msgspec.structs.replace(place, thread=thread)
        if ages.records is not None:
            records, tombstone = yield from self._sweep_tombstones(ages.records, place.tombstone)
            place = msgspec.structs.replace(place, tombstone=tombstone)
        age, gone_age = (None, ages.records) if ages.trail is msgspec.UNSET else (ages.trail, ages.trail)
        if gone_age is None:
            return Swept(threads, records, place)
        pruned = yield from self._pruning.sweep(age, gone_age, place.chain)
        place = msgspec.structs.replace(place, chain=pruned.place)
        return Swept(threads, records + pruned.events, place, pruned.broken)

    def _sweep_threads(self, age: int, after: int, most: int) -> Steps[tuple[int, int]]:
        (found,) = yield Last([Statement(self._threads, {"after": after, "limit": LOOK})])
        ((body, now, ticks),) = found.rows
        seen = _decode_threads(body)
        old = [thread for thread in seen if thread.updated_at <= now - age and thread.is_idle(ticks)]
        gone = read = 0
        for number, thread in enumerate(old, 1):
            gone += yield from self._forget(thread)
            read += thread.bytes if self._is_read(thread) else 0
            if number < len(old) and (number == most or read > READ):
                return gone, thread.key
        return gone, seen[-1].key if len(seen) == LOOK else -1

    def _forget(self, thread: _Seen) -> Steps[bool]:
        """Deletes a thread, if it is as it was seen, and nothing of it waits. What is overdue waits no more."""
        yield from self._ledger.expire("thread = :key", {"key": thread.key})
        if (yield from self._awaits_page(thread)):
            return False
        values: dict[str, object] = {"key": thread.key, "updated_at": thread.updated_at, "until": thread.lease_until}
        values["run_key"] = thread.run_key or ""
        return (yield from self._deletions.remove(thread.key, Statement(self._idle, values)))

    def _awaits_page(self, thread: _Seen) -> Steps[bool]:
        """Returns whether a page has to run a call of it, in the conversation or in an open task; also where that can't
        be known. A run that finished left nothing that waits. In a thread
        that is too large for a run nobody can answer any more.
        """
        if not self._is_read(thread):
            return READ < thread.bytes <= self._largest and thread.run_status == "waiting"
        values = {"key": thread.key, "largest": READ}
        journal, approvals = yield Last([Statement(text, values) for text in self._whole])
        try:
            read = core_journal.Journal(self._journal.entries(journal), self._ledger.approvals(approvals))
            return any(call.kind == "client" for call in read.open_calls())
        except Unreadable:
            return True

    def _is_read(self, thread: _Seen) -> bool:
        return thread.run_status != "finished" and thread.bytes <= min(READ, self._largest)

    def _sweep_tombstones(self, age: int, after: str) -> Steps[tuple[int, str]]:
        (found,) = yield Last([Statement(self._tombstones, {"after": after, "limit": LOOK})])
        ((body, now),) = found.rows
        seen = _decode_tombstones(body)
        old = [name for name, deleted_at in seen if deleted_at <= now - age]
        text = f"DELETE FROM tombstones WHERE tenant = :tenant AND {self._variant.among('id', 'old')}"  # noqa: S608 our names
        gone = yield from self._delete(text, old)
        return gone, seen[-1][0] if len(seen) == LOOK else ""

    def _delete(self, text: str, old: Sequence[int] | Sequence[str]) -> Steps[int]:
        if not old:
            return 0
        (gone,) = yield Last([Statement(text, {"old": self._variant.listed(old)})])
        return gone.changed

    @staticmethod
    def count(table: str, after: object) -> Steps[tuple[list[int | None], object | None]]:
        """Counts the next rows of a table: how many, and what they amount to. And where to go on."""
        (found,) = yield Last([Statement(_COUNT[table], {"after": after, "limit": _STEP})])
        number, place, *sums = found.rows[0]
        return [number, *(None if one is None else int(one) for one in sums)], place if number == _STEP else None

    @staticmethod
    def oldest_event() -> Steps[int | None]:
        """Returns when the trail began."""
        (found,) = yield Last([Statement(_OLDEST_EVENT)])
        at: int | None = found.rows[0][0]
        return at

    async def tally(self, do: Callable[..., Any]) -> Tally:
        """Returns what all steps have counted. ``do`` runs an operation in a transaction."""
        counted: dict[str, list[Sequence[int | None]]] = {table: [] for table in self.counted}
        for table, after in self.counted.items():
            place: object | None = after
            while place is not None:
                count, place = await do("read", partial(self.count, table, place))
                counted[table].append(count)

        def total(table: str, column: int) -> int:
            return sum(step[column] or 0 for step in counted[table])

        return Tally(
            threads=total("threads", 0),
            bytes=total("threads", 1),
            approvals=total("approvals", 0),
            pending=total("approvals", 1),
            tombstones=total("tombstones", 0),
            events=total("approval_events", 1),
            notices=total("outbox", 0),
            oldest_thread=min((step[2] for step in counted["threads"] if step[2] is not None), default=None),
            oldest_event=await do("read", self.oldest_event),
            requests=total("model_requests", 0),
            oldest_request=min((step[1] for step in counted["model_requests"] if step[1] is not None), default=None),
        )
