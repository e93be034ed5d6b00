"""However a run ends, and wherever: its stream is whole by the specification's rules, and says what is true."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from agui_gate import Agent, Gate, adapter, tool
from agui_gate.core.journal import Journal
from agui_gate.errors import ProviderUnavailable, Unavailable
from agui_gate.protocol.dialects.base import Deployment
from agui_gate.protocol.request_decoder import decode
from agui_gate.runs import run
from agui_gate.runs.agent_loop import Cast
from agui_gate.runs.engine import Engine
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Change, Thread
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.threads import lease
from agui_gate_adapters.testkit.spec import assert_conforms
from tests.conforming import DEPARTURES, conforms
from tests.product.inprocess import Parrot, calls, run_body, says, user
from tests.product.shop import COLOR
from tests.requirements import shows
from tests.support.chance import some

pytestmark = [
    pytest.mark.anyio,
    shows("B14", "S30"),
    conforms("LIFE-1", "LIFE-3", "LIFE-4", "LIFE-6", "STR-1", "REAS-1", "TOOL-4", "TOOL-6"),
]

Json = dict[str, Any]
STEPS = (*range(40), *range(40, 120, 10))
"""Steps of the loop after which it is hindered; the longest of these runs takes about a hundred."""
DIALECTS = [
    pytest.param(Deployment.AUTO, None, id="0.x"),
    pytest.param(Deployment.AUTO, "1.0", id="1.x"),
    pytest.param(Deployment.V1, "1.0", id="1.x with extras"),
]
THINKS = [adapter.ReasoningStart("r"), adapter.ReasoningDelta("r", "hm"), adapter.ReasoningEnd("r", "sealed")]
LATE = [
    adapter.ReasoningStart("s"),
    adapter.ReasoningDelta("s", "and"),
    adapter.TextStart("t"),
    adapter.TextDelta("t", "x"),
]
GATED = calls("refund", {"order_id": "A1"}, "c1", "1")
FREE = calls("look", {}, "c2", "2")
THEIRS = calls("pick_color", {}, "c3", "3")
DONE = adapter.TurnDone(usage=adapter.Usage("p", "m", 3, 2, 5))
SCENES: dict[str, list[Any]] = {
    "words": [[*THINKS, *says("Well."), *LATE, DONE]],
    "a free call": [[*THINKS, *says("Well."), *FREE, *LATE, DONE]],
    "a gated call": [[*says("Well."), *GATED, DONE]],
    "all kinds of calls": [[*says("Well."), *GATED, *FREE, *THEIRS, DONE]],
    "a call of the page": [[*says("Well."), *FREE, *THEIRS, DONE]],
    "a failure": [[*LATE, *GATED, *FREE, *THEIRS, ProviderUnavailable("Away.")]] * 2,
    "a limit": [[*LATE, *GATED[:-1], *FREE[:-1], adapter.TurnDone("incomplete", "max_tokens")]],
}


class Stumbling(MemoryStore):
    """Refuses to save from the moment on that it is told to."""

    away = False

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        if self.away:
            raise Unavailable("The store is away.")
        await super().commit(thread, change, run_key)


class Slow(Parrot):
    """Others get their turn between any two of its events."""

    async def stream(self, request: adapter.TurnRequest) -> Any:
        async for batch in super().stream(request):
            await asyncio.sleep(0)
            yield batch


class Place:
    """An engine, and one thread after the other."""

    def __init__(self, deployment: Deployment, version: str | None, **agent: Any) -> None:
        @tool(gate=Gate())
        async def refund(order_id: str) -> str:
            """Refund an order."""
            await asyncio.sleep(0)
            return "refunded"

        @tool
        async def look() -> str:
            """Look."""
            await asyncio.sleep(0)
            return "seen"

        self.model, self.store, self.version, self.raw = Slow(), Stumbling(), version, ""
        self.agent = Agent(name="a", model=self.model, tools=[refund, look], **agent)
        self.engine = Engine([self.agent], self.store, deployment)

    async def begin(self, thread_id: str, plan: Any, *messages: Json, **more: Any) -> tuple[LiveRun, Json]:
        self.model.plan = None if plan is None else [list(turn) for turn in plan]
        said = {} if self.version is None else {"protocolVersion": self.version}
        body = run_body(thread_id, *messages, tools=[COLOR], **said, **more)
        return await self.engine.run(self.agent, decode(json.dumps(body).encode()), "p"), body

    async def judged(self, live: LiveRun, body: Json) -> Json:
        """The end of the run, whose stream keeps every rule."""
        reader = await self.engine.read(live.key, -1)
        assert reader is not None
        raw = ""
        while data := await reader.read():
            raw += data.decode()
        self.raw = raw
        assert_conforms(raw, input=body, departs=DEPARTURES)
        end: Json = json.loads(raw.rstrip().rsplit("data: ", 1)[1])
        return end


@asynccontextmanager
async def place(deployment: Deployment, version: str | None, **agent: Any) -> AsyncIterator[Place]:
    at = Place(deployment, version, **agent)
    await at.engine.start()
    try:
        async with asyncio.timeout(60):
            yield at
    finally:
        at.store.away = False
        await at.engine.aclose()


async def after(steps: int, live: LiveRun, hinder: Callable[[], None]) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)
    hinder()
    assert live.task is not None
    await asyncio.wait([live.task])


def stopped(end: Json, version: str | None) -> bool:
    """Whether that is how a run is told to have been stopped."""
    if version is None:
        return (end["type"], end.get("code")) == ("RUN_ERROR", "abort")
    return (end["type"], end.get("outcome"), "metadata" in end) == ("RUN_FINISHED", {"type": "cancelled"}, False)


def abandoned(end: Json) -> bool:
    return end["type"] == "RUN_ERROR" and end["code"] == "abort"


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize(("deployment", "version"), DIALECTS)
async def test_stopped_anywhere(deployment: Deployment, version: str | None, scene: str) -> None:
    ends = []
    async with place(deployment, version) as at:
        for steps in STEPS[:: some(4, 1)]:
            live, body = await at.begin(f"t{steps}", SCENES[scene], user("go", "u1"))
            await after(steps, live, live.cancel)
            end = await at.judged(live, body)
            assert version is None or not abandoned(end)
            ends.append(stopped(end, version))
            live, body = await at.begin(f"t{steps}", None, user("go", "u1"), user("next", "u2"))
            await after(0, live, lambda: None)
            await at.judged(live, body)
    assert ends[0], "it is stopped where that is in time"
    assert not ends[-1], "and ends by itself where it is not"


@pytest.mark.parametrize("scene", ["words", "all kinds of calls"])
@pytest.mark.parametrize(("deployment", "version"), DIALECTS[:2])
async def test_drained_anywhere(deployment: Deployment, version: str | None, scene: str) -> None:
    codes = set()
    async with place(deployment, version) as at:
        for steps in STEPS[:: some(4, 1)]:
            live, body = await at.begin(f"t{steps}", SCENES[scene], user("go", "u1"))
            await after(steps, live, partial(live.cancel, draining=True))
            codes.add((await at.judged(live, body)).get("code"))
    assert codes == {None, "abort" if version is None else "unavailable"}


@pytest.mark.parametrize("scene", ["words", "all kinds of calls", "a failure"])
@pytest.mark.parametrize(("deployment", "version"), DIALECTS[:2])
async def test_a_lease_lost_anywhere(deployment: Deployment, version: str | None, scene: str) -> None:
    codes = set()
    async with place(deployment, version) as at:
        for steps in STEPS[:: some(4, 1)]:
            live, body = await at.begin(f"t{steps}", SCENES[scene], user("go", "u1"))
            await after(steps, live, live.run.lose)
            codes.add((await at.judged(live, body)).get("code"))
    assert "lease_lost" in codes


async def test_tools_that_are_away_before_anything_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    async def get_ready(self: Cast, journal: Journal) -> None:
        raise ProviderUnavailable("Away.")

    monkeypatch.setattr(Cast, "get_ready", get_ready)
    with capture_logs() as logs:
        async with place(Deployment.AUTO, "1.0") as at:
            live, body = await at.begin("t", None, user("go", "u1"))
            await after(0, live, lambda: None)
            assert (await at.judged(live, body))["code"] == "provider_unavailable"
    assert "run_task_failed" not in [log["event"] for log in logs]


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("scene", ["words", "a free call", "all kinds of calls"])
@pytest.mark.parametrize(("deployment", "version"), DIALECTS[:2])
async def test_a_store_that_goes_away_anywhere(
    deployment: Deployment, version: str | None, scene: str, stop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "KEEP_SECONDS", 0)
    monkeypatch.setattr(run, "END_SECONDS", 0)
    logged: list[Any] = []
    for steps in STEPS[: 40 : some(6, 3)]:
        async with place(deployment, version) as at:
            live, body = await at.begin("t", SCENES[scene], user("go", "u1"))

            def hinder(at: Place = at, live: LiveRun = live) -> None:
                at.store.away = True
                if stop:
                    live.cancel()

            with capture_logs() as logs:
                await after(steps, live, hinder)
            logged += [log for log in logs if log["event"] == "records_not_closed"]
            end = await at.judged(live, body)
            assert end["type"] == "RUN_FINISHED" or end["code"] in ("unavailable", "abort")
    assert bool(logged) == stop
    assert all(log["error"] == "The store is away." for log in logged), "one line, and no traceback"


@pytest.mark.parametrize(("deployment", "version"), DIALECTS)
async def test_a_question_is_shown_only_once_it_is_saved(
    deployment: Deployment, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as a card or interrupt nor in a snapshot: who answered it then would be told that there is none."""
    monkeypatch.setattr(lease, "KEEP_SECONDS", 0)
    monkeypatch.setattr(run, "END_SECONDS", 0)
    for is_away in (False, True):
        async with place(deployment, version) as at:
            live, body = await at.begin("t", SCENES["a gated call"], user("go", "u1"))
            await after(0, live, partial(setattr, at.store, "away", is_away))
            end = await at.judged(live, body)
            assert (end["type"] == "RUN_ERROR", "apr_" not in at.raw) == (is_away, is_away)


async def test_a_question_that_a_locked_file_refused_is_not_asked_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client was told that it failed, and nobody is to approve it then. The next run asks anew."""
    monkeypatch.setattr(lease, "KEEP_SECONDS", 0)
    monkeypatch.setattr(run, "END_SECONDS", 0)
    path = tmp_path / "gate.db"
    store = SQLiteStore(str(path))
    async with place(Deployment.AUTO, "1.0") as at:
        await store.start()
        at.store, at.engine = cast(Any, store), Engine([at.agent], store, Deployment.AUTO)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            live, body = await at.begin("t", SCENES["a gated call"], user("go", "u1"))
            commit, locked = store.commit, []

            async def lock(thread: Thread, change: Change, run_key: str) -> None:
                if change.approvals and not locked:
                    locked.append(other.execute("BEGIN IMMEDIATE"))
                    await store._run(lambda db: db.execute("PRAGMA busy_timeout = 1"))
                await commit(thread, change, run_key)

            monkeypatch.setattr(store, "commit", lock)
            end = await at.judged(live, body)
            assert (end["code"], "apr_" in at.raw, len(locked)) == ("unavailable", False, 1)
            other.execute("COMMIT")
        await at.engine._keeper.all_saved()
        thread = await store.read_thread("p", "t")
        assert thread is not None
        assert (thread.run_status, thread.approvals) == ("failed", [])
        assert (await store.read_events(limit=9)).events == []
        assert Journal(thread.entries).open_calls() == [], "the call was told not to have run"
        live, body = await at.begin("t", SCENES["a gated call"], user("go", "u1"), user("again", "u2"))
        assert (await at.judged(live, body))["outcome"]["type"] == "interrupt"
        await at.engine.aclose()


@pytest.mark.parametrize("stop", ["stop", "lose", "away"])
@pytest.mark.parametrize(("deployment", "version"), DIALECTS[:2])
async def test_hindered_while_answers_are_carried_out(
    deployment: Deployment, version: str | None, stop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "KEEP_SECONDS", 0)
    monkeypatch.setattr(run, "END_SECONDS", 0)
    two = [[*says("Well."), *GATED, *calls("refund", {"order_id": "A2"}, "c9", "9"), DONE]]
    for steps in STEPS[: 40 : some(5, 2)]:
        async with place(deployment, version) as at:
            live, body = await at.begin("t", two, user("go", "u1"))
            await after(0, live, lambda: None)
            asked = (await at.judged(live, body))["outcome"]["interrupts"]
            answers = [
                {"interruptId": one["id"], "status": "resolved", "payload": {"approved": number == 0}}
                for number, one in enumerate(asked)
            ]
            live, body = await at.begin("t", [[*LATE, *FREE, DONE]], resume=answers)

            def hinder(at: Place = at, live: LiveRun = live) -> None:
                at.store.away = stop == "away"
                {"stop": live.cancel, "lose": live.run.lose, "away": lambda: None}[stop]()

            await after(steps, live, hinder)
            end = await at.judged(live, body)
            assert end["type"] == "RUN_FINISHED" or end["code"] in ("unavailable", "abort", "lease_lost")
            assert version is None or not abandoned(end)
