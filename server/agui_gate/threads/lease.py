"""The lease of one thread, as a run or a decision holds it: a fence around everything that it writes.

A process can be silent for longer than a lease lasts: it was stopped, its machine slept, its store was away. Meanwhile
another process may take the thread. The first one doesn't know that when it goes on. So the store looks who holds the
lease in the same step in which it writes, and refuses what comes from anybody else (`LeaseLost`):

* Nothing is claimed, and so no gated tool starts.
* Nothing is added to the journal, and no question is asked.
* A tool that was claimed does not start, if more than a moment has passed since and the store says that the lease is
  gone (`Lease.confirm_if_old`). Nor is a provider told to run what it holds back.
* A run that notices, at a write or because `Heartbeat` found it out, stops and says so to its client and in the log.

One thing needs no lease: what came of a call. Who ran it knows that and nobody else does. So a tool that is at work
when the lease is lost is not cut off. Its outcome is recorded as it is, unless the next holder has already told people
that it is unknown.

Nor does it get lost when the store is away for a while: a tool has run because somebody approved it, and exactly then
another process keeps the database locked, or the disk is full. The call must never run again. So saving its result is
tried again (`SaveRetrier`), with growing delays, while the lease is held and renewed:

* For `KEEP_SECONDS` its run waits for that, its stream open.
* Then the run ends. Its client is told that the call ran and that its result is not saved (`NotSaved`).
* Saving goes on in the background for up to `OWED_SECONDS`, and the lease is given back right after it, not before:
  whoever takes the lease finds the result. The next run tells it.
* Only if the process ends before that, nobody knows any more. Then the call is `unknown`, as after any crash.

The same holds for the end of a run. What it has not saved is saved as soon as that is possible, and so is that its
thread is free again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal, TypeVar

import structlog

from agui_gate import log_events
from agui_gate.concurrency import stop_tasks
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import LeaseLost, NotSaved, Unavailable
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

    __slots__ = ("_written", "held_at", "lost", "run_key", "store", "thread")

    def __init__(self, store: Store, thread: Thread, run_key: str, written: Written = nobody_waits) -> None:
        self.store, self.thread, self.run_key, self._written = store, thread, run_key, written
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
        self.lost = self.run_key in await self.store.renew([self.run_key])
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
            await self.store.commit(self.thread, change, self.run_key)
        except LeaseLost:
            self.lost = True
            raise
        if change.approvals:
            self._written(self.thread.principal, self.thread.id, "approvals")
        if change.status or not change.approvals:  # a question is saved with the end of its run
            self._written(self.thread.principal, self.thread.id, "ended" if change.status else "saved")

    async def move(
        self,
        approval_id: str,
        to: State,
        *,
        decision: Decision | None = None,
        output: Output | None = None,
        **terms: Any,
    ) -> Approval:
        """Moves a record of the thread: see `ApprovalStore.move`. ``terms``: see `CountingStore.move`."""
        self.check()
        more = {"decision": decision, "output": output, "run_key": self.run_key, **terms}
        try:
            moved = await self.store.move(approval_id, to, **more)
        except LeaseLost:
            self.lost = True
            raise
        self._written(self.thread.principal, self.thread.id, "approvals")
        return moved

    async def is_agreed(self, approval: Approval) -> bool:
        """Returns whether somebody agreed to a record as it was read: see `AuditStore.is_agreed`."""
        audit = capabilities(self.store).audit
        return audit is None or await audit.is_agreed(approval)

    async def approval(self, approval_id: str) -> Approval | None:
        """Returns a record of the thread as it is now. Reading needs no lease."""
        return await self.store.approval(self.thread.principal, approval_id)


T = TypeVar("T")

KEEP_SECONDS = 20.0
"""Seconds that a run waits for a result to be saved. Less than a lease lasts."""
END_SECONDS = 2.0
"""Seconds that the end of a failed run, or of a decision, waits for its lease to be given back."""
OWED_SECONDS = 600.0
"""Seconds for which saving goes on in the background."""
SHORTEST_DELAY, LONGEST_DELAY = 0.05, 1.0
"""Seconds between two attempts, to begin with and at most."""

log = structlog.get_logger("agui_gate.keeping")


async def patiently(save: Callable[[], Awaitable[T]], seconds: float) -> T:
    """Awaits ``save()``, again and again for ``seconds`` while the store is away. Raises its last `Unavailable`."""
    loop = asyncio.get_running_loop()
    until, delay = loop.time() + seconds, SHORTEST_DELAY
    while True:
        try:
            return await save()
        except Unavailable:
            if loop.time() + delay > until:
                raise
        await asyncio.sleep(delay)
        delay = min(delay * 2, LONGEST_DELAY)


class SaveRetrier:
    """Saves for all runs of one store. ``leases`` are those that are still needed for it; ``written`` is told of
    what is written.
    """

    def __init__(self, store: Store, written: Written = nobody_waits) -> None:
        self._store, self.written = store, written
        self._results: dict[str, dict[str, asyncio.Task[Approval]]] = {}
        self._ends: dict[str, asyncio.Task[None]] = {}

    @property
    def leases(self) -> set[str]:
        """Keys of the leases that have to be renewed."""
        return self._results.keys() | self._ends.keys()

    async def keep(self, run_key: str, approval: Approval, to: State, output: Output) -> Approval:
        """Records what came of a claimed call. The first outcome of a call counts: a later one waits for it.

        Raises `NotSaved` after `KEEP_SECONDS`, and what the store raises (`IllegalMove`). A caller that is cancelled
        stops waiting; saving goes on.
        """
        owed = self._results.setdefault(run_key, {})
        save = owed.get(approval.id)
        if save is None:
            owed[approval.id] = save = asyncio.create_task(self._move(approval, to, output), name=f"save {approval.id}")
            save.add_done_callback(lambda _: self._saved(run_key, approval.id))
        done, _ = await asyncio.wait({save}, timeout=KEEP_SECONDS)
        if done:
            return save.result()
        log.error("result_not_saved", approval=approval.id, tool=approval.tool, thread=approval.thread_id)
        ran = output != result_texts.NOT_STARTED
        what = "ran, but its result" if ran else "was not run, but that"
        raise NotSaved(
            f"{approval.tool} {what} could not be saved. It does not run again; "
            f"{'its result' if ran else 'that'} is saved as soon as the store works again.",
            ran=ran,
        )

    async def end(
        self, thread: Thread, run_key: str, save: Callable[[], Coroutine[Any, Any, None]], seconds: float
    ) -> None:
        """Gives the lease back by ``save()``, after the results of its run. Waits ``seconds``, then goes on without the
        caller. Never raises but for cancellation, which doesn't stop it.
        """
        if run_key not in self._ends:
            work = self._end(thread, run_key, save)
            self._ends[run_key] = asyncio.create_task(work, name=f"end {run_key}")
            self._ends[run_key].add_done_callback(lambda _: self._ends.pop(run_key, None))
        await asyncio.wait({self._ends[run_key]}, timeout=seconds)

    async def give_back(self, thread: Thread, run_key: str) -> None:
        """Gives back, as `end` does, a lease under which nothing was done. ``thread`` is as it was opened."""
        lease = Lease(self._store, thread, run_key, self.written)
        change = Change(status=thread.run_status or "cancelled")
        await self.end(thread, run_key, lambda: lease.commit(change), END_SECONDS)

    async def all_saved(self) -> None:
        """Waits until nothing is owed."""
        while tasks := self._owed():
            await asyncio.wait(tasks)

    def _owed(self) -> list["asyncio.Task[Any]"]:
        return [*self._ends.values(), *(task for owed in self._results.values() for task in owed.values())]

    async def aclose(self) -> None:
        """Gives up what is owed still."""
        tasks = self._owed()
        if tasks:
            log.error("not_saved_at_the_end", results=sum(map(len, self._results.values())), runs=len(self._ends))
        await stop_tasks(tasks)

    async def _move(self, approval: Approval, to: State, output: Output) -> Approval:
        moved = await patiently(lambda: self._store.move(approval.id, to, output=output), OWED_SECONDS)
        self.written(approval.principal, approval.thread_id, "approvals")
        return moved

    async def _end(self, thread: Thread, run_key: str, save: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if results := list(self._results.get(run_key, {}).values()):
            await asyncio.wait(results)
        try:
            await patiently(save, OWED_SECONDS)
        except LeaseLost:
            log_events.lease_lost(thread.id, run_key)
        except Exception:
            log.exception("run_not_saved", run=run_key)

    def _saved(self, run_key: str, approval_id: str) -> None:
        save = self._results[run_key].pop(approval_id)
        if not self._results[run_key]:
            del self._results[run_key]
        if not save.cancelled() and (error := save.exception()) is not None:  # seen, also where nobody waits any more
            log.error("result_lost", approval=approval_id, run=run_key, error=str(error))
