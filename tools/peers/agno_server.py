"""Agno behind `agui-gate check`, at `/agui`. ``pip install agno ag-ui-protocol openai fastapi python-multipart``."""

import os

import uvicorn
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike
from agno.os import AgentOS
from agno.os.interfaces.agui import AGUI
from agno.tools import tool
from chat_stub import MODEL, served

PORT = int(os.environ.get("PORT", "8905"))


@tool
def search(q: str) -> str:
    """Search."""
    return f"found {q}"


@tool(requires_confirmation=True)
def refund(order: str) -> str:
    """Refund an order."""
    return f"refunded {order}"


model = OpenAILike(id=MODEL, base_url=served(PORT + 100), api_key="k")
agent = Agent(name="check", model=model, tools=[search, refund], db=InMemoryDb(), telemetry=False)
app = AgentOS(agents=[agent], interfaces=[AGUI(agent=agent)], telemetry=False).get_app()

if __name__ == "__main__":
    uvicorn.run(app, port=PORT, log_level="warning")
