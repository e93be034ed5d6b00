"""`agui-gate export`: what the store keeps about a person."""

import sys

import click
import msgspec

from agui_gate.cli.interrupts import run
from agui_gate.cli.store_access import opened, store_options
from agui_gate.config.settings import Settings
from agui_gate.extra_loader import load

HELP = """Print what the store keeps about a person, as lines of JSON.

Each line has its kind: thread (with all that was said, its state and its calls), call_of_others (what a record of
somebody else's call says of them), event (of the audit trail, with the reason that they gave), grant, deputy,
counted_call, notice, delivery, deleted_call, budget, model_request (usage). What other people said is in none.

\b
Examples:
  agui-gate export alice > alice.jsonl
  agui-gate export bob --tenant acme --store postgresql://db.internal/gate

Exit codes: 0 success, also where nothing is kept; 1 the store is not available; 2 usage error.
"""


@click.command("export", help=HELP)
@click.argument("principal")
@click.option("--tenant", default="", metavar="NAME", help="The tenant.  [default: owners without one]")
@store_options()
def command(principal: str, tenant: str, settings: Settings) -> None:
    """Print the lines."""
    who = load("erasure.names").checked(tenant, principal)

    async def work() -> None:
        async with opened(settings) as kept:
            async for line in load("erasure.export").Export(kept, who).lines():
                sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")

    run(work())
    sys.stdout.flush()
