"""The capabilities of stores beyond the fifteen methods of `Store`, each as a Protocol of its own.

A capability is looked up by the names of its methods, once, when the engine is made (`capabilities`). Without it the
feature is absent, or is done by what every store can do: nobody has to write all of this to have a store of their own.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, Protocol, runtime_checkable

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.stores.audit import AuditStore
from agui_gate.stores.base import ApprovalStore, AtWork, StopRequest, Store
from agui_gate.stores.epochs import EpochStore
from agui_gate.stores.outbox import OutboxStore
from agui_gate.stores.retention import RetentionStore
from agui_gate.stores.tombstones import Tombstone

ORPHANS = 500
"""Calls at work that one look goes through."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A call as an operator is told of it; nothing that was said. ``seq`` is its place among all that were asked."""

    seq: int
    id: str
    tool: str
    state: State
    principal: str
    thread_id: str
    run_key: str = ""
    """The key of the last lease of its thread."""


class Orphans(msgspec.Struct, frozen=True):
    """The orphans that one look found. ``after``: where the next one goes on; None at the end."""

    found: Sequence[Named]
    after: int | None


class OrphanStore(Protocol):
    """The calls of a store of which nobody says what came of them."""

    async def orphans(self, after: int = 0, most: int = ORPHANS) -> Orphans:
        """Returns calls at work with nobody who holds their thread's lease, whosever they are, oldest first.

        Looks at ``most`` calls at work, from that place on. It takes as long as there are such calls, not records.
        """
        ...

    async def unknown(self, limit: int) -> tuple[int, Sequence[Named]]:
        """Returns how many calls have ended ``unknown``, and the ``limit`` that were asked last, newest first."""
        ...


EXPIRE = 200
"""Approvals that one step expires, about."""


class Expired(msgspec.Struct, frozen=True):
    """The result of one step: the threads, by principal and id, of which something expired, in that order.

    ``wait_ms``: when the next approval expires; 0 where one may be overdue, None where none waits that ever does.
    """

    threads: list[tuple[str, str]]
    wait_ms: int | None


class Expiry(Protocol):
    """Expires what is overdue."""

    async def expire(self, most: int = EXPIRE) -> Expired:
        """Expires what is overdue, whosever it is, in the order of its time; ``most`` of them, about.

        Each once, however many processes do this at a time. Costs next to nothing where nothing is overdue.
        """
        ...


class SharedStore(Protocol):
    """Several processes use one store. Without it, one process is taken to be the only one (`_Alone`)."""

    async def at_work(self, threads: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], AtWork]:
        """Returns what works on these threads, in whichever process, by principal and id.

        Those on which nothing does are left out. It takes as long as there are runs in flight, however many threads are
        asked about.
        """
        ...

    async def ask_to_stop(self, principal: str, thread_id: str, request: StopRequest) -> str | None:
        """Asks the run that holds the lease to stop; its process finds that by `take_stops`, within `STOP_MS`.

        Returns the key of that run; None if there is no such thread, or no run is at work on it. Only asks: whether the
        run has ended is seen in the thread's `run_key` and `run_status`.
        """
        ...

    async def take_stops(self, run_keys: Collection[str]) -> Mapping[str, StopRequest]:
        """Returns what was asked of these runs since the last time, by their keys. Costs next to nothing if nobody
        asked.
        """
        ...

    @property
    def bus_url(self) -> str:
        """The URL of a bus that all processes reach which share this store; empty if the store brings none."""
        ...

    @property
    def neighbours(self) -> Sequence[int]:
        """Ids of other processes by which this store was used when it was opened here, as far as that can be known: of
        this machine, or PostgreSQL's own that serve them.
        """
        ...


class InboxStore(ApprovalStore, Protocol):
    """Following many approvals without reading them. Without it, lists are read instead (`_Listed`)."""

    async def waiting_ids(self, principals: Collection[str], limit: int) -> Mapping[str, list[str]]:
        """Returns the ids of what waits (overdue or not), oldest first, by principal: up to ``limit`` each. Reads no
        record.
        """
        ...

    async def read_approvals(self, principal: str, approval_ids: Sequence[str]) -> tuple[list[Approval], Sequence[str]]:
        """Returns the first of these records, as many as fit in `PAGE_BYTES`, oldest first; and the ids that are left
        to read.

        One that isn't there, or isn't this principal's, is passed over. Long outputs are cut as in lists.
        """
        ...


@runtime_checkable
class WorkingStore(Protocol):
    """Following many calls at work without reading them. Without it, each look reads their records."""

    async def working_states(self, principals: Collection[str]) -> Mapping[str, State]:
        """Returns the states of these principals' calls that are at work (`Which`, ``claimed``), by their ids."""
        ...


class TombstoneStore(Protocol):
    """Keeps what is left of deleted threads. Without it, nothing is."""

    async def tombstones(
        self, principal: str, *, thread_id: str | None = None, approval_id: str | None = None, limit: int = 100
    ) -> list[Tombstone]:
        """Returns what is left of this principal's deleted threads, the latest deletion first.

        All of it, or that of one thread id or approval.
        """
        ...


class OrphanedStore(Store, OrphanStore, InboxStore, Protocol):
    """A store that says which calls lost their process."""


class FullStore(
    Store,
    SharedStore,
    InboxStore,
    TombstoneStore,
    Expiry,
    OrphanStore,
    AuditStore,
    OutboxStore,
    EpochStore,
    RetentionStore,
    Protocol,
):
    """A store with every capability, as those of this package."""


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The capabilities that a store has. None: it has not that one.

    ``expiry``: without it, what is overdue is written as expired when somebody looks. ``orphans``: without it, calls
    whose process died wait for the next run of their thread. ``audit``, ``outbox``, ``epochs``, ``retention``: without
    it there is no audit trail, no notice, no restored backup, and nothing is forgotten. ``takes_known``: whether
    `lease_thread` takes what is known of a journal.
    """

    shared: SharedStore
    inbox: InboxStore
    tombstones: TombstoneStore | None
    expiry: Expiry | None
    orphans: OrphanedStore | None
    audit: AuditStore | None
    outbox: OutboxStore | None
    epochs: EpochStore | None
    retention: RetentionStore | None
    takes_known: bool


def capabilities(store: Store) -> Capabilities:
    """Looks up what ``store`` can do."""

    def having(*methods: str) -> Any:
        return store if all(hasattr(store, name) for name in methods) else None

    return Capabilities(
        shared=having("at_work", "ask_to_stop", "take_stops", "bus_url", "neighbours") or _Alone(store),
        inbox=having("waiting_ids", "read_approvals") or _Listed(store),
        tombstones=having("tombstones"),
        expiry=having("expire"),
        orphans=having("orphans", "unknown", "read_approvals"),
        audit=having("note", "read_events", "read_heads", "read_ledger", "is_agreed"),
        outbox=having("take_notices"),
        epochs=having("begin_epoch"),
        retention=having("sweep", "tally"),
        takes_known=_takes(store.lease_thread, "known"),
    )


def _takes(method: Callable[..., Any], name: str) -> bool:
    """Returns whether a method takes an argument of that name: one of a class that was written before may not."""
    parameters = signature(method).parameters
    return name in parameters or any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())


class _Alone:
    """`SharedStore` of a store that one process uses: nobody else asks its runs to stop."""

    bus_url = ""
    neighbours = ()

    def __init__(self, store: Store) -> None:
        self._store = store

    async def at_work(self, threads: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], AtWork]:
        """See `SharedStore`. It reads the head of each thread."""
        found = {place: await self._store.read_thread(*place, whole=False) for place in threads}
        return {
            place: AtWork(thread.run_key or "", thread.updated_at)
            for place, thread in found.items()
            if thread is not None and thread.run_status == "running"
        }

    async def ask_to_stop(self, principal: str, thread_id: str, request: StopRequest) -> str | None:
        """See `SharedStore`."""
        return None

    async def take_stops(self, run_keys: Collection[str]) -> Mapping[str, StopRequest]:
        """See `SharedStore`."""
        return {}


class _Listed:
    """`InboxStore` of a store that only has lists."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.approval, self.list_approvals, self.move = store.approval, store.list_approvals, store.move

    async def waiting_ids(self, principals: Collection[str], limit: int) -> Mapping[str, list[str]]:
        """See `InboxStore`."""
        found: dict[str, list[str]] = {}
        for principal in principals:
            ids, cursor = found.setdefault(principal, []), None
            while len(ids) < limit:
                page = await self._store.list_approvals(principal, limit=limit - len(ids), cursor=cursor)
                ids += (approval.id for approval in page.approvals)
                cursor = page.next_cursor
                if cursor is None:
                    break
        return found

    async def read_approvals(self, principal: str, approval_ids: Sequence[str]) -> tuple[list[Approval], Sequence[str]]:
        """See `InboxStore`. It reads one at a time."""
        one, *rest = approval_ids
        approval = await self._store.approval(principal, one)
        return ([] if approval is None else [approval]), rest
