"""A deployment for the runbook's tests: a store, a provider, servers as processes of their own, and who uses them."""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO, Any

import httpx2

from tests.cli.support import PROGRAM, TIMEOUT, environment, new, running
from tests.crash.world import orders_of, script
from tests.runbook.page import Page
from tests.support import forks

HERE = Path(__file__).parent
Json = dict[str, Any]
ORDERS = {
    f"{tool} {letter}{number}": orders_of((tool, f"{letter}{number}"))
    for tool, letter in (("refund", "R"), ("wait", "W"), ("hang", "H"))
    for number in range(4)
}
HANGS = {"when": {"user": "hang up"}, "output": [{"type": "message", "deltas": ["One ", "moment"]}],
         "fault": {"kind": "hang", "after_events": 4, "times": 0}, "repeat": True}  # fmt: skip
LIMITED = {"when": {"user": "too often"}, "output": [{"type": "message", "text": "Done."}],
           "fault": {"kind": "status", "status": 429, "times": 0}, "repeat": True}  # fmt: skip
_numbers = count(1)


class Server:
    """A process that serves `shop`. ``log`` is its file."""

    def __init__(self, process: "forks.Process | subprocess.Popen[bytes]", said: IO[str], log: Path) -> None:
        self.process, self._said, self.log = process, said, log
        self.lines: list[str] = []
        self.url = self._line(r"is up at (http://\S+)")[1].rstrip("/")
        self._client = httpx2.Client(base_url=self.url, trust_env=False, timeout=TIMEOUT)
        self._aside = ThreadPoolExecutor(8)

    def _line(self, pattern: str) -> "re.Match[str]":
        while line := self._said.readline():
            self.lines.append(line)
            if found := re.search(pattern, line):
                return found
        self._said.close()
        raise AssertionError(f"it doesn't start: {''.join(self.lines)}{self.log.read_text()}")

    def send(self, who: str, method: str, path: str, body: Json | None = None) -> httpx2.Response:
        """A request of somebody's, by their name or their token."""
        token = f"token-of-{who}" if len(who) < 10 else who
        return self._client.request(method, path, json=body, headers={"authorization": f"Bearer {token}"})

    def say(self, who: str, thread: str, text: str) -> httpx2.Response:
        """The answer to a message, once it is over."""
        said = {"id": f"m{next(_numbers)}", "role": "user", "content": text}
        return self.send(who, "POST", "/", {"threadId": thread, "runId": f"r{next(_numbers)}", "messages": [said]})

    def ask(self, who: str, thread: str, text: str) -> str:
        """The approval's id of the call that waits then."""
        told = self.say(who, thread, text)
        found = re.search(r"apr_[\w.]+", told.text)
        assert found, told.text
        return found[0]

    def decide(self, who: str, approval: str, approved: bool = True) -> httpx2.Response:
        return self.send(who, "POST", f"/approvals/{approval}", {"approved": approved})

    def aside(self, do: Any, *arguments: Any) -> "Future[Any]":
        """The same in a thread: of what comes to no end."""
        return self._aside.submit(do, *arguments)

    def record(self, who: str, approval: str) -> Json:
        found: Json = self.send(who, "GET", f"/approvals/{approval}").json()
        return found

    def ready(self) -> int:
        return self.send("nobody", "GET", "/readyz").status_code

    def until(self, is_so: Any, what: str) -> None:
        """Waits for that. Who asks the server meanwhile gives it time."""
        end = threading.Event()
        timer = threading.Timer(TIMEOUT, end.set)
        timer.start()
        try:
            while not is_so():
                assert not end.is_set(), f"not {what}: {self.log.read_text()[-3000:]}"
                with suppress(httpx2.HTTPError):
                    self.send("nobody", "GET", "/healthz")
        finally:
            timer.cancel()

    def until_logged(self, pattern: str) -> None:
        """Waits until the log has a line like that."""
        self.until(lambda: re.search(pattern, self.log.read_text()), pattern)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Sends it a signal, and waits until it is gone; its exit code."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
        code: int = self.process.wait(TIMEOUT)
        self._said.close()
        self._aside.shutdown(cancel_futures=True)
        self._client.close()
        return code


class Place:
    """A deployment. ``env``: the settings of its servers, and of whoever follows a page."""

    def __init__(self, folder: Path, store: str, provider: str, **settings: str) -> None:
        self.folder, self.provider = folder, provider
        self.tokens = folder / "tokens"
        self.give_tokens(ann="token-of-ann", bob="token-of-bob")
        self.env = {"AGUI_GATE_STORE": store, "AGUI_GATE_TOKENS_FILE": str(self.tokens), **settings}
        self.log = folder / "server.log"
        self.servers: list[Server] = []
        os.mkfifo(folder / "door")

    def open_door(self) -> None:
        """Lets a call of `wait` go on."""
        (self.folder / "door").write_bytes(b"")

    def give_tokens(self, **tokens: str) -> None:
        """Writes the file of tokens."""
        self.tokens.write_text("".join(f"{name}:{token}\n" for name, token in tokens.items()))
        self.tokens.chmod(0o600)

    def start(self, *path: Path, port: int = 0, **settings: str) -> Server:
        """One more server. ``path``: where another version of ours is."""
        env = self._environment(path, settings)
        words = ["serve", "shop:agent", "--port", str(port)]
        ours, theirs = os.pipe()
        with self.log.open("a") as log, open(os.devnull) as nothing:
            if path:
                command = [*new(PROGRAM), *words]
                process: Any = subprocess.Popen(
                    command, cwd=self.folder, env=env, stdin=nothing, stdout=theirs, stderr=log
                )
            else:
                streams = (nothing.fileno(), theirs, log.fileno())
                process = forks.start(PROGRAM, words, cwd=self.folder, env=env, streams=streams, session=True)
        os.close(theirs)
        try:
            server = Server(process, os.fdopen(ours), self.log)
        except AssertionError:
            process.wait(TIMEOUT)
            raise
        self.servers.append(server)
        return server

    def command(self, path: Path, *words: str) -> str:
        """What a command of another version says, which does well."""
        env = self._environment((path,), {})
        done = subprocess.run(
            [*new(PROGRAM), *words],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _environment(self, path: Sequence[Path], settings: Mapping[str, str]) -> dict[str, str]:
        return environment(
            PYTHONPATH=os.pathsep.join(map(str, (*path, HERE))),
            EFFECTS=str(self.folder / "effects"),
            DOOR=str(self.folder / "door"),
            **{"PROVIDER": self.provider, **self.env, **settings},
        )

    def page(self, name: str, **values: str) -> Page:
        """A page that somebody follows here."""
        return Page(name, self.folder, self.env, LOGFILE=str(self.log), **values)

    def effects(self) -> list[Json]:
        """What was carried out, in order: the ledger of the system that the tools change."""
        file = self.folder / "effects"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def close(self) -> None:
        """Ends all servers."""
        for server in self.servers:
            server.end(signal.SIGKILL)


@contextmanager
def provider(folder: Path) -> Iterator[str]:
    """The strict emulator as a process of its own; its address."""
    turns = [HANGS, LIMITED, *script(ORDERS)]
    (folder / "script.json").write_text(json.dumps(turns))
    with running(folder, "emulator", "--port", "0", "--script", str(folder / "script.json")) as emulator:
        yield emulator.wait_for(r"(http://127\.0\.0\.1:\d+/v1)")[1]
