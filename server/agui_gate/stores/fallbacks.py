"""Does for a store that lacks a capability what every store can do: see `stores/capabilities.py`."""

from collections.abc import Collection, Mapping, Sequence

from agui_gate.core.approvals import Approval
from agui_gate.stores.base import AtWork, StopRequest, Store


class Alone:
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


class Listed:
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
