"""The audit trail and the outbox in SQL: what is written along with what happened, in the same transaction.

The end of a thread's chain is read after the row of the thread was locked, so nobody else adds to that chain meanwhile.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.audit import Event, Happened, Head, chained
from agui_gate.stores.base import RunStatus
from agui_gate.stores.outbox import KINDS, TAKE_MS, Notice, Telling, run_ended, tellings
from agui_gate.stores.sql.journal import AS_KNOWN
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.variant import Variant

if TYPE_CHECKING:
    from agui_gate.stores.audit import Keys

EVENT = Event.__struct_fields__
"""The columns of ``approval_events``."""
_ADD = (
    f"INSERT INTO approval_events ({', '.join(EVENT)}) "  # noqa: S608 our names
    f"VALUES (:tenant, :{', :'.join(EVENT[1:])})"
)

TELLING = Telling.__struct_fields__
TELL = (
    f"INSERT INTO outbox (tenant, {', '.join(TELLING)}, created_at) "  # noqa: S608 our names
    f"VALUES (:tenant, :{', :'.join(TELLING)}, :now)"
)
_KINDS = ", ".join(f"'{kind}'" for kind in KINDS)
_KNOWN = f"FROM outbox WHERE tenant = :tenant AND kind IN ({_KINDS})"
"""A newer version's are left to it: here nobody would be told."""
_TAKE = (
    "INSERT INTO outbox_taker (tenant, taker, until) SELECT :tenant, :taker, :now + :stays "
    f"WHERE EXISTS (SELECT 1 {_KNOWN}) "
    "ON CONFLICT (tenant) DO UPDATE SET taker = excluded.taker, until = excluded.until "
    "WHERE outbox_taker.taker = excluded.taker OR outbox_taker.until <= :now"
)
_LEAVE = "UPDATE outbox_taker SET until = 0 WHERE tenant = :tenant AND taker = :taker AND until > 0"
_NOTICE = Notice.__struct_fields__
_NOTICES = (
    f"SELECT {', '.join(_NOTICE)} FROM outbox WHERE tenant = :tenant AND id > (SELECT 0 FROM outbox_taker "  # noqa: S608 ours
    "WHERE tenant = :tenant AND taker = :taker AND until > :now) "
    f"AND kind IN ({_KINDS}) ORDER BY id LIMIT :limit"
)
"""For another taker there is no id, and no notice is read: else a database may go through all of them."""


_READ = "NOT EXISTS (SELECT 1 FROM outbox_kinds WHERE tenant = :tenant AND kind = 'run_ended' AND wanted = 0)"
_IS_WANTED = "SELECT wanted FROM outbox_kinds WHERE tenant = :tenant AND kind = :kind"
_WANT = (
    "INSERT INTO outbox_kinds (tenant, kind, wanted) VALUES (:tenant, :kind, :wanted) "
    "ON CONFLICT (tenant, kind) DO UPDATE SET wanted = excluded.wanted WHERE outbox_kinds.wanted < excluded.wanted"
)


def telling_end(condition: str) -> str:
    """Returns the SQL that tells that the run ends which has the lease of the thread of that condition.

    ``:body`` is that of `ended`.
    """
    return (
        "INSERT INTO outbox (tenant, kind, principal, thread_id, about, body, created_at) "  # noqa: S608 our names
        f"SELECT tenant, 'run_ended', principal, id, run_key, :body, :now FROM threads WHERE {_READ} AND {condition}"
    )


@cache
def ended(status: RunStatus) -> str:
    """Returns what is told of a run that ends like that."""
    return run_ended("", "", "", status).body


def head_of(thread: str) -> str:
    """Returns the SQL that reads the end of the chain of the thread whose key is that expression; see `Trail.added`."""
    return (
        "SELECT seq, hash FROM approval_events "  # noqa: S608 our names
        f"WHERE tenant = :tenant AND thread = {thread} ORDER BY seq DESC LIMIT 1"
    )


Rows = Sequence[tuple[Any, ...]]
"""The rows of a statement."""

decode_rows = msgspec.json.Decoder(list[tuple[Any, ...]]).decode
"""Reads the rows of a query as `Variant.arrays` gives them."""


def ends_at(variant: Variant, thread: str) -> str:
    """Returns the SQL that reads what `head_of` does as one value, for `decode_rows`."""
    return f"SELECT {variant.arrays(('seq', 'hash'))} FROM ({head_of(thread)}) AS found"  # noqa: S608 our names


def locking(variant: Variant, columns: str, place: str, *values: str) -> list[str]:
    """Returns the SQL that locks the row of a thread and then reads columns of it, with queries of one value each.

    It is one statement where writers are alone. The last one reads.
    """
    read = ", ".join((columns, *(f"({value})" for value in values)))
    lock = [f"SELECT 1 FROM threads WHERE {place}{variant.lock}"] if variant.lock else []  # noqa: S608 our names
    return [*lock, f"SELECT {read} FROM threads WHERE {place}"]  # noqa: S608 our names


def event_of(row: Sequence[Any]) -> Event:
    """Returns the event that the `EVENT` columns of a row make."""
    members = dict(zip(EVENT, row, strict=True))
    return Event(**members | {"thread": str(members["thread"])})


class Trail:
    """The statements and steps that add to the audit trail, and those of the outbox; see `OutboxStore`."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self.keys: Keys | None = None
        self._tell_end = telling_end(f"{AS_KNOWN}{variant.lock}")

    def added(
        self, key: int, tenant: str, end: Rows, at: int, happened: Iterable[Happened], after: Iterable[Approval] = ()
    ) -> list[Statement]:
        """Returns the statements that add to the chain that has this ``end``, and to the outbox. ``after``: the records
        that were changed, as they are then.
        """
        happened = list(happened)
        seq, last = end[0] if end else (0, "")
        head = Head(str(key), seq, last, tenant)
        events = chained(head, at, happened) if self.keys is None else self.keys.chained(head, at, happened, after)
        statements = [Statement(_ADD, msgspec.structs.asdict(event) | {"thread": key}) for event in events]
        return statements + [Statement(TELL, msgspec.structs.asdict(telling)) for telling in tellings(happened)]

    def ended(self, held: Mapping[str, object], status: RunStatus) -> Statement:
        """Returns the statement that tells that a run ends, which holds the lease as yet, and until that is done: see
        `AS_KNOWN`.
        """
        return Statement(self._tell_end, {**held, "body": ended(status)})

    @staticmethod
    def runs_wanted(wanted: bool) -> Steps[bool]:
        """Returns whether it is known already that a process reads when runs end, or doesn't."""
        (found,) = yield Last([Statement(_IS_WANTED, {"kind": "run_ended"})])
        return bool(found.rows) and bool(found.rows[0][0] >= wanted)

    @staticmethod
    def want_runs(wanted: bool) -> Steps[None]:
        """Says whether a process reads when runs end. Who does is not overruled by who doesn't."""
        yield Last([Statement(_WANT, {"kind": "run_ended", "wanted": int(wanted)})])

    def has_notices(self) -> Steps[bool]:
        """Returns whether there is anything to tell, of what this version knows."""
        (found,) = yield Last([Statement(f"SELECT 1 {_KNOWN} LIMIT 1")])
        return bool(found.rows)

    def take(self, taker: str, told: Collection[int], limit: int) -> Steps[Sequence[Notice]]:
        """Removes what was told, and gives the oldest that are left to one taker."""
        values = {"taker": taker, "stays": TAKE_MS, "limit": limit, "told": self._variant.listed(told)}
        texts = [_TAKE, _NOTICES] if limit else [_LEAVE]
        if told:
            texts.insert(0, f"DELETE FROM outbox WHERE tenant = :tenant AND {self._variant.among('id', 'told')}")  # noqa: S608 ours
        *_, found = yield Last([Statement(text, values) for text in texts])
        return [Notice(**dict(zip(_NOTICE, row, strict=True))) for row in found.rows]

    def note(self, happened: Sequence[Happened]) -> Steps[None]:
        """Adds events of one thread that change no approval, of those approvals that are there."""
        values = {"id": happened[0].approval_id, "ids": self._variant.listed({one.approval_id for one in happened})}
        thread = "(SELECT thread FROM approvals WHERE tenant = :tenant AND id = :id)"
        ids = f"SELECT id FROM approvals WHERE tenant = :tenant AND {self._variant.among('id', 'ids')}"  # noqa: S608 ours
        lock = f"SELECT key, tenant, :now FROM threads WHERE tenant = :tenant AND key = {thread}{self._variant.lock}"  # noqa: S608 ours
        locked, end, found = yield [Statement(text, values) for text in (lock, head_of(thread), ids)]
        there = {approval_id for (approval_id,) in found.rows}
        for key, tenant, now in locked.rows:
            kept = [one for one in happened if one.approval_id in there]
            yield Last(self.added(key, tenant, end.rows, now, kept))
