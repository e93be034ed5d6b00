"""Several processes on one store: usage is counted to the token though they are killed, budgets and limits hold."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from agui_gate.extras.usage.budgets import OUTPUT_TOKENS
from tests.crash.processes import machine
from tests.product.kit import TIMEOUT, Stream
from tests.product.shop import call, say

pytestmark = pytest.mark.anyio

LIMIT = 10_000
"""Tokens of the budget of `tests/crash/server.py`."""


async def test_usage_is_that_of_the_provider_to_the_token_over_killed_processes(tmp_path: Path) -> None:
    """Four processes; each is killed while a tool of its own runs: the turn before it is saved, and counted once."""
    script: list[dict[str, object]] = []
    for number in range(4):
        used = {"input_tokens": 100 + number, "output_tokens": 10 + number}
        script.append({"output": [call("linger", order_id=f"A{number}")], "usage": used})
    script.append({"output": [say("Done.")], "usage": {"input_tokens": 1_000, "output_tokens": 7}, "repeat": True})
    async with machine(tmp_path / "agui-gate.db", script, "chain") as box:
        body: dict[str, object] = {}
        for _ in range(4):
            async with box.server("usage") as server:
                chat = server.chat()
                chat.thread_id = "t"
                chat.messages.append({"id": f"u{len(box.emulator.accepted)}", "role": "user", "content": "look"})
                body = chat.body()
                saying = asyncio.ensure_future(server.product.client.post(server.product.url, json=body))
                assert (await server.line()).startswith("ran linger")
                await server.kill()
                await asyncio.wait([saying])
                assert isinstance(saying.exception(), httpx2.HTTPError)
        async with box.server("usage") as last, box.server("usage") as other:
            done = await last.product.client.post(last.product.url, json=body)
            told = await asyncio.gather(*(server.product.get("/usage") for server in (last, other)))
            of_thread = await last.product.get("/threads/t")
        assert "Done." in done.text
        assert len(box.emulator.accepted) == 5
    for report in told:
        total = report["total"]
        assert (total["requests"], total["input_tokens"], total["output_tokens"]) == (5, 1_406, 53)
    assert of_thread["usage"]["total"]["requests"] == 5


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that several processes share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'agui-gate.db'}"
    return str(request.getfixturevalue("database"))


LOOK = {"output": [call("linger", order_id="A1")], "repeat": True}
REFUND = {"output": [call("refund", order_id="A1")], "repeat": True}


async def test_four_processes_begin_no_run_over_the_limit(url: str, tmp_path: Path) -> None:
    async with machine(tmp_path / "-", [LOOK], "stateless", url) as box, AsyncExitStack() as up:
        servers = [await up.enter_async_context(box.server("limit:principal:runs=3")) for _ in range(4)]
        runs = {asyncio.ensure_future(server.chat().say("look")) for server in servers for _ in range(3)}
        over: set[asyncio.Future[Stream]] = set()
        async with asyncio.timeout(TIMEOUT):
            while len(over) < 9:
                over |= (await asyncio.wait(runs - over, return_when=asyncio.FIRST_COMPLETED))[0]
        assert {run.result().status for run in over} == {429}
        late = await servers[0].chat().say("look")
        at_work = (await servers[1].product.get("/ops/runs"))["runs"]
        assert (late.status, len(at_work)) == (429, 3)
        for server in servers:
            await server.kill()
        await asyncio.gather(*runs, return_exceptions=True)
        assert len(box.emulator.accepted) == 3


async def test_four_processes_make_no_thread_and_leave_no_question_over_the_limit(url: str, tmp_path: Path) -> None:
    limits = ("limit:principal:threads=8", "limit:principal:approvals=2")
    async with machine(tmp_path / "-", [REFUND], "stateless", url) as box, AsyncExitStack() as up:
        servers = [await up.enter_async_context(box.server(*limits)) for _ in range(4)]
        streams = await asyncio.gather(*(server.chat().say("refund") for server in servers for _ in range(4)))
        assert {stream.status for stream in streams} <= {200, 429}
        waiting = (await servers[0].product.get("/approvals"))["approvals"]
        threads = (await servers[1].product.get("/threads?limit=100"))["threads"]
        assert len(waiting) <= 2
        assert len(threads) == sum(stream.status == 200 for stream in streams) <= 8


async def test_four_processes_exceed_a_budget_by_one_reservation_at_most(url: str, tmp_path: Path) -> None:
    turn = {"output": [say("Done.")], "usage": {"input_tokens": 500, "output_tokens": 3_400}, "repeat": True}
    async with machine(tmp_path / "-", [turn], "chain", url) as box, AsyncExitStack() as up:
        servers = [await up.enter_async_context(box.server("usage", "budget")) for _ in range(4)]
        chats = [server.chat() for server in servers for _ in range(3)]
        streams = await asyncio.gather(*(chat.say("hello") for chat in chats))
        report = await servers[0].product.get("/usage")
        late = await servers[3].chat().say("hello")
    used = report["total"]["input_tokens"] + report["total"]["output_tokens"]
    assert len(box.emulator.accepted) == report["total"]["requests"] == 3
    assert LIMIT <= used <= LIMIT + OUTPUT_TOKENS
    refused = [stream for stream in (*streams, late) if stream.text != "Done."]
    assert len(refused) == 10
    assert late.status == 429
