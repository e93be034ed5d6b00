"""An agent of Pydantic AI over AG-UI, for the benchmark."""

from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route


def lookup(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def create(provider: str) -> Any:
    """Returns an application whose models are at ``provider``."""
    client = AsyncOpenAI(base_url=provider, api_key="bench")
    agent = Agent(OpenAIResponsesModel("bench", provider=OpenAIProvider(openai_client=client)), tools=[lookup])

    async def run(request: Request) -> Any:
        return await AGUIAdapter.dispatch_request(request, agent=agent)

    return Starlette(routes=[Route("/", run, methods=["POST"])])
