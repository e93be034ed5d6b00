"""Leasing a thread to work on it: under its lease, within the budget, and beside the event loop where it is long."""

from agui_gate.stores import clock
from agui_gate.stores.base import Store
from agui_gate.threads.conversation import heaviness
from agui_gate.threads.durable_save import SaveRetrier
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.threads.limits import Limits
from agui_gate.threads.memory_budget import Budget, Reservation
from agui_gate.worker_thread import if_large


class Leaser:
    """Leases the threads of one store, for runs and for decisions."""

    def __init__(self, store: Store, keeper: SaveRetrier, budget: Budget, limits: Limits) -> None:
        self._store, self._keeper, self._budget, self._limits = store, keeper, budget, limits

    async def lease(
        self, principal: str, thread_id: str, agent: str, run_key: str, *, create: bool = True
    ) -> tuple[LeasedThread, Reservation]:
        """Returns the thread, under a lease for ``run_key``, and its part of the budget: kept for as long as it is
        worked on.

        Raises as `ThreadStore.lease_thread` and `Budget.reserve`. Whatever it raises, cancellation too, the lease goes
        back.
        """
        reservation = self._budget.expect(principal, thread_id)
        asked = clock.boot_clock()
        thread = await self._store.lease_thread(principal, thread_id, agent, run_key, create=create)
        try:
            reservation = reservation.found(thread_id, thread.bytes)
            made = (self._store, thread, run_key, self._limits, self._keeper)
            opened = await if_large(heaviness(thread), LeasedThread, *made)
            opened.lease.held_at = asked
            return opened, reservation
        except BaseException:
            await self._keeper.give_back(thread, run_key)
            raise
