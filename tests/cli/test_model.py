"""`--model ADAPTER:MODEL`: another model for TARGET's agents, or a model and nothing else."""

import json
from importlib.metadata import EntryPoint

import pytest

from agui_gate.agents import model_names
from agui_gate.cli.commands.run import Ending
from agui_gate.core.approvals import Approval
from tests.cli.conftest import Cli
from tests.cli.support import running
from tests.cli.test_serve import URL

STORE = ["--store", "memory://"]
NOT_AN_APP = "cli_shop:app is an application with agents of its own: --model can't change them."


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a distribution had named an adapter called ``rules``."""
    points = (EntryPoint("rules", "cli_shop:NamedModel", model_names.GROUP),)
    monkeypatch.setattr(model_names, "entry_points", lambda group: points if group == model_names.GROUP else ())


def test_run_needs_nothing_but_a_model(cli: Cli) -> None:
    result = cli("run", "--model", "rules:fast", "-m", "hello", *STORE)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "fast: You said hello\n", "")


def test_run_with_another_model_keeps_the_agents_tools(cli: Cli) -> None:
    result = cli(
        "run",
        "cli_shop:both",
        "--agent",
        "cards",
        "--model",
        "rules:fast",
        "-m",
        "refund 20",
        "--approve",
        "no",
        *STORE,
    )
    assert result.exit_code == 0
    assert '→ refund(order_id="A1", amount=20)' in result.stderr
    assert result.stdout.startswith("fast: Result: ")


@pytest.mark.parametrize("target", [["cli_shop:agent"], []])
def test_what_waits_goes_on_with_the_same_model(cli: Cli, target: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    refund = Approval(
        id="apr_1",
        principal="local",
        thread_id="t",
        agent="shop",
        run_key="r",
        turn_id="x",
        call_id="c",
        tool="refund",
        arguments="{}",
        asked_at=0,
    )
    monkeypatch.setattr("agui_gate.cli.commands.run._converse", lambda *_: Ending(3, [refund]))
    result = cli("run", *target, "--model", "rules:fast", "-m", "x", "--thread", "t", *STORE)
    assert result.exit_code == 3
    typed = " ".join(["agui-gate run", *target, "--model rules:fast --store memory:// --thread t"])
    assert f"Decide at a terminal: {typed}\n" in result.stderr


@pytest.mark.parametrize("command", [["run", "-m", "hello"], ["serve"]])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Name a TARGET, such as support:agent, or a model with --model."),
        (["--model", "fast"], "A model is adapter:model"),
        (["--model", "other:fast"], "No adapter called 'other' is installed; there is rules."),
        (["cli_shop:agent", "--model", "other:fast"], "No adapter called 'other' is installed; there is rules."),
        (["cli_shop:app", "--model", "rules:fast"], NOT_AN_APP),
        (["cli_shop:outer", "--model", "rules:fast"], "--model can't change them."),
    ],
)
def test_what_is_wrong_is_one_line(cli: Cli, command: list[str], arguments: list[str], says: str) -> None:
    result = cli(*command, *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_doctor_checks_the_model(cli: Cli) -> None:
    result = cli("doctor", "--model", "rules:fast", *STORE)
    assert result.exit_code == 0
    assert "✓ --model rules:fast: 1 agent with 0 tools, 0 of them gated" in result.stdout
    assert result.stdout.splitlines()[-1] == "✓ assistant: model fast: answers"


def test_doctor_checks_it_for_each_agent(cli: Cli) -> None:
    lines = cli("doctor", "cli_shop:both", "--model", "rules:fast", *STORE).stdout.splitlines()
    assert lines[-2:] == ["✓ shop: model fast: answers", "✓ cards: model fast: answers"]


def test_doctor_tells_what_is_wrong_with_it(cli: Cli) -> None:
    result = cli("doctor", "--model", "other:fast", *STORE)
    assert result.exit_code == 1
    assert "✗ --model other:fast: No adapter called 'other'" in result.stdout
    assert "  → Correct TARGET or --model." in result.stdout


@pytest.mark.parametrize("more", [[], ["--reload"]])
def test_serve_needs_nothing_but_a_model(tmp_path: object, more: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process, with the adapters that are really installed."""
    arguments = ["serve", "--model", "openai:gpt-5.4-mini", "--port", "0", *STORE, *more]
    with running(tmp_path, *arguments) as server:  # type: ignore[arg-type]  # a path it is
        server.wait_for(f"is up at ({URL})")
        server.wait_for("assistant  no tools")


@pytest.mark.parametrize("command", ["run", "serve", "doctor"])
def test_help_has_an_example(cli: Cli, command: str) -> None:
    assert f"agui-gate {command} --model " in cli(command, "--help").stdout


def test_events_name_no_model(cli: Cli) -> None:
    """What a client sees is the same, whichever model it is."""
    lines = cli("run", "--model", "rules:fast", "-m", "hello", "--json", *STORE).stdout.splitlines()
    assert [json.loads(line)["type"] for line in lines][::5] == ["RUN_STARTED", "RUN_FINISHED"]
