"""The capabilities of stores beyond the fifteen methods of `Store`, each as a Protocol of its own.

A capability is looked up by the names of its methods, once, when the engine is made (`stores/lookup.py`). Without it
the feature is absent, or is done by what every store can do: nobody has to write all of this to have a store of their
own.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.deputies import Deputy, Side
from agui_gate.core.freezes import Freeze
from agui_gate.core.grants import Grant, Whose
from agui_gate.core.terms import Numbers, Sum, Terms
from agui_gate.core.transcript import Output
from agui_gate.stores.audit import AuditStore, TrailStore
from agui_gate.stores.base import EXPIRE, ORPHANS, ApprovalStore, AtWork, Expired, Named, Orphans, StopRequest, Store
from agui_gate.stores.deliveries import DeliveringStore
from agui_gate.stores.epochs import EpochStore
from agui_gate.stores.operators import BacklogStore, OperatedStore
from agui_gate.stores.outbox import OutboxStore
from agui_gate.stores.retention import RetentionStore
from agui_gate.stores.tombstones import TombstoneStore


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


class Expiry(Protocol):
    """Expires what is overdue."""

    async def expire(self, most: int = EXPIRE) -> Expired:
        """Expires what is overdue, whosever it is, in the order of its time; ``most`` of them, about.

        Each once, however many processes do this at a time. Costs next to nothing where nothing is overdue.
        """
        ...


class SharedStore(Protocol):
    """Several processes use one store. Without it, one process is taken to be the only one (`fallbacks.Alone`)."""

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
    """Following many approvals without reading them. Without it, lists are read instead (`fallbacks.Listed`)."""

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


@runtime_checkable
class PeopleReader(Protocol):
    """Says of many calls who has to agree to them, and of emergencies. Without it, changes of that are told late, and
    emergencies to nobody who follows.
    """

    def now(self) -> int:
        """See `Store.now`."""
        ...

    async def waiting_people(self, principals: Collection[str], limit: int) -> Mapping[str, str]:
        """Returns who has to agree to the calls of these principals that wait for people, and who has, by the calls'
        ids: as texts that change with it. The oldest ``limit`` of each. Reads no record.
        """
        ...

    async def emergencies(self, since: int) -> Sequence[tuple[int, str]]:
        """Returns when calls were decided in an emergency, whosever they are, from that time on, and their ids."""
        ...

    async def people_approval(self, approval_id: str) -> Approval | None:
        """Returns the record of that id if it asks for people, whosever it is. Who asks has to look whether they may
        see it.
        """
        ...


class PeopleStore(PeopleReader, Protocol):
    """Finds calls by who may decide them, whosever they are. Without it, approvers see their own owner's alone."""

    async def people_waiting(self, tenant: str, after: int, limit: int) -> Sequence[tuple[int, Approval]]:
        """Returns ``limit`` calls of a tenant that wait for people (`Approval.people`), oldest first, from behind the
        place ``after``; each with its place. Overdue ones may be among them.
        """
        ...


class CountingStore(ApprovalStore, Protocol):
    """Counts calls with their claims. Without it, a rule that asks for a sum fails, so that a person is asked."""

    async def counted_calls(self, wanted: Sum) -> Sequence[Numbers]:
        """Returns the numbers of the calls of a sum, oldest first: up to `MAX_COUNTED`, and one more."""
        ...

    async def move(
        self,
        approval_id: str,
        to: State,
        *,
        decision: Decision | None = None,
        output: Output | None = None,
        run_key: str | None = None,
        terms: Terms | None = None,
    ) -> Approval:
        """See `ApprovalStore.move`. A claim with ``terms`` is counted, in the same transaction.

        Raises `TermsChanged` if a sum isn't what it was; then nothing changed. Nobody else's claim with terms, of the
        same tenant, comes in between.
        """
        ...


class FreezingStore(Protocol):
    """Freezes gated calls. Without it, `agui-gate freeze` can't."""

    async def freeze(self, wanted: Freeze, *, lift: bool = False) -> bool:
        """Freezes calls, or ends such a freeze (``lift``). Durable before it returns; and no call that it is about is
        claimed after that, by `move` in whichever process (`Frozen`). Returns False if there was none to lift.
        """
        ...

    async def freezes(self) -> Sequence[Freeze]:
        """Returns all that there are."""
        ...


class GrantingStore(CountingStore, Protocol):
    """Keeps standing grants. Without it, nobody can give one.

    `move` saves the grant of its ``terms`` with the claim, its times absolute; and it counts the use of one, with the
    grant as it is then. It raises `ApprovalRefused` if that doesn't allow the call, or is gone; then nothing changed.
    """

    async def grants(self, whose: Whose, value: str) -> Sequence[Grant]:
        """Returns the grants that have not ended, up to `MAX_STANDING`, those that end last first.

        ``value``: the id of one; the key of whose calls they are for; the key of who gave them, as one of an owner; or
        the tenant.
        """
        ...

    async def revoke_grant(self, grant_id: str, by: str, *, why: str = "") -> bool:
        """Removes a grant, and says in the trail that ``by`` did so, or ``why`` it has ended by itself. Durable
        before it returns; no call is claimed by it after that, by `move` in whichever process. Returns False if there
        was none.
        """
        ...


class DeputyStore(Protocol):
    """Who decides in the place of whom. What is over is forgotten."""

    async def add(self, wanted: Deputy, way: str = "http") -> Deputy:
        """Saves who is named, and says so in the trail, with the way; returns it with its time. Raises
        `InvalidRequest`, see `core.deputies.check_named`: of several who are named at once, each is held against those
        before.
        """
        ...

    async def remove(self, deputy_id: str, by: str, way: str = "http", *, why: str = "") -> bool:
        """Ends one, and says in the trail that ``by`` did so, or ``why`` it has ended by itself. Durable before it
        returns; nobody agrees by it after that, by `move` in whichever process. Returns False if there was none.
        """
        ...

    async def find(self, side: Side, tenant: str, value: str = "") -> Sequence[Deputy]:
        """Returns those of a tenant whose time is not over, the first to begin first."""
        ...

    async def given_by(self, tenant: str, name: str) -> tuple[Sequence[Grant], Sequence[Deputy]]:
        """Returns what the principal of that id has given and is not over, at once: as `grants` and `find` do."""
        ...


class DeputizingStore(Protocol):
    """Keeps deputies. Without it, nobody can name one. `move` raises `MayNotDecide` if one of those of its ``terms``
    doesn't stand; then nothing changed.
    """

    def deputies(self) -> DeputyStore:
        """Returns the deputies of this store, which has to be open while they are used."""
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
    PeopleStore,
    FreezingStore,
    BacklogStore,
    GrantingStore,
    OperatedStore,
    DeliveringStore,
    DeputizingStore,
    TrailStore,
    Protocol,
):
    """A store with every capability, as those of this package."""
