"""The adapter as an object: what it costs to make, what it is called, which key it sends, what `doctor` hears."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
import openai
import pytest

from agui_gate.adapter import Adapter, TurnRequest
from agui_gate.errors import ConfigurationError, ProviderAuth, ProviderRejected, ProviderUnavailable
from agui_gate_adapters.openai_chat import PROFILES, OpenAIChat
from agui_gate_adapters.testkit import Emulator, serve
from tests.adapters.openai_responses.support import ANSWER, run, user

from .support import Thread, talking

pytestmark = pytest.mark.anyio
Handler = Callable[[httpx2.Request], httpx2.Response]
STREAM = {"content-type": "text/event-stream; charset=utf-8"}
HI = b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def answering(handler: Handler, **options: Any) -> OpenAIChat:
    """An adapter whose provider is a function."""
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    client = openai.AsyncOpenAI(base_url="http://127.0.0.1/v1", api_key="sk-secret", http_client=http)
    model = OpenAIChat("gpt", client=client, **options)

    async def at_once(_: float) -> None: ...

    model._sleep = at_once
    return model


async def asked(model: OpenAIChat) -> Any:
    return await run(model, TurnRequest((user("hi"),)))  # type: ignore[arg-type]  # any adapter


def test_it_is_an_adapter() -> None:
    assert isinstance(OpenAIChat("gpt"), Adapter)


def test_making_one_imports_no_sdk() -> None:
    code = (
        "import sys; from agui_gate_adapters.openai_chat import OpenAIChat; OpenAIChat('gpt');"
        "sys.exit(any(name in sys.modules for name in ('openai', 'httpx2')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ProviderRejected, match=r"^The package openai is not installed: pip install openai\.$"):
        await asked(OpenAIChat("gpt", api_key="k"))


@pytest.mark.parametrize(
    ("base_url", "origin"),
    [
        (None, "openai-chat:api.openai.com:gpt"),
        ("http://user:pw@127.0.0.1:8099/v1?key=1", "openai-chat:127.0.0.1:8099:gpt"),
    ],
)
def test_origin(base_url: str | None, origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    model = OpenAIChat("gpt", base_url=base_url)
    assert model.origin == origin
    assert "pw" not in repr(model)


def test_the_environment_names_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere:1/v1")
    assert OpenAIChat("gpt").origin == "openai-chat:elsewhere:1:gpt"


def test_profiles_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="openai, azure, vllm"):
        OpenAIChat("gpt", profile="opneai")
    mine = msgspec.structs.replace(PROFILES["lenient"], name="mine")
    assert OpenAIChat("gpt", profile=mine)._settings.profile is mine
    assert all(profile.name == name for name, profile in PROFILES.items())


async def test_no_key_where_one_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    model = OpenAIChat("gpt")
    with pytest.raises(ProviderAuth, match="OPENAI_API_KEY"):
        await asked(model)
    (finding,) = await model.check()
    assert "OPENAI_API_KEY" in finding.fix


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


async def test_a_caller_s_client_stays_open() -> None:
    async with talking([ANSWER, ANSWER]) as (_, thread):
        client = openai.AsyncOpenAI(base_url=str(thread.model._transport._base_url), api_key="k")
        mine = Thread(OpenAIChat("gpt-test", client=client))
        for _ in range(2):
            mine.say("hi")
            assert (await mine.turn()).text == "Sunny in both."
            await mine.model.aclose()
        await client.close()


async def test_what_is_sent() -> None:
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, content=HI, headers=STREAM)

    turn = await asked(answering(handler))
    assert turn.text == "hi"
    assert turn.done.ref is None
    (request,) = seen
    assert request.url == "http://127.0.0.1/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-secret"
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("profile", ["openai", "mistral"])
async def test_a_call_without_an_id_gets_one_that_the_server_takes_back(profile: str) -> None:
    piece = b'{"function":{"name":"f","arguments":"{}"}}'
    body = b'data: {"choices":[{"delta":{"tool_calls":[%b,%b]},"finish_reason":"stop"}]}\n\n' % (piece, piece)
    body = body.replace(b"}},{", b'}},{"index":1,')
    model = answering(lambda _: httpx2.Response(200, content=body, headers=STREAM), profile=profile)
    one, two = [event.wire_id for event in (await asked(model)).events if hasattr(event, "wire_id")]
    assert one != two
    assert len(one) == (9 if profile == "mistral" else 37)


@pytest.mark.parametrize(
    "reply",
    [
        httpx2.Response(200, html="<html>welcome</html>"),
        httpx2.Response(200, json={"id": "chatcmpl-1", "choices": []}),
        httpx2.Response(200, content=b"data: <html>\n\n", headers=STREAM),
        httpx2.Response(200, content=b"", headers=STREAM),
        httpx2.Response(200, content=b"data: [DONE]\n\n", headers=STREAM),
        httpx2.Response(200, content=b"upstream connect error", headers=STREAM),
        httpx2.Response(200, content=b'data: {"choices":[{"del', headers=STREAM),
        httpx2.Response(200, content=b'data: {"error":"no upstream"}\n\n', headers=STREAM),
    ],
    ids=["html", "json", "garbage", "empty", "nothing said", "text", "cut", "error"],
)
async def test_answers_that_are_no_streams(reply: httpx2.Response) -> None:
    calls = 0

    def handler(_: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        return httpx2.Response(reply.status_code, content=reply.content, headers=reply.headers)

    with pytest.raises(ProviderUnavailable):
        await asked(answering(handler))
    assert calls == 2


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ({"error": {"message": "The model `gpt` does not exist", "code": 404}}, ProviderRejected, "'gpt'"),
        ({"error": 'model "gpt" not found'}, ProviderRejected, "'gpt'"),
        ({"object": "error", "message": "Invalid model: gpt", "type": "invalid_model"}, ProviderRejected, "'gpt'"),
        ({"detail": "The model `gpt` does not exist"}, ProviderRejected, "'gpt'"),
        ({"object": "error", "message": {"detail": [{"msg": "x"}]}}, ProviderRejected, "404"),
        ({"error": [3]}, ProviderRejected, "404"),
    ],
)
async def test_error_bodies_of_all_shapes(body: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        await asked(answering(lambda _: httpx2.Response(404, json=body)))


# --- doctor -------------------------------------------------------------------------------------------------------


def listing(*names: str, one: int = 404) -> Handler:
    """A server that has a list of its models, but nothing to say about one of them."""

    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/models"):
            return httpx2.Response(200, json={"object": "list", "data": [{"id": name} for name in names]})
        return httpx2.Response(one, json={"error": {"message": "Not Found"}})

    return handler


async def test_check_reads_the_list_where_there_is_no_more() -> None:
    (finding,) = await answering(listing("other", "gpt")).check()
    assert finding.ok
    (finding,) = await answering(listing("other")).check()
    assert not finding.ok
    assert "model's name" in finding.fix
    for profile in ("llama_cpp", "azure"):
        (finding,) = await answering(listing("file.gguf"), profile=profile).check()
        assert finding.ok
    (finding,) = await answering(listing()).check()
    assert not finding.ok
    assert "base_url" in finding.fix


@pytest.mark.parametrize(
    ("reply", "fix"),
    [
        (httpx2.Response(401, json={"error": {"code": "invalid_api_key", "message": "sk-secret"}}), "OPENAI_API_KEY"),
        (httpx2.Response(404, html="<html>"), "base_url"),
        (httpx2.Response(200, html="<html>"), "base_url"),
        (httpx2.Response(502, html="<html>"), "base_url"),
    ],
)
async def test_check_names_a_fix(reply: httpx2.Response, fix: str) -> None:
    (finding,) = await answering(lambda _: reply).check()
    assert not finding.ok
    assert fix in finding.fix
    assert "secret" not in finding.detail


async def test_check_is_content_with_a_server_that_works() -> None:
    async with talking([]) as (_, thread):
        (finding,) = await thread.model.check()
    assert finding.ok


async def test_the_older_azure_client_finds_its_deployment() -> None:
    """It puts the deployment into the path only for bodies that it writes itself."""
    paths = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        return httpx2.Response(200, headers=STREAM, content=HI)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    options: dict[str, Any] = {"api_key": "k", "api_version": "2024-10-21", "http_client": http}
    for deployment in (None, "chosen"):
        client = openai.AsyncAzureOpenAI(azure_endpoint="http://127.0.0.1", azure_deployment=deployment, **options)
        await asked(OpenAIChat("my deployment", client=client, profile="azure"))
    assert paths == [
        "/openai/deployments/my deployment/chat/completions",
        "/openai/deployments/chosen/chat/completions",
    ]


def test_a_client_that_would_block_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="asynchronous"):
        OpenAIChat("gpt", client=openai.OpenAI(api_key="k"))  # type: ignore[arg-type]  # what is tested
