"""Lesson 9: two agents under one path of a Starlette application.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve starlette_mount:app     # or: uvicorn starlette_mount:app

    POST /assistants/                  the first agent
    POST /assistants/agents/writer     one by its name
    GET  /assistants/agents            which there are

Everything the server offers moves under the path with it: page, threads, approvals and the routes for CopilotKit.
"""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from agui_gate import Agent, create_app
from agui_gate_adapters.openai_responses import OpenAIResponses

model = OpenAIResponses("gpt-5.4-mini")  # agents may share one
writer = Agent(name="writer", model=model, instructions="You write short texts.")
critic = Agent(name="critic", model=model, instructions="You say kindly what is wrong with a text.")
assistants = create_app(critic, writer)


async def home(request: Request) -> PlainTextResponse:
    """A route of our own."""
    return PlainTextResponse("The assistants are at /assistants/.")


app = Starlette(
    routes=[Route("/", home), Mount("/assistants", assistants)],
    # Frameworks don't start what they mount. Passed on, open streams end properly when the server stops.
    lifespan=lambda app: assistants.router.lifespan_context(assistants),
)
