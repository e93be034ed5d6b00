"""`agui-gate backup`: a copy of the store while it is in use."""

import sys
import time
from pathlib import Path

import click

from agui_gate.cli.interrupts import in_order
from agui_gate.cli.store_access import store_options
from agui_gate.cli.terminal.console import dim
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError

EVERY_SECONDS = 2.0
"""Seconds after which a copy that takes long says again how far it is."""

HELP = """Copy the store to FILE while servers use it.

Don't copy the database file by other means: the write-ahead log (-wal) beside it would be missing.
To restore: stop the servers, put the copy in the store's place, remove the -wal and -shm files there, and run
`agui-gate migrate --restored`. A restored store is out of date: its pending calls may have been answered since.

\b
Examples:
  agui-gate backup agui-gate-monday.db
  agui-gate backup /backups/gate.db --force                replace an earlier copy
  agui-gate backup gate.db --store sqlite:///support.db

Exit codes: 0 the copy is complete and verified; 1 the copy failed; 2 usage or configuration error.
"""


@click.command("backup", help=HELP)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@store_options("copy")
def command(file: Path, force: bool, settings: Settings) -> None:
    """Make the copy."""
    from agui_gate.stores.sqlite.backup import back_up

    source = _path(settings.store)
    with in_order():
        size = back_up(source, file, replace=force, report=Progress())
    click.echo(fit(f"{source} copied to {file}: {size:,} bytes, checked.", sys.stdout))


class Progress:
    """Says how far it is, if that is worth it."""

    def __init__(self) -> None:
        self._next = time.monotonic() + EVERY_SECONDS

    def __call__(self, done: int, total: int) -> None:
        """Shows how far the copy is."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY_SECONDS
            dim(f"{100 * done // max(total, 1)} % of {total:,} pages", err=True)
            sys.stderr.flush()


def _path(store: str) -> Path:
    """Returns the file of a SQLite store. Raises `ConfigurationError` for another one."""
    from agui_gate.stores import sqlite_path

    path = sqlite_path(store)
    if path is None:
        kind = store.partition("://")[0]
        raise ConfigurationError(
            f"A store {kind}:// is not a file that can be copied. Name a SQLite store with --store."
        )
    return Path(path)
