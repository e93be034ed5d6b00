"""`kill -9` around a consent for what the provider runs: it is passed on at most once, and never lost (ADR 0005)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.processes import Machine, machine
from tests.crash.test_kill import resume, under_way
from tests.product.kit import MODES, TIMEOUT, Chat
from tests.product.shop import items, say, script, status
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

LISTED = {"type": "mcp_list_tools", "server_label": "crm", "tools": []}
ASKS = {"type": "mcp_approval_request", "server_label": "crm", "name": "pay", "arguments": '{"to":"ada"}'}
YES = {"approved": True}


@pytest.fixture
async def box(tmp_path: Path, mode: str) -> AsyncIterator[Machine]:
    async with machine(tmp_path / "agui-gate.db", script(), mode) as found:
        yield found


def tried(box: Machine) -> int:
    """How many requests said yes."""
    bodies: list[Any] = [entry.body or {} for entry in box.emulator.journal.entries]
    return sum(any(item["approve"] for item in items(body, "mcp_approval_response")) for body in bodies)


async def asked(box: Machine, chat: Chat, **turn: Any) -> tuple[str, str]:
    """The ids of the approval and of the call that the provider asks about."""
    paid = {"when": {"approves": True}, "output": [{"type": "mcp_call", "output": "ok"}, say("Paid.")], **turn}
    box.emulator.load([{"output": [LISTED, ASKS]}, paid, {"output": [say("Done.")], "repeat": True}])
    (ask,) = (await chat.say("pay ada")).interrupts
    return ask["id"], ask["toolCallId"]


@shows("B5", "B9")
async def test_killed_while_the_provider_runs_it(box: Machine, mode: str) -> None:
    async with box.server() as first:
        chat = first.chat()
        approval_id, call_id = await asked(box, chat, fault={"kind": "hang", "after_events": 0})
        async with under_way(first, resume(chat, [approval_id]), "RUN_STARTED"), asyncio.timeout(TIMEOUT):
            while not tried(box):
                await first.product.get("/healthz")
            await first.kill()
    async with box.server() as second:
        chat.product = second.product
        done = await chat.go()
        assert (done.text, status(done.results[call_id])) == ("Done.", "unknown")
        assert tried(box) == 1
        assert box.emulator.refusals == []


@shows("B5", "B1")
async def test_killed_between_the_decision_and_the_run_that_passes_it_on(box: Machine, mode: str) -> None:
    async with box.server() as first:
        chat = first.chat()
        approval_id, call_id = await asked(box, chat)
        assert (await first.product.decide(approval_id, YES))["state"] == "claimed"
        await first.kill()
    async with box.server() as second:
        chat.product = second.product
        done = await chat.go()
        assert (done.text, status(done.results[call_id])) == ("Paid.", "approved")
        await chat.say("thanks")
        assert tried(box) == 1
        assert box.emulator.refusals == []
