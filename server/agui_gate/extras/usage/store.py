"""A store whose commits write what their runs have used, and that gives no run a thread whose budget is spent."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from agui_gate.stores.base import Change, Store, Thread
from agui_gate.stores.outbox import is_run

if TYPE_CHECKING:
    from agui_gate.extras.usage.meter import UsageMeter


class HeldStore:
    """``inner``, whose ``commit`` is another one, and that asks ``check`` before it leases a thread for a run. It has
    just the methods that ``inner`` has.
    """

    def __init__(
        self,
        inner: Store,
        commit: Callable[[Thread, Change, str], Awaitable[None]],
        check: Callable[[str], Awaitable[None]],
        meter: "UsageMeter",
    ) -> None:
        self._inner, self.commit, self._check, self._meter = inner, commit, check, meter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def start(self) -> None:
        """Opens the store, and has the prices loaded."""
        await self._inner.start()
        await self._meter.open()

    async def aclose(self) -> None:
        """Closes the store, once what was used is kept."""
        await self._meter.close()
        await self._inner.aclose()

    async def lease_thread(self, principal: str, thread_id: str, agent: str, run_key: str, **more: Any) -> Thread:
        """See `ThreadStore`. Raises `RateLimited` for a run if a budget is spent: before a model is asked."""
        if is_run(run_key):
            await self._check(principal)
        return await self._inner.lease_thread(principal, thread_id, agent, run_key, **more)
