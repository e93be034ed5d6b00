"""An agent of Microsoft's agent-framework over AG-UI, for the benchmark."""

from typing import Any

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient
from agent_framework_ag_ui import add_agent_framework_fastapi_endpoint
from fastapi import FastAPI


def lookup(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def create(provider: str) -> Any:
    """Returns an application whose models are at ``provider``."""
    client = OpenAIChatClient(model="bench", api_key="bench", base_url=provider)
    app = FastAPI()
    add_agent_framework_fastapi_endpoint(app, Agent(client, name="bench", tools=[lookup]), "/", single_user=True)
    return app
