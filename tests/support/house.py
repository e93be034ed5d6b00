"""An engine with two tools that take as long as a test wants, over a store whose clock a test moves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agui_gate import Agent, adapter, tool
from agui_gate.core.approvals import Approval
from agui_gate.protocol.run_input import Message, ResumeEntry, RunInput
from agui_gate.runs.engine import Engine
from agui_gate.runs.heartbeat import Heartbeat
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import LEASE_MS, Change
from agui_gate.stores.memory import MemoryStore
from tests.product.inprocess import Parrot, calls, says
from tests.stores.support import Clock, pending

PAYS = [*calls("pay", {}), adapter.TurnDone()]
LOOKS = [*calls("look", {}), adapter.TurnDone()]
DONE = [*says("Done."), adapter.TurnDone()]


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
        (found,) = await self.all_asked()
        return found

    async def all_asked(self) -> list[Approval]:
        """Likewise, for several."""
        live = await self.start("pay")
        assert live.task is not None
        await live.task
        return await pending(self.store, "alice")

    async def take_over(self) -> None:
        """Somebody else works on the thread, after this process was silent for long, and is done."""
        self.clock.advance(LEASE_MS)
        thread = await self.store.lease_thread("alice", "t", "a", "other")
        await self.store.commit(thread, Change(status="waiting"), "other")

    async def beat(self) -> None:
        """What the heart does, now."""
        await Heartbeat(
            self.store, self.store, self.engine.leases, self.engine._asked_to_stop, self.engine._lost
        ).beat()


@asynccontextmanager
async def house(*plan: Any, kind: type[MemoryStore] = MemoryStore) -> AsyncIterator[House]:
    clock = Clock()
    made = House(kind(clock=clock), clock, *plan)
    async with asyncio.timeout(60):
        await made.engine.start()
        yield made
        await made.engine.aclose()


async def events(live: LiveRun) -> str:
    reader, data = await live.read(), b""
    while piece := await reader.read():
        data += piece
    return data.decode()
