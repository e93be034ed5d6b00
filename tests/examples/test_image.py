"""What the image of `examples/replicas/` does when it starts, without Docker: its Dockerfile's own words are run."""

import asyncio
import json
import os
import re
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.examples.conftest import EXAMPLES
from tests.support.servers import free_port

pytestmark = pytest.mark.anyio

DOCKERFILE = re.sub(r"\\\n\s*", "", (EXAMPLES / "replicas" / "Dockerfile").read_text())
STAGE = DOCKERFILE.rpartition("\nFROM ")[2]
SECONDS = 60


def said(instruction: str) -> str:
    """The only line of the last stage that begins like this, without that."""
    (found,) = re.findall(rf"^{instruction} (.*)$", STAGE, re.MULTILINE)
    return str(found)


def names(folder: Path) -> list[str]:
    """What is in it."""
    return [path.name for path in folder.iterdir()]


async def healthy(port: int) -> bool:
    """What the image's health check finds, at another port than its own."""
    words = json.loads(said("HEALTHCHECK").partition(" CMD ")[2])
    assert words[0] == "python"
    command = [word.replace(":8000/", f":{port}/") for word in words[1:]]
    assert command != words[1:]
    check = await asyncio.create_subprocess_exec(sys.executable, *command, stderr=DEVNULL)
    return await check.wait() == 0


async def test_what_it_starts_is_healthy_as_long_as_it_answers_and_ends_when_it_is_told_to(tmp_path: Path) -> None:
    copied, _, target = said(r"COPY(?! --from)").partition(" ")
    assert (said("WORKDIR"), target) == ("/app", "./")
    shutil.copy(EXAMPLES.parent / copied, tmp_path)
    port, command = free_port(), json.loads(said("CMD"))
    assert command[0] == "agui-gate"
    settings = dict(pair.split("=", 1) for pair in said("ENV").split() if not pair.startswith("PATH="))
    secrets = {"OPENAI_API_KEY": "k", "AGUI_GATE_TOKENS": "alice:token-of-alice", "AGUI_GATE_STORE": "memory://"}
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from agui_gate.cli import main; main()", *command[1:]),
        cwd=tmp_path,
        env=dict(os.environ) | settings | secrets | {"AGUI_GATE_PORT": str(port)},
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    try:
        async with asyncio.timeout(SECONDS):
            while not await healthy(port):
                assert server.returncode is None
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                assert (await client.get("/threads")).status_code == 401, "it listens to others, so it wants a token"
                head = {"authorization": "Bearer token-of-alice"}
                assert [agent["name"] for agent in (await client.get("/agents", headers=head)).json()["agents"]] == [
                    "support"
                ]
            assert names(tmp_path) == ["agent.py"], "it writes nothing beside it"
            server.send_signal(getattr(signal, said("STOPSIGNAL")))
            assert await server.wait() == 0
            assert not await healthy(port)
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()


def test_any_docker_can_read_it() -> None:
    """`--start-interval` is for Docker 25 and newer, and others refuse the whole file."""
    flags = set(re.findall(r"--[a-z-]+(?==)", DOCKERFILE))
    assert flags == {"--from", "--interval", "--timeout", "--start-period"}
