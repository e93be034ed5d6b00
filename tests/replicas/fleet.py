"""Replicas: server processes of one application on one store, each served as `agui-gate serve` does it.

A replica is forked from the test's process, so agents, tools and settings that a test makes are there. What would tie
it to the test is taken from it: its files and sockets. The application is made in the replica, never before: a store
and its leases belong to one process. Its tools do their work in the test (`remote`).
"""

import asyncio
import gc
import multiprocessing
import os
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from agui_gate import Agent
from agui_gate.cli.server.uvicorn_server import Server, configure, serve_forever
from agui_gate.http.app import create_app
from agui_gate.stores import lease
from tests.replicas.balancer import Balancer, balancing
from tests.replicas.remote import at_home, send_away
from tests.support import patience

START_SECONDS = 60.0
STOP_SECONDS = 60.0


@dataclass
class App:
    """What `create_app` will be called with, in each replica. ``apart``: each replica is on a machine of its own, so
    that none of the others can see whether it lives.
    """

    agents: Sequence[Agent]
    options: dict[str, Any]
    apart: bool = False

    def create(self) -> Any:
        """The application."""
        return create_app(*self.agents, **self.options)


def app_of(*agents: Agent, **options: Any) -> App:
    """As `create_app`, for later: it takes its place in a test."""
    return App(agents, options)


@dataclass
class Replica:
    """One process. ``url`` is its own address. ``life``: a pipe that ends with it."""

    process: BaseProcess
    port: int
    life: int
    url: str = field(init=False)

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{self.port}"

    def pause(self) -> None:
        """Stop it where it is, as a machine does that is out of memory or asleep."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on from there."""
        self._signal(signal.SIGCONT)

    async def ready(self) -> None:
        """Wait until it accepts connections."""
        assert await _readable(self.life, START_SECONDS)
        assert os.read(self.life, 1) == b"+", "a replica did not start"

    async def remove(self) -> None:
        """Kill it if it still lives, and forget it."""
        await self.kill()
        os.close(self.life)
        self.process.close()

    async def kill(self) -> None:
        """End it without a warning."""
        self._signal(signal.SIGKILL)
        assert await self._ended()

    async def stop(self) -> None:
        """End it in good order. Raises `AssertionError` where it doesn't end so."""
        if self.process.exitcode is None:
            self._signal(signal.SIGTERM)
            if not await self._ended():
                await self.kill()
                raise AssertionError("a replica did not end when it was told to")
            assert self.process.exitcode == 0

    def _signal(self, number: signal.Signals) -> None:
        if self.process.pid is not None and self.process.exitcode is None:
            os.kill(self.process.pid, number)

    async def _ended(self) -> bool:
        """Whether it is gone within `STOP_SECONDS`."""
        if await _readable(self.life, STOP_SECONDS):
            self.process.join(STOP_SECONDS)  # it is about to be gone
        return self.process.exitcode is not None


@dataclass
class Fleet:
    """Replicas behind a balancer, at whose ``url`` every request is another replica's."""

    replicas: list[Replica]
    balancer: Balancer

    @property
    def url(self) -> str:
        return self.balancer.url


@asynccontextmanager
async def fleet(app: App, count: int) -> AsyncIterator[Fleet]:
    """So many replicas of ``app``. In the end those that still live are ended in good order, together."""
    async with AsyncExitStack() as exits:
        tools = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="fleet-"))) / "tools"
        await exits.enter_async_context(at_home(app.agents, tools))
        replicas = []
        for _ in range(count):
            replicas.append(spawn(app, tools))
            exits.push_async_callback(replicas[-1].remove)
        await asyncio.gather(*(one.ready() for one in replicas))
        exits.push_async_callback(_stop_all, replicas)
        balancer = await exits.enter_async_context(balancing([one.port for one in replicas]))
        yield Fleet(replicas, balancer)


def spawn(app: App, tools: Path) -> Replica:
    """A new process, which is about to serve."""
    life, lives = os.pipe()
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as sock:
        process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(app, tools, sock, lives), daemon=True
        )
        process.start()
        os.close(lives)
        return Replica(process, sock.getsockname()[1], life)


async def _stop_all(replicas: Sequence[Replica]) -> None:
    for one in replicas:
        one.go_on()
    await asyncio.gather(*(one.stop() for one in replicas))


async def _readable(number: int, seconds: float) -> bool:
    """Whether there is something to be read, or the end, within so many seconds."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(number, ready.set)
    try:
        async with asyncio.timeout(seconds):
            return await ready.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(number)


# --- in a replica ----------------------------------------------------------------------------------------------------
def _serve(app: App, tools: Path, sock: socket.socket, lives: int) -> None:
    """A replica, from its first moment to its last."""
    gc.freeze()  # all of it is the test's
    _let_go({0, 1, 2, sock.fileno(), lives})
    signal.set_wakeup_fd(-1)
    asyncio._set_running_loop(None)
    if app.apart:
        lease._machine = lambda: f"machine of {os.getpid()}"
    patience.with_answers()
    patience.with_locks()
    patience.with_orphans()
    patience.at_the_end()
    send_away(app.agents, tools)
    served = app.create()
    served.state.drain_seconds = 0.0  # nobody waits for what a test has left
    server = Server(configure(served), on_started=lambda: _say(lives))
    serve_forever(server, sock)


def _say(lives: int) -> None:
    os.write(lives, b"+")


def _let_go(kept: Collection[int]) -> None:
    """Put /dev/null in the place of everything that was open. A socket that two processes have open never ends.

    The numbers stay taken: the test's objects would close what comes to have them.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir("/dev/fd")):
        if number not in {*kept, null}:
            try:
                os.fstat(number)
            except OSError:
                continue  # the listing's own
            os.dup2(null, number)
