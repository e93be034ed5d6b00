"""What a stop, or deleting the thread, leaves of decisions and questions that it comes in between."""

import asyncio
from typing import Any

import pytest

from agui_gate import adapter
from agui_gate.approvals import execution
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, State
from agui_gate.errors import DecisionStopped, NotFound, RateLimited, Unavailable
from agui_gate.protocol.late_answers import already
from agui_gate.protocol.run_input import ResumeEntry
from agui_gate.runs.stop_and_delete import Ended
from agui_gate.stores.base import LEASE_MS, Change, StopRequest, Thread
from agui_gate.stores.memory import MemoryStore
from tests.product.inprocess import calls
from tests.support.house import DONE, PAYS, events, house

pytestmark = pytest.mark.anyio

YES = {"approved": True}
TWICE = [*calls("pay", {}, "call_1", "a"), *calls("pay", {}, "call_2", "b"), adapter.TurnDone()]


class Slow(MemoryStore):
    """A claim is made when ``makes`` is set, and its answer comes when ``answers`` is."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.asked, self.claimed = asyncio.Event(), asyncio.Event()
        self.makes, self.answers = asyncio.Event(), asyncio.Event()

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        if to is not State.CLAIMED:
            return await super().move(approval_id, to, **more)
        self.asked.set()
        await self.makes.wait()
        moved = await super().move(approval_id, to, **more)
        self.claimed.set()
        await self.answers.wait()
        return moved


@pytest.mark.parametrize("way", ["http", "run"])
@pytest.mark.parametrize("made", [True, False], ids=["made", "asked for"])
async def test_a_claim_under_way_is_seen_through_and_what_is_told_is_that_nothing_ran(way: str, made: bool) -> None:
    """Stopped while the claim commits (once it is made, or before): everybody is told what the record says."""
    async with house(PAYS, DONE, kind=Slow) as h:
        asked = await h.asked()
        store = h.store
        assert isinstance(store, Slow)
        h.go.set()  # the tool would end at once
        if way == "http":
            told = asyncio.create_task(h.engine.decide("alice", asked.id, YES, go_on=True))
        else:
            live = await h.start(None, ResumeEntry(asked.id, "resolved", YES))
        if made:
            store.makes.set()
        await (store.claimed if made else store.asked).wait()
        stopping = asyncio.create_task(h.engine.cancel("alice", "t"))
        for _ in range(10):
            await asyncio.sleep(0)
        store.makes.set()
        store.answers.set()
        assert await stopping is Ended.STOPPED
        record = await store.approval("alice", asked.id)
        assert record is not None
        assert (record.state, record.output, h.ran) == (State.FAILED, result_texts.NOT_STARTED, 0)
        if way == "http":
            decided = await told
            assert (decided.record, decided.ours, decided.run_key) == (record, True, None)
            assert decided.not_continued == "It was stopped, so the conversation does not continue."
        else:
            said = await events(live)
            assert "Not executed: it was approved, and stopped before it began." in said
            assert said.index("TOOL_CALL_RESULT") < said.index('"code":"abort"')
        late = await h.engine.decide("alice", asked.id, YES)
        assert already(late.record, store.now()).endswith("It was stopped before it ran, so it was not executed.")
        then = await h.start("And?")
        assert "interrupted while it ran" not in await events(then)


async def test_of_a_claim_that_no_store_answers_nobody_is_told_that_it_was_not_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "PATIENCE", 0.01)
    async with house(PAYS, DONE, kind=Slow) as h:
        asked = await h.asked()
        store = h.store
        assert isinstance(store, Slow)
        decision = asyncio.create_task(h.engine.decide("alice", asked.id, YES))
        await store.asked.wait()
        await h.engine.cancel("alice", "t")
        with pytest.raises(Unavailable, match="Its outcome is not saved yet"):
            await decision
        store.makes.set()
        store.answers.set()


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
    """Once ``replacing``: just before the thread is leased, it is deleted, and its id leads to a new one, if any."""

    replacing = False
    by_another = True

    async def lease_thread(self, principal: str, thread_id: str, agent: str, run_key: str, **more: Any) -> Thread:
        if self.replacing:
            self.replacing = False
            gone = await super().lease_thread(principal, thread_id, agent, "deletes")
            await super().delete_thread(gone, "deletes")
            if not self.by_another:
                return await super().lease_thread(principal, thread_id, agent, run_key, **more)
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


async def test_deleting_what_was_deleted_meanwhile_makes_no_new_thread() -> None:
    async with house(PAYS, DONE, kind=Replaced) as h:
        await h.asked()
        assert isinstance(h.store, Replaced)
        h.store.replacing, h.store.by_another = True, False
        assert not await h.engine.delete_thread("alice", "t")
        assert await h.store.read_thread("alice", "t") is None


async def test_a_decision_stopped_before_its_claim_says_so_and_the_question_waits() -> None:
    async with house(PAYS, DONE) as h:
        asked = await h.asked()
        decision = asyncio.create_task(h.engine.decide("alice", asked.id, YES))
        working = h.engine._decisions.working
        for _ in range(1_000):
            if working.keys:
                break
            await asyncio.sleep(0)
        assert await working.stop(("alice", "t"), 10)
        with pytest.raises(DecisionStopped, match="stopped before it was decided"):
            await decision
        stored = await h.store.approval("alice", asked.id)
        assert stored is not None
        assert (stored.state, h.ran) == (State.PENDING, 0)


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


class Asked(MemoryStore):
    """A store that says when somebody has asked for a stop."""

    asked: asyncio.Event

    async def ask_to_stop(self, principal: str, thread_id: str, request: StopRequest) -> str | None:
        run_key = await super().ask_to_stop(principal, thread_id, request)
        self.asked.set()
        return run_key


@pytest.mark.parametrize("is_taken", [False, True])
async def test_what_lost_its_thread_while_it_was_asked_is_not_said_to_have_stopped(is_taken: bool) -> None:
    """Its process, another one, hangs. The thread is free then, as the next stop says, too; or somebody has it."""
    async with house(kind=Asked) as h:
        assert isinstance(h.store, Asked)
        h.store.asked = asyncio.Event()
        await h.store.lease_thread("alice", "t", "a", "other")
        stopping = asyncio.create_task(h.engine.cancel("alice", "t"))
        await h.store.asked.wait()
        h.clock.advance(LEASE_MS)
        if is_taken:
            await h.store.lease_thread("alice", "t", "a", "a third one")
        h.engine.written("alice", "t", "saved")
        assert await stopping is Ended.IDLE
        assert is_taken or await h.engine.cancel("alice", "t") is Ended.IDLE
