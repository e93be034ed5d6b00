"""Lesson 3: the person may correct a call, but only what the gate allows.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve edit_policy:agent     # "Send Ada 500 € for the flight" → Edit → 450 → Approve

`editable` names the arguments that may be changed before agreeing. The page makes its form from the question's
`responseSchema` and answers with `{"approved": true, "editedArgs": {…all arguments…}}`. An answer that changes
anything else, or doesn't fit the tool's types, is refused: nothing runs, and the question stays open. The model is told
which arguments really ran, so that it doesn't go on believing in its own.
"""

from typing import Annotated

from pydantic import Field

from agui_gate import Agent, Gate, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

SENT = []


# The limits hold for what the model says and for what the person types.
Amount = Annotated[float, Field(gt=0, le=1000, description="in euros")]


@tool(gate=Gate(editable=["amount", "note"], message="Send {amount} € to {to}?"))
def send_money(to: str, amount: Amount, note: str = "") -> dict:
    """Send money to a friend."""
    SENT.append((to, amount, note))
    return {"sent": amount, "to": to, "note": note}


agent = Agent(
    name="wallet",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You send money for the user. Say what was really sent; the user may have changed the amount.",
    tools=[send_money],
    examples=["Send Ada 500 € for the flight"],
)
