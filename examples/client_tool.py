"""Lesson 5: a tool that only the page can run.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve client_tool:agent               # in one terminal
    python client_tool.py http://127.0.0.1:8000     # in another: stands in for the page

A page sends its own tools with every run (CopilotKit: `useFrontendTool`). The model sees them next to the agent's, and
the server leaves their calls to the page: it streams the call, runs nothing and ends the run. The page does its part,
sends the result as a tool message with its next run, and the model goes on. The agent needs no code for any of this.
"""

import asyncio
import json
import sys
from uuid import uuid4

import httpx2

from agui_gate import Agent
from agui_gate_adapters.openai_responses import OpenAIResponses

agent = Agent(
    name="painter",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You choose colours for the user's page. Use the tools that the page offers.",
)

SET_COLOUR = {
    "name": "set_colour",
    "description": "Set the background of the user's page.",
    "parameters": {"type": "object", "properties": {"css": {"type": "string"}}, "required": ["css"]},
}


async def page(url: str, wish: str) -> list[str]:
    """What a page does, without the page: ask, do what our tool is called for, go on. Returns the colours it set."""
    thread, colours = f"painting-{uuid4()}", []
    messages = [{"id": str(uuid4()), "role": "user", "content": wish}]
    async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
        while True:
            run = {"threadId": thread, "runId": str(uuid4()), "messages": messages, "tools": [SET_COLOUR]}
            await client.post("/", json={**run, "context": [], "state": {}, "forwardedProps": {}})
            messages = (await client.get(f"/threads/{thread}")).json()["messages"]
            calls = messages[-1].get("toolCalls")
            if not calls:
                return colours
            for call in calls:
                colours.append(json.loads(call["function"]["arguments"])["css"])
                messages.append({"id": str(uuid4()), "role": "tool", "toolCallId": call["id"], "content": "It is set."})


if __name__ == "__main__":
    print(*asyncio.run(page(sys.argv[1], "Make my page look like the sea.")), sep="\n")
