"""`agui-gate erase`: a person's threads and name, out of the store."""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click
import msgspec

from agui_gate.cli.interrupts import run
from agui_gate.cli.program import Failure
from agui_gate.cli.store_access import opened, store_options, user_name
from agui_gate.cli.target import load_target
from agui_gate.cli.terminal.console import print_hint, printable
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import Settings
from agui_gate.extra_loader import load

HELP = """Erase a person: delete what is theirs, and their name from everything else. It can't be undone.

Deleted are their threads with all that was said, also at the model's provider where that stores it, their grants, and
the reasons that they gave. In other people's records, in the audit trail and in usage, a pseudonym takes the place of
the name. It works on the store, also while servers use it. A SQLite file is written anew at the end, for which the
servers wait.

\b
Examples:
  agui-gate erase alice --dry-run            count what there is
  agui-gate erase alice --json > receipt.json
  agui-gate erase bob --tenant acme
  agui-gate erase alice --person p-17        erase the person behind alice, too, of whom the dry run tells
  agui-gate erase alice --target support:agent    ask the providers of these agents to delete what they store

Names are erased one by one: a principal's by itself leaves the name of the person behind it (the claim "person"), and
other principals of theirs. --person erases that name as well, as if it were given by itself. It is never done unasked:
only you know whether that name is this person alone.

Take the person's token away first. What is at work on their threads is waited for, and a call that somebody approved is
never stopped. If the command was killed, run it again: it does what is left.

Exit codes: 0 erased, or nothing is there; 1 refused, or not finished: it says what to do; 2 usage error.
"""


@click.command("erase", help=HELP)
@click.argument("principal")
@click.option("--tenant", default="", metavar="NAME", help="The tenant.  [default: owners without one]")
@click.option("--person", "persons", multiple=True, metavar="NAME", help="Erase this name, too. May be repeated.")
@click.option("--dry-run", is_flag=True, help="Count what would be erased, and change nothing.")
@click.option(
    "--wait",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0, 3600),
    help="Seconds to wait for what is at work.",
)
@click.option("--target", metavar="TARGET", help="The application, such as support:agent, for its models.")
@click.option("--leave-providers", is_flag=True, help="Leave what providers store to expire there.")
@click.option("--operator", metavar="NAME", help="Who you are, for the audit trail.  [default: your user name]")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as JSON.")
@store_options()
def command(
    principal: str,
    tenant: str,
    persons: tuple[str, ...],
    dry_run: bool,
    wait: float,
    target: str | None,
    leave_providers: bool,
    operator: str | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Erase a person."""
    if target is not None and leave_providers:
        raise click.UsageError("--target is for the providers: it doesn't go with --leave-providers.")
    names = [load("erasure.names").checked(tenant, name) for name in dict.fromkeys((principal, *persons))]
    adapters = [] if target is None else [agent.adapter for agent in load_target(target).agents]
    providers = None if leave_providers else load("erasure.providers").Providers(adapters)
    make = partial(load("erasure.erasure").Erasure, by=operator or user_name(), wait=wait, say=_say)
    receipts: list[Any] = []
    try:
        run(_erase(settings, names, make, providers, receipts, dry_run=dry_run))
    finally:  # what is erased has no second receipt
        if receipts:
            _print(receipts, [name.name for name in names], dry_run=dry_run, as_json=as_json)
    for receipt in receipts:
        if receipt.unfinished:
            raise Failure(f"Everything is erased, but the file was not written anew. {receipt.unfinished}")


async def _erase(
    settings: Settings,
    names: Sequence[Any],
    make: Callable[..., Any],
    providers: Any,
    receipts: list[Any],
    *,
    dry_run: bool,
) -> None:
    """Erases the first name, and the persons behind it; adds the receipts. All are checked before the first goes."""
    async with opened(settings) as kept:
        persons = [name.name for name in names[1:]]
        erasures = [
            make(kept, name, providers=providers, persons=persons if name is names[0] else ()) for name in names
        ]
        try:
            for one in erasures if persons and not dry_run else ():
                await one.check()
            for one in erasures:
                receipt = await (one.count() if dry_run else one.erase())
                receipts.append(receipt)
        finally:
            if providers is not None:
                await providers.aclose()


def _say(line: str) -> None:
    print_hint(printable(line))


def _print(receipts: Sequence[Any], names: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        first, *persons = (msgspec.to_builtins(one) for one in receipts)
        click.echo(json.dumps(first | ({"persons": persons} if len(names) > 1 else {}), indent=2))
        return
    for name, receipt in zip(names, receipts, strict=False):
        if len(names) > 1:
            click.echo(printable(f"{name}:"))
        _print_one(receipt, dry_run=dry_run)


def _print_one(receipt: Any, *, dry_run: bool) -> None:
    if not (receipt.deleted or receipt.replaced):
        click.echo("Nothing is kept under this name.")
        return
    for verb, counts in (("delete", receipt.deleted), ("replace the name in", receipt.replaced)):
        told = f"would {verb}" if dry_run else {"delete": "deleted"}.get(verb, "replaced the name in")
        for name, number in counts.items():
            click.echo(f"{told} {_WORDS.get(name, name)}: {number:,}")
    for line in receipt.remains:
        click.echo(fit(f"remains: {line}", sys.stdout, hang=4))
    if not dry_run:
        click.echo(f"pseudonym: {receipt.pseudonym}\nerased at: {receipt.at}\nreceipt: {receipt.digest}")


_WORDS = {
    "at_providers": "responses and conversations at providers",
    "approval_steps": "reminders and escalations",
    "budgets": "budgets",
    "counted_calls": "counted calls",
    "deliveries": "deliveries of notices",
    "events": "events of the audit trail",
    "model_requests": "requests to models",
    "outbox": "notices",
    "records": "records of other people's calls",
    "run_heads": "runs on the bus",
    "tombstones": "remains of deleted calls",
    "usage_days": "days of usage",
}
