"""The processes of a soak: PostgreSQL, Valkey, the provider, two replicas at ports that stay theirs, a receiver of
webhooks, and a proxy in front of the replicas."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import msgspec

from examples.replicas.proxy import serving
from tests.support.servers import Postgres, Valkey, free_port

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120.0
STOP_SECONDS = 60.0
LOOK = 0.2
PEOPLE = tuple(f"person-{n}" for n in range(6))
SCRIPT = {
    "turns": [
        {"when": {"user": "#pay", "has_output_for": "refund"}, "output": [{"type": "message", "text": "Refunded."}]},
        {"when": {"user": "#send", "has_output_for": "ship"}, "output": [{"type": "message", "text": "Shipped."}]},
        {"when": {"user": "#see", "has_output_for": "look"}, "output": [{"type": "message", "text": "There."}]},
        {
            "when": {"user": "#pay"},
            "output": [{"type": "function_call", "name": "refund", "arguments": {"order_id": "A1"}}],
        },
        {
            "when": {"user": "#send"},
            "output": [{"type": "function_call", "name": "ship", "arguments": {"order_id": "A1"}}],
        },
        {
            "when": {"user": "#see"},
            "output": [{"type": "function_call", "name": "look", "arguments": {"order_id": "A1"}}],
        },
        {
            "when": {"user": "#slow"},
            "output": [{"type": "message", "deltas": ["word "] * 60}],
            "fault": {"kind": "slow", "ms": 50, "times": 0},
        },
        {"output": [{"type": "message", "deltas": ["A few ", "words ", "and no ", "more."]}]},
    ]
}
"""What the model does, by what is said."""
for _turn in SCRIPT["turns"]:
    _turn["repeat"] = True  # type: ignore[index]  # each of them is a table


class Process:
    """A command of ours, which may be started again. ``log``: what it says, over all its lives."""

    def __init__(self, log: Path, arguments: list[str], environment: dict[str, str]) -> None:
        self.log, self._arguments, self._environment = log, arguments, environment
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    @property
    def pid(self) -> int:
        """Its process's number."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether there is a process, and it has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it."""
        self.starts += 1
        with self.log.open("ab") as log:
            command = [sys.executable, "-c", "from agui_gate.cli import main; main()", *self._arguments]
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    async def port(self) -> int:
        """The port that it says it serves at."""
        async with asyncio.timeout(START_SECONDS):
            while self.runs:
                if found := re.search(r"http://127\.0\.0\.1:(\d+)\D", self.log.read_text()):
                    return int(found[1])
                await asyncio.sleep(LOOK)  # it is another process
        raise RuntimeError(f"{self._arguments[0]} did not start:\n{self.log.read_text()[-2000:]}")

    async def end(self, number: signal.Signals) -> None:
        """Send it a signal, and wait until it is gone."""
        if self.runs:
            assert self._process is not None
            self._process.send_signal(number)
            try:
                await asyncio.to_thread(self._process.wait, STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                await asyncio.to_thread(self._process.wait)


class Receiver:
    """Takes webhooks, and refuses each fiftieth. ``taken``: how many of each kind, those that came twice once."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.requests = 0
        self._seen: dict[str, None] = {}

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: requests, until it is closed."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                self.requests += 1
                refused = self.requests % 50 == 0
                if not refused:
                    self._take(head, body)
                status = b"503 Service Unavailable" if refused else b"204 No Content"
                writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _take(self, head: bytes, body: bytes) -> None:
        found = re.search(rb"(?i)webhook-id: (\S+)", head)
        name = found[1].decode() if found else ""
        if name not in self._seen:
            self.taken[msgspec.json.decode(body)["type"]] += 1
        self._seen[name] = None
        while len(self._seen) > 10_000:
            del self._seen[next(iter(self._seen))]


class Fleet:
    """All of them. ``url`` is the proxy's address. The first replica lives as long as the fleet."""

    def __init__(self, postgres: Postgres, valkey: Valkey, replicas: list[Process], ports: list[int]) -> None:
        self.postgres, self.valkey, self.replicas, self.ports = postgres, valkey, replicas, ports
        self.receiver = Receiver()
        self.url = ""

    def at(self, replica: int) -> str:
        """The address of one replica itself."""
        return f"http://127.0.0.1:{self.ports[replica]}"

    async def ready(self, replica: int, client: httpx2.AsyncClient) -> None:
        """Wait until a replica is ready. Raises `RuntimeError` with its log if it ends instead."""
        async with asyncio.timeout(START_SECONDS):
            while self.replicas[replica].runs:
                try:
                    if (await client.get(f"{self.at(replica)}/readyz")).status_code == 200:
                        return
                except httpx2.HTTPError:
                    pass
                await asyncio.sleep(LOOK)
        raise RuntimeError(f"a replica did not start:\n{self.replicas[replica].log.read_text()[-2000:]}")


def token(person: str) -> dict[str, str]:
    """The headers of a person's request."""
    return {"authorization": f"Bearer token-of-{person}-{'x' * 32}"}


@asynccontextmanager
async def fleet(folder: Path, client: httpx2.AsyncClient) -> AsyncIterator[Fleet]:
    """A fleet at work. Its files are in ``folder``."""
    postgres = Postgres(autovacuum="on", autovacuum_naptime="15s", max_wal_size="64MB", checkpoint_timeout="60s")
    valkey = Valkey()
    started: list[Process] = []
    try:
        postgres.start()
        valkey.start()
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AGUI_GATE", "OPENAI"))}
        (folder / "script.json").write_bytes(msgspec.json.encode(SCRIPT))
        provider = Process(
            folder / "provider.log", ["emulator", "--port", "0", "--script", str(folder / "script.json")], clean
        )
        started.append(provider)
        provider.start()
        ports = [free_port(), free_port()]
        found = Fleet(postgres, valkey, started, ports)
        receiver = await asyncio.start_server(found.receiver, "127.0.0.1", 0)
        hook = receiver.sockets[0].getsockname()[1]
        environment = clean | _settings(folder, postgres, valkey, hook)
        environment |= {"OPENAI_BASE_URL": f"http://127.0.0.1:{await provider.port()}/v1", "OPENAI_API_KEY": "any"}
        found.replicas = [
            Process(folder / f"replica-{n}.log", ["serve", "tests.soak.replica:app", "--port", str(port)], environment)
            for n, port in enumerate(ports, start=1)
        ]
        started += found.replicas
        for number, replica in enumerate(found.replicas):
            replica.start()
            await found.ready(number, client)
        async with receiver, serving(ports) as (front, _):
            found.url = f"http://127.0.0.1:{front}"
            yield found
    finally:
        for process in reversed(started):
            await process.end(signal.SIGTERM)
        valkey.close()
        postgres.close()


def _settings(folder: Path, postgres: Postgres, valkey: Valkey, hook: int) -> dict[str, str]:
    """The settings of a replica: everything is on that keeps something."""
    (folder / "webhooks.json").write_bytes(
        msgspec.json.encode(
            {"desk": {"url": f"http://127.0.0.1:{hook}/", "secrets": ["whsec_" + "A" * 32], "private": ["127.0.0.0/8"]}}
        )
    )
    tokens = ",".join(f"{person}:{token(person)['authorization'].removeprefix('Bearer ')}" for person in PEOPLE)
    return {
        "AGUI_GATE_STORE": postgres.url("postgres"),
        "AGUI_GATE_BUS": valkey.url,
        "AGUI_GATE_TOKENS": tokens,
        "AGUI_GATE_WEBHOOKS": str(folder / "webhooks.json"),
        "AGUI_GATE_METRICS": "on",
        "AGUI_GATE_TRACES": "true",
        "AGUI_GATE_USAGE": "true",
        "AGUI_GATE_LOG_PRINCIPALS": "names",
        "AGUI_GATE_LOG_FORMAT": "json",
        "AGUI_GATE_EVENTS_SECONDS": "60",  # what fills up in its time should do so in the first minutes
        "AGUI_GATE_KEPT_BYTES": str(4 << 20),
        "SOAK_EFFECTS": str(folder / "effects"),
    }
