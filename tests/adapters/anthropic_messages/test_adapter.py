"""The adapter as an object: what it costs to make, what it is called, whose client it uses, what `doctor` hears."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import msgspec
import pytest

from agui_gate.adapter import Adapter, TurnRequest
from agui_gate.errors import ConfigurationError, ProviderAuth, ProviderRejected, ProviderUnavailable
from agui_gate_adapters.anthropic_messages import AnthropicMessages

from .support import ANSWER, ENABLED, Thread, ended, frame, run, started, talking, text, user

pytestmark = pytest.mark.anyio
Handler = Callable[[httpx2.Request], httpx2.Response]
STREAM = {"content-type": "text/event-stream; charset=utf-8"}


def answering(handler: Handler, **options: Any) -> AnthropicMessages:
    """An adapter whose provider is a function."""
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    client = anthropic.AsyncAnthropic(base_url="http://127.0.0.1", api_key="sk-secret", http_client=http)
    return AnthropicMessages("claude", client=client, **options)


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("API_KEY", "AUTH_TOKEN", "PROFILE", "CONFIG_DIR", "FEDERATION_RULE_ID"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


def test_it_is_an_adapter() -> None:
    assert isinstance(AnthropicMessages("claude"), Adapter)


def test_making_one_imports_no_sdk() -> None:
    code = (
        "import sys; from agui_gate_adapters.anthropic_messages import AnthropicMessages; AnthropicMessages('claude');"
        "sys.exit(any(name in sys.modules for name in ('anthropic', 'httpx2')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    model = AnthropicMessages("claude", api_key="k")
    with pytest.raises(ProviderRejected, match=r"not installed: pip install 'agui-gate\[anthropic\]'\.$"):
        await run(model, TurnRequest((user("hi"),)))
    (finding,) = await model.check()
    assert finding.fix == "pip install 'agui-gate[anthropic]'"


@pytest.mark.parametrize(
    ("base_url", "host"),
    [
        (None, "api.anthropic.com"),
        ("http://user:pw@127.0.0.1:8099/v1?key=1", "127.0.0.1:8099"),
        ("http://127.0.0.1:8099/v1/", "127.0.0.1:8099"),
    ],
)
def test_origin(base_url: str | None, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    model = AnthropicMessages("claude", base_url=base_url)
    assert model.origin == f"anthropic-messages:{host}:claude"
    assert "pw" not in repr(model)


def test_the_environment_names_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://elsewhere:1/v1")
    assert AnthropicMessages("claude").origin == "anthropic-messages:elsewhere:1:claude"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"thinking": ENABLED, "max_output_tokens": 2048}, "budget_tokens"),
        ({"thinking": ENABLED, "temperature": 0.5}, "temperature"),
        ({"thinking": {"type": "adaptive"}, "temperature": 0.0}, "temperature"),
        ({"thinking": {"budget_tokens": 1}}, "such as"),
        ({"thinking": {"type": "enabled", "budget_tokens": "many"}}, "such as"),
    ],
)
def test_settings_that_exclude_each_other(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        AnthropicMessages("claude", **options)


def test_thinking_does_not_eat_the_answer() -> None:
    assert AnthropicMessages("claude", thinking=ENABLED)._settings.max_tokens == 8192 + 2048
    assert AnthropicMessages("claude", thinking=ENABLED, max_output_tokens=3000)._settings.max_tokens == 3000


@pytest.mark.usefixtures("no_credentials")
async def test_no_key() -> None:
    model = AnthropicMessages("claude", base_url="http://127.0.0.1:9")
    with pytest.raises(ProviderAuth, match=r"^There is no API key: set ANTHROPIC_API_KEY or pass api_key\.$"):
        await run(model, TurnRequest((user("hi"),)))
    (finding,) = await model.check()
    assert not finding.ok
    assert "ANTHROPIC_API_KEY" in finding.fix


@pytest.mark.usefixtures("no_credentials")
async def test_a_profile_that_can_t_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_PROFILE", "nowhere")
    with pytest.raises(ProviderAuth, match="could not be had"):
        await run(AnthropicMessages("claude", base_url="http://127.0.0.1:9"), TurnRequest((user("hi"),)))


@pytest.mark.usefixtures("no_credentials")
async def test_a_caller_s_client_without_a_key() -> None:
    async with anthropic.AsyncAnthropic(base_url="http://127.0.0.1:9") as client:
        with pytest.raises(ProviderAuth):
            await run(AnthropicMessages("claude", client=client), TurnRequest((user("hi"),)))


@pytest.mark.usefixtures("no_credentials")
async def test_a_token_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking([ANSWER]) as (_, thread):
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "t")
        model = AnthropicMessages("claude", base_url=thread.model._transport._base_url)
        assert (await run(model, TurnRequest((user("hi"),)))).text == "Sunny in both."
        await model.aclose()


async def test_a_caller_s_client_stays_open() -> None:
    async with talking([ANSWER, ANSWER]) as (_, thread):
        client = anthropic.AsyncAnthropic(base_url=thread.model._transport._base_url, api_key="k")
        model = AnthropicMessages("claude-test", client=client)
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
        body = b"".join(map(frame, [started(), *text(0, "Hi"), *ended()]))
        return httpx2.Response(200, content=body, headers=STREAM)

    turn = await run(answering(handler), TurnRequest((user("hi"),)))
    assert turn.text == "Hi"
    (request,) = seen
    assert request.url == "http://127.0.0.1/v1/messages"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["anthropic-version"]
    assert b"null" not in request.content
    assert "temperature" not in msgspec.json.decode(request.content)


async def test_temperature_asks_for_the_version_that_has_it() -> None:
    async with talking([ANSWER], temperature=0.5) as (emulator, thread):
        thread.say("hi")
        await thread.turn()
    assert emulator.refusals == []


@pytest.mark.parametrize(
    "reply",
    [
        httpx2.Response(200, html="<html>welcome</html>"),
        httpx2.Response(200, json={"id": "msg_1"}),
        httpx2.Response(200, content=b"data: <html>\n\n", headers=STREAM),
        httpx2.Response(200, content=b"", headers=STREAM),
        httpx2.Response(200, content=b'data: {"type":"mess', headers=STREAM),
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


@pytest.mark.parametrize("body", ["oops", {"error": "oops"}, {"message": "model: x"}, []])
async def test_errors_in_another_shape(body: Any) -> None:
    model = answering(lambda _: httpx2.Response(400, json=body))
    with pytest.raises(ProviderRejected, match="400"):
        await run(model, TurnRequest((user("hi"),)))


async def test_check_is_content_with_a_provider_that_works() -> None:
    async with talking([]) as (_, thread):
        (finding,) = await thread.model.check()
    assert finding.ok, finding.detail


async def test_check_names_a_model_that_is_not_there() -> None:
    async with talking([], emulator={"models": ["claude-other"]}) as (_, thread):
        (finding,) = await thread.model.check()
    assert not finding.ok
    assert "model" in finding.fix
