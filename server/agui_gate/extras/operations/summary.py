"""`GET /ops/summary` and `GET /ops/sizes`: what no list of the operators says, for the page `/admin`.

Figures alone: how much waits, what of budgets and limits is used, what was used today, and what runs here. Those of the
whole store are told to operators of no tenant. What is read is told again for a moment, as pages ask often.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, cast

import msgspec

from agui_gate.errors import ShuttingDown, Unavailable
from agui_gate.extras.operations.store_facts import count_processes, kind_of, name_replicas, newest_schema
from agui_gate.extras.usage.report import sums_view
from agui_gate.protocol.cards import iso
from agui_gate.release import read_revision
from agui_gate.runs.engine import Engine
from agui_gate.stores.operators import BacklogStore, Counted
from agui_gate.stores.usage import DAY_MS, Sums

Json = dict[str, Any]

FRESH_SECONDS = 2.0
"""Seconds for which a summary is told again."""
SIZES_SECONDS = 60.0
"""Seconds for which sizes are told again: every row is counted for them."""
READ_SECONDS = 10.0
"""Seconds that the store may take for a summary."""
COUNT_SECONDS = 60.0
"""Seconds that the store may take to count what it holds."""
MOST_TENANTS = 100
"""Tenants whose summary is kept."""
MOST_OWNERS = 5
"""Owners of whom it is told what of their budget is used: those who have used most today."""


class Summary:
    """The summaries of one server."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: dict[object, tuple[float, Json]] = {}
        self._reading, self._counting = asyncio.Lock(), asyncio.Lock()

    async def summary(self, tenant: str | None) -> Json:
        """Returns the summary for an operator of a tenant; None: of everybody's. Raises `Unavailable`."""
        return await self._fresh(("summary", tenant), FRESH_SECONDS, READ_SECONDS, lambda: self._read(tenant))

    async def sizes(self, tenant: str | None) -> Json:
        """Returns what the store holds, counted. Raises `Unavailable`."""
        if tenant or not hasattr(self._engine.store, "tally"):
            return {"sizes": None}
        return await self._fresh("sizes", SIZES_SECONDS, COUNT_SECONDS, self._count)

    async def _fresh(self, key: object, fresh: float, seconds: float, read: Callable[[], Awaitable[Json]]) -> Json:
        """Returns what was read a moment ago, or reads. One at a time: those who ask meanwhile get the same.
        Nobody waits for more than ``seconds``, and no summary for a count.
        """
        try:
            async with asyncio.timeout(seconds), self._counting if key == "sizes" else self._reading:
                at, known = self._kept.get(key, (0.0, {}))
                if not known or time.monotonic() - at >= fresh:
                    known = await read()
                    self._kept.pop(key, None)
                    self._kept[key] = time.monotonic(), known
                    if len(self._kept) > MOST_TENANTS:
                        del self._kept[next(iter(self._kept))]
                return known
        except TimeoutError:
            raise Unavailable("The store takes too long to say that. Try again in a moment.") from None

    async def _read(self, tenant: str | None) -> Json:
        store, sees_all = self._engine.store, not tenant
        now = store.now()
        backlog = await cast(BacklogStore, store).backlog() if sees_all and hasattr(store, "backlog") else None
        used = await self._used(tenant or "", now // DAY_MS)
        return {
            "at": iso(now),
            "server": await self._server(sees_all=sees_all),
            "waiting": None if backlog is None else _backlog(backlog),
            "limits": await self._limits(tenant),
            **used,
        }

    async def _server(self, *, sees_all: bool = True) -> Json:
        engine = self._engine
        processes = await count_processes(engine.store, engine.bus)
        return {
            "version": version("agui-gate"),
            "revision": read_revision(),
            "schema": newest_schema(engine.store),
            "store": kind_of(engine.store),
            "bus": kind_of(engine.bus),
            "processes": processes,
            **(await name_replicas(engine.bus, processes) if sees_all else {"replicas": [], "silent": 0}),
            "draining": _is_draining(engine),
            "runs_here": len(engine._runs),
        }

    async def _limits(self, tenant: str | None) -> list[Json]:
        """Returns the limits, with what is used of each: those of this process only to operators of no tenant."""
        engine = self._engine
        ours: Any = next((one for one in engine.extensions.all if hasattr(one, "admit")), None)
        found: list[Json] = [] if ours is None else await ours.report(tenant)
        if tenant:
            return found
        runs = max(engine._in_flight.values(), default=0)
        return [
            *found,
            {"name": "AGUI_GATE_PRINCIPAL_RUNS", "most": engine.limits.principal_runs, "used": runs, "of": "principal"},
            {"name": "AGUI_GATE_OPEN_BYTES", "most": engine.budget.limit, "used": engine.budget.reserved, "of": "all"},
        ]

    async def _used(self, tenant: str, day: int) -> Json:
        """Returns what was used today by model, and what is used of the budgets; None where nothing is kept."""
        meter: Any = next((one for one in self._engine.extensions.all if hasattr(one, "budgets")), None)
        if meter is None:
            return {"usage": None, "budgets": []}
        lines, is_whole = await meter.ledger.days("of_tenant", tenant, day, day)
        models: dict[tuple[str, str], Sums] = {}
        owners: dict[str, Sums] = {}
        for line in lines:
            model = (line.provider, line.model)
            models[model] = models.get(model, Sums()).plus(line.sums)
            owners[line.owner] = owners.get(line.owner, Sums()).plus(line.sums)
        most = sorted(owners, key=lambda one: (-owners[one].cost, -owners[one].input - owners[one].output, one))
        rows = [
            {"provider": provider, "model": model, **sums_view(models[provider, model])}
            for provider, model in sorted(models)
        ]
        budgets = await meter.budgets.report(tenant, most[:MOST_OWNERS])
        return {"usage": {"since": iso(day * DAY_MS), "models": rows, "is_whole": is_whole}, "budgets": budgets}

    async def _count(self) -> Json:
        store: Any = self._engine.store
        tally = msgspec.structs.asdict(await store.tally())
        ages = [name for name in tally if name.startswith("oldest")]
        times = {name: None if tally[name] is None else iso(tally[name]) for name in ages}
        return {"sizes": {**tally, **times, "at": iso(store.now())}}


def _is_draining(engine: Engine) -> bool:
    try:
        engine.check_open()
    except ShuttingDown:
        return True
    return False


def _backlog(backlog: Any) -> Json:
    states = ("pending", "claimed", "orphaned", "unknown", "notices")
    return {name: _counted(getattr(backlog, name), backlog.now) for name in states}


def _counted(counted: Counted, now: int) -> Json:
    return {"number": counted.number, "seconds": 0 if counted.since is None else max(0, now - counted.since) // 1000}
