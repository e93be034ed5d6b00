"""Makes an application that may be served from what was typed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from agui_gate.cli.access import IGNORED, access_of, ignores_tokens, undecidable
from agui_gate.cli.server.banner import banner
from agui_gate.cli.store_access import store_name
from agui_gate.cli.target import Target, load_target, states_of
from agui_gate.config.settings import DEFAULT, Settings, load_settings
from agui_gate.errors import ConfigurationError

log = structlog.get_logger("agui_gate.server")


@dataclass(frozen=True, slots=True)
class Plan:
    """The options as they were typed: TARGET, settings file, what overrides settings, --model (None: not given)."""

    target: str | None
    config: Path | None
    options: Mapping[str, Any]
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """The application that will be served."""

    app: Any
    target: Target
    settings: Settings

    def announce(self, url: str) -> None:
        """Prints the banner."""
        banner(
            url, self.target.agents, _facts(self), closed=not all(s.guard.loopback_only for s in states_of(self.app))
        )

    def warn(self) -> None:
        """Logs what would surprise somebody later: tokens that open nothing, and calls that nobody could approve."""
        states = states_of(self.app)
        if ignores_tokens(self.settings, states):
            log.warning("tokens_not_used", means=IGNORED)
        for tool, why in undecidable(self.settings, self.target.agents, states):
            log.warning("nobody_can_approve", tool=tool, means=f"Nobody can approve a call of {tool}: {why}.")


def prepare(plan: Plan) -> Ready:
    """Loads settings and TARGET, makes the application. Raises `ConfigurationError` if it can't be served like this."""
    settings = load_settings(plan.config, options=plan.options)
    target = load_target(plan.target, plan.model)
    if target.app is None:
        from agui_gate.http.app import create_app

        ready = Ready(create_app(*target.agents, settings=settings), target, settings)
    else:
        ready = Ready(target.app, target, settings)
        _check_options(plan)
    _check_access(ready)
    return ready


def _check_options(plan: Plan) -> None:
    """An application has made its choices already; an option that changes nothing would deceive."""
    for name, flag in (("store", "--store"), ("bus", "--bus"), ("page", "--no-page")):
        if plan.options.get(name) is not None:
            raise ConfigurationError(f"{plan.target} is an application with its own settings: {flag} can't change it.")


def _check_access(ready: Ready) -> None:
    """Loopback is open, everything else needs to know who asks (docs/operations.md#authentication)."""
    from agui_gate.http.local_requests import is_loopback

    host = ready.settings.host
    if not is_loopback(host) and any(state.guard.loopback_only for state in states_of(ready.app)):
        raise ConfigurationError(
            f"Without auth this server may only listen on a loopback address, not on {host}. "
            'Set AGUI_GATE_TOKENS="name:TOKEN", or pass auth= to create_app.'
        )


def _facts(ready: Ready) -> dict[str, str]:
    settings, states, facts = ready.settings, states_of(ready.app), {}
    if ready.target.app is None:
        default = " (the default; --store changes it)" if settings.source("store") == DEFAULT else ""
        facts["store"] = settings.shown("store") + default
        if settings.bus:
            facts["bus"] = settings.shown("bus")
    elif states:
        facts["store"] = ", ".join(f"{store_name(state.engine.store)}, of the application" for state in states)
    facts["access"] = access_of(settings, states) if states else "as the application decides"
    return facts
