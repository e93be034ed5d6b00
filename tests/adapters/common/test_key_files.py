"""Keys of providers that stand in files."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agui_gate.adapter import TurnRequest
from agui_gate.errors import ConfigurationError, ProviderAuth
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.common.failures import Failure
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.adapters.support import ANSWER, run, user

pytestmark = pytest.mark.anyio

NAMES = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
HELLO = TurnRequest((user("hi"),))


def anthropic(url: str) -> AnthropicMessages:
    return AnthropicMessages("claude", base_url=url.removesuffix("/v1"))


ADAPTERS: list[tuple[str, Callable[[str], Any]]] = [
    ("OPENAI_API_KEY", lambda url: OpenAIResponses("gpt", base_url=url)),
    ("OPENAI_API_KEY", lambda url: OpenAIChat("gpt", base_url=url)),
    ("AZURE_OPENAI_API_KEY", lambda url: OpenAIResponses.azure("gpt", endpoint=url)),
    ("AZURE_OPENAI_API_KEY", lambda url: OpenAIResponses.foundry("gpt", endpoint=url)),
    ("ANTHROPIC_API_KEY", anthropic),
    ("ANTHROPIC_AUTH_TOKEN", anthropic),
]
of_each = pytest.mark.parametrize(("name", "make"), ADAPTERS)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@of_each
async def test_each_request_has_the_key_that_the_file_has_now(
    name: str,
    make: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """While the file is gone the key before counts, and the log says so once."""
    path = tmp_path / "key"
    path.write_text("# ours\nsk-1\n")
    monkeypatch.setenv(f"{name}_FILE", str(path))
    emulator = Emulator([ANSWER | {"repeat": True}])
    async with serve(emulator) as url:
        model = make(url)
        for number in (1, 2):
            path.write_text(f"sk-{number}\n")
            emulator.api_key = f"sk-{number}"
            assert (await run(model, HELLO)).text == "Sunny in both."
        path.unlink()
        for _ in range(2):
            assert (await run(model, HELLO)).text == "Sunny in both."
        await model.aclose()
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert said == [f"The file that {name}_FILE names can't be read: No such file or directory. The key before counts."]


@of_each
@pytest.mark.parametrize(
    ("content", "key", "told"),
    [
        (None, "", "The file that {}_FILE names can't be read: No such file or directory."),
        ("s3cr3t\ns3cr3t\n", "", "The file that {}_FILE names has 2 lines. It needs one."),
        ("", "", "The file that {}_FILE names is empty."),
        ("s3cr3t\n", "s3cr3t", "Set {0} or {0}_FILE, not both."),
    ],
)
async def test_a_file_without_a_key_is_one_sentence(
    name: str,
    make: Callable[[str], Any],
    content: str | None,
    key: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "s3cr3t"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv(f"{name}_FILE", str(path))
    monkeypatch.setenv(name, key)
    with pytest.raises((ConfigurationError, Failure)) as refused:
        await make("http://127.0.0.1:1/v1")._transport.client()
    error = refused.value.error if isinstance(refused.value, Failure) else refused.value
    assert isinstance(error, ConfigurationError | ProviderAuth)
    assert error.message == told.format(name)


async def test_a_key_in_code_goes_before_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(tmp_path / "none"))
    async with serve(Emulator([ANSWER], api_key="sk-mine")) as url:
        model = OpenAIResponses("gpt", base_url=url, api_key="sk-mine")
        assert (await run(model, HELLO)).text == "Sunny in both."
        await model.aclose()
