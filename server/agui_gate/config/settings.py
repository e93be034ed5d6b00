"""Settings of a deployment, and where each of them came from.

A value is looked for in this order. The first place that has one wins: a command-line option, an ``AGUI_GATE_*``
variable, the file of ``--config``, the default. An empty variable counts as not set, since that is what container tools
pass for a value nobody gave. The file is TOML if its name ends in ``.toml``, else lines of ``NAME=value``; names in it
may be written with or without the prefix.

    store = "sqlite:///support.db"          AGUI_GATE_STORE=sqlite:///support.db
    cors_origins = ["https://shop.example"] AGUI_GATE_CORS_ORIGINS=https://shop.example
    [tokens]                                AGUI_GATE_TOKENS=alice:TOKEN,bob:TOKEN
    alice = "TOKEN"

Divergence: not pydantic-settings, whose import costs more than this whole package may, and which can't say where a
value came from.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from agui_gate.config import limits as defaults
from agui_gate.config.limits import DEFAULTS
from agui_gate.errors import ConfigurationError

PREFIX = "AGUI_GATE_"
DEFAULT = "default"
MASK = "********"

_META = ("sources",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Validated settings. Raises `ConfigurationError` with one sentence that names the invalid setting.

    docs/settings.md shows the text below each of them. Of the limits, `Limits.from_settings` (`config/limits.py`)
    takes those of runs, threads and principals (ADR 0011).
    """

    store: str = field(default="sqlite:///agui-gate.db", repr=False)
    """The place where threads and approvals are stored: `sqlite:///file.db`,
    `postgresql://user:password@host/database`,
    `memory://`.
    """
    bus: str = field(default="", repr=False)
    """Carries the events of runs to clients of other processes. Not set: the store's database if that is PostgreSQL,
    otherwise `memory://`, within the process.
    """
    tokens: Mapping[str, str | tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """The principals, each with a bearer token or several, which are valid at the same time. Empty, and without
    `jwt_…`: no authentication, only loopback requests are accepted.
    """
    jwt_issuer: str = ""
    """The issuer (`iss`) whose signed tokens are accepted ([people.md](people.md#signed-tokens)). Needs `jwt_audience`
    and `jwt_jwks`.
    """
    jwt_audience: tuple[str, ...] = ()
    """The names by which tokens mean this server (`aud`). A token needs one of them."""
    jwt_jwks: str = ""
    """The issuer's public keys: an `https://` URL of a JWK set, or a file with one."""
    jwt_algorithms: tuple[str, ...] = ("RS256", "PS256", "ES256", "EdDSA")
    """The algorithms by which tokens may be signed. All of them need a public key."""
    jwt_leeway: float = 10.0
    """Seconds by which the issuer's clock may differ."""
    jwt_tenant: str = ""
    """The claim with the principal's tenant, such as `org` or `app.tenant`. Set: a token without it is refused."""
    jwt_roles: str = ""
    """The claim with the principal's roles, such as `realm_access.roles`. Set: a token without roles is refused."""
    jwt_person: str = ""
    """The claim with the person behind the principal. Set: a token without it is refused. Not set: `sub` is the
    person.
    """
    jwt_acts_for: str = ""
    """The claim with the owner whose threads the principal works on. Set: a token without it is refused."""
    jwt_revoked: str = ""
    """A file with the ids (`jti`) of tokens that are refused though they are not over, one a line. It is read again
    when it has changed. Set: a token without an id is refused.
    """
    audit_key: tuple[str, ...] = field(default=(), repr=False)
    """The keys by which the audit trail is signed ([audit.md](audit.md#keys)): the first one signs, all of them verify.
    Not set: it is a chain of hashes.
    """
    audit_key_file: str = ""
    """A file with these keys, one a line, in place of `audit_key`. A file that can't be read stops the start."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call this server. Without authentication, loopback origins are allowed."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names that are accepted besides loopback ones while no authentication is configured."""
    dialect: Literal["auto", "compat", "1.0"] = "auto"
    """The AG-UI dialect of streams; `auto` selects it by each request's version: see the glossary, *dialect*."""
    max_body_bytes: int = defaults.MAX_BODY_BYTES
    """Maximum size of a request's body. Above: 413 `too_large`."""
    events_seconds: float = defaults.EVENTS_SECONDS
    """Seconds for which the events of a finished run can be read again. Afterwards: 404 `not_found`."""
    events_bytes: int = defaults.EVENTS_BYTES
    """Bytes of a run's newest events that are kept. Older ones: 410 `gone`."""
    disconnect_grace: float = defaults.DISCONNECT_GRACE
    """Seconds for which a run continues after its last client disconnected, if disconnecting stops it."""
    drain_seconds: float = 30.0
    """Seconds for which runs and decisions may continue once the server was told to stop. New ones get 503. Afterwards
    the rest is stopped.
    """
    send_timeout: float = defaults.SEND_TIMEOUT
    """Seconds for which a client may read nothing. Above: its connection is closed."""
    turn_bytes: int = DEFAULTS.turn_bytes
    """Text, reasoning and arguments of one answer of the model. Above: `limit_reached`; the answer so far is kept."""
    turn_calls: int = DEFAULTS.turn_calls
    """Calls in one answer of the model. Above: `limit_reached`; none of them runs."""
    turn_seconds: float = DEFAULTS.turn_seconds
    """Duration of one answer of the model. Above: `limit_reached`; the answer so far is kept."""
    tools_at_once: int = DEFAULTS.tools_at_once
    """Calls of one answer that run at the same time. The others wait."""
    tool_threads: int = DEFAULTS.tool_threads
    """Sync tools that run at the same time, shared fairly among principals. The others wait."""
    thread_bytes: int = DEFAULTS.thread_bytes
    """Stored size of one thread. Above: `limit_reached`; begin a new thread."""
    thread_entries: int = DEFAULTS.thread_entries
    """Messages, results and other entries in one thread. Above: `limit_reached`; begin a new thread."""
    open_bytes: int = DEFAULTS.open_bytes
    """Size of all threads that are in use at the same time (several times that in memory), half of it for one
    principal. Above: 503 `unavailable`, and 429 `rate_limited` for the principal.
    """
    kept_bytes: int = DEFAULTS.kept_bytes
    """Memory for threads between their runs, so that the next run doesn't read them again. The thread that was used
    last is dropped last. 0: none.
    """
    state_bytes: int = DEFAULTS.state_bytes
    """The shared state of a thread, as JSON. Above: 413 `too_large`; a tool's change is undone."""
    principal_runs: int = DEFAULTS.principal_runs
    """Runs of one principal in flight. Above: 429 `rate_limited`."""
    principal_bytes: int = 256 * 1024 * 1024
    """Bytes that `memory://` stores for one principal. Above: 413 `too_large`."""
    principal_threads: int = 10_000
    """Threads that `memory://` stores for one principal. Above: 413 `too_large`."""
    retention_threads_days: int = DEFAULTS.retention_threads_days
    """Days without a change after which a thread is deleted, with its journal and approvals. Never while something
    is pending or running on it. 0: never.
    """
    retention_records_days: int = DEFAULTS.retention_records_days
    """Days after which the tombstones and the audit trail of a deleted thread are deleted. 0: never."""
    retention_trail_days: int | None = DEFAULTS.retention_trail_days
    """Days after which events of the audit trail are deleted, whether their thread is there or not. Never what is
    needed ([audit.md](audit.md#how-long-it-is-kept)). 0: never. Not set: with the records of a deleted thread.
    """
    retention_usage_days: int = 0
    """Days after which usage is deleted, where it is kept ([usage.md](usage.md)). 0: never."""
    max_connections: int = 0
    """Connections of `agui-gate serve`. 0: by the process's limit of open files, at most 10,000. Above: the connection
    that has been idle for longest is closed; if none is idle, 503 `unavailable`.
    """
    header_bytes: int = 64 * 1024
    """Total size of a request's headers in `agui-gate serve`. Above: 431 `too_large`."""
    header_count: int = 128
    """Number of a request's headers in `agui-gate serve`. Above: 431 `too_large`."""
    header_seconds: float = 15.0
    """Seconds that the headers of a request to `agui-gate serve` may take, from the start of the connection. Above: the
    connection is closed.
    """
    body_seconds: float = defaults.BODY_SECONDS
    """Seconds that a request's body may take; each 16 KiB received add a second. Above: 400 `invalid_request`."""
    keep_alive_seconds: float = 75.0
    """Seconds for which a connection to `agui-gate serve` may be idle between two requests. Above: it is closed."""
    log_level: str = "info"
    """The lowest level that is logged: `debug`, `info`, `warning` or `error`."""
    log_format: Literal["text", "json"] = "text"
    """The form of the log's lines: `text` or `json`."""
    usage: bool = False
    """True: the store keeps what each request to a model uses, and `GET /usage` tells it ([usage.md](usage.md))."""
    prices: str = ""
    """A file with prices of models, which count before those of the package `genai-prices`."""
    budgets: tuple[str, ...] = ()
    """What may be spent: `run`, and each day `principal`, `tenant` and `all`, in tokens or dollars, such as
    `run:50000,principal:$2.50`. Above: 429 `rate_limited`, before a model is asked; within a run `limit_reached`.
    """
    limits: tuple[str, ...] = DEFAULTS.limits
    """What each owner (`principal`) and each `tenant` may have at once: `requests` in a second, minute or hour, `runs`,
    `streams`, `threads` and waiting `approvals`, such as `principal:requests=600/m,tenant:runs=200`. Above: 429
    `rate_limited` ([usage.md](usage.md#limits)).
    """
    log_principals: Literal["", "names", "pseudonyms"] = ""
    """Set: the begin and the end of each run are logged, with its principal's name, or with a pseudonym of it. Not set:
    a run that goes well logs nothing.
    """
    metrics: str = ""
    """The metrics that Prometheus reads: `on` at `GET /metrics`, an address also on a port of its own, without
    authentication. Not set: nothing is counted, and `GET /metrics` tells only what the store knows.
    """
    traces: bool = False
    """True: spans of runs, requests to models, tools and decisions, for the OpenTelemetry SDK of the application."""
    webhooks: str | Mapping[str, Any] = field(default="", repr=False)
    """The endpoints that are told of approvals: a TOML or JSON file, or a table in the file of `--config`
    ([notifications.md](notifications.md#webhooks)).
    """
    public_url: str = ""
    """The address by which people reach this server, such as `https://gate.example.com`: for links in notices."""
    host: str = "127.0.0.1"
    """The address on which `agui-gate serve` listens. Other addresses than loopback require authentication."""
    port: int = 8000
    """The port of `agui-gate serve`; 0: any free port."""
    page: bool = True
    """True: `GET /` serves the built-in page."""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The source of each value, by name. Not a setting."""

    def __post_init__(self) -> None:
        given = [
            one.name for one in fields(self) if one.name not in _META and not _is_default(one, getattr(self, one.name))
        ]
        if not given:
            return
        from agui_gate.config.setting_values import READERS

        for name in given:
            try:
                object.__setattr__(self, name, READERS[name](getattr(self, name)))
            except ValueError as problem:
                raise ConfigurationError(f"{_label(name, self.sources.get(name))} {problem}.") from None

    @property
    def signed_tokens(self) -> bool:
        """True if tokens of an issuer are accepted, or were meant to be."""
        return any((self.jwt_issuer, self.jwt_audience, self.jwt_jwks))

    def source(self, name: str) -> str:
        """Returns the source of the value of ``name``: a variable, an option, a file's name, or ``default``."""
        return self.sources.get(name, DEFAULT)

    def shown(self, name: str) -> str:
        """Returns the value of ``name`` as text, with every secret masked."""
        value = getattr(self, name)
        if name == "tokens":
            return ", ".join(f"{principal}:{MASK}" for principal in value)
        if isinstance(value, tuple | Mapping):
            return ", ".join(MASK if name == "audit_key" else one for one in value)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float):
            return f"{value:g}"
        return without_password(value) if name in ("store", "bus") else "" if value is None else str(value)


def load_settings(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Settings:
    """Reads the settings from everywhere. ``options`` are those of the command line; None in it means not given.

    Raises `ConfigurationError` for a wrong value, a name that is no setting (a misspelt `AGUI_GATE_TOKENS` would leave
    the server open), or a file that can't be read.
    """
    environ = os.environ if environ is None else environ
    if config is None and not options and not any(name.upper().startswith(PREFIX) for name in environ):
        return Settings()
    from agui_gate.config.sources import read_sources

    values, sources = read_sources(config, environ, options or {})
    return Settings(**values, sources=MappingProxyType(sources))


def names() -> list[str]:
    """Returns the names of all settings, in the order in which they are shown."""
    return [f.name for f in fields(Settings) if f.name not in _META]


def _is_default(setting: "Field[Any]", value: Any) -> bool:
    """Returns whether a value is the default itself. 1 and True are equal, and not the same."""
    default = MappingProxyType({}) if setting.default is MISSING else setting.default
    return type(value) is type(default) and bool(value == default)


def _label(name: str, source: str | None) -> str:
    """Returns how a complaint calls a setting: as the person who set it wrote it."""
    if source is None or source == DEFAULT:
        return f"The setting {name}"
    return source if source.startswith((PREFIX, "--")) else f"{name} in {source}"


def without_password(url: str) -> str:
    """Returns a URL as it may be shown."""
    head, at, tail = url.rpartition("@")
    if at:
        scheme, _, user = head.partition("://")
        name, colon, _ = user.partition(":")
        url = f"{scheme}://{name}{colon and f':{MASK}'}@{tail}"
    return re.sub(r"(?<=password=)[^&]*", MASK, url)
