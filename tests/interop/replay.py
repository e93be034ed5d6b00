"""Replay recorded streams to the real `@ag-ui/client` 0.0.59 and 1.0.0, and look at what each made of them.

    results = replay([Case("greeting", [Run(body=stream, input=request)])])
    assert_accepted(results)

One Node process a client reads all cases (`replay.mjs`). The runs of a case share one agent object, so a
resumed run starts from the messages, the state and the pending interrupts that the real client holds by then.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

VERSIONS = ("0.0.59", "1.0.0")
HERE = Path(__file__).resolve().parent
NODE_MAJOR = 20


@dataclass(frozen=True, slots=True)
class Run:
    """One request and the response recorded for it.

    `input` is the `RunAgentInput` that was posted, or the part that matters: messages whose id the client doesn't
    know yet are added to its history, tool messages where pages put them (`replace=True`: they become its history);
    `resume`, `tools`, `context`, `forwardedProps` and `runId` go to `runAgent`. `body` is the response as it stood on
    the wire.
    """

    body: str
    input: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A thread: runs in the order in which one client makes them."""

    name: str
    runs: Sequence[Run]


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a client held after a run.

    `outcome` is `success`, `interrupt`, `cancelled`, `error` (a RUN_ERROR arrived, see `run_error`) or None: the
    stream ended without a terminal event, which both clients accept and a server must never do.
    """

    accepted: bool
    error: str | None
    warnings: list[str]
    outcome: str | None
    messages: list[dict[str, Any]]
    state: Any
    pending_interrupts: list[dict[str, Any]]
    run_error: dict[str, Any] | None
    request: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Result:
    """What one client version made of one case."""

    case: str
    version: str
    accepted: bool
    error: str | None
    runs: list[RunResult]

    @property
    def last(self) -> RunResult:
        """The run that the case ended with."""
        return self.runs[-1]


def unavailable() -> str | None:
    """Why the clients can't be run here, or None."""
    node = shutil.which("node")
    if node is None:
        return "Node is not on the path"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=120, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < NODE_MAJOR:
        return f"Node {version.strip()} is older than {NODE_MAJOR}"
    if not all(
        (HERE / "node_modules" / name).is_dir() for name in ("client-100", "@copilotkit/core", "@copilotkit/aimock")
    ):
        return "the clients are not installed (make e2e, or npm ci in tests/interop)"
    return None


def replay(cases: Iterable[Case], *, timeout: float = 600) -> list[Result]:
    """Replay every case to every client version, which take them at the same time; at most `timeout` seconds.

    The results come in the order of the cases, the versions in the order of `VERSIONS`. A case that a client refuses
    is a result; only a harness that can't run raises.
    """
    if reason := unavailable():
        raise RuntimeError(f"the real clients can't be run: {reason}")
    lines = "".join(f"{json.dumps(asdict(case))}\n" for case in cases)
    with ThreadPoolExecutor(len(VERSIONS)) as clients:
        by_version = list(clients.map(partial(_replayed, lines, timeout), VERSIONS))
    return [result for of_a_case in zip(*by_version, strict=True) for result in of_a_case]


def _replayed(lines: str, timeout: float, version: str) -> list[Result]:
    """What one client made of the cases, which are JSON, one a line."""
    command = ["node", str(HERE / "replay.mjs"), version]
    environment = {"PATH": os.environ["PATH"], "NODE_NO_WARNINGS": "1"}
    done = subprocess.run(
        command, input=lines, capture_output=True, encoding="utf-8", timeout=timeout, env=environment, check=False
    )
    if done.returncode:
        raise RuntimeError(f"replay.mjs failed ({done.returncode}):\n{done.stderr}")
    return [_result(json.loads(line)) for line in done.stdout.split("\n") if line]


def assert_accepted(results: Iterable[Result], *, warnings: bool = False) -> None:
    """Every run was accepted by every client, ended with a terminal event and (unless `warnings`) drew no complaint."""
    problems = [
        f"{result.case} · client {result.version} · run {number}: {problem}"
        for result in results
        for number, run in enumerate(result.runs, 1)
        for problem in _problems(run, warnings=warnings)
    ]
    assert not problems, "\n".join(problems)


def _problems(run: RunResult, *, warnings: bool) -> list[str]:
    if not run.accepted:
        return [run.error or "refused"]
    ended = [] if run.outcome else ["the stream ended without a terminal event"]
    return ended + ([] if warnings else run.warnings)


def _result(line: dict[str, Any]) -> Result:
    runs = [
        RunResult(
            accepted=run["accepted"],
            error=run["error"],
            warnings=run["warnings"],
            outcome=run["outcome"],
            messages=run["messages"],
            state=run["state"],
            pending_interrupts=run["pendingInterrupts"],
            run_error=run["runError"],
            request=run["request"],
        )
        for run in line["runs"]
    ]
    return Result(line["case"], line["version"], line["accepted"], line["error"], runs)
