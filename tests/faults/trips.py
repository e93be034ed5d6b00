"""A connection that is cut, stands still, or lies at one certain message: on the way there, or on the way back."""

import asyncio
import re
from typing import Literal

from tests.support.proxy import Proxy, passes

Lost = Literal["question", "answer"]


class Trip:
    """Cuts the connection of ``proxy`` whose message is the ``number``-th that ``pattern`` is found in. ``lost``: the
    message itself, which then never arrives; or what the server says to it. Counting begins with `__init__`.
    """

    def __init__(self, proxy: Proxy, number: int, lost: Lost, pattern: bytes = b"") -> None:
        self._left, self._lost, self._pattern = number, lost, re.compile(pattern)
        self._cut: int | None = None
        self.sprung = asyncio.Event()
        proxy.asked, proxy.answered = self._asked, self._answered

    async def _asked(self, connection: int, piece: bytes) -> None:
        if self._cut is not None or not self._pattern.search(piece):
            return
        self._left -= 1
        if self._left:
            return
        self._cut = connection
        if self._lost == "question":
            self.sprung.set()
            raise ConnectionResetError

    async def _answered(self, connection: int, piece: bytes) -> None:
        if connection == self._cut and not self.sprung.is_set():
            self.sprung.set()
            raise ConnectionResetError


class Hold:
    """Holds the first message to the server that ``pattern`` is found in. `let_go` sends it on."""

    def __init__(self, proxy: Proxy, pattern: bytes) -> None:
        self._proxy, self._pattern = proxy, re.compile(pattern)
        self.held, self._go = asyncio.Event(), asyncio.Event()
        proxy.asked = self._asked

    def let_go(self) -> None:
        """Send it on."""
        self._proxy.asked = passes
        self._go.set()

    async def _asked(self, connection: int, piece: bytes) -> None:
        if not self.held.is_set() and self._pattern.search(piece):
            self.held.set()
            await self._go.wait()


def refusal(state: str) -> bytes:
    """What PostgreSQL's protocol says of an error, by who goes on to take statements."""
    said = b"SERROR\0VERROR\0C%b\0Mserver conn crashed?\0\0" % state.encode()
    return b"E" + (len(said) + 4).to_bytes(4, "big") + said + b"Z\0\0\0\x05I"


class Answer:
    """Answers the first message to the server that ``pattern`` is found in by ``said``, in the server's place: what it
    says itself is lost. The message arrives, unless ``lost`` is "question".
    """

    def __init__(self, proxy: Proxy, pattern: bytes, said: bytes, lost: Lost) -> None:
        self._pattern, self._said, self._lost = re.compile(pattern), said, lost
        self._connection: int | None = None
        self.sprung = asyncio.Event()
        proxy.asked, proxy.answered = self._asked, self._answered

    async def _asked(self, connection: int, piece: bytes) -> bytes | None:
        if self._connection == connection and self.sprung.is_set():
            self._connection = -1  # it goes on as if nothing had been
        if self._connection is not None or not self._pattern.search(piece):
            return None
        self._connection = connection
        # An empty statement stands for what is lost: its answer is what is replaced.
        return b"Q\0\0\0\x06;\0" if self._lost == "question" else None

    async def _answered(self, connection: int, piece: bytes) -> bytes | None:
        if connection != self._connection:
            return None
        if self.sprung.is_set():
            return b""
        self.sprung.set()
        return self._said
