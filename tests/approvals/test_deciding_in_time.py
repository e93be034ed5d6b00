"""A decision that finds its thread busy goes on at once when it may, without asking the store again and again."""

import asyncio
from typing import Any

import pytest

from agui_gate import adapter
from agui_gate.approvals import out_of_band
from agui_gate.approvals.out_of_band import Decided
from agui_gate.core.approvals import Approval, State
from agui_gate.errors import ThreadBusy
from agui_gate.protocol.run_input import ResumeEntry
from agui_gate.readers import wake_ups
from agui_gate.stores.base import AtWork
from agui_gate.stores.memory import MemoryStore
from tests.product.inprocess import calls
from tests.support.house import DONE, PAYS, House, house

pytestmark = pytest.mark.anyio

YES = {"approved": True}
TWICE = [*calls("pay", {}, "call_1", "a"), *calls("pay", {}, "call_2", "b"), adapter.TurnDone()]


class Counting(MemoryStore):
    """Counts how often somebody looks at an approval, or at what is at work. A claim waits until it may be made."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.asked = 0
        self.claiming, self.may = asyncio.Event(), asyncio.Event()
        self.may.set()

    async def approval(self, principal: str, approval_id: str) -> Approval | None:
        self.asked += 1
        return await super().approval(principal, approval_id)

    async def at_work(self, *args: Any) -> dict[tuple[str, str], AtWork]:
        raise AssertionError("what is at work here is not looked for in the store")

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        if to is State.CLAIMED:
            self.claiming.set()
            await self.may.wait()
        return await super().move(approval_id, to, **more)


@pytest.fixture(autouse=True)
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing looks by itself."""
    monkeypatch.setattr(wake_ups, "LOOK_SECONDS", 1000.0)


async def deciding(h: House, approval: Approval) -> "asyncio.Task[Decided]":
    """A decision that waits for its thread."""
    waiting = len(watchers(h))
    decision = asyncio.create_task(h.engine.decide("alice", approval.id, YES))
    while len(watchers(h)) == waiting:  # noqa: ASYNC110  (it has no event)
        await asyncio.sleep(0)
    return decision


def watchers(h: House) -> list[wake_ups.Watcher]:
    return [each for found in h.engine._watch._watchers.values() for each in found]


async def test_it_goes_on_when_another_decision_is_over() -> None:
    async with house(TWICE, DONE, kind=Counting) as h:
        first, second = await h.all_asked()
        deciding_first = asyncio.create_task(h.engine.decide("alice", first.id, YES))
        await h.begun.wait()
        late = await deciding(h, second)
        assert isinstance(h.store, Counting)
        asked = h.store.asked
        for _ in range(100):
            await asyncio.sleep(0)
        assert h.store.asked == asked, "it waits, and does nothing else"
        h.go.set()
        assert (await deciding_first).record.state is State.DONE
        assert (await late).record.state is State.DONE
        assert h.ran == 2


async def test_a_second_click_is_answered_while_the_tool_of_the_first_is_at_work() -> None:
    async with house(PAYS, DONE, kind=Counting) as h:
        asked = await h.asked()
        assert isinstance(h.store, Counting)
        h.store.may.clear()
        first = asyncio.create_task(h.engine.decide("alice", asked.id, YES))
        await h.store.claiming.wait()
        second = await deciding(h, asked)
        h.store.may.set()
        told = await second
        assert (told.ours, told.record.state) == (False, State.CLAIMED)
        assert not first.done()
        h.go.set()
        assert (await first).record.state is State.DONE
        assert h.ran == 1


async def test_it_goes_on_when_the_run_is_over() -> None:
    async with house(TWICE, DONE, kind=Counting) as h:
        first, second = await h.all_asked()
        live = await h.start(None, ResumeEntry(first.id, "resolved", YES))
        await h.begun.wait()
        decision = await deciding(h, second)
        h.go.set()
        assert (await decision).record.state is State.DONE
        assert live.task is not None
        await live.task
        assert h.ran == 2


async def test_one_whose_time_is_over_says_that_the_thread_is_busy_and_decides_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(out_of_band, "DECIDE_SECONDS", 0)
    async with house(TWICE, DONE, kind=Counting) as h:
        first, second = await h.all_asked()
        deciding_first = asyncio.create_task(h.engine.decide("alice", first.id, YES))
        await h.begun.wait()
        with pytest.raises(ThreadBusy):
            await h.engine.decide("alice", second.id, YES)
        h.go.set()
        assert (await deciding_first).record.state is State.DONE
        now = await h.store.approval("alice", second.id)
        assert now is not None
        assert (now.state, h.ran) == (State.PENDING, 1)
