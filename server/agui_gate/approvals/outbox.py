"""Tells others what the store says they are to be told: see docs/adr/0021-notices-in-an-outbox.md.

A notice is written in the same transaction as what it tells (`stores/outbox.py`). A `Courier` takes notices, tells
each consumer (the extensions with a hook for them), and has them removed with the step that takes the next ones. One
replica does that at a time, whoever comes first. What is written here wakes it, after a moment in which more may come:
so many runs are one batch. It looks for what others have left every `LOOK_SECONDS`.

Nothing waits for it. While the store is away, or a consumer fails, it tries again with growing delays. So each notice
is told at least once, and those of a thread in their order. A consumer that fails or hangs hinders no other one: they
are told side by side, and who was told already is left alone when the others are tried again.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog

from agui_gate.concurrency import bounded
from agui_gate.errors import AguiGateError
from agui_gate.stores.outbox import ChoosyOutbox, Notice, OutboxStore

if TYPE_CHECKING:
    from agui_gate.extension import Extension

GATHER_SECONDS = 1.0
"""Seconds for which it lets notices gather."""
LOOK_SECONDS = 5.0
"""Seconds between two looks for notices that other processes have written."""
BATCH = 200
"""Notices that it takes at once."""
TELL_SECONDS = 5.0
"""Seconds that all consumers may take for a batch. Less than notices are left to whoever took them."""
LONGEST = 60.0
"""Seconds between two tries, at most."""

log = structlog.get_logger("agui_gate.outbox")


class Courier:
    """Brings the notices of one store to ``consumers``, as ``taker``: a name that no other process has. More consumers
    may be added to the list meanwhile.
    """

    def __init__(self, store: OutboxStore, taker: str, consumers: Sequence["Extension"]) -> None:
        self._store, self._taker, self._consumers = store, taker, consumers
        self._written = asyncio.Event()
        self._told: list[int] = []
        self._heard: dict[int, set[int]] = {}
        """The ids, by consumer, of what it was given of the batch that others have not taken yet."""
        self._failures = 0
        self._reads_runs: bool | None = None

    async def want(self) -> None:
        """Says whether anybody here reads when runs end: else a row for each run is spared.

        That somebody does is said each time, since a backup that is put back may know nothing of it.
        """
        reads = any("run_ended" in consumer.notice_kinds for consumer in self._consumers)
        if (reads or self._reads_runs is None) and isinstance(self._store, ChoosyOutbox):
            await self._store.want_runs(reads)
        self._reads_runs = reads

    def wake(self) -> None:
        """Wakes the courier: something was written here."""
        self._written.set()

    async def work(self) -> None:
        """Delivers for ever. Cancelled, it lets another one go on at once, if the store is there."""
        try:
            while True:
                await self._round()
                if not self._failures:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_SECONDS):
                            await self._written.wait()
                await asyncio.sleep(min(GATHER_SECONDS * 2**self._failures, LONGEST))
                self._written.clear()
        finally:
            with suppress(AguiGateError, TimeoutError):
                async with asyncio.timeout(GATHER_SECONDS):
                    await self._store.take_notices(self._taker, told=self._told, limit=0)

    async def _round(self) -> None:
        """Delivers what there is."""
        try:
            await self.want()
            while await self.deliver():
                pass
            self._failures = 0
        except Exception as error:
            if self._failures == 0:
                known = isinstance(error, AguiGateError | TimeoutError)
                log.warning("not_told_yet", error=str(error) or type(error).__name__, exc_info=not known)
            self._failures = min(self._failures + 1, 10)

    async def deliver(self) -> bool:
        """Delivers one batch; returns whether there may be more. Raises what hinders it: then nothing of it counts as
        told.
        """
        notices = await self._store.take_notices(self._taker, told=self._told, limit=BATCH)
        self._told = []
        if not notices:
            return False
        told = [self._tell(consumer, notices) for consumer in self._consumers]
        for failure in await asyncio.gather(*told, return_exceptions=True):
            if failure is not None:
                raise failure
        self._told, self._heard = [notice.id for notice in notices], {}
        if len(notices) == BATCH:
            return True
        await self._store.take_notices(self._taker, told=self._told, limit=0)
        self._told = []
        return False

    async def _tell(self, consumer: "Extension", notices: Sequence[Notice]) -> None:
        heard = self._heard.setdefault(id(consumer), set())
        heard &= {notice.id for notice in notices}  # of others, another process has taken care
        if batch := [notice for notice in notices if notice.id not in heard]:
            await bounded(consumer.notices(batch), TELL_SECONDS)
            heard.update(notice.id for notice in batch)
