"""`agui-gate migrate`: the store's schema, and the new epoch after a backup was restored."""

import sys

import click

from agui_gate.cli.interrupts import run
from agui_gate.cli.store_access import opened, store_options
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError
from agui_gate.stores import schema_of
from agui_gate.stores.epochs import Epoch

HELP = """Update the store's schema.

Servers and `agui-gate run` do this when they start. Run it yourself to use another database role, to choose the time,
or for a large store: nothing kills it for taking long. Each step is logged on stderr. On SQLite, stop servers of an
older version first; on PostgreSQL they go on.

\b
After you have put back a backup, before any server starts:
  agui-gate migrate --restored

A call that was pending in the backup may have been answered, and may have run, since. It is asked again under a new
id; answers to the old question are refused. A call that was running in the backup becomes unknown and never runs again.

Exit codes: 0 success; 1 the store is not available; 2 usage or configuration error.
"""


@click.command("migrate", help=HELP)
@click.option("--restored", is_flag=True, help="Finish a restore: the store is a backup that was put back.")
@store_options()
def command(restored: bool, settings: Settings) -> None:
    """Migrate, and say what was done."""
    before, after, epoch = run(_migrate(settings, restored))
    shown = settings.shown("store")
    version = f"schema {before} → {after}." if before != after else f"schema {after}, up to date."
    click.echo(fit(f"{shown}: {version}", sys.stdout))
    if epoch is not None:
        told = (
            f"Epoch {epoch.number} has begun. Of what waited, asked again: {epoch.asked_again:,}. "
            f"Of what was at work, settled as unknown, or as not run: {epoch.settled:,}."
        )
        click.echo(fit(told, sys.stdout))


async def _migrate(settings: Settings, restored: bool) -> tuple[int, int, Epoch | None]:
    before = await schema_of(settings.store)
    async with opened(settings, may_be_new=not restored, any_past=restored, migrates=True) as store:
        if restored and store.neighbours:
            pids = ", ".join(map(str, store.neighbours))
            raise ConfigurationError(
                f"Servers use this store (process {pids}; of PostgreSQL, as in pg_stat_activity, its own). "
                "Stop them first, then begin the epoch."
            )
        epoch = await store.begin_epoch() if restored else None
    return before, await schema_of(settings.store), epoch
