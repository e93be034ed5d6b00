"""Lesson 7: a slow tool that shows how far it is.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve long_running:agent     # "Index the handbook"; try the stop button too

`ctx.activity(kind, content)` puts an activity message on the page; the next one of its kind changes it, so that a bar
moves instead of a list growing. It is for people: the model never gets it, and what was shown last stays in the thread.
A page draws it as it likes (CopilotKit: `renderActivityMessages`).

Stop cancels the tool at its next `await`, so clean-up belongs into `finally`. `timeout` is the most that the tool may
take, in seconds; after that the model is told that it took too long.
"""

import asyncio

from agui_gate import Agent, ToolContext, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

SECONDS_A_PAGE = 0.4
INDEX: dict[str, int] = {}


@tool(timeout=600)
async def index_document(title: str, ctx: ToolContext) -> dict:
    """Make a document searchable."""
    total = 10
    try:
        for page in range(1, total + 1):
            await asyncio.sleep(SECONDS_A_PAGE)  # stands for the work
            INDEX[title] = page
            await ctx.activity("progress", {"title": title, "done": page, "total": total})
    finally:
        if INDEX.get(title) != total:
            INDEX.pop(title, None)  # stopped, or out of time: half an index helps nobody
    return {"title": title, "pages": total}


agent = Agent(
    name="indexer",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You index documents when the user asks for it.",
    tools=[index_document],
    examples=["Index the handbook"],
)
