"""What `docs/operations.md` says about mounts and about other hosts (T24)."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from tests.cli.support import TIMEOUT, environment
from tests.cli.test_serve import run_input
from tests.requirements import shows
from tests.support.servers import free_port

pytestmark = shows("T24")

ROOT = Path(__file__).parents[2]


GRACE = "1"
"""Seconds that a host gives to open streams, where that can be said."""

HOSTS = {
    "uvicorn": ["uvicorn", "--fd", "{fd}"],
    "hypercorn": ["hypercorn", "--bind", "fd://{fd}", "--graceful-timeout", GRACE],
    "gunicorn": ["gunicorn", "--bind", "fd://{fd}", "--worker-class", "asgi", "--graceful-timeout", GRACE],
    "uvicorn-worker": [
        *("gunicorn", "--bind", "fd://{fd}", "--worker-class", "uvicorn_worker.UvicornWorker"),
        *("--graceful-timeout", GRACE),
    ],
    "granian": ["granian", "--interface", "asgi", "--host", "127.0.0.1", "--port", "{port}"],
}


@contextmanager
def hosted(
    tmp_path: Path, target: str, *options: str, host: str = "uvicorn"
) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """One of the hosts with one of the targets, on a socket that is bound already where it takes one; its address."""
    with socket.create_server(("127.0.0.1", free_port())) as sock:
        store = f"sqlite:///{tmp_path / 'x.db'}"
        port = sock.getsockname()[1]
        command = [part.format(fd=sock.fileno(), port=port) for part in HOSTS[host]]
        if f"{port}" in command:
            sock.close()
        process = subprocess.Popen(
            [sys.executable, "-m", *command, *options, target if ":" in target else f"cli_hosts:{target}"],
            cwd=tmp_path,
            env=environment(HOSTS_STORE=store, AGUI_GATE_LOG_LEVEL="error"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[] if sock.fileno() < 0 else [sock.fileno()],
            start_new_session=True,
        )
        try:
            yield process, f"http://127.0.0.1:{port}"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its workers too
            process.wait(TIMEOUT)


def patient(url: str) -> httpx2.Client:
    """A client of a host that may still be starting."""
    transport = httpx2.HTTPTransport(retries=8)  # of connecting, each after twice as long
    return httpx2.Client(base_url=url, trust_env=False, timeout=TIMEOUT, transport=transport)


@contextmanager
def streaming(url: str, text: str) -> Iterator[Iterator[str]]:
    """The lines of a run that said its first words; the host may still be starting."""
    body, headers = json.dumps(run_input(text)), {"content-type": "application/json"}
    with (
        patient(url) as client,
        client.stream("POST", "/chat/", content=body, headers=headers) as response,
    ):
        lines = response.iter_lines()
        assert next(line for line in lines if "Waiting" in line)
        yield lines


def status_of(tmp_path: Path) -> str:
    with closing(sqlite3.connect(tmp_path / "x.db")) as db:
        ((status,),) = db.execute("SELECT run_status FROM threads").fetchall()
    return str(status)


WAITS_FOR_STREAMS = sys.version_info >= (3, 12)
"""Whether asyncio, closing a server, waits for its connections too. Hypercorn sets no limit to that wait."""

CUT = {
    "uvicorn": ("uvicorn", "passed_on", ["--timeout-graceful-shutdown", GRACE], {"cancelled"}),
    "uvicorn, without its lifespan": ("uvicorn", "forgotten", ["--timeout-graceful-shutdown", GRACE], {"running"}),
    "gunicorn": ("gunicorn", "passed_on", [], {"running", "cancelled"}),  # its worker ends, as it is killed
    "uvicorn-worker": ("uvicorn-worker", "passed_on", [], {"running"}),
} | ({} if WAITS_FOR_STREAMS else {"hypercorn": ("hypercorn", "passed_on", [], {"cancelled"})})


@pytest.mark.parametrize(("host", "target", "options", "statuses"), CUT.values(), ids=CUT)
def test_these_cut_streams_when_their_time_is_over(
    tmp_path: Path, host: str, target: str, options: list[str], statuses: set[str]
) -> None:
    """``running`` is what `docs/operations.md` calls interrupted, until another server looks."""
    with hosted(tmp_path, target, *options, host=host) as (process, url):
        with streaming(url, "wait") as lines:
            process.send_signal(signal.SIGTERM)
            with suppress(httpx2.RemoteProtocolError, httpx2.ReadError):
                ended = [line for line in lines if "RUN_ERROR" in line or "RUN_FINISHED" in line]
                assert not ended or len(statuses) > 1
        process.wait(TIMEOUT)
    assert status_of(tmp_path) in statuses


@pytest.mark.parametrize("host", ["uvicorn", "granian", *(["hypercorn"] if WAITS_FOR_STREAMS else [])])
def test_these_let_streams_go_on_to_their_end(tmp_path: Path, host: str) -> None:
    with hosted(tmp_path, "passed_on", host=host) as (process, url):
        with streaming(url, f"wait for {tmp_path / 'sign'}") as lines:
            process.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1.5)
            (tmp_path / "sign").touch()
            assert [line for line in lines if "RUN_FINISHED" in line]
        process.wait(TIMEOUT)
    assert status_of(tmp_path) == "finished"


@pytest.mark.parametrize(
    ("host", "target", "prefix"),
    [
        *(pytest.param(host, "gate", "", marks=() if host == "uvicorn" else pytest.mark.spare) for host in HOSTS),
        ("uvicorn", "passed_on", "/chat"),
        ("uvicorn", "forgotten", "/chat"),
    ],
)
@shows("T15")
def test_who_is_ready_has_loaded_and_frozen_the_models_packages(
    tmp_path: Path, host: str, target: str, prefix: str
) -> None:
    """Else the first run waits for the import, and each full collection goes through what was imported."""
    with hosted(tmp_path, f"cli_warm:{target}", host=host) as (_, url), patient(url) as client:
        if target == "forgotten":  # it starts with its first request
            assert client.get(f"{prefix}/readyz").status_code == 200
        warmth = client.get(f"{prefix}/warmth").json()
        assert warmth["imported"]
        assert warmth["frozen"] > 50_000


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


def test_the_guide_says_so() -> None:
    text = (ROOT / "docs/operations.md").read_text()
    for host in ("agui-gate serve", "uvicorn", "hypercorn", "gunicorn", "granian"):
        assert re.search(rf"^ *\| .*{host}", text, re.MULTILINE), host
    assert "`POST /chat` is answered 307" in text
