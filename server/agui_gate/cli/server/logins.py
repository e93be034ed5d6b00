"""The users and passwords by which stores and buses open their connections: changed while a server runs, for SIGHUP."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError

_LOGIN = ("user", "password")

Change = Callable[[], None]


def prepare_logins(states: Sequence[Any], old: Settings, new: Settings) -> tuple[list[Change], set[str]]:
    """Returns what gives each store and bus of these applications the new user and password, and the settings that it
    is all of. Another place than before counts at the next start. Raises `ConfigurationError`.
    """
    changes: list[Change] = []
    done: set[str] = set()
    urls = {"store": (old.store, new.store), "bus": (old.bus or old.store, new.bus or new.store)}
    for name, (before, after) in urls.items():
        if before == after or place_of(before) != place_of(after):
            continue
        backends: list[Any] = [getattr(state.engine, name) for state in states]
        users = [one for one in backends if getattr(one, "bus_url" if name == "store" else "url", "") == before]
        prepared = [one.prepare_login(after) for one in users if hasattr(one, "prepare_login")]
        changes += prepared
        if prepared and getattr(old, name) != getattr(new, name):
            done.add(name)
    return changes, done


def place_of(url: str) -> tuple[object, ...]:
    """Returns what a URL says besides the user and the password. Raises `ConfigurationError`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigurationError("The URL of the store, or of the bus, can't be read.") from None
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in _LOGIN]
    return parts.scheme, parts.netloc.rpartition("@")[2], parts.path, sorted(query), parts.fragment
