"""Makes spans of what one engine does, for OpenTelemetry: `AGUI_GATE_TRACES=on`.

Theory of operation
-------------------
It is a `Meter` (`turns/meter.py`), around the one for metrics if there is one. The API alone is used: without an SDK,
which the application sets up (``opentelemetry-instrument`` does), no span is made. Those of a run and its requests are
made and ended in `run_spans`.

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

from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import partial
from importlib.metadata import version
from time import time_ns
from typing import Any, cast

import msgspec
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import Receive, Scope, Send

from agui_gate.adapter import TRACE_HEADERS
from agui_gate.agents.tool import Tool, ToolContext
from agui_gate.config.limits import DEFAULTS, Limits
from agui_gate.core import result_texts
from agui_gate.core.approvals import DECISIONS, Approval, State
from agui_gate.core.principals import owner_key
from agui_gate.core.transcript import Output
from agui_gate.extension import Extension, Server
from agui_gate.extras.telemetry import names
from agui_gate.extras.telemetry.content import SpanContent
from agui_gate.extras.telemetry.run_spans import RunMeter, SpanEnds, headers_of, set_error
from agui_gate.http.sse import StreamingApplication
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Change, Store, Thread
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns import tool_execution
from agui_gate.turns.steps import Speaker, TurnStep
from agui_gate.turns.tool_execution import ToolStart

W3C = TraceContextTextMapPropagator()
"""What is read and sent: `traceparent` and `tracestate`. A client's baggage is passed on to nobody."""

KEPT = 10_000
"""Spans of decisions that are remembered until the tool runs: more are at work in no process."""


class Tracer(Extension):
    """Makes the spans. ``inner`` counts the same things, or is None."""

    def __init__(self, inner: Any = None) -> None:
        self.inner = inner
        self.spans = trace.get_tracer("agui_gate", version("agui-gate"), schema_url=names.SCHEMA_URL)
        self.ends = SpanEnds()
        self.content: SpanContent | None = None
        self.runs: dict[str, RunMeter] = {}
        self._decided: OrderedDict[tuple[str, str, str], Span] = OrderedDict()

    @property
    def families(self) -> Any:
        """What the inner one counts, for `GET /metrics`. Raises `AttributeError` where there is none."""
        return self.inner.families

    def store(self, store: Store) -> Store:
        """Returns ``store``, whose decisions are traced."""
        return TracedStore(store if self.inner is None else self.inner.store(store), self)

    def application(self, **options: Any) -> StreamingApplication:
        """Makes the application, whose requests continue the traces of their clients."""
        make: Callable[..., StreamingApplication] = getattr(self.inner, "application", StreamingApplication)
        app = make(**options)
        app.router.middleware_stack, app.direct = TraceContext(app.router.middleware_stack), TraceContext(app.direct)
        return app

    # --- the server's hooks -----------------------------------------------------------------------------------------
    async def start(self, server: Server) -> None:
        """Finds out whether content is recorded, and starts the inner one."""
        self.ends.is_stopped = False
        self.content = next(
            (one for one in cast(Any, server).engine.extensions.all if isinstance(one, SpanContent)), None
        )
        if self.inner is not None:
            await self.inner.start(server)

    async def stop(self) -> None:
        """Ends all spans that are over, and stops the inner one."""
        self.ends.is_stopped = True
        self.ends.flush()
        if self.inner is not None:
            await self.inner.stop()

    # --- the trunk's meter ------------------------------------------------------------------------------------------
    def run_begun(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """See `turns.meter.Meter`. Its thread gets a meter of its own, which makes the span."""
        thread.meter = self.runs[live.key] = meter = RunMeter(self, agent, live)
        live.at_end += (partial(meter.over, thread),)
        if self.inner is not None:
            self.inner.families.in_flight.inc()

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
            told = TRACE_HEADERS.set(headers_of(span))
            try:
                output: Output = await run_tool(tool, name, arguments, context, limits, start, judged=judged)
            finally:
                TRACE_HEADERS.reset(told)
            if content is not None:
                content.returned(span, output)
            if output.is_error:
                set_error(span, "not_started" if output == result_texts.NOT_STARTED else "tool_failed")
            return output

    # --- decisions --------------------------------------------------------------------------------------------------
    def context_of_run(self, run_key: str) -> str:
        """Returns the `traceparent` of a run at work in this process; "" if it has none."""
        run = self.runs.get(run_key)
        return "" if run is None else headers_of(run.open()).get("traceparent", "")

    def decided(self, approval: Approval, begun_ns: int, run_key: str) -> None:
        """Makes the span of a decision that took effect, by the run ``run_key`` or by the request that is answered."""
        decision = approval.decision
        assert decision is not None
        said = "reject" if not decision.approved else "approve" if decision.edited_arguments is None else "edit"
        run = self.runs.get(run_key)
        if run is not None:
            run.open()
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
    """Middleware: a request continues the trace that its client names, unless the server is instrumented itself. It is
    inside of all the others, so that an instrumentation has made its span by then, and so that no event passes it.
    """

    def __init__(self, app: Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        """Answers, within the context that the client names."""
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        if b"traceparent" not in headers or trace.get_current_span().get_span_context().is_valid:
            return self._app(scope, receive, send)
        told = {name: headers[name.encode()].decode("latin-1") for name in W3C.fields if name.encode() in headers}
        return self._continue(W3C.extract(told), scope, receive, send)

    async def _continue(self, context: Context, scope: Scope, receive: Receive, send: Send) -> None:
        token = contexts.attach(context)
        try:
            await self._app(scope, receive, send)
        finally:
            contexts.detach(token)


def _links(traceparent: str) -> list[Link]:
    if not traceparent:
        return []
    asked: SpanContext = trace.get_current_span(W3C.extract({"traceparent": traceparent})).get_span_context()
    return [Link(asked)] if asked.is_valid else []
