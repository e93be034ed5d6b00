"""The receivers of `examples/receivers`: signed notices are told once, with a link, and nothing else is."""

import asyncio
import importlib
import json
import socketserver
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Notice
from agui_gate.extras.notices.delivery import Webhook
from agui_gate.extras.notices.endpoints import read_endpoints
from tests.people.receivers import OLD, SECRET
from tests.product.inprocess import Answer, request

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).resolve().parents[2] / "examples/receivers"
LINK = "https://gate.example.com/inbox#apr_1"
ASKED = Notice(
    id="msg_1", kind="asked", at=0, approval_id="apr_1", thread_id="t", owner="ada", state="pending", tool="refund<b>",
    asker="ada", link=LINK,
)  # fmt: skip


class Sent:
    """A connection of the sender's that keeps what it would send."""

    def __init__(self) -> None:
        self.requests: list[tuple[bytes, dict[str, str]]] = []

    async def post(self, body: bytes, headers: dict[str, str]) -> int:
        self.requests.append((body, headers))
        return 204

    def close(self) -> None:
        """Holds nothing."""


async def signed(notice: Notice, *secrets: str) -> tuple[bytes, dict[str, str]]:
    """A request, as the server makes it."""
    sent = Sent()
    (endpoint,) = read_endpoints({"desk": {"url": "https://example.com/", "secrets": list(secrets)}})
    await Webhook(endpoint, sent).send(notice)  # type: ignore[arg-type]  # what it needs of a connection
    return sent.requests[0]


@pytest.fixture
def heard() -> Iterator[tuple[int, list[bytes]]]:
    """The port of a chat service, and what it was told."""
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1], got
        server.shutdown()


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("GATE_SECRETS", f"{OLD} {SECRET}")
    yield importlib.import_module
    for name in ("hooks", "slack", "teams", "mail"):
        sys.modules.pop(name, None)


async def deliver(app: Any, body: bytes, headers: dict[str, str]) -> Answer:
    return await request(app, "POST", "/", body, headers)


@pytest.mark.parametrize("name", ["slack", "teams"])
async def test_a_channel_is_told_once(
    name: str, load: Any, heard: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, got = heard
    monkeypatch.setenv(f"{name.upper()}_URL", f"http://127.0.0.1:{port}/")
    app = load(name).app
    sent = await signed(ASKED, SECRET)
    assert [(await deliver(app, *sent)).status for _ in range(2)] == [204, 204]
    assert len(got) == 1
    told = json.loads(got[0])
    if name == "slack":
        assert told == {"text": f"refund&lt;b&gt; of ada waits for you <{LINK}|Open it>"}
    else:
        card = told["attachments"][0]["content"]
        assert card["body"][0]["text"] == "refund<b> of ada waits for you"
        assert [(one["type"], one["url"]) for one in card["actions"]] == [("Action.OpenUrl", LINK)]


async def test_what_is_not_signed_is_told_nobody(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_URL", "http://127.0.0.1:1/")
    app = load("slack").app
    body, headers = await signed(ASKED, SECRET, OLD)
    for change in (
        {"webhook-id": "msg_2"},
        {"webhook-timestamp": "1"},
        {"webhook-timestamp": "no"},
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": headers["webhook-signature"].replace("v1,", "v2,")},
    ):
        assert (await deliver(app, body, headers | change)).status == 401
    assert (await deliver(app, body + b" ", headers)).status == 401
    assert (await deliver(app, b"x" * 1_000_001, headers)).status == 413
    assert (await deliver(app, body, headers)).status == 502, "the channel is away: it comes again"


class Mail(socketserver.StreamRequestHandler):
    """A mail server of a few words."""

    got: list[bytes]

    def handle(self) -> None:
        self.wfile.write(b"220 hi\r\n")
        while line := self.rfile.readline():
            if line.upper().startswith(b"DATA"):
                self.wfile.write(b"354 go on\r\n")
                while (line := self.rfile.readline()) != b".\r\n":
                    self.got.append(line)
            self.wfile.write(b"221 bye\r\n" if line.upper().startswith(b"QUIT") else b"250 ok\r\n")


async def test_a_mail_has_the_link(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Mail.got = []
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("MAIL_HOST", "127.0.0.1")
        monkeypatch.setenv("MAIL_PORT", str(server.server_address[1]))
        monkeypatch.setenv("MAIL_FROM", "gate@example.com")
        monkeypatch.setenv("MAIL_TO", "desk@example.com")
        async with asyncio.timeout(20):
            assert (await deliver(load("mail").app, *(await signed(ASKED, SECRET)))).status == 204
        server.shutdown()
    text = b"".join(Mail.got).decode()
    assert "Subject: refund<b> of ada waits for you" in text
    assert LINK in text
