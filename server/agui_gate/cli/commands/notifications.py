"""`agui-gate notifications`: what waits to be delivered, which letters are dead, and how they are tried again."""

import json
import sys
from collections.abc import Sequence

import click
import msgspec

from agui_gate.cli.interrupts import run
from agui_gate.cli.program import FAILED
from agui_gate.cli.store_access import opened, store_options
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import Settings
from agui_gate.protocol.cards import iso
from agui_gate.stores.deliveries import DeliveryStore, Waiting

PAGE = 500

HELP = """List notices that wait for their endpoint, and try dead letters again.

A notice that can't be delivered is tried again for a day, with growing delays. After that it is a dead letter, which is
kept for thirty days. Settings say where notices go: AGUI_GATE_WEBHOOKS, and create_app(on_notice=…).

\b
Examples:
  agui-gate notifications ls
  agui-gate notifications ls --dead --json
  agui-gate notifications retry 41 42
  agui-gate notifications retry --all --endpoint desk

Exit codes: 0 success; 1 there was nothing to try again, or the store is not available; 2 usage error.
"""

store_option = store_options()
endpoint_option = click.option("--endpoint", metavar="NAME", help="Only those to this endpoint.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group("notifications", help=HELP)
def command() -> None:
    """List and retry."""


@command.command("ls", short_help="List what waits, and dead letters.")
@click.option("--dead", is_flag=True, help="Only dead letters.")
@endpoint_option
@json_option
@store_option
def ls(dead: bool, endpoint: str | None, as_json: bool, settings: Settings) -> None:
    """Print each delivery that waits, oldest first."""
    found = run(_found(settings, endpoint, dead))
    if as_json:
        click.echo(json.dumps({"notifications": [_view(one) for one in found]}))
        return
    for one in found:
        state = "dead" if one.dead else f"next {iso(one.due_at)}"
        why = f": {one.error}" if one.error else ""
        attempts = f"{one.attempts} attempt{'' if one.attempts == 1 else 's'}"
        line = f"{one.id}  {one.endpoint}  {_kind(one)}  {one.approval_id}  {state}, {attempts}{why}"
        click.echo(fit(line, sys.stdout))
    if not found:
        click.echo("Nothing waits.")


@command.command("retry", short_help="Try dead letters again.")
@click.argument("ids", metavar="[ID]...", nargs=-1, type=click.IntRange(1))
@click.option("--all", "every", is_flag=True, help="All dead letters.")
@endpoint_option
@json_option
@store_option
@click.pass_context
def retry(
    ctx: click.Context,
    ids: tuple[int, ...],
    every: bool,
    endpoint: str | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Make dead letters due at once, as if they were new. A server delivers them."""
    if bool(ids) is every or (endpoint is not None and not every):
        raise click.UsageError("Name the ids of dead letters, or --all, which --endpoint narrows.")
    number = run(_retry(settings, ids, endpoint))
    if as_json:
        click.echo(json.dumps({"retried": number}))
    else:
        click.echo(f"{number:,} dead letter{'' if number == 1 else 's'} to be tried again.")
    if not number:
        ctx.exit(FAILED)


async def _found(settings: Settings, endpoint: str | None, dead: bool) -> Sequence[Waiting]:
    async with opened(settings) as store:
        return [one for one in await _all(store.deliveries(), dead) if endpoint in (None, one.endpoint)]


async def _retry(settings: Settings, ids: Sequence[int], endpoint: str | None) -> int:
    async with opened(settings) as store:
        deliveries = store.deliveries()
        if not ids:
            ids = [one.id for one in await _all(deliveries, dead=True) if endpoint in (None, one.endpoint)]
        return sum([await deliveries.retry(ids[place : place + PAGE]) for place in range(0, len(ids), PAGE)])


async def _all(deliveries: DeliveryStore, dead: bool) -> list[Waiting]:
    found: list[Waiting] = []
    while page := await deliveries.listed(after=found[-1].id if found else 0, limit=PAGE, dead=dead):
        found += page
    return found


def _view(one: Waiting) -> dict[str, object]:
    return {
        "id": one.id,
        "endpoint": one.endpoint,
        "notice": one.notice,
        "kind": _kind(one),
        "approval_id": one.approval_id,
        "state": "dead" if one.dead else "waiting",
        "attempts": one.attempts,
        "created_at": iso(one.created_at),
        "due_at": None if one.dead else iso(one.due_at),
        "error": one.error or None,
    }


def _kind(one: Waiting) -> str:
    """Returns what the notice tells; "?" where another version wrote it."""
    try:
        return str(msgspec.json.decode(one.body)["kind"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return "?"
