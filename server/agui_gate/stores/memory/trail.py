"""Keeps the audit trail, the outbox and the tombstones of the memory store."""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.audit import Event, Happened, Head, chained
from agui_gate.core.transcript import Output
from agui_gate.stores.audit import EventPage, HeadPage, event_page, head_page, place_after
from agui_gate.stores.outbox import TAKE_MS, Notice, Telling, tellings
from agui_gate.stores.tombstones import LATE, Tombstone, digest, tombstone

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


MAX_TOMBS = 1000
"""Tombstones kept of one principal: the latest ones."""


class Tombs:
    """Tombstones by principal. No method awaits, so each is atomic."""

    def __init__(self) -> None:
        self._tombs: dict[str, deque[Tombstone]] = {}

    def bury(self, approvals: Iterable[Approval], now: int) -> None:
        """Keep what has to stay of these records."""
        for kept in filter(None, (tombstone(approval, now) for approval in approvals)):
            self._tombs.setdefault(kept.principal, deque(maxlen=MAX_TOMBS)).append(kept)

    def amend(self, approval_id: str, to: State, output: Output | None) -> Tombstone | None:
        """What came of a call that was at work when its thread was deleted. Returns its tombstone, if there is one."""
        for tombs in self._tombs.values() if to in LATE and output is not None else ():
            for index, tomb in enumerate(tombs):
                if tomb.id == approval_id and tomb.state is State.UNKNOWN and output is not None:
                    tombs[index] = msgspec.structs.replace(tomb, state=to, output_digest=digest(output.content))
                    return tombs[index]
        return None

    def __len__(self) -> int:
        return sum(map(len, self._tombs.values()))

    def forget(self, before: int) -> int:
        """Drop those whose threads were deleted no later than that. Returns their number."""
        there = len(self)
        for principal, tombs in list(self._tombs.items()):
            kept = deque((tomb for tomb in tombs if tomb.deleted_at > before), maxlen=MAX_TOMBS)
            if kept:
                self._tombs[principal] = kept
            else:
                del self._tombs[principal]
        return there - len(self)

    def of(self, principal: str, thread_id: str | None, approval_id: str | None) -> list[Tombstone]:
        """This principal's, the latest deletion first."""
        mine = self._tombs.get(principal, ())
        found = [t for t in mine if thread_id in (None, t.thread_id) and approval_id in (None, t.id)]
        return sorted(found, key=lambda t: (-t.deleted_at, t.id))
