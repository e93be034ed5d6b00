"""Ctrl-C in `agui-gate run`, wherever it is: every open call gets a result, and the thread's next turn is legal."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agui_gate.core.approvals import LOCAL, State
from agui_gate.core.transcript import ResultEntry, TurnEntry
from agui_gate.stores import open_store
from agui_gate_adapters.testkit import Emulator, serve
from tests.cli.support import PATIENT, Running, call, running
from tests.product.shop import call as asks
from tests.product.shop import say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B9", "S29", "S30")]

RUN = ["run", "cli_desk:agent", "--thread", "t1"]
TIMEOUT = 60.0
BLAST = asks("blast", place="rock")

Json = dict[str, Any]
Play = Callable[[Running], object]


class Desk:
    """A directory with a store in it, and the provider that its commands talk to."""

    def __init__(self, folder: Path, emulator: Emulator, url: str) -> None:
        self.folder, self.emulator = folder, emulator
        self.env = {"OPENAI_BASE_URL": url}

    async def stop(self, play: Play, *options: str, terminal: bool = False) -> str:
        """Begin a run, stop it by Ctrl-C once it came to where ``play`` leaves it; what it printed."""
        return await asyncio.to_thread(self._stop, play, options, terminal)

    def _stop(self, play: Play, options: tuple[str, ...], terminal: bool) -> str:
        command = [*RUN, "-m", "go", *options]
        with running(self.folder, *command, terminal=terminal, env=self.env, command=PATIENT) as process:
            play(process)
            code = process.stop(signal.SIGINT)
        assert code == 130, process.text
        assert "Traceback" not in process.text
        return process.text

    async def go_on(self, *options: str) -> "subprocess.CompletedProcess[str]":
        """Another run on the thread; the provider must have nothing against it."""
        done = await asyncio.to_thread(call, self.folder, *RUN, *options, env=self.env)
        assert not self.emulator.refusals, [(e.rule, e.error) for e in self.emulator.refusals]
        return done

    async def left(self) -> tuple[str | None, set[str], set[str]]:
        """How the run ended, which calls have no result, and which tools wait for a person."""
        store = open_store(f"sqlite:///{self.folder / 'agui-gate.db'}")
        await store.start()
        try:
            thread = await store.read_thread(LOCAL, "t1")
        finally:
            await store.aclose()
        assert thread is not None
        waiting = {a.tool for a in thread.approvals if a.state is State.PENDING}
        closed = {e.call_id for e in thread.entries if isinstance(e, ResultEntry)}
        closed |= {a.call_id for a in thread.approvals if a.state is not State.PENDING}
        made = [c for e in thread.entries if isinstance(e, TurnEntry) and not e.cut for c in e.calls]
        return thread.run_status, {c.name for c in made if c.id not in closed} - waiting, waiting

    def notes(self) -> list[str]:
        """What the tools noted."""
        return (self.folder / "notes.txt").read_text().splitlines()

    def outputs(self) -> list[str]:
        """What the provider was told in the last request about calls."""
        body = self.emulator.accepted[-1].body or {}
        return [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]


@pytest.fixture
async def desk(tmp_path: Path) -> Any:
    emulator = Emulator()
    async with asyncio.timeout(TIMEOUT), serve(emulator) as url:
        yield Desk(tmp_path, emulator, url)


def events(text: str) -> list[Json]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def assert_closed(stream: list[Json]) -> None:
    """Every call of the stream has one result before its end, which says that the run was stopped."""
    calls = [event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_START"]
    results = [event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_RESULT"]
    assert sorted(results) == sorted(calls)
    assert (stream[-1]["type"], stream[-1]["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})


async def test_while_tools_run_that_never_return(desk: Desk) -> None:
    desk.emulator.load(script(asks("dig", place="here"), asks("grind", what="flour"), asks("look", place="here")))

    running = r"(?s)(?=.*\[digging here\])(?=.*\[grinding flour\])(?=.*TOOL_CALL_RESULT)"  # of the one that returns
    stream = events(await desk.stop(lambda process: process.wait_for(running), "--json"))
    assert_closed(stream)
    assert len([event for event in stream if event["type"] == "TOOL_CALL_RESULT"]) == 3
    assert sorted(desk.notes()) == ["digging here", "grinding flour", "stopped here"]
    assert await desk.left() == ("cancelled", set(), set())
    assert (await desk.go_on("-m", "again")).stdout == "Done.\n"
    assert len(desk.outputs()) == 3
    assert len(desk.notes()) == 3, "nothing ran again"


async def test_while_a_call_is_streamed(desk: Desk) -> None:
    slow = {"output": [asks("dig", place="here " * 200)], "fault": {"kind": "slow", "ms": 50}}
    desk.emulator.load([slow, {"output": [say("Done.")], "repeat": True}])
    assert_closed(events(await desk.stop(lambda process: process.wait_for("TOOL_CALL_ARGS"), "--json")))
    assert await desk.left() == ("cancelled", set(), set())
    assert (await desk.go_on("-m", "again")).stdout == "Done.\n"
    assert not (desk.folder / "notes.txt").exists(), "nothing runs from half of its arguments"


@pytest.mark.parametrize(("said", "event"), [(0, "RUN_STARTED"), (12, "TEXT_MESSAGE_CONTENT")], ids=["silence", "text"])
async def test_while_the_provider_talks_or_hangs(desk: Desk, said: int, event: str) -> None:
    hangs = {"output": [say("word " * 100)], "fault": {"kind": "hang", "after_events": said}}
    desk.emulator.load([hangs])
    assert_closed(events(await desk.stop(lambda process: process.wait_for(event), "--json")))
    assert await desk.left() == ("cancelled", set(), set())
    desk.emulator.load([{"output": [say("Done.")]}])
    assert (await desk.go_on("-m", "again")).stdout == "Done.\n"


async def test_at_the_question_what_was_asked_keeps_waiting(desk: Desk) -> None:
    desk.emulator.load(script(asks("look", place="here"), BLAST, asks("blast", place="hill")))

    def play(process: Running) -> None:
        process.wait_for("for later: ")
        process.type("y\n")  # to the first; it counts when both are answered
        process.wait_for("for later: ")

    await desk.stop(play, terminal=True)
    assert await desk.left() == ("waiting", set(), {"blast"})
    assert (await desk.go_on("-m", "never mind", "--approve", "no")).stdout == "Done.\n"
    assert await desk.left() == ("finished", set(), set())
    assert len(desk.outputs()) == 3
    assert not (desk.folder / "notes.txt").exists()


async def test_while_an_approved_call_runs(desk: Desk) -> None:
    desk.emulator.load(script(BLAST, asks("blast", place="hill")))
    stream = events(await desk.stop(lambda process: process.wait_for(r"\[blasting"), "--approve", "yes", "--json"))
    assert (stream[-1]["type"], stream[-1]["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})
    assert await desk.left() == ("cancelled", set(), set())
    before = desk.notes()
    assert (await desk.go_on("-m", "again", "--approve", "no")).stdout == "Done.\n"
    assert await desk.left() == ("finished", set(), set())
    assert len(desk.outputs()) == 2
    assert desk.notes() == before, "an approval is used once"
