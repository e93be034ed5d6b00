"""An agent behind a real provider's API (`OPENAI_BASE_URL`), with tools that never return."""

import asyncio
import sys
import threading
from pathlib import Path

from agui_gate import Agent, tool
from agui_gate_adapters.openai_responses import OpenAIResponses


def note(text: str) -> None:
    """Tell whoever watches the terminal, and whoever looks at the disk later."""
    with Path("notes.txt").open("a") as file:
        file.write(f"{text}\n")
    print(f"[{text}]", file=sys.stderr, flush=True)


@tool
async def dig(place: str) -> str:
    """Dig for ever."""
    note(f"digging {place}")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        note(f"stopped {place}")
        raise
    return "never"


@tool
def grind(what: str) -> str:
    """Grind for ever, in a thread that nobody can stop."""
    note(f"grinding {what}")
    threading.Event().wait()
    return "never"


@tool
def look(place: str) -> str:
    """Look around."""
    return f"a hole in {place}"


@tool(gate=True)
async def blast(place: str) -> str:
    """Blast for ever, if allowed."""
    note(f"blasting {place}")
    await asyncio.Event().wait()
    return "never"


agent = Agent(name="desk", model=OpenAIResponses("gpt-5.4-mini", api_key="k"), tools=[dig, grind, look, blast])
