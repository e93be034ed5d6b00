"""CopilotKit's core with client 1.0.0: a call of the page that the server has withdrawn has no handler run (TOOL-4)."""

import asyncio

import pytest

from agui_gate import tool
from tests.conforming import conforms
from tests.interop.pages import BACK, COPILOTKIT_ON_1_0, fine, idle, shown
from tests.product.kit import TIMEOUT
from tests.product.shop import call
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, pytest.mark.interop, shows("B15"), conforms("TOOL-4", "LIFE-4")]


@pytest.mark.parametrize("stopped_by", ["the page", "another"])
async def test_no_handler_runs_for_a_call_of_a_run_that_was_stopped(stopped_by: str) -> None:
    begun = asyncio.Event()

    @tool
    async def dig() -> str:
        """Takes for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "dug"

    turns = [{"output": [call("pick", of="three"), call("dig")]}, BACK]
    async with shown([dig], turns, client=COPILOTKIT_ON_1_0) as (p, b):
        page = await b.open(p.url, "t", tools=["pick"])
        await page.do("say", text="pick and dig")
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
        if stopped_by == "the page":
            await page.do("stop")
        else:
            await p.client.post(f"{p.url}/threads/t/cancel")
        assert (await idle(p, "t"))["run"]["status"] == "cancelled"
        seen = fine(await page.until("idle"))
        assert not any('"page"' in content for content in seen.results.values()), "its handler ran"
        assert {c["tool"] for c in seen.calls.values()} == {"dig"}
        seen = fine(await page.say("go on"))
        assert seen.text == "Back."
        assert not any('"page"' in content for content in seen.results.values())
