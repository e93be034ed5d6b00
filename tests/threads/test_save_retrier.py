"""What a run saves is saved once and as a whole, whatever runs in parallel or is cancelled."""

import asyncio
import json

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.adapter import TurnDone
from agui_gate.concurrency import to_the_end
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import CallPart, Output, ResultEntry, TurnEntry, UserEntry
from agui_gate.errors import Unavailable
from agui_gate.runs.engine import Engine
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads import lease
from agui_gate.threads.lease import SaveRetrier
from agui_gate.threads.leased_thread import LeasedThread
from tests.product.inprocess import Parrot, calls, run, run_body, started, user
from tests.requirements import shows
from tests.stores.support import ask, gated

pytestmark = pytest.mark.anyio


class Slow(MemoryStore):
    """Takes a moment over each commit, as a store with a disk does, and remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.commits = []

    async def commit(self, thread, change, run_key) -> None:
        self.begun.set()
        await self.gate.wait()
        self.commits.append(list(change.entries))
        await super().commit(thread, change, run_key)


async def opened(store):
    await store.start()
    return LeasedThread(store, await store.lease_thread("p", "t", "a", "run_1"), "run_1")


def result(name):
    return ResultEntry(name, f"{name}-result", Output(name))


async def test_parallel_savers_write_every_entry_once() -> None:
    async with asyncio.timeout(60):
        store = Slow()
        thread = await opened(store)
        savers = []
        for name in "abc":
            thread.append([result(name)])
            savers.append(asyncio.ensure_future(thread.commit()))
            await store.begun.wait()
        store.gate.set()
        await asyncio.gather(*savers)
        stored = await store.read_thread("p", "t")
        assert stored.entries == thread.entries == [result("a"), result("b"), result("c")]
        assert len(store.commits) == 2


@shows("S29", "S31")
async def test_a_cancelled_saver_knows_what_was_saved() -> None:
    async with asyncio.timeout(60):
        store = Slow()
        thread = await opened(store)
        thread.append([UserEntry("u", ()), TurnEntry("turn", (CallPart("c", "c", "refund", "{}", "m", kind="gated"),))])
        asked = Approval(
            id="apr", principal="p", thread_id="t", agent="a", run_key="run_1", turn_id="turn", call_id="c",
            tool="refund", arguments="{}", style="interrupt",
        )  # fmt: skip
        saver = asyncio.ensure_future(thread.commit(approvals=[asked]))
        await store.begun.wait()
        saver.cancel()
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await saver
        assert [a.id for a in thread.journal.pending()] == ["apr"]
        assert (await store.approval("p", "apr")).state is State.PENDING
        await thread.commit(status="cancelled")
        assert len((await store.read_thread("p", "t")).entries) == 2


async def test_what_could_not_be_saved_is_saved_the_next_time() -> None:
    async with asyncio.timeout(60):
        store = Slow()
        store.gate.set()
        thread = await opened(store)
        await store.aclose()
        thread.append([result("a")])
        with pytest.raises(Exception, match="closed"):
            await thread.commit()
        await store.start()
        thread.append([result("b")])
        await thread.commit(status="finished")
        assert (await store.read_thread("p", "t")).entries == [result("a"), result("b")]


async def test_to_the_end() -> None:
    async with asyncio.timeout(60):
        done = asyncio.Event()
        go = asyncio.Event()

        async def work() -> None:
            await go.wait()
            done.set()
            raise ValueError("nobody hears this")

        caller = asyncio.ensure_future(to_the_end(work()))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert done.is_set()
        with pytest.raises(ValueError, match="nobody"):
            await to_the_end(work())


async def test_the_store_is_closed_even_if_a_model_can_not_be() -> None:
    class Stuck(Parrot):
        async def aclose(self) -> None:
            raise OSError("It does not close.")

    store = MemoryStore()
    engine = Engine([Agent(name="a", model=Stuck())], store)
    async with asyncio.timeout(60):
        await engine.start()
        with pytest.raises(OSError, match="does not close"):
            await engine.aclose()
        with pytest.raises(Unavailable):
            await store.check()


@shows("B9", "S30")
async def test_a_call_that_ran_and_could_not_be_saved_is_not_told_as_one_that_did_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lease, "KEEP_SECONDS", 0.2)

    class Full(MemoryStore):
        async def commit(self, thread, change, run_key) -> None:
            if any(isinstance(entry, ResultEntry) for entry in change.entries):
                raise Unavailable("The disk is full.")
            await super().commit(thread, change, run_key)

    @tool
    async def mail() -> str:
        """Mail them."""
        return "sent"

    model = Parrot([[*calls("mail", {}), TurnDone()]])
    app = create_app(Agent(name="a", model=model, tools=[mail]), store=Full(), settings=Settings())
    async with started(app):
        *_, told, last = (await run(app, run_body("t", user("mail them", "u1")))).events()
    assert json.loads(told["content"])["status"] == "unknown"
    assert (last["type"], last["code"]) == ("RUN_ERROR", "unavailable")


class Away(MemoryStore):
    """Can't record what came of a call until it is ``back``."""

    def __init__(self) -> None:
        super().__init__()
        self.tried, self.back = asyncio.Event(), asyncio.Event()

    async def move(self, approval_id, to, **more):
        if to is State.DONE:
            self.tried.set()
            await self.back.wait()
        return await super().move(approval_id, to, **more)


@shows("T8")
async def test_a_lease_is_renewed_while_only_a_result_is_owed() -> None:
    store = Away()
    async with asyncio.timeout(60):
        await store.start()
        await ask(store, gated())
        claimed = await store.move("a1", State.CLAIMED)
        keeper = SaveRetrier(store)
        keeping_it = asyncio.create_task(keeper.keep("run_1", claimed, State.DONE, Output("paid")))
        await store.tried.wait()
        assert keeper.leases == {"run_1"}
        store.back.set()
        await keeping_it
        assert keeper.leases == set()


@shows("T8")
async def test_a_lease_is_renewed_while_only_the_end_of_its_run_is_owed() -> None:
    store, tried, back = MemoryStore(), asyncio.Event(), asyncio.Event()

    async def save() -> None:
        tried.set()
        await back.wait()

    async with asyncio.timeout(60):
        await store.start()
        thread = await store.lease_thread("p", "t", "a", "run_1")
        keeper = SaveRetrier(store)
        ending = asyncio.create_task(keeper.end(thread, "run_1", save, 5))
        await tried.wait()
        assert keeper.leases == {"run_1"}
        back.set()
        await ending
        assert keeper.leases == set()


@shows("T8")
async def test_a_run_ends_after_its_results_and_all_is_saved_then() -> None:
    store, told, done = Away(), [], []

    async def save() -> None:
        done.append("end")

    async with asyncio.timeout(60):
        await store.start()
        thread = await ask(store, gated())
        claimed = await store.move("a1", State.CLAIMED)
        keeper = SaveRetrier(store, lambda *about: told.append(about))
        async with asyncio.TaskGroup() as group:
            group.create_task(keeper.keep("run_1", claimed, State.DONE, Output("paid")))
            await store.tried.wait()
            group.create_task(keeper.end(thread, "run_1", save, 5))
            all_saved = group.create_task(keeper.all_saved())
            for _ in range(5):
                await asyncio.sleep(0)
            assert (done, told, all_saved.done()) == ([], [], False)
            store.back.set()
    assert (done, told) == (["end"], [("alice", "t", "approvals")])
