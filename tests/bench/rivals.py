"""Servers of other frameworks, each in an environment of its own, on the same work as ours and the proxy.

An environment is made the first time, from `requirements/rivals/`. What can't be installed here is said, and not
measured. A server is `tools/rivals/`, which runs under the same uvicorn with the same configuration as ours.
"""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tests.bench.checking import WrongStream
from tests.bench.processes import ROOT
from tests.bench.report import aligned, figure
from tests.bench.scenarios import Contest
from tests.bench.work import encoded_history

START_SECONDS = 120
"""The longest that a server may take to start: some import thousands of modules."""

INSTALL_SECONDS = 900

Command = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


class Rival(msgspec.Struct, frozen=True):
    """A framework: its ``name``, and the ``packages`` whose versions its figures are of."""

    name: str
    packages: tuple[str, ...]

    @property
    def requirements(self) -> Path:
        """What its environment consists of."""
        return ROOT / f"requirements/rivals/{self.name}.txt"

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return ROOT / f".rivals/{self.name}/bin/python"

    @property
    def server(self) -> Path:
        """The file that makes its application."""
        return ROOT / f"tools/rivals/{self.name.replace('-', '_')}.py"

    @property
    def versions(self) -> str:
        """Its packages with their versions."""
        pins = dict(line.split("==") for line in self.requirements.read_text().split() if "==" in line)
        return ", ".join(f"{package} {pins[package]}" for package in self.packages)


RIVALS = (
    Rival("agent-framework", ("agent-framework-core", "agent-framework-ag-ui")),
    Rival("pydantic-ai", ("pydantic-ai-slim", "ag-ui-protocol")),
    Rival("langgraph", ("langgraph", "langchain", "ag-ui-langgraph")),
    Rival("strands", ("strands-agents", "ag-ui-strands")),
)


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)


def install(rival: Rival, run: Command = _run) -> str:
    """Makes the rival's environment, unless it is there as its requirements have it now. Returns why it can't be made;
    "" if it can.
    """
    environment = rival.python.parents[1]
    stamp = environment / "requirements.txt"
    wanted = rival.requirements.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return ""
    print(f"{rival.name}: an environment of its own (only the first time)", file=sys.stderr, flush=True)
    for command in (
        [sys.executable, "-m", "venv", str(environment)],
        [
            str(rival.python),
            "-m",
            "pip",
            "install",
            "-qq",
            "--disable-pip-version-check",
            "-r",
            str(rival.requirements),
        ],
    ):
        try:
            done = run(command)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    stamp.write_text(wanted)
    return ""


async def compare(contest: Contest) -> str:
    """Measures all that can be installed here, next to ours and the proxy. Returns a table, and what is missing."""
    missing = {rival.name: why for rival in RIVALS if (why := install(rival))}
    kinds = ["ours", "proxy"]
    for rival in RIVALS:
        if rival.name not in missing:
            try:
                contest.add(rival.name, rival.python, rival.server, START_SECONDS)
                await contest.runs(rival.name, streams=4, deltas=50, seconds=0.5)
                kinds.append(rival.name)
            except (RuntimeError, WrongStream, TimeoutError) as error:
                missing[rival.name] = str(error)
    rows = [("", *kinds)]
    for what, unit, deltas, messages in WORK:
        earlier = encoded_history(messages) if messages else b""
        found: dict[str, list[float]] = {kind: [] for kind in kinds}
        for number in range(contest.effort.rounds):
            for kind in kinds if number % 2 else reversed(kinds):
                seconds = await contest.runs(kind, streams=1, deltas=deltas, earlier=earlier)
                found[kind].append(seconds / deltas * 1e6 if unit == "µs" else seconds * 1e3)
        best = {kind: min(values) for kind, values in found.items()}
        rows.append((what, *(f"{figure(best[kind], unit)} ({best[kind] / best['ours']:.1f})" for kind in kinds)))
    said = [f"{rival.name}: {missing.get(rival.name, rival.versions)}" for rival in RIVALS]
    return "\n".join([aligned(rows), "in brackets: in ours", *said])


WORK = (
    ("a delta, 1 stream", "µs", 500, 0),
    ("a run of 2 deltas", "ms", 2, 0),
    ("a run after 100 messages", "ms", 2, 100),
    ("a run after 1,000 messages", "ms", 2, 1000),
)
"""What is measured: in which unit, with how many deltas, after how many messages that the server doesn't know."""
