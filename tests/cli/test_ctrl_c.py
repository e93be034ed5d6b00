"""Ctrl-C at moments that nobody chooses: at the start, twice at the end, and while `--reload` loads. No tracebacks."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agui_gate.cli import local_thread
from agui_gate.cli.interrupts import DEFAULT, Runner, in_order
from agui_gate.cli.local_thread import LocalThread
from agui_gate.runs.engine import Engine
from agui_gate.stores import open_store
from tests.cli.support import PROGRAM, TARGETS, TIMEOUT, environment, new, running
from tests.cli.test_serve import URL

ENDED = -signal.SIGINT
"""What a shell calls 130."""


def python(program: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """A program to its end, which Ctrl-C can interrupt."""
    begin = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.run(
        [sys.executable, "-c", begin + program],
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


PRESSED_BY_AN_IMPORT = """
import sys
from importlib.abc import MetaPathFinder

class Presses(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Presses())
sys.argv = ["agui-gate", "settings"]
from agui_gate_start import main
main()
"""


@pytest.mark.parametrize("module", ["agui_gate", "agui_gate.cli.program", "agui_gate.cli.commands.settings"])
def test_while_we_are_imported(module: str) -> None:
    """It was a traceback of thirty lines."""
    done = python(PRESSED_BY_AN_IMPORT.format(module=module))
    assert (done.returncode, done.stdout, done.stderr) == (ENDED, "", "")


@pytest.mark.parametrize("command", ["serve", "run"])
def test_while_a_target_is_imported_that_swallows_it(tmp_path: Path, command: str) -> None:
    (tmp_path / "swallows.py").write_text(
        "import threading\n"
        "print('importing', flush=True)\n"
        "while True:\n"
        "    try:\n"
        "        threading.Event().wait()\n"
        "    except BaseException:\n"
        "        pass\n"
    )
    more = ["-m", "x"] if command == "run" else []
    with running(tmp_path, command, "swallows:agent", *more) as process:
        process.wait_for("importing\n")
        assert process.stop(signal.SIGINT) == ENDED
    assert process.text == "importing\n"


PRESSED_TWICE = """
import sys
sys.path.insert(0, {targets!r})
from cli_shop import agent
from agui_gate import create_app
from agui_gate.cli.server.uvicorn_server import Server, bind, configure, serve_forever

def press():
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)

with bind("127.0.0.1", 0) as sock:
    server = Server(configure(create_app(agent, store="memory://")), press)
    serve_forever(server, sock)
assert server.force_exit
"""


def test_a_second_one_ends_a_server_without_a_word() -> None:
    """What it cut off told so in a traceback, as an error."""
    done = python(PRESSED_TWICE.format(targets=str(TARGETS)))
    assert (done.returncode, done.stderr) == (0, "")


SITE = """
import os, signal, sys
if "--multiprocessing-fork" in sys.orig_argv and not os.path.exists("pressed"):
    open("pressed", "x").close()
    signal.raise_signal(signal.SIGINT)
"""


def test_a_child_of_reload_that_is_being_loaded_hears_of_it_once_it_serves(tmp_path: Path) -> None:
    """The terminal sends it to both. The one that was being loaded said so in a traceback."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    env = {"PYTHONPATH": f"{site}{os.pathsep}{TARGETS}"}
    arguments = ("serve", "cli_shop:agent", "--port", "0", "--store", "memory://", "--reload")
    with running(tmp_path, *arguments, env=env, command=new(PROGRAM)) as process:
        process.wait_for(f"is up at ({URL})")
        process.wait_for("Ctrl-C")
        assert process.stop(signal.SIGINT) == 0
    assert (tmp_path / "pressed").exists()
    assert "Traceback" not in process.text


def test_what_is_begun_is_ended_in_order_and_nothing_else() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with in_order():
            assert signal.getsignal(signal.SIGINT) is DEFAULT
            with in_order():
                pass
            assert signal.getsignal(signal.SIGINT) is DEFAULT
        with Runner():
            assert signal.getsignal(signal.SIGINT) is DEFAULT
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with in_order():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.anyio
async def test_a_run_that_does_not_end_when_it_is_stopped_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told as an unexpected TimeoutError."""
    from cli_shop import agent

    monkeypatch.setattr(local_thread, "STOP_SECONDS", 0.0)
    waiting = asyncio.Event()

    def show(_: bytes, event: dict[str, Any]) -> None:
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            waiting.set()

    engine = Engine((agent,), open_store("memory://"))
    thread = LocalThread(engine, agent, "t1", show)
    await thread.start()
    try:
        async with asyncio.timeout(TIMEOUT):
            said = asyncio.create_task(thread.say("wait"))
            await waiting.wait()
            said.cancel()
            with pytest.raises(asyncio.CancelledError):
                await said
    finally:
        await thread.aclose()
