"""What a process that died left of approved calls: what becomes of each kind, when, and that it is told once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from agui_gate import Agent, tool
from agui_gate.approvals import orphan_job
from agui_gate.approvals.execution import GatedCalls
from agui_gate.approvals.orphan_job import GRACE_SECONDS, LOOK_SECONDS, OrphanJob
from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.errors import Unavailable
from agui_gate.protocol.run_input import RunInput
from agui_gate.runs.engine import Engine, new_id
from agui_gate.runs.heartbeat import RENEW_SECONDS
from agui_gate.stores.base import LEASE_MS, ORPHANS, Orphans, Store
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.threads.lease import SaveRetrier
from tests.product.inprocess import Parrot
from tests.requirements import shows
from tests.stores.support import Clock, ask, gated

pytestmark = [pytest.mark.anyio, shows("B9")]

YES = Decision(True, by="alice", way="http")
ran: list[str] = []


@tool(gate=True)
async def refund(amount: int) -> str:
    """Refund."""
    ran.append("refund")
    return "refunded"


@tool(gate=True, idempotent=True)
async def ship(amount: int) -> str:
    """Ship."""
    ran.append("ship")
    return "shipped"


AGENT = Agent(name="support", model=Parrot(), tools=[refund, ship])


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Store]:
    path = str(tmp_path_factory.mktemp("orphans") / "store.db")
    made: Store = MemoryStore(clock=clock) if request.param == "memory" else SQLiteStore(path, clock=clock)
    clock.now = 1_000_000
    ran.clear()
    await made.start()
    yield made
    await made.aclose()


clock = Clock()


class Job:
    """The job of one process over a store, whose time is moved by hand. ``written``: the threads it told of."""

    def __init__(self, store: Any, held: Callable[[], set[str]] = set) -> None:
        self.now, self.written = 0.0, list[str]()
        keeper = SaveRetrier(store, lambda principal, thread_id, what: self.written.append(f"{thread_id} {what}"))
        self._job = OrphanJob(store, keeper, new_id, held, lambda: self.now)

    async def after(self, seconds: float) -> None:
        """So much later, one look."""
        self.now += seconds
        await self._job.step()

    async def whole(self) -> None:
        """As many looks as it takes to settle what there is."""
        await self.after(0)
        await self.after(GRACE_SECONDS)


async def dead(store: Store, *changes: dict[str, Any]) -> None:
    """Calls on one thread that were approved in a process that died, and whose lease has lapsed."""
    approvals = [gated(f"a{number}", **more) for number, more in enumerate(changes)]
    await ask(store, *approvals)
    await store.lease_thread("alice", "t", "support", "run_dead")
    for approval in approvals:
        await store.move(approval.id, State.CLAIMED, decision=YES, run_key="run_dead")
    clock.advance(LEASE_MS)


async def states(store: Store) -> list[str]:
    page = await store.list_approvals("alice", limit=99, which="all")
    return [str(approval.state) for approval in reversed(page.approvals)]


async def test_a_tool_is_unknown_and_nothing_is_run(store: Store) -> None:
    await dead(store, {}, {})
    job = Job(store)
    with capture_logs() as logs:
        await job.whole()
        await job.whole()
    assert (await states(store), ran) == (["unknown", "unknown"], [])
    told = [(log["event"], log["log_level"], log["approval"], log["tool"], log["thread"]) for log in logs]
    lines = [
        (event, "warning", name, "refund", "t") for name in ("a0", "a1") for event in ("orphaned", "outcome_unknown")
    ]
    assert told == lines
    assert "50" not in str(logs)
    events = (await store.read_events(limit=99)).events
    assert [event.approval_id for event in events if event.kind == "unknown"] == ["a0", "a1"]
    notices = await store.take_notices("test", limit=99)
    assert sum('"unknown"' in notice.body for notice in notices) == 2
    assert job.written == ["t approvals", "t approvals", "t ended"]
    head = await store.read_thread("alice", "t", whole=False)
    assert head is not None
    assert head.run_status == "interrupted", "that is how its last run ended"
    assert (await store.lease_thread("alice", "t", "support", "r9")).run_status == "interrupted"


async def test_of_several_processes_one_settles_it(store: Store) -> None:
    await dead(store, {})
    jobs = [Job(store) for _ in range(3)]
    with capture_logs() as logs:
        for job in (*jobs, *jobs):
            await job.after(GRACE_SECONDS)
    assert [log["event"] for log in logs] == ["orphaned", "outcome_unknown"]


async def test_what_another_process_settles_before_the_lease_is_told_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await dead(store, {})
    first, second = Job(store), Job(store)
    await second.after(0)
    read = store.read_approvals

    async def read_and_wait(principal: str, approval_ids: Sequence[str]) -> tuple[list[Approval], Sequence[str]]:
        found = await read(principal, approval_ids)
        monkeypatch.setattr(store, "read_approvals", read)
        await first.whole()
        return found

    monkeypatch.setattr(store, "read_approvals", read_and_wait)
    with capture_logs() as logs:
        await second.after(GRACE_SECONDS)
    assert [log["event"] for log in logs] == ["orphaned", "outcome_unknown"]
    assert await states(store) == ["unknown"]


async def test_what_the_provider_may_have_been_told_is_unknown_and_what_it_was_not_told_is_left(store: Store) -> None:
    await dead(store, {"runner": "provider"}, {"runner": "provider"})
    await store.move("a0", State.PASSED)
    await Job(store).whole()
    assert await states(store) == ["unknown", "claimed"]


async def test_a_task_may_begin(store: Store) -> None:
    await dead(store, {"runner": "agent", "tool": "clerk"})
    await Job(store).whole()
    assert await states(store) == ["done"]


async def next_run(store: Store) -> None:
    """The thread's next run, from its beginning to its end."""
    run = await Engine([AGENT], store).run(AGENT, RunInput("t", "r", []), "alice")
    assert run.task is not None
    await run.task


async def test_so_is_one_that_may_run_again_and_nothing_runs_it_any_more(store: Store) -> None:
    await dead(store, {"tool": "ship"}, {})
    with capture_logs() as logs:
        await Job(store).whole()
    assert (await states(store), ran) == (["unknown", "unknown"], [])
    told = [(log["event"], log["approval"]) for log in logs]
    assert told == [(event, name) for name in ("a0", "a1") for event in ("orphaned", "outcome_unknown")]
    await next_run(store)
    assert (await states(store), ran) == (["unknown", "unknown"], [])


async def test_a_run_that_comes_before_runs_it_again(store: Store) -> None:
    await dead(store, {"tool": "ship"}, {})
    job = Job(store)
    await job.after(0)
    await next_run(store)
    assert (await states(store), ran) == (["done", "unknown"], ["ship"])
    await job.whole()
    assert (await states(store), ran) == (["done", "unknown"], ["ship"])


async def test_more_than_a_page_of_one_thread_is_settled_at_once(store: Store) -> None:
    arguments = f'{{"amount":50,"note":"{"x" * 400_000}"}}'
    await dead(store, *({"arguments": arguments},) * 6)
    assert len((await store.read_approvals("alice", [f"a{number}" for number in range(6)]))[1]) > 0
    await Job(store).whole()
    for number in range(6):
        record = await store.approval("alice", f"a{number}")
        assert record is not None
        assert record.state is State.UNKNOWN


async def test_who_awakes_keeps_what_is_its(store: Store) -> None:
    """Its lease has lapsed while it slept, and it renews that before anybody else may think that it is dead."""
    await dead(store, {})
    other, same = Job(store), Job(store, lambda: {"run_dead"})
    for job in (other, same):
        await job.after(0)
        await job.after(RENEW_SECONDS)
    assert not await store.renew(["run_dead"])
    await other.after(GRACE_SECONDS)
    clock.advance(LEASE_MS)
    await same.whole()
    await other.after(0)
    assert await states(store) == ["claimed"]
    await other.after(GRACE_SECONDS)
    assert await states(store) == ["unknown"]


async def test_a_server_looks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = asyncio.Event()

    async def work(self: OrphanJob) -> None:
        looks.set()

    monkeypatch.setattr(OrphanJob, "work", work)
    engine = Engine([AGENT], MemoryStore())
    async with asyncio.timeout(60):
        await engine.start()
        await looks.wait()
        await engine.aclose()


async def test_that_is_in_time() -> None:
    """Found by the next look, and settled by the first one after the grace."""
    assert GRACE_SECONDS > RENEW_SECONDS
    assert GRACE_SECONDS + 2 * LOOK_SECONDS <= 10


class Away:
    """A store that is away, and nothing else."""

    async def orphans(self, after: int = 0, most: int = ORPHANS) -> Orphans:
        raise Unavailable("away")


async def test_a_store_that_is_away_is_told_of_once() -> None:
    job = Job(Away())
    with capture_logs() as logs:
        await job.whole()
    assert [log["event"] for log in logs] == ["orphans_not_read"]


async def test_it_looks_again_and_again_whatever_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(MemoryStore):
        looks = 0

        async def orphans(self, after: int = 0, most: int = ORPHANS) -> Orphans:
            self.looks += 1
            if self.looks > 2:
                looked.set()
            raise RuntimeError("nobody knows this one")

    monkeypatch.setattr(orphan_job, "LOOK_SECONDS", 0.0)
    looked, odd = asyncio.Event(), Odd()
    async with asyncio.timeout(60):
        working = asyncio.create_task(OrphanJob(odd, SaveRetrier(odd), new_id, set).work())
        await looked.wait()
        working.cancel()
        await asyncio.wait([working])


@pytest.mark.parametrize(
    ("now", "is_told"),
    [
        (Unavailable("The store is away."), False),
        (None, False),
        (gated(state=State.PENDING), False),
        (gated(state=State.REJECTED, decision=Decision(False, by="bob", way="http")), True),
        (gated(state=State.CLAIMED, runner="agent"), True),
    ],
)
async def test_what_somebody_else_decided_is_told_if_it_can_be_read(now: Any, is_told: bool) -> None:
    async def read(approval_id: str) -> Any:
        if isinstance(now, Exception):
            raise now
        return now

    told: list[Any] = []
    nothing, lease = cast(Any, None), cast(Any, SimpleNamespace(approval=read))
    found = await GatedCalls(lease, nothing, told.append, nothing)._as_it_is(gated())
    assert [one.id for one in told] == ["a1"] * is_told
    assert found.state is (now.state if isinstance(now, Approval) else State.PENDING)
