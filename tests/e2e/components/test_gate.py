"""`<agui-gate>` and `<agui-inbox>`: what waits, live, decided, and what goes wrong. `gate.test.mjs` has the cases."""

import asyncio

import pytest

from agui_gate import create_app
from agui_gate.cli.demo.agent import support_agent
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.e2e.components.node_tests import run_cases
from tests.product.kit import running
from tests.requirements import shows

SECONDS = 480.0


@shows("T4", "T5", "T6")
@pytest.mark.anyio
async def test_in_pages_of_another_origin() -> None:
    async with serve(Emulator()) as provider:
        model = OpenAIResponses("gpt-5.4-mini", base_url=provider, api_key="none")
        app = create_app(support_agent(model), store="memory://", settings=Settings())
        async with running(app) as url, asyncio.timeout(SECONDS):
            await run_cases(url, "gate.test.mjs", "cold.test.mjs")
