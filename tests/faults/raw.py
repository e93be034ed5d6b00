"""A provider on a real socket that does what a fault says, byte by byte; then it passes requests on to the emulator.

What it passes on goes to the emulator's own socket as it came, so the emulator judges whether the thread is legal.
"""

import asyncio
import re
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from enum import Enum
from typing import NamedTuple
from urllib.parse import urlsplit


class Act(Enum):
    """What is done instead of sending bytes."""

    RESET = "reset"
    """TCP RST, as when a process or a router dies."""
    SILENCE = "silence"
    """Nothing more, until the client leaves."""
    END = "end"
    """The proper end of a chunked body."""


MAKING = "/v1/conversations"
"""Where the Responses API makes conversations."""

RESET, SILENCE, END = Act.RESET, Act.SILENCE, Act.END

Step = bytes | Act
Steps = Callable[[], Iterable[Step]]
"""What is done with one request. After the last step the connection is closed (FIN)."""


def reply(status: str, body: bytes = b"", kind: str = "application/json", **headers: str) -> list[Step]:
    """A whole reply; headers in Python's spelling (``retry_after="0"``)."""
    return [head(status, kind, content_length=str(len(body)), **headers) + body]


def chunked(*parts: Step, kind: str = "text/event-stream", **headers: str) -> list[Step]:
    """A successful reply whose bytes are chunks; without `END` its body never ends properly."""
    return [head("200 OK", kind, transfer_encoding="chunked", **headers), *(_chunk(part) for part in parts)]


def head(status: str, kind: str = "", **headers: str) -> bytes:
    """Status line and headers."""
    named = {"content-type": kind} | headers if kind else headers
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def _chunk(part: Step) -> Step:
    return b"%x\r\n%b\r\n" % (len(part), part) if isinstance(part, bytes) else part


class _Request(NamedTuple):
    head: bytes
    body: bytes

    @property
    def mark(self) -> str:
        """The mark of its conversation; `MAKING` if it asks for one to be made."""
        if self.head.startswith(b"POST " + MAKING.encode()):
            return MAKING
        found = re.search(rb"#\d+", self.body)
        return found[0].decode() if found else ""


class Played:
    """What happens to the requests of one conversation.

    ``turns`` counts them, ``taken`` the bytes that the client took of the fault's replies.
    """

    def __init__(self, steps: Steps, times: int) -> None:
        self.steps, self.left = steps, times
        self.turns = self.taken = 0


class RawProvider:
    """Knows conversations by a mark in what the person says, such as ``#17``; `MAKING` is for requests that make one.

    ``requests`` counts all requests.
    """

    def __init__(self, emulator: str = "") -> None:
        self._emulator = urlsplit(emulator)
        self._played: dict[str, Played] = {}
        self.requests = 0

    def play(self, mark: str, steps: Steps, times: int) -> Played:
        """Do this with the first requests of the conversation with this mark."""
        self._played[mark] = Played(steps, times)
        return self._played[mark]

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Listen on a loopback port; yields the address, such as `http://127.0.0.1:40123`."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request; every connection is closed after its reply.

        The system's own buffer is small, so that what is taken is what the client read, however busy the machine is.
        """
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        try:
            request = await _read_request(reader)
            self.requests += 1
            played = self._played.get(request.mark, Played(list, 0))
            played.turns += 1
            if played.left:
                played.left -= 1
                await _do(played, reader, writer)
            else:
                await self._pass_on(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left
        finally:
            writer.close()

    async def _pass_on(self, request: _Request, writer: asyncio.StreamWriter) -> None:
        answer, onward = await asyncio.open_connection(self._emulator.hostname, self._emulator.port)
        try:
            onward.write(request.head + b"connection: close\r\n\r\n" + request.body)
            while data := await answer.read(65536):
                writer.write(data)
                await writer.drain()
        finally:
            onward.close()


async def _do(played: Played, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for step in played.steps():
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
            played.taken += len(step)
        elif step is RESET:
            _reset(writer)
        elif step is SILENCE:
            await reader.read()
        else:
            writer.write(b"0\r\n\r\n")


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    """A request; its head without the header `Connection` and without the empty line."""
    lines = (await reader.readuntil(b"\r\n\r\n")).removesuffix(b"\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", lines)
    body = await reader.readexactly(int(length[1])) if length else b""
    return _Request(re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", lines), body)


def _reset(writer: asyncio.StreamWriter) -> None:
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
