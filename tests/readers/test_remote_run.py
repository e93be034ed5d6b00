"""Following a run of another replica over a bus of both: to its end, or to that of its process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate import Agent
from agui_gate.bus.base import Opening, Published, Reader
from agui_gate.bus.memory import MemoryBus
from agui_gate.core import events as ev
from agui_gate.core.sse import PING, FrameEncoder
from agui_gate.core.transcript import TurnEntry
from agui_gate.errors import Unavailable
from agui_gate.protocol.dialects.v0 import VIEW
from agui_gate.protocol.run_input import RunInput
from agui_gate.readers import remote_run, wake_ups
from agui_gate.readers.remote_run import HalfSaid
from agui_gate.runs.engine import Engine
from agui_gate.stores.base import LEASE_MS, Change, Thread
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads.history import Conversation
from tests.conforming import conforms
from tests.interop.validate import assert_valid
from tests.product.inprocess import Parrot
from tests.readers.test_following import contents, events, said, types
from tests.requirements import shows
from tests.stores.support import Clock, gated

pytestmark = [pytest.mark.anyio, shows("B17")]

KEY = "run_elsewhere"


class Away(MemoryBus):
    """A bus that is away from a moment on."""

    is_away = False

    async def find(self, run_key: str) -> Published | None:
        if self.is_away:
            raise Unavailable("The bus is not available.")
        return await super().find(run_key)


class Two:
    """An engine, and another replica on its store and its bus that runs a run: all of it by hand."""

    def __init__(self) -> None:
        self.clock, self.bus = Clock(), Away()
        self.store = MemoryStore(clock=self.clock)
        self.agent = Agent(name="support", model=Parrot(), hitl="interrupt")
        self.engine = Engine([self.agent], self.store, bus=self.bus)
        self._frame = FrameEncoder(KEY).frame

    async def begin(self) -> Thread:
        thread = await self.store.lease_thread("alice", "t", "support", KEY)
        await self.store.commit(thread, Change(entries=[said("one")]), KEY)
        self.publisher = await self.bus.open(KEY, "alice", "t", "first")
        self.say(ev.RunStarted("t", "first", "1.0"))
        self.publisher.opened(Opening(1, Conversation([said("one")], [], VIEW), {}))
        return thread

    def say(self, *told: ev.Event) -> None:
        for event in told:
            self.publisher.append(self._frame(event))

    def half(self) -> None:
        """Something of each kind, half said."""
        self.say(
            ev.TextMessageStart("done", "assistant"),
            ev.TextMessageContent("done", "Said."),
            ev.TextMessageEnd("done"),
            ev.ReasoningStart("why"),
            ev.ReasoningMessageStart("why", "reasoning"),
            ev.ReasoningMessageContent("why", "Hm"),
            ev.TextMessageStart("half", "assistant"),
            ev.TextMessageContent("half", 'It "TEXT_MESSAGE_END"'),
            ev.ToolCallStart("c1", "look", "half"),
        )

    async def connect(self, version: str | None = None) -> Reader:
        run = RunInput("t", "second", [], protocol_version=version)
        reader, live, _ = await self.engine.connect(self.agent, run, "alice")
        assert live is None
        return reader

    async def dies(self) -> None:
        self.clock.advance(LEASE_MS)


@asynccontextmanager
async def two() -> AsyncIterator[Two]:
    made = Two()
    async with asyncio.timeout(60):
        await made.engine.start()
        yield made
        await made.engine.aclose()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_run, "SILENCE_SECONDS", 0.01)
    monkeypatch.setattr(remote_run, "LAST_SECONDS", 0.01)
    monkeypatch.setattr(wake_ups, "LOOK_SECONDS", 0.01)


async def rest(reader: Reader) -> bytes:
    data = b""
    while piece := await reader.read():
        data += piece
    reader.close()
    return data


HALF_ENDED = ["TOOL_CALL_END", "TEXT_MESSAGE_END", "REASONING_MESSAGE_END", "REASONING_END"]


async def test_a_reader_of_a_process_that_died_is_told_what_stands() -> None:
    async with two() as t:
        await t.begin()
        reader = await t.connect()
        first = await reader.read()
        t.half()
        first += await reader.read()
        waiting = asyncio.ensure_future(rest(reader))
        await t.dies()
        last = await waiting
        assert types(last) == [*HALF_ENDED, "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "CUSTOM", "RUN_ERROR"]
        assert contents(last) == ["one"]
        assert (events(last)[-2]["name"], events(last)[-1]["code"]) == ("agui-gate:interrupted", "interrupted")
        assert_valid((first + last).decode(), resumed=True)
        assert not t.engine._watch._watchers
        assert t.engine.budget.reserved == 0


@pytest.mark.parametrize("version", [None, "1.0"])
async def test_what_a_person_said_last_stays_though_it_was_not_saved(version: str | None) -> None:
    async with two() as t:
        await t.begin()
        conversation = [said("one"), TurnEntry("turn", (), "p/1"), said("two"), said("three")]
        t.publisher.opened(Opening(1, Conversation(conversation, [], VIEW), {}))
        reader = await t.connect(version)
        await reader.read()
        waiting = asyncio.ensure_future(rest(reader))
        await t.dies()
        assert contents(await waiting) == ["one", "two", "three"]


async def test_what_waits_then_is_asked() -> None:
    async with two() as t:
        thread = await t.begin()
        reader = await t.connect()
        first = await reader.read()
        await t.store.commit(thread, Change(entries=[TurnEntry("turn", (), "p/1")], approvals=[gated()]), KEY)
        waiting = asyncio.ensure_future(rest(reader))
        await t.dies()
        last = await waiting
        assert types(last) == ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "CUSTOM", "RUN_FINISHED"]
        end = events(last)[-1]
        assert (end["runId"], [ask["id"] for ask in end["outcome"]["interrupts"]]) == ("first", ["a1"])
        assert_valid((first + last).decode(), resumed=True)


async def test_a_reader_of_the_runs_own_events_is_told_too() -> None:
    async with two() as t:
        await t.begin()
        reader = await t.engine.read(KEY, 0)
        assert reader is not None
        t.half()
        assert types(await reader.read())[-1] == "TOOL_CALL_START"
        waiting = asyncio.ensure_future(rest(reader))
        await t.dies()
        (told,) = events(await waiting)
        assert (told["type"], told["code"]) == ("RUN_ERROR", "interrupted")


async def test_a_run_that_is_silent_and_alive_is_followed_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = asyncio.Event()
    async with two() as t:
        await t.begin()
        at_work = t.store.at_work

        async def looks(*threads: Any) -> Any:
            looked.set()
            return await at_work(*threads)

        monkeypatch.setattr(t.store, "at_work", looks)
        reader = await t.connect()
        await reader.read()
        for number in range(3):
            waiting = asyncio.ensure_future(reader.read())
            looked.clear()
            await looked.wait()
            assert not waiting.done()
            t.say(ev.TextMessageStart(f"m{number}", "assistant"), ev.TextMessageEnd(f"m{number}"))
            assert types(await waiting) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_END"]
            assert not t.engine._watch._watchers, "who speaks is not looked at"
        waiting = asyncio.ensure_future(reader.read())
        await asyncio.sleep(0)
        reader.ping()
        assert await waiting == PING
        t.say(ev.RunFinished("t", "first"))
        t.publisher.end()
        assert types(await rest(reader)) == ["RUN_FINISHED"]


async def test_a_lease_that_ends_with_its_run_is_no_death() -> None:
    """The store knows that a run is over before its last words are here."""
    async with two() as t:
        thread = await t.begin()
        reader = await t.connect()
        await reader.read()
        waiting = asyncio.ensure_future(rest(reader))
        await t.store.commit(thread, Change(entries=[said("two")], status="finished"), KEY)
        last = await waiting
        assert (types(last)[-1], contents(last)) == ("RUN_FINISHED", ["one", "two"])


async def test_another_run_that_took_the_thread_over_is_followed() -> None:
    async with two() as t:
        await t.begin()
        reader = await t.connect()
        await reader.read()
        await t.dies()
        await t.store.lease_thread("alice", "t", "support", "run_next")
        told = await reader.read()
        assert types(told) == ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "CUSTOM"]
        assert events(told)[-1]["value"] == {"runKey": "run_next"}
        reader.close()


@conforms("IN-1")
async def test_a_run_that_goes_on_after_a_decision_is_read_as_it_speaks() -> None:
    async with two() as t:
        thread = await t.store.lease_thread("alice", "t", "support", "decide_1")
        reader = await t.connect()
        first = await reader.read()
        assert events(first)[-1]["name"] == "agui-gate:at_work"
        await t.store.commit(thread, Change(status="waiting"), "decide_1")
        await t.begin()  # before anybody has looked
        first += await reader.read()
        assert types(first)[-2:] == ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]
        t.half()
        first += await reader.read()
        t.say(*ends_of(first), ev.RunFinished("t", "first"))
        t.publisher.end()
        first += await rest(reader)
        end = events(first)[-1]
        assert (end["type"], end["threadId"], end["runId"]) == ("RUN_FINISHED", "t", events(first)[0]["runId"])
        assert end["runId"] == "second"
        assert_valid(first.decode(), resumed=True)
        assert not t.engine._watch._watchers
        assert t.engine.budget.reserved == 0


async def test_who_leaves_while_another_reader_is_made_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with two() as t:
        await t.begin()
        reader: Any = await t.connect()
        await reader.read()
        inner = reader._reader
        make = inner._over

        async def leave_and_make(*about: Any) -> Reader:
            reader.close()
            return await make(*about)

        monkeypatch.setattr(inner, "_over", leave_and_make)
        await t.dies()
        assert await reader.read() == b""
        assert t.engine.budget.reserved == 0


async def test_who_leaves_a_run_that_was_waited_for_waits_no_more() -> None:
    async with two() as t:
        thread = await t.store.lease_thread("alice", "t", "support", "decide_1")
        reader = await t.connect()
        await reader.read()
        await t.store.commit(thread, Change(status="waiting"), "decide_1")
        await t.begin()
        await reader.read()
        waiting = asyncio.ensure_future(reader.read())
        await asyncio.sleep(0)
        reader.close()
        assert await asyncio.wait_for(waiting, 5) == b""


def ends_of(data: bytes) -> list[ev.Event]:
    half = HalfSaid()
    half.heard(data)
    return half.ends()


@pytest.mark.parametrize("kind", ["connect", "read"])
async def test_a_replica_that_stops_lets_its_readers_go(kind: str) -> None:
    async with two() as t:
        await t.begin()
        reader = await t.connect() if kind == "connect" else await t.engine.read(KEY, -1)
        assert reader is not None
        await reader.read()
        waiting = asyncio.ensure_future(rest(reader))
        await asyncio.sleep(0)
        await t.engine.drain()
        if kind == "connect":
            told = events(await waiting)[-1]
            assert (told["type"], told["code"]) == ("RUN_ERROR", "unavailable")
        else:
            with pytest.raises(Unavailable):  # it is hung up on, and goes on elsewhere
                await waiting


async def test_while_the_bus_is_away_what_is_saved_is_told() -> None:
    async with two() as t:
        thread = await t.begin()
        t.bus.is_away = True
        reader = await t.connect()
        first = await reader.read()
        assert events(first)[-1]["name"] == "agui-gate:at_work"
        await t.store.commit(thread, Change(entries=[said("two")], status="finished"), KEY)
        assert contents(await rest(reader)) == ["one", "two"]


@pytest.mark.parametrize(
    "error", [Unavailable("The bus is not available."), remote_run.FellBehind()], ids=["away", "behind"]
)
async def test_a_bus_that_loses_a_run_in_the_middle_of_it(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async with two() as t:
        thread = await t.begin()
        reader = await t.connect()
        first = await reader.read()
        t.half()
        first += await reader.read()

        async def lost(*_: Any) -> bytes:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr("agui_gate.bus.log.LateReader.read", lost)
            first += await reader.read()
        assert types(first)[-7:] == [*HALF_ENDED, "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "CUSTOM"]
        await t.store.commit(thread, Change(entries=[said("two")], status="finished"), KEY)
        last = await rest(reader)
        assert (types(last)[-1], contents(last)) == ("RUN_FINISHED", ["one", "two"])
        assert_valid((first + last).decode(), resumed=True)


def test_what_is_half_said_is_found_across_pieces() -> None:
    frame = FrameEncoder("r").frame
    half = HalfSaid()
    half.heard(frame(ev.ReasoningStart("why")) + frame(ev.ReasoningMessageStart("why", "reasoning")))
    half.heard(frame(ev.ReasoningMessageEnd("why")) + frame(ev.ToolCallStart("c", "look", "m")))
    half.heard(b"")
    half.heard(PING)
    assert half.ends() == [ev.ToolCallEnd("c"), ev.ReasoningEnd("why")]
    assert not half.ended
    half.heard(frame(ev.RunError("no", "internal", ())))
    assert half.ended


@conforms("SUB-3", "LIFE-3")
def test_sub_agents_that_are_at_work_are_ended_after_what_they_say() -> None:
    frame = FrameEncoder("r").frame
    half = HalfSaid()
    half.heard(frame(ev.SubagentStarted("t1", "clerk")) + frame(ev.SubagentStarted("t2", "packer")))
    half.heard(
        frame(ev.SubagentFinished("t2", ev.SubagentSuccess())) + frame(ev.TextMessageStart("m", "assistant", "t1"))
    )
    text, clerk = half.ends()
    assert text == ev.TextMessageEnd("m")
    assert isinstance(clerk, ev.SubagentError)
    assert (clerk.subagent_run_id, clerk.code) == ("t1", "abort")
