"""Makes spans of what one engine does, for OpenTelemetry: `AGUI_GATE_TRACES=on`.

Theory of operation
-------------------
It is a `Meter` (`turns/meter.py`), around the one for metrics if there is one. The API alone is used: without an SDK,
which the application sets up (``opentelemetry-instrument`` does), no span is made.

    (the client's, or the server's own instrumentation)
     └─ invoke_agent support                a run
         ├─ chat gpt-5.4-mini               a request to a model, from its first byte to the end of its answer
         ├─ execute_tool search_orders
         └─ agui_gate.decide                a decision: linked to the span of the run that asked
             └─ execute_tool refund

The time that a call waits for a person is no open span: the decision has it as an event. Where it came by
`POST /approvals/{id}`, its span hangs on that request. The context of the run that asks is kept with the approval
(`Approval.trace`), so that a decision anywhere and at any time is linked to it.

What goes out while a span is open says so in W3C headers (`adapter.TRACE_HEADERS`): requests to models, and what tools
ask of MCP servers and remote agents.
"""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from importlib.metadata import version
from operator import attrgetter
from time import perf_counter, time_ns
from typing import Any, cast

import msgspec
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_gate.adapter import TRACE_HEADERS, TurnDone, Usage
from agui_gate.agents.tool import Tool, ToolContext
from agui_gate.config.limits import DEFAULTS, Limits
from agui_gate.core import result_texts
from agui_gate.core.approvals import DECISIONS, Approval, State
from agui_gate.core.principals import owner_key
from agui_gate.core.transcript import Entry, Output, TurnEntry
from agui_gate.errors import AguiGateError, ProviderError
from agui_gate.extension import Extension, Server
from agui_gate.extras.telemetry import names
from agui_gate.extras.telemetry.content import SpanContent
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Change, Store, Thread
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns import tool_execution
from agui_gate.turns.steps import Draft, Speaker, TurnStep
from agui_gate.turns.tool_execution import ToolStart

W3C = TraceContextTextMapPropagator()
"""What is read and sent: `traceparent` and `tracestate`. A client's baggage is passed on to nobody."""

_W3C_HEADERS = frozenset(name.encode() for name in W3C.fields)

Attributes = dict[str, str | int | float]

_counts: Callable[[Usage], tuple[int | None, ...]] = attrgetter(*names.TOKENS.values())

KEPT = 10_000
"""Spans of decisions that are remembered until the tool runs: more are at work in no process."""


class Tracer(Extension):
    """Makes the spans. ``inner`` counts the same things, or is None."""

    def __init__(self, inner: Any = None) -> None:
        self.inner = inner
        self.spans = trace.get_tracer("agui_gate", version("agui-gate"), schema_url=names.SCHEMA_URL)
        self.content: SpanContent | None = None
        self._runs: dict[str, RunMeter] = {}
        self._decided: OrderedDict[tuple[str, str, str], Span] = OrderedDict()

    @property
    def families(self) -> Any:
        """What the inner one counts, for `GET /metrics`. Raises `AttributeError` where there is none."""
        return self.inner.families

    def store(self, store: Store) -> Store:
        """Returns ``store``, whose decisions are traced."""
        return TracedStore(store if self.inner is None else self.inner.store(store), self)

    def around(self, app: Starlette) -> Starlette:
        """Returns ``app``, whose requests continue the traces of their clients."""
        app = app if self.inner is None else self.inner.around(app)
        app.add_middleware(TraceContext)
        return app

    # --- the server's hooks -----------------------------------------------------------------------------------------
    async def start(self, server: Server) -> None:
        """Finds out whether content is recorded, and starts the inner one."""
        self.content = next(
            (one for one in cast(Any, server).engine.extensions.all if isinstance(one, SpanContent)), None
        )
        if self.inner is not None:
            await self.inner.start(server)

    async def stop(self) -> None:
        """Stops the inner one."""
        if self.inner is not None:
            await self.inner.stop()

    # --- the trunk's meter ------------------------------------------------------------------------------------------
    def run_begun(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """See `turns.meter.Meter`. Its thread gets a meter of its own, which knows the span."""
        span = self.spans.start_span(
            f"{names.INVOKE_AGENT} {agent}",
            contexts.get_current(),  # as an SDK would ask for it, three times
            attributes={
                names.OPERATION: names.INVOKE_AGENT,
                names.AGENT: agent,
                names.CONVERSATION: live.thread_id,
                names.RUN_ID: live.run_id,
                names.RUN_KEY: live.key,
            },
        )
        if span.is_recording() or span.get_span_context().is_valid:
            thread.meter = self._runs[live.key] = meter = RunMeter(self, span)
            live.at_end.append(partial(self._run_over, meter, live.key, thread))
        if self.inner is not None:
            self.inner.run_begun(agent, live, thread)

    def _run_over(self, meter: "RunMeter", key: str, thread: LeasedThread) -> None:
        self._runs.pop(key, None)
        for step in meter.steps:
            if step.span is not None:  # of a request that was left without an answer
                step.end("cancelled")
        outcome = "lost" if thread.lease.lost else thread.ended_as or "unsaved"
        span = meter.span
        if outcome in ("failed", "lost", "unsaved"):
            _set_error(span, outcome)
        span.set_attribute(names.OUTCOME, outcome)
        span.end()

    def counting(self, speaker: Speaker) -> Speaker:
        """See `turns.meter.Meter`."""
        return speaker if self.inner is None else self.inner.counting(speaker)

    def turn_step(self, speaker: Speaker) -> TurnStep:
        """See `turns.meter.Meter`. Of a run without a span: neither an SDK nor a trace of its client is there."""
        return TurnStep() if self.inner is None else self.inner.turn_step(speaker)

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
        within: Context | None = None,
    ) -> Output:
        """See `turns.meter.Meter`. The call's span hangs on its decision, else on ``within``, else on the request."""
        run_tool = tool_execution.run_tool if self.inner is None else self.inner.run_tool
        owner = owner_key(getattr(context.principal, "tenant", ""), context.owner)
        decided = self._decided.pop((owner, context.thread_id, context.call_id), None)
        known = name if tool is not None else "unknown"  # models invent names
        attributes: dict[str, str | bool] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL: known,
            names.TOOL_TYPE: "function",
            names.TOOL_CALL: context.call_id,
            names.GATED: start is not None,
        }
        if decided is not None:
            within = trace.set_span_in_context(decided)
        with self.spans.start_as_current_span(f"{names.EXECUTE_TOOL} {known}", within, attributes=attributes) as span:
            content = self.content if span.is_recording() else None
            if content is not None:
                content.called(span, arguments)
            told = TRACE_HEADERS.set(_headers_of(span))
            try:
                output: Output = await run_tool(tool, name, arguments, context, limits, start, judged=judged)
            finally:
                TRACE_HEADERS.reset(told)
            if content is not None:
                content.returned(span, output)
            if output.is_error:
                _set_error(span, "not_started" if output == result_texts.NOT_STARTED else "tool_failed")
            return output

    # --- decisions --------------------------------------------------------------------------------------------------
    def context_of_run(self, run_key: str) -> str:
        """Returns the `traceparent` of a run at work in this process; "" if it has none."""
        run = self._runs.get(run_key)
        return "" if run is None else _headers_of(run.span).get("traceparent", "")

    def decided(self, approval: Approval, begun_ns: int, run_key: str) -> None:
        """Makes the span of a decision that took effect, by the run ``run_key`` or by the request that is answered."""
        decision = approval.decision
        assert decision is not None
        said = "reject" if not decision.approved else "approve" if decision.edited_arguments is None else "edit"
        run = self._runs.get(run_key)
        span = self.spans.start_span(
            names.DECIDE,
            None if run is None else run.within,
            links=_links(approval.trace),
            attributes={
                names.TOOL: approval.tool,
                names.TOOL_CALL: approval.call_id,
                names.AGENT: approval.agent,
                names.CONVERSATION: approval.thread_id,
                names.APPROVAL: approval.id,
                names.DECISION: said,
                names.WAY: decision.way or "rule",
            },
            start_time=begun_ns,
        )
        if approval.decided_at is not None:
            span.add_event(names.WAIT, {names.WAIT_SECONDS: max(0, approval.decided_at - approval.asked_at) / 1000})
        span.end()
        if decision.approved and span.get_span_context().is_valid:
            self._decided[approval.principal, approval.thread_id, approval.call_id] = span
            if len(self._decided) > KEPT:
                self._decided.popitem(last=False)


class RunMeter:
    """The meter of one run's thread, which hangs what it does on the run's span.

    A span that no sampler chose is the parent of no other: its trace is passed on, so that nobody begins another.
    """

    def __init__(self, tracer: Tracer, span: Span) -> None:
        self._tracer, self.span = tracer, span
        self.within = trace.set_span_in_context(span)
        self.passed_on = None if span.is_recording() else _headers_of(span)
        self.steps: list[ChatStep] = []
        self.run_tool = partial(tracer.run_tool, within=self.within)

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

    def __init__(self, tracer: Tracer, run: RunMeter, speaker: Speaker) -> None:
        self._tracer, self._run, self._adapter = tracer, run, speaker.member.agent.adapter
        self._inner = tracer.turn_step(speaker)
        self.span: Span | None = None
        self._vendor = ""
        self._begun = 0.0
        self._found: Attributes = {}

    async def request(self, draft: Draft) -> None:
        """Begins a span. The request says so to the provider."""
        await self._inner.request(draft)
        if self._run.passed_on is not None:
            TRACE_HEADERS.set(self._run.passed_on)
            return
        model = self._adapter.origin.rpartition("/")[2].rpartition(":")[2]
        self._vendor = getattr(self._adapter, "vendor", "") or "unknown"
        self._begun = perf_counter()
        if self.span is not None:
            self.end("refused")
        self.span = span = self._tracer.spans.start_span(
            f"{names.CHAT} {model}",
            self._run.within,
            kind=SpanKind.CLIENT,
            attributes={names.OPERATION: names.CHAT, names.REQUEST_MODEL: model, names.PROVIDER: self._vendor},
        )
        if (content := self._tracer.content) is not None and span.is_recording():
            content.asked(span, draft, self._run.span)
        TRACE_HEADERS.set(_headers_of(span))

    async def accepted(self) -> None:
        """Notes when the first events of the answer came."""
        await self._inner.accepted()
        if self.span is not None:
            self._found[names.FIRST_CHUNK] = perf_counter() - self._begun

    def refused(self, error: ProviderError) -> bool:
        """Ends the span of a request that the provider refused."""
        self.end(error.code)
        return self._inner.refused(error)

    def recorded(self, turn: TurnEntry, done: TurnDone | None) -> tuple[TurnEntry, *tuple[Entry, ...]]:
        """Ends the span of an answer. One that broke off is recorded while the error is handled that broke it."""
        if self.span is not None:
            if done is not None:
                self._find(done)
            if (content := self._tracer.content) is not None:
                content.answered(self.span, turn, self._run.span)
            self.end(None if done is not None else _code(sys.exception()))
        return self._inner.recorded(turn, done)

    def _find(self, done: TurnDone) -> None:
        """Notes what an answer's end says."""
        found = self._found
        if (usage := done.usage) is not None:
            found[names.RESPONSE_MODEL] = usage.model
            if usage.provider and usage.provider != self._vendor:
                found[names.PROVIDER] = usage.provider
            for attribute, count in zip(names.TOKENS, _counts(usage), strict=True):
                if count:
                    found[attribute] = count
        if done.ref is not None and done.ref.previous_response_id:
            found[names.RESPONSE_ID] = done.ref.previous_response_id

    def end(self, error: str | None) -> None:
        """Ends the open span, if there is one."""
        span, self.span = self.span, None
        if span is None:
            return
        found, self._found = self._found, {}
        TRACE_HEADERS.set({})
        if error is not None:
            _set_error(span, error)
        if found:
            span.set_attributes(found)
        span.end()


class TracedStore:
    """``inner``, which keeps with an approval the context of the run that asks, and whose decisions become spans."""

    def __init__(self, inner: Store, tracer: Tracer) -> None:
        self._inner, self._tracer = inner, tracer

    def __getattr__(self, name: str) -> Any:
        """Returns what ``inner`` has. A method is looked up once."""
        value = getattr(self._inner, name)
        if callable(value):
            setattr(self, name, value)
        return value

    def commit(self, thread: Thread, change: Change, run_key: str) -> Coroutine[Any, Any, None]:
        """See `Store.commit`."""
        if change.approvals and (context := self._tracer.context_of_run(run_key)):
            approvals = [msgspec.structs.replace(approval, trace=context) for approval in change.approvals]
            change = msgspec.structs.replace(change, approvals=approvals)
        return self._inner.commit(thread, change, run_key)

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        """See `Store.move`."""
        begun = time_ns()
        moved = await self._inner.move(approval_id, to, **more)
        if to in DECISIONS and moved.state is not State.PENDING and moved.decision is not None:
            self._tracer.decided(moved, begun, more.get("run_key") or "")
        return moved


class TraceContext:
    """Middleware: a request continues the trace that its client names, unless the server is instrumented itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answers, within the context that the client names."""
        told = [one for one in scope["headers"] if one[0] in _W3C_HEADERS] if scope["type"] == "http" else None
        if not told or trace.get_current_span().get_span_context().is_valid:
            return self._app(scope, receive, send)
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in told}
        return self._continue(W3C.extract(carrier), scope, receive, send)

    async def _continue(self, context: Context, scope: Scope, receive: Receive, send: Send) -> None:
        token = contexts.attach(context)
        try:
            await self._app(scope, receive, send)
        finally:
            contexts.detach(token)


def _headers_of(span: Span) -> dict[str, str]:
    """Returns what goes out while ``span`` is open. As `W3C.inject` does, which asks a context for the span."""
    trace_id, span_id, _, flags, state, is_valid = span.get_span_context()
    if not is_valid:
        return {}
    headers = {"traceparent": f"00-{trace_id:032x}-{span_id:016x}-{flags:02x}"}
    if state:
        headers["tracestate"] = state.to_header()
    return headers


def _set_error(span: Span, code: str) -> None:
    span.set_status(Status(StatusCode.ERROR))
    span.set_attribute(names.ERROR, code)


def _links(traceparent: str) -> list[Link]:
    if not traceparent:
        return []
    asked: SpanContext = trace.get_current_span(W3C.extract({"traceparent": traceparent})).get_span_context()
    return [Link(asked)] if asked.is_valid else []


def _code(error: BaseException | None) -> str:
    if error is None:  # the answer ended early, and nothing was raised yet
        return "provider_unavailable"
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return error.code if isinstance(error, AguiGateError) else "internal"
