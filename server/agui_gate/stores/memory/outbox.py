"""The notices of the memory store."""

from collections import deque
from collections.abc import Collection

from agui_gate.stores.outbox import TAKE_MS, Notice, Telling

MAX_NOTICES = 10_000
"""Notices kept: the latest ones. There are more only where nobody takes them."""


class Notices:
    """Those that are not told yet, oldest first. No method awaits, so each is atomic. ``now`` is the store's clock."""

    def __init__(self) -> None:
        self._notices: deque[Notice] = deque(maxlen=MAX_NOTICES)
        self._next = 1
        self._taker, self._until = "", 0

    def add(self, telling: Telling, now: int) -> None:
        """Keep what is to be told."""
        self._notices.append(
            Notice(
                id=self._next,
                kind=telling.kind,
                principal=telling.principal,
                thread_id=telling.thread_id,
                about=telling.about,
                body=telling.body,
                created_at=now,
            )
        )
        self._next += 1

    def take(self, taker: str, told: Collection[int], limit: int, now: int) -> list[Notice]:
        """See `OutboxStore.take_notices`."""
        if told:
            gone = set(told)
            self._notices = deque((n for n in self._notices if n.id not in gone), maxlen=MAX_NOTICES)
        if self._taker != taker and now < self._until:
            return []
        if limit == 0:
            self._until = 0
        found = [notice for _, notice in zip(range(limit), self._notices, strict=False)]
        if found:
            self._taker, self._until = taker, now + TAKE_MS
        return found
