"""`create_app`: agents in, a Starlette application out."""

import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import Gate
from agui_gate.bus.base import Bus
from agui_gate.bus.memory import MemoryBus
from agui_gate.config.backends import bus_from, store_from
from agui_gate.config.limits import Limits
from agui_gate.errors import AguiGateError, ConfigurationError
from agui_gate.extension import Extension
from agui_gate.extra_loader import PACKAGE as EXTRAS
from agui_gate.extra_loader import load
from agui_gate.http import exception_handlers as handlers
from agui_gate.http.auth import Auth, Guard, Origins
from agui_gate.http.routes import all_routes
from agui_gate.http.server import HttpServer
from agui_gate.http.sse import StreamingApplication
from agui_gate.logs import ensure_configured
from agui_gate.protocol.dialects.base import Deployment
from agui_gate.runs.engine import Engine
from agui_gate.stores.base import Store
from agui_gate.stores.lookup import capabilities

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings

log = structlog.get_logger("agui_gate.http")

LOOPBACK_ORIGIN = r"https?://(localhost|[a-z0-9-]+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?"


def create_app(
    *agents: Agent,
    store: str | Store | None = None,
    bus: str | Bus | None = None,
    auth: Auth | None = None,
    settings: "Settings | None" = None,
    extensions: Sequence[Extension] = (),
    on_notice: Callable[..., Any] | None = None,
) -> Starlette:
    """Returns a Starlette application that serves ``agents``; the first one also answers `POST /`.

    ``store``: a URL (`memory://`, `sqlite:///file.db`, `postgresql://…`) or a store object. ``bus``: a URL
    (`memory://`, `postgresql://…`, `redis://…`) or a bus object (see `agui_gate.bus.base`). If none is named, it is the
    database of a PostgreSQL store, and else memory. ``auth``: a sync or async callable ``(request) -> str | None``, the
    principal's id or None for 401. What is not given comes from ``settings``, and those from the environment.
    ``extensions``: see `agui_gate.extension`. ``on_notice`` gets each `Notice`. Mounted, it starts with a request.

    Raises `ConfigurationError` if there are no agents, for what is none, two of one name, and for wrong settings.
    """
    if settings is None:
        from agui_gate.config.settings import load_settings

        settings = load_settings()
    ensure_configured(settings.log_level, settings.log_principals)
    _check(agents, extensions)
    opened = store_from(settings, store)
    if settings.audit_key or settings.audit_key_file:
        extensions = (*extensions, load("audit.heads").Heads())
    if isinstance(bus, str | None):
        bus = bus_from(settings, bus, store if isinstance(store, str | None) else capabilities(store).shared.bus_url)
    watched = settings.metrics or settings.traces or settings.usage or settings.budgets or settings.log_principals
    meter = load("observation").meter_of(settings) if watched else None
    if meter is not None:
        opened, extensions = meter.store(opened), (*extensions, meter)
    engine = Engine(
        agents,
        opened,
        Deployment(settings.dialect),
        bus,
        disconnect_grace=settings.disconnect_grace,
        limits=Limits.from_settings(settings),
        extensions=extensions,
        meter=meter,
    )
    _add_notices(engine, settings, on_notice, meter)
    guard = Guard(_auth_of(settings) if auth is None else auth, settings.cors_origins, settings.allowed_hosts)
    make = StreamingApplication if meter is None else meter.application
    return _application(engine, guard, settings, make, follows_all=not isinstance(bus, MemoryBus))


def _add_notices(engine: Engine, settings: "Settings", on_notice: Callable[..., Any] | None, meter: Any) -> None:
    """Adds the part that tells people, if anybody is to be told, or if a gate reminds or escalates. A gate of a source
    is not known yet; but none does if no gate was made that does.
    """
    steps = _may_come(engine, "notices.steps") or any(gate.remind or gate.escalate for gate in _gates(engine))
    if on_notice or settings.webhooks or steps:
        engine.extensions.add(load("notices.courier").notices(settings, on_notice, meter))


def _gates(engine: Engine) -> list[Gate]:
    return [tool.gate for agent in engine.members.values() for tool in agent.by_name.values() if tool.gate is not None]


def _may_come(engine: Engine, extra: str) -> bool:
    """Returns whether a gate that isn't known yet may need ``extra``: it is loaded once a gate was made that does."""
    return f"{EXTRAS}.{extra}" in sys.modules and any(agent.sources for agent in engine.members.values())


def _auth_of(settings: "Settings") -> Auth | None:
    """Returns the ``auth`` that the settings ask for."""
    if settings.signed_tokens:
        signed: Auth = load("people.signed_tokens").auth_of(settings)
        return signed
    if not settings.tokens:
        return None
    from agui_gate.http.bearer import bearer_of

    return bearer_of(settings)


def _check(agents: Sequence[Any], extensions: Sequence[Any]) -> None:
    if not agents:
        raise ConfigurationError("create_app needs at least one agent")
    other = next((agent for agent in agents if not isinstance(agent, Agent)), None)
    if other is not None:
        raise ConfigurationError(
            f"create_app takes agents, as in create_app(support, billing); a {type(other).__name__} is none"
        )
    twice = next((name for name, number in Counter(agent.name for agent in agents).items() if number > 1), None)
    if twice is not None:
        raise ConfigurationError(f"two agents have the same name, {twice!r}; it is in their URLs, so give each its own")
    if (other := next((one for one in extensions if not isinstance(one, Extension)), None)) is not None:
        raise ConfigurationError(
            f"extensions takes objects whose classes extend agui_gate.extension.Extension; {other!r} is none"
        )


def _application(engine: Engine, guard: Guard, settings: "Settings", make: Any, *, follows_all: bool) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        await engine.start()
        if not follows_all and (others := capabilities(engine.store).shared.neighbours):
            load("operations.neighbours").log_neighbours(others)
        try:
            yield
        finally:
            await engine.drain(app.state.drain_seconds)  # which `agui-gate serve` has done before
            await engine.aclose()

    gates = _gates(engine)
    guard.asks_people = _may_come(engine, "people.approvers") or any(gate.people is not None for gate in gates)
    if guard.asks_people or _may_come(engine, "people.grants") or any(gate.grants for gate in gates):
        guard.givers = load("people.givers").Givers(engine, guard.auth)
    server = engine.extensions.server = HttpServer(engine, guard, settings.max_body_bytes)
    app: Starlette = make(
        routes=all_routes(server, page=settings.page),
        middleware=[_cors(guard, settings.cors_origins)],
        exception_handlers={
            AguiGateError: handlers.on_own_error,
            HTTPException: handlers.on_http_error,
            Exception: handlers.on_bug,
        },
        lifespan=lifespan,
    )
    app.state.engine = engine
    app.state.guard = guard
    app.state.drain_seconds = settings.drain_seconds
    app.state.send_timeout = settings.send_timeout
    app.state.body_seconds = settings.body_seconds
    if settings.limits:
        load("quotas").enforce_on_app(app, settings.limits)
    return app


def _cors(guard: Guard, origins: Sequence[str]) -> Middleware:
    """Browsers on other origins: those that are configured, and on an open (loopback-only) server loopback ones."""
    return Middleware(
        Origins,
        guard=guard,
        allow_origins=origins,
        allow_origin_regex=LOOPBACK_ORIGIN if guard.loopback_only else None,
        allow_methods=["GET", "POST", "PATCH", "DELETE", "OPTIONS"],
        allow_headers=["*"],
        allow_credentials=guard.allows_credentials(),
        expose_headers=["AGUI-Run-Key"],
    )
