"""Agents in this process, without HTTP: the same threads, questions, people and decisions as over a server."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from agui_gate import Agent, ConfigurationError, Gate, Principal, ToolContext, tool
from agui_gate import adapter as ad
from agui_gate import errors as er
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import State
from agui_gate.core.freezes import Freeze
from agui_gate.session import Session
from agui_gate.stores import open_store
from agui_gate.stores.memory import MemoryStore
from tests.people.desk import Desk, ids
from tests.product.inprocess import Parrot, calls, says

pytestmark = pytest.mark.anyio

FINANCE = ("approver", "finance")
ADA = Principal("ada", "acme")
BEN, CAT = Principal("ben", "acme", FINANCE), Principal("cat", "acme", FINANCE)
PEOPLE: dict[str, Any] = {"ada": ADA, "ben": BEN, "cat": CAT}
PATIENCE = 60.0


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store."""
    return f"sqlite:///{tmp_path}/store.db" if request.param == "sqlite" else str(request.getfixturevalue("tables"))


def two() -> Desk:
    """A desk whose refunds need two persons."""
    return Desk(dict(PEOPLE), approvers="finance", needs=2)


async def test_a_call_is_asked_about_and_decided(place: str) -> None:
    """By those who may, as over HTTP; nothing is left at work between two calls."""
    desk, before = two(), asyncio.all_tasks()
    result = await desk.agent().run("refund", store=place, principal=ADA)
    (asked,) = result.pending
    assert (result.text, asked.tool, asked.asker and asked.asker.id) == ("", "refund", "ada")
    assert asyncio.all_tasks() == before
    with pytest.raises(er.MayNotDecide):
        await result.thread.decide(asked.id, {"approved": True})
    half = await result.thread.decide(asked.id, {"approved": True}, principal=BEN)
    assert ([one.id for one in half.pending], desk.ran, half.stopped) == ([asked.id], [], "")
    done = await half.thread.decide(asked.id, True, principal=CAT)
    assert (done.text, done.pending, done.stopped) == ("ok", (), "")
    assert [context.principal for context in desk.ran] == [ADA]
    with pytest.raises(er.ApprovalRefused, match="Already approved by cat"):
        await done.thread.decide(asked.id, False)
    assert asyncio.all_tasks() == before
    store = open_store(place)
    await store.start()
    trail = [(event.kind, event.by, event.way) for event in (await store.read_events(limit=100)).events]
    await store.aclose()
    assert [one for one in trail if one[0] in ("agreed", "approved")] == [
        ("agreed", "ben", "code"),
        ("approved", "cat", "code"),
    ]


async def test_a_server_on_the_same_store_decides(place: str) -> None:
    ours, theirs = two(), two()
    async with theirs.open(place), ours.agent().session(store=place, principal=ADA) as session:
        result = await session.run("refund", thread="t")
        (asked,) = result.pending
        assert ids(await theirs.get("ben", "/approvals")) == [asked.id]
        waiting = asyncio.ensure_future(result.thread.wait(PATIENCE))
        assert (await theirs.decide("ben", asked.id)).status == 200
        assert (await theirs.decide("cat", asked.id, **{"continue": True})).json()["state"] == "done"
        done = await waiting
        assert (done.text, done.pending) == ("ok", ())
        assert (len(theirs.ran), len(ours.ran)) == (1, 0)
        messages = (await theirs.get("ada", "/threads/t")).json()["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
        with pytest.raises(er.ApprovalRefused):
            await result.thread.decide(asked.id, True, principal=BEN)


async def test_one_says_yes_over_http_and_the_other_here(place: str) -> None:
    """A rejection over HTTP with which nobody goes on is told to the model by who waits for it."""
    ours, theirs = two(), two()
    async with theirs.open(place), ours.agent().session(store=place, principal=ADA) as session:
        result = await session.run("refund")
        (asked,) = result.pending
        await theirs.decide("ben", asked.id)
        done = await result.thread.decide(asked.id, True, principal=CAT)
        assert (done.text, len(ours.ran), len(theirs.ran)) == ("ok", 1, 0)
        result = await session.run("refund")
        (asked,) = result.pending
        still = await result.thread.wait(0)
        assert [one.id for one in still.pending] == [asked.id]
        await theirs.decide("ben", asked.id, approved=False)
        assert (await result.thread.wait(PATIENCE)).text == "ok"
        assert (len(ours.ran), len(theirs.ran)) == (1, 0)


async def test_both_decide_at_the_same_time(place: str) -> None:
    ours, theirs = Desk(dict(PEOPLE), approvers="finance"), Desk(dict(PEOPLE), approvers="finance")
    async with theirs.open(place), ours.agent().session(store=place, principal=ADA) as session:
        for number in range(1, 13):
            result = await session.run("refund")
            (asked,) = result.pending
            here = asyncio.ensure_future(result.thread.decide(asked.id, True, principal=BEN))
            there = asyncio.ensure_future(theirs.decide("cat", asked.id, **{"continue": True}))
            await asyncio.wait([here, there])
            refused = here.exception()
            assert isinstance(refused, er.ApprovalRefused | None), refused
            assert (refused is None, there.result().status) in {(True, 409), (False, 200)}
            assert len(ours.ran) + len(theirs.ran) == number
            assert (await result.thread.wait(PATIENCE)).text == "ok"


async def test_the_engine_of_an_application_in_this_process() -> None:
    async with Desk(dict(PEOPLE), approvers="finance").open() as desk:
        agent = desk.app.state.engine.agents["support"]
        result = await agent.run("refund", principal=ADA, app=desk.app, thread="t")
        (asked,) = result.pending
        assert ids(await desk.get("ada", "/approvals")) == [asked.id]
        assert (await result.thread.decide(asked.id, True, principal=BEN)).text == "ok"
        assert (await desk.get("ada", "/threads/t")).status == 200, "it is still open"
        with pytest.raises(ConfigurationError, match="leave out the others"):
            agent.session(app=desk.app, store="memory://")
        with pytest.raises(ConfigurationError, match="with this agent"):
            desk.agent().session(app=desk.app)


class Counting(MemoryStore):
    """A store that counts how often it is opened."""

    opened = 0

    async def start(self) -> None:
        """Open it."""
        self.opened += 1
        await super().start()


class Closing(Parrot):
    """A model that counts how often its connections are closed."""

    closed = 0

    async def aclose(self) -> None:
        """Close them."""
        self.closed += 1


async def test_a_session_opens_its_store_once() -> None:
    store, model = Counting(), Closing()
    agent = Agent(name="a", model=model)
    async with agent.session(store=store) as session:
        results = await asyncio.gather(*(session.run("hello") for _ in range(20)))
        assert {result.text for result in results} == {"ok"}
        assert (store.opened, model.closed) == (1, 0)
    assert model.closed == 1
    session = agent.session(store=store)
    assert (await session.run("again", thread=results[0].thread.id)).text == "ok"
    assert (await session.thread(results[1].thread.id).read()).text == "ok"
    assert (store.opened, model.closed) == (3, 3)


async def test_one_call_closes_nothing_of_another(tmp_path: Path) -> None:
    """Both have the same model, whose connections the first one to end must leave open."""
    go, begun = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await go.wait()
        return "waited"

    class Waits(Closing):
        def _turn(self, request: ad.TurnRequest) -> list[Any]:
            slow = "slow" in str(request.transcript) and not isinstance(request.transcript[-1], ad.AssistantTurn)
            return [*(calls("wait", {}) if slow else says("ok")), ad.TurnDone()]

    model = Waits()
    agent = Agent(name="a", model=model, tools=[wait])
    slow = asyncio.ensure_future(agent.run("slow", store=f"sqlite:///{tmp_path}/a.db"))
    await begun.wait()
    await agent.run("quick", store=f"sqlite:///{tmp_path}/b.db")
    assert model.closed == 0
    go.set()
    assert (await slow).text == "ok"
    assert model.closed == 1


class Held:
    """An agent whose gated tool begins and never ends."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

        async def hold() -> str:
            """Hold."""
            self.begun.set()
            return str(await asyncio.Event().wait())

        plan = [[*calls("hold", {}), ad.TurnDone()]]
        self.gated = Agent(name="a", model=Parrot(plan), tools=[tool(gate=True)(hold)])
        self.free = Agent(name="a", model=Parrot(plan), tools=[tool(hold)])


async def test_to_cancel_a_run_stops_it(place: str) -> None:
    held, before = Held(), asyncio.all_tasks()
    session = held.free.session(store=place)
    async with session.engine() as engine:
        work = asyncio.ensure_future(session.run("go", thread="t"))
        await held.begun.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert engine.following("local", "t") is None
    assert asyncio.all_tasks() - {work} == before
    store = open_store(place)
    await store.start()
    thread = await store.read_thread("local", "t")
    await store.aclose()
    assert thread is not None
    assert thread.run_status == "cancelled"
    assert (await held.free.run("Go on", store=place, thread="t")).text == "ok"


async def test_to_cancel_a_decision_stops_its_tool(place: str) -> None:
    held = Held()
    result = await held.gated.run("go", store=place, thread="t")
    work = asyncio.ensure_future(result.thread.decide(result.pending[0].id, True))
    await held.begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    store = open_store(place)
    await store.start()
    record = await store.approval("local", result.pending[0].id)
    await store.aclose()
    assert record is not None
    assert record.state is State.UNKNOWN
    assert (await result.thread.run("Go on")).text == "ok"


async def test_who_stops_it_elsewhere_is_heard(place: str) -> None:
    held, other = Held(), Desk({"ada": "local"})
    async with other.open(place):
        work = asyncio.ensure_future(held.free.run("go", store=place, thread="t"))
        await held.begun.wait()
        assert (await other.post("ada", "/threads/t/cancel", {})).json() == {"cancelled": True}
        assert (await work).stopped == "The run was stopped."


async def kills(place: str) -> None:
    """In a process of its own, which its approved tool kills."""

    @tool(gate=True)
    def refund(order_id: str) -> str:
        """Refund an order."""
        os.kill(os.getpid(), signal.SIGKILL)
        return order_id

    result = await Agent(name="a", model=Parrot(), tools=[refund]).run("refund", store=place, thread="t")
    await result.thread.decide(result.pending[0].id, True)


async def test_a_process_that_is_killed(tmp_path: Path) -> None:
    """What was at work is not run again, and the thread goes on."""
    place = f"sqlite:///{tmp_path}/store.db"
    program = f"import asyncio; from tests.people.test_session import kills; asyncio.run(kills({place!r}))"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, cwd=Path(__file__).parents[2])
    assert await process.wait() == -signal.SIGKILL
    desk = Desk({})
    async with desk.agent().session(store=place) as session:
        thread = session.thread("t")
        assert (await thread.wait(PATIENCE)).text == "ok"
        async with session.engine() as engine:
            (record,) = (await engine.store.list_approvals("local", limit=10, which="all")).approvals
        assert (record.state, desk.ran) == (State.UNKNOWN, [])


async def test_notices_are_left_to_servers(tmp_path: Path) -> None:
    """A job tells nobody: it must not take from the outbox what a server has to tell."""
    place = f"sqlite:///{tmp_path}/store.db"
    for _ in range(2):
        await two().agent().run("refund", store=place, principal=ADA)
    store = open_store(place)
    await store.start()
    kinds = [notice.kind for notice in await store.take_notices("a server", told=[], limit=10)]
    await store.aclose()
    assert kinds.count("approval_pending") == 2, kinds


class Answer(BaseModel):
    """A form."""

    amount: int


async def test_how_a_run_ends() -> None:
    async def after(*plan: Any, **more: Any) -> Any:
        agent = Agent(name="a", model=Parrot(list(plan)), **more)
        return await agent.run("hello", store="memory://")

    done = ad.TurnDone()
    result = await after([*says("One moment.", "0"), *calls("look", {}), done], tools=[tool(name="look")(lambda: "x")])
    assert result.text == "One moment.\n\nok"
    cut = await after([*says("You sa"), ad.TurnDone("incomplete", "max_tokens")])
    assert (cut.text, "limit of the provider" in cut.stopped) == ("You sa", True)
    assert (await after([*says('{"amount": 3}'), done], output=Answer)).output == Answer(amount=3)
    with pytest.raises(er.ProviderAuth, match="The key is wrong"):
        await after([er.ProviderAuth("The key is wrong.")])
    with pytest.raises(er.LimitReached):
        await after([*calls("look", {}), done], tools=[tool(name="look")(lambda: "x")], max_turns=1)
    with pytest.raises(er.Internal):
        await after([RuntimeError("a bug")])


async def test_what_is_refused() -> None:
    desk = Desk({}, approvers="finance")
    agent = desk.agent()
    for wrong in ("", "a\x1fb", 1):
        with pytest.raises(er.InvalidRequest, match="principal"):
            agent.session(principal=wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        await agent.run("hello", store="nothing://")
    async with agent.session(store="memory://", principal=ADA) as session:
        for message in ("", " ", [], "\ud800", [{"type": "text", "text": object()}], [{"type": "nothing"}]):
            with pytest.raises(er.InvalidRequest):
                await session.run(message)
        for thread in ("", "a\n"):
            with pytest.raises(er.InvalidRequest, match="thread"):
                await session.run("hello", thread=thread)
        with pytest.raises(er.NotFound):
            await session.thread("none").read()
        with pytest.raises(er.NotFound):
            await session.thread("none").wait(0)
        with pytest.raises(er.Forbidden):
            await session.run("hello", principal=Principal("eve", "acme", ["approver"]))
        one, other = await session.run("refund"), await session.run("refund")
        with pytest.raises(er.NotFound):
            await one.thread.decide(other.pending[0].id, True, principal=BEN)
        with pytest.raises(er.NotFound):
            await one.thread.decide(one.pending[0].id, True, principal=Principal("ben", "evil", FINANCE))
        with pytest.raises(er.Forbidden):
            await one.thread.decide(one.pending[0].id, True, principal=Principal("ben", "acme", ["auditor"]))
        with pytest.raises(er.InvalidRequest):
            await one.thread.decide(one.pending[0].id, {"approved": "yes"}, principal=BEN)
        async with session.engine() as engine:
            await engine.store.freeze(Freeze(reason="Audit."))  # type: ignore[attr-defined]  # a store that can
        with pytest.raises(er.Frozen, match="Audit"):
            await one.thread.decide(one.pending[0].id, True, principal=BEN)
        assert desk.ran == []


async def test_the_limits_of_the_settings_hold() -> None:
    held = Held()
    async with held.free.session(store="memory://", settings=Settings(principal_runs=1)) as session:
        work = asyncio.ensure_future(session.run("go", thread="t"))
        await held.begun.wait()
        with pytest.raises(er.RateLimited):
            await session.run("hello")
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


async def test_a_block_that_fails_stops_what_is_at_work() -> None:
    held, before = Held(), asyncio.all_tasks()
    session = held.free.session(store="memory://")

    async def job() -> None:
        async with session:
            works.append(asyncio.ensure_future(session.run("go")))
            await held.begun.wait()
            raise ValueError("of the job")

    works: list[Any] = []
    with pytest.raises(ValueError, match="of the job"):
        await job()
    with pytest.raises(er.Unavailable):
        await works[0]
    assert asyncio.all_tasks() == before


async def test_who_is_cancelled_while_it_opens_leaves_nothing_open() -> None:
    store = Counting()
    session = Session(Agent(name="a", model=Parrot()), store=store)
    for steps in range(12):
        work, before = asyncio.ensure_future(session.run("hello")), asyncio.all_tasks()
        for _ in range(steps):
            await asyncio.sleep(0)
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        assert asyncio.all_tasks() <= before
        assert session._use is None
    assert (await session.run("hello")).text == "ok"


async def test_a_tool_sees_who_runs_it() -> None:
    seen: list[ToolContext] = []

    @tool(gate=Gate(when=lambda arguments: False))
    def look(ctx: ToolContext) -> str:
        """Look."""
        seen.append(ctx)
        return "seen"

    agent = Agent(name="a", model=Parrot([[*calls("look", {}), ad.TurnDone()]]), tools=[look])
    await agent.run("go", store="memory://", principal=Principal("ada", "acme", acts_for="desk"))
    assert [(one.owner, one.principal) for one in seen] == [("desk", ADA)]
