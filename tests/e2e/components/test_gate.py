"""`<agui-gate>` and `<agui-inbox>`: what waits, live, decided, and what goes wrong. `gate.test.mjs` has the cases."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from agui_gate import create_app
from agui_gate.cli.demo.agent import support_agent
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import running
from tests.requirements import shows

HERE = Path(__file__).parent
SECONDS = 480.0


@shows("T4", "T5", "T6")
@pytest.mark.anyio
async def test_in_pages_of_another_origin() -> None:
    node = shutil.which("node")
    assert node, "Node 20 or newer is needed"
    async with serve(Emulator()) as provider:
        model = OpenAIResponses("gpt-5.4-mini", base_url=provider, api_key="none")
        app = create_app(support_agent(model), store="memory://", settings=Settings())
        async with running(app) as url, asyncio.timeout(SECONDS):
            command = [node, "--test", "--test-concurrency=1", "--test-reporter=spec", "gate.test.mjs", "cold.test.mjs"]
            pipe = asyncio.subprocess.PIPE
            env = {**os.environ, "SERVER": url}
            tests = await asyncio.create_subprocess_exec(
                *command, cwd=HERE, env=env, stdout=pipe, stderr=asyncio.subprocess.STDOUT
            )
            said, _ = await tests.communicate()
    assert tests.returncode == 0, said.decode()[-12_000:]
