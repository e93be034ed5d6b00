"""The adapter as an object: what is particular to this one (see `test_every_adapter.py` for the rest)."""

import httpx2
import pytest

from agui_gate.adapter import TurnRequest
from agui_gate.errors import ConfigurationError, ProviderRejected, ProviderUnavailable
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.openai_responses.request import Mode, Shape
from tests.adapters.support import asked, user

from .subject import SUBJECT
from .support import MODES

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", MODES)
def test_the_origin_names_the_mode(mode: Mode) -> None:
    model = OpenAIResponses("gpt", base_url="http://127.0.0.1:1/v1", mode=mode)
    assert model.origin == f"openai-responses:{mode}:127.0.0.1:1:gpt"


@pytest.mark.parametrize("host", ["api.openai.com", "x.openai.azure.com"])
def test_azure_is_known_by_its_name(host: str) -> None:
    model = OpenAIResponses("gpt", base_url=f"https://{host}/openai/v1/")
    assert model.origin == f"openai-responses:chain:{host}:gpt"
    assert model._settings.newest_sealed_only == ("azure" in host)


def test_modes_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="chain, conversation, stateless"):
        OpenAIResponses("gpt", mode="chian")  # type: ignore[arg-type]


async def test_conversations_may_be_missing() -> None:
    missing = httpx2.Response(404, json={"error": {"message": "Not Found"}})
    model = SUBJECT.answering(lambda _: missing, mode="conversation")
    with pytest.raises(ProviderRejected, match="mode='chain'"):
        await asked(model)
    model = SUBJECT.answering(lambda _: httpx2.Response(200, json=["?"]), mode="conversation")
    assert isinstance(model, OpenAIResponses)
    assert model._plan(TurnRequest((user("hi"),))).shape is Shape.PLAIN
    with pytest.raises(ProviderUnavailable):
        await asked(model)
