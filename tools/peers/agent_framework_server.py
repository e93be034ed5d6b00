"""Agent Framework's AG-UI endpoint behind `agui-gate check`. ``pip install agent-framework-ag-ui fastapi uvicorn``."""

import json
import os
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import uvicorn
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)
from agent_framework_ag_ui import add_agent_framework_fastapi_endpoint
from fastapi import FastAPI

CALLS = {
    "your own tools": ("search", {"q": "x"}),
    "agui_check_colour": ("agui_check_colour", {"colour": "blue"}),
    "approved": ("refund", {"order": "A1"}),
}


class Script(FunctionInvocationLayer, BaseChatClient):
    """Call the tool that the words ask for; speak otherwise."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        return self._build_response_stream(self._said(messages))

    async def _said(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        last = messages[-1]
        said = last.text if last.role == "user" else ""
        for words, (name, arguments) in CALLS.items():
            if words in said:
                call = Content.from_function_call(f"call-{uuid.uuid4()}", name, arguments=json.dumps(arguments))
                yield ChatResponseUpdate(role="assistant", contents=[call])
                return
        for _ in range(200 if "two hundred" in said else 3):
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text("word ")])


@tool
def search(q: str) -> str:
    """Search."""
    return f"found {q}"


@tool(approval_mode="always_require")
def refund(order: str) -> str:
    """Refund an order."""
    return f"refunded {order}"


app = FastAPI()
add_agent_framework_fastapi_endpoint(
    app, Agent(client=Script(), name="check", tools=[search, refund]), "/", single_user=True
)

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8903")), log_level="warning")
