"""The adapter as an object: what is particular to this one (see `test_every_adapter.py` for the rest)."""

from typing import Any

import httpx2
import msgspec
import openai
import pytest

from agui_gate.errors import ConfigurationError, ProviderRejected
from agui_gate_adapters.openai_chat import PROFILES, OpenAIChat
from agui_gate_adapters.testkit import Emulator, serve
from tests.adapters.support import ANSWER, STREAM, Handler, asked, provider

from .subject import SUBJECT

pytestmark = pytest.mark.anyio


def test_profiles_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="openai, azure, vllm"):
        OpenAIChat("gpt", profile="opneai")
    mine = msgspec.structs.replace(PROFILES["lenient"], name="mine")
    assert OpenAIChat("gpt", profile=mine)._settings.profile is mine
    assert all(profile.name == name for name, profile in PROFILES.items())


@pytest.mark.parametrize("by_environment", [True, False])
async def test_a_local_server_needs_no_key(by_environment: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with serve(Emulator(script=[ANSWER])) as base_url:
        if by_environment:
            monkeypatch.setenv("OPENAI_BASE_URL", base_url)
        model = OpenAIChat("gpt", base_url=None if by_environment else base_url)
        assert (await asked(model)).text == "Sunny in both."
        await model.aclose()


async def test_the_environment_s_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    async with serve(Emulator(script=[ANSWER], api_key="sk-mine")) as base_url:
        model = OpenAIChat("gpt", base_url=base_url)
        assert (await asked(model)).text == "Sunny in both."
        await model.aclose()


@pytest.mark.parametrize("profile", ["openai", "mistral"])
async def test_a_call_without_an_id_gets_one_that_the_server_takes_back(profile: str) -> None:
    piece = b'{"function":{"name":"f","arguments":"{}"}}'
    body = b'data: {"choices":[{"delta":{"tool_calls":[%b,%b]},"finish_reason":"stop"}]}\n\n' % (piece, piece)
    body = body.replace(b"}},{", b'}},{"index":1,')
    model = SUBJECT.answering(lambda _: httpx2.Response(200, content=body, headers=STREAM), profile=profile)
    one, two = [event.wire_id for event in (await asked(model)).events if hasattr(event, "wire_id")]
    assert one != two
    assert len(one) == (9 if profile == "mistral" else 37)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "The model `some-model` does not exist", "code": 404}}, "'some-model'"),
        ({"error": 'model "some-model" not found'}, "'some-model'"),
        ({"object": "error", "message": "Invalid model: some-model", "type": "invalid_model"}, "'some-model'"),
        ({"detail": "The model `some-model` does not exist"}, "'some-model'"),
        ({"object": "error", "message": {"detail": [{"msg": "x"}]}}, "404"),
        ({"error": [3]}, "404"),
    ],
)
async def test_error_bodies_of_all_shapes(body: Any, words: str) -> None:
    with pytest.raises(ProviderRejected, match=words):
        await asked(SUBJECT.answering(lambda _: httpx2.Response(404, json=body)))


# --- doctor -------------------------------------------------------------------------------------------------------


def listing(*names: str, one: int = 404) -> Handler:
    """A server that has a list of its models, but nothing to say about one of them."""

    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/models"):
            return httpx2.Response(200, json={"object": "list", "data": [{"id": name} for name in names]})
        return httpx2.Response(one, json={"error": {"message": "Not Found"}})

    return handler


async def test_check_reads_the_list_where_there_is_no_more() -> None:
    (finding,) = await SUBJECT.answering(listing("other", "some-model")).check()
    assert finding.ok
    (finding,) = await SUBJECT.answering(listing("other")).check()
    assert not finding.ok
    assert "model's name" in finding.fix
    for profile in ("llama_cpp", "azure"):
        (finding,) = await SUBJECT.answering(listing("file.gguf"), profile=profile).check()
        assert finding.ok
    (finding,) = await SUBJECT.answering(listing()).check()
    assert not finding.ok
    assert "base_url" in finding.fix


async def test_the_older_azure_client_finds_its_deployment() -> None:
    """It puts the deployment into the path only for bodies that it writes itself."""
    paths = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        return httpx2.Response(200, headers=STREAM, content=SUBJECT.said("hi"))

    options: dict[str, Any] = {"api_key": "k", "api_version": "2024-10-21", "http_client": provider(handler)}
    for deployment in (None, "chosen"):
        client = openai.AsyncAzureOpenAI(azure_endpoint="http://127.0.0.1", azure_deployment=deployment, **options)
        await asked(OpenAIChat("my deployment", client=client, profile="azure"))
    assert paths == [
        "/openai/deployments/my deployment/chat/completions",
        "/openai/deployments/chosen/chat/completions",
    ]
