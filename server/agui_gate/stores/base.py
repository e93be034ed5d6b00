"""The seam to storage: small Protocols that one store object satisfies.

A *thread* belongs to a principal: (principal, client's thread id) names it. One other id finds it: the provider's
current id of the thread, as long as the principal has no thread of that id (`provider_id`, S2). A thread's journal only
grows, by whole batches; a branch drops its end.

A *lease* is the right to change a thread: one run at a time (B18). `lease_thread` takes it, `commit(..., status=…)`
gives it back, `renew` keeps it. It ends by itself `LEASE_MS` after the last renewal, or as soon as its holder is known
to be dead. So a crash doesn't lock a thread. A run whose lease ended without being given back counts as
``interrupted``. But as long as nobody else took the lease, it may still renew and commit.

All times are ms since the epoch by the *store's* clock, which never goes back (`stores.clock`). Every method is atomic:
it happens wholly or not at all, and cancelling the caller does not undo a change that was under way.
"""

import secrets
import time
from collections.abc import Collection, Sequence
from typing import Any, Literal, Protocol

import msgspec

from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.audit import Happened
from agui_gate.core.transcript import ConversationRef, Entry, Output
from agui_gate.errors import TooLarge
from agui_gate.stores.lease import LEASE_MS as LEASE_MS

STOP_MS = 1_000
"""Milliseconds between two looks of a process whether its runs were asked to stop (`SharedStore.take_stops`)."""

RunStatus = Literal["running", "finished", "waiting", "failed", "cancelled", "interrupted"]
"""``waiting``: for a person or the client. ``interrupted``: its process died."""


class Bounds(msgspec.Struct, frozen=True):
    """The bounds from which on a store refuses; None: it refuses nothing.

    ``thread_bytes``: how large a thread may be to be read as a whole. ``principal_bytes``, ``principal_threads``: what
    a store that keeps everything in memory keeps of one principal.
    """

    thread_bytes: int | None = None
    principal_bytes: int | None = None
    principal_threads: int | None = None

    def check_readable(self, size: int) -> None:
        """Raises `TooLarge` if a thread of ``size`` bytes may not be read as a whole: it takes several times as
        much.
        """
        if self.thread_bytes is not None and size > self.thread_bytes:
            raise TooLarge(
                f"This thread has {size:,} bytes; more than {self.thread_bytes:,} are not read. "
                "Begin a new thread. Deleting this one is possible."
            )

    def check_principal(self, size: int, threads: int) -> None:
        """Raises `TooLarge` if a principal who has that much can't have more."""
        if self.principal_threads is not None and threads > self.principal_threads:
            raise TooLarge(f"You have {self.principal_threads:,} threads, which is the limit. Delete some of them.")
        if self.principal_bytes is not None and size > self.principal_bytes:
            raise TooLarge(
                f"Your threads have {self.principal_bytes:,} bytes, which is the limit of this server's memory. "
                "Delete some of them."
            )


NO_BOUNDS = Bounds()


class Thread(msgspec.Struct, kw_only=True):
    """A thread as it was when read. ``now`` is the store's clock at that moment."""

    key: str
    """Names the thread to the store; opaque."""
    principal: str
    id: str
    """The client's id it was created under."""
    agent: str
    created_at: int
    updated_at: int
    now: int
    title: str | None = None
    archived: bool = False
    state: Any = None
    """The shared state (a JSON value), or None if there never was one."""
    ref: ConversationRef | None = None
    run_key: str | None = None
    run_status: RunStatus | None = None
    lapses_at: int = 0
    """While a run holds its lease: when that ends, by the clock of ``now``, unless it is renewed. 0: nobody knows."""
    bytes: int = 0
    """Bytes that are kept of it: journal, state, and what was asked and came of it."""
    entries: list[Entry] = msgspec.field(default_factory=list)
    approvals: list[Approval] = msgspec.field(default_factory=list)
    """Every approval of this thread, oldest first."""
    is_known: bool = False
    """True if the journal is as the caller knows it (`JournalVersion`). Then ``entries`` was not read, and is empty."""


class JournalVersion(msgspec.Struct, frozen=True):
    """The journal of a thread that a caller has read, or written, before.

    ``key`` is the thread's. The journal had so many ``entries`` when its last run ``run_key`` ended with ``status``.
    """

    key: str
    run_key: str
    status: RunStatus
    entries: int

    def is_of(self, thread: Thread, entries: int) -> bool:
        """Returns whether nothing was written to the journal of ``thread`` since: it is as it was leased, and has so
        many ``entries``.
        """
        return (self.key, self.run_key, self.status, self.entries) == (
            thread.key,
            thread.run_key,
            thread.run_status,
            entries,
        )


class ThreadHead(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as a list shows it. ``pending``: number of approvals that wait."""

    id: str
    agent: str
    title: str | None
    archived: bool
    created_at: int
    updated_at: int
    run_key: str | None
    run_status: RunStatus | None
    pending: int


class Page(msgspec.Struct, frozen=True):
    """A part of a list, newest first. ``next_cursor`` leads to the next one; None at the end."""

    threads: list[ThreadHead]
    next_cursor: str | None


Which = Literal["pending", "decided", "all", "claimed", "unknown"]
"""The approvals that a list shows: those that wait, those that don't any more, or both.

Of those that don't: those at work (`State.public`), or those of which nobody knows what came of them.
"""


MAX_LISTED = 4_000
"""Characters of an output that lists of approvals show. Of a longer one a store may read no more than one further."""


class ApprovalPage(msgspec.Struct, frozen=True):
    """A part of a list: what waits oldest first, anything else newest first. ``next_cursor`` leads to the next one."""

    approvals: list[Approval]
    next_cursor: str | None


class Calls(msgspec.Struct, frozen=True):
    """A thread without its journal: cheap to ask for again and again. ``approvals``: all of them, oldest first."""

    head: ThreadHead
    approvals: list[Approval]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The change that one commit makes. ``encoded``: the entries as a JSON array, if somebody has made that already.

    In this order: drop the end of the journal, append, record approvals, set fields, give the lease back.

    ``after``: number of entries that the journal has before it, as far as its run knows (None: it doesn't). If that is
    not so, it is refused as one without a lease is. ``keep``: number of entries that stay (None: all). ``status`` other
    than None ends the run and releases the lease.
    ``replaced``: ids of approvals of this thread whose calls a branch has dropped; the records stay, and say so.
    Fields that are UNSET stay as they are. Setting ``ref`` also sets the alias to its provider id. ``default_title``
    becomes the title of a thread that has none: a person may have given it one since it was read. ``happened``: what
    goes into the audit trail by itself, behind the questions that are asked.
    """

    after: int | None = None
    keep: int | None = None
    entries: Sequence[Entry] = ()
    encoded: bytes | None = None
    approvals: Sequence[Approval] = ()
    replaced: Sequence[str] = ()
    state: Any = msgspec.UNSET
    ref: ConversationRef | None | msgspec.UnsetType = msgspec.UNSET
    default_title: str | None = None
    status: RunStatus | None = None
    happened: Sequence[Happened] = ()

    @property
    def length(self) -> int | None:
        """Number of entries that the journal has after it; None if its run doesn't know."""
        if self.after is None:
            return None
        return (self.after if self.keep is None else min(self.keep, self.after)) + len(self.entries)

    @property
    def durable(self) -> bool:
        """True if it must survive a power failure: what is lost of it could let a gated call run twice, or be lost."""
        return bool(self.approvals)


class StopRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request to stop, to the run that holds a thread's lease, wherever that is.

    ``gently``: only if nothing that a person approved is at work in it. ``run_id``: only if this is the client's id of
    that run.
    """

    gently: bool = False
    run_id: str | None = None


class AtWork(msgspec.Struct, frozen=True):
    """The work on a thread: which run or decision has its lease, and when something of the thread was saved last."""

    run_key: str
    updated_at: int


EXPIRE = 200
"""Approvals that one step expires, about."""


class Expired(msgspec.Struct, frozen=True):
    """The result of one step: the threads, by principal and id, of which something expired, in that order; and what.

    ``wait_ms``: when the next approval expires; 0 where one may be overdue, None where none waits that ever does.
    """

    threads: list[tuple[str, str]]
    wait_ms: int | None
    approvals: Sequence[Approval] = ()


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


class ThreadStore(Protocol):
    """Keeps threads and their journals."""

    async def lease_thread(
        self,
        principal: str,
        thread_id: str,
        agent: str,
        run_key: str,
        *,
        whole: bool = True,
        create: bool = True,
        known: JournalVersion | None = None,
    ) -> Thread:
        """Takes the lease for ``run_key`` and reads the thread, creating it if it is new.

        ``create`` False: a thread that is not there raises `NotFound`, and none is made.

        In the same step it expires what is overdue (pending → expired). Raises `ThreadBusy` if another run holds
        the lease. A lease left behind by a dead or silent process is taken over (its run becomes ``interrupted``).
        `Thread.run_key` and `run_status` are those of the run before this one. A caller that is cancelled while it
        waits here leaves no lease behind.

        ``whole`` False: only the head is read, which takes the same for a thread of any size. It has no entries, no
        approvals and no state, and nothing is expired. Raises `TooLarge` for a whole thread that is over what may be
        read; then no lease was taken.

        ``known``: what the caller has of the thread's journal. If it is that still, the journal need not be read, and
        the thread says so (`Thread.is_known`). A store that doesn't take this argument is not given it.
        """
        ...

    async def read_thread(self, principal: str, thread_id: str, *, whole: bool = True) -> Thread | None:
        """Reads without a lease; None if this principal has no such thread. ``whole``: see `lease_thread`."""
        ...

    async def read_calls(self, principal: str, thread_id: str) -> Calls | None:
        """Returns the thread's head and its approvals, without its journal; None if this principal has no such
        thread.
        """
        ...

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        """Applies ``change`` durably. Raises `LeaseLost` if ``run_key`` doesn't hold the lease: then nothing happened.

        Does not touch the passed ``thread`` object. Approvals are stored as given, except `asked_at` and `expires_at`:
        they are given relative (asked_at 0, expires_at = ms from now) and become absolute by the store's clock. An
        approval id or (thread, call id) that exists already is a bug and raises `IllegalMove`.
        """
        ...

    async def renew(self, run_keys: Collection[str]) -> Collection[str]:
        """Prolongs the leases that these runs still hold. Returns the keys of those that hold none: it was lost, or
        given back.
        """
        ...

    async def list_threads(
        self,
        principal: str,
        *,
        limit: int,
        cursor: str | None = None,
        archived: bool | None = False,
        agent: str | None = None,
    ) -> Page:
        """Up to ``limit`` threads of this principal, newest first by `updated_at`: the archived ones, or the others.

        ``archived`` None: both. ``agent``: only threads of the agent of that name.
        ``cursor`` is the `next_cursor` of a page before; raises `InvalidRequest` if it can't be. It stays right while
        threads change (`stores/cursor.py`).
        """
        ...

    async def update_thread(
        self,
        principal: str,
        thread_id: str,
        *,
        title: str | None | msgspec.UnsetType = msgspec.UNSET,
        archived: bool | msgspec.UnsetType = msgspec.UNSET,
    ) -> ThreadHead | None:
        """Sets what isn't UNSET and returns the head; None if this principal has no such thread.

        Needs no lease, since no run depends on these fields. Leaves `updated_at` alone: the conversation didn't change.
        """
        ...

    async def delete_thread(self, thread: Thread, run_key: str) -> None:
        """Removes the thread, its journal and its approvals, durably, in one step with making the tombstones.

        Nothing of it is left but a `Tombstone` of each call that ran, may have run, or was decided by a person. Raises
        `LeaseLost` if ``run_key`` doesn't hold the lease: then nothing happened. Its `key` is never used again.
        """
        ...


class ApprovalStore(Protocol):
    """The ledger: one record per gated call, moved only along `core.approvals.MOVES`."""

    async def approval(self, principal: str, approval_id: str) -> Approval | None:
        """Returns one record (overdue pending ones are expired first), or None if it isn't this principal's."""
        ...

    async def list_approvals(
        self, principal: str, *, limit: int, cursor: str | None = None, which: Which = "pending"
    ) -> ApprovalPage:
        """Up to ``limit`` of this principal's approvals, and `PAGE_BYTES`; overdue ones are expired first.

        ``cursor`` is the `next_cursor` of a page before; raises `InvalidRequest` if it can't be.
        """
        ...

    async def move(
        self,
        approval_id: str,
        to: State,
        *,
        decision: Decision | None = None,
        output: Output | None = None,
        run_key: str | None = None,
    ) -> Approval:
        """Moves one record in one conditional update and returns it as it is now.

        ``run_key``: only if that run holds the lease of the record's thread, in the same step; else it raises
        `LeaseLost`. What decides a call needs it, and so does the guess that its process died: a process that slept
        may have lost the thread meanwhile. Who ran a call records what came of it without the lease: nobody else knows.

        Sets ``decided_at`` when leaving ``pending``. Durable before it returns (a claim survives `kill -9` and power
        loss). Raises `IllegalMove` if the table or the clock forbids it (then nothing changed), `NotFound` if there is
        no record. What came of a call whose thread was deleted is then noted in its tombstone.
        """
        ...


class StoreLifecycle(Protocol):
    """Opens and closes a store."""

    async def start(self) -> None:
        """Opens and migrates. Raises `ConfigurationError` with a sentence (no store, not writable, newer version); of a
        store on another machine `Unavailable`, as it may be there later.
        """
        ...

    async def check(self) -> None:
        """Raises `Unavailable` unless a read and a write work now (readiness)."""
        ...

    def now(self) -> int:
        """Returns the store's clock: ms since the epoch."""
        ...

    async def aclose(self) -> None:
        """Closes; safe to call twice."""
        ...


class Store(ThreadStore, ApprovalStore, StoreLifecycle, Protocol):
    """The fifteen methods that every store has. What else one can do are capabilities (`stores.capabilities`)."""


def provider_id(ref: ConversationRef | None) -> str | None:
    """Returns the provider's own id in ``ref``, if any: a thread's alias."""
    return (ref.conversation_id or ref.previous_response_id) if ref else None


def new_key() -> int:
    """Returns a fresh key for a thread, in 63 bits: the time in units of about a ms, and 21 random bits.

    Not counted, because a key must not come twice even where threads were deleted or the whole store was. Idempotency
    keys are made of it, and other systems remember them. Not all random, because what is new is written side by side
    then: into pages that are full, and known to who writes.
    """
    return time.time_ns() >> 20 << 21 | secrets.randbits(21)
