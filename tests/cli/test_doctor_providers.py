"""What the doctor and a run say about a provider that is set up wrongly, in words that say what to change."""

import asyncio
import math
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route

from agui_gate import Agent, tool
from agui_gate.adapter import Adapter, Finding
from agui_gate.cli.agent_checks import check_agent
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.common.transport import Transport
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient, connecting, serving
from tests.requirements import shows

pytestmark = pytest.mark.anyio
KEY = "sk-secret-0123456789"
PROVIDERS = {"responses": OpenAIResponses, "chat": OpenAIChat, "anthropic": AnthropicMessages}
SCHEMA = {
    "responses": ("tools[1].parameters", "invalid_function_parameters"),
    "chat": ("tools[1].function.parameters", "invalid_function_parameters"),
    "anthropic": (None, None),
}


@tool
def search(q: str) -> str:
    """Search."""
    return q


@tool
def refund(order_id: str) -> str:
    """Refund."""
    return order_id


def agent_of(name: str, url: str, model: str = "some-model") -> Agent:
    adapter: Adapter = PROVIDERS[name](model, base_url=url, api_key=KEY)
    return Agent(name="a", model=adapter, tools=[search, refund])


async def findings(agent: Agent, *, ask: bool = False) -> list[Finding]:
    async with asyncio.timeout(60):
        return [finding async for finding in check_agent(agent, ask=ask)]


async def error_of(agent: Agent) -> str:
    """The message of a run's error."""
    from agui_gate import create_app

    async with serving(create_app(agent, store="memory://")) as url, connecting() as http:
        stream = await AGUIClient(http, url).say("hello")
    assert KEY not in stream.raw
    return str(stream[-1]["message"])


@asynccontextmanager
async def pages() -> AsyncIterator[str]:
    """A web site where an API should be."""

    async def page(_: Request) -> Response:
        return HTMLResponse("<html><h1>It works!</h1></html>")

    async with serving(Starlette(routes=[Route("/{path:path}", page, methods=["GET", "POST"])])) as url:
        yield url


@asynccontextmanager
async def refusing(name: str) -> AsyncIterator[str]:
    """A provider that knows every model and refuses the schema of the second tool."""
    param, code = SCHEMA[name]
    openai = {"message": f"Invalid schema for {KEY}", "type": "invalid_request_error", "param": param, "code": code}
    text = f"tools.1.custom.input_schema: JSON schema is invalid {KEY}"
    anthropic = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}

    async def model(_: Request) -> Response:
        return JSONResponse({"id": "some-model"})

    async def refuse(_: Request) -> Response:
        return JSONResponse(anthropic if name == "anthropic" else {"error": openai}, 400)

    routes = [Route("/v1/models/{model}", model), Route("/v1/{path:path}", refuse, methods=["POST"])]
    async with serving(Starlette(routes=routes)) as url:
        yield f"{url}/v1"


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_provider_that_is_well_is_asked(name: str) -> None:
    async with serve(Emulator([{"output": [{"type": "message", "text": "well"}]}])) as url:
        found = await findings(agent_of(name, url), ask=True)
    assert [finding.ok for finding in found] == [True, True]
    assert found[1].what == "a: a request with its tools"


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_wrong_key(name: str) -> None:
    async with serve(Emulator([], api_key="another")) as url:
        (found,) = await findings(agent_of(name, url), ask=True)
        message = await error_of(agent_of(name, url))
    assert not found.ok
    assert re.search(r"Set (OPENAI|ANTHROPIC)_API_KEY", found.fix)
    assert KEY not in str(found)
    assert re.search(r"does not accept the API key.*check (OPENAI|ANTHROPIC)_API_KEY", message)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_unknown_model(name: str) -> None:
    async with serve(Emulator([], models=frozenset({"another"}))) as url:
        (found,) = await findings(agent_of(name, url), ask=True)
        message = await error_of(agent_of(name, url))
    assert (found.ok, "model's name" in found.fix) == (False, True)
    assert message == "The provider does not know the model 'some-model'."


@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_address_that_answers_html(name: str) -> None:
    async with pages() as url:
        (unasked,) = await findings(agent_of(name, f"{url}/v1"))
        found, asked = await findings(agent_of(name, f"{url}/v1"), ask=True)
        message = await error_of(agent_of(name, f"{url}/v1"))
    assert (found.ok, asked.ok, unasked.ok) == (None, False, None)
    assert unasked.fix == f"Add --ask, which asks the model. {found.fix}"
    assert re.search(r"base_url \((OPENAI|ANTHROPIC)_BASE_URL\)", found.fix)
    assert "check base_url" in message
    assert "check base_url" in asked.detail


@asynccontextmanager
async def describing_nothing(status: int, body: Any) -> AsyncIterator[str]:
    """A server that answers runs and knows no route for its models, as eight that were tried (T20)."""

    async def nothing(_: Request) -> Response:
        return HTMLResponse(body, status) if isinstance(body, str) else JSONResponse(body, status)

    emulator = Emulator([{"output": [{"type": "message", "text": "well"}], "repeat": True}])
    routes = [Route("/v1/models", nothing), Route("/v1/models/{model:path}", nothing), Mount("/", emulator.app)]
    async with serving(Starlette(routes=routes)) as url:
        yield f"{url}/v1"


NO_ROUTE = [
    (404, "<html>Cannot GET /v1/models/some-model</html>"),
    (404, {"detail": "Not Found"}),
    (404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}),
    (404, {"error": "Unknown endpoint: GET /v1/models/some-model"}),
    (405, {"detail": "Method Not Allowed"}),
    (501, {"error": {"message": "not implemented"}}),
    (400, {"error": {"message": "no fixture matches"}}),
    (200, "<html>It works!</html>"),
    (200, {"models": []}),
]


@shows("T20")
@pytest.mark.parametrize(("status", "body"), NO_ROUTE)
@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_server_that_says_nothing_about_its_models_is_not_called_broken(
    name: str, status: int, body: Any
) -> None:
    async with describing_nothing(status, body) as url:
        (unasked,) = await findings(agent_of(name, url))
        found, asked = await findings(agent_of(name, url), ask=True)
    assert (unasked.ok, found.ok, asked.ok) == (None, None, True)
    assert found.detail.startswith("can't tell: this server does not describe its models")
    assert unasked.fix.startswith("Add --ask, which asks the model. If runs fail:")


UNKNOWN: dict[str, Any] = {
    "openai": {"error": {"message": "The model `some-model` does not exist", "code": "model_not_found"}},
    "ollama": {"error": {"message": 'model "some-model" not found, try pulling it first', "type": "api_error"}},
    "vllm": {"error": {"message": "The model `some-model` does not exist.", "type": "NotFoundError", "code": 404}},
    "anthropic": {"type": "error", "error": {"type": "not_found_error", "message": "model: some-model"}},
}


@shows("T20")
@pytest.mark.parametrize("kind", UNKNOWN)
@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_server_that_knows_its_models_and_not_this_one_is_told_apart(name: str, kind: str) -> None:
    async with describing_nothing(404, UNKNOWN[kind]) as url:
        (found,) = await findings(agent_of(name, url), ask=True)
    assert (found.ok, "model's name" in found.fix) == (False, True)


@shows("T20")
@pytest.mark.parametrize("status", [401, 403, 429, 500, 502])
@pytest.mark.parametrize("name", PROVIDERS)
async def test_what_is_surely_broken_stays_so(name: str, status: int) -> None:
    async with describing_nothing(status, "<html>no</html>") as url:
        (found,) = await findings(agent_of(name, url), ask=True)
    assert found.ok is False


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_tool_that_the_provider_refuses(name: str) -> None:
    async with refusing(name) as url:
        known, refused = await findings(agent_of(name, url), ask=True)
        message = await error_of(agent_of(name, url))
    assert known.ok
    for text in (refused.detail, message):
        assert text.startswith("The provider refuses the tool 'refund' (400")
        assert KEY not in text
    assert (refused.ok, refused.fix) == (False, "Correct what it names.")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from agui_gate_adapters.common import retries

    monkeypatch.setattr(retries, "RETRY_SECONDS", (0.0, 0.0))
    return iter(())


@pytest.mark.parametrize("name", PROVIDERS)
async def test_the_time_to_load_a_package_is_not_the_provider_s(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the import of an SDK takes longer than a provider may."""
    deadlines: list[float] = []
    load = Transport.load_sdk

    async def loading(transport: Transport) -> None:
        deadlines.append(anyio.current_effective_deadline())
        await load(transport)

    monkeypatch.setattr(Transport, "load_sdk", loading)
    async with serve(Emulator()) as url:
        found = await findings(agent_of(name, url.removesuffix("/v1") if name == "anthropic" else url))
    assert [finding.ok for finding in found] == [True]
    assert deadlines == [math.inf]
