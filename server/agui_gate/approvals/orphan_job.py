"""Settles calls that a person approved and whose process has died, though nobody asks (`stores/capabilities.py`).

The next run of a thread does that too, before anything else (`AgentLoop.recover`). This is for threads that get none.
All processes of a store do it; who gets the thread's lease settles its calls, and a call is settled once.

It starts no tool, not even an idempotent one: a tool that crashes its process would crash one after the other. A
claimed call of a local tool becomes ``unknown``, since nothing that is saved says whether it had begun. A claimed task
becomes ``done``: nothing has run, and the task begins with the next run.

A process that was suspended together with its leases renews them within `RENEW_SECONDS` after it goes on. So an orphan
is settled when it has been one for longer than that.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import structlog

from agui_gate import log_events
from agui_gate.approvals.execution import GatedCalls
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output
from agui_gate.errors import AguiGateError, NotFound, ThreadBusy
from agui_gate.runs.heartbeat import RENEW_SECONDS
from agui_gate.stores.base import Named
from agui_gate.stores.lease import DECIDES
from agui_gate.threads.lease import Lease, SaveRetrier
from agui_gate.turns.tool_execution import ToolStart

if TYPE_CHECKING:
    from agui_gate.stores.capabilities import OrphanedStore

LOOK_SECONDS = 2.0
"""Seconds between two looks."""
GRACE_SECONDS = RENEW_SECONDS + 1.0
"""Seconds for which a call has been an orphan before it is settled. With two looks that is less than ten seconds."""

Place = tuple[str, str, str]
"""A principal, a thread of theirs, and who had its lease last."""
_place = attrgetter("principal", "thread_id", "run_key")

log = structlog.get_logger("agui_gate.engine")


class OrphanJob:
    """``leases`` gives the keys of those that are held here: they are renewed, whatever the store says now."""

    def __init__(
        self,
        store: "OrphanedStore",
        keeper: SaveRetrier,
        new_id: Callable[[], str],
        leases: Callable[[], Collection[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._keeper, self._new_id = store, keeper, new_id
        self._leases, self._clock = leases, clock
        self._since: dict[Place, float] = {}
        self._failing = False

    async def work(self) -> None:
        """Looks for orphans for ever."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.step()
            except Exception:
                log.exception("look_failed")

    async def step(self) -> None:
        """Looks once. A store that is away is looked at again; that is logged once."""
        try:
            found = await self._look()
        except AguiGateError as error:
            if not self._failing:
                log.warning("orphans_not_read", error=error.message)
            self._failing = True
            return
        self._failing = False
        now, since = self._clock(), self._since
        self._since = {place: since.get(place, now) for place in found}
        for place, calls in found.items():
            if now - self._since[place] >= GRACE_SECONDS:
                try:
                    await self._settle(place, calls)
                except (ThreadBusy, NotFound):
                    pass  # somebody is at work there again
                except AguiGateError as error:
                    log.warning("not_settled", thread=place[1], error=error.message)

    async def _look(self) -> dict[Place, set[str]]:
        """Returns the ids of orphans, by their threads."""
        found: list[Named] = []
        after: int | None = 0
        while after is not None:
            page = await self._store.orphans(after)
            found, after = found + list(page.found), page.after
        here = self._leases()
        named = sorted((one for one in found if one.run_key not in here), key=_place)
        return {place: {one.id for one in calls} for place, calls in groupby(named, _place)}

    async def _settle(self, place: Place, calls: Collection[str]) -> None:
        """Settles these, as many at once as the store reads."""
        principal, thread_id, _ = place
        left: Sequence[str] = list(calls)
        while left:
            orphans, left = await self._store.read_approvals(principal, left)
            if orphans:
                await self._close(principal, thread_id, orphans)

    async def _close(self, principal: str, thread_id: str, named: Sequence[Approval]) -> None:
        """Takes the thread's lease as a run does, and says of these what is known.

        They are read again under the lease: another process may have settled them before.
        """
        run_key = f"{DECIDES}{self._new_id()}"
        agent = named[0].agent
        thread = await self._store.lease_thread(principal, thread_id, agent, run_key, whole=False, create=False)
        try:
            orphans, _ = await self._store.read_approvals(principal, [approval.id for approval in named])
            lease = Lease(self._store, thread, run_key, self._keeper.written)
            gated_calls = GatedCalls(lease, _run_nothing, lambda _: None, partial(self._keeper.keep, run_key))
            passed = [a for a in orphans if a.state is State.PASSED]
            for approval in passed:
                log_events.orphaned(approval)
            await gated_calls.close(passed, State.UNKNOWN)
            await gated_calls.recover([a for a in orphans if a.state is State.CLAIMED], lambda _: False)
        finally:
            await self._keeper.give_back(thread, run_key)


async def _run_nothing(approval: Approval, start: ToolStart) -> Output:
    raise NotImplementedError("a call that nobody asked for is not repeated")
