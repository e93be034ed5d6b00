"""Rules: what `when(arguments, ctx)` says of a call, when it is asked and when somebody agrees."""

import asyncio
import inspect
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agui_gate import ConfigurationError, Gate, Principal, Ruling
from agui_gate.core.terms import MAX_COUNTED, numbers, total
from agui_gate.extras.people.rules import Sums
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.desk import Desk, Json
from tests.stores.support import Clock, gated

pytestmark = pytest.mark.anyio

ADA, BEN = Principal("ada", "acme", ("user", "staff")), Principal("ben", "acme", ("approver", "finance"))
PEOPLE: dict[str, Any] = {
    "ada": ADA,
    "team": Principal("tom", "acme", acts_for="team"),
    "tim": Principal("tim", "acme", acts_for="team"),
    "ben": BEN,
    "eve": Principal("ada", "evil"),
    "plain": "bob",
}


async def shown(desk: Desk, who: str, thread: str = "t") -> Json:
    """The call of a thread that was asked about last."""
    (found, *_) = [
        one
        for one in (await desk.get(who, "/approvals", "state=all")).json()["approvals"]
        if one["thread_id"] == thread
    ]
    return dict(found)


async def ends(desk: Desk, who: str, thread: str = "t", text: str = "refund") -> str:
    """How the call of a run ended: its state, which is `pending` where people are asked."""
    events = await desk.say(who, text, thread)
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    state: str = (await shown(desk, who, thread))["state"]
    assert (events[-1].get("outcome", {}).get("type") == "interrupt") == (state == "pending")
    return state


def up_to(most: float, **how: Any) -> Callable[..., Any]:
    def rule(arguments: Json, ctx: Any) -> Ruling:
        spent = ctx.spent("refund", "amount", **{"hours": 24, **how})
        return Ruling.allow() if spent + arguments["amount"] <= most else Ruling.ask()

    return rule


async def test_a_rule_lets_go_refuses_or_asks(store: FullStore) -> None:
    said: dict[str, Any] = {"t1": Ruling.allow(), "t2": Ruling.deny("Not on Sundays."), "t3": Ruling.ask(), "t4": True}
    said |= {"t5": False, "t6": None, "t7": "allow"}
    seen: list[Any] = []

    def rule(arguments: Json, ctx: Any) -> Any:
        seen.append((arguments, ctx))
        return said[ctx.thread_id]

    async with Desk(PEOPLE, when=rule).open(store) as desk:
        found = {thread: await ends(desk, "ada", thread) for thread in said}
        assert list(found.values()) == ["done", "rejected", "pending", "pending", "done", "pending", "pending"]
        assert [context.thread_id for context in desk.ran] == ["t1", "t5"]
        arguments, ctx = seen[0]
        assert (arguments, ctx.owner, ctx.tenant, ctx.tool) == (
            {"order_id": "A1", "amount": 20},
            "ada",
            "acme",
            "refund",
        )
        assert (ctx.principal, ctx.principal.roles, ctx.approver, ctx.earlier) == (ADA, ADA.roles, None, ())
        refused = await shown(desk, "ada", "t2")
        assert refused["decision"] | {"at": ""} == {
            "approved": False,
            "by": "",
            "way": "rule",
            "at": "",
            "reason": "Not on Sundays.",
        }
        assert json.loads(refused["result"])["reason"] == "Not on Sundays."
        events = sorted(await desk.trail(), key=lambda event: (event.thread_id, event.seq))
        trail = [(event.kind, event.by, event.way) for event in events if event.thread_id in ("t1", "t2")]
        assert trail == [
            ("asked", "", ""),
            ("approved", "", "rule"),
            ("claimed", "", ""),
            ("done", "", ""),
            ("asked", "", ""),
            ("rejected", "", "rule"),
        ]


async def test_a_rule_that_fails_asks() -> None:
    def rule(arguments: Json, ctx: Any) -> Any:
        raise ValueError

    async with Desk(PEOPLE, when=rule).open() as desk:
        assert await ends(desk, "ada") == "pending"
        assert desk.ran == []


async def test_a_function_of_one_parameter_is_called_with_one() -> None:
    def rule(arguments: Json, limit: int = 50) -> bool:
        return bool(arguments["amount"] > limit)

    async with Desk(PEOPLE, when=rule).open() as desk:
        await desk.say("ada", "refund")
        assert (await desk.get("ada", "/approvals", "state=all")).json()["approvals"] == [], "no record, as ever"
        assert len(desk.ran) == 1


async def test_a_rule_lets_a_call_go_for_which_people_would_be_asked(store: FullStore) -> None:
    async with Desk(PEOPLE, when=up_to(20), approvers="finance", needs=2).open(store) as desk:
        assert await ends(desk, "ada", "t1") == "done"
        assert await ends(desk, "ada", "t2") == "pending"
        assert [context.thread_id for context in desk.ran] == ["t1"]


async def test_a_sum_has_what_rules_and_people_let_go(store: FullStore) -> None:
    async with Desk(PEOPLE, when=up_to(50), editable=["amount"]).open(store) as desk:
        assert [await ends(desk, "ada", f"t{n}") for n in range(3)] == ["done", "done", "pending"]
        assert await ends(desk, "eve") == "done", "another tenant's are others"
        await desk.app.state.engine.delete_thread("acme\x1fada", "t0")
        assert await ends(desk, "ada", "t4") == "pending", "deleting a thread gives nothing back"
        waits = await shown(desk, "ada", "t4")
        edit = {"order_id": "A1", "amount": 3}
        answer = await desk.decide("ada", waits["id"], edited_arguments=edit)
        assert (answer.status, answer.json()["state"]) == (200, "done")
        calls = await desk.app.state.engine.store.counted_calls(_sum("acme\x1fada"))
        assert [call["amount"] for call in calls] == ["20", "20", "3"]


def _sum(of: str) -> Any:
    from agui_gate.core.terms import Sum

    return Sum("owner", of, "refund", "amount", 0)


@pytest.mark.parametrize(("by", "others"), [("owner", "done"), ("principal", "done"), ("tenant", "pending")])
async def test_whose_calls_a_sum_has(by: str, others: str) -> None:
    async with Desk(PEOPLE, when=up_to(20, by=by)).open() as desk:
        assert await ends(desk, "team", "t1") == "done"
        assert await ends(desk, "tim", "t2") == ("done" if by == "principal" else "pending")
        assert await ends(desk, "ada", "t3") == others
        assert await ends(desk, "eve", "t4") == "done"


async def test_a_sum_forgets(store: FullStore) -> None:
    clock = Clock()
    async with Desk(PEOPLE, when=up_to(20, hours=1)).open(MemoryStore(clock=clock)) as desk:
        assert [await ends(desk, "plain", f"t{n}") for n in range(2)] == ["done", "pending"]
        clock.advance(3_600_001)
        assert await ends(desk, "plain", "t2") == "done"


@pytest.mark.parametrize("how", [{"hours": 0}, {"hours": 10_000}, {"by": "world"}])
async def test_a_sum_that_nobody_can_know_asks(how: Json) -> None:
    async with Desk(PEOPLE, when=up_to(100, **how)).open() as desk:
        assert await ends(desk, "ada") == "pending"


async def test_a_sum_is_for_the_loop_of_its_run() -> None:
    lease: Any = SimpleNamespace(store=None)
    sums = Sums(gated(), None, lease)

    async def elsewhere() -> None:
        work = sums._sum("refund", "amount", 24, "owner")
        with pytest.raises(ValueError, match="another event loop"):
            sums._answered(work, "spent")
        assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED

    await asyncio.to_thread(asyncio.run, elsewhere())


async def test_only_tools_with_a_rule_are_counted() -> None:
    def rule(arguments: Json, ctx: Any) -> bool:
        return bool(ctx.spent("look", "amount", hours=1) > 0)

    async with Desk(PEOPLE, when=rule).open() as desk:
        assert await ends(desk, "ada") == "pending"


def test_numbers_are_added_exactly() -> None:
    call = json.loads(numbers('{"a":0.1,"b":"0.20","c":true,"d":"x","f":null,"g":"NaN","h":[1]}'))
    assert call == {"a": "0.1", "b": "0.20"}
    assert total([{"a": "0.1"}, {"a": "0.2"}], "a") == 0.3
    for calls in ([{"b": "1"}], [{"a": "1"}] * (MAX_COUNTED + 1)):
        with pytest.raises(ValueError, match="there"):
            total(calls, "a")


async def test_a_rule_that_became_stricter_counts_for_who_agrees(store: FullStore) -> None:
    said = [Ruling.ask()]
    seen: list[Any] = []

    async def rule(arguments: Json, ctx: Any) -> Ruling:
        seen.append((arguments["amount"], ctx.approver))
        return said[0]

    async with Desk(PEOPLE, when=rule, approvers="finance", editable=["amount"]).open(store) as desk:
        approval_id = await desk.ask("ada")
        said[0] = Ruling.deny("The till is closed.")
        answer = await desk.decide("ben", approval_id, edited_arguments={"order_id": "A1", "amount": 5})
        assert (answer.status, answer.json()["error"]["code"]) == (422, "approval_refused")
        assert "The till is closed." in answer.json()["error"]["message"]
        said[0] = Ruling.ask()
        assert seen == [(20, None), (5, BEN)]
        assert (await desk.decide("ben", approval_id)).json()["state"] == "done"


async def test_a_rule_is_asked_again_in_a_run() -> None:
    said = [Ruling.ask()]
    async with Desk(PEOPLE, when=lambda arguments, ctx: said[0]).open() as desk:
        approval_id = await desk.ask("ada")
        said[0] = Ruling.deny("No.")
        resume = [{"interruptId": approval_id, "status": "resolved", "payload": {"approved": True}}]
        events = await desk.say("ada", "refund", resume=resume, messages=[])
        (refused,) = [event["value"] for event in events if event.get("name") == "agui-gate:answer_refused"]
        assert refused["message"] == "A rule doesn't allow this call: No."
        assert events[-1]["outcome"]["interrupts"][0]["id"] == approval_id
        assert desk.ran == []


def _stores(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> list[FullStore]:
    if kind == "sqlite":
        return [SQLiteStore(str(tmp_path / "store.db")) for _ in range(2)]
    return [PostgresStore(request.getfixturevalue("tables")) for _ in range(2)]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_two_at_once_are_never_both_under_a_limit(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Runs and decisions on two servers: of each owner's calls three fit under the limit."""

    def rule(arguments: Json, ctx: Any) -> Ruling:
        spent = ctx.spent("refund", "amount", hours=24)
        if ctx.approver is None:
            return Ruling.ask() if ctx.thread_id.startswith("p") else up_to(60)(arguments, ctx)
        return Ruling.deny("Too much.") if spent + arguments["amount"] > 60 else Ruling.ask()

    async with AsyncExitStack() as opened:
        desks = [
            await opened.enter_async_context(Desk(PEOPLE, when=rule).open(store))
            for store in _stores(kind, tmp_path, request)
        ]
        asked = [await desks[0].ask("ada", thread=f"p{n}") for n in range(3)]
        acts: list[Any] = [desks[n % 2].decide("ada", asked[n]) for n in range(3)]
        acts += [desks[n % 2].say("ada", "refund", f"r{n}") for n in range(4)]
        await asyncio.gather(*acts)
        assert len(desks[0].ran) + len(desks[1].ran) == 3


def test_a_rule_is_not_for_tasks() -> None:
    from agui_gate import Agent
    from tests.people.desk import Model

    agent = Agent(name="other", model=Model())
    with pytest.raises(ConfigurationError, match="a rule can't decide whether a task begins"):
        agent.as_tool(gate=Gate(when=lambda arguments, ctx: False))
