"""What is told of calls whose people change: hand-overs, escalations and emergencies, on each replica."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Notice, Principal
from agui_gate.approvals import outbox
from agui_gate.core.principals import Caller
from agui_gate.extras.inbox import feed
from agui_gate.extras.inbox.feed import Waiting, inbox_of
from agui_gate.extras.notices.courier import Notices
from agui_gate.extras.people import approvers
from agui_gate.stores.deliveries import Step
from agui_gate.stores.operators import Act
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.receivers import Receiver, receiving
from tests.people.test_notices import PEOPLE, Heard, served

pytestmark = pytest.mark.anyio


async def test_a_thread_that_was_handed_on_before_its_notice_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its steps are planned, and its notice and its arguments are those of whose it is by then."""
    monkeypatch.setattr(outbox, "GATHER_SECONDS", 3600.0)
    heard = Heard()

    async def on_notice(notice: Notice) -> None:
        await heard(notice)

    async with served("memory://", on_notice=on_notice, escalate=[(900, "team-lead")]) as desk:
        approval_id = await desk.ask("ada")
        engine = desk.app.state.engine
        rows = await engine.store.take_notices("me", limit=10)
        thread = await engine.store.lease_thread("acme\x1fada", "t", "support", "decide_1")
        await engine.store.operators.hand_on(thread, "acme\x1fben", Act("ops", "She has left."), "decide_1")
        notices = next(one for one in engine.extensions.all if isinstance(one, Notices))
        await notices.notices(rows)
        (told,) = await heard.until(1)
        assert (told.owner, told.approval_id, told.arguments) == ("ben", approval_id, {"order_id": "A1", "amount": 20})
        steps, wait_ms = await engine.store.deliveries().due_steps(10)
        assert (list(steps), wait_ms is not None) == ([], True), "the escalation is planned"


async def test_the_feed_of_another_replica_tells_who_may_decide_by_now(tmp_path: Path) -> None:
    """A yes, a hand-over and an escalation that another process has written."""
    gate: dict[str, Any] = {"approvers": "finance", "needs": 2}
    stores = [SQLiteStore(str(tmp_path / "store.db")) for _ in range(2)]
    async with AsyncExitStack() as opened:
        here, there = [await opened.enter_async_context(served(store, **gate)) for store in stores]
        approval_id = await here.ask("ada")
        inbox = inbox_of(there.app.state.engine)
        watching = inbox.watch("acme\x1fada")
        assert [getattr(await anext(watching), "id", ""), await anext(watching)] == [
            approval_id,
            Waiting([approval_id]),
        ]
        deliveries = stores[0].deliveries()

        async def told() -> Any:
            inbox.changed("acme\x1fada")  # as a signal does
            async with asyncio.timeout(20):
                return (await anext(watching)).people  # type: ignore[union-attr]

        await here.decide("ben", approval_id)
        assert [yes.decision.by for yes in (await told()).said] == ["ben"]
        for to in ("cat", "dan"):
            await deliveries.hand_to(approval_id, to, "ben")
            assert (await told()).handed_to == to
        step = Step(approval_id, "escalated", 1, "team-lead")
        await deliveries.plan([step], 0)
        await deliveries.take_step(step, tell=False)
        assert (await told()).added == ("team-lead",)
        await watching.aclose()


async def test_an_emergency_is_told_to_all_whom_it_concerns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each endpoint, whatever it wants to be told; and who follows their approvals, on each replica."""
    monkeypatch.setattr(feed, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(outbox, "GATHER_SECONDS", 0.02)
    people = PEOPLE | {"zoe": Principal("zoe", "acme", ("break-glass",)), "eve": Principal("ben", "evil", ("finance",))}
    stores = [SQLiteStore(str(tmp_path / "store.db")) for _ in range(2)]
    async with AsyncExitStack() as opened:
        receiver = await opened.enter_async_context(receiving(Receiver()))
        table = {"pager": receiver.table(kinds=["unknown"])}
        monkeypatch.setitem(PEOPLE, "zoe", people["zoe"])
        desks = [
            await opened.enter_async_context(served(store, webhooks=table, approvers="finance")) for store in stores
        ]
        approval_id = await desks[0].ask("ada")
        told: dict[str, list[Any]] = {}
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            for n, desk in enumerate(desks):
                engine = desk.app.state.engine
                for name in ("ada", "ben", "lea", "eve"):
                    who = people[name]
                    concerns = partial(approvers.concerns, engine.store, engine.members, Caller(who))
                    watching = inbox_of(engine).watch(who.owner, concerns)
                    while not isinstance(await anext(watching), Waiting):
                        pass
                    alarm = told[f"{name} {n}"] = []
                    if name in ("ada", "ben"):
                        group.create_task(_until_alarm(watching, alarm))
                    opened.push_async_callback(watching.aclose)
            answer = await desks[0].decide("zoe", approval_id, break_glass=True, reason="The till burns.")
            assert answer.json()["state"] == "done"
        assert {name: [one.record.id for one in some] for name, some in told.items() if some} == {
            f"{name} {n}": [approval_id] for name in ("ada", "ben") for n in range(2)
        }
        await receiver.until(lambda: len(receiver.got) >= 1)
        data = receiver.got[0].json()
        assert (data["type"], data["data"]["by"]) == ("approval.break_glass", "zoe")
        assert receiver.kinds(approval_id) == ["break_glass"]
        engine = desks[1].app.state.engine
        lea = partial(approvers.concerns, engine.store, engine.members, Caller(people["lea"]))
        record = await stores[1].people_approval(approval_id)
        assert record is not None
        assert not await lea(record)


async def _until_alarm(watching: Any, alarm: list[Any]) -> None:
    while not alarm:
        if isinstance(told := await anext(watching), feed.Emergency):
            alarm.append(told)
