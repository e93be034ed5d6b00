"""What the settings say, as the engine and the stores take it: the same for a server and for a command."""

from typing import TYPE_CHECKING

from agui_gate.engine.limits import Limits
from agui_gate.stores import open_store
from agui_gate.stores.base import Bounds, Store

if TYPE_CHECKING:
    from agui_gate.settings import Settings


def engine_limits(settings: "Settings") -> Limits:
    """The limits of an engine."""
    return Limits(**{name: getattr(settings, name) for name in Limits.__struct_fields__})


def store_from(settings: "Settings", url: str | None = None) -> Store:
    """The store at ``url``, or the one that the settings name, within their bounds. Raises `ConfigurationError`."""
    readable = engine_limits(settings).readable_bytes
    return open_store(url or settings.store, Bounds(readable, settings.principal_bytes, settings.principal_threads))
