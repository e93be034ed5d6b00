"""A bus that several processes share, over a wire.

Runs of this process are read here, as on the bus in memory, whatever becomes of the wire. So all that is said twice is
what others read. Runs of other processes are found on the wire. As a run that nobody follows is sent only now and then,
its process is asked to send what it has (`Ask`) before a reader begins, and answers as soon as that is kept. Where it
doesn't within `ASK_SECONDS`, what is kept has to do, and nobody can join: then the store says what stands.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, TypeVar

from agui_gate.bus.base import Hear, Published, Publisher, Reader, Signal, Tell
from agui_gate.bus.memory import KEPT_BYTES, MemoryBus
from agui_gate.bus.replicas.follower import Follower
from agui_gate.bus.replicas.messages import (
    NO_OPENING,
    NOT_TO_BE_HAD,
    Answer,
    Ask,
    Came,
    Forgotten,
    Here,
    Left,
    Opened,
    Told,
    Watches,
    Who,
    Word,
    here,
    unpack,
)
from agui_gate.bus.replicas.remote_log import opening_of
from agui_gate.bus.replicas.sender import Sender
from agui_gate.bus.replicas.wire import Head, Run, Wire
from agui_gate.concurrency import stop_tasks
from agui_gate.config.limits import EVENTS_BYTES, EVENTS_SECONDS
from agui_gate.errors import Unavailable

ASK_SECONDS = 1.0
"""Seconds that the process of a run has for an answer."""

UNKNOWN_SECONDS = 0.5
"""The same, for a run of which nothing is kept: it would be soon (`sender.LAZY`), if there were one."""

MAX_SERVERS = 1_000
"""Servers that are told of."""

CALL_SECONDS = 3.0
"""Seconds that the wire has for one call."""

CLOSE_SECONDS = 2.0
"""Seconds that closing waits for what isn't sent yet."""

EXPIRE_SECONDS = 60.0
"""Seconds between two looks on the wire for what is over its time."""

T = TypeVar("T")


class _Roll:
    """The servers that have answered, until as many have as are ``expected``."""

    def __init__(self, expected: int | None) -> None:
        self.found: list[Here] = []
        self.is_whole = asyncio.Event()
        self._expected = expected or MAX_SERVERS

    def add(self, server: Here) -> None:
        """Adds one."""
        if len(self.found) < MAX_SERVERS:
            self.found.append(server)
        if len(self.found) >= self._expected:
            self.is_whole.set()


class SharedBus:
    """`Bus` over ``wire``. ``kept_seconds`` is how long what has ended is kept here; the wire has its own.

    ``kept_bytes``: of that; and as much again of what has ended and can't be sent.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        kept_seconds: float = EVENTS_SECONDS,
        run_bytes: int = EVENTS_BYTES,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._wire, self._run_bytes, self._kept_bytes = wire, run_bytes, kept_bytes
        self._here = MemoryBus(kept_seconds=kept_seconds, run_bytes=run_bytes, kept_bytes=kept_bytes)
        self._address = secrets.token_hex(8)
        self._hears: list[Hear] = []
        self._tokens = count(1)
        self._rolls: dict[int, _Roll] = {}
        self._asked: dict[int, asyncio.Future[Answer]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._expires = 0.0
        self._sender: Sender
        self._follower: Follower
        self._started = False

    async def start(self) -> None:
        """See `Bus`."""
        if self._started:
            return
        self._sender = Sender(self._wire, self._address, self._run_bytes, self._kept_bytes)
        self._follower = Follower(self._wire, self._address, self._run_bytes, self._say)
        await self._wire.start(self._address, self._heard, self._follower.again)
        self._sender.start()
        self._follower.start()
        self._started = True

    @property
    def url(self) -> str:
        """The URL of what carries it; "" where that has none."""
        url: str = getattr(self._wire, "url", "")
        return url

    def prepare_login(self, url: str) -> Callable[[], None]:
        """Returns what has connections opened by the user and the password of that URL, of the same place. Those that
        are open stay. Raises `Unusable`.
        """
        wire: Any = self._wire
        change: Callable[[], None] = wire.prepare_login(url)
        return change

    async def aclose(self) -> None:
        """See `Bus`."""
        if self._started:
            self._started = False
            await self._sender.aclose(CLOSE_SECONDS)
            await self._follower.aclose()
            await stop_tasks(self._tasks)
        await self._wire.aclose()

    async def check(self) -> None:
        """Asks the wire for a run that there isn't. Raises `Unavailable` where it doesn't answer."""
        await self._call(self._wire.find(""))

    async def servers(self, expected: int | None) -> list[Here]:
        """Returns the servers that hear this bus, as they say it: once as many have answered as are ``expected``, or
        after `ASK_SECONDS`. Those of a version that doesn't know the question say nothing.
        """
        token, roll = next(self._tokens), _Roll(expected)
        self._rolls[token] = roll
        self._say("", Who(self._address, token))
        try:
            async with asyncio.timeout(ASK_SECONDS):
                await roll.is_whole.wait()
        except TimeoutError:
            pass
        finally:
            del self._rolls[token]
        return sorted(roll.found, key=lambda one: (one.host, one.pid))

    async def open(self, run_key: str, principal: str, thread_id: str, run_id: str = "") -> Publisher:
        """See `Bus`."""
        log = await self._here.open(run_key, principal, thread_id, run_id)
        self._sender.add(Run(run_key, principal, thread_id, run_id, self._address), log)
        return log

    async def find(self, run_key: str) -> Published | None:
        """See `Bus`."""
        here = await self._here.find(run_key)
        if here is not None:
            return here
        head = await self._head(run_key)
        if head is not None and not head.ended and await self._ask(run_key, head.run.address, ASK_SECONDS):
            head = await self._call(self._wire.find(run_key))
        if head is None:
            return None
        run = head.run
        return Published(run.run_key, run.principal, run.thread_id, run.run_id, head.first, head.next)

    async def read(self, run_key: str, after: int = -1) -> Reader | None:
        """See `Bus`."""
        if await self._here.find(run_key) is not None:
            return await self._here.read(run_key, after)
        head = await self._head(run_key)
        if head is None:
            return None
        async with self._following(head):
            if not (head.ended or self._follower.keeps(run_key)):  # its process knows, before anybody else leaves
                await self._ask(run_key, head.run.address, ASK_SECONDS, follow=True)
            return await self._follower.read(head, after)

    async def join(self, run_key: str, tell: Tell, *, watching: bool = False) -> Reader | None:
        """See `Bus`."""
        if await self._here.find(run_key) is not None:
            return await self._here.join(run_key, tell, watching=watching)
        head = await self._head(run_key)
        if head is None or head.ended:
            return None
        async with self._following(head):
            answer = await self._ask(run_key, head.run.address, ASK_SECONDS, follow=True, opening=-1, watching=watching)
            if answer is not None and answer.opening == NO_OPENING:
                return await self._follower.read(head, head.next - 1, watching=watching)
            if answer is not None and answer.opening != NOT_TO_BE_HAD:
                put = await self._call(self._wire.opening(run_key))
                if put is not None and (opening := opening_of(put[1])) is not None:
                    return await self._follower.join(head, opening, tell, watching=watching)
            self._follower.leave(head)
            return None

    @asynccontextmanager
    async def _following(self, head: Head) -> AsyncIterator[None]:
        """Withdraws, where its body fails, the word to the run's process that it is followed from here."""
        try:
            yield
        except BaseException:
            self._follower.leave(head)
            raise

    async def forget(self, principal: str, thread_id: str) -> None:
        """See `Bus`. What the wire doesn't take now, time forgets."""
        self._say("", Forgotten(principal, thread_id))
        await self._here.forget(principal, thread_id)
        with contextlib.suppress(Unavailable):
            await self._forget_sent(principal, thread_id)

    async def expire(self) -> None:
        """See `Bus`. What is to be done on the wire is done beside it."""
        await self._here.expire()
        if not self._started:
            return
        self._sender.expire()
        now = asyncio.get_running_loop().time()
        if now >= self._expires:
            self._expires = now + EXPIRE_SECONDS
            self._beside(self._call(self._wire.expire(), EXPIRE_SECONDS))

    def listen(self, hear: Hear) -> None:
        """See `Bus`."""
        self._here.listen(hear)
        self._hears.append(hear)

    def tell(self, signal: Signal) -> None:
        """See `Bus`."""
        self._here.tell(signal)
        if self._started:
            self._sender.tell("", Told(self._address, signal), now=signal.kind == "stop")

    # --- asking, and being told ---------------------------------------------------------------------------------------

    async def _head(self, run_key: str) -> Head | None:
        """Returns what is known of the run; if that is nothing, its process may not have sent it yet."""
        head = await self._call(self._wire.find(run_key))
        if head is None:
            await self._ask(run_key, "", UNKNOWN_SECONDS)
            head = await self._call(self._wire.find(run_key))
        return head

    async def _ask(
        self,
        run_key: str,
        address: str,
        seconds: float,
        *,
        follow: bool = False,
        opening: int | None = None,
        watching: bool = False,
    ) -> Answer | None:
        """Has the run's process send what it has: see `Ask`. None if it doesn't answer."""
        token = next(self._tokens)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked[token] = answer
        self._say(address, Ask(self._address, run_key, token, follow, opening, watching))
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            return None
        finally:
            del self._asked[token]

    def _say(self, address: str, word: Word) -> None:
        self._sender.tell(address, word, now=True)

    async def _call(self, call: Awaitable[T], seconds: float | None = None) -> T:
        try:
            async with asyncio.timeout(CALL_SECONDS if seconds is None else seconds):
                return await call
        except TimeoutError:
            raise Unavailable("The bus is not available.") from None

    def _heard(self, payload: bytes) -> None:
        for word in unpack(payload):
            self._hear(word)

    def _hear(self, word: Word) -> None:
        match word:
            case Ask():
                self._sender.asked(word)
            case Answer():
                answer = self._asked.get(word.token)
                if answer is not None and not answer.done():
                    answer.set_result(word)
            case Came():
                self._follower.came(word.run_key)
            case Opened():
                self._follower.opened(word.run_key)
            case Left() | Watches():
                self._sender.left(word)
            case Forgotten():
                self._beside(self._forget_here(word.principal, word.thread_id))
            case Who() | Here():
                self._call_roll(word)
            case Told():
                self._told(word)

    def _told(self, word: Told) -> None:
        for hear in self._hears if word.address != self._address else ():
            hear(word.signal)

    def _call_roll(self, word: Who | Here) -> None:
        if isinstance(word, Who):
            self._say(word.address, here(word.token))
        elif (roll := self._rolls.get(word.token)) is not None:
            roll.add(word)

    async def _forget_here(self, principal: str, thread_id: str) -> None:
        """Forgets the thread's runs here: another process has dropped them."""
        await self._here.forget(principal, thread_id)
        if self._sender.has_ended_run(principal, thread_id):  # which comes after that
            await self._forget_sent(principal, thread_id)

    async def _forget_sent(self, principal: str, thread_id: str) -> None:
        if self._sender.has_ended_run(principal, thread_id):
            await self._sender.flush(CALL_SECONDS)
        await self._call(self._wire.forget(principal, thread_id))

    def _beside(self, work: Awaitable[None]) -> None:
        """Does it while others go on. If it fails it is done another time, or time does it."""

        async def quietly() -> None:
            with contextlib.suppress(Unavailable):
                await work

        task = asyncio.create_task(quietly(), name="agui-gate bus")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
