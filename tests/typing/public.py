"""What people write with the public names, as a strict type checker sees it. Checked by mypy, and never run.

`assert_type` says what something is; a line with an ignore is a mistake that the checker has to find, since an ignore
that isn't needed is an error.
"""

from collections.abc import Awaitable
from typing import Any, assert_type

from ag_ui.core import CustomEvent, RunFinishedEvent
from starlette.applications import Starlette
from starlette.requests import Request

from agui_gate import Agent, Gate, PendingApprovalRegistry, Principal, Settings, Tool, ToolContext, create_app, tool
from agui_gate.adapter import Adapter
from agui_gate.session import Result
from agui_gate.store import Approval
from agui_gate.stores import open_store
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses


@tool
async def search(customer: str) -> list[dict[str, Any]]:
    """Find a customer's orders."""
    return [{"customer": customer}]


@tool(gate=Gate(editable=["amount"], expires_after=3600, message="Refund {amount}?"), timeout=5, idempotent=True)
def refund(order_id: str, amount: float, ctx: ToolContext) -> str:
    """Refund an order."""
    assert_type(ctx.state, Any)
    assert_type((ctx.thread_id, ctx.run_id, ctx.call_id, ctx.principal), tuple[str, str, str, str])
    ctx.emit(CustomEvent(name="shop.refund", value=amount))
    ctx.emit(RunFinishedEvent(thread_id="t", run_id="r"))  # type: ignore[arg-type]
    return order_id


async def big(arguments: dict[str, Any]) -> bool:
    """An async predicate."""
    return bool(arguments["amount"] > 100)


assert_type(search, Tool)
assert_type(refund, Tool)
assert_type(tool(gate=Gate(when=big))(lambda: 1), Tool)
tool(gates=True)  # type: ignore[call-overload]
Gate(["amount"])  # type: ignore[call-arg,arg-type]

responses: Adapter = OpenAIResponses("gpt-5.4-mini", mode="chain")
chat: Adapter = OpenAIChat("m", base_url="http://127.0.0.1", api_key="k")
messages: Adapter = AnthropicMessages("claude")
OpenAIResponses("gpt-5.4-mini", mode="chains")  # type: ignore[arg-type]

agent = Agent(name="support", model=responses, instructions="Help.", tools=[search, refund], hitl="card", max_turns=3)
Agent(name="support", model="openai:gpt-5.4-mini", on_unanswered="represent", on_disconnect="continue")
Agent(name="support", model=responses, hitl="cards")  # type: ignore[arg-type]


def who(request: Request) -> str | None:
    """Sync auth."""
    return request.headers.get("x-user")


async def who_async(request: Request) -> str | None:
    """Async auth."""
    return who(request)


assert_type(create_app(agent, store="memory://", auth=who), Starlette)
assert_type(create_app(agent, agent, store=MemoryStore(), auth=who_async, settings=Settings()), Starlette)
create_app(agent, auth=lambda request: 5)  # type: ignore[arg-type,return-value]

store: FullStore = SQLiteStore("a.db")
assert_type(open_store("memory://"), FullStore)

registry = PendingApprovalRegistry(max_size=10)
registry.register(("apr_1", "call_1"), "refund", "{}")
status, entry = registry.consume("apr_1", "refund", "{}")


def awaited(asked: Awaitable[object]) -> None:
    """`ctx.activity` is awaited, `ctx.emit` is not."""


def shows(ctx: ToolContext) -> None:
    """See above."""
    awaited(ctx.activity("progress", {"done": 1}))
    assert_type(ctx.emit(CustomEvent(name="a", value=1)), None)


async def in_this_process() -> None:
    """Runs without a server."""
    result = await agent.run("hello", store="memory://", thread="t", principal=Principal("ada"))
    assert_type(result, Result)
    assert_type(result.pending, tuple[Approval, ...])
    assert_type(await result.thread.decide(result.pending[0].id, {"approved": True}), Result)
    await agent.run("hello", shop="memory://")  # type: ignore[call-arg]
    async with agent.session(store=MemoryStore()) as session:
        assert_type(await session.run("hello"), Result)
    agent.session(store=1)  # type: ignore[arg-type]
