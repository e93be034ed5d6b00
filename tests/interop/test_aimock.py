"""CopilotKit's `aimock` as the provider: our adapters against a server that nobody here wrote.

It checks little of what it is sent (it remembers no response, and repairs what is broken instead of refusing it), so
these tests are about what it says: three APIs in the words of other people, and what our adapters make of them.
"""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import pytest

from agui_gate import Agent, create_app
from agui_gate.adapter import Adapter
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, Stream, connecting, parse, serving
from tests.interop.replay import HERE
from tests.interop.validate import assert_valid
from tests.product.shop import Shop

pytestmark = [pytest.mark.anyio, pytest.mark.interop]

Json = dict[str, Any]
TIMEOUT = 60.0
KEY = "the-key"
BEARER = {"authorization": f"Bearer {KEY}"}
HELLO = "Hello wärld, it is 20 °C — €2. 🌞🌞🌞"
"""aimock counts in UTF-16 and cuts some of the suns in two."""
FIXTURES: list[Json] = [
    {"match": {"userMessage": "thanks"}, "response": {"content": "Bye."}},
    {"match": {"userMessage": "hello"}, "response": {"content": HELLO}, "chunkSize": 3},
    {"match": {"userMessage": "fair"}, "response": {"content": "It is.", "reasoning": "Is it fair?"}},
    {
        "match": {"userMessage": "search", "hasToolResult": False},
        "response": {
            "toolCalls": [{"name": "search", "arguments": {"q": q}} for q in ("ada", "grâce")],
            "reasoning": "Who?",
        },
        "chunkSize": 2,
    },
    {
        "match": {"userMessage": "refund", "hasToolResult": False},
        "response": {
            "content": "One moment.",
            "reasoning": "Is it fair?",
            "toolCalls": [{"name": "refund", "arguments": {"order_id": "A1", "amount": 20}}],
        },
    },
    {"match": {"userMessage": "talk"}, "response": {"content": "word " * 200}, "chunkSize": 5, "latency": 100},
    {
        "match": {"userMessage": "break"},
        "response": {"content": "word " * 20},
        "chunkSize": 5,
        "truncateAfterChunks": 9,
        "latency": 10,
    },
    {"match": {"userMessage": "limit"}, "response": {"error": {"message": "sk-secret"}, "status": 400}},
    {"match": {"hasToolResult": True}, "response": {"content": "Done."}},
]
ADAPTERS: dict[str, Callable[..., Adapter]] = {
    "responses, chain": partial(OpenAIResponses, mode="chain"),
    "responses, stateless": partial(OpenAIResponses, mode="stateless"),
    "chat": OpenAIChat,
    "messages": AnthropicMessages,
    "messages, thinking": partial(AnthropicMessages, thinking={"type": "enabled", "budget_tokens": 1024}),
}


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One process for all tests; its address, without a path."""
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    command = ["node", str(HERE / "aimock.mjs"), str(fixtures), KEY]
    environment = {"PATH": os.environ["PATH"]}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), url
        yield url
        process.terminate()


@dataclass
class Place:
    """A shop whose model is aimock, and a client of it."""

    shop: Shop
    client: AGUIClient
    provider: str
    earlier: int = 0

    async def say(self, text: str) -> Stream:
        """What the client says, and a stream that is in order."""
        return self.checked(await self.client.say(text))

    def checked(self, stream: Stream) -> Stream:
        """The stream, which breaks no rule."""
        assert stream.status == 200, stream
        assert_valid(stream.raw, resumed=len(self.client.streams) > 1)
        return stream

    async def requests(self) -> list[Json]:
        """The bodies that aimock got, oldest first, as it understood them (in the words of Chat Completions)."""
        reply = await self.client.http.get(f"{self.provider}/__aimock/journal", headers=BEARER)
        return [entry["body"] for entry in reply.json()[self.earlier :]]


@asynccontextmanager
async def place(aimock: str, api: str, *, key: str = KEY, **client: Any) -> AsyncIterator[Place]:
    """The whole product in front of aimock."""
    shop = Shop()
    adapter = ADAPTERS[api]("a-model", base_url=f"{aimock}/v1", api_key=key)
    app = create_app(Agent(name="shop", model=adapter, tools=shop.tools), store="memory://")
    async with serving(app) as url, connecting() as http:
        p = Place(shop, AGUIClient(http, url, **client), aimock)
        p.earlier = len(await p.requests())
        yield p


every = pytest.mark.parametrize("api", ADAPTERS)


@every
async def test_text_comes_in_pieces(aimock: str, api: str) -> None:
    async with place(aimock, api) as p:
        stream = await p.say("hello")
        assert stream.text == HELLO
        assert len(stream.of("TEXT_MESSAGE_CONTENT")) > 1
        assert (await p.say("thanks")).text == "Bye."


@every
async def test_reasoning_is_shown_and_never_in_the_way_of_the_next_turn(aimock: str, api: str) -> None:
    async with place(aimock, api) as p:
        stream = await p.say("Is that fair?")
        assert stream.text == "It is."
        assert "".join(event["delta"] for event in stream.of("REASONING_MESSAGE_CONTENT")) == "Is it fair?"
        assert (await p.say("thanks")).text == "Bye."


@every
async def test_free_tools_run_in_parallel_and_are_answered(aimock: str, api: str) -> None:
    async with place(aimock, api) as p:
        stream = await p.say("search for ada and grâce")
        assert stream.text == "Done."
        assert p.shop.searches == ["ada", "grâce"]
        assert list(stream.results.values()) == ['["found ada"]', '["found grâce"]']
        told = [m for m in (await p.requests())[-1]["messages"] if m["role"] == "tool"]
        assert [m["content"] for m in told] == list(stream.results.values())
        assert len({m["tool_call_id"] for m in told}) == 2


@every
@pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupt", "card"])
@pytest.mark.parametrize("approved", [True, False])
async def test_a_gated_tool(aimock: str, api: str, tools: list[Json], approved: bool) -> None:
    async with place(aimock, api, tools=tools) as p:
        asked = await p.say("refund A1")
        assert (asked.text, p.shop.refunds) == ("One moment.", [])
        done = p.checked(await p.client.decide(asked, approved=approved))
        assert (done.text, p.shop.refunds) == ("Done.", [("A1", 20.0)] if approved else [])
        (told,) = [m for m in (await p.requests())[-1]["messages"] if m["role"] == "tool"]
        assert ("refunded" in told["content"]) is approved
        if (
            api != "messages, thinking"
        ):  # aimock wants the thinking of tool loops that are over too; the real API doesn't
            assert (await p.say("thanks")).text == "Bye."


@every
async def test_cancelling_in_the_middle_of_the_answer(aimock: str, api: str) -> None:
    """The provider's stream ends with ours, long before its twenty seconds are over."""
    async with place(aimock, api) as p:
        p.client.messages.append({"id": "u", "role": "user", "content": "talk"})
        raw, http = "", p.client.http
        with anyio.fail_after(TIMEOUT / 2):
            async with http.stream("POST", f"{p.client.url}/", json=p.client.body()) as response:
                async for text in response.aiter_text():
                    if "TEXT_MESSAGE_CONTENT" in text and "TEXT_MESSAGE_CONTENT" not in raw:
                        stopped = await http.post(f"{p.client.url}/threads/{p.client.thread_id}/cancel")
                        assert stopped.status_code == 200
                    raw += text
        stream = p.checked(parse(raw))
        assert stream.error == "abort"
        assert 0 < len(stream.text) < len("word " * 200)
        assert (await p.say("thanks")).text == "Bye."


@every
async def test_a_stream_that_breaks_off_is_one_error_and_no_second_try(aimock: str, api: str) -> None:
    async with place(aimock, api) as p:
        stream = await p.say("break")
        assert stream.error == "provider_unavailable"
        assert stream.text.startswith("word ")
        assert len(await p.requests()) == 1
        assert (await p.say("thanks")).text == "Bye."


@every
async def test_a_refusal_is_told_in_our_words(aimock: str, api: str) -> None:
    async with place(aimock, api) as p:
        stream = await p.say("limit")
        assert stream.error == "provider_rejected"
        assert "sk-secret" not in stream.raw
        assert (await p.say("thanks")).text == "Bye."


@every
async def test_a_wrong_key(aimock: str, api: str) -> None:
    async with place(aimock, api, key="another") as p:
        assert (await p.say("hello")).error == "provider_auth"
