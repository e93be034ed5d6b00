"""The store of a deployment, opened by a command for people who look after it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agui_gate.config.settings import Settings, without_password
from agui_gate.errors import ConfigurationError
from agui_gate.extra_loader import load
from agui_gate.stores import open_store, schema_of
from agui_gate.stores.capabilities import FullStore


@asynccontextmanager
async def opened(settings: Settings, *, may_be_new: bool = False, any_past: bool = False) -> AsyncIterator[FullStore]:
    """Opens it, and brings its schema up to date.

    Raises `ConfigurationError`, also for one that keeps nothing; and for one that isn't there, unless ``may_be_new``:
    who gave a wrong name is not told that all is well in there. ``any_past``: see `open_store`.
    """
    if settings.store.startswith("memory:"):
        raise ConfigurationError(
            "A memory:// store exists only while its server runs. Name a permanent store with --store."
        )
    if not may_be_new and not await schema_of(settings.store):
        raise ConfigurationError(f"There is no store at {settings.shown('store')}. Name another one with --store.")
    store = open_store(settings.store, any_past=any_past)
    if settings.audit_key or settings.audit_key_file:
        store = load("audit.keys").keyed(store, settings)
    if "_AGUI_GATE_FAILPOINT" in os.environ:  # tests that kill processes
        store = load("failpoints").armed_store(store)
    try:
        await store.start()
        yield store
    finally:
        await store.aclose()


def url_of(store: Any) -> str:
    """Returns the URL that a store was made from; "" for one of the application's own."""
    url: str = getattr(store, "url", "") or getattr(store, "bus_url", "")
    return url


def store_name(store: Any) -> str:
    """Returns how a store is called: by its URL without the password, or by its class."""
    return without_password(url_of(store)) or f"a {type(store).__name__}"
