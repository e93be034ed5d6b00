"""The program: which commands there are, and how their failures are told.

What people did wrong, and what is wrong with a deployment, is one line on stderr; tracebacks are for ``--debug``.
"""

import difflib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

import click

from agui_gate.cli.terminal.layout import FittingContext, colour, fit, fitting, help_width
from agui_gate.core.secrets import traceback_of
from agui_gate.errors import AguiGateError, ConfigurationError, Unusable
from agui_gate.release import describe_release

FAILED, MISUSED, WAITING, INTERRUPTED = 1, 2, 3, 130
"""Exit codes besides 0; see the help text below."""

COMMANDS = {
    "serve": ("agui_gate.cli.commands.serve", "Serve an agent, a list of agents, or an app."),
    "demo": ("agui_gate.cli.commands.demo", "Try everything on this machine, without a key."),
    "run": ("agui_gate.cli.commands.run", "Run an agent once from the shell, without a server."),
    "chat": ("agui_gate.cli.commands.chat", "Talk to any AG-UI server."),
    "approvals": ("agui_gate.cli.commands.approvals", "List, approve and reject pending calls on a server."),
    "doctor": ("agui_gate.cli.commands.doctor", "Check settings, store and provider, and say what to fix."),
    "support-bundle": (
        "agui_gate.cli.commands.support_bundle",
        "Write a file for whoever helps, without names and secrets.",
    ),
    "metrics": ("agui_gate.cli.commands.metrics", "Write the files that Prometheus and Grafana need."),
    "check": ("agui_gate.cli.commands.check", "Check any AG-UI server against the specification."),
    "backup": ("agui_gate.cli.commands.backup", "Back up the store while it is in use."),
    "migrate": ("agui_gate.cli.commands.migrate", "Update the store's schema, or finish a restore."),
    "deputies": ("agui_gate.cli.commands.deputies", "Name who decides while you are away, on a server."),
    "grants": ("agui_gate.cli.commands.grants", "List and revoke standing grants on a server."),
    "freeze": ("agui_gate.cli.commands.freeze", "Stop gated calls from being approved, on all replicas."),
    "ops": ("agui_gate.cli.commands.ops", "List, stop and settle what belongs to anybody."),
    "notifications": ("agui_gate.cli.commands.notifications", "List what could not be delivered, and retry it."),
    "usage": ("agui_gate.cli.commands.usage", "Tell what models have used and cost."),
    "export": ("agui_gate.cli.commands.export", "Print what is kept about a person."),
    "erase": ("agui_gate.cli.commands.erase", "Erase a person, with a receipt."),
    "audit": ("agui_gate.cli.commands.audit", "Verify and export the audit trail."),
    "settings": ("agui_gate.cli.commands.settings", "Print each setting, its value and its source."),
    "emulator": ("agui_gate.cli.commands.emulator", "Run the strict provider emulator for tests."),
}

HELP = """agui-gate: an AG-UI agent server with tools that wait for approval.

\b
Try it:        agui-gate demo
Your agent:    agui-gate serve support:agent        (the object `agent` in support.py)
From a shell:  agui-gate run support:agent --message "Refund order 1001"
Any server:    agui-gate chat http://127.0.0.1:8000/
Diagnose:      agui-gate doctor support:agent
Read docs/…:   https://github.com/agui-gate/agui-gate/tree/main/docs

Settings come from AGUI_GATE_* variables or a file named by --config;
`agui-gate settings` prints them.
"""

EPILOG = """Exit codes: 0 success; 1 failure (a run, a decision, a check, or the database);
2 usage or configuration error; 3 a call waits for approval; 130 interrupted.
"""


class Failure(click.ClickException):
    """Ends the program with one line on stderr and an exit code."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        vars(self)["exit_code"] = exit_code  # click reads it from the instance but declares it on the class

    def show(self, file: IO[Any] | None = None) -> None:
        """Prints the line."""
        line = fit(f"error: {self.format_message()}", sys.stderr).removeprefix("error:")
        click.echo(f"{click.style('error:', fg='red', bold=True)}{line}", err=True, file=file, color=colour())


class Misuse(click.UsageError):
    """click's own complaint about what was typed, in lines that fit."""

    def format_message(self) -> str:
        """Returns the message without "Error: ", which click writes before it."""
        return fit(f"Error: {super().format_message()}", sys.stderr).removeprefix("Error: ")


@contextmanager
def _fitted() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise Misuse(error.format_message(), error.ctx) from error


class Program(click.Group):
    """A group that imports a command when it is named, and tells errors in one line."""

    context_class = FittingContext

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Makes the context as click does, with help texts that fit."""
        with _fitted():
            shown = {"terminal_width": help_width(), "color": colour()}
            return super().make_context(info_name, args, parent, **{**shown, **extra})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command as click does, which doesn't know the names of commands that are not imported."""
        if args[0] not in COMMANDS and (near := difflib.get_close_matches(args[0], COMMANDS, 1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the commands, most used first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports one command. While the list of commands is printed, its one-line help is enough."""
        if cmd_name not in COMMANDS:
            return None
        module, short = COMMANDS[cmd_name]
        if ctx.meta.get("agui_gate.listing"):
            return click.Command(cmd_name, short_help=short)
        command: click.Command = import_module(module).command
        return fitting(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        ctx.meta["agui_gate.listing"] = True
        super().format_commands(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; turns errors into one line and an exit code."""
        try:
            with _fitted():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click's own, and a reader such as `head` that has seen enough
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except Exception as error:
            _tell(ctx, error)


def _tell(ctx: click.Context, error: Exception) -> NoReturn:
    """Ends with one line about ``error``, and the exit code that belongs to it."""
    if debugging(ctx):
        click.echo(traceback_of(error), err=True)
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, AguiGateError):
        misused = isinstance(error, ConfigurationError) and not isinstance(error, Unusable)
        raise Failure(error.message, MISUSED if misused else FAILED)
    raise Failure(f"unexpected {type(error).__name__}: {error} (--debug shows where)")


def debugging(ctx: click.Context) -> bool:
    """Returns whether ``--debug`` was given, before or after the command."""
    return bool(ctx.meta.get("agui_gate.debug"))


def _note_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta["agui_gate.debug"] = True


def _whole_id(_: click.Context, __: click.Parameter, value: str) -> str:
    if re.fullmatch(r"apr_[0-9a-f]{1,31}", value):
        raise click.BadParameter(f"{value} is the beginning of an id. `agui-gate ops approvals` prints whole ones.")
    return value


approval_argument = click.argument("approval_id", metavar="ID", callback=_whole_id)
"""The id of an approval, for commands on a store. `agui-gate approvals` prints, and takes, the beginning of one."""

config_option = click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings: a TOML or NAME=value file."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, callback=_note_debug, help="Show tracebacks and debug logs."
)


@click.group(cls=Program, help=HELP, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(describe_release(), message="agui-gate %(version)s")
@debug_option
def program() -> None:
    """Everything starts here; the commands do the rest."""
