"""An agent whose model needs a vendor's package, and what a process has by the time of a request."""

import gc
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses

agent = Agent(name="one", model=OpenAIResponses("gpt-5.4-mini", api_key="k", base_url="http://127.0.0.1:9/v1"))
gate = create_app(agent, settings=Settings(store=os.environ.get("HOSTS_STORE", "memory://"), page=False))


async def warmth(request: Request) -> JSONResponse:
    """Whether the package is imported, and how many objects are frozen."""
    return JSONResponse({"imported": "openai" in sys.modules, "frozen": gc.get_freeze_count()})


gate.router.routes.append(Route("/warmth", warmth))


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
    """As in `examples/fastapi_mount.py`."""
    async with gate.router.lifespan_context(gate):
        yield


passed_on = Starlette(routes=[Mount("/chat", gate)], lifespan=lifespan)
forgotten = Starlette(routes=[Mount("/chat", gate)])
