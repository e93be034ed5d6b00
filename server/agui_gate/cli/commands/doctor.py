"""`agui-gate doctor`: one line and one fix per finding."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from agui_gate.adapter import Finding
from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Roster
from agui_gate.bus.memory import MemoryBus
from agui_gate.cli.access import IGNORED, LOCAL_ONLY, access_of, ignores_tokens, undecidable, why_refused
from agui_gate.cli.agent_checks import check_agent
from agui_gate.cli.interrupts import run
from agui_gate.cli.program import FAILED, config_option, debug_option
from agui_gate.cli.store_access import OLDER_FIX, describe_older, store_name, url_of
from agui_gate.cli.target import load_target, model_option, states_of
from agui_gate.cli.terminal.console import log_to_stderr, mark, printable
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import DEFAULT, Settings, load_settings
from agui_gate.errors import AguiGateError, ConfigurationError, Unavailable
from agui_gate.extra_loader import load
from agui_gate.stores.base import Named
from agui_gate.stores.retention import DAY_MS, Tally

MOST_LOOKED = 10_000
"""Calls at work that are looked at."""
LATE_SECONDS = 60
"""Seconds after which notices that nobody was told are a finding."""
MOST_NAMED = 5
"""Calls of which nobody knows what came of them that are named."""

SHORT_TOKEN = 16
"""Characters below which a bearer token is called guessable."""

HELP = """Check settings, store, page and provider, and say what to fix.

With TARGET or --model, each agent's key, address and model are checked too. Some providers can't list their models:
--ask sends each a short request instead.

\b
Examples:
  agui-gate doctor
  agui-gate doctor support:agent
  agui-gate doctor support:agent --ask                     send one short request
  agui-gate doctor --model anthropic:claude-sonnet-4-5
  agui-gate doctor --json

With --json: {"findings": [{"what", "ok", "detail", "fix"}], "problems"}; ok is null where something could not be told.

Exit codes: 0 no problem (lines marked ! are advice, or could not be checked); 1 problems found (lines marked ✗).
"""


@click.command("doctor", help=HELP)
@click.argument("target", required=False)
@model_option
@click.option(
    "--ask", is_flag=True, help="Also send each model one short request with all of its tools (a few tokens)."
)
@click.option("--store", metavar="URL", help="Check this store instead of the one in the settings.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@config_option
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    target: str | None,
    model: str | None,
    ask: bool,
    store: str | None,
    as_json: bool,
    config: Path | None,
) -> None:
    """Check everything and print what was found."""
    log_to_stderr(ctx)
    found = find_all(target, model, store, config, ask=ask)
    broken = run(_print_json(found) if as_json else _print_all(found))
    if broken and not as_json:
        click.echo(f"\n{broken} problem{'' if broken == 1 else 's'} found.")
    if broken:
        ctx.exit(FAILED)


async def _print_json(findings: AsyncIterator[Finding]) -> int:
    """Prints all findings in the end; returns how many are broken."""
    found = [finding async for finding in findings]
    broken = sum(finding.ok is False for finding in found)
    views = [{"what": one.what, "ok": one.ok, "detail": one.detail, "fix": one.fix} for one in found]
    click.echo(json.dumps({"findings": views, "problems": broken}, indent=2))
    return broken


async def _print_all(findings: AsyncIterator[Finding]) -> int:
    """Prints each finding as it comes; returns how many are broken."""
    broken = 0
    async for finding in findings:
        advice = finding.ok and bool(finding.fix)
        detail = f": {finding.detail}" if finding.detail else ""
        line = fit(f"✓ {finding.what}{detail}", sys.stdout, hang=4).removeprefix("✓ ")
        click.echo(f"{mark(None if advice else finding.ok)} {line}")
        if finding.fix:
            click.secho(fit(f"  → {finding.fix}", sys.stdout), dim=finding.ok is not False)
        broken += finding.ok is False
    return broken


async def find_all(
    target: str | None, model: str | None, store: str | None, config: Path | None, *, ask: bool
) -> AsyncIterator[Finding]:
    """Yields every finding, each as soon as it is known."""
    try:
        settings = load_settings(config, options={"store": store})
    except AguiGateError as error:
        yield Finding(
            "settings", False, error.message, "Correct it. `agui-gate settings` shows where each value came from."
        )
        return
    loaded, agents, app = _load(target, model) if target is not None or model is not None else (None, (), None)
    states = states_of(app)
    async for finding in _about_settings(settings, agents, states, is_named=loaded is not None):
        yield finding
    yield _page()
    if loaded is not None:
        yield loaded
    async for finding in _about_backends(settings, states):
        yield finding
    if loaded is None:
        yield Finding(
            "provider", True, "not checked", "Name a TARGET (or a --model) to check its key, address and model."
        )
    for finding in (*_about_gates(settings, agents, states), *_about_prices(settings, agents)):
        yield finding
    for agent in agents:
        async for finding in check_agent(agent, ask=ask):
            yield finding


async def _about_backends(settings: Settings, states: Sequence[Any]) -> AsyncIterator[Finding]:
    """Looks into store and bus: those of the settings, or those that applications have of their own."""
    for state in states:
        async for finding in _store_of(state.engine.store):
            yield finding
        yield await _bus_of(state.engine.bus)
    if not states:
        async for finding in _store(settings):
            yield finding
        yield await _bus(settings)


async def _about_settings(
    settings: Settings, agents: Sequence[Agent], states: Sequence[Any], *, is_named: bool
) -> AsyncIterator[Finding]:
    """``is_named``: whether a TARGET or a model was named, so that it is about that, and not about a deployment."""
    changed, refused = len(settings.sources), None if states else why_refused(settings, agents)
    if refused is not None:
        yield Finding("settings", False, refused, "Correct it: no server starts with these settings.")
    elif changed or is_named:
        yield Finding("settings", True, f"valid, {changed or 'none'} set by you")
    else:
        fix = "Name the settings of your server: the same AGUI_GATE_* variables, or --config."
        yield Finding("settings", True, "none set by you, so these are the defaults", fix)
    yield _access(settings, states)
    if ignores_tokens(settings, states):
        yield Finding("tokens", True, IGNORED, "Remove the setting, or let auth= check these tokens as well.")
    if settings.metrics and find_spec("prometheus_client") is None:
        yield Finding("metrics", False, "prometheus-client is not installed", 'pip install "agui-gate[metrics]"')
    if settings.signed_tokens:
        yield await _keys(settings)
    if settings.webhooks:
        async for finding in _webhooks(settings):
            if finding.detail != refused:
                yield finding
    every = ((name, (one,) if isinstance(one, str) else one) for name, one in settings.tokens.items())
    weak = [principal for principal, some in every if any(len(token) < SHORT_TOKEN for token in some)]
    if weak:
        fix = "Make new ones: python -c 'import secrets; print(secrets.token_urlsafe())'"
        yield Finding("tokens", True, f"easy to guess: {', '.join(weak)}", fix)


def _access(settings: Settings, states: Sequence[Any]) -> Finding:
    from agui_gate.http.local_requests import is_loopback

    told = access_of(settings, states)
    if told != LOCAL_ONLY or is_loopback(settings.host):
        return Finding("access", True, told)
    fix = 'Set AGUI_GATE_TOKENS="name:TOKEN", or AGUI_GATE_HOST=127.0.0.1.'
    return Finding("access", False, f"open to {settings.host} without auth, which `serve` refuses", fix)


async def _keys(settings: Settings) -> Finding:
    try:
        found: Finding = await load("people.signed_tokens").check_keys(settings)
    except ImportError:
        return Finding("keys of the issuer", False, "PyJWT is not installed", 'pip install "agui-gate[jwt]"')
    return found


async def _webhooks(settings: Settings) -> AsyncIterator[Finding]:
    """Connects to each endpoint, and sends nothing."""
    try:
        endpoints = load("notices.endpoints").read_endpoints(settings.webhooks)
        load("notices.delivery").targets(endpoints, None)
    except AguiGateError as error:
        yield Finding("webhooks", False, error.message, "See docs/notifications.md#webhooks.")
        return
    if not settings.public_url:
        yield Finding("webhooks", True, "their notices have no links", "Set AGUI_GATE_PUBLIC_URL.")
    for endpoint in endpoints:
        problem = await load("notices.connection").problem_with(endpoint)
        what, where = f"webhook {endpoint.name}", printable(endpoint.host)
        if problem is None:
            yield Finding(what, True, f"{where} can be connected to")
        else:
            yield Finding(what, False, f"{where}: {problem}", "Correct its table, or start what it points at.")


def _page() -> Finding:
    page = files("agui_gate") / "extras" / "page" / "files" / "index.html"
    if page.is_file():
        return Finding("page", True, "its files are installed")
    return Finding("page", False, "its files are missing", "Install agui-gate again, or serve with --no-page.")


def _about_gates(settings: Settings, agents: Sequence[Agent], states: Sequence[Any]) -> Iterator[Finding]:
    for name, why in undecidable(settings, agents, states):
        fix = (
            "Name people in `approvers` who have a token, or return a Principal with roles from auth=: docs/people.md."
        )
        yield Finding(f"gate of {name}", True, f"nobody can approve its calls: {why}", fix)


def _about_prices(settings: Settings, agents: Sequence[Agent]) -> Iterator[Finding]:
    """Names the models that no budget of dollars can count. Prices that can't be read are a finding of the settings."""
    if not any("$" in budget for budget in settings.budgets):
        return
    usage, every = load("usage.meter"), [agent.adapter for agent in agents]
    models = [one for adapter in every for one in getattr(adapter, "adapters", (adapter,))]
    with suppress(ConfigurationError):
        for name in usage.unpriced(settings.prices, models):
            yield Finding(f"price of {name}", True, "there is none", usage.UNPRICED)


async def _store(settings: Settings) -> AsyncIterator[Finding]:
    """Looks into the store that the settings name."""
    from agui_gate.config.backends import store_from

    where = f" in {os.getcwd()}" if settings.source("store") == DEFAULT else ""
    named = "AGUI_GATE_STORE" if settings.source("store") == DEFAULT else settings.source("store")
    shown = f"{settings.shown('store')}{where}"
    async for finding in _look_into(lambda: store_from(settings), settings.store, shown, named):
        yield finding


async def _store_of(store: Any) -> AsyncIterator[Finding]:
    """Looks into the store of an application."""
    shown = f"{store_name(store)}, of the application,"
    async for finding in _look_into(lambda: store, url_of(store), shown, "what the application gives create_app"):
        yield finding


async def _look_into(make: Callable[[], Any], url: str, shown: str, named: str) -> AsyncIterator[Finding]:
    """Opens, writes and closes; and says of which approved calls nobody knows what came of them.

    What doesn't exist yet is not created, and what an older version made is not migrated. ``url``: "" for a store of
    the application's own, which says no more than that it works.
    """
    try:
        store = make()
        if (left_alone := await _not_opened(url, shown)) is not None:
            yield left_alone
            return
        try:
            await store.start()
            await store.check()
            if url.startswith("postgres"):
                await store.check_room()
            if not url:
                yield Finding("store", True, f"{shown} opens and can be written")
                return
            holds = _held(await store.tally(), store.now())
            left, unknown = await store.orphans(most=MOST_LOOKED), await store.unknown(MOST_NAMED)
            notices, frozen, now = (await store.backlog()).notices, await store.freezes(), store.now()
        finally:
            await store.aclose()
    except AguiGateError as error:
        fix = f"Correct {named}, or what it points at."
        if isinstance(error, Unavailable):
            fix = "Make it available again; the servers go on by themselves. docs/runbook/store.md says more."
        yield Finding("store", False, error.message, fix)
        return
    yield Finding("store", True, f"{shown} opens and can be written; {holds}")
    if left.found:
        detail = f"{_named(len(left.found), left.found)}. The process that ran them has ended, or hangs"
        fix = "If a server runs here, it settles them within ten seconds. Otherwise start one: docs/runbook/claimed.md."
        yield Finding("approved, and not running", True, detail, fix)
    if unknown[0]:
        fix = (
            "Check whether they took effect before anybody tries again. `agui-gate ops approvals --state unknown` "
            "lists them, and `agui-gate ops settle` says what was found out: docs/runbook/unknown.md."
        )
        yield Finding("interrupted while they ran", True, _named(*unknown), fix)
    if notices.since is not None and (late := (now - notices.since) // 1000) >= LATE_SECONDS:
        fix = "Start a server on this store. If one runs, its log says `not_told_yet`, and why."
        yield Finding("notices", True, f"{notices.number:,} are not delivered, the oldest for {late:,} s", fix)
    if frozen:
        fix = "`agui-gate freeze --list` shows what is frozen; --lift ends it: docs/runbook/freeze.md."
        yield Finding("frozen", True, f"{len(frozen)}: nobody can approve these calls", fix)


async def _not_opened(url: str, shown: str) -> Finding | None:
    """Returns what is said of a store that isn't there yet, or that an older version made: neither is changed."""
    from agui_gate.stores import schema_of

    if not url or url.startswith("memory:"):
        return None
    if not (version := await schema_of(url)):
        _check_place(url)
        return Finding("store", True, f"{shown} is empty; a server creates its tables when it starts")
    older = describe_older(url, version)
    return Finding("store", True, f"{shown} {older}", OLDER_FIX) if older else None


def _check_place(url: str) -> None:
    """Raises `ConfigurationError` if a SQLite file can't be created there."""
    from agui_gate.stores import sqlite_path

    if (path := sqlite_path(url)) is None:
        return
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ConfigurationError(f"The database {path} can't be created: there is no directory {folder}.")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise ConfigurationError(
            f"The database {path} can't be written; check the rights of the file and its directory, and whether the "
            "disk is mounted read-only."
        )


def _named(count: int, calls: Sequence[Named]) -> str:
    """Returns how many calls, and which: the first of them."""
    which = [f"{call.tool} ({call.id}, thread {call.thread_id} of {call.principal})" for call in calls[:MOST_NAMED]]
    more = [f"{count - len(which):,} more"] if count > len(which) else []
    return printable(f"{count:,} call{'' if count == 1 else 's'}: {', '.join([*which, *more])}")


def _held(tally: Tally, now: int) -> str:
    """Returns what a store holds, and how old it is."""
    if not tally.threads and not tally.events:
        return "it is empty"
    parts = [
        f"{_count(tally.threads, 'thread')} ({tally.bytes / 1e6:,.1f} MB{_age(tally.oldest_thread, now)})",
        f"{_count(tally.approvals, 'approval')} ({tally.pending:,} pending)",
        f"{_count(tally.events, 'audit event')}{_age(tally.oldest_event, now)}",
        _count(tally.tombstones, "tombstone"),
        *([f"usage of {_count(tally.requests, 'request')}{_age(tally.oldest_request, now)}"] if tally.requests else []),
    ]
    return ", ".join(parts)


def _age(oldest: int | None, now: int) -> str:
    days = 0 if oldest is None else (now - oldest) // DAY_MS
    return f" for up to {days:,} days" if days else ""


async def _bus(settings: Settings) -> Finding:
    """Connects to the bus and closes it."""
    from agui_gate.config.backends import bus_from
    from agui_gate.stores import schema_of

    try:
        if settings.store.startswith("postgres") and not settings.bus and not await schema_of(settings.store):
            return Finding("bus", True, "the store's database, once it has its tables")
        bus = bus_from(settings)
        try:
            await bus.start()
        finally:
            await bus.aclose()
    except AguiGateError as error:
        name = "bus" if settings.bus else "store"  # whose database it is then
        source = settings.source(name)
        named = f"AGUI_GATE_{name.upper()}" if source == DEFAULT else source
        return Finding("bus", False, error.message, f"Correct {named}, or start what it points at.")
    shared = settings.store.startswith("postgres")
    if not settings.bus:
        return Finding("bus", True, "the store's database" if shared else "memory://")
    if shared and settings.bus == "memory://":
        fix = "Leave AGUI_GATE_BUS out: runs of other replicas are then followed live, not step by step."
        return Finding("bus", True, "memory://, although the store is shared", fix)
    return Finding("bus", True, f"{settings.shown('bus')}{'' if settings.bus == 'memory://' else ' answers'}")


async def _bus_of(bus: Any) -> Finding:
    """Connects to the bus of an application and closes it."""
    try:
        try:
            await bus.start()
        finally:
            await bus.aclose()
    except AguiGateError as error:
        return Finding("bus", False, error.message, "Correct what the application gives create_app, or start it.")
    what = "memory://" if isinstance(bus, MemoryBus) else "answers"
    return Finding("bus", True, f"{what}, of the application")


def _load(target: str | None, model: str | None) -> tuple[Finding, tuple[Agent, ...], Any]:
    named = target or f"--model {model}"
    try:
        loaded = load_target(target, model)
        agents = tuple(Roster(loaded.agents).members.values())
    except AguiGateError as error:
        fix = "Correct TARGET, or the module it names." if model is None else "Correct TARGET or --model."
        return Finding(named, False, error.message, fix), (), None
    tools = sum(len(agent.by_name) for agent in agents)
    gated = sum(tool.gate is not None for agent in agents for tool in agent.by_name.values())
    what = f"{_count(len(agents), 'agent')} with {_count(tools, 'tool')}, {gated} of them gated"
    return Finding(named, True, what), agents, loaded.app


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
