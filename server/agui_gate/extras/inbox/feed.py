"""A principal's approvals as they come and go, for whoever decides: pages, terminals, other people's inboxes.

The store is the only record. One look serves all who watch in this process: at once where something was written here
(`changed`), and every `LOOK_SECONDS` for what other processes write. It reads ids, and records only of what is new or
has changed, once for all who watch that principal. A call that was asked about and decided between two looks may never
be told.

What was decided in an emergency is told to others, too: to all whom it concerns.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec
import structlog

from agui_gate.core.approvals import MOVES, Approval, State
from agui_gate.errors import AguiGateError, RateLimited, ShuttingDown, Unavailable
from agui_gate.extension import Extension, Hint, Notice, NoticeKind, Server
from agui_gate.runs.engine import Engine
from agui_gate.stores.capabilities import InboxStore, PeopleReader, WorkingStore
from agui_gate.stores.cursor import size_of

LOOK_SECONDS = 3.0
"""Seconds between two looks for what no one in this process has written."""

AT_ONCE = 500
"""Principals that are looked for at once: a statement that takes a millisecond or two."""

MAX_WATCHERS = 50
"""Watchers of one principal's approvals at the same time."""

MAX_FOLLOWED = 1000
"""Approvals that are followed of one principal: the oldest that wait. Others are told as these go."""

MAX_AT_WORK = 100
"""Calls at work that a new watcher hears of: they were approved before it came."""

MAX_BEHIND = 2 * MAX_FOLLOWED
"""News that one watcher may not have taken yet. Over it, its stream ends, and its client connects again."""

MAX_BEHIND_BYTES = 16 * 1024 * 1024
"""Bytes that these may have: a stream that is read slowly keeps them in memory."""

_APPROVALS: Collection[NoticeKind] = ("approval_pending", "approval_decided", "approval_notice")

log = structlog.get_logger("agui_gate.engine")


class Waiting(msgspec.Struct, frozen=True):
    """All that waits was told: these are the ids. What somebody knew from before and isn't among them waits no more."""

    ids: list[str]


class Gone(msgspec.Struct, frozen=True):
    """The thread of this approval was deleted, or it is asked again under another id (`stores/epochs.py`)."""

    id: str


class Emergency(msgspec.Struct, frozen=True):
    """Somebody decided this call in an emergency."""

    record: Approval


Told = Approval | Waiting | Gone | Emergency
News = Approval | Gone | Emergency
Concerns = Callable[[Approval], Awaitable[bool]]
"""Says whether somebody else's call concerns who watches."""


class Watcher:
    """A stream of news. ``known``: what it was told of and may hear of again; ``news``: what it is to be told."""

    def __init__(self, concerns: Concerns | None = None) -> None:
        self.concerns = concerns
        self.news: deque[News] = deque()
        self.known: set[str] = set()
        self.wake = asyncio.Event()
        self.is_behind = False
        self._bytes = 0

    def begin(self, known: Iterable[str]) -> None:
        """Begins with what waits now, which it is told by itself; it hears of that again, and of what is at work."""
        self.known, self.is_behind, self._bytes = set(known), False, 0
        self.news.clear()

    def tell(self, told: News) -> None:
        """Something has changed. Of what it doesn't know it hears only if that waits, and of emergencies."""
        if isinstance(told, Approval) and told.is_pending:
            self.known.add(told.id)
        elif isinstance(told, Approval | Gone):
            if told.id not in self.known:
                return
            if isinstance(told, Gone) or not MOVES[told.state]:
                self.known.discard(told.id)
        self._bytes += _size(told)
        self.is_behind = self.is_behind or len(self.news) >= MAX_BEHIND or self._bytes > MAX_BEHIND_BYTES
        if not self.is_behind:
            self.news.append(told)
        self.wake.set()

    def take(self) -> News:
        """Returns the oldest of the news, and removes it."""
        told = self.news.popleft()
        self._bytes -= _size(told)
        return told


def batched(names: Collection[str], number: int) -> Iterator[list[str]]:
    """Yields them in lists of so many."""
    left = iter(names)
    while some := list(islice(left, number)):
        yield some


def _size(told: News) -> int:
    if isinstance(told, Gone):
        return 0
    return size_of(told.record if isinstance(told, Emergency) else told)


class Followed:
    """One principal's approvals, as far as they are known: the ids that wait, as the store gave them (None: nobody
    looked yet), and those at work. ``again``: ids that are told once more, though they still wait. ``people``: hashes
    of who has to agree and who has, by the ids of those that wait for people: when it changes, they are told again.
    """

    def __init__(self) -> None:
        self.people: dict[str, int] = {}
        self.waiting: list[str] | None = None
        self.at_work: dict[str, State] = {}
        self.again: set[str] = set()

    def remember(self, record: Approval) -> None:
        """Remembers who has to agree to a call that is told, and who has."""
        if record.people is not None and record.is_pending:
            self.people[record.id] = hash(msgspec.json.encode(record.people).decode())


OVERLAP_MS = 10_000
"""Milliseconds that are looked at once more: a transaction may have begun before another one, and end after it."""


class Emergencies:
    """What was decided in an emergency, since somebody has begun to watch here. ``is_due``: it is time to look."""

    def __init__(self, store: Any) -> None:
        self._store = store if isinstance(store, PeopleReader) else None
        self._since: int | None = None
        self._told: set[str] = set()
        self.is_due = False

    def begin(self) -> None:
        """Begins with what comes from now on, unless it has begun."""
        if self._since is None and self._store is not None:
            self._since = self._store.now()

    async def report(self, watchers: Mapping[str, Collection[Watcher]]) -> None:
        """Tells what is new to all of ``watchers``, by principal, whom it concerns."""
        if not self.is_due or self._store is None or self._since is None:
            return
        self.is_due = False
        found = await self._store.emergencies(self._since - (OVERLAP_MS if self._told else 0))
        for at, approval_id in found:
            if approval_id in self._told or (record := await self._store.people_approval(approval_id)) is None:
                continue
            self._since = max(self._since, at)
            for principal, watching in list(watchers.items()):
                for watcher in list(watching):
                    if principal == record.principal or (watcher.concerns and await watcher.concerns(record)):
                        watcher.tell(Emergency(record))
        self._told = {approval_id for _, approval_id in found}


class Inbox(Extension):
    """Watchers of one store's approvals.

    It looks at once where something was written here, or where a notice is about it: then another process wrote it,
    and perhaps died before it could say so.
    """

    notice_kinds = _APPROVALS

    def __init__(self, store: InboxStore) -> None:
        self._store = store
        self._watchers: defaultdict[str, set[Watcher]] = defaultdict(set)
        self._followed: dict[str, Followed] = {}
        self._changed: set[str] = set()
        self._news, self._lock = asyncio.Event(), asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None
        self._closed = False
        self._emergencies = Emergencies(store)

    def changed(self, principal: str) -> None:
        """Something was written about this principal's approvals."""
        if principal in self._watchers:
            self._changed.add(principal)
            self._news.set()

    def written(self, hint: Hint) -> None:
        """Looks, if it is about approvals."""
        if hint.what == "approvals":
            self.changed(hint.principal)

    async def notices(self, batch: Sequence[Notice]) -> None:
        """Looks, for each principal of whose approvals one of these tells."""
        for notice in batch:
            if notice.kind == "approval_notice" and (followed := self._followed.get(notice.principal)) is not None:
                followed.again.add(notice.about)
            if notice.kind == "approval_notice":
                self._emergencies.is_due = True
                self._news.set()
            if notice.kind in _APPROVALS:
                self.changed(notice.principal)

    async def start(self, server: Server) -> None:
        """Takes watchers again."""
        self._closed = False

    def drain(self) -> None:
        """Ends every watcher's stream, and takes no more."""
        self._closed = True
        self._news.set()
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.wake.set()

    def watch(self, principal: str, concerns: Concerns | None = None) -> AsyncGenerator[Told, None]:
        """First each approval that waits, oldest first, and `Waiting`; then each that comes, and each further state,
        and emergencies, of this principal's calls and of those that it ``concerns``.

        Ends with `drain`. Close it. Raises `RateLimited` if too many watch already, `ShuttingDown` after `drain`.
        """
        if self._closed:
            raise ShuttingDown
        if len(self._watchers.get(principal, ())) >= MAX_WATCHERS:
            raise RateLimited(f"{MAX_WATCHERS} streams of your approvals are open, which is the limit. Close some.")
        return self._watch(principal, concerns)

    async def _watch(self, principal: str, concerns: Concerns | None) -> AsyncGenerator[Told, None]:
        watcher = Watcher(concerns)
        self._emergencies.begin()
        self._watchers[principal].add(watcher)
        followed = self._followed.setdefault(principal, Followed())
        try:
            await self._look([principal])
            for record in await self._at_work(principal):
                followed.at_work.setdefault(record.id, record.state)
            watcher.begin([*(followed.waiting or ()), *followed.at_work])
            waiting = list[str]()
            async for approval in self._records(principal, followed.waiting or ()):
                if approval.is_pending:
                    followed.remember(approval)
                    waiting.append(approval.id)
                    yield approval
            yield Waiting(waiting)
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look_on(), name="agui-gate inbox")
            while not self._closed:
                while watcher.news:
                    yield watcher.take()
                if watcher.is_behind:
                    raise Unavailable("The client reads this stream too slowly, and missed changes. Connect again.")
                await watcher.wake.wait()
                watcher.wake.clear()
        finally:
            self._watchers[principal].discard(watcher)
            if not self._watchers[principal]:
                del self._watchers[principal], self._followed[principal]
                self._news.set()  # perhaps nobody watches any more

    async def _look_on(self) -> None:
        """Looks as long as anybody watches. A store that is away is looked at again later."""
        loop = asyncio.get_running_loop()
        due = loop.time() + LOOK_SECONDS
        while self._watchers and not self._closed:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._news.wait()
            self._news.clear()
            changed, self._changed = self._changed, set()
            if loop.time() >= due:
                changed, due = set(self._watchers), loop.time() + LOOK_SECONDS
                self._emergencies.is_due = True
            try:
                await self._look(changed & self._watchers.keys())
                await self._emergencies.report(self._watchers)
            except AguiGateError:
                continue
            except Exception:
                log.exception("look_failed")

    async def _look(self, principals: Collection[str]) -> None:
        """Looks once, for all who watch these. One look at a time: what was read before another one ended is old."""
        async with self._lock:
            for some in batched(principals, AT_ONCE):
                waits = await self._store.waiting_ids(some, MAX_FOLLOWED)
                states, people = await self._states(some), await self._people(some)
                for principal, waiting in waits.items():
                    if (followed := self._followed.get(principal)) is not None:
                        await self._compare(principal, followed, waiting, states, people)

    async def _people(self, principals: Collection[str]) -> Mapping[str, int]:
        """Returns hashes of who has to agree and who has, of those that wait for people as far as they were told."""
        named = [name for name in principals if (it := self._followed.get(name)) is not None and it.people]
        if not named or not isinstance(self._store, PeopleReader):
            return {}
        found = await self._store.waiting_people(named, MAX_FOLLOWED)
        return {name: hash(text) for name, text in found.items()}

    async def _states(self, principals: Collection[str]) -> Mapping[str, State]:
        """Returns the states of what is at work, as far as the store can say that without reading the records."""
        working = [name for name in principals if (it := self._followed.get(name)) is not None and it.at_work]
        if working and isinstance(self._store, WorkingStore):
            return await self._store.working_states(working)
        return {}

    async def _compare(
        self,
        principal: str,
        followed: Followed,
        waiting: list[str],
        states: Mapping[str, State],
        people: Mapping[str, int],
    ) -> None:
        """Tells what is different from what was seen before; at the first look, nothing is."""
        seen = followed.waiting
        moved = [each for each, state in followed.at_work.items() if states.get(each) is not state]
        again, followed.again = followed.again, set()
        again |= {each for each, told in followed.people.items() if people.get(each, told) != told}
        if seen is not None and (waiting != seen or moved or again):
            before, now = set(seen), set(waiting)
            followed.people = {each: told for each, told in followed.people.items() if each in now}
            asked = [each for each in seen if each not in now]
            asked += [*moved, *(each for each in waiting if each not in before or each in again)]
            found = set[str]()
            async for record in self._records(principal, asked):
                found.add(record.id)
                self._tell_state(principal, followed, record)
            for approval_id in asked:
                if approval_id not in found:
                    followed.at_work.pop(approval_id, None)
                    self._tell(principal, Gone(approval_id))
        followed.waiting = waiting

    async def _at_work(self, principal: str) -> list[Approval]:
        """Returns the calls that somebody is at work at, or was: its process may have died. The newest page of them."""
        page = await self._store.list_approvals(principal, limit=MAX_AT_WORK, which="claimed")
        return [record for record in page.approvals if not record.is_agreed]

    async def _records(self, principal: str, approval_ids: Sequence[str]) -> AsyncIterator[Approval]:
        """Yields these records, a page at a time."""
        while approval_ids:
            found, approval_ids = await self._store.read_approvals(principal, approval_ids)
            for record in found:
                yield record

    def _tell_state(self, principal: str, followed: Followed, record: Approval) -> None:
        followed.remember(record)
        if followed.at_work.get(record.id) is not record.state:
            self._tell(principal, record)
        followed.at_work.pop(record.id, None)
        if MOVES[record.state] and not record.is_pending:
            followed.at_work[record.id] = record.state

    def _tell(self, principal: str, told: Approval | Gone) -> None:
        for watcher in self._watchers.get(principal, ()):
            watcher.tell(told)


def inbox_of(engine: Engine) -> Inbox:
    """Returns the engine's inbox, which it has from the first time on that somebody asks for it."""
    for extension in engine.extensions.all:
        if isinstance(extension, Inbox):
            return extension
    inbox = Inbox(engine.offers.inbox)
    engine.extensions.add(inbox)
    return inbox
