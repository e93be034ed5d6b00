"""Counts the runs, requests and tools of one engine (`turns/meter.py`), and serves the metrics on a port of their own.

Raises `ConfigurationError` where the package that makes metrics is not installed.
"""

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from time import perf_counter
from typing import Any, cast

import structlog

from agui_gate.adapter import Adapter, TurnDone, Usage
from agui_gate.agents.tool import Tool, ToolContext
from agui_gate.config.limits import DEFAULTS, Limits
from agui_gate.core import result_texts
from agui_gate.core.transcript import Entry, Output, TurnEntry
from agui_gate.errors import AguiGateError, ConfigurationError, ProviderUnavailable
from agui_gate.extension import Extension, Server
from agui_gate.extras.observation import names_of, summary_adapter
from agui_gate.http.sse import StreamingApplication
from agui_gate.release import describe_release
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Store
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns import tool_execution
from agui_gate.turns.steps import Draft, Speaker, TurnStep
from agui_gate.turns.tool_execution import ToolStart

try:
    from agui_gate.extras.metrics.families import OTHER, TOGETHER, Families
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] != "prometheus_client":
        raise
    raise ConfigurationError('AGUI_GATE_METRICS needs a package: pip install "agui-gate[metrics]".') from None

from agui_gate.extras.metrics.listener import Listener
from agui_gate.extras.metrics.requests import CountedApplication
from agui_gate.extras.metrics.state import ServerState
from agui_gate.extras.metrics.store import CountedStore

KINDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cached_input": "cached_input_tokens",
    "cache_write_input": "cache_write_input_tokens",
    "reasoning": "reasoning_tokens",
}
_counts: Callable[[Usage], tuple[int | None, ...]] = attrgetter(*KINDS.values())

log = structlog.get_logger("agui_gate.metrics")


class Meter(Extension):
    """Counts what one engine does. ``place``: ``on``, or the address to serve the metrics on besides `/metrics`."""

    def __init__(self, place: str) -> None:
        self.families = Families()
        self._place = place
        self._listener: Listener | None = None
        self._state: ServerState | None = None

    def store(self, store: Store) -> Store:
        """Returns ``store``, counted."""
        return cast(Store, CountedStore(store, self.families))

    def application(self, **options: Any) -> StreamingApplication:
        """Makes the application, whose requests are counted."""
        return CountedApplication(self.families, **options)

    # --- the server's hooks -----------------------------------------------------------------------------------------
    async def start(self, server: Server) -> None:
        """Opens the port, if there is to be one. Raises `ConfigurationError` if it can't be had."""
        if self._place != "on":
            self._state = ServerState(cast(Any, server).engine)
            self._listener = await Listener.open(self._place, partial(self._state.text, self.families))
            log.info("metrics_served", release=describe_release(), at=self._listener.address)

    async def stop(self) -> None:
        """Closes the port, and ends what is being asked for it."""
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.aclose()
        if self._state is not None:
            self._state.cancel()

    # --- the trunk's meter ------------------------------------------------------------------------------------------
    def run_begun(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """See `turns.meter.Meter`."""
        self.families.in_flight.inc()
        live.at_end += (partial(self._run_over, agent, thread, perf_counter()),)

    def _run_over(self, agent: str, thread: LeasedThread, begun: float) -> None:
        self.run_over(agent, "lost" if thread.lease.lost else thread.ended_as or "unsaved", perf_counter() - begun)

    def run_over(self, agent: str, outcome: str, seconds: float) -> None:
        """Notes the end of a run."""
        noted = self.families.noted
        noted.append((self._count_run, agent, outcome, seconds))
        if len(noted) >= TOGETHER:
            self.families.fold()

    def _count_run(self, agent: str, outcome: str, seconds: float) -> None:
        families = self.families
        families.in_flight.dec()
        families.run_seconds.observe(seconds)
        families.runs.inc(families.agents[agent], outcome)
        if outcome == "lost":
            families.leases_lost.inc()

    def counting(self, speaker: Speaker) -> Speaker:
        """See `turns.meter.Meter`."""
        spent, adapter = speaker.spent, summary_adapter(speaker)

        def counted(done: TurnDone) -> None:
            self.requested(self.failed_before(adapter), done.usage, "ok")
            spent(done)

        return speaker._replace(spent=counted)

    def turn_step(self, speaker: Speaker) -> TurnStep:
        """See `turns.meter.Meter`."""
        return _CountedTurns(self, speaker.member.agent.adapter)

    async def run_tool(
        self,
        tool: Tool | None,
        name: str,
        arguments: str,
        context: ToolContext,
        limits: Limits = DEFAULTS,
        start: ToolStart | None = None,
        *,
        judged: bool = False,
    ) -> Output:
        """See `turns.meter.Meter`."""
        begun, outcome = perf_counter(), "stopped"
        try:
            output = await tool_execution.run_tool(tool, name, arguments, context, limits, start, judged=judged)
            outcome = "failed" if output.is_error else "done"
            if output == result_texts.NOT_STARTED:
                outcome = "not_started"
            return output
        finally:
            label = OTHER if tool is None else self.families.tools[tool.name]  # models invent names
            self.families.tool_calls.inc(label, "true" if start else "false", outcome)
            self.families.tool_seconds.observe(perf_counter() - begun, label)

    def failed_before(self, adapter: Adapter) -> Adapter:
        """Counts the models of a list that could not answer a request. Returns the one that was asked last; and of a
        single model, that.
        """
        pop = getattr(adapter, "pop_attempts", None)
        if pop is None:
            return adapter
        *failed, last = pop() or (None,)
        for attempt in failed:
            self.requested(attempt.adapter, None, attempt.code)
        return adapter if last is None else last.adapter

    def attempted(self, endpoint: str, outcome: str) -> None:
        """Counts an attempt to deliver a notice. Endpoints are those of the settings, and few."""
        self.families.webhook_attempts.inc(endpoint, outcome)

    def answered(self, adapter: Adapter, done: TurnDone | None, first: float | None) -> None:
        """Notes a request whose answer was recorded; without ``done``, while the error is handled that broke it off.
        ``first``: as in `requested`.
        """
        code = "ok" if done is not None else _code(sys.exception())
        if hasattr(adapter, "pop_attempts"):
            adapter = self.failed_before(adapter)
        self.families.noted.append((self.requested, adapter, done and done.usage, code, first))

    def requested(self, adapter: Adapter, usage: Usage | None, code: str, first: float | None = None) -> None:
        """Counts a request to a model, by the names that ``adapter`` asks for: so failures and answers of one model are
        one. What it doesn't name, the answer does. ``first``: seconds to the first event of the answer.
        """
        families, (vendor, asked) = self.families, names_of(adapter)
        provider = families.models[vendor or (usage and usage.provider) or "unknown"]
        model = families.models[getattr(adapter, "model", "") or (usage and usage.model) or asked]
        families.model_requests.inc(provider, model, code)
        if first is not None:
            families.first_token.observe(first, provider, model)
        if usage is not None:
            for kind, count in zip(KINDS, _counts(usage), strict=True):
                if count:
                    families.tokens.inc(provider, model, kind, by=count)


class _CountedTurns(TurnStep):
    """The last step of a member's turns: what it begins with is the request itself."""

    def __init__(self, meter: Meter, adapter: Adapter) -> None:
        self._meter, self._adapter = meter, adapter
        self._begun: float | None = None
        self._first: float | None = None

    async def request(self, draft: Draft) -> None:
        """Begins to time a request."""
        self._begun, self._first = perf_counter(), None

    async def accepted(self) -> None:
        """Times the first events of its answer."""
        if self._begun is not None:
            self._first = perf_counter() - self._begun

    def recorded(self, turn: TurnEntry, done: TurnDone | None) -> tuple[TurnEntry, *tuple[Entry, ...]]:
        """Counts it. An answer that broke off is recorded while the error is handled that broke it."""
        if self._begun is not None:
            self._begun = None
            self._meter.answered(self._adapter, done, self._first)
        return (turn,)


def _code(error: BaseException | None) -> str:
    if error is None:  # the answer ended early, and nothing was raised yet
        return ProviderUnavailable.code
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return error.code if isinstance(error, AguiGateError) else "internal"
