"""A run whose lease is lost, while its process was silent, changes nothing more, and says why it ends."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate.approvals.execution import GatedCalls
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output
from agui_gate.errors import LeaseLost
from agui_gate.protocol.run_input import ResumeEntry
from agui_gate.runs import heartbeat
from agui_gate.stores.base import LEASE_MS, Change, Thread
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads.lease import Lease
from tests.stores.support import Clock, ask, gated
from tests.support.house import DONE, LOOKS, PAYS, events, house

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's own heart doesn't beat meanwhile."""
    monkeypatch.setattr(heartbeat, "STOP_MS", 1_000_000)


async def test_a_run_that_is_found_to_have_lost_its_lease_stops_and_says_so() -> None:
    async with house(LOOKS, DONE) as h:
        with capture_logs() as logs:
            live = await h.start("look")
            await h.begun.wait()
            await h.beat()
            await h.take_over()
            await h.beat()
            told = await events(live)
        assert told.count('"type":"RUN_ERROR"') == 1
        assert '"code":"lease_lost"' in told
        assert [line["event"] for line in logs if line["log_level"] != "info"] == ["lease_lost"]
        assert h.ran == 0, "a tool that nobody approved is cut off"
        thread = await h.store.read_thread("alice", "t")
        assert thread is not None
        assert (thread.run_key, thread.run_status) == ("other", "waiting"), "what the other one saved stands"


async def test_what_a_person_approved_is_not_cut_off_and_its_result_is_kept() -> None:
    async with house(PAYS, DONE) as h:
        asked = await h.asked()
        with capture_logs() as logs:
            live = await h.start(None, ResumeEntry(asked.id, "resolved", {"approved": True}))
            await h.begun.wait()
            await h.take_over()
            await h.beat()
            await asyncio.sleep(0)
            assert live.task is not None
            assert not live.task.done()
            h.go.set()
            told = await events(live)
        record = await h.store.approval("alice", asked.id)
        assert record is not None
        assert (record.state, record.output) == (State.DONE, Output("paid"))
        assert '"content":"paid"' in told
        assert '"code":"lease_lost"' in told
        assert [line["event"] for line in logs if line["log_level"] != "info"] == ["lease_lost"]
        assert len(h.model.requests) == 1, "the model is not asked for nothing"


async def test_a_result_comes_too_late_where_somebody_was_told_that_it_is_unknown() -> None:
    async with house(PAYS, DONE) as h:
        asked = await h.asked()
        live = await h.start(None, ResumeEntry(asked.id, "resolved", {"approved": True}))
        await h.begun.wait()
        await h.take_over()
        await h.store.move(asked.id, State.UNKNOWN, output=Output('{"status":"unknown"}'))
        h.go.set()
        told = await events(live)
        assert '"content":"paid"' not in told, "what people see is the ledger's word"
        assert '"code":"lease_lost"' in told
        record = await h.store.approval("alice", asked.id)
        assert record is not None
        assert record.state is State.UNKNOWN


class Distant(MemoryStore):
    """Where the answer to a commit that ends a run takes a while to come back."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.ended, self.back = asyncio.Event(), asyncio.Event()

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        await super().commit(thread, change, run_key)
        if change.status is not None:
            self.ended.set()
            await self.back.wait()


async def test_a_run_that_has_just_ended_has_lost_nothing() -> None:
    """It has given its lease back and doesn't know it yet: so the store says that it holds none."""
    async with house(DONE, kind=Distant) as h:
        store = h.store
        assert isinstance(store, Distant)
        live = await h.start("hello")
        await store.ended.wait()
        await h.beat()
        await asyncio.sleep(0)
        store.back.set()
        told = await events(live)
        assert '"type":"RUN_FINISHED"' in told


async def test_who_lost_the_lease_neither_says_that_a_call_is_unknown_nor_repeats_it() -> None:
    """A process that was about to recover what another one left: meanwhile a third one is at it."""
    clock = Clock()
    store = MemoryStore(clock=clock)
    await store.start()
    await ask(store, gated("a1"), gated("a2"))
    claimed = [await store.move(name, State.CLAIMED) for name in ("a1", "a2")]
    slept = await store.lease_thread("alice", "t", "support", "slept")
    clock.advance(LEASE_MS)
    await store.lease_thread("alice", "t", "support", "awake")
    ran: list[str] = []

    async def run_call(approval: Approval) -> Output:
        ran.append(approval.id)
        return Output("again")

    def gated_calls() -> GatedCalls:
        return GatedCalls(Lease(store, slept, "slept"), run_call, lambda _: None, keep)

    async def keep(approval: Approval, to: State, output: Output) -> Approval:
        return await store.move(approval.id, to, output=output)

    for may_repeat in (lambda _: True, lambda _: False):
        with pytest.raises(LeaseLost):
            await gated_calls().recover(claimed, may_repeat)
    found = [await store.approval("alice", name) for name in ("a1", "a2")]
    assert [a and a.state for a in found] == [State.CLAIMED, State.CLAIMED]
    assert ran == []
