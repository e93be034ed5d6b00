"""`agui-gate deputies`: who is away names who decides in their place, on a running server."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import click

from agui_gate.cli.program import debug_option, json_option
from agui_gate.cli.remote_server import RemoteServer, server_options
from agui_gate.cli.terminal.console import short, table

HELP = """List, name and remove deputies: who decides while somebody is away.

\b
Examples:
  agui-gate deputies ls
  agui-gate deputies add dan --until 2026-12-15
  agui-gate deputies add dan --since 2026-12-01T08:00 --until 2026-12-15
  agui-gate deputies rm dep_5f0c2a71…

A deputy has the right that your token has now, and never more. Times are UTC if they say nothing else.

Exit codes: 0 success; 1 the server refused; 2 usage error, or nothing is listening at the address.
"""


@click.group("deputies", help=HELP)
def command() -> None:
    """List, name, remove."""


@command.command("ls", short_help="List those that you named, and those that you are.")
@server_options
@json_option
@debug_option
def ls(server: RemoteServer, as_json: bool) -> None:
    """List those that you named, and those that you are; operators see all of their tenant."""
    with server:
        told = server.ask("GET", "/deputies")
    if as_json:
        click.echo(json.dumps(told, indent=2))
    elif not told.get("deputies"):
        click.echo("There are no deputies.")
    else:
        click.echo(table([_row(one) for one in told["deputies"]], ("ID", "AWAY", "DEPUTY", "SINCE", "UNTIL")))


@command.command("add", short_help="Name somebody who decides in your place.")
@click.argument("deputy", metavar="WHO")
@click.option("--until", required=True, metavar="TIME", help="The first moment at which they may not any more.")
@click.option("--since", metavar="TIME", help="When it begins.  [default: now]")
@server_options
@json_option
@debug_option
def add(deputy: str, until: str, since: str | None, server: RemoteServer, as_json: bool) -> None:
    """Name somebody who decides in your place, by the id of their principal."""
    body = {"deputy": deputy, "until": until, "way": "shell"} | ({"since": since} if since else {})
    with server:
        told = server.ask("POST", "/deputies", body)
    if as_json:
        click.echo(json.dumps(told, indent=2))
    else:
        _, absent, who, since_, until_ = _row(told)
        click.echo(f"{who} decides in the place of {absent} from {since_} until {until_}.")


@command.command("rm", short_help="Remove a deputy.")
@click.argument("deputy_id", metavar="ID")
@server_options
@debug_option
def rm(deputy_id: str, server: RemoteServer) -> None:
    """Remove a deputy: once this has answered, no call is let go by them."""
    with server:
        server.ask("DELETE", f"/deputies/{quote(deputy_id, safe='')}?way=shell")
    click.echo("Removed.")


def _row(deputy: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("id", "absent", "deputy", "since", "until")
    shown = deputy if deputy.get("counts", True) else {**deputy, "until": "counts no more"}
    return tuple(short(str(shown.get(name, "")), 60) for name in names)
