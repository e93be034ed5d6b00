"""What every bus promises: see `agui_gate.bus.base`."""

import asyncio
from typing import Literal

import msgspec
import pytest

from agui_gate.bus.base import Bus, FellBehind, Opening, Publisher, Reader, Signal
from agui_gate.bus.replicas import bus as shared_bus
from agui_gate.core.sse import PING
from tests.bus.conftest import RUN_BYTES
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]


def frame(number: int, size: int = 24) -> bytes:
    return b"id: run:%d\n" % number + b"." * size + b"\n\n"


def said(first: int, last: int) -> bytes:
    return b"".join(map(frame, range(first, last)))


class Then:
    """The messages of an opening; ``prepared`` counts how often they were got ready."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self) -> msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode([self.text]))

    async def prepare(self) -> None:
        await asyncio.sleep(0)


def told(opening: Opening) -> bytes:
    return b"opening %d %b %b\n\n" % (opening.seq, bytes(opening.messages()), msgspec.json.encode(opening.state))


def say(publisher: Publisher, first: int, last: int) -> None:
    for number in range(first, last):
        publisher.append(frame(number))


async def reader_of(bus: Bus, after: int = -1) -> Reader:
    reader = await bus.read("run", after)
    assert reader is not None
    return reader


async def late(bus: Bus) -> Reader:
    reader = await bus.join("run", told)
    assert reader is not None
    return reader


async def until(reader: Reader, size: int) -> bytes:
    """What it reads, to so many bytes."""
    data = b""
    async with asyncio.timeout(60):
        while len(data) < size:
            data += await reader.read()
    return data


async def to_the_end(reader: Reader) -> bytes:
    """What it reads, to the end."""
    data = b""
    async with asyncio.timeout(60):
        while piece := await reader.read():
            data += piece
    reader.close()
    return data


async def kept(bus: Bus, number: int) -> None:
    """Until the bus has so many frames of the run."""
    async with asyncio.timeout(60):
        while (run := await bus.find("run")) is None or run.next < number:  # noqa: ASYNC110  (it has no event)
            await asyncio.sleep(0)


async def test_all_readers_get_all_frames_in_order_whenever_they_come(bus: Bus) -> None:
    publisher = await bus.open("run", "alice", "t")
    readers = [asyncio.ensure_future(to_the_end(await reader_of(bus))) for _ in range(3)]
    say(publisher, 0, 20)
    await asyncio.sleep(0)
    say(publisher, 20, 40)
    await kept(bus, 40)
    readers += [asyncio.ensure_future(to_the_end(await reader_of(bus))) for _ in range(3)]
    say(publisher, 40, 60)
    publisher.end()
    assert set(await asyncio.gather(*readers)) == {said(0, 60)}
    assert await to_the_end(await reader_of(bus)) == said(0, 60)


async def test_a_reader_may_begin_after_any_frame(bus: Bus) -> None:
    publisher = await bus.open("run", "alice", "t")
    say(publisher, 0, 12)
    await kept(bus, 12)
    readers = [asyncio.ensure_future(to_the_end(await reader_of(bus, after))) for after in range(-1, 12)]
    publisher.append(frame(12))
    publisher.end()
    assert await asyncio.gather(*readers) == [said(after + 1, 13) for after in range(-1, 12)]


async def test_a_read_that_is_cancelled_loses_nothing(bus: Bus) -> None:
    publisher = await bus.open("run", "alice", "t")
    reader = await reader_of(bus)
    waiting = asyncio.ensure_future(reader.read())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    say(publisher, 0, 3)
    publisher.end()
    assert await to_the_end(reader) == said(0, 3)


async def test_a_pinged_reader_says_something_and_a_closed_one_ends(bus: Bus) -> None:
    await bus.open("run", "alice", "t")
    for reader in (await reader_of(bus), await late(bus)):
        waiting = asyncio.ensure_future(reader.read())
        async with asyncio.timeout(60):
            while not waiting.done():
                reader.ping()
                await asyncio.sleep(0)
        assert await waiting == PING
        waiting = asyncio.ensure_future(reader.read())
        await asyncio.sleep(0)
        reader.close()
        assert await waiting == b""


async def test_a_run_never_waits_and_who_is_too_far_behind_is_told(bus: Bus) -> None:
    publisher = await bus.open("run", "alice", "t")
    slow = await reader_of(bus)
    say(publisher, 0, 50 * RUN_BYTES // 24)
    await kept(bus, 50 * RUN_BYTES // 24)
    with pytest.raises(FellBehind):
        await slow.read()
    slow.close()
    run = await bus.find("run")
    assert run is not None
    assert 0 < run.first < run.next
    publisher.end()
    assert await to_the_end(await reader_of(bus, run.first - 1)) == said(run.first, run.next)
    with pytest.raises(FellBehind):
        await (await reader_of(bus, run.first - 2)).read()


async def test_what_is_known_of_a_run(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher = await bus.open("run", "alice", "t", "r1")
    say(publisher, 0, 3)
    await kept(bus, 3)
    run = await bus.find("run")
    assert run is not None
    assert (run.run_key, run.principal, run.thread_id, run.run_id) == ("run", "alice", "t", "r1")
    assert (run.first, run.next) == (0, 3)
    publisher.end()
    monkeypatch.setattr(shared_bus, "UNKNOWN_SECONDS", 0.1)
    assert [await bus.find("other"), await bus.read("other"), await bus.join("other", told)] == [None, None, None]


async def test_who_comes_late_is_told_the_opening_and_then_what_followed_it(bus: Bus) -> None:
    publisher = await bus.open("run", "alice", "t")
    publisher.opened(Opening(1, Then("asked"), {"n": 1}))
    say(publisher, 0, 5)
    await kept(bus, 5)
    first = await late(bus)
    assert await until(first, len(told(Opening(1, Then("asked"), {"n": 1})) + said(1, 5))) == (
        b'opening 1 ["asked"] {"n":1}\n\n' + said(1, 5)
    )
    publisher.opened(Opening(5, Then("answered"), None))
    say(publisher, 5, 8)
    await kept(bus, 8)
    second = asyncio.ensure_future(to_the_end(await late(bus)))
    say(publisher, 8, 9)
    publisher.end()
    assert await second == b'opening 5 ["answered"] null\n\n' + said(5, 9)
    assert await to_the_end(first) == said(5, 9), "who is there already is told no other"


async def test_who_comes_late_may_read_at_once_or_when_the_run_is_over(bus: Bus) -> None:
    publisher = await bus.open("run", "alice", "t")
    publisher.opened(Opening(1, Then("asked"), {}))
    reader = await late(bus)
    say(publisher, 0, 4)
    publisher.opened(Opening(3, Then("answered"), {}))
    publisher.end()
    read = await to_the_end(reader)
    assert read in (
        b'opening 1 ["asked"] {}\n\n' + said(1, 4),
        b'opening 3 ["answered"] {}\n\n' + said(3, 4),
    )


async def test_who_comes_when_a_run_is_over_joins_nothing(bus: Bus) -> None:
    publisher = await bus.open("run", "alice", "t")
    publisher.opened(Opening(1, Then("asked"), {}))
    say(publisher, 0, 2)
    publisher.end()
    assert await to_the_end(await reader_of(bus)) == said(0, 2)
    assert await bus.join("run", told) is None


async def test_where_the_frames_after_an_opening_are_lost_one_goes_on_from_the_next(bus: Bus) -> None:
    many = 50 * RUN_BYTES // 24
    publisher = await bus.open("run", "alice", "t")
    publisher.opened(Opening(1, Then("asked"), {}))
    say(publisher, 0, many)
    await kept(bus, many)
    reader = await late(bus)
    first = b'opening 1 ["asked"] {}\n\n'
    assert await until(reader, len(first)) == first
    waiting = asyncio.ensure_future(to_the_end(reader))
    publisher.append(frame(many))
    await asyncio.sleep(0)
    publisher.opened(Opening(many + 1, Then("answered"), {}))
    say(publisher, many + 1, many + 3)
    publisher.end()
    assert await waiting == b'opening %d ["answered"] {}\n\n' % (many + 1) + said(many + 1, many + 3)


async def test_a_run_that_is_forgotten_is_read_to_its_end_by_who_reads_it(bus: Bus) -> None:
    publishers = [
        await bus.open(key, who, "t") for key, who in (("run", "alice"), ("his", "bob"), ("goes on", "alice"))
    ]
    for publisher in publishers:
        say(publisher, 0, 3)
    reader = await reader_of(bus)
    for publisher in publishers[:2]:
        publisher.end()
    assert await until(reader, len(said(0, 3))) == said(0, 3)
    assert await reader.read() == b""
    again = await reader_of(bus)
    await bus.forget("alice", "t")
    assert await bus.find("run") is None
    assert await bus.find("his") is not None
    assert await bus.find("goes on") is not None, "it isn't over"
    assert await to_the_end(again) == said(0, 3)
    publishers[2].end()


async def test_what_is_fresh_does_not_expire(bus: Bus) -> None:
    publisher = await bus.open("run", "alice", "t")
    say(publisher, 0, 3)
    publisher.end()
    publisher.end()
    await bus.expire()
    assert await to_the_end(await reader_of(bus)) == said(0, 3)


# --- replicas ------------------------------------------------------------------------------------------------------
async def test_a_run_is_read_in_the_other_replica_too(replicas: tuple[Bus, Bus]) -> None:
    here, there = replicas
    for bus in replicas:
        await bus.start()
    publisher = await here.open("run", "alice", "t", "r1")
    publisher.opened(Opening(1, Then("asked"), {}))
    say(publisher, 0, 4)
    await kept(there, 4)
    found = await there.find("run")
    assert found is not None
    assert (found.principal, found.thread_id, found.run_id) == ("alice", "t", "r1")
    readers = [
        asyncio.ensure_future(to_the_end(reader))
        for reader in (await reader_of(there), await reader_of(there, after=1), await late(there))
    ]
    await asyncio.sleep(0)
    say(publisher, 4, 8)
    publisher.end()
    assert await asyncio.gather(*readers) == [said(0, 8), said(2, 8), b'opening 1 ["asked"] {}\n\n' + said(1, 8)]


# --- signals -------------------------------------------------------------------------------------------------------
class Ears:
    """What a replica hears."""

    def __init__(self, bus: Bus) -> None:
        self._heard: set[Signal] = set()
        self._more = asyncio.Event()
        bus.listen(self._hear)

    def _hear(self, signal: Signal) -> None:
        self._heard.add(signal)
        self._more.set()

    async def until(self, *signals: Signal) -> None:
        """Until it has heard all of these."""
        async with asyncio.timeout(60):
            while not self._heard.issuperset(signals):
                self._more.clear()
                await self._more.wait()


KINDS: tuple[Literal["written", "approvals"], ...] = ("written", "approvals")

LONG = "ö\"\\'" * 64
"""An id as long as any may be, of what needs care in quotes."""


@pytest.mark.parametrize(
    "signal",
    [Signal("written", "alice", "t"), Signal("approvals", "alice@x", "a b/ü"), Signal("stop", LONG, LONG)],
    ids=lambda signal: signal.kind,
)
async def test_a_signal_reaches_the_other_replica(replicas: tuple[Bus, Bus], signal: Signal) -> None:
    here, there = replicas
    ears = Ears(here), Ears(there)
    for bus in replicas:
        await bus.start()
    here.tell(signal)
    await ears[1].until(signal)
    there.tell(signal)
    await ears[0].until(signal)


async def test_many_signals_at_once_all_arrive(replicas: tuple[Bus, Bus]) -> None:
    here, there = replicas
    ears = [Ears(bus) for bus in (here, there)]
    for bus in replicas:
        await bus.start()
    signals = [Signal(kind, "alice", f"thread-{n}") for n in range(300) for kind in KINDS]
    for signal in signals:
        here.tell(signal)
    await ears[1].until(*signals)


async def test_telling_a_bus_that_is_closed_fails_nobody(replicas: tuple[Bus, Bus]) -> None:
    for bus in replicas:
        Ears(bus)
        await bus.start()
        await bus.aclose()
        bus.tell(Signal("written", "alice", "t"))
