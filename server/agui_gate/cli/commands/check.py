"""`agui-gate check`: any AG-UI server against the specification."""

import json
import sys

import click

from agui_gate.cli.chat_session import header_option, read_headers
from agui_gate.cli.interrupts import run
from agui_gate.cli.program import FAILED, MISUSED, Failure, debug_option
from agui_gate.cli.terminal.console import short
from agui_gate.cli.terminal.layout import fit

COMMAND = "curl -sN "
"""The beginning of a line that somebody will copy. It is told whole: it is ASCII, with what the server said in JSON."""

WIDTH = 500
"""Characters of a line, of which a server may have said a part."""

HELP = """Check any AG-UI server against the specification. Needs agui-gate[check].

URL is the address that accepts runs (POST). The check acts as a client of AG-UI 1.0: it tries text, tools, a client
tool, interrupts and their answers, disconnects and reconnects, the binary binding, unknown members and invalid input,
and checks each stream against the rules in docs/spec.md. A broken rule is printed with its words, its page in the
specification and the frame that shows it; --json and --curl add the requests, so that you can send them again. Notes
break no rule. It lists what it could not try as "not tried", with the reason.

Some checks need the model to call a tool or to ask for approval. If it does not do so by itself, give a prompt that
makes it: --say frontend='Paint it blue'. WHAT is one of text, long, tool, frontend, interrupt. The check sends a few
dozen short requests, so use a cheap model or, better, a scripted one.

\b
Examples:
  agui-gate check http://127.0.0.1:8000/
  agui-gate check http://127.0.0.1:8000/agents/support --say interrupt='Refund order A1'
  agui-gate check https://example.org/agent --header 'Authorization: Bearer TOKEN' --json > report.json
  agui-gate check http://127.0.0.1:8000/ --curl

Exit codes: 0 no MUST is broken; 1 a MUST is broken (marked BROKEN);
2 nothing could be checked: nothing is listening, it is not an AG-UI server, or its runs fail.
"""


@click.command("check", help=HELP)
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@click.option("--curl", is_flag=True, help="Print the requests that show a finding, as curl commands.")
@header_option
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 600),
    default=30.0,
    show_default=True,
    help="Seconds to wait for each answer.",
)
@click.option("--say", "sentences", multiple=True, metavar="WHAT=TEXT", help="Prompt that makes the model do WHAT.")
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    url: str,
    as_json: bool,
    curl: bool,
    headers: tuple[str, ...],
    timeout: float,
    sentences: tuple[str, ...],
) -> None:
    """Check, and print what came out."""
    try:
        from agui_gate_adapters.testkit.check import CantCheck, check
    except ModuleNotFoundError as error:
        raise Failure(f"The package {error.name} is not installed: pip install 'agui-gate[check]'.", MISUSED) from None
    told, head = _sentences(sentences), read_headers(headers)
    if not url.startswith(("http://", "https://")):
        raise click.BadParameter("must begin with http:// or https://", param_hint="URL")
    try:
        found = run(check(url, headers=head, seconds=timeout, say=told, progress=_progress))
    except CantCheck as error:
        raise Failure(short(str(error), WIDTH), MISUSED) from error
    finally:
        _progress("")
    if as_json:
        click.echo(json.dumps(found.told(), indent=2, ensure_ascii=False))
    else:
        for line in found.table(curl=curl):
            click.echo(line if line.lstrip().startswith(COMMAND) else fit(short(line, WIDTH), sys.stdout))
        version = short(found.version, 20) or "of no version"
        click.echo(fit(f"\n{url} (AG-UI {version}): {found.summary()}", sys.stdout))
        if found.stopped:
            click.echo(fit(f"The check ended early: {found.stopped}.", sys.stdout))
    ctx.exit(FAILED if found.broken else 0)


def _progress(scenario: str) -> None:
    """Shows what is being tried, where somebody watches."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{scenario and f'trying: {scenario}…'}", nl=False, err=True)


def _sentences(given: tuple[str, ...]) -> dict[str, str]:
    from agui_gate_adapters.testkit.check import SENTENCES

    pairs = [sentence.partition("=") for sentence in given]
    for what, equals, text in pairs:
        if what not in SENTENCES or not equals or not text:
            raise click.BadParameter(f"must be WHAT=TEXT, WHAT one of {', '.join(SENTENCES)}", param_hint="--say")
    return {what: text for what, _, text in pairs}
