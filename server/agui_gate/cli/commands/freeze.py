"""`agui-gate freeze`: from then on no gated call is let go, in whichever process; and how that ends."""

import sys
from collections.abc import Sequence

import click
import structlog

from agui_gate.cli.interrupts import run
from agui_gate.cli.program import FAILED
from agui_gate.cli.store_access import opened, store_options, user_name
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import Settings
from agui_gate.core.freezes import Freeze
from agui_gate.log_events import name_of
from agui_gate.protocol.cards import iso

HELP = """Stop gated calls from being approved, on all replicas at once.

Once this has answered, no call that the freeze is about is let go: by no person and by no rule. Calls that were
let go before go on. Pending calls stay pending; they can be rejected. Without --tool, --agent and --tenant it is about
all of them.

\b
Examples:
  agui-gate freeze --reason "Payments are being checked."
  agui-gate freeze --tool refund --tenant acme
  agui-gate freeze --list
  agui-gate freeze --tool refund --tenant acme --lift

Exit codes: 0 success; 1 there is no such freeze to lift, or the store is not available; 2 usage error.
"""

log = structlog.get_logger("agui_gate.operations")


@click.command("freeze", help=HELP)
@click.option("--tool", metavar="NAME", help="Only calls of the tool with this name.")
@click.option("--agent", metavar="NAME", help="Only calls of this agent.")
@click.option("--tenant", metavar="NAME", help='Only calls of this tenant; "" for owners without one.')
@click.option("--reason", default="", metavar="TEXT", help="What people are told who would approve a call.")
@click.option("--lift", is_flag=True, help="End the freeze of just this.")
@click.option("--list", "as_list", is_flag=True, help="Print what is frozen, and change nothing.")
@store_options()
@click.pass_context
def command(
    ctx: click.Context,
    tool: str | None,
    agent: str | None,
    tenant: str | None,
    reason: str,
    lift: bool,
    as_list: bool,
    settings: Settings,
) -> None:
    """Freeze, lift or list; then print what is frozen."""
    if len(reason) > 500 or (lift and reason) or (as_list and (lift or reason)):
        raise click.UsageError("--reason has up to 500 characters, and goes with neither --lift nor --list.")
    wanted = None if as_list else Freeze(tool=tool, agent=agent, of_tenant=tenant, reason=reason)
    done, left = run(_freeze(settings, wanted, lift))
    for one in left:
        click.echo(
            fit(f"frozen since {iso(one.at)}: {_about(one)}{f' ({one.reason})' if one.reason else ''}", sys.stdout)
        )
    if not left:
        click.echo("Nothing is frozen.")
    if not done:
        click.echo(fit("There is no freeze of just this.", sys.stderr), err=True)
        ctx.exit(FAILED)


async def _freeze(settings: Settings, wanted: Freeze | None, lift: bool) -> tuple[bool, Sequence[Freeze]]:
    async with opened(settings) as store:
        done = True if wanted is None else await store.freeze(wanted, lift=lift)
        if wanted is not None and done:
            about = {"tool": wanted.tool, "agent": wanted.agent, "tenant": wanted.of_tenant}
            named = {name: value for name, value in about.items() if value is not None}
            log.warning("lifted" if lift else "frozen", by=name_of(user_name()), **named)
        return done, await store.freezes()


def _about(freeze: Freeze) -> str:
    given = (("tool", freeze.tool), ("agent", freeze.agent), ("tenant", freeze.of_tenant))
    return ", ".join(f"{name} {value or '(none)'}" for name, value in given if value is not None) or "all gated calls"
