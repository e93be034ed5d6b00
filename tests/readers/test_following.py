"""Coming back to a thread on which something works that has no live events here."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate import Agent
from agui_gate.bus.base import Reader
from agui_gate.bus.memory import MemoryBus
from agui_gate.core.sse import PING
from agui_gate.core.transcript import CallPart, Text, TurnEntry, UserEntry
from agui_gate.errors import Unavailable
from agui_gate.protocol.run_input import Message, RunInput
from agui_gate.readers import thread_poller, wake_ups
from agui_gate.readers.private_frames import Reserving, Whole
from agui_gate.runs.engine import Engine
from agui_gate.stores.base import LEASE_MS, Change, Thread
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads.budget import Budget
from tests.conforming import conforms
from tests.interop.validate import assert_valid
from tests.product.inprocess import Parrot
from tests.product.kit import parse
from tests.requirements import shows
from tests.stores.support import Clock, gated

pytestmark = [pytest.mark.anyio, shows("B17")]

Json = dict[str, Any]


def said(text: str) -> UserEntry:
    return UserEntry(f"u-{text}", (Text(text),))


async def test_a_conversation_has_its_part_of_the_budget_until_it_was_sent() -> None:
    budget = Budget(100)
    reader = Reserving(Whole(b"all of it"), budget.reserve("p", 9))
    assert (await reader.read(), budget.reserved) == (b"all of it", 9)
    assert (await reader.read(), budget.reserved) == (b"", 0)


async def test_events_that_a_shared_bus_has_lost_are_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    bus, agent = MemoryBus(), Agent(name="a", model=Parrot())
    engine = Engine([agent], MemoryStore(), bus=bus)
    await engine.start()
    live = await engine.run(agent, RunInput("t", "r", [Message("user", id="u", content="hi")]), "p")

    async def lost(*_: Any) -> None:
        return None

    monkeypatch.setattr(bus, "read", lost)
    with pytest.raises(Unavailable, match="Connect to its thread again"):
        await live.read()
    await engine.aclose()


class Elsewhere:
    """An engine, and a process on the same store that is at work on the thread."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.store = clock, MemoryStore(clock=clock)
        self.agent = Agent(name="support", model=Parrot(), hitl="interrupt")
        self.engine = Engine([self.agent], self.store)

    async def begin(self) -> Thread:
        thread = await self.store.lease_thread("alice", "t", "support", "run_elsewhere")
        await self.save(thread, entries=[said("one")])
        return thread

    async def save(self, thread: Thread, **change: Any) -> None:
        self.clock.advance(1)
        await self.store.commit(thread, Change(**change), "run_elsewhere")

    async def connect(self) -> Reader:
        found = await self.engine.connect(self.agent, RunInput("t", "r", []), "alice")
        assert found[1] is None
        return found[0]

    async def waiting(self) -> tuple[Reader, asyncio.Future[bytes]]:
        """A reader that was told what there is, and what it is told next."""
        reader = await self.connect()
        await reader.read()
        return reader, asyncio.ensure_future(reader.read())

    async def look(self) -> None:
        await self.engine._watch.look()


@pytest.fixture(autouse=True)
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing looks by itself."""
    monkeypatch.setattr(wake_ups, "LOOK_SECONDS", 1000.0)
    monkeypatch.setattr(thread_poller, "LOOK_SECONDS", 0.001)


@asynccontextmanager
async def elsewhere() -> AsyncIterator[Elsewhere]:
    made = Elsewhere(Clock())
    async with asyncio.timeout(60):
        await made.engine.start()
        yield made
        await made.engine.aclose()


def events(data: bytes) -> list[Json]:
    return [json.loads(line.removeprefix("data: ")) for line in data.decode().splitlines() if line.startswith("data: ")]


def types(data: bytes) -> list[str]:
    return [event["type"] for event in events(data)]


def contents(data: bytes) -> list[str]:
    """The messages of the last snapshot."""
    *_, snapshot = (event for event in events(data) if event["type"] == "MESSAGES_SNAPSHOT")
    return [message["content"] for message in snapshot["messages"]]


async def test_it_is_told_what_was_saved_then_more_of_it_and_the_end_when_it_is_over() -> None:
    async with elsewhere() as e:
        thread = await e.begin()
        reader = await e.connect()
        first = await reader.read()
        assert types(first) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "CUSTOM"]
        assert events(first)[-1] == {
            **events(first)[-1], "name": "agui-gate:at_work", "value": {"runKey": "run_elsewhere"}
        }  # fmt: skip
        waiting = asyncio.ensure_future(reader.read())
        await e.look()
        await asyncio.sleep(0)
        assert not waiting.done(), "nothing was saved, so there is nothing to say"
        await e.save(thread, entries=[said("two")])
        await e.look()
        second = await waiting
        assert (types(second), contents(second)) == (["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "CUSTOM"], ["one", "two"])
        waiting = asyncio.ensure_future(reader.read())
        turn = TurnEntry("turn", (), "parrot/1")
        await e.save(thread, entries=[turn, said("three")], approvals=[gated()], status="waiting")
        await e.look()
        last = await waiting
        assert types(last) == ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
        assert [ask["id"] for ask in events(last)[-1]["outcome"]["interrupts"]] == ["a1"]
        assert await reader.read() == b""
        reader.close()
        assert_valid((first + second + last).decode(), resumed=True)
        assert not e.engine._watch._watchers
        assert e.engine.budget.reserved == 0


async def test_a_process_that_died_is_waited_for_until_its_lease_ends() -> None:
    async with elsewhere() as e:
        await e.begin()
        _, waiting = await e.waiting()
        e.clock.advance(LEASE_MS)
        await e.look()
        said = events(await waiting)
        assert [event["type"] for event in said] == ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "CUSTOM", "RUN_ERROR"]
        assert (said[-2]["name"], said[-2]["value"]["runKey"]) == ("agui-gate:interrupted", "run_elsewhere")
        assert (said[-1]["code"], said[-1]["message"]) == ("interrupted", said[-2]["value"]["message"])


async def test_what_a_process_that_died_had_asked_is_asked() -> None:
    async with elsewhere() as e:
        thread = await e.begin()
        _, waiting = await e.waiting()
        await e.save(thread, entries=[TurnEntry("turn", (), "parrot/1")], approvals=[gated()])
        e.clock.advance(LEASE_MS)
        await e.look()
        said = events(await waiting)
        assert [event["type"] for event in said[-2:]] == ["CUSTOM", "RUN_FINISHED"]
        assert said[-2]["name"] == "agui-gate:interrupted"
        assert [ask["id"] for ask in said[-1]["outcome"]["interrupts"]] == ["a1"]


async def test_who_comes_after_a_process_has_died_is_told_so() -> None:
    async with elsewhere() as e:
        await e.begin()
        e.clock.advance(LEASE_MS)
        said = events(await (await e.connect()).read())
        assert [event["type"] for event in said] == [
            "RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "CUSTOM", "RUN_ERROR"
        ]  # fmt: skip
        assert (said[-2]["name"], said[-1]["code"]) == ("agui-gate:interrupted", "interrupted")


async def test_a_call_that_nobody_is_asked_about_is_no_question() -> None:
    async with elsewhere() as e:
        thread = await e.begin()
        call = CallPart("c1", "pc1", "search", "{}", "server")
        await e.save(thread, entries=[TurnEntry("turn", (call,), "parrot/1")])
        e.clock.advance(LEASE_MS)
        said = events(await (await e.connect()).read())
        assert (said[-1]["type"], said[-1]["code"]) == ("RUN_ERROR", "interrupted")


async def test_a_waiting_reader_keeps_its_connection_and_can_leave() -> None:
    async with elsewhere() as e:
        await e.begin()
        reader, waiting = await e.waiting()
        await asyncio.sleep(0)
        reader.ping()
        assert await waiting == PING
        waiting = asyncio.ensure_future(reader.read())
        await asyncio.sleep(0)
        reader.close()
        assert await waiting == b""
        assert not e.engine._watch._watchers


async def test_a_thread_that_is_deleted_meanwhile_is_gone() -> None:
    async with elsewhere() as e:
        thread = await e.begin()
        _, waiting = await e.waiting()
        await e.store.delete_thread(thread, "run_elsewhere")
        await e.look()
        (told,) = events(await waiting)
        assert (told["type"], told["code"]) == ("RUN_ERROR", "not_found")


async def test_a_server_that_stops_lets_nobody_wait() -> None:
    async with elsewhere() as e:
        await e.begin()
        _, waiting = await e.waiting()
        await asyncio.sleep(0)
        await e.engine.drain()
        (told,) = events(await waiting)
        assert (told["type"], told["code"]) == ("RUN_ERROR", "unavailable")


async def test_nobody_follows_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_poller, "FOLLOW_SECONDS", 0.0)
    async with elsewhere() as e:
        await e.begin()
        reader = await e.connect()
        assert types(await reader.read())[0] == "RUN_STARTED"
        (told,) = events(await reader.read())
        assert (told["type"], told["code"]) == ("RUN_ERROR", "thread_busy")


async def test_who_follows_waits_to_the_end_of_their_time() -> None:
    async with elsewhere() as e:
        await e.begin()
        reader: Any = await e.connect()
        await reader.read()
        reader._until = asyncio.get_running_loop().time() + 0.9
        waiting = asyncio.ensure_future(reader.read())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        reader.close()
        assert await waiting == b""


async def test_a_thread_that_can_not_be_read_now_is_read_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with elsewhere() as e:
        thread = await e.begin()
        _, waiting = await e.waiting()
        await e.save(thread, entries=[said("two")], status="finished")
        tried = asyncio.Event()

        async def away(*_: Any, **__: Any) -> None:
            tried.set()
            raise Unavailable("The store is away.")

        with monkeypatch.context() as patch:
            patch.setattr(e.store, "read_thread", away)
            await e.look()
            await tried.wait()
        told = await waiting
        assert (types(told)[-1], contents(told)) == ("RUN_FINISHED", ["one", "two"])


@conforms("IN-1")
async def test_a_run_of_another_process_over_a_bus_of_both_keeps_its_own_id() -> None:
    clock, bus = Clock(), MemoryBus()
    store = MemoryStore(clock=clock)
    agent = Agent(name="support", model=Stays(), hitl="interrupt")
    here, there = Engine([agent], store, bus=bus), Engine([agent], store, bus=bus)
    async with asyncio.timeout(60):
        await here.start()
        await there.start()
        live = await there.run(agent, RunInput("t", "first", [Message("user", id="u", content="go")]), "alice")
        reader, nobody, run_key = await here.connect(agent, RunInput("t", "second", []), "alice")
        assert (nobody, run_key) == (None, live.key)
        told = await reader.read()
        live.cancel()
        while data := await reader.read():
            told += data
        await here.aclose()
        await there.aclose()
    begun = parse(told.decode())[0]
    assert (begun["type"], begun["threadId"], begun["runId"]) == ("RUN_STARTED", "t", "first")


class Stays(Parrot):
    """A model that never ends."""

    async def stream(self, request: Any) -> Any:
        """One turn."""
        await asyncio.Event().wait()
        yield []
