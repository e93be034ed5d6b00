"""Servers and commands of this tree, and of the version whose wheel is kept, as processes of their own on one store."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx2

from agui_gate_adapters.testkit import Emulator, serve
from tests.cli.support import PROGRAM, environment
from tests.crash.world import orders_of, script
from tests.product.kit import TIMEOUT, Chat, Product, client_of
from tests.product.shop import Item

Json = dict[str, Any]
Release = Literal["older", "newer"]
HERE = Path(__file__).parent
KEY = "the key of the trail that both versions sign"
AT = re.compile(r"is up at (http://\S+)")


class Server(Product):
    """A process that serves `shop`."""

    def __init__(self, ground: "Ground", process: "subprocess.Popen[str]", log: Path) -> None:
        super().__init__(ground.emulator, None, "", ground.client)
        self.process, self.log = process, log

    async def begin(self) -> None:
        """Waits until it takes requests."""
        said: list[str] = []
        while not (found := AT.search(said[-1] if said else "")):
            async with asyncio.timeout(TIMEOUT):
                said.append(await asyncio.to_thread(self._line))
            assert said[-1], f"it doesn't start: {''.join(said)}{self.log.read_text()}"
        self.url = found[1]

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    async def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Sends it that signal, and waits until it is gone."""
        self.process.send_signal(number)
        code = await asyncio.to_thread(self.process.wait, TIMEOUT)
        assert code == (-number if number == signal.SIGKILL else 0), self.log.read_text()

    async def ready(self) -> int:
        """The status of `/readyz`."""
        return (await self.client.get(f"{self.url}/readyz")).status_code

    async def asks(self, order: str, chat: Chat | None = None) -> tuple[Chat, str]:
        """A thread of ada's in which a call waits for somebody: its client, and the approval's id."""
        chat = moved(chat, self) if chat else self.chat(headers=as_("ada"))
        (interrupt,) = (await chat.say(f"order {order}")).interrupts
        return chat, interrupt["id"]

    async def answers(self, name: str, approval_id: str, payload: Json) -> Json:
        """What somebody is told who decides."""
        return await self.decide(approval_id, payload, as_(name))

    async def state(self, approval_id: str) -> str:
        """Of an approval of ada's."""
        record: Json = await self.get(f"/approvals/{approval_id}", as_("ada"))
        return str(record["state"])


@dataclass
class Ground:
    """A store at ``url``, a provider, and what was done by whom. ``site``: where the older version is."""

    site: Path
    folder: Path
    url: str
    bus: str | None
    provider: str
    emulator: Emulator
    client: httpx2.AsyncClient
    servers: list[Server] = field(default_factory=list)

    def __post_init__(self) -> None:
        os.mkfifo(self.folder / "door")

    async def server(self, release: Release) -> Server:
        """One more, which takes requests."""
        log = self.folder / f"{release} {len(self.servers)}.log"
        with log.open("w") as errors:
            process = self._start(release, "serve", "shop:app", "--port", "0", stderr=errors)
        server = Server(self, process, log)
        self.servers.append(server)
        await server.begin()
        return server

    async def command(self, release: Release, *words: str) -> tuple[int, str]:
        """The exit code of a command on the store, and all that it says."""
        process = self._start(release, *words, stderr=subprocess.STDOUT)
        said, _ = await asyncio.to_thread(process.communicate, timeout=TIMEOUT)
        return process.returncode, said

    def _start(self, release: Release, *words: str, stderr: Any) -> "subprocess.Popen[str]":
        path = (self.site, HERE) if release == "older" else (HERE,)
        env = environment(
            PYTHONPATH=os.pathsep.join(map(str, path)),
            AGUI_GATE_STORE=self.url,
            AGUI_GATE_AUDIT_KEY=KEY,
            AGUI_GATE_USAGE="on",
            AGUI_GATE_BUDGETS="principal:1000000",
            **({"AGUI_GATE_BUS": self.bus} if self.bus else {}),
            PROVIDER=self.provider,
            **{name.upper(): str(self.folder / name) for name in ("effects", "notices", "door")},
        )
        command = [sys.executable, "-c", PROGRAM, *words]
        return subprocess.Popen(command, cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=stderr, text=True)

    def ran(self) -> Counter[str]:
        """How often each order took effect."""
        return Counter(line["order"] for line in self._lines("effects"))

    def told(self, kind: str) -> set[str]:
        """Of which approvals somebody was told that."""
        return {line["approval"] for line in self._lines("notices") if line["kind"] == kind}

    def open_door(self) -> None:
        """Lets one call of `wait` go on."""
        (self.folder / "door").write_bytes(b"")

    def _lines(self, name: str) -> list[Json]:
        file = self.folder / name
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    async def until_told(self, *approvals: str) -> None:
        """Waits until somebody was told that each of these was asked, and decided."""
        async with asyncio.timeout(TIMEOUT):
            while not set(approvals) <= self.told("asked") & self.told("decided"):
                await self.servers[-1].ready()

    async def until_ran(self, order: str) -> None:
        """Waits until that order took effect."""
        async with asyncio.timeout(TIMEOUT):
            while order not in self.ran():
                await self.servers[0].ready()


def as_(name: str) -> dict[str, str]:
    """Whose request it is."""
    return {"authorization": f"Bearer {name}"}


def moved(chat: Chat, p: Product) -> Chat:
    """The same client, with another server."""
    return Chat(p.client, p.url, product=p, thread_id=chat.thread_id, messages=[*chat.messages],
                headers=chat.headers, streams=[*chat.streams])  # fmt: skip


ORDERS: dict[str, list[Item]] = {
    f"order {order}": orders_of((tool, order))
    for tool, letter in (("refund", "R"), ("pay", "P"), ("wait", "W"), ("stall", "S"))
    for order in (f"{letter}{number}" for number in range(12))
}
"""By what ada says: the calls of the model."""


@asynccontextmanager
async def opened(site: Path, folder: Path, url: str, bus: str | None = None) -> AsyncIterator[Ground]:
    """A store without a server. In the end none is left."""
    emulator = Emulator(script=[{"when": {"user": "order R1"}, "output": ORDERS["order R1"]}, *script(ORDERS)])
    async with serve(emulator) as provider, client_of() as client:
        ground = Ground(site, folder, url, bus, provider, emulator, client)
        try:
            yield ground
        finally:
            for server in ground.servers:
                with suppress(ProcessLookupError):
                    server.process.kill()
                with server.process:
                    pass
