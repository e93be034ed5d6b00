"""Programs that begin with everything imported: each is forked from one process, which takes milliseconds.

`start` runs what `python -c PROGRAM ARGUMENTS…` would run, in a process of its own with the same directory, variables
and streams. It is for tests of what a program does; those of its start, and of what it imports, need a new interpreter.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

LOADED: tuple[str, ...] = (
    "agui_gate",
    *(f"agui_gate_adapters.{name}" for name in ("openai_responses", "openai_chat", "anthropic_messages")),
    *(f"agui_gate_adapters.{name}" for name in ("mcp", "remote_agui", "testkit")),
    *("httpcore2", "openai.resources.responses", "openai.resources.chat", "anthropic", "mcp.client.session"),
    *("psycopg", "psycopg_pool", "redis.asyncio", "uvloop"),
    *("uvicorn.lifespan.on", "uvicorn.protocols.http.auto", "uvicorn.protocols.http.httptools_impl"),
)
"""What the commands use; of `agui_gate` all modules."""


class Process:
    """A program that was started, as `subprocess.Popen` has it."""

    def __init__(self, ending: socket.socket) -> None:
        self._ending = ending
        self.pid = _number(ending.recv(4))
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it is there still."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self, timeout: float) -> int:
        """Its exit code, once it has ended. Raises `subprocess.TimeoutExpired` after so many seconds."""
        if self.returncode is None:
            self._ending.settimeout(timeout)
            try:
                self.returncode = _number(self._ending.recv(4))
            except TimeoutError:
                raise subprocess.TimeoutExpired(str(self.pid), timeout) from None
            self._ending.close()
        return self.returncode


def _number(sent: bytes) -> int:
    found: int = struct.unpack("!i", sent)[0]
    return found


def start(
    program: str,
    arguments: Sequence[str],
    *,
    cwd: os.PathLike[str] | str,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
    session: bool = False,
) -> Process:
    """Start a program. ``streams``: its stdin, stdout and stderr; ``session``: as the first of one of its own."""
    ours, theirs = socket.socketpair()
    given = (program, list(arguments), os.fspath(cwd), dict(env), session)
    with theirs:
        _source().ask(json.dumps(given).encode(), (*streams, theirs.fileno()))
    return Process(ours)


class _Source:
    """The process from which all are forked. It ends with this one."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        self._lock = threading.Lock()
        atexit.register(self._close)

    def _close(self) -> None:
        self._socket.close()
        self._process.wait()

    def ask(self, request: bytes, handles: Sequence[int]) -> None:
        with self._lock:
            socket.send_fds(self._socket, [struct.pack("!I", len(request))], handles)
            self._socket.sendall(request)


@cache
def _source() -> _Source:
    return _Source()


# --- in the process from which they are forked -----------------------------------------------------------------------
def _main(handle: int) -> None:
    """Fork programs until nobody asks for one any more, and tell how each ended."""
    sys.path[:] = path = sys.path[1:]  # without this folder
    _load()
    endings: dict[int, socket.socket] = {}
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno())
    asked = socket.socket(fileno=handle)
    while True:
        ready, _, _ = select.select([asked, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            _reap(endings)
        if asked not in ready:
            continue
        head, handles, _, _ = socket.recv_fds(asked, 4, 4)
        if not head:
            return
        request = json.loads(_read(asked, *struct.unpack("!I", head)))
        if not (pid := os.fork()):
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for one in (asked, woken, wakes, *endings.values()):
                one.close()
            _become(request, handles, path)
            return
        for number in handles[:3]:
            os.close(number)
        endings[pid] = socket.socket(fileno=handles[3])
        endings[pid].sendall(struct.pack("!i", pid))


def _read(asked: socket.socket, length: int) -> bytes:
    read = b""
    while len(read) < length:
        read += asked.recv(length - len(read))
    return read


def _reap(endings: dict[int, socket.socket]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with endings.pop(ended[0]) as ending, contextlib.suppress(OSError):  # nobody may wait for it any more
                ending.sendall(struct.pack("!i", os.waitstatus_to_exitcode(ended[1])))


def _load() -> None:
    for name in LOADED:
        importlib.import_module(name)
    import agui_gate

    for found in pkgutil.walk_packages(agui_gate.__path__, "agui_gate."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    gc.collect()
    gc.freeze()


def _become(request: Any, handles: Sequence[int], path: Sequence[str]) -> None:
    program, arguments, cwd, env, session = request
    if session:
        os.setsid()
    for number, one in enumerate(handles[:3]):
        os.dup2(one, number)
    for one in handles:
        os.close(one)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["-c", *arguments]
    sys.path[:] = ["", *filter(None, env.get("PYTHONPATH", "").split(os.pathsep)), *path]
    importlib.invalidate_caches()
    sys.stdin = sys.__stdin__ = open(0, closefd=False, encoding="utf-8")  # type: ignore[misc] # noqa: SIM115
    sys.stdout = sys.__stdout__ = _writer(1, "strict")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _writer(2, "backslashreplace")  # type: ignore[misc]
    code: Any = None
    try:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code
    if isinstance(code, str):
        sys.exit(code)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    os._exit(code or 0)  # what was imported is not taken apart, which would copy all of it first


def _writer(number: int, errors: str) -> Any:
    import io

    raw = open(number, "wb", 0, closefd=False)  # noqa: SIM115 it is open until the end
    return io.TextIOWrapper(raw, encoding="utf-8", errors=errors, write_through=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # programs set their own
    _main(int(sys.argv[1]))
