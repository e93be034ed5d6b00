"""An adapter is told that a request is large: it works on it beside the event loop then (T15)."""

import json
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate.concurrency import LARGE, LARGE_BYTES, LONG
from tests.product.inprocess import Parrot, request, run_body, started, user
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T15")]

TOOL = {"description": "", "parameters": {"type": "object"}}
LARGE_RUNS: dict[str, dict[str, Any]] = {
    "messages": run_body("t", *(user("hi", f"m{i}") for i in range(LONG + 1))),
    "bytes": run_body("t", user("x" * LARGE_BYTES, "m")),
    "context": run_body("t", user("hi", "m"), context=[{"description": "d", "value": "x" * LARGE_BYTES}]),
    "tools": run_body("t", user("hi", "m"), tools=[{"name": f"t{i}", **TOOL} for i in range(LARGE + 1)]),
}


async def asked(body: dict[str, Any]) -> bool:
    model = Parrot()
    async with started(create_app(Agent(name="a", model=model), store="memory://")) as app:
        answer = await request(app, "POST", "/", json.dumps(body).encode())
    assert answer.events()[-1]["type"] == "RUN_FINISHED"
    return model.requests[-1].large


@pytest.mark.parametrize("body", LARGE_RUNS.values(), ids=LARGE_RUNS)
async def test_whatever_is_much_makes_a_request_large(body: dict[str, Any]) -> None:
    assert await asked(body)


async def test_an_ordinary_request_is_not_large() -> None:
    assert not await asked(run_body("t", *(user("hi", f"m{i}") for i in range(50)), tools=[{"name": "t", **TOOL}]))
