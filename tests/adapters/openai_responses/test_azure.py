"""Azure OpenAI and Foundry: addresses, keys, tokens, and what is told to people who set them up wrongly."""

from collections.abc import Callable
from typing import Any

import pytest

from agui_gate.adapter import TurnRequest
from agui_gate.errors import ConfigurationError, ProviderAuth
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.adapters.support import ANSWER, run, user

pytestmark = pytest.mark.anyio
NAMES = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "AZURE_AI_PROJECT_ENDPOINT")
PROJECT = "https://res.services.ai.azure.com/api/projects/proj"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the machine's, but a key for somebody else."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")


async def url_of(model: OpenAIResponses) -> str:
    client = await model._transport.client()
    await model.aclose()
    return str(client.base_url)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"resource": "res"}, "https://res.openai.azure.com/openai/v1/"),
        ({"endpoint": "https://res.openai.azure.com"}, "https://res.openai.azure.com/openai/v1/"),
        ({"endpoint": "https://res.openai.azure.com/openai/"}, "https://res.openai.azure.com/openai/v1/"),
        ({"endpoint": "https://res.openai.azure.com/openai/v1/"}, "https://res.openai.azure.com/openai/v1/"),
        ({"endpoint": "https://h/openai?api-version=2024-06-01"}, "https://h/openai/v1/"),
        ({"endpoint": "https://h/openai/v1/responses?api-version=preview"}, "https://h/openai/v1/"),
        ({"endpoint": "https://h/openai/responses?api-version=2025-04-01-preview"}, "https://h/openai/v1/"),
        ({"endpoint": "https://h/openai/deployments/gpt/chat/completions?api-version=1"}, "https://h/openai/v1/"),
        ({}, "https://env.openai.azure.com/openai/v1/"),
    ],
)
async def test_addresses_of_azure(given: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://env.openai.azure.com/")
    assert await url_of(OpenAIResponses.azure("gpt", api_key="k", **given)) == url


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"endpoint": PROJECT}, f"{PROJECT}/openai/v1/"),
        ({"endpoint": "https://res.services.ai.azure.com/", "project": "proj"}, f"{PROJECT}/openai/v1/"),
        ({"endpoint": PROJECT, "project": "other"}, f"{PROJECT}/openai/v1/"),
        ({}, "https://env/api/projects/p/openai/v1/"),
    ],
)
async def test_addresses_of_foundry(given: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_AI_PROJECT_ENDPOINT", "https://env/api/projects/p")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    assert await url_of(OpenAIResponses.foundry("gpt", **given)) == url


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: OpenAIResponses.azure("gpt", api_key="k"), "AZURE_OPENAI_ENDPOINT"),
        (lambda: OpenAIResponses.azure("gpt", resource="r", endpoint="https://h", api_key="k"), "not both"),
        (lambda: OpenAIResponses.azure("gpt", resource="https://r.openai.azure.com", api_key="k"), "is a name"),
        (lambda: OpenAIResponses.azure("gpt", endpoint="r.openai.azure.com", api_key="k"), "begins with https://"),
        (lambda: OpenAIResponses.foundry("gpt", endpoint="r.ai.azure.com/api/projects/p", api_key="k"), "https://"),
        (lambda: OpenAIResponses.azure("gpt", resource="r", token_provider="eyJ0"), "is a callable"),  # type: ignore[arg-type]  # what is tested
        (lambda: OpenAIResponses.azure("gpt", resource="r"), "AZURE_OPENAI_API_KEY.*cognitiveservices.azure.com"),
        (lambda: OpenAIResponses.azure("gpt", resource="r", api_key="k", token_provider=str), "not both"),
        (lambda: OpenAIResponses.azure("gpt", resource="r", api_key="k", mode="conversation"), "mode='chain'"),
        (lambda: OpenAIResponses.foundry("gpt", api_key="k"), "AZURE_AI_PROJECT_ENDPOINT"),
        (lambda: OpenAIResponses.foundry("gpt", endpoint=PROJECT), "https://ai.azure.com/.default"),
    ],
)
def test_what_is_missing_is_said_at_once(make: Callable[[], Any], told: str) -> None:
    """And the key of another vendor is never sent there instead."""
    with pytest.raises(ConfigurationError, match=told):
        make()


def test_conversations_where_there_are_some() -> None:
    OpenAIResponses.azure("gpt", resource="r", api_key="k", mode="conversation", conversations=True)
    OpenAIResponses.foundry("gpt", endpoint=PROJECT, api_key="k", mode="conversation")


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_every_request_has_a_fresh_token(asynchronous: bool) -> None:
    asked: list[str] = []

    def token() -> str:
        asked.append("token")
        return f"token-{len(asked)}"

    async def later() -> str:
        return token()

    emulator = Emulator([ANSWER | {"repeat": True}], profile="azure_v1")
    async with serve(emulator) as base_url:
        model = OpenAIResponses.azure("gpt", endpoint=base_url, token_provider=later if asynchronous else token)
        for number in (1, 2):
            emulator.api_key = f"token-{number}"
            assert (await run(model, TurnRequest((user("hi"),)))).text == "Sunny in both."
        assert (await model.check())[0].ok is False, "token-3 is not the emulator's key"
        await model.aclose()
    assert len(asked) == 3


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_no_token_is_about_the_key(asynchronous: bool) -> None:
    def token() -> str:
        raise RuntimeError("a secret of the tenant")

    async def later() -> str:
        return token()

    model = OpenAIResponses.azure("gpt", resource="r", token_provider=later if asynchronous else token)
    with pytest.raises(ProviderAuth, match=r"token_provider failed \(RuntimeError\)") as caught:
        await run(model, TurnRequest((user("hi"),)))
    assert "secret" not in caught.value.message
    (finding,) = await model.check()
    assert not finding.ok
    assert finding.fix == "Check token_provider: who it speaks for needs the right to use the model."
    await model.aclose()


@pytest.mark.parametrize(
    ("options", "ok", "told"),
    [
        ({"models": frozenset({"my-deployment"})}, True, "knows the model"),
        ({"models": frozenset({"gpt-5.4-mini"})}, False, "'my-deployment'"),
        ({"api_key": "another"}, False, "API key"),
    ],
)
async def test_doctor_asks_about_the_deployment_without_paying(options: Any, ok: bool, told: str) -> None:
    """Deployments are not in the list of models, so a request that can't be answered is what is sent."""
    emulator = Emulator(profile="azure_v1", **options)
    async with serve(emulator) as base_url:
        model = OpenAIResponses.azure("my-deployment", endpoint=base_url, api_key="k")
        (finding,) = await model.check()
        await model.aclose()
    assert finding.ok is ok
    assert told in finding.detail
    assert emulator.accepted == []


async def test_doctor_names_the_right_variables() -> None:
    async with serve(Emulator(profile="azure_v1")) as base_url:
        away = base_url.replace("/v1", "/elsewhere/v1")
        model = OpenAIResponses.foundry("gpt", endpoint=away, api_key="k")
        (finding,) = await model.check()
        await model.aclose()
    assert not finding.ok
    assert "AZURE_AI_PROJECT_ENDPOINT" in finding.fix
