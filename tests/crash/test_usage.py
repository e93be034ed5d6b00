"""Usage over several processes on one store: counted to the token though they are killed, and held to one budget."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from agui_gate.extras.usage.budgets import OUTPUT_TOKENS
from tests.crash.processes import machine
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


async def test_four_processes_exceed_a_budget_by_one_reservation_at_most(tmp_path: Path) -> None:
    turn = {"output": [say("Done.")], "usage": {"input_tokens": 500, "output_tokens": 3_400}, "repeat": True}
    async with machine(tmp_path / "agui-gate.db", [turn], "chain") as box, AsyncExitStack() as up:
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
