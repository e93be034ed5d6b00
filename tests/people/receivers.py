"""Receivers of webhooks for tests, on real sockets: healthy ones, and others that are not."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OLD = "whsec_" + "C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

Json = dict[str, Any]


class Received:
    """A request."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes, at: float) -> None:
        self.path, self.headers, self.body, self.at = path, headers, body, at

    @property
    def kind(self) -> str:
        """What it tells."""
        return str(self.json()["type"]).removeprefix("approval.")

    def json(self) -> Json:
        """Its body."""
        found: Json = json.loads(self.body)
        return found


class Receiver:
    """``answer`` is what it says, or a function that makes that; None: it never answers."""

    def __init__(self, answer: bytes | Callable[[Received], bytes | None] | None = b"HTTP/1.1 204 No Content\r\n\r\n"):
        self.answer = answer
        self.got: list[Received] = []
        self.port = 0
        self.news = asyncio.Condition()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/hook"

    def table(self, **more: Any) -> Json:
        """What the setting says of it."""
        return {"url": self.url, "secrets": [SECRET], "private": ["127.0.0.0/8"], **more}

    def kinds(self, approval_id: str | None = None) -> list[str]:
        """What it was told, in order."""
        return [one.kind for one in self.got if approval_id in (None, one.json()["data"]["approval_id"])]

    async def until(self, enough: Callable[[], bool]) -> None:
        """Waits for what it is told."""
        async with asyncio.timeout(20), self.news:
            await self.news.wait_for(enough)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.split("\r\n")
            headers = dict(
                line.lower().split(": ", 1) if "signature" not in line else line.split(": ", 1)
                for line in lines
                if line
            )
            body = await reader.readexactly(int(headers["content-length"]))
            got = Received(first.split(" ")[1], headers, body, asyncio.get_running_loop().time())
            answer = self.answer(got) if callable(self.answer) else self.answer
            async with self.news:
                self.got.append(got)
                self.news.notify_all()
            if answer is None:
                await reader.read()  # to the end of the connection
            else:
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving(receiver: Receiver) -> AsyncIterator[Receiver]:
    """Within: it listens."""
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
