"""A click that is cut short at any moment: what each party is told is what the record says, and what took effect.

A moment is right before, in the middle of, or right after an operation of the store or the tool, and some steps of the
loop after that. `--offsets` says at how many of them each click is cut short, the two stores taking turns.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, adapter, tool
from agui_gate.approvals.expiry import with_result
from agui_gate.approvals.out_of_band import Decided
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output
from agui_gate.errors import DecisionStopped, Unavailable
from agui_gate.protocol.run_input import Message, ResumeEntry, RunInput
from agui_gate.runs.engine import Engine
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.testkit.agui import parse
from tests.product.inprocess import Parrot, calls, says
from tests.support.house import events

pytestmark = pytest.mark.anyio

YES = {"approved": True}
PAYS = [*calls("pay", {}), adapter.TurnDone()]
DONE = [*says("Done."), adapter.TurnDone()]
OPERATIONS = ("approval", "lease_thread", "move", "commit")
NOT_DECIDED = (
    "This was stopped before it was decided.",
    "The server is shutting down.",
    "The store is ",
    "The connection to the store broke while",
)
MOMENTS = 20
"""More than a click has."""
EVERY = 200
"""So many offsets are all of them. Of fewer, each is tried on one of the stores."""


class Moments:
    """Counts moments from a click on. At the one that is wanted, ``here`` is set."""

    def __init__(self) -> None:
        self.here = asyncio.Event()
        self._left = 0

    def want(self, number: int) -> None:
        """The how many-th one from now."""
        self.here.clear()
        self._left = number

    async def pass_by(self) -> None:
        """One moment. Who waits for it gets its turn before it is over."""
        self._left -= 1
        if self._left == 0:
            self.here.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


class Watched:
    """A store whose operations on a click are moments."""

    def __init__(self, store: Any, moments: Moments) -> None:
        self._store, self._moments = store, moments

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in OPERATIONS or not inspect.iscoroutinefunction(method):
            return method

        async def watched(*arguments: Any, **more: Any) -> Any:
            await self._moments.pass_by()
            doing = asyncio.ensure_future(method(*arguments, **more))
            try:
                await self._moments.pass_by()
            except asyncio.CancelledError:
                doing.cancel()
                raise
            found = await doing
            await self._moments.pass_by()
            return found

        return watched


class Clicked:
    """An engine whose tool says when it begins and when it took effect."""

    def __init__(self, store: Any) -> None:
        self.moments, self.begun, self.ran = Moments(), list[str](), list[str]()
        self.store = Watched(store, self.moments)

        @tool(gate=True)
        async def pay(ctx: Any = None) -> str:
            """Pay."""
            self.begun.append("")
            await self.moments.pass_by()
            self.ran.append("")
            await self.moments.pass_by()
            return "paid"

        self.model = Parrot([])
        self.agent = Agent(name="a", model=self.model, tools=[pay], hitl="interrupt")
        self.engine = Engine([self.agent], self.store, disconnect_grace=0)

    async def run(self, thread_id: str, text: str | None, *resume: ResumeEntry) -> Any:
        """Begin a run."""
        messages = [Message("user", id=f"u-{text}", content=text)] if text else []
        return await self.engine.run(self.agent, RunInput(thread_id, "r", messages, resume=list(resume)), "alice")

    async def ask(self, thread_id: str) -> Approval:
        """A call of a new thread that waits."""
        self.model.plan = [PAYS]
        live = await self.run(thread_id, "pay")
        await live.task
        thread = await self.engine.store.read_thread("alice", thread_id)
        assert thread is not None
        (asked,) = thread.approvals
        self.begun.clear()
        self.ran.clear()
        return asked


@asynccontextmanager
async def clicked(store: Any) -> AsyncIterator[Clicked]:
    made = Clicked(store)
    await made.engine.start()
    try:
        yield made
    finally:
        await made.engine.aclose()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "sqlite":
        return SQLiteStore(f"{tmp_path}/t.db")
    return PostgresStore(request.getfixturevalue("tables"))


async def cut(c: Clicked, how: str, thread_id: str, click: "asyncio.Task[Any]", live: Any) -> None:
    """What comes in between."""
    if how == "cancel":
        await c.engine.cancel("alice", thread_id)
    elif how == "SIGTERM":
        await c.engine.aclose()
    elif live is not None:
        live.leave()
        await live.task
    else:
        click.cancel()


async def told_by_post(c: Clicked, asked: Approval) -> Output | None | str:
    """What the approver is told: what came of the call, or None if it wasn't decided."""
    try:
        decided = await c.engine.decide("alice", asked.id, YES)
    except (DecisionStopped, Unavailable) as error:
        refused = error.message
    else:
        assert isinstance(decided, Decided)
        assert decided.ours
        return decided.record.output
    assert refused.startswith(NOT_DECIDED)
    return None


def told_by_stream(said: str, call_id: str) -> Output | None:
    """What the run's reader is told of the call."""
    found = [e for e in parse(said) if e["type"] == "TOOL_CALL_RESULT" and e["toolCallId"] == call_id]
    ends = [e["type"] for e in parse(said) if e["type"] in ("RUN_FINISHED", "RUN_ERROR")]
    assert len(ends) == 1
    assert len(found) <= 1
    return Output(found[0]["content"]) if found else None


async def click_and_cut(c: Clicked, way: str, how: str, number: int, steps: int, thread_id: str) -> tuple[Any, Any]:
    """The approval as it was asked, and what its approver was told (``...`` where nobody was there any more)."""
    asked, live = await c.ask(thread_id), None
    c.model.plan = [DONE]
    if way == "http":
        click: asyncio.Task[Any] = asyncio.create_task(told_by_post(c, asked))
    else:
        live = await c.run(thread_id, None, ResumeEntry(asked.id, "resolved", YES))
        if how == "closed tab":
            live.enter()
        click = asyncio.create_task(asyncio.wait([live.task]) if how == "closed tab" else events(live))
    c.moments.want(number)
    here = asyncio.create_task(c.moments.here.wait())
    await asyncio.wait([here, click], return_when=asyncio.FIRST_COMPLETED)
    here.cancel()
    for _ in range(steps):
        await asyncio.sleep(0)
    await cut(c, how, thread_id, click, live)
    told: Any = ...
    with suppress(asyncio.CancelledError):
        told = await click
    if how == "closed tab":
        return asked, told if way == "http" and not click.cancelled() else ...
    return asked, told if way == "http" else told_by_stream(told, asked.call_id)


@pytest.mark.parametrize("how", ["cancel", "closed tab", "SIGTERM"])
@pytest.mark.parametrize("way", ["http", "run"])
async def test_what_is_told_is_what_came_of_it(store: Any, way: str, how: str, request: pytest.FixtureRequest) -> None:
    offsets, states = request.config.getoption("--offsets"), set()
    for offset in range(offsets):
        if offsets < EVERY and (offset + offset // MOMENTS) % 2 == isinstance(store, SQLiteStore):
            continue  # it is the other store's
        thread_id = f"t{offset}"
        async with asyncio.timeout(60), clicked(store) as c:
            _, told = await click_and_cut(c, way, how, 1 + offset % MOMENTS, offset // MOMENTS, thread_id)
            if how == "SIGTERM":
                await c.engine.start()
            thread = await c.engine.store.read_thread("alice", thread_id)
            assert thread is not None
            (record,) = map(with_result, thread.approvals)
            assert thread.run_status != "running" or (how, way) == ("closed tab", "http")
            states.add(record.state)
            effects = {
                State.PENDING: ([], [], None),
                State.FAILED: ([], [], result_texts.NOT_STARTED),
                State.UNKNOWN: ([""], c.ran, result_texts.INTERRUPTED),
                State.DONE: ([""], [""], Output("paid")),
            }
            assert (c.begun, c.ran, record.output) == effects[record.state], offset
            if told is not ...:
                said = record.output.content if record.output else None
                assert (told and told.content) == said, (offset, record.state)
    assert {State.FAILED, State.UNKNOWN, State.DONE} <= states
