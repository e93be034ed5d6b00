"""The adapter as an object: what it costs to make, what it is called, whose client it uses, what `doctor` hears."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from agui_gate.adapter import Adapter, TurnRequest
from agui_gate.errors import ConfigurationError, ProviderAuth, ProviderRejected, ProviderUnavailable
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.openai_responses.request import Shape

from .support import ANSWER, Thread, run, talking, user

pytestmark = pytest.mark.anyio
Handler = Callable[[httpx2.Request], httpx2.Response]


def answering(handler: Handler, **options: Any) -> OpenAIResponses:
    """An adapter whose provider is a function."""
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    client = openai.AsyncOpenAI(base_url="http://127.0.0.1/v1", api_key="sk-secret", http_client=http)
    return OpenAIResponses("gpt", client=client, **options)


def test_it_is_an_adapter() -> None:
    assert isinstance(OpenAIResponses("gpt"), Adapter)


def test_making_one_imports_no_sdk() -> None:
    code = (
        "import sys; from agui_gate_adapters.openai_responses import OpenAIResponses; OpenAIResponses('gpt');"
        "sys.exit(any(name in sys.modules for name in ('openai', 'httpx2')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    model = OpenAIResponses("gpt", api_key="k")
    with pytest.raises(ProviderRejected, match=r"^The package openai is not installed: pip install openai\.$"):
        await run(model, TurnRequest((user("hi"),)))
    (finding,) = await model.check()
    assert finding.fix == "pip install openai"


@pytest.mark.parametrize(
    ("base_url", "origin"),
    [
        (None, "openai-responses:chain:api.openai.com:gpt"),
        ("http://user:pw@127.0.0.1:8099/v1?key=1", "openai-responses:chain:127.0.0.1:8099:gpt"),
        ("https://x.openai.azure.com/openai/v1/", "openai-responses:chain:x.openai.azure.com:gpt"),
    ],
)
def test_origin(base_url: str | None, origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    model = OpenAIResponses("gpt", base_url=base_url)
    assert model.origin == origin
    assert model._settings.newest_sealed_only == ("azure" in origin)
    assert "pw" not in repr(model)


def test_the_environment_names_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere:1/v1")
    assert OpenAIResponses("gpt", mode="stateless").origin == "openai-responses:stateless:elsewhere:1:gpt"


def test_modes_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="chain, conversation, stateless"):
        OpenAIResponses("gpt", mode="chian")  # type: ignore[arg-type]


async def test_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = OpenAIResponses("gpt", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ProviderAuth, match="OPENAI_API_KEY"):
        await run(model, TurnRequest((user("hi"),)))
    (finding,) = await model.check()
    assert not finding.ok
    assert "OPENAI_API_KEY" in finding.fix


async def test_a_caller_s_client_stays_open() -> None:
    async with talking([ANSWER, ANSWER]) as (_, thread):
        client = openai.AsyncOpenAI(base_url=str(thread.model._transport._base_url), api_key="k")
        model = OpenAIResponses("gpt-test", client=client)
        mine = Thread(model)
        for _ in range(2):
            mine.say("hi")
            assert (await mine.turn()).text == "Sunny in both."
            await model.aclose()
        await client.close()


async def test_what_is_sent() -> None:
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        body = b'data: {"type":"response.completed","response":{"id":"resp_1"}}'
        return httpx2.Response(200, content=body, headers={"content-type": "text/event-stream; charset=utf-8"})

    turn = await run(answering(handler), TurnRequest((user("hi"),)))
    assert turn.done.ref is not None
    (request,) = seen
    assert request.url == "http://127.0.0.1/v1/responses"
    assert request.headers["authorization"] == "Bearer sk-secret"
    assert request.headers["accept-encoding"] == "identity"
    assert b"null" not in request.content


@pytest.mark.parametrize(
    "reply",
    [
        httpx2.Response(200, html="<html>welcome</html>"),
        httpx2.Response(200, json={"id": "resp_1"}),
        httpx2.Response(200, content=b"data: <html>\n\n", headers={"content-type": "text/event-stream"}),
        httpx2.Response(200, content=b"", headers={"content-type": "text/event-stream"}),
        httpx2.Response(200, content=b'data: {"type":"resp', headers={"content-type": "text/event-stream"}),
    ],
    ids=["html", "json", "garbage", "empty", "cut"],
)
async def test_answers_that_are_no_streams(reply: httpx2.Response) -> None:
    calls = 0

    def handler(_: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        return httpx2.Response(reply.status_code, content=reply.content, headers=reply.headers)

    async def at_once(_: float) -> None: ...

    model = answering(handler)
    model._sleep = at_once
    with pytest.raises(ProviderUnavailable):
        await run(model, TurnRequest((user("hi"),)))
    assert calls == 2


async def test_conversations_may_be_missing() -> None:
    model = answering(lambda _: httpx2.Response(404, json={"error": {"message": "Not Found"}}), mode="conversation")
    with pytest.raises(ProviderRejected, match="mode='chain'"):
        await run(model, TurnRequest((user("hi"),)))
    model = answering(lambda _: httpx2.Response(200, json=["?"]), mode="conversation")
    assert model._plan(TurnRequest((user("hi"),))).shape is Shape.PLAIN
    with pytest.raises(ProviderUnavailable):
        await run(model, TurnRequest((user("hi"),)))


async def test_what_is_not_json_is_refused_before_it_is_sent() -> None:
    model = answering(lambda _: httpx2.Response(500))
    with pytest.raises(ProviderRejected, match="JSON"):
        await run(model, TurnRequest((user("\ud800"),)))


@pytest.mark.parametrize(
    ("reply", "fix"),
    [
        (httpx2.Response(401, json={"error": {"code": "invalid_api_key", "message": "sk-secret"}}), "OPENAI_API_KEY"),
        (httpx2.Response(404, json={"error": {"code": "model_not_found", "message": "x"}}), "model's name"),
        (httpx2.Response(404, html="<html>"), "base_url"),
        (httpx2.Response(200, html="<html>"), "base_url"),
        (httpx2.Response(502, html="<html>"), "base_url"),
        (httpx2.Response(429, json={"error": {"code": "insufficient_quota", "message": "x"}}), "quota"),
    ],
)
async def test_check_names_a_fix(reply: httpx2.Response, fix: str) -> None:
    (finding,) = await answering(lambda _: reply).check()
    assert not finding.ok
    assert fix in finding.fix
    assert "secret" not in finding.detail


async def test_check_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio

    async def hang(_: httpx2.Request) -> httpx2.Response:
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr("agui_gate_adapters.common.doctor.LIMIT_SECONDS", 0.05)
    (finding,) = await answering(hang).check()  # type: ignore[arg-type]
    assert not finding.ok
    assert "no answer" in finding.detail
