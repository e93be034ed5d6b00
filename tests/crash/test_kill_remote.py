"""A server is killed while a remote agent is at work for it: a yes is passed on once at most, and is never lost."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.agui import serving
from tests.client.servers import run_of
from tests.crash.processes import Machine, Server
from tests.crash.test_kill import resume, under_way
from tests.interop.streams import FINISHED, STARTED, Event, call, sse, text
from tests.product.kit import TIMEOUT, Chat, Stream, client_of
from tests.product.shop import status
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B5", "B9")]

YES = {"approved": True}
SIDES = ("before", "after")
POINTS = [
    *(f"{side} {place}" for place in ("ask", "claim", "pass", "result", "release") for side in SIDES),
    *(f"{side} {place} {n}" for place in ("lease", "terminal") for n in (1, 2) for side in SIDES),
    *(f"after event {n}" for n in (1, 3, 6)),
]


class Remote:
    """An agent elsewhere, which asks before it refunds, and counts how often it is told that it may."""

    def __init__(self) -> None:
        self.told = self.runs = 0
        self.hangs = False
        self.heard = asyncio.Event()
        """Set when it was told."""

    async def run(self, request: Request) -> Response:
        """One run."""
        body = await request.json()
        self.runs += 1
        answers = [entry for entry in body.get("resume", ()) if entry.get("payload") == YES]
        if answers:
            self.told += 1
            self.heard.set()
        if answers and self.hangs:
            return StreamingResponse(self.silence(), media_type="text/event-stream")
        said = [m for m in body["messages"] if m["role"] == "user"][-1]["content"]
        lent = said == "lend" and body["messages"][-1]["role"] == "user"
        reply = self.lends() if lent else self.asks(self.runs) if said == "refund" and not self.told else self.says()
        return Response(reply, media_type="text/event-stream")

    async def silence(self) -> AsyncIterator[bytes]:
        yield sse(STARTED).encode()
        await asyncio.Event().wait()

    def asks(self, number: int) -> str:
        asked = {"id": f"i-{number}", "reason": "tool_call", "toolCallId": "c-1"}
        return sse(STARTED, *call(), FINISHED | {"outcome": {"type": "interrupt", "interrupts": [asked]}})

    def says(self) -> str:
        return run_of(*text("Done.", f"m-{self.runs}"))

    def lends(self) -> str:
        calls: list[Event] = [
            {"type": "TOOL_CALL_START", "toolCallId": "c-9", "toolCallName": "stall"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c-9", "delta": '{"order_id":"A1"}'},
            {"type": "TOOL_CALL_END", "toolCallId": "c-9"},
        ]
        return run_of(*calls)


@asynccontextmanager
async def elsewhere(remote: Remote, folder: Path) -> AsyncIterator[Machine]:
    """The remote, and what servers in front of it share."""
    async with serving(Starlette(routes=[Route("/agent", remote.run, methods=["POST"])])) as url, client_of() as http:
        yield Machine(f"sqlite:///{folder}/agui-gate.db", f"{url}/agent", "stateless", Emulator(), http)


async def dies(server: Server, chat: Chat) -> None:
    """What the first server comes to do before it dies at its failpoint."""
    with contextlib.suppress(httpx2.HTTPError):
        asked = await chat.say("refund")
        if asked.interrupts:
            await chat.resume((asked.interrupts[0]["id"], YES))
    await server.gone()


async def settle(chat: Chat) -> Stream:
    """Go on, with a yes to all that is asked."""
    stream = await chat.go()
    for _ in range(4):
        if not stream.interrupts:
            return stream
        stream = await chat.resume(*((ask["id"], YES) for ask in stream.interrupts))
    raise AssertionError(f"still asked: {stream}")


@pytest.mark.parametrize("point", POINTS)
async def test_killed_at_a_failpoint(point: str, tmp_path: Path) -> None:
    remote = Remote()
    async with elsewhere(remote, tmp_path) as box:
        async with box.server("remote", failpoint=point) as first:
            chat = first.chat()
            await dies(first, chat)
        async with box.server("remote") as second:
            chat = second.chat(chat)
            done = await settle(chat)
            assert done.error is None
            assert remote.told <= 1
            records = (await second.product.get("/approvals?state=all"))["approvals"]
            states = [record["state"] for record in records]
            assert set(states) <= {"done", "unknown"}
            assert states.count("done") <= remote.told
            assert remote.told == 1 or "unknown" in states
            last = await chat.say("thanks")
            assert (last.error, last.text, remote.told) == (None, "Done.", 1) or "unknown" in states


async def test_killed_while_the_remote_is_at_work(tmp_path: Path) -> None:
    remote = Remote()
    remote.hangs = True
    async with elsewhere(remote, tmp_path) as box:
        async with box.server("remote") as first:
            chat = first.chat()
            (ask,) = (await chat.say("refund")).interrupts
            async with under_way(first, resume(chat, [ask["id"]]), "RUN_STARTED"), asyncio.timeout(TIMEOUT):
                await remote.heard.wait()
                await first.kill()
        async with box.server("remote") as second:
            chat = second.chat(chat)
            done = await chat.go()
            assert (done.text, status(done.results["c-1"])) == ("Done.", "unknown")
            assert remote.told == 1


async def test_killed_between_the_decision_and_the_run_that_passes_it_on(tmp_path: Path) -> None:
    remote = Remote()
    async with elsewhere(remote, tmp_path) as box:
        async with box.server("remote") as first:
            chat = first.chat()
            (ask,) = (await chat.say("refund")).interrupts
            assert (await first.product.decide(ask["id"], YES))["state"] == "claimed"
            await first.kill()
        async with box.server("remote") as second:
            chat = second.chat(chat)
            assert (await chat.go()).text == "Done."
            assert remote.told == 1
            await chat.say("thanks")
            assert remote.told == 1


async def test_killed_while_a_lent_tool_runs(tmp_path: Path) -> None:
    """It ran here, at most once; the remote is told that nobody knows what came of it."""
    remote = Remote()
    async with elsewhere(remote, tmp_path) as box:
        async with box.server("remote") as first:
            chat = first.chat()
            (ask,) = (await chat.say("lend")).interrupts
            body: dict[str, Any] = resume(chat, [ask["id"]])
            async with under_way(first, body, "RUN_STARTED"):
                assert await first.line() == "ran stall A1"
                await first.kill()
        async with box.server("remote") as second:
            chat = second.chat(chat)
            done: Stream = await chat.go()
            assert (done.text, [status(one) for one in done.results.values()]) == ("Done.", ["unknown"])
            await second.kill()
            assert "ran stall A1" not in await second.rest()
