"""What metrics and traces cost a run, in calls of functions: a delta nothing, and a run a number that is held.

Of a run that only says "hello" to a client that names a trace, in one process and without a socket, calls of all
functions are 43 more of 1,116 with metrics, and 89 with spans as well, those of OpenTelemetry's API included. What
its SDK does to keep the two spans is 174 more: the application sets it up, so it is held apart. Each run is counted
here, and the SDK told of its ends, by itself. A server does that for 64 at once: as many calls, in a third of the time.
"""

import gc
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.extras.metrics import meter
from agui_gate.extras.telemetry import run_spans
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
CLIENT = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
MORE = {"bare": 0, "metrics": 46, "both": 92}
"""How many more calls of all functions but the SDK's a run may take than one that nobody measures."""
MOST_OF_SDK = 180


async def counted(place: Path, deltas: int, **settings: Any) -> Counted:
    """What a run takes with an answer of so many deltas."""
    model = OpenAIResponses("bench", mode="stateless", base_url="http://127.0.0.1/v1", api_key="bench")
    agent = Agent(name="bench", model=model, instructions="You help.")
    counts = []
    with answered(deltas):
        app = create_app(agent, store=f"sqlite:///{place}/{deltas}-{len(settings)}.db", settings=Settings(**settings))
        async with started(app):
            gc.collect()
            for number in range(RUNS):
                with counting() as count:
                    answer = await run(app, run_body(f"thread-{number}", user("hello", "m1")), headers=CLIENT)
                assert answer.events()[-1]["type"] == "RUN_FINISHED"
                counts.append(count)
            assert gc.collect() < RUNS, "what a run leaves is freed when it is over"
    return least(counts)


async def test_a_delta_is_not_measured_and_a_run_a_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_spans, "TOGETHER", 2)  # so that what is done later is done within the run, and counted
    monkeypatch.setattr(meter, "TOGETHER", 1)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter := InMemorySpanExporter()))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    counted_by: dict[str, list[Counted]] = {}
    for name, settings in ONES.items():
        counted_by[name] = [await counted(tmp_path, deltas, **settings) for deltas in (2, 2 + DELTAS)]
    provider.shutdown()
    assert len(exporter.get_finished_spans()) == 2 * 2 * RUNS
    bare, long = counted_by["bare"]
    for name, (few, many) in counted_by.items():
        assert many.calls - few.calls <= 1.005 * (long.calls - bare.calls), (name, "a delta")
        assert few.calls - few.sdk <= bare.calls + MORE[name], (name, few, bare)
        assert few.sdk <= MOST_OF_SDK, (name, few, bare)
        assert few.ours <= bare.ours + 62, (name, few, bare)
        assert (few.tasks, few.jobs) == (bare.tasks, bare.jobs), name
