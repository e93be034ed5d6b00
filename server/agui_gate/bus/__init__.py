"""The buses that keep the events of runs, for the run's life and a while after. `open_bus` makes one from its URL."""

from agui_gate.bus.base import Bus
from agui_gate.bus.memory import MemoryBus
from agui_gate.errors import ConfigurationError, Unusable

__all__ = ["open_bus"]

_SCHEMES = "memory://, postgresql://host:5432/database, redis://host:6379 and rediss://host:6379"


def open_bus(url: str, *, kept_seconds: float, run_bytes: int) -> Bus:
    """Makes the bus that ``url`` names; nothing is connected to before its `start`.

    ``kept_seconds``: how long a run that has ended can be read again. ``run_bytes``: what is kept of each run, about.
    Raises `ConfigurationError` for a URL that names none, and where a package is missing. The message never repeats the
    URL: it may hold a password.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise ConfigurationError(f"The bus must be a URL; this version knows {_SCHEMES}.")
    match scheme:
        case "memory":
            if rest:
                raise ConfigurationError("The bus in memory is memory:// with nothing after it.")
            return MemoryBus(kept_seconds=kept_seconds, run_bytes=run_bytes, is_private=True)
        case "redis" | "rediss":
            return _redis(url, kept_seconds, run_bytes)
        case "postgresql" | "postgres":
            return _postgres(url, kept_seconds, run_bytes)
        case _:
            raise ConfigurationError(f"There is no bus {scheme}://; this version knows {_SCHEMES}.")


def _redis(url: str, kept_seconds: float, run_bytes: int) -> Bus:
    from agui_gate.bus.redis import RedisWire
    from agui_gate.bus.replicas.bus import SharedBus

    return SharedBus(RedisWire(url, kept_seconds), kept_seconds=kept_seconds, run_bytes=run_bytes)


def _postgres(url: str, kept_seconds: float, run_bytes: int) -> Bus:
    from agui_gate.bus.replicas.bus import SharedBus

    try:
        from agui_gate.bus.postgres import PostgresWire
    except ImportError:
        raise Unusable('A PostgreSQL bus needs its driver: pip install "agui-gate[postgres]".') from None
    return SharedBus(PostgresWire(url, kept_seconds), kept_seconds=kept_seconds, run_bytes=run_bytes)
