"""`agui-gate grants`: what is let go without a question, by whom and how much of it was used, on a running server."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import click

from agui_gate.cli.program import debug_option, json_option
from agui_gate.cli.remote_server import RemoteServer, server_options
from agui_gate.cli.terminal.console import short, table

HELP = """List and revoke standing grants: calls that run without a question, because somebody said yes beforehand.

\b
Examples:
  agui-gate grants ls
  agui-gate grants rm gr_5f0c2a71…
  agui-gate approvals approve apr_5f0c2a71 --grant amount --within up_to=20 --within times=5

Exit codes: 0 success; 1 the server refused; 2 usage error, or nothing is listening at the address.
"""


@click.group("grants", help=HELP)
def command() -> None:
    """List, revoke."""


@command.command("ls", short_help="List those for your calls, and those that you gave.")
@server_options
@json_option
@debug_option
def ls(server: RemoteServer, as_json: bool) -> None:
    """List those for your calls, and those that you gave; operators see all of their tenant."""
    with server:
        told = server.ask("GET", "/grants")
    if as_json:
        click.echo(json.dumps(told, indent=2))
    elif not told.get("grants"):
        click.echo("There are no grants.")
    else:
        click.echo(table([_row(one) for one in told["grants"]], ("ID", "TOOL", "SCOPE", "BY", "AS", "USED", "UNTIL")))


@command.command("rm", short_help="Revoke a grant.")
@click.argument("grant_id", metavar="ID")
@server_options
@debug_option
def rm(grant_id: str, server: RemoteServer) -> None:
    """Revoke a grant: once this has answered, no call is let go by it on any replica."""
    with server:
        server.ask("DELETE", f"/grants/{quote(grant_id, safe='')}")
    click.echo("Revoked.")


def _row(grant: Mapping[str, Any]) -> tuple[str, ...]:
    used = str(grant.get("used", "")) + (f"/{grant['times']}" if grant.get("times") is not None else "")
    names = ("id", "tool", "scope", "by")
    until = str(grant.get("until", "")) if grant.get("counts", True) else "counts no more"
    roles = ", ".join(map(str, grant.get("by_roles", ())))
    return (*(short(str(grant.get(name, "")), 60) for name in names), short(roles, 60), used, short(until, 60))
