"""Server processes that share one SQLite file and one provider, and are killed without warning."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import TIMEOUT, Chat, Product, client_of

ROOT = Path(__file__).resolve().parents[2]


class Server:
    """One process. `line` waits for the next thing it says."""

    def __init__(self, process: asyncio.subprocess.Process, product: Product) -> None:
        self.process, self.product = process, product

    def chat(self, other: Chat | None = None, **more: Any) -> Chat:
        """A new client, or a client of a dead server that goes on here."""
        chat = self.product.chat(**more)
        if other is not None:
            chat.thread_id, chat.messages, chat.streams = other.thread_id, other.messages, other.streams
            chat.tools, chat.extra = other.tools, other.extra
        return chat

    async def line(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(TIMEOUT):
            return (await self.process.stdout.readline()).decode().strip()

    async def kill(self) -> None:
        """SIGKILL, and be sure that it is gone."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        async with asyncio.timeout(TIMEOUT):
            await self.process.wait()

    async def rest(self) -> list[str]:
        """Everything else it said, after it was killed."""
        assert self.process.stdout is not None
        async with asyncio.timeout(TIMEOUT):
            return (await self.process.stdout.read()).decode().splitlines()


class Machine:
    """What outlives a process: the file, the provider and how it is spoken to, an HTTP client."""

    def __init__(self, store: str, provider: str, mode: str, emulator: Emulator, client: httpx2.AsyncClient) -> None:
        self.store, self._arguments = store, (store, provider, mode)
        self.emulator, self.client = emulator, client

    @asynccontextmanager
    async def server(self, *options: str) -> AsyncIterator[Server]:
        """A running process; killed in the end, if it still lives."""
        command = (sys.executable, "-m", "tests.crash.server", *self._arguments, *options)
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
        server = Server(process, Product(self.emulator, None, "", self.client))
        try:
            word, port = (await server.line()).split()
            assert word == "port"
            server.product.url = f"http://127.0.0.1:{port}"
            yield server
        finally:
            await server.kill()


@asynccontextmanager
async def machine(path: Path, script: object, mode: str) -> AsyncIterator[Machine]:
    """A file, a provider with this script, and a client."""
    emulator = Emulator(script=script)
    async with serve(emulator) as provider, client_of() as client:
        yield Machine(f"sqlite:///{path}", provider, mode, emulator, client)
