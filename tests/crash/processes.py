"""Server processes that share one SQLite file and one provider, and are killed without warning."""

import asyncio
import atexit
import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from agui_gate_adapters.testkit import Emulator, serve
from tests.crash.nursery import Nursery, Replica, nursery
from tests.crash.server import Start
from tests.product.kit import TIMEOUT, Chat, Product, client_of

_numbers = count()


@cache
def _home() -> Nursery:
    """Where servers come from. It ends with the tests."""
    exits = ExitStack()
    folder = exits.enter_context(TemporaryDirectory(prefix="agui-gate-servers-"))
    atexit.register(exits.close)  # before the folder's own end, which would warn
    return exits.enter_context(nursery(Path(folder) / "log", module="tests.crash.server"))


class Server:
    """One process. `line` waits for the next thing it says."""

    def __init__(self, process: Replica, said: asyncio.StreamReader, product: Product) -> None:
        self.process, self._said, self.product = process, said, product

    def chat(self, other: Chat | None = None, **more: Any) -> Chat:
        """A new client, or a client of a dead server that goes on here."""
        chat = self.product.chat(**more)
        if other is not None:
            chat.thread_id, chat.messages, chat.streams = other.thread_id, other.messages, other.streams
            chat.tools, chat.extra = other.tools, other.extra
        return chat

    async def line(self) -> str:
        async with asyncio.timeout(TIMEOUT):
            return (await self._said.readline()).decode().strip()

    async def kill(self) -> None:
        """SIGKILL, and be sure that it is gone."""
        await self.process.kill()

    async def gone(self) -> None:
        """Wait until it has ended by itself, as at a failpoint."""
        await self.process.gone()

    async def rest(self) -> list[str]:
        """Everything else it said, after it was killed."""
        async with asyncio.timeout(TIMEOUT):
            return (await self._said.read()).decode().splitlines()


class Machine:
    """What outlives a process: the file, the provider and how it is spoken to, an HTTP client."""

    def __init__(self, store: str, provider: str, mode: str, emulator: Emulator, client: httpx2.AsyncClient) -> None:
        self.store, self._provider, self._mode = store, provider, mode
        self.emulator, self.client = emulator, client

    @asynccontextmanager
    async def server(self, *options: str, failpoint: str = "") -> AsyncIterator[Server]:
        """A running process; killed in the end, if it still lives."""
        pipe = _home().log.with_name(str(next(_numbers)))
        os.mkfifo(pipe)
        said = asyncio.StreamReader()
        end = os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb")
        loop = asyncio.get_running_loop()
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), end)
        server = None
        try:
            server = Server(self._start(pipe, options, failpoint), said, Product(self.emulator, None, "", self.client))
            server.product.url = server.process.url
            yield server
        finally:
            if server is not None:
                await server.kill()
            reading.close()

    def _start(self, said: Path, options: tuple[str, ...], failpoint: str) -> Replica:
        start = Start(
            store=self.store,
            provider=self._provider,
            mode=self._mode,
            options=options,
            said=str(said),
            failpoint=failpoint,
        )
        return _home().start(start)


@asynccontextmanager
async def machine(path: Path, script: object, mode: str, url: str = "") -> AsyncIterator[Machine]:
    """A file (or the store at ``url``), a provider with this script, and a client."""
    emulator = Emulator(script=script)
    async with serve(emulator) as provider, client_of() as client:
        yield Machine(url or f"sqlite:///{path}", provider, mode, emulator, client)
