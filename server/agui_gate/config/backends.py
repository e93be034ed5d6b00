"""Makes the store and the bus that settings name: for a server as for a command."""

from typing import TYPE_CHECKING

from agui_gate.bus import open_bus
from agui_gate.bus.base import Bus
from agui_gate.config.limits import Limits
from agui_gate.extra_loader import load
from agui_gate.stores import open_store
from agui_gate.stores.base import Bounds, Store

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings


def store_from(settings: "Settings", store: str | Store | None = None) -> Store:
    """Returns the store at a URL, or the one that the settings name, within their bounds; or ``store`` itself, which
    has limits of its own. Its audit trail is signed by the keys of the settings. Raises `ConfigurationError`.
    """
    if store is None or isinstance(store, str):
        readable = Limits.from_settings(settings).readable_bytes
        bounds = Bounds(readable, settings.principal_bytes, settings.principal_threads)
        store = open_store(store or settings.store, bounds)
    return load("audit.keys").keyed(store, settings) if settings.audit_key or settings.audit_key_file else store


def bus_from(settings: "Settings", url: str | None = None, store: str | None = None) -> Bus:
    """Returns the bus at ``url``, or the one that the settings name. If they name none, that of the ``store``: its URL
    (of one that was made elsewhere its `bus_url`), and the one in the settings if not given. Raises
    `ConfigurationError`.
    """
    chosen = url or settings.bus or _bus_of(settings.store if store is None else store)
    return open_bus(chosen, kept_seconds=settings.events_seconds, run_bytes=settings.events_bytes)


def _bus_of(store: str) -> str:
    """PostgreSQL carries the events of its own replicas."""
    return store if store.partition("://")[0] in ("postgresql", "postgres") else "memory://"
