"""The spans of one run: its own, and one for each request to a model; and how an SDK is told that they are over."""

import asyncio
import sys
from collections.abc import Callable
from operator import attrgetter
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any

import structlog
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from agui_gate.adapter import TRACE_HEADERS, TurnDone, Usage
from agui_gate.core.transcript import Entry, Output, TurnEntry
from agui_gate.errors import AguiGateError
from agui_gate.extras.observation import names_of
from agui_gate.extras.telemetry import names
from agui_gate.runs.live_run import LiveRun
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns.steps import Draft, Speaker, TurnStep

if TYPE_CHECKING:
    from agui_gate.extras.telemetry.tracer import Tracer

Attributes = dict[str, str | int | float]

_INVOKES: Attributes = {names.OPERATION: names.INVOKE_AGENT}
_CLIENT = SpanKind.CLIENT

FAILURES = frozenset({"failed", "lost", "unsaved"})
"""Outcomes of runs that are errors."""

log = structlog.get_logger("agui_gate.traces")

_counts: Callable[[Usage], tuple[int | None, ...]] = attrgetter(*names.TOKENS.values())

TOGETHER = 64
"""Spans that are ended at once, at most: half a millisecond."""
END_SECONDS = 0.2
"""Seconds after which a span is ended that is over. An SDK keeps it for seconds before it sends it."""


class RunMeter:
    """The meter of one run's thread, which hangs what it does on the run's span.

    The span is made when something is to hang on it, and begins when the run did. That is just before the first
    request's: an SDK makes the second of two in a row in half the time. What no sampler asks for is said at its end.

    A span that no sampler chose is the parent of no other: its trace is passed on, so that nobody begins another.
    """

    within: Context
    """The context whose span is this one."""
    passed_on: dict[str, str] | None
    """The trace that requests name, of a span that no sampler chose."""

    __slots__ = ("_agent", "_around", "_begun", "_live", "_span", "_started", "_tracer",
                 "error", "passed_on", "steps", "within")  # fmt: skip

    def __init__(self, tracer: "Tracer", agent: str, live: LiveRun) -> None:
        self._tracer, self._agent, self._live = tracer, agent, live
        self._around, self._begun, self._started = contexts.get_current(), time_ns(), perf_counter()
        self._span: Span | None = None
        self.steps: list[ChatStep] = []
        self.error: str | None = None
        """The code of the error of the last request, if it failed."""

    def open(self) -> Span:
        """Returns the span, which is made if there is none yet."""
        if self._span is None:
            self._span = span = self._tracer.spans.start_span(
                f"{names.INVOKE_AGENT} {self._agent}", self._around, attributes=_INVOKES, start_time=self._begun
            )
            self.within = trace.set_span_in_context(span, self._around)
            self.passed_on = None if span.is_recording() else headers_of(span)
        return self._span

    @property
    def span(self) -> Span | None:
        """The span; None where there is neither an SDK nor a trace of the client."""
        span = self.open()
        return span if span.get_span_context().is_valid else None

    def over(self, thread: LeasedThread) -> None:
        """Ends the span."""
        tracer, live = self._tracer, self._live
        tracer.runs.pop(live.key, None)
        for step in self.steps:
            if step.span is not None:  # of a request that was left without an answer
                step.end("cancelled")
        self.steps.clear()  # each names this run: what both keep would wait for the garbage collector
        outcome = "lost" if thread.lease.lost else thread.ended_as or "unsaved"
        if tracer.inner is not None:
            tracer.inner.run_over(self._agent, outcome, perf_counter() - self._started)
        span = self._span or self.open()
        if self.passed_on is None:
            facts = self._agent, live.thread_id, live.run_id, live.key, outcome
            tracer.ends.add(span, _of_run, facts, (self.error or outcome) if outcome in FAILURES else None)

    async def run_tool(self, *args: Any, **more: Any) -> Output:
        """See `turns.meter.Meter`."""
        self.open()
        return await self._tracer.run_tool(*args, **more, within=self.within)

    def run_begun(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """See `turns.meter.Meter`."""
        self._tracer.run_begun(agent, live, thread)

    def counting(self, speaker: Speaker) -> Speaker:
        """See `turns.meter.Meter`."""
        return self._tracer.counting(speaker)

    def turn_step(self, speaker: Speaker) -> TurnStep:
        """See `turns.meter.Meter`."""
        self.steps.append(step := ChatStep(self._tracer, self, speaker))
        return step


class ChatStep(TurnStep):
    """The last step of a member's turns: one span for each request. ``span`` is the one that is open."""

    def __init__(self, tracer: "Tracer", run: RunMeter, speaker: Speaker) -> None:
        self._tracer, self._run, self._adapter = tracer, run, speaker.member.agent.adapter
        self.span: Span | None = None
        self._vendor = ""
        self._begun: float | None = None
        self._first: float | None = None

    async def request(self, draft: Draft) -> None:
        """Begins a span. The request says so to the provider."""
        self._begun, self._first = perf_counter(), None
        run = self._run.open()
        if self._run.passed_on is not None:
            TRACE_HEADERS.set(self._run.passed_on)
            return
        vendor, model = names_of(self._adapter)
        self._vendor = vendor = vendor or "unknown"
        attributes = {names.OPERATION: names.CHAT, names.REQUEST_MODEL: model, names.PROVIDER: vendor}
        within = self._run.within
        self.span = span = self._tracer.spans.start_span(f"{names.CHAT} {model}", within, _CLIENT, attributes)
        if (content := self._tracer.content) is not None and span.is_recording():
            content.asked(span, draft, run)
        TRACE_HEADERS.set(headers_of(span))

    async def accepted(self) -> None:
        """Notes when the first events of the answer came."""
        if self._begun is not None:
            self._first = perf_counter() - self._begun

    def recorded(self, turn: TurnEntry, done: TurnDone | None) -> tuple[TurnEntry, *tuple[Entry, ...]]:
        """Ends the span of an answer. One that broke off, or was refused, is recorded while its error is handled."""
        if self._begun is not None:
            self._begun = None
            if (meter := self._tracer.inner) is not None:
                meter.answered(self._adapter, done, self._first)
        if self.span is not None:
            if (content := self._tracer.content) is not None:
                content.answered(self.span, turn, self._run.open())
            self.end(None if done is not None else _code(sys.exception()), done)
        return (turn,)

    def end(self, error: str | None, done: TurnDone | None = None) -> None:
        """Ends the open span, if there is one. ``done``: the answer's end, if it came."""
        span, self.span = self.span, None
        if span is None:
            return
        self._run.error = error
        TRACE_HEADERS.set({})
        self._tracer.ends.add(span, _of_answer, (self._first, self._vendor, done), error)


class SpanEnds:
    """Spans that are over. They are ended some at a time, each with the moment at which it was over.

    What an SDK does for an end takes a third of the time if it has done the same just before. So does what is to be
    said of a span: its attributes are made then, by a function of the facts that were noted.
    """

    def __init__(self) -> None:
        self._over: list[tuple[Span, Callable[..., Attributes], tuple[Any, ...], str | None, int]] = []
        self._due = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_failing = False
        self.is_stopped = False
        """Whether no time is left: each is ended at once, of a run that takes longer to stop than its server waits."""

    def add(self, span: Span, describe: Callable[..., Attributes], facts: tuple[Any, ...], error: str | None) -> None:
        """Notes that ``span`` is over, what ``describe`` says of it, and the code of its ``error`` if it failed."""
        over, now = self._over, time_ns()
        over.append((span, describe, facts, error, now))
        if self.is_stopped or len(over) >= TOGETHER:
            self.flush()
        elif now >= self._due:  # also of a timer that never came: of a loop that is closed
            self._due = now + int(END_SECONDS * 1e9)
            self._timer = asyncio.get_running_loop().call_later(END_SECONDS, self.flush)

    def flush(self) -> None:
        """Ends them all. What the application's SDK raises is logged, once in a row."""
        timer, self._timer, self._due = self._timer, None, 0
        if timer is not None:
            timer.cancel()
        over, self._over = self._over, []
        failed = ""
        for span, describe, facts, error, at in over:
            try:
                if error is not None:
                    set_error(span, error)
                if said := describe(*facts):
                    span.set_attributes(said)
                span.end(at)
            except Exception as problem:  # of one span; the others are of other runs
                failed = type(problem).__name__
        if failed and not self._is_failing:
            log.error("span_failed", error=failed)
        self._is_failing = bool(failed)


def headers_of(span: Span) -> dict[str, str]:
    """Returns what goes out while ``span`` is open. As `W3C.inject` does, which asks a context for the span."""
    trace_id, span_id, _, flags, state, is_valid = span.get_span_context()
    if not is_valid:
        return {}
    headers = {"traceparent": f"00-{trace_id:032x}-{span_id:016x}-{flags:02x}"}
    if state:
        headers["tracestate"] = state.to_header()
    return headers


def _of_run(agent: str, thread_id: str, run_id: str, key: str, outcome: str) -> Attributes:
    """Returns what no sampler asks for."""
    return {
        names.AGENT: agent,
        names.CONVERSATION: thread_id,
        names.RUN_ID: run_id,
        names.RUN_KEY: key,
        names.OUTCOME: outcome,
    }


def _of_answer(first: float | None, vendor: str, done: TurnDone | None) -> Attributes:
    """Returns what is known of a request only when it is over."""
    found: Attributes = {}
    if first is not None:
        found[names.FIRST_CHUNK] = first
    if done is None:
        return found
    if (usage := done.usage) is not None:
        found[names.RESPONSE_MODEL] = usage.model
        if usage.provider and usage.provider != vendor:
            found[names.PROVIDER] = usage.provider
        for attribute, count in zip(names.TOKENS, _counts(usage), strict=True):
            if count:
                found[attribute] = count
    if done.ref is not None and done.ref.previous_response_id:
        found[names.RESPONSE_ID] = done.ref.previous_response_id
    return found


def set_error(span: Span, code: str) -> None:
    """Says that ``span`` failed, with the code of the error."""
    span.set_status(Status(StatusCode.ERROR))
    span.set_attribute(names.ERROR, code)


def _code(error: BaseException | None) -> str:
    if error is None:  # the answer ended early, and nothing was raised yet
        return "provider_unavailable"
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return error.code if isinstance(error, AguiGateError) else "internal"
