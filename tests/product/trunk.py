"""Programs for `test_trunk_alone.py`, each in a process of its own, one of them without the folder of the extras.

    python -m tests.product.trunk write|main|read DATABASE

What it finds out is printed as JSON.
"""

import asyncio
import json
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agui_gate import Agent, Gate, LastRounds, ToolContext, create_app, tool
from agui_gate import adapter as ad
from tests.bench.provider import event, frames
from tests.product.inprocess import Json, Parrot, calls, request, run, run_body, says, started, user

THREADS = ("with a state", "handed off", "with a task", "with a preview")
RAN: list[float] = []


class Cart(BaseModel):
    """A shared state."""

    items: list[str] = []


@tool(gate=Gate(editable=["amount"]))
async def refund(order_id: str, amount: float = 5) -> str:
    """Refund an order."""
    RAN.append(amount)
    return f"refunded {amount:g}"


@tool
async def pack(item: str, ctx: ToolContext) -> str:
    """Pack an item."""
    await ctx.activity("packing", {"item": item})
    ctx.state.items.append(item)
    return "packed"


@tool(gate=True, streams_to="draft")
async def publish(text: str) -> str:
    """Publish a text."""
    return text


def turn(*events: Any) -> list[Any]:
    """A whole turn."""
    return [*events, ad.TurnDone()]


async def write(database: str) -> Json:
    """Threads that have entries of every extra."""
    clerk = Agent(name="clerk", model=Parrot([turn(*calls("refund", {"order_id": "A1"}))]), tools=[refund])
    billing = Agent(name="billing", model=Parrot([turn(*says("Billing here."))]))
    plan = [
        turn(*says("Hello.")),
        turn(*calls("pack", {"item": "milk"})),
        turn(*says("Packed.")),
        turn(*calls("transfer_to_billing", {})),
        turn(*calls("clerk", {"task": "Refund A1."})),
        turn(*calls("publish", {"text": "News"})),
    ]
    support = Agent(
        name="support",
        model=Parrot(plan),
        instructions=lambda situation: f"Items: {situation.state.items}",
        tools=[pack, publish, clerk.as_tool()],
        handoffs=[billing],
        history=LastRounds(1),
        state=Cart,
    )
    async with started(create_app(support, store=f"sqlite:///{database}")) as app:
        hello = user("hello", "m1")
        await posted(app, run_body(THREADS[0], hello, state={"items": []}))
        await posted(app, run_body(THREADS[0], hello, user("pack milk", "m2"), state={"items": []}))
        for thread in THREADS[1:]:
            await posted(app, run_body(thread, user("go on", "m1")))
        return {"threads": await threads(app), "journal": journal(database)}


async def read(database: str) -> Json:
    """What a server without extras tells of these threads, and what becomes of runs on them."""
    support = Agent(name="support", model=Parrot([turn(*says("Back."))] * 4), tools=[refund])
    async with started(create_app(support, store=f"sqlite:///{database}")) as app:
        found: Json = {"threads": await threads(app), "journal": journal(database)}
        connected = await request(app, "POST", "/agents/support/connect", json.dumps(run_body(THREADS[0])).encode())
        found["connected"] = connected.events()
        found["runs"] = [await posted(app, run_body(thread, user("and now?", "m9"))) for thread in THREADS]
        found["after"] = journal(database)
        return found


async def main(database: str) -> Json:
    """The main job with a real adapter: a question by card, its answer, the resumed run, and a reload."""
    import httpx2
    import openai

    from agui_gate_adapters.openai_responses import OpenAIResponses

    def answer(asked: httpx2.Request) -> httpx2.Response:
        body = b"".join(frames(2) if b"function_call_output" in asked.content else call_frames())
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    http = openai.DefaultAsyncHttpxClient(transport=httpx2.MockTransport(answer))
    client = openai.AsyncOpenAI(api_key="k", base_url="http://127.0.0.1/v1", http_client=http)
    support = Agent(name="support", model=OpenAIResponses("m", client=client), tools=[refund])
    cards = [{"name": "confirm_changes", "description": "Ask", "parameters": {"type": "object"}}]
    async with started(create_app(support, store=f"sqlite:///{database}")) as app:
        first = await posted(app, run_body("t", user("refund A1", "m1"), tools=cards))
        card = next(e for e in first if e.get("toolCallName") == "confirm_changes")
        pending = (await request(app, "GET", "/approvals")).json()["approvals"]
        said = {"id": "m2", "role": "tool", "toolCallId": card["toolCallId"], "content": '{"accepted": true}'}
        second = await posted(app, run_body("t", user("refund A1", "m1"), said, tools=cards))
        return {
            "pending": [one["tool"] for one in pending],
            "ran": RAN,
            "ends": [first[-1]["type"], second[-1]["type"]],
            "results": [e["content"] for e in second if e["type"] == "TOOL_CALL_RESULT"],
            "reload": (await threads(app, ["t"]))["t"],
            "page": (await request(app, "GET", "/")).status,
            "loaded": [name for name in sys.modules if name.startswith("agui_gate.extras.")],
        }


def call_frames() -> Sequence[bytes]:
    """An answer of the Responses API that calls `refund`."""
    arguments = '{"order_id":"A1","amount":7}'
    item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "refund", "status": "completed"}
    ids = {"item_id": "fc_1", "output_index": 0}
    created, *_, completed = frames(1)
    return [
        created,
        event("response.output_item.added", output_index=0, item={**item, "arguments": ""}, sequence_number=1),
        event("response.function_call_arguments.done", **ids, arguments=arguments, sequence_number=2),
        event("response.output_item.done", output_index=0, item={**item, "arguments": arguments}, sequence_number=3),
        completed,
    ]


async def posted(app: Any, body: Json) -> list[Json]:
    """The events of a run; of one that got no stream, its answer."""
    answer = await run(app, body)
    return answer.events() if answer.status == 200 else [{"status": answer.status, **answer.json()}]


async def threads(app: Any, names: Sequence[str] = THREADS) -> Json:
    """What is told of each thread."""
    return {name: (await request(app, "GET", f"/threads/{name}")).json() for name in names}


def journal(database: str) -> dict[str, list[str]]:
    """The saved bytes of each thread's journal and state."""
    with sqlite3.connect(database) as db:
        rows = db.execute("SELECT id, seq, hex(body) FROM journal JOIN threads ON key = thread ORDER BY id, seq")
        found: dict[str, list[str]] = {}
        for name, _, body in rows:
            found.setdefault(name, []).append(body)
        return found


if __name__ == "__main__":
    work = {"write": write, "read": read, "main": main}[sys.argv[1]]
    sys.stdout.write(json.dumps(asyncio.run(work(str(Path(sys.argv[2]).resolve())))))
