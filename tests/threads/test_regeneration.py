"""What a branch leaves of the part that it cuts off."""

import pytest

from agui_gate import Agent, ToolContext, adapter, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.core.transcript import (
    ActionEntry,
    CallPart,
    LeftOutEntry,
    Output,
    RanCall,
    ReplacedEntry,
    ReportedEntry,
    ResultEntry,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
)
from agui_gate.stores.base import Change
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads.leased_thread import LeasedThread
from tests.product.inprocess import Parrot, calls, request, run, run_body, says, started, user
from tests.requirements import shows

pytestmark = pytest.mark.anyio
DONE = adapter.TurnDone()
SAID = UserEntry("u1", (Text("mail them"),))


def served(plan, tools, **more):
    agent = Agent(name="a", model=Parrot([[*turn, DONE] for turn in plan]), tools=tools, **more)
    return create_app(agent, store="memory://", settings=Settings())


@shows("S24")
async def test_the_id_of_a_call_that_went_is_not_given_again() -> None:
    """A service that was handed the idempotency key of the first would take the second for it, and not pay."""
    keys = []

    @tool
    async def pay(amount: int, ctx: ToolContext) -> str:
        """Pay."""
        keys.append(ctx.idempotency_key)
        return f"paid {amount}"

    plan = [calls("pay", {"amount": 1}), says("Paid."), says("No."), says("No!"), calls("pay", {"amount": 2}), says("")]
    app = served(plan, [pay])
    first = user("pay", "u1")
    async with started(app):
        for history in ([first], [first], [first], [first, user("pay 2", "u2")]):
            await run(app, run_body("t", *history))
    assert len(keys) == len(set(keys)) == 2


@shows("B1", "B21")
async def test_a_call_that_stays_is_not_told_twice_and_its_card_stays_closed() -> None:
    @tool(gate=True)
    async def refund() -> str:
        """Refund."""
        return "refunded"

    app = served(
        [calls("refund", {}), says("Done."), says("Done again."), says("Bye.")], [refund],
        hitl="card", on_unanswered="represent",
    )  # fmt: skip
    said = [user("refund", "u1"), user("and hurry", "u2")]
    async with started(app):
        for history in (said[:1], said):
            asked = (await run(app, run_body("t", *history))).events()
        card = next(e["toolCallId"] for e in asked if e["type"] == "TOOL_CALL_START")
        yes = {"role": "tool", "id": "yes", "toolCallId": card, "content": '{"accepted": true}'}
        await run(app, run_body("t", *said, yes))
        for history in (said, [*said, user("bye", "u3")]):  # said again: go back to it
            events = (await run(app, run_body("t", *history))).events()
            assert [e["type"] for e in events if "TOOL" in e["type"] or "SNAPSHOT" in e["type"]] == []
            messages = (await request(app, "GET", "/threads/t")).json()["messages"]
            issued = [call["id"] for message in messages for call in message.get("toolCalls", ())]
            ended = [message["toolCallId"] for message in messages if message["role"] == "tool"]
            assert sorted(ended) == sorted(issued)
            assert len(issued) == 2


@shows("B9")
async def test_a_branch_is_saved_before_its_model_is_asked() -> None:
    """Whoever looks meanwhile, or after a crash, sees what the page shows."""
    seen = []

    class Looks(Parrot):
        async def stream(self, request):
            thread = await store.read_thread("local", "t")
            seen.append([entry.id for entry in thread.entries])
            async for batch in super().stream(request):
                yield batch

    store = MemoryStore()
    agent = Agent(name="a", model=Looks([[*says(text), DONE] for text in ("One.", "Two.")]))
    app = create_app(agent, store=store, settings=Settings())
    async with started(app):
        for _ in range(2):  # the second time the page asks for another answer
            await run(app, run_body("t", user("say it", "u1")))
    assert seen[-1] == ["u1"]


@shows("B9", "S30")
async def test_what_was_added_before_the_branch_is_saved_as_it_is_known() -> None:
    turn = TurnEntry("turn", (CallPart("c", "c", "mail", "{}", "m"),))
    store = MemoryStore()
    await store.start()
    first = await store.lease_thread("p", "t", "a", "run_1")
    await store.commit(first, Change(entries=[SAID, turn], status="failed"), "run_1")
    thread = LeasedThread(store, await store.lease_thread("p", "t", "a", "run_2"), "run_2")
    thread.append([ResultEntry("c", "c-result", Output("unknown")), ReportedEntry("old")])
    thread.branch(1, ())
    await thread.commit(status="finished")
    stored = await store.read_thread("p", "t")
    ran = ReplacedEntry("c-replaced", free=(RanCall("c", "mail", "{}", Output("unknown")),))
    assert stored.entries == thread.entries == [SAID, ReportedEntry("old"), ReportedEntry("c"), ran]


@shows("T10", "T18")
async def test_a_note_in_the_place_of_what_was_done_in_a_component_outlives_a_branch_behind_it() -> None:
    """It is refused once, and not with every later edit again."""
    store = MemoryStore()
    await store.start()
    done = ActionEntry("m1", "act1", "log", "{}", "m2", Output("clicked"))
    thread = LeasedThread(store, await store.lease_thread("p", "t", "a", "run_1"), "run_1")
    thread.append([SAID, TurnEntry("t1", (TextPart("t1", "Done."),)), done])
    thread.append([UserEntry("u2", (Text("more"),)), LeftOutEntry("[It was left out.]", "act1")])
    thread.branch(3, [UserEntry("u2", (Text("less"),))])
    assert [turn.content for turn in thread.history.transcript() if turn.id == "act1"] == [
        (Text("[It was left out.]"),)
    ]
