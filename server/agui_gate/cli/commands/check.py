"""`agui-gate check`: any AG-UI server against the specification."""

import json
import sys

import click

from agui_gate.cli.interruptible import run
from agui_gate.cli.program import FAILED, MISUSED, Failure, debug_option
from agui_gate.cli.request_headers import header_option, read_headers
from agui_gate.cli.terminal.console import short

WIDTH = 500
"""Characters of a line, of which a server may have said a part."""

HELP = """Hold any AG-UI server against the specification.

URL is the address that a run is POSTed to. The check drives it as a client of AG-UI 1.0 would: text, tools, a tool of
the page's own, interrupts and answers to them, hanging up, unknown members, bad input. Each stream is judged by the
rules, which docs/spec.md lists. What the server could not be made to do is listed as "not tried", with the reason.

The model has to play its part. If it doesn't call a tool or ask for an approval by itself, give the words that make
it: --say frontend='Paint it blue'. WHAT is one of text, long, tool, frontend, interrupt. The check sends a few dozen
short requests, so take a cheap model, or better a scripted one.

\b
Examples:
  agui-gate check http://127.0.0.1:8000/
  agui-gate check http://127.0.0.1:8000/agents/support --say interrupt='Refund order A1'
  agui-gate check https://example.org/agent --header 'Authorization: Bearer TOKEN' --json > report.json

\b
Exit codes: 0 no MUST is broken; 1 one is (marked BROKEN);
2 nothing could be checked: nobody answers, it is no AG-UI server, or its runs fail.
"""


@click.command("check", help=HELP)
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@header_option
@click.option("--timeout", type=click.FloatRange(0.1, 600), default=30.0, show_default=True, help="Seconds an answer.")
@click.option("--say", "sentences", multiple=True, metavar="WHAT=TEXT", help="Say this to make the model do WHAT.")
@debug_option
@click.pass_context
def command(
    ctx: click.Context, url: str, as_json: bool, headers: tuple[str, ...], timeout: float, sentences: tuple[str, ...]
) -> None:
    """Check, and print what came out."""
    from agui_gate_adapters.testkit.spec.checking import CantCheck, check

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
        for line in found.table():
            click.echo(short(line, WIDTH))
        version = short(found.version, 20) or "of no version"
        click.echo(f"\n{url} (AG-UI {version}): {found.summary()}")
        if found.stopped:
            click.echo(f"The check ended early: {found.stopped}.")
    ctx.exit(FAILED if found.broken else 0)


def _progress(scenario: str) -> None:
    """Show what is being tried, where somebody watches."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{scenario and f'trying: {scenario}…'}", nl=False, err=True)


def _sentences(given: tuple[str, ...]) -> dict[str, str]:
    from agui_gate_adapters.testkit.spec.checking import SENTENCES

    pairs = [sentence.partition("=") for sentence in given]
    for what, equals, text in pairs:
        if what not in SENTENCES or not equals or not text:
            raise click.BadParameter(f"must be WHAT=TEXT, WHAT one of {', '.join(SENTENCES)}", param_hint="--say")
    return {what: text for what, _, text in pairs}
