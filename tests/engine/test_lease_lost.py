"""A run whose lease is lost, while its process was silent, changes nothing more, and says why it ends (issue 10)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate import Agent, adapter, tool
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output
from agui_gate.engine import heart
from agui_gate.engine.engine import Engine
from agui_gate.engine.heart import Heart
from agui_gate.engine.lease import Lease
from agui_gate.engine.live import LiveRun
from agui_gate.engine.settlement import Settlement
from agui_gate.errors import LeaseLost
from agui_gate.protocol.inbound import Message, ResumeEntry, RunInput
from agui_gate.stores.base import LEASE_MS, Change, Thread
from agui_gate.stores.memory import MemoryStore
from tests.product.inprocess import Parrot, calls, says
from tests.stores.support import Clock, ask, gated

pytestmark = pytest.mark.anyio


class House:
    """An engine over a store whose clock is moved by hand. Its heart beats when it is told to."""

    def __init__(self, store: MemoryStore, clock: Clock, *plan: Any) -> None:
        self.store, self.clock, self.ran = store, clock, 0
        self.begun, self.go = asyncio.Event(), asyncio.Event()

        @tool(gate=True)
        async def pay() -> str:
            """Pay."""
            return await self._work()

        @tool
        async def look() -> str:
            """Look."""
            return await self._work()

        self.model = Parrot(plan)
        self.agent = Agent(name="a", model=self.model, tools=[pay, look], hitl="interrupt")
        self.engine = Engine([self.agent], self.store)

    async def _work(self) -> str:
        self.begun.set()
        await self.go.wait()
        self.ran += 1
        return "paid"

    async def start(self, text: str | None, *resume: ResumeEntry) -> LiveRun:
        messages = [Message("user", id="u", content=text)] if text else []
        return await self.engine.run(self.agent, RunInput("t", "r", messages, resume=list(resume)), "alice")

    async def asked(self) -> Approval:
        """What waits, after a run that asked."""
        live = await self.start("pay")
        assert live.task is not None
        await live.task
        (found,) = await self.store.pending_approvals("alice")
        return found

    async def take_over(self) -> None:
        """Somebody else works on the thread, after this process was silent for long, and is done."""
        self.clock.advance(LEASE_MS)
        thread = await self.store.open_thread("alice", "t", "a", "other")
        await self.store.commit(thread, Change(status="waiting"), "other")

    async def beat(self) -> None:
        """What the heart does, now."""
        await Heart(self.store, self.engine._leases, self.engine._asked_to_stop, self.engine._lost).beat()


@asynccontextmanager
async def house(*plan: Any, kind: type[MemoryStore] = MemoryStore) -> AsyncIterator[House]:
    clock = Clock()
    made = House(kind(clock=clock), clock, *plan)
    async with asyncio.timeout(10):
        await made.engine.start()
        yield made
        await made.engine.aclose()


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's own heart doesn't beat meanwhile."""
    monkeypatch.setattr(heart, "STOP_MS", 1_000_000)


PAYS = [*calls("pay", {}), adapter.TurnDone()]
LOOKS = [*calls("look", {}), adapter.TurnDone()]
DONE = [*says("Done."), adapter.TurnDone()]


async def events(live: LiveRun) -> str:
    reader, data = await live.read(), b""
    while piece := await reader.read():
        data += piece
    return data.decode()


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
    slept = await store.open_thread("alice", "t", "support", "slept")
    clock.advance(LEASE_MS)
    await store.open_thread("alice", "t", "support", "awake")
    ran: list[str] = []

    async def run_call(approval: Approval) -> Output:
        ran.append(approval.id)
        return Output("again")

    def settlement() -> Settlement:
        return Settlement(Lease(store, slept, "slept"), run_call, lambda _: None, keep)

    async def keep(approval: Approval, to: State, output: Output) -> Approval:
        return await store.move(approval.id, to, output=output)

    for may_repeat in (lambda _: True, lambda _: False):
        with pytest.raises(LeaseLost):
            await settlement().recover(claimed, may_repeat)
    found = [await store.approval("alice", name) for name in ("a1", "a2")]
    assert [a and a.state for a in found] == [State.CLAIMED, State.CLAIMED]
    assert ran == []
