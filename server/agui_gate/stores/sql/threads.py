"""Reads and changes threads in SQL without a lease."""

from collections.abc import Collection

import msgspec

from agui_gate.stores.base import AtWork, Bounds, Calls, StopRequest, Thread, ThreadHead
from agui_gate.stores.lease import lapsed
from agui_gate.stores.sql.journal import UNDER_LEASE
from agui_gate.stores.sql.leases import BY_EITHER, BY_KEY, ROW, Leases
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Last, Result, Statement, Steps
from agui_gate.stores.sql.rows import ThreadRow, read_status
from agui_gate.stores.sql.variant import Variant

_RUNNING = (
    "SELECT principal, id, run_key, updated_at, lease_owner, lease_until, :ticks FROM threads "
    "WHERE tenant = :tenant AND run_status = 'running'"
)
_ASK = f"UPDATE threads SET stop = :stop WHERE {UNDER_LEASE}"  # noqa: S608 our names


class HeadRow(msgspec.Struct, array_like=True):
    """A thread as a list reads it: its fields are the columns, in this order; ``pending`` is counted."""

    id: str
    agent: str
    title: str | None
    archived: int | bool
    created_at: int
    updated_at: int
    key: int
    run_key: str | None
    run_status: str | None
    lease_owner: str | None
    lease_until: int
    pending: int

    def head(self, ticks: int) -> ThreadHead:
        """Returns the thread as a list shows it."""
        return ThreadHead(
            id=self.id,
            agent=self.agent,
            title=self.title,
            archived=bool(self.archived),
            created_at=self.created_at,
            updated_at=self.updated_at,
            run_key=self.run_key,
            run_status="interrupted"
            if lapsed(self.run_status, self.lease_owner, self.lease_until, ticks)
            else read_status(self.run_status),
            pending=self.pending,
        )


_PENDING = (
    "(SELECT count(*) FROM approvals WHERE tenant = :tenant AND thread = threads.key AND state = 'pending' "
    "AND (expires_at IS NULL OR expires_at > :now)) AS pending"
)
_COLUMNS = ", ".join((*HeadRow.__struct_fields__[:-1], _PENDING))

_decode_rows = msgspec.json.Decoder(list[HeadRow]).decode


class Heads:
    """The statements that read heads."""

    def __init__(self, variant: Variant) -> None:
        self._columns = variant.arrays(HeadRow.__struct_fields__)

    def reading(self, rows: str) -> str:
        """Returns the SQL that reads the heads of threads; ``rows``: which of them, from WHERE on. See `heads`."""
        return f"SELECT {self._columns}, :ticks FROM (SELECT {_COLUMNS} FROM threads {rows}) AS found"  # noqa: S608 our names

    @staticmethod
    def heads(result: Result) -> list[ThreadHead]:
        """Returns the heads that were read."""
        rows, ticks = Heads.rows(result)
        return [row.head(ticks) for row in rows]

    @staticmethod
    def rows(result: Result) -> tuple[list[HeadRow], int]:
        """Returns their rows, and the clock of leases when they were read."""
        ((body, ticks),) = result.rows
        return _decode_rows(body), ticks


class Threads:
    """The statements and steps of threads; see `ThreadStore`."""

    def __init__(self, variant: Variant, ledger: Ledger, leases: Leases, bounds: Bounds) -> None:
        self._variant = variant
        self._ledger = ledger
        self._leases = leases
        self._heads = Heads(variant)
        self._bounds = bounds
        self._largest = 2**62 if bounds.thread_bytes is None else bounds.thread_bytes
        self._read_whole = [ROW + BY_EITHER, *leases.rest(f"{BY_EITHER} AND bytes <= :largest")]
        self._calls = [
            ROW + BY_EITHER,
            self._heads.reading(f"WHERE {BY_EITHER}"),
            ledger.reading(f"thread = (SELECT key FROM threads WHERE {BY_EITHER})", listed=True),  # noqa: S608 ours
        ]

    def read(self, principal: str, thread_id: str, whole: bool) -> Steps[Thread | None]:
        """Reads without a lease. Overdue approvals are as they are."""
        values = {"principal": principal, "thread_id": thread_id, "largest": self._largest}
        texts = self._read_whole if whole else self._read_whole[:1]
        found, *rest = yield Last([Statement(text, values) for text in texts])
        if not found.rows:
            return None
        row = ThreadRow(*found.rows[0])
        thread = row.head()
        if whole:
            self._bounds.check_readable(row.bytes)
            self._leases.fill(thread, row, rest)
        return thread

    def read_calls(self, principal: str, thread_id: str) -> Steps[tuple[ThreadRow, Calls] | None]:
        """Returns the thread's row, and its head and approvals. Overdue approvals are as they are."""
        values = {"principal": principal, "thread_id": thread_id}
        found, head, approvals = yield Last([Statement(text, values) for text in self._calls])
        if not found.rows:
            return None
        calls = Calls(self._heads.heads(head)[0], self._ledger.approvals(approvals))
        return ThreadRow(*found.rows[0]), calls

    def at_work(self, threads: Collection[tuple[str, str]]) -> Steps[dict[tuple[str, str], AtWork]]:
        """Returns what works on these threads. The index of what runs is read as a whole: it is small."""
        (running,) = yield Last([Statement(_RUNNING)])
        return {
            (principal, thread_id): AtWork(run_key, updated_at)
            for principal, thread_id, run_key, updated_at, owner, until, ticks in running.rows
            if (principal, thread_id) in threads and not lapsed("running", owner, until, ticks)
        }

    def update(
        self, principal: str, thread_id: str, title: str | None | msgspec.UnsetType, archived: bool | msgspec.UnsetType
    ) -> Steps[ThreadHead | None]:
        """Sets what isn't UNSET."""
        values = {"principal": principal, "thread_id": thread_id}
        (found,) = yield [Statement(f"SELECT key FROM threads WHERE {BY_EITHER}{self._variant.lock}", values)]  # noqa: S608 ours
        if not found.rows:
            return None
        ((key,),) = found.rows
        fields = {"title": title, "archived": archived}
        batch = [
            Statement(f"UPDATE threads SET {name} = :value WHERE {BY_KEY}", {"key": key, "value": value})  # noqa: S608 ours
            for name, value in fields.items()
            if value is not msgspec.UNSET
        ]
        *_, head = yield Last([*batch, Statement(self._heads.reading(f"WHERE {BY_KEY}"), {"key": key})])
        return self._heads.heads(head)[0]

    def ask_to_stop(self, principal: str, thread_id: str, request: StopRequest) -> Steps[str | None]:
        """Notes what is asked of the run that holds the lease. A later request takes an earlier one's place."""
        values = {"principal": principal, "thread_id": thread_id}
        (found,) = yield [Statement(f"{ROW}{BY_EITHER}{self._variant.lock}", values)]
        if not found.rows:
            return None
        row = ThreadRow(*found.rows[0])
        if row.run_status != "running" or row.lapsed():
            return None
        asked = {"key": row.key, "run_key": row.run_key, "stop": msgspec.json.encode(request).decode()}
        yield Last([Statement(_ASK, asked)])
        return row.run_key
