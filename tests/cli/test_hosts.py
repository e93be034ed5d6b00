"""What the README says about mounts and about other hosts (issue 9, line 24)."""

import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.cli.support import TIMEOUT, environment
from tests.cli.test_serve import run_input
from tests.requirements import shows

pytestmark = shows("T24")

ROOT = Path(__file__).parents[2]
WAIT = json.dumps(run_input("wait"))


@contextmanager
def hosted(tmp_path: Path, target: str, *options: str) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """uvicorn by itself with one of the targets, on a socket that is bound already; and its address."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        store = f"sqlite:///{tmp_path / 'x.db'}"
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", f"cli_hosts:{target}", "--fd", str(sock.fileno()), *options],
            cwd=tmp_path,
            env=environment(HOSTS_STORE=store, AGUI_GATE_LOG_LEVEL="error"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[sock.fileno()],
            start_new_session=True,
        )
        try:
            yield process, f"http://127.0.0.1:{sock.getsockname()[1]}"
        finally:
            process.kill()
            process.wait(TIMEOUT)


@pytest.mark.parametrize(("target", "status"), [("passed_on", "cancelled"), ("forgotten", "running")])
def test_uvicorn_by_itself_cuts_streams_when_its_time_is_over(tmp_path: Path, target: str, status: str) -> None:
    with hosted(tmp_path, target, "--timeout-graceful-shutdown", "1") as (process, url):
        with (
            httpx2.Client(base_url=url, trust_env=False, timeout=TIMEOUT) as client,
            client.stream("POST", "/chat/", content=WAIT, headers={"content-type": "application/json"}) as response,
        ):
            lines = response.iter_lines()
            assert next(line for line in lines if "Waiting" in line)
            process.send_signal(signal.SIGTERM)
            with pytest.raises(httpx2.RemoteProtocolError):
                assert not [line for line in lines if "RUN_ERROR" in line or "RUN_FINISHED" in line]
        assert process.wait(TIMEOUT) == -signal.SIGTERM
    with sqlite3.connect(tmp_path / "x.db") as db:
        assert db.execute("SELECT run_status FROM threads").fetchall() == [(status,)]
    db.close()


def test_a_mount_without_its_slash_is_redirected(tmp_path: Path) -> None:
    with (
        hosted(tmp_path, "passed_on") as (_, url),
        httpx2.Client(base_url=url, trust_env=False, timeout=TIMEOUT) as client,
    ):
        hello = run_input("hello")
        redirected = client.post("/chat", json=hello)
        assert (redirected.status_code, redirected.headers["location"]) == (307, f"{url}/chat/")
        asking = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
        assert client.options("/chat", headers=asking).status_code == 307  # which no browser follows
        proxied = client.post("/chat", json=hello, headers={"host": "localhost"})
        assert proxied.headers["location"] == "http://localhost/chat/"
        for path in ("/chat/", "/chat/agents/shop"):
            assert "You said hello" in client.post(path, json=hello | {"threadId": path.strip("/")}).text
            assert client.options(path, headers=asking).status_code == 200


def test_the_readme_says_so() -> None:
    text = (ROOT / "README.md").read_text()
    section = text[text.index("## Running it") :]
    for host in ("agui-gate serve", "uvicorn", "hypercorn", "gunicorn", "granian"):
        assert re.search(rf"^ *\| .*{host}", section, re.MULTILINE), host
    assert "`POST /chat` is answered 307" in section
