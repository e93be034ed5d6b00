"""Strands' AG-UI adapter behind `agui-gate check`. ``pip install ag_ui_strands fastapi uvicorn``."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from ag_ui_strands import StrandsAgent, create_strands_app
from strands import Agent, ToolContext, tool
from strands.models.model import Model

CALLS = {
    "your own tools": ("search", {"q": "x"}),
    "agui_check_colour": ("agui_check_colour", {"colour": "blue"}),
    "approved": ("refund", {"order": "A1"}),
}


class Script(Model):
    """Call the tool that the words ask for; speak otherwise."""

    def update_config(self, **_: Any) -> None:
        """Nothing to configure."""

    def get_config(self) -> dict[str, Any]:
        """Nothing to configure."""
        return {"model_id": "script"}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Never asked for."""
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        """One turn."""
        said = " ".join(block.get("text", "") for block in messages[-1]["content"])
        known = {spec["name"] for spec in tool_specs or ()}
        yield {"messageStart": {"role": "assistant"}}
        for words, (name, arguments) in CALLS.items():
            if words in said and name in known:
                start = {"toolUse": {"name": name, "toolUseId": f"call-{uuid.uuid4()}"}}
                yield {"contentBlockStart": {"start": start}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "tool_use"}}
                return
        yield {"contentBlockStart": {"start": {}}}
        for _word in range(200 if "two hundred" in said else 3):
            yield {"contentBlockDelta": {"delta": {"text": "word "}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


@tool
def search(q: str) -> str:
    """Search."""
    return f"found {q}"


@tool(context=True)
def refund(order: str, tool_context: ToolContext) -> str:
    """Refund an order."""
    answer = tool_context.interrupt("approval", reason={"order": order})
    return f"answered {answer}"


app = create_strands_app(StrandsAgent(Agent(model=Script(), tools=[search, refund]), name="check"), "/")

if __name__ == "__main__":
    uvicorn.run(app, port=8904, log_level="warning")
