"""Consent that could not be sent after all: the provider was told nothing, so nothing counts as passed on."""

import asyncio
from types import SimpleNamespace

import pytest

from agui_gate.approvals.execution import GatedCalls
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import CallPart, TurnEntry
from agui_gate.errors import LeaseLost, Unavailable
from agui_gate.extras.provider_approvals import ProviderApprovals
from agui_gate.stores.base import Change
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads.leased_thread import LeasedThread
from tests.requirements import shows

pytestmark = pytest.mark.anyio
AGENT = SimpleNamespace(name="a", adapter=SimpleNamespace(origin="model"))


async def two_agreed(store):
    """A thread with two held calls that somebody approved, and what passes their consents on."""
    await store.start()
    names = ("a1", "a2")
    turn = TurnEntry("turn", tuple(CallPart(n, n, "pay", "{}", "m", "held") for n in names), "model")
    asked = [
        Approval(
            id=n, principal="p", thread_id="t", agent="a", run_key="r", turn_id="turn", call_id=n, tool="pay",
            arguments="{}", runner="provider",
        )
        for n in names
    ]  # fmt: skip
    first = await store.lease_thread("p", "t", "a", "r")
    await store.commit(first, Change(entries=[turn], approvals=asked, status="waiting"), "r")
    for name in names:
        await store.move(name, State.CLAIMED)
    thread = LeasedThread(store, await store.lease_thread("p", "t", "a", "r2"), "r2")
    gated_calls = GatedCalls(thread.lease, None, thread.decided, thread.keep)
    return thread, ProviderApprovals(thread, gated_calls, lambda: None)


async def states(store):
    return [(await store.approval("p", name)).state for name in ("a1", "a2")]


@shows("B1", "B9")
async def test_if_one_of_two_can_not_be_saved_the_other_is_given_back() -> None:
    class SecondFails(MemoryStore):
        async def move(self, approval_id, to, **more):
            if (approval_id, to) == ("a2", State.PASSED):
                raise Unavailable("The disk is full.")
            return await super().move(approval_id, to, **more)

    store = SecondFails()
    thread, consents = await two_agreed(store)
    with pytest.raises(Unavailable):
        await consents.pass_on(AGENT)
    assert await states(store) == [State.GIVEN_BACK, State.CLAIMED]
    assert not consents.passing
    assert [approval.id for approval in thread.journal.agreed()] == ["a1", "a2"], "the next run passes both on"
    assert thread.journal.consents() == {}


@shows("B1", "S29")
async def test_stopped_while_it_is_saved_that_a_yes_is_on_its_way() -> None:
    class Slow(MemoryStore):
        begun, gate = asyncio.Event(), asyncio.Event()

        async def move(self, approval_id, to, **more):
            if to is State.PASSED:
                self.begun.set()
                await self.gate.wait()
            return await super().move(approval_id, to, **more)

    store = Slow()
    async with asyncio.timeout(60):
        thread, consents = await two_agreed(store)
        passing = asyncio.ensure_future(consents.pass_on(AGENT))
        await store.begun.wait()
        passing.cancel()
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await passing
    assert await states(store) == [State.GIVEN_BACK, State.GIVEN_BACK]
    assert not consents.passing
    assert len(thread.journal.agreed()) == 2


@shows("B1", "B9")
async def test_what_was_given_back_is_passed_on_once_more_and_then_it_counts() -> None:
    store = MemoryStore()
    thread, consents = await two_agreed(store)
    await consents.pass_on(AGENT)
    await store.move("a1", State.GIVEN_BACK)
    again = LeasedThread(store, await store.lease_thread("p", "t", "a", "r2"), "r2")
    assert again.journal.consents() == {"a2": True}
    await ProviderApprovals(again, GatedCalls(again.lease, None, again.decided, again.keep), lambda: None).pass_on(
        AGENT
    )
    assert again.journal.consents() == {"a1": True, "a2": True}
    assert await states(store) == [State.PASSED, State.PASSED]
    assert thread.journal.consents() == {"a1": True, "a2": True}


@shows("B1", "B9", "S29")
async def test_a_request_that_was_never_made_told_the_provider_nothing() -> None:
    """It was stopped, or its store was away, between what was saved of it and the request."""
    for error in (None, Unavailable("The disk is full.")):
        store = MemoryStore()
        thread, consents = await two_agreed(store)
        await consents.pass_on(AGENT)
        await consents.failed(error)
        assert await states(store) == [State.GIVEN_BACK, State.GIVEN_BACK]
        await consents.pass_on(AGENT)
        await consents.begin()
        await consents.failed(error)
        assert await states(store) == [State.UNKNOWN, State.UNKNOWN]
        assert thread.journal.agreed() == []


@shows("B6", "B9")
async def test_without_the_lease_the_request_is_not_made_and_the_record_says_so(monkeypatch) -> None:
    """Who has the lease now has not told anybody anything yet."""
    store = MemoryStore()
    thread, consents = await two_agreed(store)
    await consents.of_task("").pass_on(AGENT)
    monkeypatch.setattr(thread.lease, "held_at", 0)
    await store._do("write", lambda: store._sql.leases.void_all(store._holder))
    other = await store.lease_thread("p", "t", "a", "r3")
    with pytest.raises(LeaseLost) as lost:
        await consents.of_task("").begin()
    await consents.failed(lost.value)
    assert await states(store) == [State.FAILED, State.FAILED]
    assert (await store.approval("p", "a1")).output == result_texts.NOT_STARTED
    assert other.approvals[0].state is State.PASSED


@shows("B5", "B9")
async def test_what_a_dead_process_passed_on_is_not_given_back() -> None:
    """A run that was stopped before it has closed that says what any run says of it."""
    store = MemoryStore()
    _, consents = await two_agreed(store)
    await consents.pass_on(AGENT)
    found = LeasedThread(store, await store.lease_thread("p", "t", "a", "r2"), "r2")
    again = ProviderApprovals(found, GatedCalls(found.lease, None, found.decided, found.keep), lambda: None)
    await again.failed(None)
    assert await states(store) == [State.UNKNOWN, State.UNKNOWN]
