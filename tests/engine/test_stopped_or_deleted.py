"""What a stop, or deleting the thread, leaves of decisions and questions that it comes in between."""

import asyncio
from typing import Any

import pytest

from agui_gate import adapter
from agui_gate.core.approvals import Approval, State
from agui_gate.errors import NotFound, RateLimited, Unavailable
from agui_gate.protocol.inbound import ResumeEntry
from agui_gate.stores.base import Change, Thread
from agui_gate.stores.memory import MemoryStore
from tests.engine.house import DONE, PAYS, house
from tests.product.inprocess import calls

pytestmark = pytest.mark.anyio

YES = {"approved": True}
TWICE = [*calls("pay", {}, "call_1", "a"), *calls("pay", {}, "call_2", "b"), adapter.TurnDone()]


class Distant(MemoryStore):
    """Where the answer to a claim never comes back: it is made, and nobody hears of it."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.claimed = asyncio.Event()

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        moved = await super().move(approval_id, to, **more)
        if to is State.CLAIMED:
            self.claimed.set()
            await asyncio.Event().wait()
        return moved


async def test_a_decision_stopped_between_the_claim_and_the_tool_runs_nothing_and_says_unknown() -> None:
    async with house(PAYS, DONE, kind=Distant) as h:
        asked = await h.asked()
        h.go.set()  # the tool would end at once
        decision = asyncio.create_task(h.engine.decide("alice", asked.id, YES))
        assert isinstance(h.store, Distant)
        await h.store.claimed.wait()
        await h.engine.cancel("alice", "t")
        assert (await decision).record.state is State.UNKNOWN
        assert h.ran == 0
        stored = await h.store.approval("alice", asked.id)
        assert stored is not None
        assert stored.state is State.UNKNOWN


async def test_a_stop_closes_no_question_that_another_run_asked() -> None:
    """One of two calls is answered, and the run that carries it out is stopped: the other one waits as before."""
    async with house(TWICE, DONE) as h:
        first, second = await h.all_asked()
        live = await h.start(None, ResumeEntry(first.id, "resolved", YES))
        await h.begun.wait()
        await h.engine.cancel("alice", "t")
        assert live.task is not None
        await live.task
        now = [await h.store.approval("alice", asked.id) for asked in (first, second)]
        assert [record and record.state for record in now] == [State.UNKNOWN, State.PENDING]


class Replaced(MemoryStore):
    """Once ``replacing``: just before the thread is leased, it is deleted, and its id leads to a new one."""

    replacing = False

    async def lease_thread(self, principal: str, thread_id: str, agent: str, run_key: str, **more: Any) -> Thread:
        if self.replacing:
            self.replacing = False
            gone = await super().lease_thread(principal, thread_id, agent, "deletes")
            await super().delete_thread(gone, "deletes")
            new = await super().lease_thread(principal, thread_id, agent, "begins")
            await super().commit(new, Change(status="finished"), "begins")
        return await super().lease_thread(principal, thread_id, agent, run_key, **more)


async def test_deciding_what_was_deleted_meanwhile_is_not_found_and_leaves_the_new_thread_free() -> None:
    async with house(PAYS, DONE, kind=Replaced) as h:
        asked = await h.asked()
        assert isinstance(h.store, Replaced)
        h.store.replacing = True
        with pytest.raises(NotFound):
            await h.engine.decide("alice", asked.id, YES)
        thread = await h.store.read_thread("alice", "t")
        assert thread is not None
        assert (thread.run_status, thread.approvals) == ("finished", [])
        assert h.ran == 0


async def test_deleting_what_was_deleted_meanwhile_leaves_the_new_thread_alone() -> None:
    async with house(PAYS, DONE, kind=Replaced) as h:
        await h.asked()
        assert isinstance(h.store, Replaced)
        h.store.replacing = True
        assert not await h.engine.delete_thread("alice", "t")
        thread = await h.store.read_thread("alice", "t")
        assert thread is not None
        assert thread.run_status == "finished", "it is there, and its lease is given back"


class Slow(MemoryStore):
    """Where a claim waits before it is made."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.claiming = asyncio.Event()

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        if to is State.CLAIMED:
            self.claiming.set()
            await asyncio.Event().wait()
        return await super().move(approval_id, to, **more)


async def test_a_decision_stopped_before_the_claim_says_so_and_the_question_waits() -> None:
    async with house(PAYS, DONE, kind=Slow) as h:
        asked = await h.asked()
        decision = asyncio.create_task(h.engine.decide("alice", asked.id, YES))
        assert isinstance(h.store, Slow)
        await h.store.claiming.wait()
        await h.engine.cancel("alice", "t")
        with pytest.raises(Unavailable, match="stopped before it was decided"):
            await decision
        stored = await h.store.approval("alice", asked.id)
        assert stored is not None
        assert (stored.state, h.ran) == (State.PENDING, 0)


async def test_a_decision_that_was_stopped_does_not_go_on_with_the_conversation() -> None:
    async with house(PAYS, DONE, kind=Distant) as h:
        asked = await h.asked()
        decision = asyncio.create_task(h.engine.decide("alice", asked.id, YES, go_on=True))
        assert isinstance(h.store, Distant)
        await h.store.claimed.wait()
        await h.engine.cancel("alice", "t")
        decided = await decision
        assert (decided.record.state, decided.run_key) == (State.UNKNOWN, None)
        assert decided.not_continued == "It was stopped, so the conversation does not go on."


async def test_a_conversation_that_can_not_go_on_leaves_the_decision_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async with house(PAYS, DONE) as h:
        asked = await h.asked()
        h.go.set()

        async def full(*_: Any, **more: Any) -> Any:
            raise RateLimited("Two runs of yours are in flight.")

        monkeypatch.setattr(h.engine, "run", full)
        decided = await h.engine.decide("alice", asked.id, YES, go_on=True)
        assert (decided.record.state, h.ran) == (State.DONE, 1)
        assert decided.not_continued == "Two runs of yours are in flight."
