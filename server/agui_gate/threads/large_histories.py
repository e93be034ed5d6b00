"""Keeps the history of a thread to which one run has added so much that the event loop must not go through it."""

import asyncio
from typing import TYPE_CHECKING

from agui_gate.concurrency import beside
from agui_gate.stores.base import JournalVersion
from agui_gate.threads.history import HistoryCache, Place

if TYPE_CHECKING:
    from agui_gate.threads.leased_thread import LeasedThread

MOST_AWAITED = 4
"""Histories that wait for it at once: what waits counts in no budget."""


def put_later(cache: HistoryCache, place: Place, opened: "LeasedThread", known: JournalVersion) -> None:
    """Keeps the history once it was seen, beside the loop, that what was added is read as it was written.

    A history that somebody has dropped meanwhile, or leased, is not kept.
    """
    cache.drop(place)
    if len(cache.awaited) >= MOST_AWAITED:
        return
    cache.awaited[place] = known
    seen, loop = beside(opened.is_read_as_written), asyncio.get_running_loop()

    def put(_: "asyncio.Future[bool]") -> None:
        failed = seen.cancelled() or seen.exception() is not None
        if cache.awaited.get(place) is not known:
            return
        del cache.awaited[place]
        if not failed and seen.result():
            cache.put(place, opened.history, known, loop.time())

    seen.add_done_callback(put)
