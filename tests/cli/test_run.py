"""`agui-gate run`: with pipes, with a terminal, and with the exit codes that scripts rely on."""

import json
import re
import shlex
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.support import PATIENT, call, running
from tests.requirements import shows
from tests.support.servers import Valkey

REFUND = ["run", "cli_shop:agent", "--message", "refund 20"]


def refunds() -> list[str]:
    file = Path("refunds.txt")
    return file.read_text().splitlines() if file.exists() else []


def test_text_goes_to_stdout_and_nothing_else(cli: Cli) -> None:
    result = cli("run", "cli_shop:agent", "-m", "hello", "--store", "memory://")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "You said hello\n", "")


def test_what_it_says_goes_over_the_bus_of_the_settings(cli: Cli, valkey: Valkey) -> None:
    result = cli("run", "cli_shop:agent", "-m", "hello", "--store", "memory://", env={"AGUI_GATE_BUS": valkey.url})
    assert (result.exit_code, result.stdout) == (0, "You said hello\n")
    assert b"agui-gate:run:run_" in valkey.ask("KEYS agui-gate:run:*")


@shows("T13")
def test_the_limits_of_the_settings_hold_here_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """T13: what a server with these settings refuses is refused in the terminal, too."""
    monkeypatch.setenv("AGUI_GATE_THREAD_BYTES", "16384")
    result = cli("run", "cli_shop:agent", "-m", "x" * 20_000, "--store", "memory://")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: This conversation is full")
    assert "16,384 bytes" in result.stderr
    assert result.stderr.endswith(" (limit_reached)\n")


def test_what_the_provider_cut_off_is_an_answer_and_said_to_be_half(cli: Cli) -> None:
    result = cli("run", "cli_shop:agent", "-m", "half", "--store", "memory://")
    assert (result.exit_code, result.stdout) == (0, "You sa\n")
    assert "reached a limit of the provider" in result.stderr
    assert "max_tokens" in result.stderr


@pytest.mark.parametrize("agent", ["shop", "cards"])
@pytest.mark.parametrize(("approve", "ran"), [("yes", ["A1 20"]), ("no", [])])
def test_approvals_without_a_terminal(cli: Cli, agent: str, approve: str, ran: list[str]) -> None:
    result = cli("run", "cli_shop:both", "--agent", agent, "-m", "refund 20", "--approve", approve)
    assert result.exit_code == 0
    assert refunds() == ran
    assert '→ refund(order_id="A1", amount=20)' in result.stderr
    assert "← refund: " in result.stderr
    assert "confirm_changes" not in result.stderr
    assert result.stdout.startswith("Result: " + ("20 refunded" if ran else '{"status":"rejected"'))
    assert "\x1b" not in result.output


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("agent", ["shop", "cards"])
def test_a_call_that_nobody_can_be_asked_about_stays_pending(cli: Cli, agent: str, more: tuple[str, ...]) -> None:
    """Nobody is not somebody who says no: what is told names the call and how to decide it."""
    result = cli("run", "cli_shop:both", "--agent", agent, "-m", "refund 20", "--thread", "t1", *more)
    assert (result.exit_code, refunds()) == (3, [])
    named = re.search(r"^Still pending: (\S+): Refund 20 for A1\?$", result.stderr, re.MULTILINE)
    assert named, result.stderr
    assert f"agui-gate approvals approve {named[1]}\n" in result.stderr
    again = re.search(r"^Decide without one:   agui-gate (.*) --approve yes   \(or no\)$", result.stderr, re.MULTILINE)
    assert again, result.stderr
    assert cli(*shlex.split(again[1]), "--approve", "yes").exit_code == 0
    assert refunds() == ["A1 20"]


def test_json_prints_every_event_of_every_run(cli: Cli) -> None:
    result = cli(*REFUND, "--approve", "yes", "--json", "--thread", "t7")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["type"] for event in events].count("RUN_STARTED") == 2
    assert [event["outcome"]["type"] for event in events if event["type"] == "RUN_FINISHED" and "outcome" in event] == [
        "interrupt"
    ]
    assert {event["threadId"] for event in events if "threadId" in event} == {"t7"}
    assert result.stderr == ""


def test_who_speaks_is_said_where_a_team_is_at_work(tmp_path: Path) -> None:
    """The words alone are on stdout, as ever; a process of its own, since a team's models say each turn once."""
    done = call(tmp_path, "run", "cli_team:desk", "-m", "refund A1", "--approve", "yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "One moment.\nI look.\nIt is done.\nI pass you on.\nBilling here.\n"
    assert done.stderr.splitlines() == [
        '→ clerk(task="refund A1")',
        "⇢ clerk is working",
        "clerk:",
        '→ clerk: refund(order_id="A1")',
        "⇢ clerk is working",
        "← clerk: refund: A1 refunded",
        "clerk:",
        "← clerk: It is done.",
        "desk:",
        "→ transfer_to_billing()",
        "⇢ billing answers from here on",
        "billing:",
    ]


def test_a_question_says_which_agent_asks(tmp_path: Path) -> None:
    with running(tmp_path, "run", "cli_team:desk", "-m", "refund A1", terminal=True) as process:
        process.wait_for("clerk asks: Run refund")
        process.type("y\n")
        process.wait_for("Billing here.")
        assert process.end() == 0


def test_a_terminal_that_cannot_show_it(tmp_path: Path) -> None:
    """What it can't show is replaced in text; events are UTF-8 in any case."""
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    text = call(tmp_path, "run", "cli_shop:agent", "-m", "Grüße", env=ascii_only, command=None)
    assert (text.returncode, text.stdout) == (0, "You said Gr??e\n")
    events = call(tmp_path, "run", "cli_shop:agent", "-m", "Grüße", "--json", env=ascii_only, command=None)
    assert (events.returncode, "Grüße" in events.stdout) == (0, True)


def test_a_thread_goes_on(cli: Cli) -> None:
    for store in ([], ["--store", "sqlite:///other.db"]):
        assert cli("run", "cli_shop:agent", "--thread", "t", "-m", "one", *store).exit_code == 0
        assert cli("run", "cli_shop:agent", "--thread", "t", "-m", "two", *store).stdout == "You said two\n"
    assert Path("agui-gate.db").exists()
    assert Path("other.db").exists()


def test_an_application_keeps_its_own_store(cli: Cli) -> None:
    result = cli("run", "cli_shop:app", "-m", "hello")
    assert (result.exit_code, result.stdout) == (0, "You said hello\n")
    assert not Path("agui-gate.db").exists()


def test_a_failed_run(cli: Cli) -> None:
    result = cli("run", "cli_shop:agent", "-m", "break", "--store", "memory://")
    assert (result.exit_code, result.stdout) == (1, "")
    error, advice = result.stderr.splitlines()
    assert error == "error: The key is wrong. (provider_auth)"
    assert advice == "What to do about it: agui-gate doctor cli_shop:agent"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Send a message with --message."),
        (["-m", ""], "Send a message with --message."),
        (["-m", " \n", "--thread", "t"], "Send a message with --message."),
        (["-m", "gr\udcfcezi"], "--message is not UTF-8 text."),
        (["--thread", "nowhere"], "There is no such conversation. Send a message with --message."),
        (["-m", "x", "--thread", ""], "--thread must have 1 to 256 characters."),
        (["-m", "x", "--thread", "a\nb"], "--thread must not contain control characters."),
        (["-m", "x", "--agent", "nobody"], "There is no agent 'nobody'; there is shop."),
        (["-m", "x", "--store", "nothing"], "--store must be a URL"),
        (["-m", "x", "--store", "mysql://h"], "There is no store mysql://"),
        (["-m", "x", "--thread", "t" * 300, "--store", "memory://"], "--thread must have 1 to 256 characters."),
    ],
)
def test_wrong_use(cli: Cli, arguments: list[str], message: str) -> None:
    result = cli("run", "cli_shop:agent", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_nothing_to_go_on_with(cli: Cli) -> None:
    assert cli("run", "cli_shop:agent", "-m", "hello", "--thread", "t").exit_code == 0
    result = cli("run", "cli_shop:agent", "--thread", "t")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "note: Nothing is pending in this conversation. Send a message with --message.\n"


def test_yes_at_a_terminal(tmp_path: Path) -> None:
    with running(tmp_path, *REFUND, terminal=True) as process:
        process.wait_for(r"Refund 20 for A1\?")
        process.wait_for("y\\(es\\), n\\(o\\), e\\(dit\\), Ctrl-D for later: ")
        process.type("perhaps\n")
        process.wait_for("for later: ")
        process.type("yes\n")
        assert process.end() == 0
    assert "Result: 20 refunded" in process.text
    assert (tmp_path / "refunds.txt").read_text() == "A1 20\n"


@shows("T4")
def test_a_no_at_a_terminal_is_asked_why_and_the_model_is_told(tmp_path: Path) -> None:
    """Arguments are read in the tool's order, and not by the alphabet."""
    with running(tmp_path, *REFUND, terminal=True) as process:
        process.wait_for("order_id: .*(?s:.*)amount: 20")
        process.wait_for("for later: ")
        process.type("n\n")
        process.wait_for("reason, for model and record")
        process.type("paid already\n")
        assert process.end() == 0
    assert '"reason":"paid already"' in process.text
    assert not (tmp_path / "refunds.txt").exists()


@shows("T5")
def test_who_is_asked_the_same_again_is_told_that_it_ran(cli: Cli, tmp_path: Path) -> None:
    once = cli("run", "cli_shop:agent", "-m", "refund 20", "--thread", "t", "--approve", "yes")
    assert once.exit_code == 0
    again = ("run", "cli_shop:agent", "-m", "refund 20", "--thread", "t")
    with running(tmp_path, *again, terminal=True) as process:
        process.wait_for(r"Refund 20 for A1\? Already ran in this thread: order_id=\"A1\", amount=20 at ")
        process.type("n\n\n")
        assert process.end() == 0
    assert (tmp_path / "refunds.txt").read_text() == "A1 20\n"


@shows("T4")
def test_ctrl_d_instead_of_a_reason_decides_nothing(tmp_path: Path) -> None:
    with running(tmp_path, *REFUND, terminal=True) as process:
        process.wait_for("for later: ")
        process.type("no\n")
        process.wait_for("reason, for model and record")
        process.type("\x04")
        assert process.end() == 3
    assert "Still pending: " in process.text


def test_an_edit_at_a_terminal(tmp_path: Path) -> None:
    with running(tmp_path, *REFUND, terminal=True) as process:
        process.wait_for("for later: ")
        process.type("e\n")
        process.wait_for(r"amount \[20\]: ")
        process.type("lots\n")
        process.wait_for("The edit was refused")
        process.wait_for("for later: ")
        process.type("e\n12.5\n")
        assert process.end() == 0
    assert (tmp_path / "refunds.txt").read_text() == "A1 12.5\n"


@pytest.mark.parametrize("code", [3, 130])
def test_how_to_go_on_is_told_with_all_that_was_typed(tmp_path: Path, code: int) -> None:
    named = ["--agent", "cards", "--store", "sqlite:///other file.db"]
    with running(tmp_path, "run", "cli_shop:both", "-m", "refund 20", *named, terminal=True) as process:
        process.wait_for("for later: ")
        if code == 3:
            process.type("\x04")
            assert process.end() == code
        else:
            assert process.stop(signal.SIGINT) == code
    told = process.text.split("Decide at a terminal: agui-gate ")[1].split("\x1b")[0]
    done = call(tmp_path, *shlex.split(told), "--approve", "yes")
    assert (done.returncode, (tmp_path / "refunds.txt").read_text()) == (0, "A1 20\n")
    assert "replaced" not in done.stderr, "a card of before is nothing to read here"


def test_later_at_a_terminal_and_then_from_a_script(tmp_path: Path) -> None:
    with running(tmp_path, *REFUND, "--thread", "t1", terminal=True) as process:
        process.wait_for("for later: ")
        process.type("\x04")
        assert process.end() == 3
        assert "agui-gate run cli_shop:agent --thread t1" in process.text
    assert not (tmp_path / "refunds.txt").exists()
    done = call(tmp_path, "run", "cli_shop:agent", "--thread", "t1", "--approve", "yes")
    assert (done.returncode, done.stdout) == (0, "Result: 20 refunded [31m\n")
    assert (tmp_path / "refunds.txt").read_text() == "A1 20\n"


def test_ctrl_c_at_the_question_leaves_it_waiting(tmp_path: Path) -> None:
    with running(tmp_path, *REFUND, "--thread", "t1", terminal=True) as process:
        process.wait_for("for later: ")
        code = process.stop(signal.SIGINT)
    assert code == 130
    assert "Traceback" not in process.text
    assert call(tmp_path, "run", "cli_shop:agent", "--thread", "t1", "--approve", "no").returncode == 0


def test_ctrl_c_stops_a_run_in_order(tmp_path: Path) -> None:
    arguments = ["run", "cli_shop:agent", "-m", "wait", "--thread", "t1", "--json"]
    with running(tmp_path, *arguments, command=PATIENT) as process:
        process.wait_for("Waiting")
        code = process.stop(signal.SIGINT)
    assert code == 130
    last = json.loads(process.text.splitlines()[-1])
    assert (last["type"], last["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})
    again = call(tmp_path, "run", "cli_shop:agent", "-m", "again", "--thread", "t1")
    assert (again.returncode, again.stdout) == (0, "You said again\n")


def test_it_runs_as_a_principal(cli: Cli) -> None:
    """Of a tenant: its own threads, and who asked is in the record."""
    who = ("--principal", "ada", "--tenant", "acme", "--role", "user", "--role", "finance")
    result = cli(*REFUND, "--thread", "t1", *who)
    assert result.exit_code == 3
    again = re.search(r"^Decide without one:   agui-gate (.*) --approve yes   \(or no\)$", result.stderr, re.MULTILINE)
    assert again, result.stderr
    assert shlex.split(again[1])[-10:] == [*who, "--thread", "t1"]
    assert cli("run", "cli_shop:agent", "--thread", "t1", "--approve", "yes").exit_code == 2, "there is none of local's"
    with closing(sqlite3.connect("agui-gate.db")) as db:
        assert db.execute("select distinct principal from approvals").fetchall() == [("acme\x1fada",)]
    assert cli(*shlex.split(again[1]), "--approve", "yes").exit_code == 0
    assert refunds() == ["A1 20"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--role", "user"), "name one"),
        (("--tenant", "acme"), "name one"),
        (("--principal", ""), "1 to 500 characters"),
        (("--principal", "a", "--role", ""), "1 to 500 characters"),
    ],
)
def test_what_is_no_principal_is_a_usage_error(cli: Cli, options: tuple[str, ...], words: str) -> None:
    result = cli(*REFUND, *options)
    assert (result.exit_code, words in result.stderr) == (2, True), result.stderr


def test_a_principal_without_the_right_runs_nothing(cli: Cli) -> None:
    result = cli(*REFUND, "--principal", "eve", "--role", "auditor")
    assert (result.exit_code, "It needs the role user" in result.stderr) == (1, True), result.stderr
