"""An agent of LangChain on LangGraph over AG-UI, as its own integration sets it up, for the benchmark."""

from typing import Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver


def lookup(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def create(provider: str) -> Any:
    """Returns an application whose models are at ``provider``."""
    model = ChatOpenAI(model="bench", api_key="bench", base_url=provider, use_responses_api=True, streaming=True)
    graph = create_agent(model, tools=[lookup], checkpointer=InMemorySaver())
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="bench", graph=graph), "/")
    return app
