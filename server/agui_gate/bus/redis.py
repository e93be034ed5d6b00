"""The wire over `redis://` and `rediss://`: Valkey, or Redis from 6.2 on.

Theory of operation
-------------------
A run's frames are a stream, with an entry for each batch. The entry's id is explicit: the number of the frame after its
last one, and how many there are (``25-5``: frames 20 to 24). So a batch that comes twice is refused the second time,
the frames from 20 on are the range from ``21``, and those before 20 go by ``MINID 21``. Beside the stream is a string
that says whose run it is, how far it came, and whether it has ended. Runs of a thread that have ended are in a sorted
set, by when they go.

Every key expires by itself, also if its process dies, and also if somebody empties the server in between. Batches go
together with their notes in one transaction and one round trip, so who hears a note finds the frames. Notes are
messages of pub/sub, which a connection of its own hears. When nothing came for a while it asks the server for an
answer, and begins again when none comes.

Nothing here has to last: a server that drops the oldest keys when it is full (``maxmemory-policy allkeys-lru``) is
right.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import structlog

from agui_gate.bus.redis_client import SOCKET_SECONDS, away, client_of, refusal, without_secrets
from agui_gate.bus.replicas.wire import Batch, Head, Note, Piece, Run, Said, Wanted
from agui_gate.concurrency import stop_tasks
from agui_gate.errors import Unusable

PREFIX = b"agui-gate:"
RUNNING_SECONDS = 24 * 3600
"""Seconds for which a run that says nothing is kept: its process may be dead."""
OPENING_SECONDS = 60
ENDED_SECONDS = 10
"""Seconds for which a run that has ended is kept at least, so that those who read it come to its end."""
PIECES = 128
"""The most that one read gives of one run."""
QUIET_SECONDS = 10.0
"""Seconds without a note after which the server is asked whether it is there; it has as long again to answer."""
BACKOFF = (0.1, 2.0)
"""Seconds between tries to hear again: the first, and the longest."""

Hear = Callable[[bytes], None]
Again = Callable[[], None]

log = structlog.get_logger("agui_gate.bus")


class _Known(msgspec.Struct, array_like=True):
    """The fields that are kept beside a run's frames."""

    run: Run
    next: int
    ended: bool


class RedisWire:
    """See `Wire`. ``kept_seconds``: how long runs stay that have ended.

    Raises `Unusable` for a URL that isn't one, and where the package is missing. No message has the URL's
    password.
    """

    def __init__(self, url: str, kept_seconds: float) -> None:
        self.url, self._where = url, without_secrets(url)
        self._ended = max(ENDED_SECONDS, math.ceil(kept_seconds))
        self._client, self._login = client_of(url, self._where)
        self._hearing: asyncio.Task[None] | None = None

    async def start(self, address: str, hear: Hear, again: Again) -> None:
        """See `Wire`."""
        from redis.exceptions import RedisError

        try:
            await self._try_out()
            hearing = _Hearing(self._client, self._where, address, hear, again)
            self._hearing = asyncio.create_task(hearing.run(), name="agui-gate bus")
            async with asyncio.timeout(SOCKET_SECONDS):
                await hearing.begun
        except (RedisError, OSError) as error:
            await self.aclose()
            raise Unusable(refusal(self._where, error)) from None

    def prepare_login(self, url: str) -> Callable[[], None]:
        """See `SharedBus`."""
        _, login = client_of(url, self._where)

        def change() -> None:
            self.url, self._login.words = url, login.words

        return change

    async def aclose(self) -> None:
        """See `Wire`."""
        hearing, self._hearing = self._hearing, None
        if hearing is not None:
            await stop_tasks([hearing])
        await self._client.aclose()

    # --- frames

    async def send(self, batches: Sequence[Batch], notes: Sequence[Note]) -> None:
        """See `Wire`."""
        async with self._together() as pipe:
            for batch in batches:
                self._keep(pipe, batch)
            for note in notes:
                pipe.publish(_channel(note.to), note.payload)
            said = await pipe.execute(raise_on_error=False)
        for error in said:
            # That the id isn't new means that this very batch came before: a run has one publisher.
            if isinstance(error, Exception) and "equal or smaller" not in str(error):
                raise away(error)

    def _keep(self, pipe: Any, batch: Batch) -> None:
        key, seconds = batch.run.run_key, self._ended if batch.ended else RUNNING_SECONDS
        if batch.next > batch.first:
            number = f"{batch.next}-{batch.next - batch.first}"
            pipe.xadd(_frames(key), {b"d": batch.data}, id=number, minid=batch.keep + 1, approximate=False)
        pipe.expire(_frames(key), seconds)
        pipe.set(_run(key), msgspec.json.encode(_Known(batch.run, batch.next, batch.ended)), ex=seconds)
        if batch.ended:
            thread, now = _thread(batch.run.principal, batch.run.thread_id), time.time()
            pipe.zremrangebyscore(thread, 0, now)
            pipe.zadd(thread, {key.encode(): now + seconds})
            pipe.expire(thread, seconds)

    async def find(self, run_key: str) -> Head | None:
        """See `Wire`."""
        async with self._together() as pipe:
            pipe.get(_run(run_key))
            pipe.xrange(_frames(run_key), count=1)
            known, oldest = await pipe.execute()
        if known is None:
            return None
        kept = msgspec.json.decode(known, type=_Known)
        first = _piece(*oldest[0]).first if oldest else kept.next
        return Head(kept.run, first, kept.next, kept.ended)

    async def read(self, wanted: Sequence[Wanted]) -> Sequence[Said | None]:
        """See `Wire`."""
        async with self._together() as pipe:
            for run_key, seq in wanted:
                pipe.get(_run(run_key))
                pipe.xrange(_frames(run_key), min=seq + 1, count=PIECES)
            found = await pipe.execute()
        return [_said(known, pieces) for known, pieces in zip(found[::2], found[1::2], strict=True)]

    async def put_opening(self, run_key: str, seq: int, data: bytes) -> None:
        """See `Wire`."""
        async with self._together() as pipe:
            pipe.set(_opening(run_key), b"%d\n%b" % (seq, data), ex=OPENING_SECONDS)
            await pipe.execute()

    async def opening(self, run_key: str) -> tuple[int, bytes] | None:
        """See `Wire`."""
        async with self._together() as pipe:
            pipe.get(_opening(run_key))
            (found,) = await pipe.execute()
        if found is None:
            return None
        seq, _, data = found.partition(b"\n")
        return int(seq), data

    async def forget(self, principal: str, thread_id: str) -> None:
        """See `Wire`."""
        thread = _thread(principal, thread_id)
        async with self._together() as pipe:
            pipe.zrange(thread, 0, -1)
            (ended,) = await pipe.execute()
            if ended:
                for key in map(bytes.decode, ended):
                    pipe.delete(_run(key), _frames(key), _opening(key))
                pipe.zrem(thread, *ended)
                await pipe.execute()

    async def expire(self) -> None:
        """See `Wire`. The server does that by itself."""

    async def count_listeners(self) -> int | None:
        """Returns how many processes hear notes now; None where the URL's user may not ask. Raises `Unavailable`."""
        from redis.exceptions import NoPermissionError, RedisError

        try:
            ((_, count),) = await self._client.pubsub_numsub(_channel(""))
        except NoPermissionError:
            return None
        except (RedisError, OSError) as error:
            await _leave_idle(self._client)
            raise away(error) from error
        return int(count)

    # --- the connection

    @asynccontextmanager
    async def _together(self) -> AsyncIterator[Any]:
        """Commands that are sent together, and done with nobody in between. Raises `Unavailable`."""
        from redis.exceptions import RedisError, ResponseError

        try:
            async with self._client.pipeline(transaction=True) as pipe:
                yield pipe
        except (RedisError, OSError) as error:
            if not isinstance(error, ResponseError):
                await _leave_idle(self._client)
            raise away(error) from error

    async def _try_out(self) -> None:
        """Does once what is needed later, with several keys at once as no cluster does. Raises what the server says."""
        async with self._client.pipeline(transaction=True) as pipe:
            pipe.set(PREFIX + b"try", b"", ex=1)
            pipe.xtrim(PREFIX + b"none", minid=1)
            pipe.publish(_channel("nobody"), b"")
            await pipe.execute()


class _Hearing:
    """Hears notes, over one connection after the other. ``begun`` is done once the first one hears, or failed."""

    def __init__(self, client: Any, where: str, address: str, hear: Hear, again: Again) -> None:
        self._client, self._where = client, where
        self._channels = [_channel(""), _channel(address)]
        self._hear, self._again = hear, again
        self._wait = BACKOFF[0]
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Goes on until cancelled, or until the first connection fails."""
        while True:
            problem = await self._lost()
            if not self.begun.done():
                self.begun.set_exception(problem)
                return
            log.warning("bus_away", bus=self._where, error=type(problem).__name__)
            await asyncio.sleep(self._wait)
            self._wait = min(2 * self._wait, BACKOFF[1])

    async def _lost(self) -> Exception:
        """Hears until the connection is lost, and why it was."""
        from redis.exceptions import RedisError

        try:
            async with self._client.pubsub() as heard:
                await heard.subscribe(*self._channels)
                while await self._one(heard) or await self._answers(heard):
                    pass
        except (RedisError, OSError) as error:
            problem: Exception = error
        else:
            problem = TimeoutError()
        await _leave_idle(self._client)
        return problem

    async def _one(self, heard: Any) -> bool:
        """Returns the next thing that is heard; False if nothing was, for a while."""
        note = await heard.get_message(timeout=QUIET_SECONDS)
        if note is not None and note["type"] == "message":
            self._hear(note["data"])
        elif note is not None and note["type"] == "subscribe" and note["channel"] == self._channels[-1]:
            self._heard()
        return note is not None

    async def _answers(self, heard: Any) -> bool:
        """Returns whether the server is there."""
        await heard.ping()
        return await self._one(heard)

    def _heard(self) -> None:
        """Notes that notes are heard from now on."""
        self._wait = BACKOFF[0]
        if self.begun.done():
            log.info("bus_back", bus=self._where)
            self._again()
        else:
            self.begun.set_result(None)


async def _leave_idle(client: Any) -> None:
    """Closes the connections that nobody uses: where one is lost, they are too."""
    await client.connection_pool.disconnect(inuse_connections=False)


# --- keys and what is in them


def _run(run_key: str) -> bytes:
    return PREFIX + b"run:" + run_key.encode()


def _frames(run_key: str) -> bytes:
    return PREFIX + b"frames:" + run_key.encode()


def _opening(run_key: str) -> bytes:
    return PREFIX + b"opening:" + run_key.encode()


def _thread(principal: str, thread_id: str) -> bytes:
    return PREFIX + b"ended:" + msgspec.json.encode([principal, thread_id])


def _channel(address: str) -> bytes:
    return PREFIX + (b"to:" + address.encode() if address else b"all")


def _piece(number: bytes, fields: dict[bytes, bytes]) -> Piece:
    after, _, count = number.partition(b"-")
    return Piece(int(after) - int(count), fields[b"d"])


def _said(known: bytes | None, entries: Sequence[tuple[bytes, dict[bytes, bytes]]]) -> Said | None:
    if known is None:
        return None
    kept = msgspec.json.decode(known, type=_Known)
    return Said([_piece(*entry) for entry in entries], kept.next, kept.ended)
