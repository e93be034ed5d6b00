"""The lease of one thread, as a run or a decision holds it: a fence around everything that it writes.

A process can be silent for longer than a lease lasts: it was stopped, its machine slept, its store was away. Meanwhile
another process may take the thread. The first one doesn't know that when it goes on. So the store looks who holds the
lease in the same step in which it writes, and refuses what comes from anybody else (`LeaseLost`):

* Nothing is claimed, and so no gated tool starts.
* Nothing is added to the journal, and no question is asked.
* A tool that was claimed does not start, if more than a moment has passed since and the store says that the lease is
  gone (`Lease.confirm_if_old`). Nor is a provider told to run what it holds back.
* A run that notices, at a write or because `Heart` found it out, stops and says so to its client and in the log.

One thing needs no lease: what came of a call. Who ran it knows that and nobody else does. So a tool that is at work
when the lease is lost is not cut off. Its outcome is recorded as it is, unless the next holder has already told people
that it is unknown.
"""

from collections.abc import Callable
from typing import Literal

from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import LeaseLost
from agui_gate.stores import clock
from agui_gate.stores.base import Change, Store, Thread
from agui_gate.stores.lookup import capabilities

MOMENT_MS = 1_000
"""Milliseconds for which a lease that was held counts as held without asking: much less than it lasts."""

What = Literal["saved", "ended", "approvals"]
"""The kind of a write: something of a thread; also that its lease was given back; or approvals of it, and maybe
more.
"""

Written = Callable[[str, str, What], None]
"""Is told the principal and the id of a thread to which something was written here, and the kind of the write."""


def nobody_waits(principal: str, thread_id: str, what: What) -> None:
    """Ignores a write, where nobody wants to know of it."""


class Lease:
    """The right of ``run_key`` to change ``thread``. ``lost``: it is known to be. ``written`` is told of writes.

    ``held_at``: when it was held for sure, by the boot clock, which also counts while the machine sleeps.
    """

    __slots__ = ("_store", "_written", "held_at", "lost", "run_key", "thread")

    def __init__(self, store: Store, thread: Thread, run_key: str, written: Written = nobody_waits) -> None:
        self._store, self.thread, self.run_key, self._written = store, thread, run_key, written
        self.lost = False
        self.held_at = clock.boot_clock()

    def check(self) -> None:
        """Raises `LeaseLost` if it is known to be lost."""
        if self.lost:
            raise LeaseLost

    async def confirm(self) -> None:
        """Asks the store whether it is held, before something that isn't written. Raises `LeaseLost`."""
        self.check()
        asked = clock.boot_clock()
        self.lost = self.run_key in await self._store.renew([self.run_key])
        self.check()
        self.held_at = asked

    async def confirm_if_old(self) -> None:
        """Confirms the lease as `confirm` does, if more than a moment has passed since it was held for sure."""
        self.check()
        if clock.boot_clock() - self.held_at > MOMENT_MS:
            await self.confirm()

    async def commit(self, change: Change) -> None:
        """See `ThreadStore.commit`."""
        self.check()
        try:
            await self._store.commit(self.thread, change, self.run_key)
        except LeaseLost:
            self.lost = True
            raise
        what: What = "approvals" if change.approvals else "ended" if change.status else "saved"
        self._written(self.thread.principal, self.thread.id, what)

    async def move(
        self, approval_id: str, to: State, *, decision: Decision | None = None, output: Output | None = None
    ) -> Approval:
        """Moves a record of the thread: see `ApprovalStore.move`."""
        self.check()
        try:
            moved = await self._store.move(approval_id, to, decision=decision, output=output, run_key=self.run_key)
        except LeaseLost:
            self.lost = True
            raise
        self._written(self.thread.principal, self.thread.id, "approvals")
        return moved

    async def is_agreed(self, approval: Approval) -> bool:
        """Returns whether somebody agreed to a record as it was read: see `AuditStore.is_agreed`."""
        audit = capabilities(self._store).audit
        return audit is None or await audit.is_agreed(approval)

    async def approval(self, approval_id: str) -> Approval | None:
        """Returns a record of the thread as it is now. Reading needs no lease."""
        return await self._store.approval(self.thread.principal, approval_id)
