"""A bus with a wire in between: the least that every bus does that isn't in this process.

What is said arrives later, in pieces, and as bytes. Whoever asks for something waits for the answer. Only the order
stays. What is at the other end is a `MemoryBus`.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from agui_gate.bus.base import Hear, Opening, Published, Publisher, Reader, Signal, Tell
from agui_gate.bus.memory import MemoryBus


async def wire() -> None:
    """The time that a message takes."""
    for _ in range(3):
        await asyncio.sleep(0)


class Given:
    """Messages that came over the wire."""

    def __init__(self, made: bytes) -> None:
        self._made = made

    def __call__(self) -> msgspec.Raw:
        return msgspec.Raw(self._made)

    async def prepare(self) -> None:
        return


class Sender:
    """A `Publisher` that collects what is said, and sends it from a task of its own."""

    def __init__(self, there: Publisher) -> None:
        self._there = there
        self._said: list[Callable[[], None]] = []
        self._more = asyncio.Event()
        self.task = asyncio.create_task(self._send())
        self._ended = False

    followed_elsewhere = False

    def append(self, frame: bytes) -> None:
        self._say(partial(self._there.append, bytes(frame)))

    def opened(self, opening: Opening) -> None:
        self._say(partial(self._there.opened, opening))

    def end(self) -> None:
        self._ended = True
        self._more.set()

    def _say(self, what: Callable[[], None]) -> None:
        self._said.append(what)
        self._more.set()

    async def _send(self) -> None:
        while self._said or not self._ended:
            await self._more.wait()
            self._more.clear()
            await wire()
            said, self._said = self._said, []
            for each in said:
                each()
        self._there.end()


class DistantBus:
    """A `Bus`. ``there``: what is at the other end, if somebody else is there too."""

    def __init__(self, there: MemoryBus | None = None, **more: Any) -> None:
        self.there = there or MemoryBus(**more)
        self._senders: set[Sender] = set()
        self._signals: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await wire()

    async def aclose(self) -> None:
        for sender in self._senders:
            sender.end()
        await asyncio.gather(*(sender.task for sender in self._senders), *self._signals)

    async def open(self, run_key: str, principal: str, thread_id: str, run_id: str = "") -> Publisher:
        await wire()
        sender = Sender(await self.there.open(run_key, principal, thread_id, run_id))
        self._senders.add(sender)
        return sender

    async def find(self, run_key: str) -> Published | None:
        await wire()
        return await self.there.find(run_key)

    async def read(self, run_key: str, after: int = -1) -> Reader | None:
        await wire()
        return await self.there.read(run_key, after)

    async def join(self, run_key: str, tell: Tell, *, watching: bool = False) -> Reader | None:
        def over_the_wire(opening: Opening) -> bytes:
            state = msgspec.Raw(msgspec.json.encode(opening.state))
            return tell(Opening(opening.seq, Given(bytes(opening.messages())), state))

        await wire()
        return await self.there.join(run_key, over_the_wire, watching=watching)

    async def forget(self, principal: str, thread_id: str) -> None:
        await wire()
        await self.there.forget(principal, thread_id)

    async def expire(self) -> None:
        await self.there.expire()

    def listen(self, hear: Hear) -> None:
        self.there.listen(hear)

    def tell(self, signal: Signal) -> None:
        async def arrive() -> None:
            await wire()
            self.there.tell(signal)

        task = asyncio.create_task(arrive())
        self._signals.add(task)
        task.add_done_callback(self._signals.discard)
