"""The store of a deployment, opened by a command for people who look after it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agui_gate import failpoints
from agui_gate.errors import ConfigurationError
from agui_gate.settings import Settings
from agui_gate.stores import Store, open_store


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    """Open it, and bring its schema up to date. Raises `ConfigurationError`, also for one that keeps nothing."""
    if settings.store.startswith("memory:"):
        raise ConfigurationError("The store memory:// ends with its server. Name the one that is kept, with --store.")
    store = failpoints.armed_store(open_store(settings.store))
    try:
        await store.start()
        yield store
    finally:
        await store.aclose()
