"""Who may approve? Somebody of finance, and never who asked.

    export OPENAI_API_KEY=… PEOPLE='{"TOKEN-OF-ADA": ["ada", "user"], "TOKEN-OF-CAT": ["cat", "approver", "finance"]}'
    cd examples
    agui-gate serve second_person:app
    AGUI_GATE_TOKEN=TOKEN-OF-CAT agui-gate approvals ls

`auth` returns a `Principal`, which has roles. A token of AGUI_GATE_TOKENS has none: a gate finds it by its id alone, as
in `Gate(approvers=["cat"])`. Where an application has an `auth`, those tokens aren't asked for.

Ada asks in the chat, and can't approve. Cat finds the call in the inbox (`/inbox`) and with the command above. Without
the role user she opens no chats of her own. Serve `second_person:app`, not `:agent`: the `auth` belongs to the `app`.
"""

import json
import os

from starlette.requests import Request

from agui_gate import Agent, Gate, Principal, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

PEOPLE = {token: Principal(id, roles=roles) for token, (id, *roles) in json.loads(os.environ["PEOPLE"]).items()}


def auth(request: Request) -> Principal | None:
    """Who has the token of a request."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return PEOPLE.get(token) if scheme.lower() == "bearer" else None


@tool(gate=Gate(approvers="finance", message="Refund {amount} € of order {order_id}?"))
async def refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"{amount} € refunded"


agent = Agent(name="desk", model=OpenAIResponses("gpt-5.4-mini"), instructions="You help with orders.", tools=[refund])
app = create_app(agent, auth=auth)
