"""An agent of Strands over AG-UI, for the benchmark."""

from typing import Any

from ag_ui_strands import StrandsAgent, add_strands_fastapi_endpoint
from fastapi import FastAPI
from strands import Agent, tool
from strands.models.openai_responses import OpenAIResponsesModel


@tool
def lookup(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def create(provider: str) -> Any:
    """Returns an application whose models are at ``provider``."""
    model = OpenAIResponsesModel(client_args={"base_url": provider, "api_key": "bench"}, model_id="bench")
    app = FastAPI()
    add_strands_fastapi_endpoint(
        app, StrandsAgent(Agent(model=model, tools=[lookup], callback_handler=None), name="bench"), "/"
    )
    return app
