"""A run that is lost with its process: `run` and `chat` say so, say what to do, and don't exit as if all were well."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agui_gate_adapters.testkit import Emulator, serve
from tests.cli.support import PATIENT, TIMEOUT, call, running
from tests.product.shop import call as asks
from tests.product.shop import script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B9")]

URL = r"http://127\.0\.0\.1:\d+"
LOST = (
    "error: The server process that ran this was lost. What it had saved is kept; the rest of this answer is lost. "
    "Send a message to continue. (interrupted)"
)
CHECK = "note: {} was running. Whether it took effect is not known: check before you try again."


@pytest.fixture
async def provider() -> AsyncIterator[tuple[Emulator, dict[str, str]]]:
    """A provider whose model wants to blast a rock, and the variables of commands that use it."""
    emulator = Emulator(script=script(asks("blast", place="rock")))
    async with asyncio.timeout(TIMEOUT), serve(emulator) as url:
        yield emulator, {"OPENAI_BASE_URL": url}


def lost(said: "subprocess.CompletedProcess[str]", again: str) -> None:
    """It says what happened, once, and what to do; nothing has run."""
    assert (said.returncode, said.stdout) == (1, ""), said.stderr
    told = said.stderr.splitlines()
    assert [line for line in told if "lost" in line] == [LOST]
    assert told[told.index(LOST) + 1 :] == [CHECK.format("blast"), f"Continue with: {again} --message '...'"]


async def test_run_does_not_go_on_as_if_nothing_had_happened(
    provider: tuple[Emulator, dict[str, str]], tmp_path: Path
) -> None:
    emulator, env = provider
    command = ["run", "cli_desk:agent", "--thread", "t1"]

    def killed() -> None:
        with running(tmp_path, *command, "-m", "go", "--approve", "yes", env=env) as process:
            process.wait_for(r"\[blasting rock\]")
            process.stop(signal.SIGKILL)

    await asyncio.to_thread(killed)
    asked = len(emulator.accepted)
    lost(await asyncio.to_thread(call, tmp_path, *command, env=env), "agui-gate run cli_desk:agent --thread t1")
    assert len(emulator.accepted) == asked, "the model was not asked"
    on = await asyncio.to_thread(call, tmp_path, *command, "-m", "go on", env=env)
    assert (on.returncode, on.stdout) == (0, "Done.\n")
    assert "lost" not in (await asyncio.to_thread(call, tmp_path, *command, env=env)).stderr
    assert (tmp_path / "notes.txt").read_text() == "blasting rock\n"


@pytest.mark.parametrize("cards", [(), ("--cards",)])
async def test_chat_tells_that_the_server_was_lost(
    provider: tuple[Emulator, dict[str, str]], tmp_path: Path, cards: tuple[str, ...]
) -> None:
    _, env = provider

    def play() -> None:
        with running(tmp_path, "serve", "cli_desk:agent", "--port", "0", env=env, command=PATIENT) as server:
            url = server.wait_for(f"is up at ({URL})\n")[1]
            with running(tmp_path, "chat", url, "--thread", "t1", "-m", "go", "--approve", "yes", *cards):
                server.wait_for(r"\[blasting rock\]")
                server.stop(signal.SIGKILL)
        with running(tmp_path, "serve", "cli_desk:agent", "--port", "0", env=env, command=PATIENT) as server:
            url = server.wait_for(f"is up at ({URL})\n")[1]
            again = f"agui-gate chat {url} --thread t1"
            lost(call(tmp_path, "chat", url, "--thread", "t1", *cards), again)
            on = call(tmp_path, "chat", url, "--thread", "t1", "-m", "go on", *cards)
            assert (on.returncode, on.stdout) == (0, "Done.\n")
            assert call(tmp_path, "chat", url, "--thread", "t1", *cards).returncode == 0

    await asyncio.to_thread(play)
    assert (tmp_path / "notes.txt").read_text() == "blasting rock\n"
