"""A principal's approvals as they come and go, for whoever decides: pages, terminals, other people's inboxes.

The store is the only record. A watcher looks at it when something was written in this process (`changed`), and every
`LOOK_SECONDS` for what other processes write and what expires. It tells what is different from what it told before. So
nothing is kept that could disagree with the store. A call that was asked about and decided between two looks may never
be told.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import suppress

import msgspec

from agui_gate.core.approvals import MOVES, Approval, State
from agui_gate.errors import RateLimited, Unavailable
from agui_gate.stores.base import Store

LOOK_SECONDS = 3.0
"""How often a watcher looks for what no one in this process has written."""

MAX_WATCHERS = 50
"""How many watch one principal's approvals at once."""

MAX_FOLLOWED = 1000
"""How many approvals one watcher follows: the oldest that wait. Others are told as these go."""

PAGE = 100


class Waiting(msgspec.Struct, frozen=True):
    """All that waits was told: these are the ids. What somebody knew from before and isn't among them waits no more."""

    ids: list[str]


class Gone(msgspec.Struct, frozen=True):
    """The thread of this approval was deleted, or it is asked again under another id (`stores/epochs.py`)."""

    id: str


Told = Approval | Waiting | Gone


class Inbox:
    """Watchers of one store's approvals."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watchers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._closed = False

    def changed(self, principal: str) -> None:
        """Something was written about this principal's approvals."""
        for wake in self._watchers.get(principal, ()):
            wake.set()

    def open(self) -> None:
        """Take watchers (again)."""
        self._closed = False

    def close(self) -> None:
        """End every watcher's stream, and take no more."""
        self._closed = True
        for principal in list(self._watchers):
            self.changed(principal)

    def watch(self, principal: str) -> AsyncGenerator[Told, None]:
        """First each approval that waits, oldest first, and `Waiting`; then each that comes, and each further state.

        Ends with `close`. Close it. Raises `RateLimited` if too many watch already, `Unavailable` after `close`.
        """
        if self._closed:
            raise Unavailable("The server is shutting down. Try again in a moment.")
        if len(self._watchers.get(principal, ())) >= MAX_WATCHERS:
            raise RateLimited(f"{MAX_WATCHERS} streams of your approvals are open, which is the limit. Close some.")
        return self._watch(principal)

    async def _watch(self, principal: str) -> AsyncGenerator[Told, None]:
        wake = asyncio.Event()
        self._watchers[principal].add(wake)
        followed: dict[str, State] = {}
        try:
            for told in await self._look(principal, followed):
                yield told
            yield Waiting(list(followed))
            while await self._something(wake):
                for told in await self._look(principal, followed):
                    yield told
        finally:
            self._watchers[principal].discard(wake)
            if not self._watchers[principal]:
                del self._watchers[principal]

    async def _something(self, wake: asyncio.Event) -> bool:
        """Wait until there may be something new. False: it is over."""
        if not self._closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await wake.wait()
        wake.clear()
        return not self._closed

    async def _look(self, principal: str, followed: dict[str, State]) -> list[Told]:
        """What is different from ``followed`` (the states that were told), which is brought up to date."""
        pending = await self._pending(principal)
        told: list[Told] = [approval for approval in pending if approval.id not in followed]
        known = [approval_id for approval_id in followed if approval_id not in {a.id for a in pending}]
        followed |= {approval.id: approval.state for approval in pending}
        for approval_id in known:
            now = await self._store.approval(principal, approval_id)
            if now is not None and now.id != approval_id:  # found by the id under which it was asked before
                now = None
            if now is None:
                told.append(Gone(approval_id))
            elif now.state is not followed[approval_id]:
                told.append(now)
            if now is not None and MOVES[now.state]:
                followed[approval_id] = now.state
            else:
                del followed[approval_id]
        return told

    async def _pending(self, principal: str) -> list[Approval]:
        found: list[Approval] = []
        cursor: str | None = None
        while len(found) < MAX_FOLLOWED:
            page = await self._store.list_approvals(principal, limit=PAGE, cursor=cursor)
            found += page.approvals
            cursor = page.next_cursor
            if cursor is None:
                break
        return found
