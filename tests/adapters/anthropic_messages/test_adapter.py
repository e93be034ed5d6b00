"""The adapter as an object: what is particular to this one (see `test_every_adapter.py` for the rest)."""

from typing import Any

import anthropic
import httpx2
import msgspec
import pytest

from agui_gate.adapter import Text, ToolSpec, TurnRequest, UserTurn
from agui_gate.errors import ConfigurationError, ProviderAuth, ProviderUnavailable
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.testkit import Emulator, serve
from tests.adapters.support import STREAM, asked

from .subject import SUBJECT
from .support import ANSWER, ENABLED, talking

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"thinking": ENABLED, "max_output_tokens": 2048}, "budget_tokens"),
        ({"thinking": ENABLED, "temperature": 0.5}, "temperature"),
        ({"thinking": {"type": "adaptive"}, "temperature": 0.0}, "temperature"),
        ({"thinking": {"budget_tokens": 1}}, "such as"),
        ({"hosted_tools": {"type": "web_search_20250305", "name": "web_search"}}, "a list of objects"),
        ({"thinking": {"type": "enabled", "budget_tokens": "many"}}, "such as"),
    ],
)
def test_settings_that_exclude_each_other(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        AnthropicMessages("claude", **options)


def test_thinking_does_not_eat_the_answer() -> None:
    assert AnthropicMessages("claude", thinking=ENABLED)._settings.max_tokens == 8192 + 2048
    assert AnthropicMessages("claude", thinking=ENABLED, max_output_tokens=3000)._settings.max_tokens == 3000


@pytest.mark.usefixtures("no_environment")
async def test_a_profile_that_can_t_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_PROFILE", "nowhere")
    with pytest.raises(ProviderAuth, match="could not be had"):
        await asked(AnthropicMessages("claude", base_url="http://127.0.0.1:9"))


@pytest.mark.usefixtures("no_environment")
async def test_a_caller_s_client_without_a_key() -> None:
    async with anthropic.AsyncAnthropic(base_url="http://127.0.0.1:9") as client:
        with pytest.raises(ProviderAuth):
            await asked(AnthropicMessages("claude", client=client))


@pytest.mark.usefixtures("no_environment")
async def test_a_token_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(Emulator(script=[ANSWER])) as base_url:
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "t")
        model = AnthropicMessages("claude", base_url=base_url)
        assert (await asked(model)).text == "Sunny in both."
        await model.aclose()


async def test_a_version_is_asked_for_and_no_temperature() -> None:
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, content=SUBJECT.said("hi"), headers=STREAM)

    await asked(SUBJECT.answering(handler))
    (request,) = seen
    assert request.headers["anthropic-version"]
    assert "temperature" not in msgspec.json.decode(request.content)


async def test_temperature_asks_for_the_version_that_has_it() -> None:
    async with talking([ANSWER], temperature=0.5) as (emulator, thread):
        thread.say("hi")
        await thread.turn()
    assert emulator.refusals == []


async def test_long_names_are_cut_for_hosts_that_are_not_anthropics() -> None:
    """Hosts of the same API refuse names of more than 64 characters."""
    name = "n" * 100
    told: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        told.append(msgspec.json.decode(request.content)["tools"][0]["name"])
        return httpx2.Response(500)

    for url in ("https://api.anthropic.com", "https://elsewhere.example"):
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
        async with anthropic.AsyncAnthropic(api_key="k", base_url=url, http_client=http, max_retries=0) as client:
            model = AnthropicMessages("claude", client=client)
            request = TurnRequest((UserTurn("u", (Text("hi"),)),), "", (ToolSpec(name, "", {"type": "object"}),))
            with pytest.raises(ProviderUnavailable):
                async for _ in model.stream(request):
                    pass
    assert (told[0], len(told[-1])) == (name, 64)
