"""The processes behind the browser tests: provider, server, a guarded server, CopilotKit's Node runtime, the driver."""

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tests.support import forks
from tests.support.servers import free_port

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "frontend-demo"
START = 120.0
"""Seconds for a process to come up, or to end."""
SCENARIO = 480.0
"""Seconds for one scenario."""
NAMES = ("provider", "server", "guarded", "runtime", "guarded runtime", "mixed runtime", "team", "elsewhere")
AT_ONCE = ("provider", "server", "guarded", "driver")
"""They need nobody to start; CopilotKit's runtime asks its server."""
GUARDED, MIXED, TEAM = "guarded runtime", "mixed runtime", "team"
ON_DEMAND = (GUARDED, MIXED, TEAM)
"""Few scenarios want them: one starts the first, those with the option `runtime` or `server` get theirs started."""
CLIENT_1 = ROOT / "tests" / "interop" / "node_modules" / "client-100" / "dist" / "index.mjs"
"""The client of AG-UI 1.0, which declares that version."""
FAR = {
    f"AGUI_GATE_{name}": "3600"
    for name in ("EVENTS_SECONDS", "SEND_TIMEOUT", "HEADER_SECONDS", "BODY_SECONDS", "KEEP_ALIVE_SECONDS")
}
"""Time limits of every server here that no scenario is about: a busy machine can't pass them."""
LIMITS = {"AGUI_GATE_MAX_BODY_BYTES": "60000"}
USAGE = {"AGUI_GATE_USAGE": "true"}
TOKENS = {"AGUI_GATE_TOKENS": "alice:wonderland"}
TOKEN = {"AGUI_GATE_TOKEN": "wonderland"}


class Forked:
    """A program of Python that begins with everything imported; of `subprocess.Popen` it has what `Process` uses."""

    def __init__(self, module: str, *arguments: str, env: Mapping[str, str]) -> None:
        program = f"import sys; from {module} import main; main(*sys.argv[1:])"
        asked, told = os.pipe(), os.pipe()
        try:
            self._process = forks.start(program, arguments, cwd=ROOT, env=env, streams=(asked[0], told[1], 2))
        finally:
            os.close(asked[0])
            os.close(told[1])
        self.stdin: IO[str] | None = os.fdopen(asked[1], "w")
        self.stdout: IO[str] | None = os.fdopen(told[0])

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended. Raises `subprocess.TimeoutExpired` after so many seconds."""
        return self._process.wait(START if timeout is None else timeout)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._process.send_signal(signal.SIGKILL)


class Process:
    """A child that says one line when it is up; its stderr goes to ours. ``by_input``: it ends with its input."""

    def __init__(
        self, *command: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None, by_input: bool = False
    ) -> None:
        self._command, self._cwd, self._by_input = command, cwd, by_input
        self._env = {**os.environ, "COPILOTKIT_TELEMETRY_DISABLED": "true", **FAR, **(env or {})}
        self.child: subprocess.Popen[str] | Forked | None = None

    def start(self) -> None:
        """Start it and wait for its first line."""
        self.spawn()
        self.line(START)

    def spawn(self) -> None:
        """Start it; `line` waits for it."""
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(self._command, cwd=self._cwd, env=self._env, stdin=pipe, stdout=pipe, text=True)

    def line(self, seconds: float) -> str:
        """Its next line. Raises `TimeoutError`, or `RuntimeError` if it has ended."""
        assert self.child is not None
        assert self.child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                raise TimeoutError(f"{self._command[0]} said nothing for {seconds} s")
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self._command[:4])} has ended with {self.child.wait(5)}")
        return line.strip()

    def kill(self) -> None:
        """End it at once: it can't tell anybody, nor write anything down."""
        assert self.child is not None
        self.child.kill()
        self.stop()

    def stop(self) -> None:
        """End it, gently at first. The driver ends with its input, and closes its browser before."""
        if self.child is None:
            return
        assert self.child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()
        if not self._by_input:
            self.child.terminate()
        try:
            self.child.wait(START)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        assert self.child.stdout is not None
        self.child.stdout.close()
        self.child = None


class Program(Process):
    """A module of Python with a `main`, forked from a process that has all of it imported."""

    def spawn(self) -> None:
        """Start it; `line` waits for it."""
        self.child = Forked(*self._command, env=self._env)


def program(*arguments: str, env: Mapping[str, str] | None = None) -> Process:
    """One of `programs.py`."""
    return Program("tests.e2e.programs", *arguments, env=env)


def runtime(node: str, server: str, port: str, env: Mapping[str, str] | None = None) -> Process:
    """CopilotKit's Node runtime in front of a server."""
    return Process(node, "server.mjs", cwd=PAGE / "runtime", env={"AGUI_GATE_URL": server, "PORT": port, **(env or {})})


def mixed_runtime(node: str, server: str, port: str) -> Process:
    """The same, with the client of AG-UI 1.0 before the server; what reads in the browser is 0.0.59 as ever."""
    source = (PAGE / "runtime" / "server.mjs").read_text()
    mixed = source.replace('"@ag-ui/client"', f'"{CLIENT_1.as_uri()}"')
    assert mixed != source
    env = {"AGUI_GATE_URL": server, "PORT": port}
    return Process(node, "--input-type=module", "--eval", mixed, cwd=PAGE / "runtime", env=env)


class Stack:
    """Everything, running."""

    def __init__(self, directory: Path, shots: bool) -> None:
        node = shutil.which("node")
        assert node, "Node 20 or newer is needed"
        ports = {name: str(free_port()) for name in NAMES}
        url = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
        model = f"{url['provider']}/v1"
        elsewhere = {"AGUI_GATE_CORS_ORIGINS": url["elsewhere"]}
        self.urls = url
        self.streams: tuple[Path, ...] = (
            directory / "open.jsonl",
            directory / "guarded.jsonl",
            directory / "team.jsonl",
        )
        stores = [(f"sqlite:///{file.with_suffix('.db')}", str(file)) for file in self.streams]
        self.processes = {
            "provider": program("provider", ports["provider"]),
            "server": program("server", ports["server"], model, *stores[0], env=LIMITS | USAGE | elsewhere),
            "guarded": program("server", ports["guarded"], model, *stores[1], env=TOKENS),
            "runtime": runtime(node, url["server"], ports["runtime"]),
            GUARDED: runtime(node, url["guarded"], ports[GUARDED], TOKEN),
            MIXED: mixed_runtime(node, url["server"], ports[MIXED]),
            TEAM: Program("tests.e2e.teamwork", ports[TEAM], model, *stores[2]),
            "driver": Process(node, "driver.mjs", cwd=HERE, env={"SHOTS": "1" * shots}, by_input=True),
        }

    def run(self, scenario: str, options: dict[str, Any]) -> None:
        """Run a scenario in the driver; what it asks for in between is done. Raises `AssertionError` with its story."""
        for name in (options.get("runtime", ""), options.get("server", "")):
            if (wanted := self.processes.get(name)) and wanted.child is None:
                wanted.start()
        try:
            self._run(scenario, options)
        except (OSError, RuntimeError, TimeoutError):
            self.processes["driver"].stop()  # what it says later would be taken for the next scenario's answer
            raise
        finally:
            for name, process in self.processes.items():
                # A scenario that failed may not have started again what it stopped.
                if process.child is None and name not in ON_DEMAND:
                    process.start()

    def _run(self, scenario: str, options: dict[str, Any]) -> None:
        driver = self.processes["driver"]
        self._tell({"scenario": scenario, "options": options, "urls": self.urls})
        deadline = time.monotonic() + SCENARIO
        while True:
            told = json.loads(driver.line(deadline - time.monotonic()))
            if "error" in told:
                raise AssertionError(told["error"])
            if told.get("done"):
                return
            process = self.processes[told["process"]]
            {"stop": process.stop, "kill": process.kill, "start": process.start}[told["do"]]()
            self._tell({"done": True})

    def _tell(self, message: dict[str, Any]) -> None:
        child = self.processes["driver"].child
        assert child is not None
        assert child.stdin is not None
        child.stdin.write(json.dumps(message) + "\n")
        child.stdin.flush()


@contextmanager
def running(directory: Path, shots: bool = False) -> Iterator[Stack]:
    """Start everything, together where it can; end it in the other order. ``shots``: pictures are taken for people."""
    stack = Stack(directory, shots)
    with contextlib.ExitStack() as exits:
        for process in stack.processes.values():
            exits.callback(process.stop)
        for name in AT_ONCE:
            stack.processes[name].spawn()
        for name in AT_ONCE:
            stack.processes[name].line(START)
        stack.processes["runtime"].start()
        yield stack
