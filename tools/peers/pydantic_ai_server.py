"""Pydantic AI's AG-UI adapter behind `agui-gate check`. ``pip install 'pydantic-ai-slim[ag-ui]' uvicorn``."""

import os
from collections.abc import AsyncIterator

import uvicorn
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

CALLS = {
    "your own tools": ("search", '{"q": "x"}'),
    "agui_check_colour": ("agui_check_colour", '{"colour": "blue"}'),
    "approved": ("refund", '{"order": "A1"}'),
}


async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """Call the tool that the words ask for; speak otherwise."""
    last = messages[-1].parts[-1]
    known = {tool.name for tool in info.function_tools}
    said = str(last.content) if isinstance(last, UserPromptPart) and not isinstance(last, ToolReturnPart) else ""
    for words, (name, arguments) in CALLS.items():
        if words in said and name in known:
            yield {0: DeltaToolCall(name=name, json_args=arguments, tool_call_id=f"call-{name}-{id(messages)}")}
            return
    for _ in range(200 if "two hundred" in said else 3):
        yield "word "


agent = Agent(FunctionModel(stream_function=script), output_type=[str, DeferredToolRequests])


@agent.tool_plain
def search(q: str) -> str:
    """Search."""
    return f"found {q}"


@agent.tool_plain(requires_approval=True)
def refund(order: str) -> str:
    """Refund an order."""
    return f"refunded {order}"


async def run(request: Request) -> Response:
    """One run."""
    return await AGUIAdapter.dispatch_request(request, agent=agent)


if __name__ == "__main__":
    uvicorn.run(
        Starlette(routes=[Route("/", run, methods=["POST"])]),
        port=int(os.environ.get("PORT", "8901")),
        log_level="warning",
    )
