"""When the store is asked what is overdue: at the time that it said, and now and then for what others have asked."""

import asyncio
import time

import pytest
from structlog.testing import capture_logs

from agui_gate import Agent, Gate, tool
from agui_gate.approvals.expiry import LOOK_SECONDS, ExpiryJob
from agui_gate.core.approvals import Approval, State
from agui_gate.errors import Unavailable
from agui_gate.extras.inbox import feed as inbox
from agui_gate.extras.inbox.feed import Waiting, inbox_of
from agui_gate.protocol.run_input import Message, RunInput
from agui_gate.runs.engine import Engine
from agui_gate.stores.base import EXPIRE, STOP_MS, Change, Expired, Thread
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.product.inprocess import TIMEOUT, Parrot
from tests.requirements import shows
from tests.stores.support import Clock, gated

pytestmark = [pytest.mark.anyio, shows("B26")]


class Asked:
    """A store that counts how often it is asked, and gives these answers."""

    def __init__(self, *answers: Expired | Unavailable) -> None:
        self.count = 0
        self._answers = iter(answers)

    async def expire(self, most: int = EXPIRE) -> Expired:
        self.count += 1
        answer = next(self._answers, Expired([], None))
        if isinstance(answer, Unavailable):
            raise answer
        return answer


async def test_it_asks_when_something_expires_and_rarely_where_nothing_does() -> None:
    now, written = 1.0, []
    store = Asked(Expired([], 500), Expired([("alice", "t")], 0), Expired([], None))
    job = ExpiryJob(store, lambda *place: written.append(place), lambda: now)
    times = []
    for _ in range(80):
        before = store.count
        await job.step()
        if store.count > before:
            times.append(now)
        now += 0.125
    assert times == [1.0, 1.5, 4.5, 7.5, 10.5]
    assert written == [("alice", "t")]


async def test_thousands_that_expire_at_a_time_are_written_in_time_and_others_have_their_turn() -> None:
    """They were two hundred a second."""
    now = 1.0
    store = Asked(*[Expired([("alice", "t")], 0)] * 30)
    written: list[tuple[str, str]] = []

    def on_written(principal: str, thread_id: str) -> None:
        nonlocal now
        written.append((principal, thread_id))
        now += 0.0625

    job = ExpiryJob(store, on_written, lambda: now)
    steps = []
    for _ in range(4):
        await job.step()
        steps.append(len(written))
        now += STOP_MS / 1000
    assert steps == [8, 16, 24, 30]


async def test_what_others_ask_is_found_in_time() -> None:
    assert LOOK_SECONDS + STOP_MS / 1000 < 5


async def test_a_store_that_is_away_is_asked_again_and_told_of_once() -> None:
    now = 1.0
    store = Asked(Unavailable("away"), Unavailable("away"), Expired([("alice", "t")], None, [gated("a1")]))
    written: list[tuple[str, str]] = []
    job = ExpiryJob(store, lambda *place: written.append(place), lambda: now)
    with capture_logs() as logs:
        for _ in range(3):
            await job.step()
            now += LOOK_SECONDS
    assert [log["event"] for log in logs] == ["nothing_expired", "expired"]
    assert written == [("alice", "t")]


async def test_a_call_that_another_replica_asked_about_expires_and_is_told_though_nobody_looks(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reader here but a stream of approvals, whose own looks are left out."""
    monkeypatch.setattr(inbox, "LOOK_SECONDS", 10 * TIMEOUT)

    @tool(gate=Gate(expires_after=1))
    async def refund(order_id: str) -> str:
        """Refund."""
        return order_id

    agent = Agent(name="support", model=Parrot(), tools=[refund])
    asks, looks = (Engine([agent], SQLiteStore(path)) for _ in range(2))
    await looks.start()
    await asks.start()
    run = await asks.run(agent, RunInput("t", "r", [Message("user", id="u", content="refund")]), "alice")
    assert run.task is not None
    await run.task
    await asks.aclose()
    watcher = inbox_of(looks).watch("alice")
    try:
        async with asyncio.timeout(TIMEOUT):
            asked, waiting, told = [await anext(watcher) for _ in range(3)]
        late = time.time() - (asked.expires_at or 0) / 1000 if isinstance(asked, Approval) else None
        assert isinstance(waiting, Waiting)
        assert isinstance(told, Approval)
        assert (told.state, late is not None and late < TIMEOUT) == ("expired", True)
    finally:
        await watcher.aclose()
        await looks.aclose()


async def test_a_run_ends_with_what_it_asked_though_that_has_expired_already() -> None:
    """Else its model would ask again and again, of a gate that gives nobody the time to answer."""
    clock = Clock()

    class Slow(MemoryStore):
        async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
            await super().commit(thread, change, run_key)
            clock.advance(1_000 if change.approvals else 0)

    @tool(gate=Gate(expires_after=1))
    async def refund(order_id: str) -> str:
        """Refund."""
        return order_id

    model = Parrot()
    agent = Agent(name="support", model=model, tools=[refund])
    engine = Engine([agent], Slow(clock=clock))
    await engine.start()
    run = await engine.run(agent, RunInput("t", "r", [Message("user", id="u", content="refund")]), "alice")
    assert run.task is not None
    await run.task
    (asked,) = (await engine.store.list_approvals("alice", limit=10, which="decided")).approvals
    assert asked.state is State.EXPIRED
    assert len(model.requests) == 1
    await engine.aclose()


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("expiry") / "store.db")
