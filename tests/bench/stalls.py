"""How long heavy requests keep the event loop from everybody else: a heartbeat in the loop, and what it misses.

    python -m tests.bench.stalls

Requests go straight into the application, so that nothing but the server's own work is in the loop. The store is
SQLite, whose work is on a thread of its own: what it takes of the loop's time (the interpreter's lock) counts.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from agui_gate import Agent, ToolContext, create_app, tool
from agui_gate.adapter import TurnDone
from agui_gate.config.settings import Settings
from agui_gate.core.transcript import Text, UserEntry
from agui_gate.stores.base import Change
from tests.bench import asking
from tests.bench.heart import GOAL, Heartbeat, as_served
from tests.bench.report import Row
from tests.product.inprocess import Parrot, calls, request, run_body, started, user

Json = dict[str, Any]
BODY = 4_000_000
"""Bytes of the largest requests; the default limit is 4 MiB."""


@tool
async def look(ctx: ToolContext) -> str:
    """Look, and count in the shared state."""
    ctx.state["n"] = int(ctx.state.get("n", 0)) + 1
    return "seen"


@tool(gate=True)
async def refund(order_id: str) -> str:
    """Refund an order."""
    return "refunded"


Scenario = Callable[["Bench"], Awaitable[None]]


class Bench:
    """An application, and the heavy requests into it."""

    def __init__(self, app: Any, model: Parrot) -> None:
        self.app, self.model = app, model

    async def post(self, body: Json | bytes, path: str = "/") -> Any:
        """A request whose bytes are ready before it begins."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with Heartbeat() as self.heartbeat:
            return await request(self.app, "POST", path, data)

    async def get(self, path: str) -> Any:
        """A request without a body."""
        async with Heartbeat() as self.heartbeat:
            return await request(self.app, "GET", path)

    async def thread(self, thread_id: str, size: int, entry: int) -> None:
        """A thread of about ``size`` bytes in messages of ``entry``."""
        store = self.app.state.engine.store
        opened = await store.lease_thread("local", thread_id, "a", "make")
        entries = [UserEntry(f"m{i}", (Text("x" * entry),)) for i in range(size // (entry + 60))]
        await store.commit(opened, Change(entries=entries, status="finished"), "make")


async def long_history(bench: Bench) -> None:
    """10,000 messages to an unknown thread."""
    messages = [user("x" * 300, f"m{i}") for i in range(10_000)]
    await bench.post(run_body("history", *messages))


async def long_history_again(bench: Bench) -> None:
    """The same, sent again to a thread that knows them."""
    messages = [user("x" * 300, f"m{i}") for i in range(10_000)]
    await bench.post(run_body("history2", *messages))
    await bench.post(run_body("history2", *messages, user("y", "new")))


async def one_long_message(bench: Bench) -> None:
    """4 MB of text."""
    await bench.post(run_body("message", user("x" * BODY, "m")))


async def escaped_message(bench: Bench) -> None:
    """4 MB of text that isn't ASCII."""
    await bench.post(run_body("escaped", user("é" * (BODY // 6), "m")))


async def large_state(bench: Bench) -> None:
    """A shared state of 450 KB in small values, and eight tools that change it."""
    made = [calls("look", {}, f"c{i}", str(i)) for i in range(8)]
    bench.model.plan = [[*(event for call in made for event in call), TurnDone()]]
    await bench.post(run_body("state", user("go", "m"), state={f"k{i}": [i, {"a": str(i)}] for i in range(13_000)}))
    bench.model.plan = None


async def too_large_state(bench: Bench) -> None:
    """A shared state of 3 MB, in as many objects as fit: refused."""
    state = {f"k{i}": [i, {"a": "a" * 30}] for i in range(49_000)}
    await bench.post(run_body("state3", user("go", "m"), state=state))


async def too_many_objects(bench: Bench) -> None:
    """3 MB of more objects than that: refused unread."""
    await bench.post(run_body("state4", user("go", "m"), state={f"k{i}": [i, {"a": str(i)}] for i in range(85_000)}))


async def numbers(bench: Bench) -> None:
    """4 MB of numbers in what the application forwards."""
    await bench.post(run_body("numbers", user("go", "m"), forwardedProps={"x": [0] * (BODY // 3)}))


async def lists(bench: Bench) -> None:
    """4 MB of empty lists: as many objects as fit."""
    await bench.post(run_body("lists", user("go", "m"), forwardedProps={"x": [[]] * (BODY // 4)}))


async def answers(bench: Bench) -> None:
    """26,000 answers to a thread with one call that waits."""
    first = await bench.post(run_body("answers", user("refund", "m")))
    asked = first.events()[-1]["outcome"]["interrupts"][0]["id"]
    entry = {"status": "resolved", "payload": {"approved": "maybe"}}
    resume = [{**entry, "interruptId": asked if i % 2 else f"x{i}"} for i in range(26_000)]
    await bench.post(run_body("answers", user("refund", "m"), resume=resume))


async def tool_messages(bench: Bench) -> None:
    """10,000 tool messages that answer one call."""
    first = await bench.post(run_body("tools", user("refund", "m")))
    call = next(e["toolCallId"] for e in first.events() if e["type"] == "TOOL_CALL_START")
    content = json.dumps({"approved": "maybe", "reason": "x" * 200})
    said = [{"id": f"t{i}", "role": "tool", "toolCallId": call, "content": content} for i in range(9_000)]
    await bench.post(run_body("tools", user("refund", "m"), *said))


async def function_approvals(bench: Bench) -> None:
    """30,000 answers in one user message."""
    first = await bench.post(run_body("approvals", user("refund", "m")))
    call = next(e["toolCallId"] for e in first.events() if e["type"] == "TOOL_CALL_START")
    said = [{"id": call, "call_id": call, "name": "refund", "approved": "maybe"} for i in range(30_000)]
    await bench.post(run_body("approvals", {**user("refund", "m2"), "function_approvals": said}))


async def imported_calls(bench: Bench) -> None:
    """30,000 calls of an unknown thread's history."""
    await bench.post(run_body("imported", user("a", "m0"), _calling(30_000), user("b", "m2")))


async def fewer_imported_calls(bench: Bench) -> None:
    """9,000 of them, which are taken, in 9,000 turns."""
    turns = [_calling(1, f"a{i}", i) for i in range(9_000)]
    await bench.post(run_body("imported9", user("a", "m0"), *turns, user("b", "m2")))


def _calling(number: int, message_id: str = "a", first: int = 0) -> Json:
    call = {"type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    return {
        "id": message_id,
        "role": "assistant",
        "toolCalls": [{**call, "id": f"c{first + i}"} for i in range(number)],
    }


async def large_context(bench: Bench) -> None:
    """4 MB of context in 20,000 items."""
    items = [{"description": "d", "value": "x" * 150} for _ in range(20_000)]
    await bench.post(run_body("context", user("go", "m"), context=items))


async def many_tools(bench: Bench) -> None:
    """10,000 tools of the client."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = [{"name": f"t{i}", "description": "x" * 200, "parameters": schema} for i in range(10_000)]
    await bench.post(run_body("clienttools", user("go", "m"), tools=tools))


async def long_thread(bench: Bench) -> None:
    """A run on a thread of 30 MB in messages of 2 KB."""
    await bench.thread("long", 30_000_000, 2000)
    await bench.post(run_body("long", user("go", "new")))


async def shown_thread(bench: Bench) -> None:
    """Showing it."""
    await bench.thread("shown", 30_000_000, 2000)
    await bench.get("/threads/shown")


async def connected_thread(bench: Bench) -> None:
    """Connecting to it."""
    await bench.thread("connected", 30_000_000, 2000)
    await bench.post(run_body("connected"), "/agents/a/connect")


SCENARIOS: tuple[Scenario, ...] = (
    long_history,
    long_history_again,
    one_long_message,
    escaped_message,
    large_state,
    too_large_state,
    too_many_objects,
    numbers,
    lists,
    answers,
    tool_messages,
    function_approvals,
    imported_calls,
    fewer_imported_calls,
    large_context,
    many_tools,
    long_thread,
    shown_thread,
    connected_thread,
)


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """Everything that a scenario needs."""
    model = Parrot()
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(name="a", model=model, tools=[look, refund])
        app = create_app(agent, store=f"sqlite:///{folder}/a.db", settings=Settings())
        async with started(app):
            await request(app, "POST", "/", json.dumps(run_body("warm", user("hi"))).encode())
            with as_served():
                yield Bench(app, model)


async def measure(scenario: Scenario) -> Heartbeat:
    """One scenario, in an application of its own."""
    async with bench() as made:
        await scenario(made)
        return made.heartbeat


async def stalling() -> list[Row]:
    """Rows for `make bench`: the most that is worked while the loop waits, and how often it waited for too long."""
    rows, over = [], 0
    for scenario in SCENARIOS:
        best = _best([await measure(scenario) for _ in range(3)])
        rows.append(_row(_words(scenario), best))
        over += best.over
    with asking.provider() as url:
        for way in asking.WAYS:
            made = [await _asked(way, case, url) for case in asking.CASES]
            rows.append(_row(f"asking with {way}", max(made, key=lambda heartbeat: max(heartbeat.work))))
            over += sum(heartbeat.over for heartbeat in made)
    return [*rows, Row(what="stalls over 50 ms", unit="", ours=over, note="on the clock, other work included")]


async def _asked(way: str, case: asking.Case, url: str) -> Heartbeat:
    """The best of three, or the first that is good."""
    rounds: list[Heartbeat] = []
    while len(rounds) < 3 and (not rounds or max(rounds[-1].work) > GOAL):
        rounds.append(await asking.measure(way, case, url))
    return _best(rounds)


def _best(rounds: list[Heartbeat]) -> Heartbeat:
    return min(rounds, key=lambda heartbeat: max(heartbeat.work))


def _row(what: str, heartbeat: Heartbeat) -> Row:
    return Row(what=f"stall: {what}", unit="ms", ours=max(heartbeat.work) * 1000, goal=GOAL * 1000)


def _words(function: Callable[..., Any]) -> str:
    return function.__name__.replace("_", " ")


def main() -> None:
    """Print a table; of the scenarios that are named, if any are."""
    wanted = sys.argv[1:]
    print(f"{'longest stall, ms':>18} {'work in one, ms':>16} {'over 50 ms':>11}  what")
    for scenario in SCENARIOS:
        if not wanted or scenario.__name__ in wanted:
            _print(asyncio.run(measure(scenario)), scenario.__doc__ or "")
    with asking.provider() as url:
        for way in asking.WAYS:
            for case in asking.CASES:
                if not wanted or way in wanted or case.__name__ in wanted:
                    _print(asyncio.run(asking.measure(way, case, url)), f"{way}: {case.__doc__}")


def _print(found: Heartbeat, what: str) -> None:
    worst, work = max(found.stalls) * 1000, max(found.work) * 1000
    print(f"{worst:18.1f} {work:16.1f} {found.over:11}  {what}", flush=True)


if __name__ == "__main__":
    main()
