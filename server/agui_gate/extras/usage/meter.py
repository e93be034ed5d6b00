"""Counts what each request to a model uses, for the store, around the meter that counts for Prometheus.

A request is kept with the turn that it answered: in the same transaction (`UsageLedger.commit`). What is left when a
run ends is kept by itself: requests of a run that lost its lease, and of one that nothing is kept of.
"""

import asyncio
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import structlog
from starlette.routing import BaseRoute

from agui_gate.adapter import Adapter, TurnDone, Usage
from agui_gate.concurrency import to_the_end
from agui_gate.core.principals import tenant_of
from agui_gate.core.transcript import Entry, TurnEntry
from agui_gate.errors import AguiGateError, ConfigurationError, LeaseLost, ProviderError, ProviderUnavailable
from agui_gate.extension import Extension, Server
from agui_gate.extras.observation import names_of, summary_adapter
from agui_gate.extras.usage.budgets import BYTES_PER_TOKEN, OUTPUT_TOKENS, Budgets, Reservation
from agui_gate.extras.usage.prices import Prices
from agui_gate.extras.usage.report import thread_view
from agui_gate.http.sse import StreamingApplication
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Change, Store, Thread
from agui_gate.stores.outbox import is_run
from agui_gate.stores.sql.usage import UsageLedger, ledger_of
from agui_gate.stores.sql.usage_retention import Place
from agui_gate.stores.usage import KINDS, ModelRequest, Spent, together
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns import tool_execution
from agui_gate.turns.steps import Draft, Speaker, TurnStep

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings

MEMBERS = {kind: f"{kind}_tokens" for kind in KINDS}
"""The members of `Usage`, by kind."""
SAVE_SECONDS = 5.0
"""Seconds for which the end of a server waits for what is left to be kept."""

STEP_SECONDS = 10.0
"""Seconds from one step to the next in which old usage is forgotten."""

UNPRICED = "Budgets in dollars don't count it: name its price in AGUI_GATE_PRICES, or set a budget of tokens, too."

log = structlog.get_logger("agui_gate.usage")


class UsageMeter(Extension):
    """Keeps the usage of one engine; see `turns.meter.Meter`. ``inner``: the meter that counts as well."""

    def __init__(self, settings: "Settings", inner: Any = None) -> None:
        self.prices = Prices(settings.prices)
        self._settings, self._inner = settings, inner
        self._due: dict[str, list[ModelRequest]] = {}
        self._saving: set[asyncio.Task[None]] = set()
        self._unpriced: set[tuple[str, str]] = set()
        self.reserving: dict[str, set[_KeptTurns]] = {}
        """By run key: the steps that have reserved for a request, and don't know yet what it used."""
        self.ledger: UsageLedger
        self.budgets: Budgets
        self._store: Store

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._inner is None:
            raise AttributeError(name)
        return getattr(self._inner, name)

    # --- the server's hooks -----------------------------------------------------------------------------------------
    def store(self, store: Store) -> Store:
        """Returns ``store``, whose commits write what their runs have used. It belongs to it from now on.

        Raises `ConfigurationError` for a store that can't keep usage, and for budgets that make no sense.
        """
        ledger = ledger_of(store)
        if ledger is None:
            raise ConfigurationError("This store can't keep usage: leave AGUI_GATE_USAGE and AGUI_GATE_BUDGETS unset.")
        self.ledger = ledger
        self._store = store if self._inner is None else self._inner.store(store)
        self.budgets = Budgets(self._settings.budgets, ledger, store)
        self._retention = UsageRetention(ledger, self._settings.retention_usage_days)
        if self.budgets.has_money and not self.prices.has_any:
            raise ConfigurationError(
                'AGUI_GATE_BUDGETS is in dollars, and there are no prices: pip install "agui-gate[prices]", '
                "or name a file of your own with AGUI_GATE_PRICES."
            )
        return cast(Store, HeldStore(self._store, self.commit, self.budgets.check, self))

    def application(self, **options: Any) -> StreamingApplication:
        """Makes the application as the other meter wants it."""
        make: Callable[..., StreamingApplication] = getattr(self._inner, "application", StreamingApplication)
        return make(**options)

    def routes(self, server: Server) -> "Sequence[BaseRoute]":
        """Returns `GET /usage`."""
        from agui_gate.extras.usage.routes import routes

        return routes(server, self.ledger)

    async def start(self, server: Server) -> None:
        """Starts the other meter."""
        if self._inner is not None:
            await self._inner.start(server)

    async def tick(self) -> None:
        """Forgets what is old."""
        await self._retention.tick()

    async def stop(self) -> None:
        """Stops the other meter."""
        if self._inner is not None:
            await self._inner.stop()

    async def open(self) -> None:
        """Loads the prices, beside the event loop, when the store was opened."""
        await asyncio.to_thread(self.prices.load)

    async def close(self) -> None:
        """Waits for what is being kept, before the store is closed."""
        if self._saving:
            await asyncio.wait(self._saving, timeout=SAVE_SECONDS)

    # --- the store ---------------------------------------------------------------------------------------------------
    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        """Commits, with what the run has used since the last time."""
        requests = list(self._due.get(run_key, ()))
        if not requests:
            await self._store.commit(thread, change, run_key)
        elif await self.ledger.commit(thread, change, run_key, requests, self._store.commit):
            left = [one for one in self._due.get(run_key, ()) if one not in requests]
            self._due[run_key] = left

    async def usage_of(self, thread: Thread) -> dict[str, Any]:
        """Returns what a thread has used: the member ``usage`` of `GET /threads/{id}`. One of the same id that was
        deleted before is another thread.
        """
        owner, since = thread.principal, thread.created_at
        requests, is_whole = await self.ledger.requests("owner", owner, since, thread_id=thread.id)
        return await thread_view(requests, is_whole=is_whole)

    # --- the trunk's meter -------------------------------------------------------------------------------------------
    def run_begun(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """See `turns.meter.Meter`."""
        if self._inner is not None:
            self._inner.run_begun(agent, live, thread)
            if thread.meter not in (self, self._inner):  # the run has one of its own, such as one with a span
                thread.meter, of_run = copy(self), thread.meter
                thread.meter._inner = of_run
        live.at_end += (partial(self._run_over, thread.run_key),)

    def _run_over(self, run_key: str) -> None:
        unused = [spent for step in self.reserving.pop(run_key, ()) for spent in step.unused()]
        self.budgets.forget(run_key)
        left = self._due.pop(run_key, ())
        if left or unused:
            self._save(left, together(unused))

    def give_back(self, spent: Sequence[Spent]) -> None:
        """Gives back what was reserved for a request that was never made."""
        self._save((), spent)

    def _save(self, requests: Sequence[ModelRequest], spent: Sequence[Spent] = ()) -> None:
        task = asyncio.create_task(self._saved(requests, spent), name="agui-gate usage")
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _saved(self, requests: Sequence[ModelRequest], spent: Sequence[Spent]) -> None:
        try:
            await self.ledger.save(requests, spent)
        except AguiGateError as error:
            log.warning("usage_not_kept", requests=len(requests), code=error.code, why=error.message)

    def counting(self, speaker: Speaker) -> Speaker:
        """See `turns.meter.Meter`."""
        spent = (speaker if self._inner is None else self._inner.counting(speaker)).spent
        adapter = summary_adapter(speaker)

        def counted(done: TurnDone) -> None:
            self.requested(speaker, adapter, done.usage, "ok", begun=perf_counter())
            spent(done)
            _forget_attempts(adapter)

        return speaker._replace(spent=counted)

    def turn_step(self, speaker: Speaker) -> TurnStep:
        """See `turns.meter.Meter`."""
        return _KeptTurns(self, speaker, None if self._inner is None else self._inner.turn_step(speaker))

    async def run_tool(self, *args: Any, **more: Any) -> Any:
        """See `turns.meter.Meter`."""
        run = tool_execution.run_tool if self._inner is None else self._inner.run_tool
        return await run(*args, **more)

    # --- requests ----------------------------------------------------------------------------------------------------
    async def reserve(self, speaker: Speaker, prompt: str) -> Reservation:
        """Reserves for the next request. Raises `LimitReached`."""
        thread, adapter = speaker.thread, speaker.member.agent.adapter
        tokens = (thread.capacity.size + len(prompt)) // BYTES_PER_TOKEN
        cost, _ = self._cost(adapter, None, {"input": tokens, "output": OUTPUT_TOKENS})
        return await self.budgets.reserve(thread.thread.principal, thread.run_key, tokens + OUTPUT_TOKENS, cost or 0)

    def _cost(self, adapter: Adapter, usage: Usage | None, tokens: Mapping[str, int | None]) -> tuple[int | None, str]:
        """Returns what `Prices.cost` does, by the name that the provider says, else by the one that was asked for.

        The log says once of a model that neither has a price, where a budget is in dollars: it costs nothing in that.
        """
        asked = _names(adapter, None)
        for name in dict.fromkeys((_names(adapter, usage), asked)):
            cost, priced = self.prices.cost(*name, tokens)
            if cost is not None:
                return cost, priced
        if self.budgets.has_money and tokens["input"] is not None and asked not in self._unpriced:
            self._unpriced.add(asked)
            log.warning("model_without_price", provider=asked[0], model=asked[1], why=UNPRICED)
        return None, ""

    def requested(
        self,
        speaker: Speaker,
        adapter: Adapter,
        usage: Usage | None,
        outcome: str,
        *,
        begun: float,
        first: float | None = None,
        reservation: Reservation | None = None,
        is_known: bool = True,
    ) -> None:
        """Keeps a request with the next commit of its run, and those to the models of a list before it.

        ``begun`` and ``first`` are seconds by `time.perf_counter`. ``is_known`` False: it broke off. What was
        reserved counts as used then, and where the provider said nothing of an answer's tokens.
        """
        *failed, last = getattr(adapter, "attempts", ()) or (None,)
        for attempt in failed:
            self._keep(speaker, attempt.adapter, None, attempt.code, attempt.begun, attempt.begun + attempt.seconds)
        if last is not None:
            adapter, begun = last.adapter, last.begun
        self._keep(speaker, adapter, usage, outcome, begun, perf_counter(), first, reservation, is_known=is_known)

    def _keep(
        self,
        speaker: Speaker,
        adapter: Adapter,
        usage: Usage | None,
        outcome: str,
        begun: float,
        ended: float,
        first: float | None = None,
        reservation: Reservation | None = None,
        *,
        is_known: bool = True,
    ) -> None:
        thread, owner = speaker.thread, speaker.thread.thread.principal
        provider, model = _names(adapter, usage)
        tokens = {kind: getattr(usage, member, None) for kind, member in MEMBERS.items()}
        cost, priced = self._cost(adapter, usage, tokens)
        used = (tokens["input"] or 0) + (tokens["output"] or 0), cost or 0
        is_told = outcome != "ok" or not tokens["input"] is tokens["output"] is None
        if reservation is not None and not (is_known and is_told):
            used = reservation.tokens, reservation.cost
        request = ModelRequest(
            id=secrets.token_hex(12),
            of_tenant=tenant_of(owner),
            owner=owner,
            principal=owner.rpartition("\x1f")[2] if thread.by is None else thread.by.principal.id,
            thread_id=thread.thread.id,
            run_key=thread.run_key,
            agent=speaker.member.agent.name,
            provider=provider,
            model=model,
            at=self._store.now(),
            first_ms=None if first is None else round(max(0.0, first - begun) * 1000),
            ms=round(max(0.0, ended - begun) * 1000),
            outcome=outcome,
            cost=cost,
            priced=priced,
            spent=self.budgets.replace(reservation, owner, thread.run_key, *used) if usage or reservation else (),
            **tokens,
        )
        self._due.setdefault(thread.run_key, []).append(request)


class _KeptTurns(TurnStep):
    """The last step of a member's turns: what it begins with is the request itself."""

    def __init__(self, meter: UsageMeter, speaker: Speaker, inner: Any) -> None:
        self._meter, self._speaker, self._inner = meter, speaker, inner
        self._adapter = speaker.member.agent.adapter
        self._clock: Callable[[], float] = perf_counter
        self._begun: float | None = None
        self._first: float | None = None
        self._reservation: Reservation | None = None

    async def request(self, draft: Draft) -> None:
        """Reserves, and begins to time a request."""
        if self._reservation is not None:  # the request before was never made
            self._meter.give_back(self.unused())
        if self._meter.budgets:
            await to_the_end(self._reserve(draft.prompt))  # whoever is stopped here gives it back
        self._begun, self._first = self._clock(), None
        if self._inner is not None:
            await self._inner.request(draft)

    async def _reserve(self, prompt: str) -> None:
        self._reservation = await self._meter.reserve(self._speaker, prompt)
        self._meter.reserving.setdefault(self._speaker.thread.run_key, set()).add(self)

    def unused(self) -> Sequence[Spent]:
        """Returns what budgets get back of a request that was never made, once."""
        reservation, self._reservation = self._reservation, None
        thread = self._speaker.thread
        return self._meter.budgets.replace(reservation, thread.thread.principal, thread.run_key, 0, 0)

    async def accepted(self) -> None:
        """Times the first events of its answer."""
        self._first = self._clock()
        if self._inner is not None:
            await self._inner.accepted()

    def refused(self, error: ProviderError) -> bool:
        """Has the other meter learn of it."""
        return self._inner is not None and bool(self._inner.refused(error))

    def recorded(self, turn: TurnEntry, done: TurnDone | None) -> tuple[TurnEntry, *tuple[Entry, ...]]:
        """Keeps it. An answer that broke off is recorded while the error is handled that broke it."""
        if self._begun is not None:
            begun, self._begun = self._begun, None
            reservation, self._reservation = self._reservation, None
            self._meter.reserving.get(self._speaker.thread.run_key, set()).discard(self)
            code = "ok" if done is not None else _code(sys.exception())
            self._meter.requested(
                self._speaker,
                self._adapter,
                None if done is None else done.usage,
                code,
                begun=begun,
                first=self._first,
                reservation=reservation,
                is_known=done is not None or self._first is None,
            )
        after: tuple[TurnEntry, *tuple[Entry, ...]] = (turn,)
        if self._inner is not None:
            after = self._inner.recorded(turn, done)
        _forget_attempts(self._adapter)
        return after


def _forget_attempts(adapter: Adapter) -> None:
    """Forgets those to the models of a list, which every meter has counted now."""
    pop = getattr(adapter, "pop_attempts", None)
    if pop is not None:
        pop()


def unpriced(file: str, adapters: Iterable[Adapter]) -> Iterator[str]:
    """Yields the models without a price in ``file`` ("" for none) and in the package. Raises `ConfigurationError`."""
    prices = Prices(file)
    for adapter in adapters:
        provider, model = _names(adapter, None)
        if prices.cost(provider, model, {"input": 1}) == (None, ""):
            yield f"{provider}/{model}"


def _names(adapter: Adapter, usage: Usage | None) -> tuple[str, str]:
    vendor, model = names_of(adapter)
    return (usage and usage.provider) or vendor or "unknown", (usage and usage.model) or model


def _code(error: BaseException | None) -> str:
    if error is None:  # the answer ended early, and nothing was raised yet
        return ProviderUnavailable.code
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    if isinstance(error, LeaseLost):
        return "lease_lost"
    return error.code if isinstance(error, AguiGateError) else "internal"


class HeldStore:
    """``inner``, whose commits write what their runs have used, and that gives no run a thread whose budget is spent.

    ``commit`` takes the place of its own. ``check`` is asked before a thread is leased for a run. It has just the
    methods that ``inner`` has.
    """

    def __init__(
        self,
        inner: Store,
        commit: Callable[[Thread, Change, str], Awaitable[None]],
        check: Callable[[str], Awaitable[None]],
        meter: UsageMeter,
    ) -> None:
        self._inner, self.commit, self._check, self._meter = inner, commit, check, meter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def start(self) -> None:
        """Opens the store, and has the prices loaded."""
        await self._inner.start()
        await self._meter.open()

    async def aclose(self) -> None:
        """Closes the store, once what was used is kept."""
        await self._meter.close()
        await self._inner.aclose()

    async def lease_thread(self, principal: str, thread_id: str, agent: str, run_key: str, **more: Any) -> Thread:
        """See `ThreadStore`. Raises `RateLimited` for a run if a budget is spent: before a model is asked."""
        if is_run(run_key):
            await self._check(principal)
        return await self._inner.lease_thread(principal, thread_id, agent, run_key, **more)


class UsageRetention:
    """Goes through the usage again and again. ``days``: see `AGUI_GATE_RETENTION_USAGE_DAYS`."""

    def __init__(self, ledger: UsageLedger, days: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger, self._days, self._clock = ledger, days, clock
        self._place = Place()
        self._due = 0.0

    async def tick(self) -> None:
        """Makes a step, if it is time. If the store is away, the next step does what this one left."""
        if self._clock() < self._due:
            return
        self._due = self._clock() + STEP_SECONDS
        try:
            gone, self._place = await self._ledger.forget(self._days, self._place)
        except AguiGateError:
            return
        if gone:
            log.info("usage_forgotten", rows=gone)
