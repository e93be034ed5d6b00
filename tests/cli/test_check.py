"""`agui-gate check`: exit codes, what is printed, and never a traceback."""

import asyncio
import json
import socket
import struct
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.cli.conftest import Cli
from tests.spec.servers import Fake, head, listening, sse

Answering = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@contextmanager
def served(fake: Answering) -> Iterator[str]:
    """A server beside this thread, as the command runs a loop of its own."""
    loop, ready, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    urls: list[str] = []

    async def serve() -> None:
        async with listening(fake) as url:
            urls.append(url)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(60)
    try:
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(60)
        loop.close()


def test_a_server_that_keeps_the_rules(cli: Cli) -> None:
    with served(Fake()) as url:
        result = cli("check", url, "--timeout", "60")
    assert result.exit_code == 0
    assert result.stderr == "", "progress is for terminals"
    assert "TOOL-4   MUST    kept" in result.stdout
    assert f"{url} (AG-UI 1.0): " in result.stdout
    assert " 0 broken" in result.stdout


def test_a_broken_rule_ends_with_1_and_shows_the_frame(cli: Cli) -> None:
    with served(Fake("answers for the page")) as url:
        result = cli("check", url, "--timeout", "60")
        as_json = cli("check", url, "--timeout", "60", "--json")
    assert result.exit_code == as_json.exit_code == 1
    assert "TOOL-4   MUST    BROKEN" in result.stdout
    assert '"type": "TOOL_CALL_RESULT"' in result.stdout
    told = json.loads(as_json.stdout)
    assert told["broken"] == ["TOOL-4"]
    assert (told["url"], told["protocolVersion"], told["stopped"]) == (url, "1.0", None)
    (rule,) = (rule for rule in told["rules"] if rule["id"] == "TOOL-4")
    assert rule["findings"][0]["frame"] == 4
    assert rule["findings"][0]["scenario"] == "frontend tools"


HOSTILE = "1.0\x9b31m\u202e\n\nTOOL-4   MUST    kept"


def test_what_a_server_says_steers_no_terminal_and_adds_no_line(cli: Cli) -> None:
    async def odd(body: bytes, writer: asyncio.StreamWriter) -> None:
        given = json.loads(body)
        ids = {name: given.get(name) for name in ("threadId", "runId")} if isinstance(given, dict) else {}
        first = {"type": "RUN_STARTED", **ids, "protocolVersion": HOSTILE, f"\x1b[2J{HOSTILE}": 1}
        writer.write(head() + sse(first, {"type": HOSTILE}, {"type": "RUN_FINISHED", **ids}))

    with served(odd) as url:
        result = cli("check", url, "--timeout", "60")
    assert result.exit_code == 1
    assert all(line.isprintable() for line in result.stdout.splitlines())
    assert "TOOL-4   MUST    kept" not in result.stdout.splitlines()


def test_a_reason_of_several_lines_is_one(cli: Cli) -> None:
    async def failing(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head("500 Oops", "text/plain") + b"<html>\n\n\xc2\x9b31m<pre>Traceback")

    with served(failing) as url:
        result = cli("check", url, "--timeout", "60")
    assert result.exit_code == 2
    assert (
        result.stderr
        == f"error: {url} can't be checked: it answers with status 500: <html>  ⟦U+009B⟧31m<pre>Traceback.\n"
    )


def test_other_words_make_a_model_do_it(cli: Cli) -> None:
    with served(Fake()) as url:
        result = cli("check", url, "--timeout", "60", "--say", "interrupt=Hello", "--say", "frontend=Hello")
    assert "INT-5    MUST    not tried  no interrupt came" in result.stdout
    assert "TOOL-4   MUST    not tried  the model did not call the page's tool" in result.stdout


def test_a_server_that_hangs_up_is_said_to(cli: Cli) -> None:
    async def closing(body: bytes, writer: asyncio.StreamWriter) -> None:
        """As a server that wants TLS may."""
        at_once = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        writer.transport.abort()

    with served(closing) as url:
        result = cli("check", url, "--timeout", "60")
    assert result.exit_code == 2
    assert "without an answer; does it want https://" in result.stderr


def test_nobody_there_is_one_line(cli: Cli) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
        result = cli("check", url, "--timeout", "2")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {url} can't be checked: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ftp://x"], "must begin with http:// or https://"),
        (["http://x", "--header", "nonsense"], "must be 'Name: value'"),
        (["http://x", "--header", "X: ü"], "must be 'Name: value' in ASCII"),
        (["http://x", "--say", "sing=la"], "must be WHAT=TEXT, WHAT one of text, long, tool, frontend, interrupt"),
        (["http://x", "--timeout", "0"], "0.1<=x<=600"),
    ],
)
def test_wrong_use(cli: Cli, arguments: list[str], said: str) -> None:
    result = cli("check", *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_without_the_extra_it_says_what_to_install(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("agui_gate_adapters.testkit.check")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    told = cli("check", "http://127.0.0.1:9/")
    assert (told.exit_code, told.stderr) == (
        2,
        "error: The package jsonschema is not installed: pip install 'agui-gate[check]'.\n",
    )
