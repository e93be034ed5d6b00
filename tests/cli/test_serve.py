"""`agui-gate serve` as a process: what it says, what it refuses, and how it ends."""

import json
import os
import re
import signal
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import httpx2
import psycopg
import pytest

from agui_gate.stores.postgres import schema
from tests.cli.conftest import Cli
from tests.cli.support import PATIENT, Running, call, new, running
from tests.support.servers import Valkey, free_port

URL = r"http://127\.0\.0\.1:\d+"
TOO_LATE = "graceful shutdown exceeded"
"""What uvicorn says where it has to cut off what does not end by itself."""


@contextmanager
def serving(cwd: Path, *arguments: str, **env: str) -> Iterator[tuple[Running, httpx2.Client]]:
    """A server on a free port and a client of it."""
    command = new(PATIENT) if "--reload" in arguments else PATIENT  # it starts itself again
    with running(cwd, "serve", *arguments, "--port", "0", env=env, command=command) as server:
        url = server.wait_for(f"is up at ({URL})\n")[1]
        server.wait_for("Ctrl-C")
        with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
            yield server, client


def run_input(text: str, thread: str = "t1") -> dict[str, object]:
    return {"threadId": thread, "runId": "r1", "messages": [{"id": "m1", "role": "user", "content": text}]}


def after_release(stderr: str) -> str:
    """What follows the first line of the log, which names the release."""
    first, _, rest = stderr.partition("\n")
    assert f"event=server_starting release={version('agui-gate')}" in first
    return rest


def test_the_banner_tells_address_agents_store_and_access(tmp_path: Path) -> None:
    with serving(tmp_path, "cli_shop:both") as (server, client):
        assert "shop    refund (asks first)" in server.text
        assert "cards   refund (asks first)" in server.text
        assert "store   sqlite:///agui-gate.db (the default" in server.text
        assert "access  this machine only, as no tokens are set" in server.text
        assert "curl -N http://127.0.0.1" in server.text
        assert client.get("/").headers["content-type"].startswith("text/html")
        assert [agent["name"] for agent in client.get("/agents").json()["agents"]] == ["shop", "cards"]
        assert "You said hello" in client.post("/", json=run_input("hello")).text
        code = server.stop(signal.SIGINT)
    assert code == 0
    assert (tmp_path / "agui-gate.db").exists()
    assert "Traceback" not in server.text


def test_it_warns_of_what_would_surprise_somebody_later(tmp_path: Path) -> None:
    with serving(tmp_path, "cli_people:own_auth", AGUI_GATE_TOKENS="ada:TOKEN") as (server, _):
        log = server.text[server.text.index("timestamp=") :]
        assert "event=tokens_not_used" in after_release(log).partition("\n")[0]
        assert "store   sqlite:///own.db, of the application" in server.text
        assert "access  as the application's auth decides" in server.text
        assert "nobody_can_approve" not in server.text
    with serving(tmp_path, "cli_people:by_role", AGUI_GATE_TOKENS="ada:TOKEN") as (server, _):
        assert (
            "Nobody can approve a call of refund: it waits for finance, and nobody of ada can be that." in server.text
        )


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_logs_first_line_names_the_release(tmp_path: Path, form: str) -> None:
    more_settings = {"AGUI_GATE_METRICS": "127.0.0.1:0"} if form == "json" else {}
    with serving(tmp_path, "cli_shop:agent", AGUI_GATE_LOG_FORMAT=form, **more_settings) as (server, client):
        run = {**run_input("hello"), "protocolVersion": "9.0"}
        assert "You said hello" in client.post("/", json=run).text
        server.stop(signal.SIGINT)
    if form == "text":
        assert re.search(rf"level=info event=server_started .*release={version('agui-gate')} at={URL}", server.text)
        return
    first, metrics, started, *more = [json.loads(line) for line in server.text.splitlines() if line.startswith("{")]
    assert (metrics["event"], metrics["release"]) == ("metrics_served", version("agui-gate"))
    assert (first["event"], first["release"], first["level"]) == ("server_starting", version("agui-gate"), "info")
    assert (started["event"], started["release"]) == ("server_started", version("agui-gate"))
    assert re.fullmatch(URL, started["at"])
    assert [line["event"] for line in more] == ["newer_version"]


def test_two_servers_with_one_bus_follow_each_others_runs(tmp_path: Path, valkey: Valkey) -> None:
    with (
        serving(tmp_path, "cli_shop:agent", "--bus", valkey.url) as (one, client),
        serving(tmp_path, "cli_shop:agent", AGUI_GATE_BUS=valkey.url) as (two, other),
    ):
        said = client.post("/", json=run_input("hello"))
        again = other.get(f"/runs/{said.headers['agui-run-key']}/events")
        assert (again.status_code, again.text) == (200, said.text)
        for server in (one, two):
            assert f"bus     redis://127.0.0.1:{valkey.port}" in server.text
            assert "store_is_shared" not in server.text
            assert server.stop(signal.SIGINT) == 0


def test_a_bus_that_is_not_there_is_one_sentence_and_no_server(tmp_path: Path) -> None:
    ended = call(tmp_path, "serve", "cli_shop:agent", "--port", "0", "--bus", "redis://:s3cr3t@127.0.0.1:1")
    assert ended.returncode == 1
    assert "The bus redis://127.0.0.1:1 can't be reached" in ended.stderr
    assert "s3cr3t" not in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("target", ["cli_shop:agent", "cli_shop:app", "cli_shop:outer"])
def test_an_open_stream_does_not_hold_up_the_exit(tmp_path: Path, target: str) -> None:
    path = "/gate/" if target.endswith("outer") else "/"
    with (
        serving(tmp_path, target, AGUI_GATE_DRAIN_SECONDS="0") as (server, client),
        client.stream("POST", path, json=run_input("wait")) as response,
    ):
        lines = response.iter_lines()
        seen = next(line for line in lines if "Waiting" in line)
        assert seen
        code = server.stop(signal.SIGTERM)
        rest = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert code == 0
    assert TOO_LATE not in server.text
    assert (rest[-1]["type"], rest[-1]["code"]) == ("RUN_ERROR", "abort")
    assert "Traceback" not in server.text


def test_a_stream_of_approvals_ends_whole_with_the_server(tmp_path: Path) -> None:
    """A browser would tell its page of a broken connection, and the log of an error."""
    with (
        serving(tmp_path, "cli_shop:agent", "--store", "memory://") as (server, client),
        client.stream("GET", "/approvals/events") as response,
    ):
        lines = response.iter_lines()
        assert next(lines) == "event: waiting"
        code = server.stop(signal.SIGTERM)
        list(lines)  # raises if the body is cut
    assert code == 0
    assert "ERROR" not in server.text
    assert TOO_LATE not in server.text


def test_a_start_that_waits_ends_when_it_is_told_to(tmp_path: Path, database: str) -> None:
    """For the migration of another process, which may take an hour. Before, it was deaf meanwhile."""
    words = ("--store", database)
    assert call(tmp_path, "migrate", *words).returncode == 0
    with psycopg.connect(database) as other:
        other.execute("UPDATE agui_schema SET version = version - 1")
        other.commit()
        other.execute(f"SELECT pg_advisory_xact_lock({schema._LOCK})")
        with running(tmp_path, "serve", "cli_shop:agent", "--port", "0", *words) as server:
            server.wait_for("event=upgrade_waits")
            assert server.stop(signal.SIGTERM) == 0
    assert "Traceback" not in server.text
    assert "is up at" not in server.text


def test_an_idle_connection_does_not_hold_up_the_exit(tmp_path: Path) -> None:
    with (
        serving(tmp_path, "cli_shop:agent", "--store", "memory://") as (server, client),
        socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=60),
    ):
        code = server.stop(signal.SIGTERM)
    assert code == 0
    assert TOO_LATE not in server.text


def test_tokens_open_it_to_their_bearers_only(tmp_path: Path) -> None:
    with serving(tmp_path, "cli_shop:agent", "--no-page", AGUI_GATE_TOKENS="alice:SECRET") as (server, client):
        assert "access  with the token of alice" in server.text
        assert "SECRET" not in server.text
        assert '-H "Authorization: Bearer $TOKEN"' in server.text, "what is suggested works"
        assert client.get("/agents").status_code == 401
        assert client.get("/agents", headers={"Authorization": "Bearer SECRET"}).status_code == 200
        assert client.get("/").status_code == 404


def test_reload_serves_what_the_file_says_now(tmp_path: Path) -> None:
    module = tmp_path / "changing.py"
    module.write_text("from cli_shop import agent\n")
    with serving(tmp_path, "changing:agent", "--reload", "--store", "memory://") as (server, client):
        assert client.get("/agents").json()["agents"][0]["name"] == "shop"
        write_later(module, "from cli_shop import cards as agent, broken\n", 10)
        server.wait_for("error: Importing changing failed.*\n.*waiting")
        write_later(module, "from cli_shop import cards as agent\n", 20)
        server.wait_for(f"is up at ({URL})")
        assert client.get("/agents").json()["agents"][0]["name"] == "cards"
        code = server.stop(signal.SIGTERM)
    assert code == 0


def test_a_hangup_ends_what_reloads_and_what_it_serves(tmp_path: Path) -> None:
    """The server was left alone, and kept the address."""
    with serving(tmp_path, "cli_shop:agent", "--reload", "--store", "memory://") as (server, client):
        code = server.stop(signal.SIGHUP)
        with pytest.raises(httpx2.ConnectError):
            client.get("/healthz")
    assert code == 0


def write_later(file: Path, text: str, seconds: int) -> None:
    """Write, with a time of change that no watcher and no cache can take for the one before."""
    file.write_text(text)
    when = file.stat().st_mtime + seconds
    os.utime(file, (when, when))


@pytest.mark.parametrize("target", ["cli_shop:agent", "cli_shop:app", "cli_shop:outer"])
def test_another_address_needs_auth(cli: Cli, target: str) -> None:
    result = cli("serve", target, "--host", "0.0.0.0")
    assert result.exit_code == 2
    assert "may only listen on a loopback address, not on 0.0.0.0" in result.stderr
    assert "AGUI_GATE_TOKENS" in result.stderr


@pytest.mark.parametrize("option", [["--store", "memory://"], ["--bus", "memory://"], ["--no-page"]])
def test_options_that_could_not_change_an_application_are_refused(cli: Cli, option: list[str]) -> None:
    result = cli("serve", "cli_shop:app", *option)
    assert result.exit_code == 2
    assert f"{option[0]} can't change it" in result.stderr


def test_a_taken_port_is_one_sentence(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = cli("serve", "cli_shop:agent", "--port", str(port))
    assert result.exit_code == 2
    told = f"error: Port {port} of 127.0.0.1 is taken by another program; choose another with --port.\n"
    assert after_release(result.stderr) == told


def test_a_host_that_is_none_is_one_sentence(cli: Cli) -> None:
    result = cli("serve", "cli_shop:agent", "--host", "127.0.0.999", env={"AGUI_GATE_TOKENS": "a:b"})
    assert result.exit_code == 2
    assert "127.0.0.999:8000 can't be listened on" in result.stderr


def test_a_store_that_cannot_be_opened_is_one_sentence(tmp_path: Path, cli: Cli) -> None:
    database = sqlite3.connect(tmp_path / "other.db")
    database.execute("CREATE TABLE theirs (x)")
    database.close()
    result = cli("serve", "cli_shop:agent", "--port", "0", "--store", "sqlite:///other.db")
    assert result.exit_code == 2
    assert (
        after_release(result.stderr)
        == "error: The database other.db belongs to another application; choose another file.\n"
    )


def test_a_postgresql_that_cannot_be_used_is_one_sentence(cli: Cli, database: str) -> None:
    for url, said in (
        (database + "x", "there is no such database"),
        (f"postgresql://u:s3cret@127.0.0.1:{free_port()}/db", "nothing listens there"),
    ):
        result = cli("serve", "cli_shop:agent", "--port", "0", "--store", url, "--bus", "memory://")
        assert (result.exit_code, result.stdout) == (1, "")
        assert after_release(result.stderr) == f"error: The store is not available: {said}.\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--store", "postgresql://[host/db", "--bus", "memory://"], "error: The store's URL can't be read"),
        (["--store", "memory://", "--bus", f"redis://127.0.0.1:{free_port()}"], "error: The bus redis://127.0.0.1:"),
    ],
)
def test_a_database_or_a_bus_that_cannot_be_used_is_exit_code_1(cli: Cli, options: list[str], said: str) -> None:
    result = cli("serve", "cli_shop:agent", "--port", "0", *options)
    assert (result.exit_code, result.stdout) == (1, "")
    *_, told = result.stderr.splitlines()
    assert told.startswith(said)
    assert result.stderr.count("error") == 1


def test_an_address_of_metrics_that_is_taken_is_one_sentence(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        serve = ("serve", "cli_shop:agent", "--port", "0", "--store", "memory://")
        result = cli(*serve, env={"AGUI_GATE_METRICS": place})
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(
        f"error: The address {place} of AGUI_GATE_METRICS is taken. Each process needs one of its own.\n"
    )
    wrong = cli("serve", "cli_shop:agent", env={"AGUI_GATE_METRICS": "9090"})
    said = 'must be "on", or a port such as ":9090" or "127.0.0.1:9090", not \'9090\'.'
    assert (wrong.exit_code, wrong.stderr) == (2, f"error: AGUI_GATE_METRICS {said}\n")


def test_a_missing_driver_is_exit_code_1(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [name for name in sys.modules if name.startswith("agui_gate.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    result = cli("serve", "cli_shop:agent", "--port", "0", "--store", "postgresql://127.0.0.1/db")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == 'error: A PostgreSQL store needs its driver: pip install "agui-gate[postgres]".\n'


@pytest.mark.parametrize(("level", "told"), [("info", True), ("warning", False)])
def test_a_decision_is_a_line_on_stderr(tmp_path: Path, level: str, told: bool) -> None:
    """Keys and values, as stderr is no terminal here; nothing for what goes well."""
    arguments = ("cli_shop:agent", "--store", "memory://", "--log-level", level)
    with serving(tmp_path, *arguments) as (server, client):
        before = server.text
        client.post("/", json=run_input("refund 5"))
        (asked,) = client.get("/approvals").json()["approvals"]
        client.post(f"/approvals/{asked['id']}", json={"approved": False})
        server.stop(signal.SIGTERM)
    lines = [line for line in server.text[len(before) :].splitlines() if "level=" in line and "_started" not in line]
    assert len(lines) == (1 if told else 0)
    for line in lines:
        assert "level=info event=decided" in line
        assert f"approval={asked['id']}" in line


def test_a_second_server_on_one_file_says_so(tmp_path: Path) -> None:
    with (
        serving(tmp_path, "cli_shop:agent") as (first, _),
        serving(tmp_path, "cli_shop:agent") as (second, _),
    ):
        assert "store_is_shared" not in first.text
        assert f"event=store_is_shared with_processes={first.process.pid}" in second.text


KEYLESS = [
    ("gpt-5.4-mini", "api.openai.com", "OPENAI_API_KEY"),
    ("claude-sonnet-4-5", "api.anthropic.com", "ANTHROPIC_API_KEY"),
]


def test_a_model_without_a_key_is_told_at_the_start(tmp_path: Path) -> None:
    """What `doctor` would say, without asking anybody; it serves all the same."""
    with serving(tmp_path, "cli_keyless:both", "--store", "memory://", ANTHROPIC_API_KEY="") as (server, client):
        told = (
            r'event=model_not_set_up what="model %s at %s" detail="There is no API key: set %s.*Set %s \(or api_key\)'
        )
        for model, host, key in KEYLESS:
            assert re.search(told % (model, host, key, key), server.text)
        assert client.get("/readyz").status_code == 200


def test_a_model_with_a_key_is_not_asked_at_the_start(tmp_path: Path) -> None:
    with serving(tmp_path, "cli_keyless:keyed", "--store", "memory://") as (server, client):
        assert client.get("/readyz").status_code == 200
        server.stop(signal.SIGTERM)
    assert "not_set_up" not in server.text
