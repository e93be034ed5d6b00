"""Reads what each setting may be: one reader a setting.

A reader takes text, or what TOML gives, or the checked value itself. It returns the checked value, or raises
`ValueError` with the end of a sentence that begins with the setting's name. Readers of secrets never repeat a value. A
reader's docstring is what docs/settings.md says that the setting may be.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit


def _text(value: Any) -> str:
    """Text."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("must be a line of text")
    return value.strip()


def _store(value: Any) -> str:
    """A URL, such as `memory://` or `sqlite:///file.db`."""
    url = _text(value)
    if "://" not in url:
        raise ValueError("must be a URL, such as memory:// or sqlite:///file.db")
    return url


def _bus(value: Any) -> str:
    """A URL, such as `memory://`, `postgresql://host/database`, `redis://host:6379` or `rediss://host:6379`."""
    url = _text(value) if value != "" else ""
    if url and "://" not in url:
        raise ValueError("must be a URL, such as memory://, postgresql://host/database or redis://host:6379")
    return url


def _tokens(value: Any) -> Mapping[str, str | tuple[str, ...]]:
    """`name:TOKEN`, several with commas; a name may have several tokens."""
    tokens: dict[str, tuple[str, ...]] = {}
    for principal, given in value.items() if isinstance(value, Mapping) else map(_pair, _items(value)):
        for token in (given,) if isinstance(given, str) else _items(given):
            if not principal.strip() or not token or any(c.isspace() or c < " " for c in token):
                raise ValueError('must be pairs "name:TOKEN", separated by commas, with no spaces in a token')
            tokens[principal] = (*tokens.get(principal, ()), token)
    if "" in map("".join, tokens.values()) or (isinstance(value, Mapping) and len(tokens) < len(value)):
        raise ValueError('must be pairs "name:TOKEN", separated by commas, with no spaces in a token')
    every = [token for some in tokens.values() for token in some]
    if len(set(every)) < len(every):
        raise ValueError("must give each principal a token of their own")
    return MappingProxyType({name: some[0] if len(some) == 1 else some for name, some in tokens.items()})


def _names(value: Any) -> tuple[str, ...]:
    """Names, several with commas."""
    names = tuple(_items(value))
    if not all(name and name.isprintable() for name in names):
        raise ValueError("must be names, separated by commas")
    return names


def _keys(value: Any) -> tuple[str, ...]:
    """Secrets of 32 characters or more, several with commas."""
    keys = tuple(_items(value))
    if any(len(key) < 32 or not key.isprintable() for key in keys):
        raise ValueError("must be secrets of 32 characters or more, separated by commas")
    return keys


SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""The algorithms by which a token may be signed: those that need a public key."""


def _signatures(value: Any) -> tuple[str, ...]:
    """Some of `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `ES512`, `EdDSA`."""
    names = tuple(_items(value))
    if not names or not set(names) <= set(SIGNATURES):
        raise ValueError(f"must be some of {', '.join(SIGNATURES)}")
    return names


def _claim(value: Any) -> str:
    """The name of a claim, or names with dots between them."""
    return _text(value) if value != "" else ""


def _issuer(value: Any) -> str:
    """Text, as it is in the tokens."""
    return _text(value) if value != "" else ""


def _place(value: Any) -> str:
    """A path, or an `https://` URL."""
    return _text(value) if value != "" else ""


def _path(value: Any) -> str:
    """A path."""
    return _text(value) if value != "" else ""


def _pair(item: str) -> tuple[str, str]:
    principal, _, token = item.partition(":")
    return principal.strip(), token.strip()


def _items(value: Any) -> list[str]:
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    if isinstance(value, Iterable) and all(isinstance(item, str) for item in value):
        return [item.strip() for item in value]
    raise ValueError("must be a list, or one string with commas")


def _origins(value: Any) -> tuple[str, ...]:
    """Origins such as `https://shop.example`, or `*`."""
    origins = tuple(item.rstrip("/") for item in _items(value))
    for origin in origins:
        if origin != "*" and not _is_origin(origin):
            raise ValueError(f'must be origins such as "https://shop.example" or "*", not {origin!r}')
    return origins


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.path or parts.query)
    except ValueError:
        return False


def _hosts(value: Any) -> tuple[str, ...]:
    """Host names without scheme and port."""
    hosts = tuple(_items(value))
    for host in hosts:
        if not host.isprintable() or any(c in host for c in "/:* "):
            raise ValueError(f'must be plain host names such as "gate.internal", without scheme or port, not {host!r}')
    return hosts


def _dialect(value: Any) -> str:
    """`auto`, `compat` or `1.0`."""
    if value not in ("auto", "compat", "1.0"):
        raise ValueError(f'must be "auto", "compat" or "1.0", not {value!r}')
    return str(value)


def _number(low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        try:
            number = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or not low <= number <= high:
            raise ValueError(f"must be a whole number from {low:,} to {high:,}, not {value!r}")
        return number

    read.__doc__ = f"{low:,} to {high:,}."
    return read


def _seconds(low: float, high: float) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        try:
            number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
        except (ValueError, OverflowError):
            number = None
        if number is None or not low <= number <= high:
            raise ValueError(f"must be seconds, a number from {low:g} to {high:g}, not {value!r}")
        return number

    read.__doc__ = f"{low:g} to {high:g} seconds."
    return read


def _switch(value: Any) -> bool:
    """`true` or `false`."""
    known = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    text = str(value).strip().lower()
    if text not in known:
        raise ValueError(f"must be true or false, not {value!r}")
    return known[text]


LEVELS = ("debug", "info", "warning", "error")
"""The levels of logging: each tells what the next one does, and more."""


def _level(value: Any) -> str:
    """`debug`, `info`, `warning` or `error`."""
    if not isinstance(value, str) or value.lower() not in LEVELS:
        raise ValueError(f"must be one of {', '.join(LEVELS)}, not {value!r}")
    return value.lower()


def _principals(value: Any) -> str:
    """`names` or `pseudonyms`."""
    if value not in ("", "names", "pseudonyms"):
        raise ValueError(f'must be "names" or "pseudonyms", not {value!r}')
    return str(value)


def _format(value: Any) -> str:
    """`text` or `json`."""
    if value not in ("text", "json"):
        raise ValueError(f'must be "text" or "json", not {value!r}')
    return str(value)


def _metrics(value: Any) -> str:
    """`on`, `:9090`, or `host:9090`."""
    text = _text(value) if value != "" else ""
    host, colon, port = text.rpartition(":")
    is_port = colon and port.isascii() and port.isdigit() and int(port) <= 65_535
    if text not in ("", "on") and not (is_port and not any(c in host for c in "/@ ")):
        raise ValueError(f'must be "on", or a port such as ":9090" or "127.0.0.1:9090", not {text!r}')
    return text


def _webhooks(value: Any) -> str | Mapping[str, Any]:
    """A path, or a table."""
    return value if isinstance(value, Mapping) else _path(value)


def _public_url(value: Any) -> str:
    """An `https://` or `http://` URL."""
    url = _text(value) if value != "" else ""
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment):
        raise ValueError('must be a URL such as "https://gate.example.com"')
    return url


BUDGETS = ("run", "principal", "tenant", "all")
"""What a budget may be of."""


def _budgets(value: Any) -> tuple[str, ...]:
    """`scope:amount`, several with commas. Scopes: `run`, `principal`, `tenant`, `all`. Amounts: tokens, or dollars as
    in `$5`.
    """
    given = [f"{scope}:{amount}" for scope, amount in value.items()] if isinstance(value, Mapping) else _items(value)
    scopes = [_pair(item)[0] for item in given]
    for scope, amount in map(_pair, given):
        money = amount.removeprefix("$")
        is_whole = money.isascii() and money.isdigit() and len(money) <= 15
        is_money = amount != money and money.isascii() and money.count(".") <= 1 and money.replace(".", "").isdigit()
        if scope not in BUDGETS or not (is_whole or (is_money and len(money) <= 12)):
            raise ValueError(f"must be {', '.join(BUDGETS)} with tokens or dollars each, such as run:50000,all:$20")
    if len(set(scopes)) < len(scopes):
        raise ValueError("must give each scope one budget")
    return tuple(":".join(_pair(item)) for item in given)


LIMITS = ("requests", "runs", "streams", "threads", "approvals")
"""What may be limited."""


def _limits(value: Any) -> tuple[str, ...]:
    """`scope:kind=number`, several with commas. Scopes: `principal`, `tenant`. Kinds: `runs`, `streams`, `threads`,
    `approvals`, and `requests` with `/s`, `/m` or `/h` behind the number.
    """
    given = [f"{name}={amount}" for name, amount in value.items()] if isinstance(value, Mapping) else _items(value)
    found = [re.fullmatch(r"(principal|tenant) ?: ?(\w+) ?= ?(\d{1,9})(/[smh])?", item, re.ASCII) for item in given]
    named = [(one[1], one[2]) for one in found if one is not None and one[2] in LIMITS]
    if len(named) < len(given) or any(one and (one[2] == "requests") != bool(one[4]) for one in found):
        kinds = ", ".join(LIMITS)
        raise ValueError(f"must be principal or tenant with {kinds}, such as principal:requests=600/m,tenant:runs=50")
    if len(set(named)) < len(named):
        raise ValueError("must give each of them once")
    return tuple(item.replace(" ", "") for item in given)


READERS: dict[str, Callable[[Any], Any]] = {
    "store": _store,
    "bus": _bus,
    "tokens": _tokens,
    "jwt_issuer": _issuer,
    "jwt_audience": _names,
    "jwt_jwks": _place,
    "jwt_algorithms": _signatures,
    "jwt_leeway": _seconds(0, 300),
    "jwt_tenant": _claim,
    "jwt_roles": _claim,
    "jwt_person": _claim,
    "jwt_acts_for": _claim,
    "jwt_revoked": _path,
    "audit_key": _keys,
    "audit_key_file": _path,
    "cors_origins": _origins,
    "allowed_hosts": _hosts,
    "dialect": _dialect,
    "max_body_bytes": _number(1024, 1 << 30),
    "events_seconds": _seconds(0, 86_400),
    "events_bytes": _number(16 * 1024, 1 << 30),
    "disconnect_grace": _seconds(0, 3600),
    "drain_seconds": _seconds(0, 86_400),
    "send_timeout": _seconds(0.1, 3600),
    "turn_bytes": _number(1024, 1 << 30),
    "turn_calls": _number(1, 100_000),
    "turn_seconds": _seconds(1, 86_400),
    "tools_at_once": _number(1, 10_000),
    "tool_threads": _number(1, 10_000),
    "thread_bytes": _number(16 * 1024, 1 << 30),
    "thread_entries": _number(10, 10_000_000),
    "open_bytes": _number(1024 * 1024, 1 << 40),
    "kept_bytes": _number(0, 1 << 40),
    "state_bytes": _number(2, 1 << 30),
    "principal_runs": _number(1, 1_000_000),
    "principal_bytes": _number(16 * 1024, 1 << 40),
    "principal_threads": _number(1, 100_000_000),
    "retention_threads_days": _number(0, 36_500),
    "retention_records_days": _number(0, 36_500),
    "retention_trail_days": _number(0, 36_500),
    "retention_usage_days": _number(0, 36_500),
    "max_connections": _number(0, 1_000_000),
    "header_bytes": _number(1024, 1 << 24),
    "header_count": _number(8, 100_000),
    "header_seconds": _seconds(0.1, 3600),
    "body_seconds": _seconds(0.1, 3600),
    "keep_alive_seconds": _seconds(0, 3600),
    "log_level": _level,
    "usage": _switch,
    "prices": _path,
    "budgets": _budgets,
    "limits": _limits,
    "log_principals": _principals,
    "log_format": _format,
    "metrics": _metrics,
    "traces": _switch,
    "webhooks": _webhooks,
    "public_url": _public_url,
    "host": _text,
    "port": _number(0, 65_535),
    "page": _switch,
}
