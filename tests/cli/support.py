"""Running the command line: in process, as a process with pipes, and as a process with a terminal."""

import codecs
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support import forks

ROOT = Path(__file__).parents[2]
TARGETS = Path(__file__).parent / "targets"
TIMEOUT = 60.0
LIFETIME = 600
"""Seconds after which a command ends by itself, even if nobody is left to end it."""

_PROGRAM = f"""
import faulthandler, signal
signal.alarm({LIFETIME})
signal.signal(signal.SIGINT, signal.default_int_handler)
faulthandler.register(signal.SIGUSR1)
{{before}}
from agui_gate_start import main
main()
"""


PROGRAM = _PROGRAM.format(before="")
"""The command line. Ctrl-C ends it, even if it is started in the background."""
PATIENT = _PROGRAM.format(
    before=f"import sys; sys.path.append({str(ROOT)!r}); from tests.support import patience; patience.at_the_end()"
)
"""For a server of which a test wants to see that nothing holds up its end, however busy the machine is."""


def program_killed(point: str) -> str:
    """The command line; the process ends at a failpoint of the command's store (`tests.support.failpoints`)."""
    before = f"import sys; sys.path.append({str(ROOT)!r}); from tests.support import failpoints"
    return _PROGRAM.format(before=f"{before}; failpoints.arm_command({point!r})")


def new(program: str) -> list[str]:
    """The command that runs a program in a new interpreter: where a test is about its start, or starts it again."""
    return [sys.executable, "-c", program]


def environment(**extra: str) -> dict[str, str]:
    """This process's variables without any setting of ours, plus ``extra``; the targets can be imported.

    Neither do they say how wide a terminal is, or that make was started by another make.
    """
    others = ("AGUI_GATE", "OPENAI", "COLUMNS", "LINES", "MAKELEVEL")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return {**clean, "PYTHONPATH": str(TARGETS), "PYTHONUNBUFFERED": "1", **extra}


def call(
    cwd: Path, *arguments: str, env: Mapping[str, str] | None = None, said: str = "", command: str | None = PROGRAM
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end. ``said``: what is on stdin. ``command``: None for a new interpreter."""
    clean = environment(**(env or {}))
    if command is None:
        return subprocess.run(
            [*new(PROGRAM), *arguments],
            cwd=cwd,
            env=clean,
            input=said,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    theirs, ours = os.pipe()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        streams = (theirs, out.fileno(), err.fileno())
        process = forks.start(command, arguments, cwd=cwd, env=clean, streams=streams)
        os.close(theirs)
        with suppress(BrokenPipeError), open(ours, "w") as stdin:
            stdin.write(said)
        try:
            code = process.wait(TIMEOUT)
        finally:
            process.send_signal(signal.SIGKILL)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


class Running:
    """A command that was started; what it printed so far is in ``text``."""

    def __init__(self, process: "subprocess.Popen[bytes] | forks.Process", output: int) -> None:
        self.process = process
        self.text = ""
        self._output = output
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode  # a read may end within a character
        self._seen = 0

    def wait_for(self, pattern: str) -> "re.Match[str]":
        """Read until ``pattern`` appears behind what was waited for before."""
        end = time.monotonic() + TIMEOUT
        while not (found := re.compile(pattern).search(self.text, self._seen)):
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"no {pattern!r} in {self.text[self._seen :]!r}")
        self._seen = found.end()
        return found

    def type(self, text: str) -> None:
        """Type on the terminal."""
        os.write(self._output, text.encode())

    def stop(self, sig: signal.Signals) -> int:
        """Send a signal; the exit code. A command that doesn't end within `TIMEOUT` is an error."""
        self.process.send_signal(sig)
        return self.end()

    def end(self) -> int:
        """Read to the end; the exit code. A command that doesn't end says where it is."""
        end = time.monotonic() + TIMEOUT
        while self._read(end - time.monotonic()):
            pass
        try:
            return self.process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGUSR1)
            while self._read(1):
                pass
            raise AssertionError(f"it goes on: {self.text}") from None

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._output], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._output, 65536)
        except OSError:  # how a terminal ends
            data = b""
        self.text += self._decode(data)
        return bool(data)


@contextmanager
def running(
    cwd: Path,
    *arguments: str,
    terminal: bool = False,
    columns: int = 0,
    env: Mapping[str, str] | None = None,
    command: str | Sequence[str] = PROGRAM,
) -> Iterator[Running]:
    """Start a command; what still runs in the end is killed. ``columns`` of a terminal: 0 if it doesn't say.

    ``command``: a program, which begins with all imported, or what starts one.
    """
    ours, theirs = pty.openpty() if terminal else os.pipe()
    if terminal:
        termios.tcsetwinsize(theirs, (24 if columns else 0, columns))
    with open(os.devnull) as nothing:
        stdin = theirs if terminal else nothing.fileno()
        process = _started(command, arguments, cwd, environment(TERM="dumb", **(env or {})), (stdin, theirs, theirs))
    os.close(theirs)
    try:
        yield Running(process, ours)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its children too
        process.wait(TIMEOUT)
        os.close(ours)


def _started(
    command: str | Sequence[str],
    arguments: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
) -> "subprocess.Popen[bytes] | forks.Process":
    if isinstance(command, str):
        return forks.start(command, arguments, cwd=cwd, env=env, streams=streams, session=True)
    stdin, stdout, stderr = streams
    words = [*command, *arguments]
    return subprocess.Popen(words, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)
