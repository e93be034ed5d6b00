"""What a stop, or deleting the thread, leaves of decisions and questions that it comes in between (issue 10)."""

import asyncio
from typing import Any

import pytest

from agui_gate import adapter
from agui_gate.core.approvals import Approval, State
from agui_gate.errors import NotFound
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
