"""Metrics of a real server, after real runs: what Prometheus reads is what happened."""

import asyncio
from collections.abc import Mapping

import pytest

from agui_gate import tool
from agui_gate.config.settings import Settings
from tests.product.kit import Product, product
from tests.product.live import over, quiet, starting
from tests.product.shop import Shop, call, refund, say, script

pytestmark = pytest.mark.anyio

COUNTING = Settings(metrics="on")


async def figures(p: Product) -> Mapping[str, float]:
    response = await p.client.get(f"{p.url}/metrics")
    assert response.status_code == 200
    lines = (line.rpartition(" ") for line in response.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


async def test_a_question_and_its_answer_in_a_run() -> None:
    async with product(Shop().tools, script(refund()), settings=COUNTING) as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        waiting = await figures(p)
        await chat.resume((ask["id"], {"approved": True}))
        found = await figures(p)
    assert waiting['agui_gate_approvals{state="pending"}'] == 1
    assert found['agui_gate_runs_total{agent="support",outcome="waiting"}'] == 1
    assert found['agui_gate_runs_total{agent="support",outcome="finished"}'] == 1
    assert found['agui_gate_decisions_total{decision="approve",tool="refund",way="resume"}'] == 1
    assert found['agui_gate_tool_calls_total{gated="true",outcome="done",tool="refund"}'] == 1
    model = 'model="gpt-5.4-mini",provider="openai"'
    assert found[f'agui_gate_model_requests_total{{code="ok",{model}}}'] == len(p.emulator.accepted) == 2
    assert found['agui_gate_http_requests_total{route="/",status="200"}'] == 2
    assert found['agui_gate_streams_open{kind="run"}'] == found["agui_gate_runs_in_flight"] == 0


async def test_tokens_are_those_of_the_provider() -> None:
    said = {"output": [say("one")], "usage": {"input_tokens": 500, "output_tokens": 20, "total_tokens": 520}}
    async with product(script=[said], settings=COUNTING) as p:
        await p.chat().say("hello")
        found = await figures(p)
    labels = 'model="gpt-5.4-mini",provider="openai"'
    assert found[f'agui_gate_tokens_total{{kind="input",{labels}}}'] == 500
    assert found[f'agui_gate_tokens_total{{kind="output",{labels}}}'] == 20


async def test_a_client_that_leaves_stops_its_run() -> None:
    began = asyncio.Event()

    @tool
    async def slow() -> str:
        """Wait."""
        began.set()
        await asyncio.Event().wait()
        return "never"

    leaving = Settings(metrics="on", disconnect_grace=0)
    async with product([slow], script(call("slow")), settings=leaving, on_disconnect="cancel") as p:
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            await reader.until("TOOL_CALL_END")
            await began.wait()
            during = await figures(p)
        await over(p, chat, "cancelled")
        await quiet(p)
        after = await figures(p)
    assert during["agui_gate_runs_in_flight"] == during['agui_gate_streams_open{kind="run"}'] == 1
    assert after["agui_gate_runs_in_flight"] == after['agui_gate_streams_open{kind="run"}'] == 0
    assert after['agui_gate_runs_total{agent="support",outcome="cancelled"}'] == 1
    assert after['agui_gate_tool_calls_total{gated="false",outcome="stopped",tool="slow"}'] == 1
