"""`agui-gate emulator`: the strict provider emulator by itself."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeVar, get_args

import click

from agui_gate.cli.program import debug_option
from agui_gate.cli.terminal.console import dim, log_to_stderr
from agui_gate.cli.terminal.layout import fit
from agui_gate.errors import ConfigurationError

T = TypeVar("T")
PACE = 0.015
Profile = Literal["openai", "azure_v1", "foundry", "compat_lenient", "llama_cpp", "litellm"]

HELP = """Serve the strict emulator of model providers, for tests.

It serves the Responses API, Chat Completions and Anthropic's Messages at the same time, keeps state like the provider,
and rejects what the provider rejects, with the same messages. Without a script it answers by rules that pick tools from
the prompt, and prints a phrase for each tool that it knows, such as "Refund 20 euros of order 1003" for `refund`.
Orders have ids of three digits or more, or of letters and digits, such as A1. SCRIPTS.md beside the emulator's code
describes scripts.

\b
Examples:
  agui-gate emulator
  agui-gate emulator --script refund.json --port 8090
  agui-gate emulator --chat kimi
  OPENAI_BASE_URL=http://127.0.0.1:8090/v1 OPENAI_API_KEY=any python my_tests.py

Exit codes: 0 stopped by SIGTERM or Ctrl-C; 2 the port is taken or the script can't be read.
"""


@click.command("emulator", help=HELP)
@click.option("--port", type=click.IntRange(0, 65_535), default=8090, show_default=True, help="Port; 0 picks one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--script", type=click.Path(path_type=Path, dir_okay=False), help="The model's answers, as JSON.")
@click.option(
    "--profile",
    type=click.Choice(get_args(Profile)),
    default="openai",
    show_default=True,
    help="The provider to emulate in the Responses API.",
)
@click.option("--chat", default="openai", show_default=True, help="The server to emulate in Chat Completions.")
@click.option("--anthropic", default="anthropic", show_default=True, help="The kind of model to emulate in Messages.")
@debug_option
@click.pass_context
def command(
    ctx: click.Context, port: int, host: str, script: Path | None, profile: Profile, chat: str, anthropic: str
) -> None:
    """Serve the emulator."""
    from agui_gate.cli.server.uvicorn_server import Server, address_of, bind, configure, serve_forever
    from agui_gate_adapters.testkit import ANTHROPIC_PROFILES, CHAT_PROFILES, Emulator, ScriptError

    log_to_stderr(ctx)
    in_chat = _named(CHAT_PROFILES.items(), chat, "--chat")
    in_messages = _named(ANTHROPIC_PROFILES.items(), anthropic, "--anthropic")
    pace = 0.0 if script else PACE
    try:
        emulator = Emulator(script, profile=profile, chat=in_chat, anthropic=in_messages, pace=pace)
    except ScriptError as error:
        raise ConfigurationError(f"{script} can't be played: {error}") from error
    except OSError as error:
        raise ConfigurationError(f"The script {script} can't be read: {error.strerror}.") from error
    with bind(host, port) as sock:
        url = address_of(sock, host)
        # A cut answer looks like a crashed application to uvicorn; its complaint would be noise here.
        strict = f"/responses as {profile}, /chat/completions as {chat}, /messages as {anthropic}"
        serve_forever(Server(configure(emulator.app, quiet=True), lambda: _announce(url, script, strict)), sock)


def _named(profiles: Iterable[tuple[str, T]], name: str, option: str) -> T:
    """Looks a profile up by its name. They are the test kit's, which is too slow to load for a `click.Choice`."""
    known = dict(profiles)
    if name not in known:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(sorted(known))}.", param_hint=option)
    return known[name]


def _announce(url: str, script: Path | None, strict: str) -> None:
    says = f"plays {script}" if script else "answers by the demo brain"
    up = fit(f"  The emulator is up at {url}/v1", sys.stdout, hang=0)
    click.echo("\n" + up.replace(f"{url}/v1", click.style(f"{url}/v1", fg="cyan", bold=True)))
    click.echo(fit(f"  {says}; {strict}\n", sys.stdout))
    if script is None:
        from agui_gate_adapters.testkit.scenes import SCENES

        click.echo(fit("  For agents with these tools, it understands for example:\n", sys.stdout))
        for tool, example in {scene.tool: scene.example for scene in SCENES}.items():
            dim(fit(f"  {tool}: {example}", sys.stdout))
        click.echo("")
    for host, address in (("OPENAI", f"{url}/v1"), ("ANTHROPIC", url)):
        dim(fit(f"  {host}_BASE_URL={address} {host}_API_KEY=any", sys.stdout, hang=0))
    dim("\n  Ctrl-C stops it.")
