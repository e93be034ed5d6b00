"""Several replicas over one store: what one does, the others know, at once by a signal and else by a look."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from agui_gate import Agent, tool
from agui_gate.bus import open_bus
from agui_gate.bus.base import Bus, Signal
from agui_gate.bus.memory import MemoryBus
from agui_gate.core.approvals import Approval, State
from agui_gate.errors import ThreadBusy
from agui_gate.extension import Hint
from agui_gate.extras.inbox import feed as inbox
from agui_gate.extras.inbox.feed import Gone, Waiting, inbox_of
from agui_gate.protocol.run_input import Message, RunInput
from agui_gate.readers import wake_ups
from agui_gate.runs import heartbeat
from agui_gate.runs.engine import Engine
from agui_gate.runs.live_run import LiveRun
from agui_gate.runs.stop_and_delete import Ended
from agui_gate.stores.memory import MemoryStore
from tests.bus.distant import DistantBus
from tests.product.inprocess import Parrot
from tests.requirements import shows
from tests.stores.support import Clock, pending
from tests.support.house import DONE, LOOKS, PAYS

pytestmark = [pytest.mark.anyio, shows("B17", "B18")]

YES = {"approved": True}
LONG = 1e6
SOON = 0.01


class Mute(MemoryBus):
    """A bus whose signals are all lost."""

    def tell(self, signal: Signal) -> None:
        """Lost."""


@dataclass
class Replicas:
    """Engines of one agent, whose tools take as long as a test wants."""

    store: MemoryStore
    bus: MemoryBus
    plan: list[Any]
    ran: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    engines: list[Engine] = field(default_factory=list)

    async def another(self) -> Engine:
        @tool(gate=True)
        async def pay() -> str:
            """Pay."""
            return await self._work()

        @tool
        async def look() -> str:
            """Look."""
            return await self._work()

        self.agent = Agent(name="a", model=Parrot(self.plan), tools=[pay, look], hitl="interrupt")
        bus: Bus = self.bus if isinstance(self.bus, Mute) else DistantBus(self.bus)
        engine = Engine([self.agent], self.store, bus=bus)
        await engine.start()
        self.engines.append(engine)
        return engine

    async def _work(self) -> str:
        self.begun.set()
        await self.go.wait()
        self.ran += 1
        return "paid"

    async def run(self, engine: Engine, text: str = "go") -> LiveRun:
        said = [Message("user", id=f"u-{text}", content=text)]
        return await engine.run(self.agent, RunInput("t", f"r-{text}", said), "alice")

    async def asked(self, engine: Engine) -> Approval:
        live = await self.run(engine)
        assert live.task is not None
        await live.task
        (found,) = await pending(self.store, "alice")
        return found


@asynccontextmanager
async def replicas(*plan: Any, bus: MemoryBus | None = None) -> AsyncIterator[tuple[Replicas, Engine, Engine, Engine]]:
    made = Replicas(MemoryStore(clock=Clock()), bus or MemoryBus(), [*plan, DONE])
    async with asyncio.timeout(60):
        here, there, third = [await made.another() for _ in range(3)]
        yield made, here, there, third
        for engine in made.engines:
            await engine.drain()
        for engine in made.engines:
            await engine.aclose()


@pytest.fixture(params=["signals", "looks"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> MemoryBus:
    """Others are known by signals and nothing looks; or all signals are lost."""
    signals = request.param == "signals"
    monkeypatch.setattr(wake_ups, "LOOK_SECONDS", LONG if signals else SOON)
    monkeypatch.setattr(inbox, "LOOK_SECONDS", LONG if signals else SOON)
    monkeypatch.setattr(heartbeat, "STOP_MS", (LONG if signals else SOON) * 1000)
    return MemoryBus() if signals else Mute()


async def test_a_stop_on_another_replica_stops_the_run(how: MemoryBus) -> None:
    async with replicas(LOOKS, bus=how) as (r, here, there, _):
        live = await r.run(here)
        await r.begun.wait()
        assert await there.cancel("alice", "t") is Ended.STOPPED
        assert live.task is not None
        await live.task
        assert r.ran == 0
        assert await there.cancel("alice", "t") is Ended.IDLE


async def test_a_stop_on_another_replica_stops_a_decision(how: MemoryBus) -> None:
    async with replicas(PAYS, bus=how) as (r, here, there, third):
        asked = await r.asked(here)
        decision = asyncio.ensure_future(there.decide("alice", asked.id, YES))
        await r.begun.wait()
        assert await third.cancel("alice", "t") is Ended.STOPPED
        assert (await decision).record.state is State.UNKNOWN


async def test_a_thread_is_deleted_from_another_replica(how: MemoryBus) -> None:
    async with replicas(LOOKS, bus=how) as (r, here, there, _):
        live = await r.run(here)
        await r.begun.wait()
        assert await there.delete_thread("alice", "t") is True
        assert live.task is not None
        await live.task
        assert await r.store.read_thread("alice", "t") is None
        assert await here.delete_thread("alice", "t") is False


async def test_a_decision_waits_for_a_run_of_another_replica(how: MemoryBus) -> None:
    async with replicas(PAYS, LOOKS, bus=how) as (r, here, there, _):
        asked = await r.asked(here)
        live = await r.run(here, "and look")
        r.go.set()
        decided = asyncio.ensure_future(there.decide("alice", asked.id, YES))
        assert live.task is not None
        await live.task
        assert (await decided).record.state is not State.PENDING


async def test_an_inbox_hears_what_other_replicas_ask_decide_and_delete(how: MemoryBus) -> None:
    async with replicas(PAYS, bus=how) as (r, here, there, third):
        r.go.set()
        async with aclosing(inbox_of(third).watch("alice")) as told:
            assert await anext(told) == Waiting([])
            asked = await r.asked(here)
            first = await anext(told)
            assert (isinstance(first, Approval) and first.id, first.state) == (asked.id, State.PENDING)  # type: ignore[union-attr]  # it is one
            await there.decide("alice", asked.id, YES)
            while (now := await anext(told)).state is not State.DONE:  # type: ignore[union-attr]  # likewise
                assert isinstance(now, Approval)


async def test_an_inbox_hears_of_a_thread_that_another_replica_deletes(how: MemoryBus) -> None:
    async with replicas(PAYS, bus=how) as (r, here, there, third):
        asked = await r.asked(here)
        async with aclosing(inbox_of(third).watch("alice")) as told:
            assert [await anext(told), await anext(told)] == [asked, Waiting([asked.id])]
            await there.delete_thread("alice", "t")
            assert await anext(told) == Gone(asked.id)


async def test_a_second_run_is_refused_by_every_replica() -> None:
    async with replicas(LOOKS) as (r, *engines):
        live = await r.run(engines[0])
        await r.begun.wait()
        for engine in engines:
            with pytest.raises(ThreadBusy):
                await r.run(engine, "another")
        live.cancel()


async def test_two_answers_on_two_replicas_are_one_decision() -> None:
    """Who was later is told so as soon as that is decided: its tool is still at work then."""
    async with replicas(PAYS) as (r, here, there, third):
        asked = await r.asked(here)
        both = [asyncio.ensure_future(engine.decide("alice", asked.id, YES)) for engine in (there, third)]
        (first,), (second,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        late = first.result()
        assert (late.ours, late.record.state) == (False, State.CLAIMED)
        r.go.set()
        done = await second
        assert (done.ours, done.record.state) == (True, State.DONE)
        after = await here.decide("alice", asked.id, YES)
        assert (after.ours, after.record.state) == (False, State.DONE)
        assert r.ran == 1


async def test_a_run_without_approvals_is_one_signal() -> None:
    heard: list[Signal] = []
    async with replicas(LOOKS) as (r, here, *_):
        r.bus.listen(heard.append)
        r.go.set()
        live = await r.run(here)
        assert live.task is not None
        await live.task
    assert heard == [Signal("written", "alice", "t")]


async def test_a_stop_beats_only_where_something_works() -> None:
    async with replicas(LOOKS) as (r, here, there, third):
        live = await r.run(here)
        await r.begun.wait()
        assert there._heart is not None
        assert here._heart is not None
        for engine in (here, there):
            engine._hear(Hint("alice", "t", "stop", here=False))
        assert (here._heart._hurry.is_set(), there._heart._hurry.is_set()) == (True, False)
        third._hear(Hint("bob", "t", "stop", here=False))
        live.cancel()


def test_only_a_bus_that_others_may_share_has_signals() -> None:
    private = open_bus("memory://", kept_seconds=1, run_bytes=1)
    engines = [Engine([], MemoryStore(), bus=bus) for bus in (None, private, MemoryBus(), DistantBus(MemoryBus()))]
    assert [len(engine.extensions.all) for engine in engines] == [0, 0, 1, 1]
