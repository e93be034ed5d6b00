"""Traces of a real server: a span for a run, a request, a tool and a decision, as an SDK of OpenTelemetry gets them."""

import asyncio
import json
import runpy
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from time import time_ns
from typing import Any, ClassVar

import msgspec
import pytest
from mcp import Client
from opentelemetry import environment_variables as of_api
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation import environment_variables as of_instrumentations
from opentelemetry.sdk import environment_variables
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.schemas import Schemas
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.testing import capture_logs

from agui_gate import Agent, Principal, ToolContext, create_app, tool
from agui_gate.adapter import Adapter
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, State
from agui_gate.core.principals import owner_key
from agui_gate.errors import ConfigurationError
from agui_gate.extras.telemetry import names, run_spans
from agui_gate.extras.telemetry.content import ATTRIBUTE_CHARACTERS, CUT
from agui_gate.extras.telemetry.run_spans import SpanEnds
from agui_gate.extras.telemetry.tracer import Tracer
from agui_gate.telemetry import Kind, SpanContent
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.mcp import MCPTools
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient
from tests.adapters.mcp.server import Wiki
from tests.adapters.mcp.test_http import served
from tests.product import inprocess
from tests.product.kit import client_of, product, running
from tests.product.live import over, quiet, starting
from tests.product.shop import SEARCH, Shop, call, refund, say, script
from tests.stores.support import gated
from tests.support.otlp import receiving
from tests.support.servers import free_port

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[2] / "examples/traces"
TRACED = Settings(traces=True)
CLIENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE_ID = int(CLIENT.split("-")[1], 16)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What an application sets up; for this test alone."""
    found, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(found))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield found
    provider.shutdown()


class Listening(Emulator):
    """A provider that remembers which trace its requests named."""

    traces: ClassVar[list[str]] = []

    @cached_property
    def app(self) -> ASGIApp:
        inner = super().app

        async def listening(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["method"] == "POST":
                self.traces.append(dict(scope["headers"]).get(b"traceparent", b"").decode())
            await inner(scope, receive, send)

        return listening


class Spans:
    """The spans that have ended, by name."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self.all: list[ReadableSpan] = list(exporter.get_finished_spans())

    def __getitem__(self, name: str) -> ReadableSpan:
        (found,) = self.named(name)
        return found

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all if span.name == name]


def parent(span: ReadableSpan) -> int:
    assert span.parent is not None
    return span.parent.span_id


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_a_question_and_its_answer_by_somebody_else_after_a_restart(
    exporter: InMemorySpanExporter, tmp_path: Path
) -> None:
    """The run that asks, and on another server the decision, the tool and the answer: each hangs where it belongs."""
    store, shop = f"sqlite:///{tmp_path}/gate.db", Shop()
    Listening.traces.clear()
    provider = Listening(script=script(refund()))
    async with product(shop.tools, store=store, settings=TRACED, emulator=provider) as first:
        chat = first.chat()
        chat.headers["traceparent"] = CLIENT
        (ask,) = (await chat.say("refund A1, please")).interrupts
    asked = Spans(exporter)
    exporter.clear()
    async with product(shop.tools, [{"output": [say("It is done.")]}], store=store, settings=TRACED) as second:
        answer = await second.client.post(
            f"{second.url}/approvals/{ask['id']}",
            json={"approved": True, "continue": True},
            headers={"traceparent": CLIENT},
        )
        assert answer.json()["state"] == "done"
        await over(second, chat, "finished")
        await quiet(second)
    decided = Spans(exporter)

    run, chatted = asked["invoke_agent support"], asked["chat gpt-5.4-mini"]
    assert (parent(run), parent(chatted)) == (int(CLIENT.split("-")[2], 16), id_of(run))
    assert {span.context.trace_id for span in asked.all if span.context} == {TRACE_ID}
    assert Listening.traces == [f"00-{TRACE_ID:032x}-{id_of(chatted):016x}-01"], (
        "the provider is told of the request's span"
    )
    times = [run.start_time or 0, chatted.start_time or 0, chatted.end_time or 0, run.end_time or 0]
    assert times == sorted(times), "each has its own, whenever an SDK is told"
    assert attributes(run)[names.CONVERSATION] == chat.thread_id
    assert attributes(run)[names.OUTCOME] == "waiting"
    assert attributes(chatted)["gen_ai.provider.name"] == "openai"
    assert attributes(chatted)["gen_ai.response.model"] == "gpt-5.4-mini"
    assert attributes(chatted)["gen_ai.usage.output_tokens"] > 0
    assert attributes(chatted)["gen_ai.response.id"].startswith("resp_")
    assert attributes(chatted)["gen_ai.response.time_to_first_chunk"] >= 0

    decision, ran = decided["agui_gate.decide"], decided["execute_tool refund"]
    assert [(link.context.trace_id, link.context.span_id) for link in decision.links] == [(TRACE_ID, id_of(run))]
    assert parent(ran) == id_of(decision)
    assert {attributes(decision)[name] for name in (names.DECISION, names.WAY, names.APPROVAL)} == {
        *("approve", "http"),
        ask["id"],
    }
    (wait,) = decision.events
    assert (wait.name, set(wait.attributes or {})) == ("agui_gate.wait", {names.WAIT_SECONDS})
    assert attributes(ran)[names.GATED] is True
    assert {span.context.trace_id for span in decided.all if span.context} == {TRACE_ID}
    assert attributes(decided["invoke_agent support"])[names.OUTCOME] == "finished"
    assert len(shop.refunds) == 1


async def test_within_a_run_all_hangs_on_its_span_and_nothing_is_said_of_what_it_is_about(
    exporter: InMemorySpanExporter,
) -> None:
    async with product(Shop().tools, script(refund()), settings=Settings(traces=True, metrics="on")) as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund A1, s3cr3t")).interrupts
        await chat.resume((ask["id"], {"approved": True, "reason": "s3cr3t"}))
        metrics = (await p.client.get(f"{p.url}/metrics")).text
    spans = Spans(exporter)
    first, second = spans.named("invoke_agent support")
    decision = spans["agui_gate.decide"]
    assert (parent(decision), parent(spans["execute_tool refund"])) == (id_of(second), id_of(decision))
    assert [link.context.span_id for link in decision.links] == [id_of(first)]
    assert [parent(span) for span in spans.named("chat gpt-5.4-mini")] == [id_of(first), id_of(second)]
    assert "s3cr3t" not in "".join(span.to_json() for span in spans.all)
    assert 'agui_gate_tool_calls_total{gated="true",outcome="done",tool="refund"} 1' in metrics, "both count"


async def content_of(exporter: InMemorySpanExporter, *extensions: Any, said: str = "refund A1, s3cr3t") -> Spans:
    """The spans of a question and its answer, where the application records what is said."""
    async with serve(Emulator(script=script(refund()))) as address:
        model = OpenAIResponses("gpt-5.4-mini", base_url=address, api_key="k")
        agent = Agent(name="support", model=model, tools=Shop().tools, instructions="Be brief.")
        app = create_app(agent, store="memory://", settings=TRACED, extensions=extensions)
        async with running(app) as url, client_of() as client:
            chat = AGUIClient(client, url)
            (ask,) = (await chat.say(said)).interrupts
            await chat.resume((ask["id"], {"approved": True}))
    return Spans(exporter)


async def test_content_is_recorded_where_the_application_asks_for_it(exporter: InMemorySpanExporter) -> None:
    spans = await content_of(exporter, SpanContent())
    first, second = (attributes(span) for span in spans.named("chat gpt-5.4-mini"))
    assert json.loads(first[names.INSTRUCTIONS])[0]["content"].startswith("Be brief.")
    user = {"role": "user", "parts": [{"type": "text", "content": "refund A1, s3cr3t"}]}
    assert json.loads(first[names.INPUT]) == [user]
    (answer,) = json.loads(first[names.OUTPUT])
    (call_of,) = answer["parts"]
    assert (call_of["type"], call_of["name"], answer["finish_reason"]) == ("tool_call", "refund", "tool_call")
    for run in map(attributes, spans.named("invoke_agent support")):
        assert json.loads(run[names.INPUT]) == [user], "as receivers show a trace: what its first span was asked"
    assert attributes(spans.named("invoke_agent support")[0])[names.OUTPUT] == first[names.OUTPUT]
    asked = json.loads(second[names.INPUT])
    assert [message["role"] for message in asked] == ["user", "assistant", "tool"]
    ran = attributes(spans["execute_tool refund"])
    assert asked[2]["parts"] == [{"type": "tool_call_response", "id": call_of["id"], "response": ran[names.RESULT]}]
    assert json.loads(ran[names.ARGUMENTS]) == json.loads(call_of["arguments"])


async def test_only_what_redact_returns_is_recorded(exporter: InMemorySpanExporter) -> None:
    def redact(kind: Kind, value: Any) -> Any:
        return json.loads(json.dumps(value).replace("s3cr3t", "***")) if kind in ("input", "result") else None

    spans = await content_of(exporter, SpanContent(redact))
    told = "".join(span.to_json() for span in spans.all)
    assert "refund A1, ***" in told
    assert "s3cr3t" not in told
    assert not any(name in attributes(span) for span in spans.all for name in (names.OUTPUT, names.ARGUMENTS))
    assert names.RESULT in attributes(spans["execute_tool refund"])


async def test_the_example_records_messages_without_numbers_of_cards(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    example = runpy.run_path(str(EXAMPLES / "redacted.py"))
    spans = await content_of(exporter, SpanContent(example["redact"]), said="refund A1 to 4111 1111 1111 1111")
    told = "".join(span.to_json() for span in spans.all)
    assert "refund A1 to (card)" in told
    assert "4111 1111" not in told
    assert not {names.ARGUMENTS, names.RESULT} & {name for span in spans.all for name in attributes(span)}
    assert "response" not in json.loads(attributes(spans.named("chat gpt-5.4-mini")[1])[names.INPUT])[2]["parts"][0]


def test_variables_of_the_examples_are_there() -> None:
    known = {*vars(environment_variables), *vars(of_api), *vars(of_instrumentations)}
    for path in EXAMPLES.glob("*.env"):
        settings = dict(line.split("=", 1) for line in path.read_text().splitlines() if not line.startswith("#"))
        ours = {name.removeprefix("AGUI_GATE_").lower(): value for name, value in settings.items() if "AGUI" in name}
        assert ours == {"traces": "true"}, path
        assert "starlette" in settings["OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"], "it makes a span of each event"
        assert {name for name in settings if name.startswith("OTEL_")} <= set(known), path


async def test_a_redact_that_fails_records_nothing_and_hinders_nobody(exporter: InMemorySpanExporter) -> None:
    def redact(kind: Kind, value: Any) -> Any:
        raise ValueError(value) if kind == "input" else TypeError

    with capture_logs() as logs:
        spans = await content_of(exporter, SpanContent(redact))
    assert not any(name.startswith(_CONTENT) for span in spans.all for name in attributes(span))
    failed = [line for line in logs if line["event"] == "redact_failed"]
    assert (len(failed), "s3cr3t" in str(failed)) == (1, False), "once in a row, and without what it was about"
    assert len(spans.named("invoke_agent support")) == 2


async def test_content_has_a_bound(exporter: InMemorySpanExporter) -> None:
    spans = await content_of(exporter, SpanContent(), said="refund A1 " + "x" * 3 * ATTRIBUTE_CHARACTERS)
    recorded = [
        (name, value) for span in spans.all for name, value in attributes(span).items() if name.startswith(_CONTENT)
    ]
    assert max(len(value) for _, value in recorded) < ATTRIBUTE_CHARACTERS
    assert any(CUT in value for name, value in recorded if name == names.INPUT)


async def test_content_without_traces_stops_the_start() -> None:
    app = create_app(
        Agent(name="a", model=ADAPTERS["chat"]("http://127.0.0.1:1")), store="memory://", extensions=[SpanContent()]
    )
    with pytest.raises(ConfigurationError, match="AGUI_GATE_TRACES=true"):
        await app.state.engine.start()


class Stuck(SpanExporter):
    """A receiver that takes a connection and never answers, until the test is over."""

    def __init__(self) -> None:
        self.asked, self.over = threading.Event(), threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.asked.set()
        self.over.wait()
        return SpanExportResult.FAILURE


async def test_a_receiver_that_never_answers_slows_no_run_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `opentelemetry-instrument` sets it up: spans wait for a receiver in a queue of their own, and are dropped."""
    monkeypatch.setattr(run_spans, "TOGETHER", 2)
    stuck, provider = Stuck(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(stuck, max_queue_size=4, max_export_batch_size=2))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    try:
        async with product(script=[{"output": [say("Hello.")], "repeat": True}], settings=TRACED) as p:
            ends = [(await p.chat().say("hello"))[-1]["type"]]
            assert await asyncio.to_thread(stuck.asked.wait, 60), "it hangs from here on"
            ends += [(await p.chat().say("hello"))[-1]["type"] for _ in range(7)]
            assert not stuck.over.is_set()
    finally:
        stuck.over.set()
        provider.shutdown()
    assert ends == ["RUN_FINISHED"] * 8


@pytest.mark.parametrize("receiver", ["slow", "dead"])
async def test_a_receiver_of_otlp_that_is_slow_or_dead_slows_no_run_down(
    receiver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real exporter: runs end while it waits, spans over the queue's size are dropped, and its end has a bound."""
    queue = 4
    with receiving() as (asked, origin):
        asked.answers.clear()
        place = origin if receiver == "slow" else f"http://127.0.0.1:{free_port()}"
        exporter = OTLPSpanExporter(f"{place}/v1/traces", timeout=1)
        provider = TracerProvider(shutdown_on_exit=False)
        processor = BatchSpanProcessor(exporter, max_queue_size=queue, max_export_batch_size=2)
        provider.add_span_processor(processor)
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
        async with product(script=[{"output": [say("Hello.")], "repeat": True}], settings=TRACED) as p:
            ends = [(await p.chat().say("hello"))[-1]["type"] for _ in range(8)]
            if receiver == "slow":
                assert await asyncio.to_thread(asked.asked.wait, 20)
                assert (asked.spans, asked.answers.is_set()) == ([], False), "it lets the exporter wait all the while"
        assert len(processor._batch_processor._queue) <= queue
        async with asyncio.timeout(25):  # less than the SDK's own thirty seconds
            await asyncio.to_thread(provider.shutdown)
    assert ends == ["RUN_FINISHED"] * 8


async def test_spans_are_ended_some_at_a_time_and_none_is_late(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the moment at which each was over: as many as are ended at once, or after a while."""
    monkeypatch.setattr(run_spans, "TOGETHER", 3)
    monkeypatch.setattr(run_spans, "END_SECONDS", 0.01)
    ends, spans = SpanEnds(), trace.get_tracer("test")
    for number in range(4):
        ends.add(spans.start_span(str(number)), dict, ([("number", number)],), "internal" if number else None)
        assert len(exporter.get_finished_spans()) == (0 if number < 2 else 3)
    over = time_ns()
    async with asyncio.timeout(10):
        while len(exporter.get_finished_spans()) < 4:  # noqa: ASYNC110  (a timer does it)
            await asyncio.sleep(0)
    assert [attributes(span) for span in exporter.get_finished_spans()] == [
        {"number": 0},
        *({"number": number, names.ERROR: "internal"} for number in (1, 2, 3)),
    ]
    assert max(span.end_time or 0 for span in exporter.get_finished_spans()) <= over


async def test_a_server_that_ends_hands_over_what_a_flush_of_the_sdk_does_not_reach(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/traces.md says: the SDK knows of a span's end when it is told."""
    monkeypatch.setattr(run_spans, "END_SECONDS", 3600)
    async with product(script=[{"output": [say("Hello.")]}], settings=TRACED) as p:
        await p.chat().say("hello")
        await quiet(p)
        provider: Any = trace.get_tracer_provider()
        assert provider.force_flush()
        assert exporter.get_finished_spans() == ()
    assert [span.name for span in exporter.get_finished_spans()] == ["chat gpt-5.4-mini", "invoke_agent support"]


async def test_a_run_that_outlasts_the_stop_of_its_server_has_a_span(exporter: InMemorySpanExporter) -> None:
    tracer = Tracer()
    await tracer.stop()
    tracer.ends.add(tracer.spans.start_span("late"), dict, (), None)
    assert [span.name for span in exporter.get_finished_spans()] == ["late"]


async def test_an_sdk_that_fails_at_a_span_loses_no_other_and_fails_no_run(exporter: InMemorySpanExporter) -> None:
    class Failing(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            if span.name == "1":
                raise ValueError("s3cr3t")

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    provider.add_span_processor(Failing())
    ends, spans = SpanEnds(), provider.get_tracer("test")
    with capture_logs() as logs:
        for name in "123":
            ends.add(spans.start_span(name), dict, (), None)
        ends.flush()
    assert [span.name for span in exporter.get_finished_spans()] == ["1", "2", "3"]
    assert [(line["event"], line["error"]) for line in logs] == [("span_failed", "ValueError")]


_CONTENT = (names.INPUT, names.OUTPUT, names.INSTRUCTIONS, names.ARGUMENTS, names.RESULT)


async def test_what_fails_says_so(exporter: InMemorySpanExporter) -> None:
    refusal = {"status": "failed", "error": {"code": "invalid_prompt", "message": "no"}}
    async with product(script=[refusal], settings=TRACED) as p:
        await p.chat().say("hello")
    spans = Spans(exporter)
    run, chatted = spans["invoke_agent support"], spans["chat gpt-5.4-mini"]
    assert not run.status.is_ok
    assert not chatted.status.is_ok
    assert attributes(chatted)[names.ERROR] == attributes(run)[names.ERROR] == "provider_rejected"
    assert attributes(run)[names.OUTCOME] == "failed"


async def test_a_tool_that_is_stopped_leaves_no_span_open(exporter: InMemorySpanExporter) -> None:
    began = asyncio.Event()

    @tool
    async def slow() -> str:
        """Wait."""
        trace.get_tracer("the tool's own").start_span("its own").end()
        began.set()
        await asyncio.Event().wait()
        return "never"

    leaving = Settings(traces=True, disconnect_grace=0)
    async with product([slow], script(call("slow")), settings=leaving, on_disconnect="cancel") as p:
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            await reader.until("TOOL_CALL_END")
            await began.wait()
        await over(p, chat, "cancelled")
        await quiet(p)
    spans = Spans(exporter)
    assert parent(spans["its own"]) == id_of(spans["execute_tool slow"])
    assert attributes(spans["invoke_agent support"])[names.OUTCOME] == "cancelled"


async def test_a_run_that_a_sampler_leaves_out_passes_its_trace_on(exporter: InMemorySpanExporter) -> None:
    """So no other begins a trace for it. The provider is told of the run's own span, and nothing is kept."""
    Listening.traces.clear()
    async with product(Shop().tools, settings=TRACED, emulator=Listening(script=script(refund()))) as p:
        chat = p.chat()
        chat.headers["traceparent"] = CLIENT[:-2] + "00"
        (ask,) = (await chat.say("refund A1")).interrupts
        await chat.resume((ask["id"], {"approved": True}))
    assert {one.split("-")[1] for one in Listening.traces} == {f"{TRACE_ID:032x}"}
    assert [one[-2:] for one in Listening.traces] == ["00", "00"]
    assert Spans(exporter).all == []


async def test_an_instrumentation_begins_its_span_before_ours_and_outside(exporter: InMemorySpanExporter) -> None:
    """It makes a span of another kind where there is one already; and may be added before ours, or after."""
    before: list[bool] = []

    class Instrumentation:
        def __init__(self, app: ASGIApp) -> None:
            self._app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            before.append(trace.get_current_span() is trace.INVALID_SPAN)
            with trace.get_tracer("other").start_as_current_span("POST /"):
                await self._app(scope, receive, send)

    app = create_app(Agent(name="support", model=inprocess.Parrot()), store="memory://", settings=TRACED)
    app.user_middleware.append(Middleware(Instrumentation))
    async with inprocess.started(app):
        body = inprocess.run_body("t", inprocess.user("hello", "m1"))
        await inprocess.run(app, body, headers={"traceparent": CLIENT})
    spans = Spans(exporter)
    assert before == [True]
    assert parent(spans["invoke_agent support"]) == id_of(spans["POST /"])


async def test_without_an_sdk_a_trace_of_the_client_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", trace.NoOpTracerProvider())
    Listening.traces.clear()
    async with product(settings=TRACED, emulator=Listening(script=[{"output": [say("Hello.")]}])) as p:
        chat = p.chat()
        chat.headers["traceparent"] = CLIENT
        await chat.say("hello")
    assert Listening.traces == [CLIENT]


async def test_without_an_sdk_no_span_is_made_and_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", trace.NoOpTracerProvider())
    Listening.traces.clear()
    async with product(Shop().tools, settings=TRACED, emulator=Listening(script=script(refund()))) as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        await chat.resume((ask["id"], {"approved": True}))
    assert Listening.traces == ["", ""]


ADAPTERS: dict[str, Callable[[str], Adapter]] = {
    "responses": lambda url: OpenAIResponses("m", base_url=url, api_key="k"),
    "chat": lambda url: OpenAIChat("m", base_url=url, api_key="k"),
    "anthropic": lambda url: AnthropicMessages("m", base_url=url, api_key="k"),
}


@pytest.mark.parametrize("name", ADAPTERS)
async def test_each_request_to_a_provider_names_its_span(name: str, exporter: InMemorySpanExporter) -> None:
    """The first one, which an SDK sends, and those after it."""
    Listening.traces.clear()
    turns = [{"output": [SEARCH]}, {"output": [SEARCH]}, {"output": [say("Done.")]}]
    async with serve(Listening(script=turns)) as address:
        agent = Agent(name="support", model=ADAPTERS[name](address), tools=Shop().tools)
        async with running(create_app(agent, store="memory://", settings=TRACED)) as url, client_of() as client:
            await AGUIClient(client, url).say("find ada")
    chats = sorted(
        (span for span in Spans(exporter).all if span.name.startswith("chat ")), key=lambda s: s.start_time or 0
    )
    assert [int(one.split("-")[2], 16) for one in Listening.traces] == [id_of(span) for span in chats]
    assert len(chats) == 3


async def test_a_remote_agent_continues_the_trace(exporter: InMemorySpanExporter) -> None:
    async with product(script=[{"output": [say("Hello.")]}], settings=TRACED) as behind:
        remote = RemoteAgent(f"{behind.url}/agents/support", name="desk")
        async with running(create_app(remote, store="memory://", settings=TRACED)) as url, client_of() as client:
            await AGUIClient(client, url).say("hello")
        await quiet(behind)
    spans = Spans(exporter)
    (asked,) = [span for span in spans.all if span.name.startswith("chat ") and "gpt" not in span.name]
    assert parent(asked) == id_of(spans["invoke_agent desk"])
    assert parent(spans["invoke_agent support"]) == id_of(asked)
    assert len({span.context.trace_id for span in spans.all if span.context}) == 1


async def test_an_mcp_server_is_told_with_the_call(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    call_tool = Client.call_tool

    async def listening(self: Client, *args: Any, **more: Any) -> Any:
        told.append(more["meta"])
        return await call_tool(self, *args, **more)

    monkeypatch.setattr(Client, "call_tool", listening)
    async with (
        served(Wiki().app) as wiki,
        product([MCPTools.http(wiki)], script(call("search", q="x", limit=1)), settings=TRACED) as p,
    ):
        await p.chat().say("search")
        await quiet(p)
    ran = Spans(exporter)["execute_tool search"]
    assert [int(one["traceparent"].split("-")[2], 16) for one in told] == [id_of(ran)]


async def test_threads_and_calls_of_two_owners_may_have_the_same_ids(exporter: InMemorySpanExporter) -> None:
    tracer, owners = Tracer(), {"ada": "ada", owner_key("acme", "ada"): Principal("ada", "acme")}
    for key in owners:
        yes = msgspec.structs.replace(
            gated("a", "c", principal=key), state=State.CLAIMED, decision=Decision(True, "ben")
        )
        tracer.decided(yes, 0, "")
    for who in owners.values():
        context = ToolContext(thread_id="t", run_id="r", call_id="c", principal=who, idempotency_key="key", owner="ada")
        await tracer.run_tool(None, "refund", "{}", context)
    spans = Spans(exporter)
    assert [parent(ran) for ran in spans.named("execute_tool unknown")] == [
        id_of(said) for said in spans.named(names.DECIDE)
    ]


def test_names_are_those_of_the_conventions() -> None:
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    ours = {value for value in vars(names).values() if isinstance(value, str) and value.startswith("gen_ai.")}
    assert ours | names.TOKENS.keys() <= known
    assert names.SCHEMA_URL in {schema.value for schema in Schemas}
    assert {names.INVOKE_AGENT, names.CHAT, names.EXECUTE_TOOL} <= {
        operation.value for operation in gen_ai_attributes.GenAiOperationNameValues
    }
