"""`kill -9` while tools run: who comes back is told how each thread's last run ended. A lost one is no success."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from agui_gate.client import Client, ClientError, Limits, Outcome, Thread
from agui_gate.errors import Interrupted
from tests.crash.processes import Machine, Server, machine
from tests.crash.world import crowd_script
from tests.interop.validate import assert_valid
from tests.product.live import connect
from tests.product.shop import call
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B9", "B17")]

Json = dict[str, Any]

EACH = 4
"""Threads of a kind."""

WORKS = {
    "posted": "stall", "resumed": "stall", "free": "linger", "done": "refund", "waiting": "refund", "stopped": "linger"
}  # fmt: skip
"""By the kind of a thread, the tool that its model calls. What the kind is called is what becomes of the call."""


FAILS: Json = {"when": {"user": "failed 0;"}, "fault": {"kind": "status", "status": 400}, "repeat": True}
"""The provider refuses this one."""


class Told(NamedTuple):
    """What a thread's client was told after the crash, by either dialect, and what the server's record says."""

    outcome: Outcome
    messages: Sequence[Json]
    older: Json
    record: Json


@asynccontextmanager
async def client_of(server: Server) -> AsyncIterator[Client]:
    """One that doesn't try to come back by itself."""
    async with Client(server.process.url, limits=Limits(attempts=0)) as client:
        yield client


async def begin(box: Machine, server: Server) -> list[str]:
    """Threads of all kinds, whose tools are at work or have ended."""
    names = [f"{kind} {n};" for kind in WORKS for n in range(EACH)]
    calls = {name: [call(WORKS[name.split()[0]], order_id=name)] for name in names}
    names += [FAILS["when"]["user"]]
    box.emulator.load([FAILS, *crowd_script(calls)])
    tasks: list[asyncio.Task[Any]] = []
    async with client_of(server) as client:
        for name in names:
            tasks += await _begin(server, client.thread(name), name.split()[0])
        await server.kill()
        await asyncio.gather(*tasks)
    return names


async def _begin(server: Server, thread: Thread, kind: str) -> list["asyncio.Task[Any]"]:
    """Bring a thread to where the server is killed; what is still waited for."""
    if kind == "failed":
        assert (await thread.say(thread.id)).kind == "error"
        return []
    if kind == "stopped":
        run = await _at_work(server, thread.id, thread.say(thread.id))
        await thread.stop()
        await run
        return []
    if kind == "free":
        return [await _at_work(server, thread.id, thread.say(thread.id))]
    assert (await thread.say(thread.id)).kind == "interrupt"
    (question,) = thread.questions
    match kind:
        case "posted":
            return [await _at_work(server, thread.id, server.product.decide(question.id, {"approved": True}))]
        case "resumed":
            return [await _at_work(server, thread.id, thread.answer(question.approve()))]
        case "done":
            assert (await thread.answer(question.approve())).kind == "success"
            await server.line()
    return []


async def _at_work(server: Server, name: str, work: Any) -> "asyncio.Task[Any]":
    async def broken() -> None:
        with contextlib.suppress(ClientError, httpx2.TransportError):  # the server is killed
            await work

    task = asyncio.create_task(broken())
    assert (await server.line()).endswith(name), "its tool runs"
    return task


async def told(server: Server, name: str) -> Told:
    """What is told of a thread now."""
    async with client_of(server) as client:
        thread = client.thread(name)
        outcome = await (await thread.attach())
        older = await connect(server.product, server.chat(thread_id=name))
        assert_valid(older.raw, resumed=True)
        record = await server.product.get(f"/threads/{name}")
        return Told(outcome, thread.messages, older[-1], record)


async def test_none_that_was_lost_says_success_and_what_is_told_is_what_is_recorded(tmp_path: Path) -> None:
    async with machine(tmp_path / "agui-gate.db", [], "chain") as box:
        async with box.server() as first:
            names = await begin(box, first)
        async with box.server() as second:
            for name in names:
                found, kind = await told(second, name), name.split()[0]
                states = [one["state"] for one in found.record["calls"]]
                status = found.record["run"]["status"]
                match kind:
                    case "done":
                        assert (found.outcome.kind, status, states) == ("success", "finished", ["done"])
                        assert found.older["type"] == "RUN_FINISHED"
                    case "waiting":
                        assert (found.outcome.kind, status, states) == ("interrupt", "waiting", ["pending"])
                        assert found.older["outcome"]["type"] == "interrupt"
                    case "stopped":
                        assert (found.outcome.kind, status) == ("cancelled", "cancelled")
                        assert (found.older["type"], found.older["code"]) == ("RUN_ERROR", "abort")
                    case "failed":
                        assert (found.outcome.kind, status) == ("error", "failed")
                        code = (found.outcome.code, found.outcome.error)
                        assert code == (found.older["code"], found.older["message"])
                        assert code[0] == "provider_rejected"
                    case _:
                        assert (found.outcome.kind, status) == ("interrupted", "interrupted"), name
                        assert states == ([] if kind == "free" else ["claimed"])
                        said = (Interrupted.code, Interrupted().message)
                        assert (found.outcome.code, found.outcome.error) == said
                        assert (found.older["type"], found.older["code"], found.older["message"]) == (
                            "RUN_ERROR",
                            *said,
                        )
                assert found.messages == found.record["messages"]
            async with client_of(second) as client:
                for name in names:
                    if not name.startswith("waiting"):
                        thread = client.thread(name)
                        await (await thread.attach())
                        assert ((await thread.say("go on")).kind, thread.text) == ("success", "Done."), name
            await second.kill()
            assert await second.rest() == [], "nothing has run again"
        assert box.emulator.refusals == []
