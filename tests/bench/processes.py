"""Processes of the benchmark: how they are started, watched and ended, seen from both sides.

A child binds a port itself, prints it, and lives until its standard input closes, so it can't outlive its parent,
however that ends. Where the kernel doesn't show a process's CPU clock to others, the parent asks the
child over the same pipes.
"""

import os
import resource
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINUX = sys.platform.startswith("linux")


class Child:
    """A running ``python -m tests.bench.<module> <args>``. ``port`` is where it listens on 127.0.0.1."""

    def __init__(
        self,
        folder: Path,
        module: str,
        *args: str,
        under: Sequence[str] = (),
        seconds: float = 30,
        python: str = sys.executable,
    ) -> None:
        """Starts it ``under`` another program if there is one, by that ``python``; it has so many ``seconds``."""
        self.name = " ".join((module, *(Path(one).name for one in args[:1])))
        self._errors = folder / f"{self.name.replace(' ', '-')}.log"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("AGUI_GATE_", "OPENAI_"))}
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [*under, python, "-m", f"tests.bench.{module}", *args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
                env=environment,
                start_new_session=True,  # Ctrl-C is the parent's to deal with
            )
        self.pid = self._process.pid
        self.port = self._read_port(seconds)

    def cpu(self) -> float:
        """CPU seconds of all its threads."""
        if LINUX:
            # The clock id of another process's CPU clock: what clock_getcpuclockid(3) computes.
            return time.clock_gettime(~self._process.pid << 3 | 2)
        return self._ask()[0]

    def resident(self) -> float:
        """Bytes of its memory that are in RAM (where only a peak is known, the peak)."""
        if LINUX:
            return _resident_pages(self._process.pid) * resource.getpagesize()
        return self._ask()[1]

    def errors(self) -> str:
        """The end of what it wrote to standard error."""
        return self._errors.read_text(errors="replace")[-2000:]

    def stop(self) -> None:
        """End it and wait for it. Safe to call twice."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read_port(self, seconds: float) -> int:
        line = self._line(seconds)
        if not line.strip().isdigit():
            self.stop()
            raise RuntimeError(f"{self.name} did not start:\n{self.errors()}")
        return int(line)

    def _ask(self) -> tuple[float, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(b"?")
        self._process.stdin.flush()
        cpu, resident = self._line(5).split()
        return float(cpu), float(resident)

    def _line(self, seconds: float) -> bytes:
        """The child's next line, or nothing if it took longer."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return self._process.stdout.readline() if ready else b""


def announce(port: int) -> None:
    """In the child: say that it listens, answer the parent's questions, and leave when the parent does."""
    print(port, flush=True)
    threading.Thread(target=_answer, daemon=True).start()


def _answer() -> None:
    while os.read(0, 1):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(time.process_time(), peak * (1 if sys.platform == "darwin" else 1024), flush=True)
    os._exit(0)


def _resident_pages(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
