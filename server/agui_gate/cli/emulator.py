"""`agui-gate emulator`: the strict provider emulator by itself."""

from pathlib import Path
from typing import Literal, get_args

import click

from agui_gate.cli.console import dim, log_to_stderr
from agui_gate.cli.program import debug_option
from agui_gate.errors import ConfigurationError

PACE = 0.015
Profile = Literal["openai", "azure_v1", "foundry", "compat_lenient"]

HELP = """Serve the strict emulator of the OpenAI Responses API, for anyone's tests.

It keeps state like the provider and refuses what the provider refuses, with the provider's words. Without a script a
small brain answers by picking tools from the prompt; SCRIPTS.md beside the emulator's code describes scripts.

\b
Examples:
  agui-gate emulator
  agui-gate emulator --script refund.json --port 8090
  OPENAI_BASE_URL=http://127.0.0.1:8090/v1 OPENAI_API_KEY=any python my_tests.py

\b
Exit codes: 0 stopped by SIGTERM or Ctrl-C; 2 the port is taken or the script can't be read.
"""


@click.command("emulator", help=HELP)
@click.option("--port", type=click.IntRange(0, 65_535), default=8090, show_default=True, help="Port; 0 picks one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--script", type=click.Path(path_type=Path, dir_okay=False), help="What the model says, as JSON.")
@click.option(
    "--profile", type=click.Choice(get_args(Profile)), default="openai", show_default=True, help="Whose strictness."
)
@debug_option
@click.pass_context
def command(ctx: click.Context, port: int, host: str, script: Path | None, profile: Profile) -> None:
    """Serve the emulator."""
    from agui_gate.cli.server import Server, address_of, bind, configure, serve_forever
    from agui_gate_adapters.testkit import Emulator, ScriptError

    log_to_stderr(ctx)
    try:
        emulator = Emulator(script, profile=profile, pace=0.0 if script else PACE)
    except ScriptError as error:
        raise ConfigurationError(f"{script} can't be played: {error}") from error
    except OSError as error:
        raise ConfigurationError(f"The script {script} can't be read: {error.strerror}.") from error
    with bind(host, port) as sock:
        url = address_of(sock, host)
        # A cut answer looks like a crashed application to uvicorn; its complaint would be noise here.
        serve_forever(Server(configure(emulator.app, quiet=True), lambda: _announce(url, script, profile)), sock)


def _announce(url: str, script: Path | None, profile: Profile) -> None:
    says = f"plays {script}" if script else "answers by the demo brain"
    click.echo(f"\n  The emulator is up at {click.style(f'{url}/v1', fg='cyan', bold=True)}")
    click.echo(f"  {says}; as strict as {profile}\n")
    dim(f"  OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=any\n\n  Ctrl-C stops it.")
