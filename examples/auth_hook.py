"""Lesson 10: who is asking? Your login decides.

    export OPENAI_API_KEY=… SESSION_SECRET=…
    cd examples
    agui-gate serve auth_hook:app
    curl -H "Cookie: session=$(python auth_hook.py alice)" http://127.0.0.1:8000/threads

`auth` gets the request and returns the principal's id, or None for 401. It may be async: look into your session table,
ask your identity provider. Threads and approvals belong to the principal: the same thread id sent by Bob is another
thread, and Alice's approvals don't exist for him. Tools find the id in `ctx.principal`.

With `auth` the server may listen on other addresses than loopback. Pages of other origins stay shut out, cookie or
not, until AGUI_GATE_CORS_ORIGINS names them. An application with `auth` asks for no token of AGUI_GATE_TOKENS: those
are for servers without one. Serve `auth_hook:app`, not `:agent`: the `auth` belongs to the `app`.
"""

import hmac
import os
import sys

from starlette.requests import Request

from agui_gate import Agent, ToolContext, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

SECRET = os.environ["SESSION_SECRET"].encode()


def session_of(user: str) -> str:
    """The cookie that your login page sets: the user's name, and our signature under it."""
    return f"{user}.{hmac.new(SECRET, user.encode(), 'sha256').hexdigest()}"


def principal(request: Request) -> str | None:
    """The user whose signed cookie this is."""
    cookie = request.cookies.get("session", "")
    user = cookie.rpartition(".")[0]
    genuine = hmac.compare_digest(cookie.encode(), session_of(user).encode())  # takes as long for a near miss
    return user if user and genuine else None


@tool
def my_orders(ctx: ToolContext) -> list[str]:
    """The user's orders."""
    return {"alice": ["A1"], "bob": ["B1", "B2"]}.get(ctx.principal, [])  # never an id that the model says


agent = Agent(
    name="orders",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You tell users about their orders.",
    tools=[my_orders],
)
app = create_app(agent, auth=principal)

if __name__ == "__main__":
    print(session_of(sys.argv[1]))
