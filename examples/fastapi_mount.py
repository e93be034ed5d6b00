"""Lesson 8: next to your own routes, in FastAPI.

    pip install fastapi
    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve fastapi_mount:app     # or: uvicorn fastapi_mount:app
    # http://127.0.0.1:8000/todos is FastAPI's, http://127.0.0.1:8000/agent/ is the agent's page and API

`create_app` makes an ordinary ASGI application, and FastAPI mounts those. A page asks `/agent/` (CopilotKit:
`runtimeUrl="/agent/copilotkit"`). Mind the slash: `/agent` is answered by a redirect to it (307).

Tools and routes share the process, so they share what you keep in it.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from agui_gate import Agent, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

TODOS = ["water the plants"]


@tool(gate=True)
def add_todo(text: str) -> list[str]:
    """Add something to the user's list."""
    TODOS.append(text)
    return TODOS


agent = Agent(
    name="todos",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You keep the user's to-do list.",
    tools=[add_todo],
)
gate = create_app(agent)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """Frameworks don't start what they mount. Passed on, open streams end properly when the server stops."""
    async with gate.router.lifespan_context(gate):
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/todos")
def todos() -> list[str]:
    """A route of our own."""
    return TODOS


app.mount("/agent", gate)
