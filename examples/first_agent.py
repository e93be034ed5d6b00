"""Lesson 1: an agent is a model, instructions and tools.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve first_agent:agent                                  # a page and the API on http://127.0.0.1:8000
    agui-gate run first_agent:agent --message "Is it late in Tokyo?"   # or one question from the shell

A tool is a plain function. Its signature becomes the JSON Schema that the model sees, its docstring the description,
and what it returns goes back to the model as JSON. This one changes nothing, so nobody has to agree to it.
"""

from datetime import UTC, datetime, timedelta

from agui_gate import Agent, ToolError, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

HOURS_FROM_UTC = {"Lagos": 1, "Nairobi": 3, "Singapore": 8, "Tokyo": 9}


@tool
def local_time(city: str) -> dict:
    """The time and the weekday in a city."""
    if city not in HOURS_FROM_UTC:
        # A ToolError is for the model: it reads the sentence and can do better. Other exceptions tell it nothing.
        raise ToolError(f"Only these cities are known: {', '.join(HOURS_FROM_UTC)}.")
    now = datetime.now(UTC) + timedelta(hours=HOURS_FROM_UTC[city])
    return {"city": city, "time": f"{now:%H:%M}", "weekday": f"{now:%A}"}


agent = Agent(
    name="clock",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You know what time it is in a few cities. Answer in one sentence.",
    tools=[local_time],
    examples=["Is it late in Tokyo?"],
)
