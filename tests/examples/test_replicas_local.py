"""`make replicas`: everything starts, any replica answers, and all of it ends."""

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def body(thread: str, **more: Any) -> dict[str, Any]:
    return {"threadId": thread, "runId": "r", "messages": [], "tools": [], "context": [], "state": {}, **more}


@pytest.mark.parametrize("more", [pytest.param([], marks=pytest.mark.spare), ["--valkey"]])
async def test_it_starts_answers_over_all_replicas_and_ends(more: list[str]) -> None:
    command = [sys.executable, "-m", "examples.replicas.local", "--port", "0", *more]
    program = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert program.stdout is not None
    try:
        async with asyncio.timeout(SECONDS):
            said = (await program.stdout.readuntil(b"Ctrl+C ends everything.")).decode()
            found = re.search(r"http://127\.0\.0\.1:\d+", said)
            assert found is not None
            replicas = [int(pid) for pid in re.findall(r"replica \d: process (\d+)", said)]
            assert len(replicas) == 2
            await refunded(found[0])
            os.kill(replicas[0], signal.SIGKILL)
            assert b"replica 1 has ended" in await program.stdout.readuntil(b"go on.")
            await refunded(found[0])
            program.send_signal(signal.SIGINT)
            rest = await program.stdout.read()
            assert await program.wait() == 0
    finally:
        if program.returncode is None:
            program.terminate()
            await asyncio.wait_for(program.wait(), SECONDS)
    assert rest.decode().strip().endswith("All ended.")
    for pid in replicas:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def refunded(url: str) -> None:
    """Ask, approve and be told, each over another replica."""
    async with httpx.AsyncClient(timeout=SECONDS) as client:
        thread = os.urandom(4).hex()
        asks = {"id": "m1", "role": "user", "content": "Refund 20 euros of order 1003"}
        asked = events((await client.post(url, json=body(thread, messages=[asks]))).text)
        (interrupt,) = asked[-1]["outcome"]["interrupts"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        told = events((await client.post(url, json=body(thread, messages=[asks], resume=[answer]))).text)
        (result,) = (event["content"] for event in told if event["type"] == "TOOL_CALL_RESULT")
        assert json.loads(result)["refunded"] == 20
        assert (await client.get(f"{url}/threads/{thread}")).json()["approvals"] == []
