"""Stopping and deleting threads, whichever process is at work on them.

What is at work holds the thread's lease. Here it is stopped directly; in another process, by a request in the store
which that process finds at once if it hears of it, else within `STOP_MS` (`runs/heartbeat.py`). Either way the answer
says what is true in the end, after a bounded wait.

Stopping means everything, a tool that somebody approved too: its record then says `unknown`. Deleting is gentler: what
a person approved is never cut off by it, since what became of that would be lost with the thread. It waits for such a
call, `DELETE_SECONDS` at most, and else it is refused.

Waits for what is in flight when the process is told to end, so that a deployment cuts nothing off.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection
from enum import Enum, auto

import structlog

from agui_gate.approvals.decisions_in_progress import DecisionsInProgress
from agui_gate.concurrency import to_the_end
from agui_gate.core.approvals import SEPARATOR, State
from agui_gate.errors import AguiGateError, NotFound, ThreadBusy
from agui_gate.readers.wake_ups import Watch
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import StopRequest, Store, Thread
from agui_gate.stores.lease import DELETES
from agui_gate.stores.lookup import capabilities
from agui_gate.threads.lease import SaveRetrier

STOP_SECONDS = 10.0
"""Seconds that a stopped run may take to save how it ended."""
DELETE_SECONDS = 5.0
"""Seconds that deleting a thread waits for what is at work on it."""
ASK_SECONDS = 1.0
"""Seconds after which what is at work is asked again: an approved call may have ended meanwhile."""

log = structlog.get_logger("agui_gate.threads")

Following = Callable[[str, str], LiveRun | None]


class Ended(Enum):
    """The result of stopping a thread."""

    MISSING = auto()
    """The thread doesn't exist."""
    IDLE = auto()
    """The thread had nothing at work on it; or its process died, or hung, before it stopped, and has lost it."""
    STOPPED = auto()
    """The work on the thread was stopped, or ended meanwhile."""
    GOING = auto()
    """The run was asked to stop and has not ended yet."""


class Endings:
    """Ends what is at work on threads. ``following`` finds the run of a principal's thread that is in flight here;
    ``working`` has the decisions; ``keeper`` gives leases back; ``watch`` says when something may be over; ``asked``
    tells other processes of a request in the store; ``on_deleted`` is told who deleted which thread.
    """

    def __init__(
        self,
        store: Store,
        following: Following,
        working: DecisionsInProgress,
        keeper: SaveRetrier,
        watch: Watch,
        asked: Callable[[str, str], None],
        on_deleted: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._store, self._following, self._working = store, following, working
        self._keeper, self._watch, self._asked, self._on_deleted = keeper, watch, asked, on_deleted

    async def stop(self, principal: str, thread_id: str, run_id: str | None = None) -> Ended:
        """Stops what is at work on the thread and waits until it has ended, `STOP_SECONDS` at most.

        ``run_id``: only if this is the client's id of that run, so that a stop that comes late hits no later one.
        """
        here = await self._stop_here(principal, thread_id, run_id)
        if here is not None:
            return here
        thread = await self._store.read_thread(principal, thread_id, whole=False)
        if thread is None:
            return Ended.MISSING
        here = None if thread.id == thread_id else await self._stop_here(principal, thread.id, run_id)  # S2
        return here or await self._stop_and_wait(thread, StopRequest(run_id=run_id))

    async def _stop_here(self, principal: str, thread_id: str, run_id: str | None) -> Ended | None:
        """Returns the result of stopping; None if nothing is at work on that thread in this process."""
        live = self._following(principal, thread_id)
        if live is not None and live.task is not None:
            if run_id not in (None, live.run_id):
                return Ended.IDLE
            live.cancel()
            await asyncio.wait([live.task], timeout=STOP_SECONDS)
            return Ended.STOPPED if live.task.done() else Ended.GOING
        over = None if run_id is not None else await self._working.stop((principal, thread_id), STOP_SECONDS)
        return None if over is None else Ended.STOPPED if over else Ended.GOING

    async def _stop_and_wait(self, thread: Thread, request: StopRequest) -> Ended:
        loop = asyncio.get_running_loop()
        until = loop.time() + STOP_SECONDS
        with self._watch.on((thread.principal, thread.id)) as watcher:
            run_key = await self._stop_other_replica(thread, request)
            if run_key is None:
                return Ended.IDLE
            while loop.time() < until:
                await watcher.wait(until - loop.time())
                now = await self._store.read_thread(thread.principal, thread.id, whole=False)
                if now is None or (now.run_key, now.run_status) != (run_key, "running"):
                    return Ended.IDLE if was_lost(now, run_key, thread.lapses_at) else Ended.STOPPED
        return Ended.GOING

    async def _stop_other_replica(self, thread: Thread, request: StopRequest) -> str | None:
        """Writes a request to stop into the store, for the process that works on the thread, and wakes that.

        Returns the key of the run that is at work there; None if none is.
        """
        run_key = await capabilities(self._store).shared.ask_to_stop(thread.principal, thread.id, request)
        if run_key is not None:
            self._asked(thread.principal, thread.id)
        return run_key

    async def delete(self, principal: str, thread_id: str) -> bool:
        """Stops the thread's run and removes all that is kept of the thread, but tombstones. False if there is none.

        Raises `ThreadBusy` if what is at work on it has not ended in time, as a call that somebody approved may not.
        """
        thread = await self._store.read_thread(principal, thread_id, whole=False)  # it may be too large to be read
        if thread is None:
            return False
        loop = asyncio.get_running_loop()
        until = loop.time() + DELETE_SECONDS
        with self._watch.on((thread.principal, thread.id)) as watcher:
            while loop.time() < until:
                try:
                    return await to_the_end(self._under_lease(thread, f"{DELETES}{os.urandom(16).hex()}"))
                except ThreadBusy:
                    await self._make_way(thread)
                    await watcher.wait(min(ASK_SECONDS, until - loop.time()))
        raise ThreadBusy("This thread is still running. Wait until the run ends, or stop it. Then delete the thread.")

    async def _under_lease(self, thread: Thread, key: str) -> bool:
        try:
            leased = await self._store.lease_thread(
                thread.principal, thread.id, thread.agent, key, whole=False, create=False
            )
        except NotFound:
            return False
        if leased.key != thread.key:  # deleted meanwhile: the id leads to another one
            await self._keeper.give_back(leased, key)
            return False
        try:
            await self._store.delete_thread(leased, key)
        except AguiGateError:
            await self._keeper.give_back(leased, key)
            raise
        await self._tell(leased)
        try:
            await self._on_deleted(thread.principal, thread.id)
        except AguiGateError as error:  # what its runs said goes by itself, after a while
            log.warning(
                "events_not_forgotten",
                thread=thread.id,
                principal=thread.principal.replace(SEPARATOR, "/"),
                error=error.message,
            )
        return True

    async def _make_way(self, thread: Thread) -> None:
        """Stops what is at work if that may be."""
        live = self._following(thread.principal, thread.id)
        if live is not None and live.task is not None:
            live.cancel(gently=True)
        else:
            await self._stop_other_replica(thread, StopRequest(gently=True))

    async def _tell(self, thread: Thread) -> None:
        """Logs what has run, or may have: it is not forgotten in silence."""
        tombstones = capabilities(self._store).tombstones
        whose = {"thread": thread.id, "principal": thread.principal.replace(SEPARATOR, "/")}
        try:
            left = await tombstones.tombstones(thread.principal, thread_id=thread.id) if tombstones else []
        except AguiGateError as error:  # it is deleted all the same
            log.warning("thread_deleted", **whose, error=error.message)
            return
        unknown = [tomb.id for tomb in left if tomb.state is State.UNKNOWN]
        log.info("thread_deleted", **whose, tombstones=len(left))
        if unknown:
            log.warning("deleted_with_unknown_outcome", thread=thread.id, approvals=unknown)


def was_lost(thread: Thread | None, run_key: str, lapses_at: int) -> bool:
    """Returns whether a run that is over lost its ``thread``: since its process died, or since its lease lapsed, as it
    was to at ``lapses_at``, and another run has the thread.
    """
    if thread is None:
        return False
    return thread.run_status == "interrupted" if thread.run_key == run_key else 0 < lapses_at <= thread.now


async def let_end(runs: Collection[LiveRun], working: DecisionsInProgress, keeper: SaveRetrier, seconds: float) -> None:
    """Waits until these runs and decisions have ended and what came of them is saved, ``seconds`` at most.

    Nothing new may begin meanwhile. A reader who leaves a run now was most likely made to, so that no longer ends what
    a person approved.
    """
    log.info(
        "draining",
        runs=len(runs),
        decisions=len(working.keys),
        seconds=seconds,
        means="They may finish within this time. A second signal, or Ctrl-C again, stops them at once.",
    )
    for run in runs:
        run.is_draining = True
    try:
        async with asyncio.timeout(seconds):
            if tasks := [run.task for run in runs if run.task is not None]:
                await asyncio.wait(tasks)
            await working.all_over()
            await keeper.all_saved()
    except TimeoutError:
        log.warning("drain_over", runs=len(runs), decisions=len(working.keys), means="The rest is stopped now.")
