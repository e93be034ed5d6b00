"""What metrics and traces cost a run, in calls of functions: a delta nothing, and a run a share that is held.

Of a run that only says "hello", in one process and without a socket: calls of our own functions are a tenth more with
both, and those of all functions 8 % more with metrics and 16 % more with spans, of which most are the SDK's.
"""

from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.bench.counting import Counted, answered, counting, least
from tests.product.inprocess import run, run_body, started, user

pytestmark = pytest.mark.anyio

DELTAS = 300
RUNS = 4
ONES: dict[str, dict[str, Any]] = {
    "bare": {},
    "metrics": {"metrics": "on"},
    "both": {"metrics": "on", "traces": True},
}
MOST = {"bare": 1.0, "metrics": 1.12, "both": 1.3}
"""How many calls of all functions a run may take, of one that nobody measures."""


class Nowhere(SpanExporter):
    """A receiver that takes everything."""

    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS


async def counted(place: Path, deltas: int, **settings: Any) -> Counted:
    """What a run takes with an answer of so many deltas."""
    model = OpenAIResponses("bench", mode="stateless", base_url="http://127.0.0.1/v1", api_key="bench")
    agent = Agent(name="bench", model=model, instructions="You help.")
    counts = []
    with answered(deltas):
        app = create_app(agent, store=f"sqlite:///{place}/{deltas}-{len(settings)}.db", settings=Settings(**settings))
        async with started(app):
            for number in range(RUNS):
                with counting() as count:
                    answer = await run(app, run_body(f"thread-{number}", user("hello", "m1")))
                assert answer.events()[-1]["type"] == "RUN_FINISHED"
                counts.append(count)
    return least(counts)


async def test_a_delta_is_not_measured_and_a_run_a_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    counted_by: dict[str, list[Counted]] = {}
    for name, settings in ONES.items():
        counted_by[name] = [await counted(tmp_path, deltas, **settings) for deltas in (2, 2 + DELTAS)]
    provider.shutdown()
    bare, long = counted_by["bare"]
    for name, (few, many) in counted_by.items():
        assert many.calls - few.calls <= 1.03 * (long.calls - bare.calls), (name, "a delta")
        assert few.calls <= MOST[name] * bare.calls, (name, few.calls, bare.calls)
        assert few.ours <= 1.12 * bare.ours, (name, few.ours, bare.ours)
        assert (few.tasks, few.jobs) == (bare.tasks, bare.jobs), name
