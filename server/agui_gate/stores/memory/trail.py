"""The audit trail and the outbox of the memory store."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from agui_gate.core.audit import Event, Happened, Head, chained
from agui_gate.stores.audit import EventPage, HeadPage, event_page, head_page, place_after
from agui_gate.stores.outbox import TAKE_MS, Notice, Telling, tellings

MAX_EVENTS, MAX_ALL = 10_000, 50_000
"""Events kept of one principal, and of all. When there are more, a chain goes as a whole: the one that began first."""

MAX_NOTICES = 10_000
"""Notices kept of all that nobody has taken: the latest ones."""


class Trail:
    """Chains by thread keys, and notices. No method awaits, so each is atomic."""

    def __init__(self, max_events: int = MAX_EVENTS, max_all: int = MAX_ALL) -> None:
        self._max_events, self._max_all = max_events, max_all
        self._chains: dict[str, list[Event]] = {}
        self._mine: dict[str, dict[str, None]] = {}
        """Keys by principal, in the order of their first events."""
        self._number: Counter[str] = Counter()  # of events, by principal
        self._total = 0
        self._notices: dict[int, Notice] = {}
        self._next = 1
        self._taker, self._taken_until = "", 0

    def add(self, thread: str, now: int, happened: Iterable[Happened]) -> None:
        """Add to a thread's chain, and what is told of it to the outbox."""
        happened = list(happened)
        if not happened:
            return
        chain = self._chains.setdefault(thread, [])
        chain += chained(chain[-1].head if chain else Head(thread), now, happened)
        principal = happened[0].principal
        self._mine.setdefault(principal, {})[thread] = None
        self._number[principal] += len(happened)
        self._total += len(happened)
        while self._number[principal] > self._max_events:
            self._drop(next(iter(self._mine[principal])))
        while self._total > self._max_all:
            self._drop(next(iter(self._chains)))
        for telling in tellings(happened):
            self.tell(telling, now)

    def tell(self, telling: Telling, now: int) -> None:
        """Put a notice into the outbox."""
        notice = Notice(
            id=self._next,
            kind=telling.kind,
            principal=telling.principal,
            thread_id=telling.thread_id,
            about=telling.about,
            body=telling.body,
            created_at=now,
        )
        self._notices[notice.id] = notice
        self._next += 1
        if len(self._notices) > MAX_NOTICES:
            del self._notices[next(iter(self._notices))]

    def has(self, thread: str) -> bool:
        """Whether a thread has a chain."""
        return thread in self._chains

    def last_of(self, principal: str, approval_id: str) -> Event | None:
        """The last event of one approval."""
        chains = (self._chains[key] for key in self._mine.get(principal, ()))
        return next((e for chain in chains for e in reversed(chain) if e.approval_id == approval_id), None)

    def events(
        self, limit: int, cursor: str | None, principal: str | None, thread_id: str | None, since: int
    ) -> EventPage:
        """See `AuditStore.read_events`."""
        after, found = place_after(cursor), []
        for event in self._all(after):
            if principal not in (None, event.principal) or thread_id not in (None, event.thread_id):
                continue
            if event.at >= since:
                found.append(event)
            if len(found) > limit:
                break
        return event_page(found, limit)

    def heads(self, limit: int, cursor: str | None) -> HeadPage:
        """See `AuditStore.read_heads`."""
        after = place_after(cursor)[0]
        keys = sorted(key for key in map(int, self._chains) if key > after)
        return head_page([self._chains[str(key)][-1].head for key in keys[: limit + 1]], limit)

    def take(self, taker: str, told: Collection[int], limit: int, now: int) -> Sequence[Notice]:
        """See `OutboxStore.take_notices`."""
        for notice_id in told:
            self._notices.pop(notice_id, None)
        if taker != self._taker and now < self._taken_until:
            return ()
        self._taker, self._taken_until = taker, now + TAKE_MS if limit and self._notices else 0
        return list(islice(self._notices.values(), limit))

    def forget(self, there: Collection[str], before: int) -> int:
        """Drop the chains of threads that are not ``there``, of which nothing is newer than that. Returns events."""
        old = [key for key, chain in self._chains.items() if key not in there and chain[-1].at <= before]
        number = sum(len(self._chains[key]) for key in old)
        for key in old:
            self._drop(key)
        return number

    def ages(self) -> list[int]:
        """When each of the events was."""
        return [event.at for chain in self._chains.values() for event in chain]

    @property
    def waiting(self) -> int:
        """Notices that are not told yet."""
        return len(self._notices)

    def _all(self, after: tuple[int, int]) -> Iterator[Event]:
        """All events behind that place, in the order of chains."""
        thread, seq = after
        for key in sorted(key for key in map(int, self._chains) if key >= thread):
            yield from self._chains[str(key)][seq if key == thread else 0 :]

    def _drop(self, thread: str) -> None:
        chain = self._chains.pop(thread)
        principal = chain[0].principal
        del self._mine[principal][thread]
        self._number[principal] -= len(chain)
        self._total -= len(chain)
        if not self._mine[principal]:
            del self._mine[principal], self._number[principal]
