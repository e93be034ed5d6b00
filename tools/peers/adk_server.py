"""ADK's AG-UI adapter behind `agui-gate check`. ``pip install ag_ui_adk uvicorn``."""

import os
import uuid
from collections.abc import AsyncGenerator

import uvicorn
from ag_ui_adk import ADKAgent, AGUIToolset, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types

CALLS = {
    "your own tools": ("search", {"q": "x"}),
    "agui_check_colour": ("agui_check_colour", {"colour": "blue"}),
    "approved": ("refund", {"order": "A1"}),
}


class Script(BaseLlm):
    """Call the tool that the words ask for; speak otherwise."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One turn."""
        last = llm_request.contents[-1]
        said = " ".join(part.text or "" for part in last.parts or ()) if last.role == "user" else ""
        for words, (name, arguments) in CALLS.items():
            if words in said and name in llm_request.tools_dict:
                call = types.FunctionCall(id=f"call-{uuid.uuid4()}", name=name, args=arguments)
                yield LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=call)]))
                return
        count = 200 if "two hundred" in said else 3
        if stream:
            for _ in range(count):
                yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="word ")]), partial=True)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="word " * count)]))


def search(q: str) -> str:
    """Search."""
    return f"found {q}"


def refund(order: str) -> str:
    """Refund an order."""
    return f"refunded {order}"


tools = [search, FunctionTool(refund, require_confirmation=True), AGUIToolset()]
agent = LlmAgent(name="check", model=Script(model="script"), instruction="Help.", tools=tools)
app = FastAPI()
add_adk_fastapi_endpoint(
    app, ADKAgent(adk_agent=agent, app_name="check", user_id="u", use_in_memory_services=True), path="/"
)

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8907")), log_level="warning")
