"""Traces with what was said, without card numbers, and without what tools are given and say.

    opentelemetry-instrument agui-gate serve redacted:app

Without `SpanContent`, no message is in any span.
"""

import re
from typing import Any

from agui_gate import Agent, create_app, tool
from agui_gate.telemetry import Kind, SpanContent
from agui_gate_adapters.openai_responses import OpenAIResponses

CARD = re.compile(r"\b(?:\d[ -]?){13,19}\b")


def redact(kind: Kind, value: Any) -> Any:
    """What is recorded in the place of a text, or of a message: `{"role", "parts"}`."""
    if kind in ("arguments", "result"):
        return None
    if isinstance(value, str):
        return CARD.sub("(card)", value)
    return value | {"parts": [_part(part) for part in value["parts"]]}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] in ("text", "reasoning"):
        return part | {"content": CARD.sub("(card)", part["content"])}
    return {name: value for name, value in part.items() if name not in ("arguments", "response")}


@tool(gate=True)
async def refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"{amount} € refunded"


agent = Agent(name="support", model=OpenAIResponses("gpt-5.4-mini"), tools=[refund])
app = create_app(agent, extensions=[SpanContent(redact)])
