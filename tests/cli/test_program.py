"""The program around the commands, and how TARGET is found."""

import os

import pytest
from click.testing import CliRunner

from agui_gate.cli.program import COMMANDS, program
from agui_gate.cli.target import load_target, pick_agent
from agui_gate.errors import ConfigurationError
from tests.cli.conftest import Cli


def test_help_lists_every_command(cli: Cli) -> None:
    result = cli("--help")
    assert result.exit_code == 0
    assert all(f"\n  {name} " in result.stdout for name in COMMANDS)
    assert "Exit codes:" in result.stdout


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS), ("audit", "verify")])
def test_h_is_help(cli: Cli, arguments: tuple[str, ...]) -> None:
    short = cli(*arguments, "-h")
    assert (short.exit_code, short.stdout) == (0, cli(*arguments, "--help").stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_and_exit_codes(cli: Cli, name: str) -> None:
    result = cli(name, "--help")
    assert result.exit_code == 0
    assert f"  agui-gate {name}" in result.stdout
    assert "Exit codes:" in result.stdout


@pytest.mark.parametrize("name", ["approvals", "audit"])
def test_no_line_of_a_list_of_commands_is_cut_off(cli: Cli, name: str) -> None:
    listed = cli(name, "--help").stdout.partition("Commands:")[2].splitlines()
    assert not [line for line in listed if line.endswith("...")]


def test_unknown_command(cli: Cli) -> None:
    result = cli("sever")
    assert result.exit_code == 2
    assert "No such command 'sever'. Did you mean 'serve'?" in result.stderr
    assert "No such command 'nothing'.\n" in cli("nothing").stderr


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["approvals", "list"], "Did you mean 'ls'?"),
        (["audit", "verfy"], "Did you mean 'verify'?"),
        (["serve", "--prot", "9"], "'--port'"),
        (["chat", "http://x/", "--mesage", "a"], "'--message'"),
    ],
)
def test_what_was_meant(cli: Cli, arguments: list[str], meant: str) -> None:
    result = cli(*arguments)
    assert result.exit_code == 2
    assert meant in result.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cli_shop", "TARGET is module:object, such as support:agent; 'cli_shop' is not; perhaps cli_shop:agent."),
        ("x/cli_shop.py:both", "TARGET takes a module's name, not a file; perhaps x.cli_shop:both."),
        ("cli_shopp:agent", "There is no module 'cli_shopp'"),
        ("cli_shop:agnt", "cli_shop has no 'agnt'; did you mean cli_shop:agent?"),
        ("cli_shop:number", "cli_shop:number is of type int; name an Agent, a list of them, or an app."),
        ("cli_shop:RuleModel", "cli_shop:RuleModel is of type type"),
        ("cli_leaving:agent", "Importing cli_leaving ended the program: it calls sys.exit()"),
        ("cli_unfinished:agent", "Importing cli_unfinished failed in cli_unfinished.py line 4: SyntaxError: "),
        ("cli_broken:agent", "Importing cli_broken failed in cli_broken.py line 3: RuntimeError: nothing works today"),
    ],
)
def test_a_wrong_target_says_what_would_be_right(
    cli: Cli, tmp_path: "os.PathLike[str]", name: str, message: str
) -> None:
    with open(os.path.join(tmp_path, "cli_leaving.py"), "w") as file:
        file.write("import sys\nsys.exit(3)\n")
    with open(os.path.join(tmp_path, "cli_unfinished.py"), "w") as file:
        file.write("agent = None\n\n\ndef tool(:\n")
    result = cli("run", name, "--message", "hi")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1


def test_debug_shows_the_traceback(cli: Cli) -> None:
    for arguments in (
        ["--debug", "run", "cli_broken:agent", "-m", "hi"],
        ["run", "cli_broken:agent", "-m", "hi", "--debug"],
    ):
        result = cli(*arguments)
        assert result.exit_code == 2
        assert 'raise RuntimeError("nothing works today")' in result.stderr


def test_a_missing_dependency_of_the_target_is_named(tmp_path: "os.PathLike[str]", cli: Cli) -> None:
    with open(os.path.join(tmp_path, "cli_needy.py"), "w") as file:
        file.write("import surely_not_installed\n")
    result = cli("doctor", "cli_needy:agent")
    assert "cli_needy imports 'surely_not_installed', which is not installed." in result.stdout


def test_what_targets_may_be() -> None:
    assert [agent.name for agent in load_target("cli_shop:agent").agents] == ["shop"]
    assert [agent.name for agent in load_target("cli_shop:both").agents] == ["shop", "cards"]
    app = load_target("cli_shop:app")
    assert app.app is not None
    assert [agent.name for agent in app.agents] == ["shop"]
    assert [agent.name for agent in load_target("cli_shop:outer").agents] == ["shop"]
    assert pick_agent(load_target("cli_shop:both"), "cards").name == "cards"
    with pytest.raises(ConfigurationError, match="There is no agent 'x'; there is shop, cards"):
        pick_agent(load_target("cli_shop:both"), "x")


def test_where_nobody_wants_colours_nothing_is_bold_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def tell() -> list[bool]:
        commands = (
            ["settings"],
            ["approvals", "ls", "--url", "http://127.0.0.1:9"],
            ["settings", "--config", "none.toml"],
        )
        return ["\x1b[" in CliRunner().invoke(program, words, color=True).output for words in commands]

    assert tell() == [True, True, True]
    monkeypatch.setenv("NO_COLOR", "1")
    assert tell() == [False, False, False]
