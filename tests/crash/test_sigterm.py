"""A busy server that is told to stop, or killed, at any moment: it ends in time, and every thread goes on."""

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit import serve as emulate
from agui_gate_adapters.testkit.agui.stream import apply
from tests.product.kit import MODES, TIMEOUT, Chat, Product, Stream, parse
from tests.product.live import frames
from tests.product.shop import call, say
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17", "B5", "B9", "S30")]

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
YES = {"approved": True}


def answers(text: str, *items: Json, **more: Any) -> Json:
    return {"when": {"user": text}, "output": list(items), "repeat": True, **more}


LONG = 10 * TIMEOUT
"""Seconds that a tool takes which nobody waits for."""
SLOW = {"kind": "slow", "ms": 2, "times": 0}
SCRIPT: list[Json] = [
    {"when": {"user": "next"}, "output": [say("Back.")], "repeat": True},
    {"when": {"has_output_for": "nap"}, "output": [say("Slept. " * 20)], "repeat": True, "fault": SLOW},
    {"when": {"has_output_for": "block"}, "output": [say("Slept.")], "repeat": True},
    {"when": {"has_output_for": "pay"}, "output": [say("Paid.")], "repeat": True},
    answers("talk", say("word " * 200), fault=SLOW),
    answers("sleep", say("Good night."), call("nap", seconds=0.1), call("nap", seconds=LONG)),
    answers("short", call("nap", seconds=0.05), call("block", seconds=0.05)),
    answers("block", call("block", seconds=LONG)),
    answers("pay quickly", call("pay", order="A1", seconds=0.1)),
    answers("pay", call("pay", order="A1", seconds=LONG), call("pay", order="A2", seconds=0.1)),
]


class Busy:
    """The parent of the servers, what outlives them, and the clients' threads."""

    def __init__(self, parent: asyncio.subprocess.Process, emulator: Emulator, client: httpx2.AsyncClient) -> None:
        self.parent, self.emulator = parent, emulator
        self.product = Product(emulator, None, "", client)
        self.chats: list[Chat] = []
        self.logged: list[str] = []
        self.pid = 0

    async def start(self) -> None:
        """Start a server."""
        assert self.parent.stdin is not None
        self.parent.stdin.write(b"start\n")
        word, port, pid = await self._line()
        assert word == "port"
        self.product.url, self.pid = f"http://127.0.0.1:{port}", int(pid)

    async def stop(self, number: signal.Signals) -> tuple[int, float]:
        """Its exit code, and the seconds it took."""
        begun = time.monotonic()
        os.kill(self.pid, number)
        word, code = await self._line()
        assert word == "exit"
        self.pid = 0
        return int(code), time.monotonic() - begun

    def chat(self) -> Chat:
        """A client that has to be able to go on after the restart."""
        self.chats.append(self.product.chat())
        return self.chats[-1]

    async def _line(self) -> list[str]:
        """The next thing that the parent or the server says; what it logs is kept."""
        assert self.parent.stdout is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(6 * TIMEOUT):  # a start alone takes seconds where much else runs
                while line := (await self.parent.stdout.readline()).decode():
                    if line.startswith(("port ", "exit ")):
                        return line.split()
                    self.logged.append(line)
        raise AssertionError("".join(self.logged))


@asynccontextmanager
async def busy(folder: Path, number: int, mode: str) -> AsyncIterator[Busy]:
    emulator = Emulator(script=SCRIPT)
    async with emulate(emulator) as provider, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        store = f"sqlite:///{folder}/gate-{number}.db"
        command = (sys.executable, "-m", "tests.crash.busy", store, provider, mode)
        pipe = asyncio.subprocess.PIPE
        parent = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe)
        servers = Busy(parent, emulator, client)
        try:
            yield servers
        finally:
            with suppress(ProcessLookupError):
                if servers.pid:
                    os.kill(servers.pid, signal.SIGKILL)
                parent.kill()
            await parent.wait()


async def one(chat: Chat, text: str | None = None, **more: Any) -> Stream:
    """One run of which the end may be missing."""
    if text is not None:
        chat.messages.append({"id": f"u{len(chat.messages)}", "role": "user", "content": text})
    raw, status = "", 0
    body = chat.body(**more)
    with suppress(httpx2.HTTPError):
        async with chat.product.client.stream("POST", chat.product.url + "/", json=body) as response:
            status = response.status_code
            async for piece in response.aiter_text():
                raw += piece
    stream = parse("".join(frames(raw[: raw.rfind("\n\n") + 2]))) if status == 200 else Stream()
    stream.status = status
    chat.streams.append(stream)
    apply(chat.messages, stream)
    return stream


async def work(servers: Busy, dice: random.Random) -> list["asyncio.Task[Stream]"]:
    """Everything a server can be busy with at once, as it is a random moment later."""
    waiting, resumed, decided = servers.chat(), servers.chat(), servers.chat()
    asking = ((waiting, "pay"), (resumed, "pay"), (decided, "pay quickly"))
    for stream in await asyncio.gather(*(one(chat, text) for chat, text in asking)):
        assert stream.interrupts
    asked = [{"interruptId": i["id"], "status": "resolved", "payload": YES} for i in resumed.streams[-1].interrupts]
    talker = servers.chat()
    runs = [one(servers.chat(), text) for text in ("talk", "sleep", "short", "block")]
    tasks = [asyncio.ensure_future(run) for run in (one(talker, "talk"), *runs, one(resumed, resume=asked))]
    (ask,) = decided.streams[-1].interrupts
    decision = asyncio.ensure_future(posted(servers, ask["id"]))
    await moment(servers.chat(), dice.randint(0, 120))
    return [*tasks, decision]


async def moment(chat: Chat, events: int) -> None:
    """Until a run has said so much: a time that doesn't depend on how busy the machine is."""
    chat.messages.append({"id": "u", "role": "user", "content": "talk"})
    async with chat.product.client.stream("POST", chat.product.url + "/", json=chat.body()) as response:
        got = 0
        async for piece in response.aiter_text():
            got += piece.count("\n\n")
            if got >= events:
                return


async def posted(servers: Busy, approval_id: str) -> Stream:
    with suppress(httpx2.HTTPError):
        await servers.product.decide(approval_id, YES)
    return Stream([{"type": "RUN_FINISHED"}])


async def go_on(servers: Busy) -> None:
    """Every thread's next turn works."""

    waiting = (await servers.product.get("/approvals"))["approvals"]

    async def next_turn(chat: Chat) -> None:
        left = [approval["id"] for approval in waiting if approval["thread_id"] == chat.thread_id]
        stream = await one(chat, "next", resume=[{"interruptId": i, "status": "cancelled"} for i in left])
        assert (stream.status, stream[-1]["type"], stream.text) == (200, "RUN_FINISHED", "Back."), stream
        view = await servers.product.get(f"/threads/{chat.thread_id}")
        calls = {c["id"] for m in view["messages"] for c in m.get("toolCalls", ())}
        results = [m["toolCallId"] for m in view["messages"] if m["role"] == "tool"]
        assert sorted(calls) == sorted(results)
        assert (view["run"]["status"], view["approvals"]) == ("finished", [])

    await asyncio.gather(*(next_turn(chat) for chat in servers.chats))
    servers.chats = servers.chats[-2:]


async def told_to_stop(folder: Path, seed: int) -> None:
    """Five times, one after another."""
    dice = random.Random(seed)
    async with busy(folder, seed, MODES[seed % 3]) as servers:
        for _ in range(5):
            await servers.start()
            await go_on(servers)
            tasks = await work(servers, dice)
            code, seconds = await servers.stop(signal.SIGTERM)
            assert (code, seconds < TIMEOUT) == (0, True), (
                f"after {seconds} s: who is at work is not waited for any longer"
            )
            for stream in await asyncio.gather(*tasks):
                assert stream.status in (0, 200, 503)
                assert not stream or stream[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR"), stream.types()
                assert stream or stream.status != 200
        await in_the_end(servers)


async def killed(folder: Path, seed: int) -> int:
    """Five times, one after another; how many runs were interrupted."""
    dice, interrupted = random.Random(seed), 0
    async with busy(folder, seed, MODES[seed % 3]) as servers:
        for _ in range(5):
            await servers.start()
            listed = (await servers.product.get("/threads?limit=100"))["threads"]
            statuses = [thread["run"]["status"] for thread in listed if thread["run"]]
            assert "running" not in statuses
            interrupted += statuses.count("interrupted")
            await go_on(servers)
            tasks = await work(servers, dice)
            assert (await servers.stop(signal.SIGKILL))[0] == -signal.SIGKILL
            await asyncio.gather(*tasks)
        await in_the_end(servers)
    return interrupted


async def in_the_end(servers: Busy) -> None:
    """Once more everything goes on; the provider has seen nothing illegal in all that time."""
    await servers.start()
    await go_on(servers)
    assert (await servers.stop(signal.SIGTERM))[0] == 0
    assert servers.emulator.refusals == []
    assert servers.logged == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_twenty_times_told_to_stop(tmp_path: Path) -> None:
    await asyncio.gather(*(told_to_stop(tmp_path, seed) for seed in range(4)))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_ten_times_killed(tmp_path: Path) -> None:
    assert sum(await asyncio.gather(*(killed(tmp_path, seed) for seed in (1, 2)))) > 0
