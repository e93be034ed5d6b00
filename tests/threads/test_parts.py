"""Thread parts: loaded where they are used, told what they missed, and absent without loss."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from agui_gate import Agent, ToolContext, tool
from agui_gate.agents.tool import Shown
from agui_gate.core import events as ev
from agui_gate.core.sequencer import Emit
from agui_gate.core.transcript import ActivityEntry, Entry
from agui_gate.errors import ExtraMissing, InvalidRequest, Unavailable
from agui_gate.protocol.run_input import RunInput
from agui_gate.stores.base import Change
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads import parts
from agui_gate.threads.lease import Lease
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.threads.parts import ThreadPart
from tests.product.inprocess import Parrot

pytestmark = pytest.mark.anyio


class Cart(BaseModel):
    items: list[str] = []


@tool
async def look(order: str, ctx: ToolContext) -> str:
    """Look at an order."""
    return order


@tool
async def plain(order: str) -> str:
    """Look at an order."""
    return order


AGENT = Agent(name="a", model=Parrot(), tools=[look, plain])


async def leased(stored: Any = None) -> LeasedThread:
    store = MemoryStore()
    await store.start()
    if stored is not None:
        first = LeasedThread(store, await store.lease_thread("p", "t", "a", "r0"), "r0")
        first.parts.opened(AGENT)
        ask(first, request(stored), [].append, known=True)
        await first.commit(status="finished")
    return LeasedThread(store, await store.lease_thread("p", "t", "a", "r1"), "r1")


def request(state: Any = None) -> RunInput:
    return RunInput("t", "r", [], state=state)


def ask(thread: LeasedThread, run: RunInput, emit: Emit, *, known: bool) -> None:
    thread.parts.asked(run, lambda part: part.asked(run, emit, lambda: None, known=known))


def loaded(thread: LeasedThread) -> list[str]:
    return list(thread.parts._loaded)


@pytest.fixture
def without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within: no extra is installed."""

    def missing(name: str) -> ModuleType:
        raise ExtraMissing(name)

    monkeypatch.setattr(parts, "load", missing)
    monkeypatch.setattr(parts, "find", lambda name: None)


async def test_a_run_without_a_state_loads_no_part() -> None:
    thread = await leased()
    for state in (None, {}):
        thread.parts.check(request(state), AGENT)
        thread.parts.opened(AGENT)
        ask(thread, request(state), [].append, known=False)
        with thread.parts.tool(plain, "c1", [].append) as given:
            assert given == {}
        thread.parts.calls_ended([].append)
        asked: list[ev.Event] = []
        thread.parts.asks(asked.append)
        assert asked == [ev.StateSnapshot(msgspec.Raw(b"{}"))]
    assert (loaded(thread), thread.parts.told(), thread.parts.changes()) == ([], msgspec.Raw(b"{}"), None)
    assert not thread.parts.are_large


async def test_what_the_store_has_and_what_an_agent_declares_brings_the_state() -> None:
    thread = await leased({"count": 1})
    thread.parts.opened(AGENT)
    assert (loaded(thread), bytes(thread.parts.told())) == (["shared_state"], b'{"count":1}')
    declared = await leased()
    declared.parts.opened(Agent(name="a", model=Parrot(), state=Cart))
    assert (loaded(declared), bytes(declared.parts.told())) == (["shared_state"], b'{"items":[]}')


async def test_a_state_that_does_not_fit_is_refused_before_a_stream() -> None:
    thread = await leased()
    with pytest.raises(InvalidRequest):
        thread.parts.check(request({"items": 1}), Agent(name="a", model=Parrot(), state=Cart))


async def test_a_part_that_comes_late_knows_what_was_before() -> None:
    """A tool is the first to use the state: its client is told the change alone, as it holds an empty state."""
    thread, told = await leased(), list[ev.Event]()
    thread.parts.opened(AGENT)
    ask(thread, request({}), told.append, known=False)
    with thread.parts.tool(look, "c1", told.append) as state:
        state["count"] = 1
    assert told == [ev.StateDelta([{"op": "add", "path": "/count", "value": 1}])]
    assert thread.parts.changes() == b'{"count":1}'
    await thread.commit()
    assert thread.parts.changes() is None


async def test_tools_at_work_together_have_one_state() -> None:
    thread = await leased()
    with thread.parts.tool(look, "c1", [].append) as one, thread.parts.tool(look, "c2", [].append) as other:
        assert one is other


async def test_what_was_not_saved_is_saved_with_the_next_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = await leased()
    with thread.parts.tool(look, "c1", [].append) as state:
        state["count"] = 1

    async def fails(lease: Lease, change: Change) -> None:
        raise Unavailable("The store is away.")

    with monkeypatch.context() as patch:
        patch.setattr(Lease, "commit", fails)
        with pytest.raises(Unavailable):
            await thread.commit()
    assert thread.parts.changes() == b'{"count":1}'
    await thread.commit()
    assert thread.parts.changes() is None


async def test_activities_come_with_the_first_and_end_before_the_state_is_told() -> None:
    thread, order = await leased(), list[str]()
    entry = ActivityEntry("c1-a", "a", {"done": 1}, "c1")
    event = ev.ActivitySnapshot("c1-a", "a", {"done": 1})
    with thread.parts.tool(look, "c1", lambda told: order.append(type(told).__name__)) as state:
        thread.parts.tell(Shown(event, entry), lambda told: order.append(type(told).__name__))
        assert loaded(thread) == ["activities", "shared_state"]
        state["count"] = 1
    assert order == ["ActivitySnapshot", "StateSnapshot"]
    assert [type(one).__name__ for one in thread.entries] == ["ActivityEntry", "StateEntry"]


async def test_a_part_of_ones_own_gets_each_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Own(ThreadPart):
        def opened(self, agent: Agent) -> None:
            seen.append("opened")

        def asked(self, run: RunInput, emit: Emit, restart: Callable[[], None], *, known: bool) -> None:
            seen.append("asked")

        def tool_ended(self, tool: Any, call_id: str, emit: Emit) -> None:
            seen.append(f"ended {call_id}")

        def entries(self) -> list[Entry]:
            return [ActivityEntry("m", "k", {}, "c")]

    own = ModuleType("own")
    own.thread_part = lambda thread, stored: Own()  # type: ignore[attr-defined]  # a module of the test's
    monkeypatch.setattr(parts, "load", lambda name: own)
    thread = await leased()
    thread.parts.opened(AGENT)
    ask(thread, request(), [].append, known=False)
    assert seen == []
    thread.parts.need("own")
    with thread.parts.tool(plain, "c1", [].append):
        pass
    assert seen == ["opened", "asked", "ended c1"]
    assert thread.messages().messages.__class__ is msgspec.Raw
    assert len(thread.parts.entries()) == 1


@pytest.mark.usefixtures("without_extras")
class TestWithoutTheExtra:
    async def test_what_is_stored_is_told_and_stays(self) -> None:
        thread = await leased()
        thread.parts._stored = {"count": 1}
        with capture_logs() as logs:
            thread.parts.opened(AGENT)
        assert [log["extra"] for log in logs] == ["shared_state"]
        assert (bytes(thread.parts.told()), thread.parts.changes()) == (b'{"count":1}', None)
        thread.parts.check(request({"count": 1}), AGENT)  # what the page was told comes back

    async def test_another_state_is_refused(self) -> None:
        thread = await leased()
        with pytest.raises(ExtraMissing):
            thread.parts.check(request({"count": 2}), AGENT)

    async def test_a_tool_gets_an_empty_state_and_its_events_reach_the_client(self) -> None:
        thread, told = await leased(), list[ev.Event]()
        with thread.parts.tool(look, "c1", told.append) as state:
            assert state == {}
            event = ev.ActivitySnapshot("c1-a", "a", {})
            thread.parts.tell(Shown(event, ActivityEntry("c1-a", "a", {}, "c1")), told.append)
            thread.parts.tell(ev.Custom("n", 1), told.append)
        assert told == [event, ev.Custom("n", 1)]
        assert thread.entries == []
