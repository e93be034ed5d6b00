"""agui-gate itself behind `agui-gate check`, with the emulator as its provider. `AGUI_GATE_DIALECT` counts."""

import asyncio

import uvicorn

from agui_gate import Agent, Gate, create_app, tool
from agui_gate.config.settings import load_settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve

CALLS = {
    "your own tools": ("search", {"q": "x"}),
    "agui_check_colour": ("agui_check_colour", {"colour": "blue"}),
    "approved": ("refund", {"order": "A1"}),
}
WORDS = {"type": "message", "deltas": ["word "] * 3}
SCRIPT = [
    *({"when": {"has_output_for": name}, "output": [WORDS], "repeat": True} for name, _ in CALLS.values()),
    *(
        {
            "when": {"user": words},
            "output": [{"type": "function_call", "name": name, "arguments": arguments}],
            "repeat": True,
        }
        for words, (name, arguments) in CALLS.items()
    ),
    {"when": {"user": "two hundred"}, "output": [{"type": "message", "deltas": ["word "] * 200}], "repeat": True},
    {"output": [WORDS], "repeat": True},
]


@tool
def search(q: str) -> str:
    """Search."""
    return f"found {q}"


@tool(gate=Gate())
def refund(order: str) -> str:
    """Refund an order."""
    return f"refunded {order}"


async def main() -> None:
    """Serve until stopped."""
    async with serve(Emulator(script=SCRIPT)) as provider:
        model = OpenAIResponses("script", base_url=provider, api_key="none")
        app = create_app(
            Agent(name="check", model=model, tools=[search, refund]), store="memory://", settings=load_settings()
        )
        await uvicorn.Server(uvicorn.Config(app, port=8900, log_level="error")).serve()


if __name__ == "__main__":
    asyncio.run(main())
