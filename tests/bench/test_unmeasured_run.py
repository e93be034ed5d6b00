"""A run that nobody measures calls nothing that measures: no metrics, no traces, no usage, and none of their packages.

At its seams the trunk looks whether there is a meter, which is a comparison and no call: so a run costs what it would
without them. `test_measured_run` holds what a run costs with a meter against this one.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.config.settings import Settings
from tests.product.inprocess import Parrot, run, run_body, started, user

pytestmark = pytest.mark.anyio

MEASURES = (
    "/agui_gate/extras/metrics/",
    "/agui_gate/extras/telemetry/",
    "/agui_gate/extras/usage/",
    "/agui_gate/extras/observation.py",
    "/agui_gate/turns/meter.py",
    "/agui_gate/telemetry.py",
    "/prometheus_client/",
    "/opentelemetry/",
    "/genai_prices/",
)
"""Where the files are of all that measures."""


@contextmanager
def calls() -> Iterator[tuple[Counter[str], Counter[str]]]:
    """Within: counts calls by name, all of them, and those of what measures."""
    every, measuring = Counter[str](), Counter[str]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            every[code.co_name] += 1
            if any(place in code.co_filename.replace("\\", "/") for place in MEASURES):
                measuring[f"{Path(code.co_filename).name}:{code.co_name}"] += 1

    sys.setprofile(note)
    try:
        yield every, measuring
    finally:
        sys.setprofile(None)


def support() -> Agent:
    @tool(gate=True)
    def refund(order_id: str) -> str:
        """Refunds an order."""
        return f"refunded {order_id}"

    return Agent(name="support", model=Parrot(), tools=[refund])


async def test_nothing_that_measures_is_called(tmp_path: Path) -> None:
    app = create_app(support(), store=f"sqlite:///{tmp_path}/store.db")
    async with started(app):
        await run(app, run_body("before", user("hello", "m1")))  # what is loaded once
        with calls() as (every, measuring):
            said = await run(app, run_body("t", user("refund A1", "m1")))
            (ask,) = said.events()[-1]["outcome"]["interrupts"]
            answer = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}
            done = await run(app, run_body("t", resume=[answer], runId="r2"))
    assert "refunded A1" in done.body.decode()
    assert every["run_tool"] > 0, "the run was seen"
    assert every.total() > 1000
    assert measuring == Counter()


async def test_what_measures_is_seen_where_it_is_called(tmp_path: Path) -> None:
    app = create_app(support(), store=f"sqlite:///{tmp_path}/store.db", settings=Settings(metrics="on", traces=True))
    async with started(app):
        with calls() as (_, measuring):
            await run(app, run_body("t", user("hello", "m1")))
    assert {name.partition(":")[0] for name in measuring} >= {"meter.py", "tracer.py"}
