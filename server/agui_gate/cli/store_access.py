"""The store of a deployment, opened by a command for people who look after it."""

import getpass
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from agui_gate import log_events
from agui_gate.cli.program import config_option, debug_option
from agui_gate.cli.terminal.console import log_to_stderr
from agui_gate.config.settings import Settings, load_settings, without_password
from agui_gate.errors import ConfigurationError
from agui_gate.extra_loader import load
from agui_gate.stores import open_store, schema_of, sqlite_path
from agui_gate.stores.capabilities import FullStore

Command = Callable[..., None]

OLDER_FIX = "Use the version that its servers have; `agui-gate migrate --help` tells of the upgrade."


def store_options(verb: str = "use") -> Callable[[Command], Command]:
    """Adds the options of a command that works on the store, which is given the ``settings`` that come of them."""

    def add(command: Command) -> Command:
        @wraps(command)
        def with_settings(store: str | None, config: Path | None, **more: Any) -> None:
            command(settings=load_settings(config, options={"store": store}), **more)

        shown = f"The store to {verb}.  [default: from the settings]"
        return click.option("--store", metavar="URL", help=shown)(config_option(debug_option(with_settings)))

    return add


def describe_older(url: str, version: int) -> str:
    """Returns what is to be said of a store whose schema has this version; "" of one that is up to date, or new."""
    if sqlite_path(url) is not None:
        from agui_gate.stores.sqlite.database import migrations

        newest = len(migrations())
    else:
        from agui_gate.stores.postgres.schema import known

        newest = known()
    return f"was made by an older agui-gate (schema {version}; this one makes {newest})" if 0 < version < newest else ""


@asynccontextmanager
async def opened(
    settings: Settings, *, may_be_new: bool = False, any_past: bool = False, migrates: bool = False
) -> AsyncIterator[FullStore]:
    """Opens it. ``any_past``: see `open_store`. ``migrates``: its schema is brought up to date, which the log
    shows.

    Raises `ConfigurationError`, also for one that keeps nothing; for one that isn't there, unless ``may_be_new``: who
    gave a wrong name is not told that all is well in there; and for an older schema, unless it is brought up to date:
    servers of an older version may be at work.
    """
    _log_to_stderr(settings, shown=migrates)
    if settings.store.startswith("memory:"):
        raise ConfigurationError(
            "A memory:// store exists only while its server runs. Name a permanent store with --store."
        )
    version = await schema_of(settings.store)
    if not version and not may_be_new:
        raise ConfigurationError(f"There is no store at {settings.shown('store')}. Name another one with --store.")
    if not migrates and (older := describe_older(settings.store, version)):
        raise ConfigurationError(f"{settings.shown('store')} {older}. {OLDER_FIX}")
    store = open_store(settings.store, any_past=any_past)
    if settings.audit_key or settings.audit_key_file:
        store = load("audit.keys").keyed(store, settings)
    try:
        await store.start()
        yield store
    finally:
        await store.aclose()


def user_name() -> str:
    """Returns the name of who runs this."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "operator"


def _log_to_stderr(settings: Settings, *, shown: bool) -> None:
    """Has what the command does in a line of the log, as a server's: for jobs, and for who sits at a terminal if it is
    to be ``shown``, with how far it is.
    """
    log_events.is_pseudonymous = settings.log_principals == "pseudonyms"
    if (ctx := click.get_current_context(silent=True)) is not None:
        log_to_stderr(ctx, "info" if shown else "error" if sys.stderr.isatty() else "warning", settings.log_format)


def url_of(store: Any) -> str:
    """Returns the URL that a store was made from; "" for one of the application's own."""
    url: str = getattr(store, "url", "") or getattr(store, "bus_url", "")
    return url


def store_name(store: Any) -> str:
    """Returns how a store is called: by its URL without the password, or by its class."""
    return without_password(url_of(store)) or f"a {type(store).__name__}"
