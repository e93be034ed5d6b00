"""No secret is in a log: planted in each address, header and error, and looked for in all that is written."""

import json
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agui_gate.core.secrets import MAX_WORDS, masked, traceback_of
from tests.cli.support import call
from tests.cli.test_serve import run_input, serving
from tests.support.servers import Valkey
from tests.support.timing import grows_less

LINE = re.compile(r"timestamp=\S+ level=\w+ event=.*")
PLANTED = {
    *(f"PLANTED-{name}-key" for name in ("responses", "chat", "messages")),
    *(f"PLANTED-{name}" for name in ("mcp-query", "mcp-header", "remote-query")),
}
AGENTS = ("responses", "chat", "messages", "tools", "remote")


class Peer(BaseHTTPRequestHandler):
    """Repeats what it was sent in each of its errors."""

    status = 400
    seen: ClassVar[list[tuple[str, str]]]

    def do_POST(self) -> None:
        """Answer with an error."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        headers = repr(sorted(self.headers.items()))
        self.seen.append((self.path, headers))
        said = f"PLANTED-error {self.path} {headers}"
        answer: Any = {"error": {"message": said, "type": said, "code": said, "param": said}, "message": said}
        if self.path.startswith("/mcp"):
            answer = {"jsonrpc": "2.0", "id": body.get("id"), "error": {"code": -32000, "message": said, "data": said}}
        data = json.dumps(answer).encode()
        self.send_response(200 if self.path.startswith("/mcp") else self.status, "PLANTED-reason")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def listening(status: int) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    seen: list[tuple[str, str]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("It", (Peer,), {"status": status, "seen": seen}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture
def stored(database: str, valkey: Valkey) -> dict[str, str]:
    """A store and a bus with passwords."""
    valkey.ask("ACL SETUSER alice on >PLANTED-bus ~* &* +@all")
    before, _, rest = database.partition("://")
    user, _, where = rest.rpartition("@")
    return {
        "AGUI_GATE_STORE": f"{before}://{user.partition(':')[0] or 'postgres'}:PLANTED-store@{where}",
        "AGUI_GATE_BUS": f"redis://alice:PLANTED-bus@127.0.0.1:{valkey.port}",
    }


@pytest.mark.parametrize("status", [400, 401, 503])
def test_a_server_at_debug_level(tmp_path: Path, stored: dict[str, str], status: int) -> None:
    with listening(status) as (peer, seen):
        options = ("cli_secrets:agents", "--log-level", "debug", "--debug")
        with serving(tmp_path, *options, SECRETS_PEER=peer, **stored) as (server, client):
            for name in AGENTS:
                answer = client.post(f"/agents/{name}", json=run_input("hello", name))
                assert "RUN_STARTED" in answer.text
            server.stop(signal.SIGTERM)
    asked = {path.split("/")[1].partition("?")[0] for path, _ in seen}
    assert asked == {"responses", "chat", "messages", "mcp", "remote"}
    sent = {plant for path, headers in seen for plant in re.findall(r"PLANTED-[\w-]+", path + headers)}
    assert sent >= PLANTED
    assert "event=provider_failed" in server.text
    assert "event=mcp_server_unavailable" in server.text
    assert "logger=support" in server.text
    assert "PLANTED" not in server.text
    lines = [line for line in server.text.splitlines() if "level=" in line or "support" in line]
    assert [line for line in lines if not LINE.fullmatch(line)] == []


def test_a_run_at_debug_level(tmp_path: Path) -> None:
    with listening(400) as (peer, seen):
        env = {"SECRETS_PEER": peer}
        done = call(tmp_path, "run", "cli_secrets:responses", "-m", "hello", "--debug", "--store", "memory://", env=env)
    assert seen
    assert done.returncode == 1
    assert "PLANTED" not in done.stdout + done.stderr


def test_what_is_not_there_at_debug_level(tmp_path: Path) -> None:
    """The tracebacks of --debug, too."""
    for store in ("postgresql://u:PLANTED@127.0.0.1:1/x?sslpassword=PLANTED", "sqlite:////nonexistent/x.db"):
        env = {"AGUI_GATE_STORE": store, "AGUI_GATE_BUS": "redis://:PLANTED@127.0.0.1:1?password=PLANTED"}
        done = call(tmp_path, "serve", "cli_shop:agent", "--port", "0", "--debug", env=env)
        assert done.returncode in (1, 2)
        assert "Traceback" in done.stderr
        assert "PLANTED" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("to postgresql://u:S3@h/db?x=S3 and on", "to postgresql://***@h/db?*** and on"),
        ("redis://:S3@h", "redis://***@h"),
        ("http://S3@x:S3@h/p", "http://***@h/p"),
        ('"GET /a?key=S3 HTTP/1.1"', '"GET /a?*** HTTP/1.1"'),
        ("Authorization: Bearer S3", "Authorization: Bearer ***"),
        ("[(b'Authorization', b'Basic S3')]", "[(b'Authorization', b'Basic ***')]"),
        ("{'x-api-key': 'S3'}", "{'x-api-key': '***'}"),
        ('{\\"password\\":\\"S3\\"}', '{\\"password\\":\\"***\\"}'),
        ("Incorrect key sk-S3S3S3S3", "Incorrect key ***"),
        ("token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJTMyJ9.S3-S3_S3", "token=***"),
        ("thread=t1 event=decided by=alice", "thread=t1 event=decided by=alice"),
        ("is it? yes: mail a@b.example", "is it? yes: mail a@b.example"),
    ],
)
def test_what_looks_like_a_credential_is_masked(text: str, left: str) -> None:
    assert masked(text) == left


@pytest.mark.parametrize(
    "like", ["eyJaaaaaaaaaa-", "sk-aaaaaa.", "://a@b@", "client-secret ", "authorization: bearer "]
)
def test_masking_takes_one_walk_whatever_is_in_a_line(like: str) -> None:
    small, large = like * 500, like * 4_000
    assert grows_less(24, lambda: masked(small), lambda: masked(large))


def test_an_error_that_quotes_much_is_told_in_part() -> None:
    told = traceback_of(ValueError("no order " + "x" * 1_000_000))
    assert "\nValueError: no order xxx" in told
    assert told.endswith("… (1,000,009 characters)")
    assert len(told) < MAX_WORDS + 100
