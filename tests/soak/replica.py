"""What each replica of a soak serves: `agui-gate serve tests.soak.replica:app`, with its settings in the environment.

Its tools write what they did into the file ``SOAK_EFFECTS``. ``GET /soak`` tells what the process holds.
"""

import asyncio
import gc
import os
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from agui_gate import Agent, Gate, ToolContext, create_app, tool
from agui_gate.extension import Extension, Server
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.crash.replica import Effects

effects = Effects(os.environ["SOAK_EFFECTS"])
trace.set_tracer_provider(TracerProvider())  # spans are made, and nobody is sent them


@tool
async def look(order_id: str) -> str:
    """Look at an order."""
    return f"looked at {order_id}"


@tool(gate=Gate(expires_after=120, remind=[20], editable=["order_id"]))
async def refund(order_id: str, ctx: ToolContext) -> str:
    """Refund an order."""
    await asyncio.sleep(0.02)
    effects.note("refund", order_id, ctx.idempotency_key)
    return f"refunded {order_id}"


@tool(gate=True)
def ship(order_id: str, ctx: ToolContext) -> str:
    """Ship an order, in a thread of its own."""
    effects.note("ship", order_id, ctx.idempotency_key)
    return f"shipped {order_id}"


class Holdings(Extension):
    """Tells what this process holds."""

    def routes(self, server: Server) -> Sequence[BaseRoute]:
        """``GET /soak``; with ``?kinds`` also how many objects there are of each kind."""

        async def show(request: Request) -> JSONResponse:
            await server.principal(request)
            found: dict[str, Any] = {
                "pid": os.getpid(),
                "tasks": len(asyncio.all_tasks()),
                "threads": threading.active_count(),
            }
            if "kinds" in request.query_params:
                gc.collect()
                kinds = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
                found["kinds"] = dict(kinds.most_common(400))
            return JSONResponse(found)

        return [Route("/soak", show)]


agent = Agent(name="support", model=OpenAIResponses("gpt-5.4-mini"), tools=[look, refund, ship])
app = create_app(agent, extensions=[Holdings()])
