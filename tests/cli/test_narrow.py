"""What commands print in terminals of 46 and of 80 columns: no line is longer, and addresses stay whole."""

import re
from pathlib import Path

import httpx2
import pytest

from agui_gate.cli.program import COMMANDS
from agui_gate.cli.terminal import layout
from tests.cli.support import Running, running
from tests.cli.test_serve import run_input

ENDS = [*((name,) for name in COMMANDS), *(("approvals", name) for name in ("ls", "watch", "approve", "reject"))]
ENDS += [("audit", name) for name in ("verify", "export", "heads", "ls", "show")]
WIDTHS = pytest.mark.parametrize("width", [46, 80])


def shown(text: str) -> list[str]:
    """The lines as they stand on the terminal."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).replace("\r\n", "\n")
    return [line.rpartition("\r")[2] for line in plain.split("\n")]


def check(process: Running, width: int, copied: str = "") -> None:
    """No line is longer, but for a long path or a command: it stays whole, so that it can be copied."""
    long = [line.strip() for line in shown(process.text) if len(line) > width]
    assert [line for line in long if " " in line and line != copied] == []


@pytest.mark.parametrize("width", [46, pytest.param(80, marks=pytest.mark.spare)])
def test_help(tmp_path: Path, width: int) -> None:
    for words in ((), *ENDS):
        with running(tmp_path, *words, "-h", terminal=True, columns=width) as process:
            assert process.end() == 0
            check(process, width)
            assert "..." not in process.text.partition("Commands:")[2]


@WIDTHS
def test_tables_findings_and_errors(tmp_path: Path, width: int) -> None:
    missing = ["approvals", "ls", "--url", "http://127.0.0.1:9"]
    commands = (
        ["settings"],
        ["doctor", "cli_shop:agent"],
        ["serve"],
        ["srve"],
        ["serve", "--prot"],
        ["audit", "verify"],
    )
    for words in (*commands, missing):
        with running(tmp_path, *words, terminal=True, columns=width) as process:
            process.end()
            check(process, width)


@WIDTHS
def test_banners_and_what_waits(tmp_path: Path, width: int) -> None:
    serve = ("serve", "cli_shop:agent", "--port", "0", "--store", "memory://")
    with running(tmp_path, *serve, terminal=True, columns=width) as server:
        url = server.wait_for(r"is up at\s+\S*?(http://[\w.:]+)")[1]
        server.wait_for("Ctrl-C stops it")
        check(server, width)
        with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
            client.post("/", json=run_input("refund 5"))
            (asked,) = client.get("/approvals").json()["approvals"]
        with running(tmp_path, "approvals", "ls", "--url", url, terminal=True, columns=width) as process:
            assert process.end() == 0
            assert asked["id"][:12] in process.text
            assert "Refund 5 for A1?" in process.text
            check(process, width)
        with running(tmp_path, "approvals", "watch", "--url", url, terminal=True, columns=width) as process:
            process.wait_for("Refund 5 for A1")
            process.wait_for("\n")
            check(process, width)
    with running(tmp_path, "demo", "--port", "0", terminal=True, columns=width) as demo:
        demo.wait_for("Starting the demo…")
        demo.wait_for("Ctrl-C stops it")
        check(demo, width)
    with running(tmp_path, "emulator", "--port", "0", terminal=True, columns=width) as emulator:
        emulator.wait_for("Ctrl-C stops it")
        check(emulator, width)


def test_columns_go_below_each_other_before_words_do() -> None:
    line = "  agui-gate serve a:b        restart"
    assert layout.folded(line, 60) == [line]
    assert layout.folded(line, 24) == ["  agui-gate serve a:b", "      restart"]
    assert layout.folded(line, 16) == ["  agui-gate", "    serve a:b", "      restart"]
    assert layout.folded("http://127.0.0.1:8000/agents", 10) == ["http://127.0.0.1:8000/agents"]


def test_what_is_no_terminal_gets_whole_lines(tmp_path: Path) -> None:
    with running(tmp_path, "settings", env={"COLUMNS": "46"}) as process:
        assert process.end() == 0
    assert process.text.splitlines()[0].split() == ["NAME", "VALUE", "FROM"]


def test_a_conversation(tmp_path: Path) -> None:
    """A command to be copied is in one line all the same, which the terminal breaks: half of it does something else."""
    with running(tmp_path, "serve", "cli_shop:agent", "--port", "0", "--store", "memory://") as server:
        url = server.wait_for(r"is up at (http://[\w.:]+)")[1]
        server.wait_for("Ctrl-C stops it")
        with running(tmp_path, "chat", f"{url}/", "--thread", "t1", terminal=True, columns=46) as chat:
            chat.wait_for("you: ")
            chat.type("/help\n")
            chat.wait_for("you: ")
            chat.type("refund 5\n")
            chat.wait_for("Ctrl-D for later: ")
            chat.type("\x04")
            chat.wait_for("you: ")
            chat.type("\x04")
            assert chat.end() == 3
        command = f"agui-gate chat {url}/ --thread t1"
        assert f"Continue with:\n  {command}\n" in "\n".join(shown(chat.text))
        check(chat, 46, command)
        with running(tmp_path, "chat", f"{url}/nothing", "-m", "a", terminal=True, columns=46) as chat:
            assert chat.end() == 1
        assert f"\n  agui-gate chat {url}/agents/shop\n" in "\n".join(shown(chat.text))
