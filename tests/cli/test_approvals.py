"""`agui-gate approvals` against a running server."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_gate.cli.commands import approvals
from agui_gate.cli.remote_server import Record
from tests.cli.conftest import Cli
from tests.cli.support import TIMEOUT, running
from tests.requirements import shows
from tests.support.servers import free_port

TOKENS = "alice:TOKEN-A,bob:TOKEN-B"
CALL = 'refund\n  order_id: "A1"\n  amount: {amount}\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all tests here; each uses threads of its own."""
    where = tmp_path_factory.mktemp("server")
    env = {"AGUI_GATE_TOKENS": TOKENS}
    with running(where, "serve", "cli_shop:agent", "--port", "0", "--store", "memory://", env=env) as process:
        url = process.wait_for(r"is up at (http://\S+)")[1]
        process.wait_for("Ctrl-C")
        yield url


@pytest.fixture
def waiting(server: str, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """A refund of 20 that waits for Alice; rejected in the end if a test left it."""
    headers = {"Authorization": "Bearer TOKEN-A"}
    with httpx2.Client(base_url=server, headers=headers, trust_env=False, timeout=60) as client:
        thread = f"t-{request.node.name}"
        message = {"id": "m1", "role": "user", "content": "refund 20"}
        client.post("/", json={"threadId": thread, "runId": "r1", "messages": [message]})
        (item,) = client.get("/approvals").json()["approvals"]
        yield item
        client.post(f"/approvals/{item['id']}", json={"approved": False})


@pytest.fixture
def alice(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    monkeypatch.setenv("AGUI_GATE_URL", server)
    monkeypatch.setenv("AGUI_GATE_TOKEN", "TOKEN-A")


@pytest.mark.usefixtures("alice")
def test_ls(cli: Cli, waiting: dict[str, Any]) -> None:
    result = cli("approvals", "ls")
    head, row = result.stdout.splitlines()
    assert head.split() == ["ID", "AGENT", "CALL", "QUESTION", "ASKED", "EXPIRES"]
    assert row.startswith(f"{waiting['id'][:12]}  shop ")
    assert 'refund(order_id="A1", amount=20)' in row
    assert "Refund 20 for A1?" in row
    assert row.endswith("never")
    assert json.loads(cli("approvals", "ls", "--json").stdout) == {"approvals": [waiting]}


def test_a_call_whose_gate_says_nothing_is_asked_about_as_on_a_page() -> None:
    record = Record("apr_1", "shop", "refund", {}, [], None, "pending", None, "2026-11-01T08:30:00Z", None)
    assert "Run refund?" in approvals._table([record])


@shows("T4", "T6")
@pytest.mark.usefixtures("alice")
def test_what_is_decided_here_goes_on_and_says_that_the_shell_decided(
    cli: Cli, waiting: dict[str, Any], server: str
) -> None:
    outcome = json.loads(cli("approvals", "reject", waiting["id"], "--reason", "paid already", "--json").stdout)
    assert outcome["run"]["key"].startswith("run_")
    headers = {"Authorization": "Bearer TOKEN-A"}
    with httpx2.Client(base_url=server, headers=headers, trust_env=False, timeout=60) as client:
        assert '"RUN_FINISHED"' in client.get(f"/runs/{outcome['run']['key']}/events").text
        thread = client.get(f"/threads/{waiting['thread_id']}").json()
    assert "paid already" in thread["messages"][-1]["content"]
    decision = thread["calls"][0]["decision"]
    assert (decision["by"], decision["way"], decision["reason"]) == ("alice", "shell", "paid already")
    late = cli("approvals", "approve", waiting["id"][:12])  # the beginning of its id is enough here, too
    assert (late.exit_code, late.stderr[:33]) == (1, "error: Already rejected by alice ")


@shows("T4")
def test_at_a_terminal_a_rejection_is_asked_why(tmp_path: Path, waiting: dict[str, Any], server: str) -> None:
    env = {"AGUI_GATE_URL": server, "AGUI_GATE_TOKEN": "TOKEN-A"}
    with running(tmp_path, "approvals", "reject", waiting["id"], terminal=True, env=env) as process:
        process.wait_for("amount: 20")
        process.wait_for("reason, for model and record")
        process.type("paid already\n")
        assert process.end() == 0
    assert '"reason":"paid already"' in process.text


@pytest.mark.usefixtures("alice")
def test_its_conversation_can_be_left_waiting(cli: Cli, waiting: dict[str, Any]) -> None:
    outcome = json.loads(cli("approvals", "approve", waiting["id"], "--no-continue", "--json").stdout)
    assert outcome == {"id": waiting["id"], "state": "done", "result": outcome["result"]}


@pytest.mark.usefixtures("alice", "waiting")
def test_others_see_nothing(cli: Cli) -> None:
    assert cli("approvals", "ls", "--token", "TOKEN-B").stdout == "Nothing is pending for you.\n"


@pytest.mark.usefixtures("alice")
def test_approve_by_the_beginning_of_the_id(cli: Cli, waiting: dict[str, Any]) -> None:
    result = cli("approvals", "approve", waiting["id"][:10])
    assert (result.exit_code, result.stdout) == (0, "done: 20 refunded ⟦U+001B⟧[31m\n")
    assert result.stderr.startswith(CALL.format(amount=20))
    again = cli("approvals", "approve", waiting["id"])
    assert (again.exit_code, again.stdout) == (1, "")
    assert re.fullmatch(r"error: Already approved by alice at \d\d:\d\d UTC\. It ran\.\n", again.stderr)


@pytest.mark.usefixtures("alice")
def test_approve_with_an_edit(cli: Cli, waiting: dict[str, Any]) -> None:
    wrong = cli("approvals", "approve", waiting["id"], "--edit", "order_id=A2")
    assert wrong.exit_code == 2
    assert "'order_id' may not be edited; amount may." in wrong.stderr
    assert cli("approvals", "approve", waiting["id"], "--edit", "amount").exit_code == 2
    refused = cli("approvals", "approve", waiting["id"], "--edit", "amount=lots")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith(CALL.format(amount='"lots"') + "error: The edit was refused")
    result = cli("approvals", "approve", waiting["id"], "--edit", "amount=7.5", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["state"] == "done"
    assert json.loads(result.stdout)["result"].startswith("7.5 refunded")
    assert result.stderr == ""


@pytest.mark.usefixtures("alice")
def test_reject(cli: Cli, waiting: dict[str, Any]) -> None:
    result = cli("approvals", "reject", waiting["id"], "--reason", "already paid")
    assert result.exit_code == 0
    assert result.stdout.startswith("rejected: ")
    assert result.stderr.startswith(CALL.format(amount=20))


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("typed", ["", "apr_", "a"])
def test_too_little_of_an_id_decides_nothing(cli: Cli, waiting: dict[str, Any], typed: str) -> None:
    result = cli("approvals", "approve", typed)
    assert result.exit_code == 1
    assert "is ambiguous" in result.stderr
    assert waiting["id"] in cli("approvals", "ls", "--json").stdout


@pytest.mark.usefixtures("alice")
def test_nothing_of_that_id(cli: Cli) -> None:
    result = cli("approvals", "approve", "apr_nothing")
    assert (result.exit_code, result.stderr) == (1, "error: There is no such approval.\n")


@pytest.mark.usefixtures("alice")
def test_watch_shows_what_waits_and_what_becomes_of_it(server: str, waiting: dict[str, Any], tmp_path: Path) -> None:
    env = {"AGUI_GATE_URL": server, "AGUI_GATE_TOKEN": "TOKEN-A"}
    with (
        running(tmp_path, "approvals", "watch", env=env) as people,
        running(tmp_path, "approvals", "watch", "--json", env=env) as programs,
    ):
        people.wait_for(rf"{waiting['id']}  refund\(order_id=\"A1\", amount=20\)  Refund 20 for A1\?")
        first = json.loads(programs.wait_for(r"\{.*\}\n")[0])
        assert first == {"event": "approval", "data": waiting}
        programs.wait_for(r'"event": "waiting"')
        with httpx2.Client(headers={"Authorization": "Bearer TOKEN-A"}, trust_env=False, timeout=TIMEOUT) as alice:
            alice.post(f"{server}/approvals/{waiting['id']}", json={"approved": False})
        people.wait_for(r"rejected by alice")
        programs.wait_for(r'"state": "rejected"')
        assert people.stop(signal.SIGINT) == 130


def test_watch_waits_for_a_server_that_went_away(tmp_path: Path) -> None:
    with running(tmp_path, "serve", "cli_shop:agent", "--port", "0", "--store", "memory://") as server:
        url = server.wait_for(r"is up at (http://\S+)")[1]
        server.wait_for("Ctrl-C")
        with running(tmp_path, "approvals", "watch", "--url", url) as people:
            people.wait_for("Nothing is pending for you")
            assert server.stop(signal.SIGTERM) == 0
            people.wait_for("Reconnecting")


def test_without_a_token(cli: Cli, server: str) -> None:
    result = cli("approvals", "ls", "--url", server)
    assert result.exit_code == 1
    assert "Pass --token or set AGUI_GATE_TOKEN" in result.stderr


def test_a_token_in_a_file(cli: Cli, server: str, tmp_path: Path) -> None:
    """As that in the environment: one that is typed goes before it, and the commands of operators take it, too."""
    path = tmp_path / "token"
    path.write_text("TOKEN-A\n")
    env = {"AGUI_GATE_URL": server, "AGUI_GATE_TOKEN_FILE": str(path)}
    assert "Nothing is pending" in cli("approvals", "ls", env=env).output
    assert "operator" in cli("ops", "threads", env=env).stderr, "she is known, and is none"
    assert "refuses this token" in cli("approvals", "ls", "--token", "TOKEN-X", env=env).stderr
    both = cli("approvals", "ls", env=env | {"AGUI_GATE_TOKEN": "TOKEN-A"})
    assert (both.exit_code, both.stderr) == (2, "error: Set AGUI_GATE_TOKEN or AGUI_GATE_TOKEN_FILE, not both.\n")
    path.unlink()
    gone = cli("approvals", "ls", env=env)
    said = "error: The file that AGUI_GATE_TOKEN_FILE names can't be read: No such file or directory.\n"
    assert (gone.exit_code, gone.stderr) == (2, said)


def test_no_server_there(cli: Cli) -> None:
    port = free_port()
    result = cli("approvals", "ls", "--url", f"http://127.0.0.1:{port}")
    assert result.exit_code == 2
    assert f"Nothing is listening at http://127.0.0.1:{port}. Start a server" in result.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--url", "localhost:8000"),
        ("--url", "http://"),
        ("--url", "http://[::1"),
        ("--url", "http://a\nb"),
        ("--token", "a\nb"),
        ("--token", "käse"),
    ],
)
def test_what_can_be_no_address_and_no_token(cli: Cli, option: str, value: str) -> None:
    result = cli("approvals", "ls", option, value)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith(f"error: {option} must be ")


def test_another_kind_of_server(cli: Cli, server: str, tmp_path: Path) -> None:
    result = cli("approvals", "ls", "--url", f"{server}/page")
    assert result.exit_code == 1
    assert result.stderr == f"error: There is no agui-gate server at {server}/page (404). Try --url {server}.\n"
