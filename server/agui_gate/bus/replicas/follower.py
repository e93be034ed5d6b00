"""Follows the runs of other processes: one log for each run that somebody here reads, and one task that fills them all.

A log begins at the frame that its first reader wants. Who wants an earlier one gets another log, which begins there.
Notes say what there is to read. All of it is read in one `Wire.read`; while that is under way more notes gather. As
notes may be lost, a run of which nothing was heard is looked at every `LOOK_SECONDS`, and its process is asked once
more to tell.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

import structlog

from agui_gate.bus.base import Opening, Tell
from agui_gate.bus.log import LogReader
from agui_gate.bus.replicas.messages import Ask, Left, Watches, Word
from agui_gate.bus.replicas.remote_log import FollowedLog, JoinedReader, opening_of
from agui_gate.bus.replicas.wire import Head, Said, Wanted, Wire
from agui_gate.concurrency import stop_tasks
from agui_gate.errors import Unavailable

LOOK_SECONDS = 2.0
"""Seconds between two looks at a run of which nothing is heard."""

READ_SECONDS = 5.0
"""Seconds that one read may take."""

RETRY_SECONDS = 0.25
"""The wait after a read that failed."""

logger = structlog.get_logger("agui_gate.bus")

R = TypeVar("R", bound=LogReader)


class Follower:
    """Reads over ``wire``, for readers at ``address``. ``limit``: bytes kept of each run, about."""

    def __init__(self, wire: Wire, address: str, limit: int, tell: Callable[[str, Word], None]) -> None:
        self._wire, self._address, self._limit, self._tell = wire, address, limit, tell
        self._logs: dict[str, list[FollowedLog]] = {}
        self._stirred: dict[FollowedLog, None] = {}
        self._openings: set[str] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to follow."""
        self._task = asyncio.create_task(self._work(), name="agui-gate bus follower")

    async def aclose(self) -> None:
        """Follows nothing any more; who reads comes to the end."""
        if self._task is not None:
            await stop_tasks([self._task])
            self._task = None
        for log in self._all():
            log.end()

    async def read(self, head: Head, after: int, *, watching: bool = False) -> LogReader | None:
        """Returns a reader of what the run said after that frame, and says; None if it is gone. Raises
        `Unavailable`.
        """
        return await self._enter(head, after + 1, lambda log: LogReader(log, after), watching=watching)

    async def join(self, head: Head, opening: Opening, tell: Tell, *, watching: bool) -> LogReader | None:
        """Returns a reader that is told the opening first: see `Bus.join`."""

        def enter(log: FollowedLog) -> JoinedReader:
            return JoinedReader(log, opening, tell, partial(self._want_opening, log))

        reader = await self._enter(head, opening.seq, enter, watching=watching)
        if reader is not None:
            reader.entered()
        return reader

    def keeps(self, run_key: str) -> bool:
        """Returns whether somebody here reads the run who keeps it going."""
        return any(not log.watchers.issuperset(log.readers) for log in self._logs.get(run_key, ()))

    def leave(self, head: Head) -> None:
        """Ends the reading of the run by somebody here. Its process is told if nobody here keeps it going now."""
        key = head.run.run_key
        if key not in self._logs:
            self._tell(head.run.address, Left(self._address, key))
        elif not self.keeps(key):
            self._tell(head.run.address, Watches(self._address, key))

    def came(self, run_key: str) -> None:
        """Takes the word that there is more to read of the run."""
        for log in self._logs.get(run_key, ()):
            log.heard = True
            self._stir(log)

    def opened(self, run_key: str) -> None:
        """Takes the word that there is another opening of the run."""
        self._openings.add(run_key)
        self._wake.set()

    def again(self) -> None:
        """Notes may have been missed: look at everything."""
        for log in self._all():
            self._look_at(log)

    def _all(self) -> list[FollowedLog]:
        return [log for logs in self._logs.values() for log in logs]

    # --- readers ------------------------------------------------------------------------------------------------------

    async def _enter(self, head: Head, seq: int, enter: Callable[[FollowedLog], R], *, watching: bool) -> R | None:
        """Returns a reader of the run from ``seq`` on. It has got what there is now, in case that is forgotten soon."""
        logs = self._logs.setdefault(head.run.run_key, [])
        known = next((log for log in logs if log.first_seq <= seq), None)
        log = known or FollowedLog(head, self._limit, seq, self._left)
        is_news = known is None or not (watching or self.keeps(log.key))
        reader = enter(log)
        if watching:
            log.watchers.add(reader)
        if is_news and not head.ended:
            self._tell(head.run.address, Ask(self._address, log.key, follow=True, watching=watching))
        if known is not None:
            return reader
        logs.append(log)
        is_there = False
        try:
            is_there = await self._catch_up(log)
        finally:
            if not is_there:
                reader.close()
        return reader if is_there else None

    async def _catch_up(self, log: FollowedLog) -> bool:
        """Reads what there is; False if that is nothing any more."""
        caught_up = False
        while not caught_up:
            said = (await self._read([log]))[0]
            if said is None:
                return False
            caught_up = await self._feed(log, said)
        return True

    def _left(self, log: FollowedLog) -> None:
        """Removes one who doesn't read the log any more."""
        logs = self._logs.get(log.key, [])
        if not log.readers and log in logs:
            logs.remove(log)
            self._stirred.pop(log, None)
        if not logs:
            self._logs.pop(log.key, None)
        if not log.ended:
            self.leave(log.head)

    def _want_opening(self, log: FollowedLog, seq: int) -> None:
        """Notes that a reader of the log was told the opening ``seq``, and needs a later one."""
        log.told = seq if log.told is None else max(seq, log.told)
        self._look_at(log)

    def _look_at(self, log: FollowedLog) -> None:
        if not log.ended:
            self._tell(log.head.run.address, self._asking(log))
            self._stir(log)

    def _asking(self, log: FollowedLog) -> Ask:
        return Ask(self._address, log.key, follow=True, opening=log.told, watching=not self.keeps(log.key))

    def _stir(self, log: FollowedLog) -> None:
        if not log.ended:
            self._stirred[log] = None
            self._wake.set()

    # --- the task -----------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        clock = asyncio.get_running_loop().time
        look = clock() + LOOK_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(look):
                    await self._wake.wait()
            if clock() >= look:  # however much there is to read of others
                self._look()
                look = clock() + LOOK_SECONDS
            self._wake.clear()
            try:
                await self._read_what_is_new()
            except Unavailable:
                self._wake.set()
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                logger.exception(
                    "bus_unread", means="Events of runs in other processes can't be read here, or are read later."
                )
                await asyncio.sleep(RETRY_SECONDS)

    def _look(self) -> None:
        for log in self._all():
            if not log.heard:
                self._look_at(log)
            log.heard = False

    async def _read_what_is_new(self) -> None:
        """Reads what is new. What is told of meanwhile is read with the next round: this one may not have seen it."""
        while self._openings:
            key = self._openings.pop()
            try:
                for log in tuple(self._logs.get(key, ())):
                    await self._fetch_opening(log)
            except Unavailable:
                self._openings.add(key)
                raise
        logs, self._stirred = tuple(self._stirred), {}
        if not logs:
            return
        try:
            for log, said in zip(logs, await self._read(logs), strict=True):
                if said is not None and not await self._feed(log, said):
                    self._stir(log)
        except Unavailable:
            self._stirred |= dict.fromkeys(log for log in logs if log.readers)
            raise

    async def _read(self, logs: Sequence[FollowedLog]) -> list[Said | None]:
        try:
            async with asyncio.timeout(READ_SECONDS):
                return list(await self._wire.read([Wanted(log.key, log.next_seq) for log in logs]))
        except TimeoutError:
            raise Unavailable("The bus is not available.") from None

    async def _feed(self, log: FollowedLog, said: Said) -> bool:
        """Adds what the run said. Whether that was all for now."""
        caught_up = log.take(said)
        if caught_up and said.ended:
            await self._fetch_opening(log)
            log.end()
        return caught_up

    async def _fetch_opening(self, log: FollowedLog) -> None:
        """Fetches the opening that a reader of the log waits for, if there is one."""
        if log.told is None:
            return
        try:
            async with asyncio.timeout(READ_SECONDS):
                put = await self._wire.opening(log.key)
        except TimeoutError:
            raise Unavailable("The bus is not available.") from None
        if put is not None and put[0] > log.told and (opening := opening_of(put[1])) is not None:
            log.told = None
            log.opened(opening)
