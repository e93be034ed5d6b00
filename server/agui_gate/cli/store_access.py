"""The store of a deployment, opened by a command for people who look after it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agui_gate.config.settings import Settings
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
