"""What operators read and change of everybody's threads and calls, whosever they are, and how much of it waits.

A store has it as `operators`. Each change is one transaction with its event in the audit trail, which says who made it
and why. An event that is about no thread is in a chain of its own, whose key is `NO_THREAD`.
"""

from collections.abc import Sequence
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.audit import STORE_CHAIN
from agui_gate.core.freezes import Freeze
from agui_gate.core.transcript import Output
from agui_gate.stores.base import Thread

T = TypeVar("T")

NO_THREAD = STORE_CHAIN
"""The key of the chain of events that are about no thread."""

WhichCalls = Literal["pending", "claimed", "orphaned", "unknown"]
"""``orphaned``: at work, with nobody who holds the lease of their thread. ``claimed``: at work, these left out."""


MOST_COUNTED = 10_000
"""Rows of one kind that are counted: the figure says this where there are more."""

AT_WORK = 500
"""Calls at work that are looked at."""


class Counted(msgspec.Struct, frozen=True):
    """How many there are, `MOST_COUNTED` at most, and since when (ms, by the store's clock) the oldest of these is."""

    number: int = 0
    since: int | None = None


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """The backlog at ``now``. ``pending``: since they were asked, overdue ones too; the others since they were decided.

    ``orphaned`` are calls at work with nobody who holds their thread's lease; ``claimed`` are those with somebody.
    ``notices`` are in the outbox. ``expired``: approvals that this process has found overdue, since it began.
    """

    now: int
    pending: Counted
    claimed: Counted
    orphaned: Counted
    unknown: Counted
    notices: Counted
    expired: int = 0


class BacklogStore(Protocol):
    """Says how much waits, for operators."""

    async def backlog(self) -> Backlog:
        """Returns the backlog, of one moment. Reads a bounded number of rows, however much there is."""
        ...


class Act(msgspec.Struct, frozen=True):
    """Who changes something, and why; ``by`` is the name of an operator."""

    by: str
    reason: str


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run, or a decision, that holds the lease of a thread. ``lease_ms``: after so long it ends, if nobody renews it;
    below 0 where it has ended. ``agent``: that of the thread.
    """

    principal: str
    thread_id: str
    agent: str
    run_key: str
    updated_at: int
    lease_ms: int
    is_lost: bool


class OwnedThread(msgspec.Struct, frozen=True, kw_only=True):
    """A thread, and whose it is. ``pending``: calls that wait. ``bytes``: what is kept of it."""

    principal: str
    id: str
    agent: str
    created_at: int
    updated_at: int
    archived: bool
    run_key: str | None
    run_status: str | None
    bytes: int
    pending: int


class OwnedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A gated call as an operator is told of it; nothing that was said. Times are ms since the epoch.

    ``run_key`` and ``run_id``: of the run in which the model made it. ``idempotency_key``: what its tool was given.
    """

    id: str
    principal: str
    thread_id: str
    agent: str
    tool: str
    state: State
    runner: str
    asked_at: int
    decided_at: int | None
    expires_at: int | None
    run_key: str
    run_id: str
    idempotency_key: str
    is_orphaned: bool


class Found(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list. ``next_cursor`` leads to the next one; None at the end."""

    items: Sequence[T]
    next_cursor: str | None


class Operators(Protocol):
    """The operations. ``tenant``: only what belongs to owners of that tenant; None: everybody's."""

    async def runs(self, tenant: str | None, limit: int) -> Found[Run]:
        """Returns what holds a lease, whose lease ended last; of more than ``limit`` the first."""
        ...

    async def threads(self, tenant: str | None, limit: int, cursor: str | None = None) -> Found[OwnedThread]:
        """Returns threads, by owner. Raises `InvalidRequest` for what is no cursor."""
        ...

    async def calls(
        self, which: WhichCalls, tenant: str | None, limit: int, cursor: str | None = None
    ) -> Found[OwnedCall]:
        """Returns calls, by owner, and of each owner in the order in which they were asked. Overdue ones are among
        them. Raises `InvalidRequest` for what is no cursor.
        """
        ...

    async def call(self, approval_id: str) -> OwnedCall | None:
        """Returns one call, whosever it is, also by the id that it had before a backup was restored."""
        ...

    async def ask_to_stop(self, principal: str, thread_id: str, act: Act, run_key: str) -> str | None:
        """Asks that run to stop, if it holds the lease of the thread: see `SharedStore.ask_to_stop`. Returns None, and
        writes nothing, where it doesn't.
        """
        ...

    async def settle(self, approval_id: str, to: State, output: Output, act: Act, run_key: str) -> Approval:
        """Says of a call that ended ``unknown`` what came of it: ``done`` or ``failed``, with that output. Durable.

        Under the lease ``run_key`` of its thread, whose next request to the provider sends the whole conversation: what
        the provider remembers of it has the old output. Raises `NotFound`, `LeaseLost`, and `ApprovalRefused` for a
        call that is in another state; then nothing changed.
        """
        ...

    async def hand_on(self, thread: Thread, to: str, act: Act, run_key: str) -> None:
        """Gives a thread, its journal and its approvals to another owner, under the lease ``run_key``, which stays.

        Raises `LeaseLost`, and `InvalidRequest` where that owner has a thread of the same id. Then nothing changed.
        """
        ...

    async def freeze(self, wanted: Freeze, act: Act, *, lift: bool = False) -> bool:
        """Freezes calls, or ends that: see `FreezingStore.freeze`."""
        ...


class OperatedStore(Protocol):
    """A store for operators. Without it, `agui-gate ops` can't be used on it."""

    @property
    def operators(self) -> Operators:
        """The operations on everybody's."""
        ...
