"""Sends out the heads of the audit trail: into the log, which who owns the database can't rewrite.

A signed chain shows who changed it. That its end was cut off shows only against a head that was kept elsewhere
(`agui-gate audit verify --heads`). So every server logs the heads of the chains that went on.
"""

from time import monotonic
from typing import Any

import structlog

from agui_gate.core.audit import Head
from agui_gate.extension import Extension, Hint, Server
from agui_gate.stores.audit import Link, Part

EVERY_SECONDS = 300.0
"""Seconds between two looks."""
EVERY_CHANGES = 100
"""Changes of approvals by this process after which it looks before that time."""
STEP = 100
"""Events that are read at once: their records come along, and their results."""
MOST = 10_000
"""Events that one look reads; if there are more, the next look goes on with the newest."""

log = structlog.get_logger("agui_gate.audit")


class Heads(Extension):
    """Logs the heads of chains that went on, and once more at the end."""

    notice_kinds = ()

    def __init__(self) -> None:
        self._store: Any = None
        self._changes, self._next = 0, 0.0
        self._since = Link(0, 0, 0)

    async def start(self, server: Server) -> None:
        """Begins with the newest event that there is."""
        self._store, self._next = server.store, monotonic() + EVERY_SECONDS
        newest = await self._store.trail.read(Part(), _END, 1)
        self._since = newest[0].link if newest else self._since

    def written(self, hint: Hint) -> None:
        """Counts changes of approvals."""
        self._changes += hint.here and hint.what == "approvals"

    async def tick(self) -> None:
        """Looks, if it is time to."""
        if monotonic() >= self._next or self._changes >= EVERY_CHANGES:
            await self.log_heads()

    async def stop(self) -> None:
        """Looks once more."""
        if self._store is not None:
            await self.log_heads()

    async def log_heads(self) -> list[Head]:
        """Logs the heads of the chains that went on since the last time, and returns them."""
        self._changes, self._next = 0, monotonic() + EVERY_SECONDS
        heads: dict[str, Head] = {}
        since, newest, before = self._since, self._since, _END
        for _ in range(MOST // STEP):
            read = await self._store.trail.read(Part(), before, STEP)
            found = [entry for entry in read if entry.link > since]
            for entry in found:
                heads.setdefault(entry.event.thread, entry.event.head)
            newest = max([newest, *(entry.link for entry in found)])
            if len(found) < len(read) or not read:
                break
            before = read[-1].link
        for head in heads.values():
            log.info("audit_head", head=f"{head.thread}:{head.seq}:{head.hash}")
        self._since = newest
        return list(heads.values())


_END = Link(2**63 - 1, 2**63 - 1, 2**31 - 1)
