"""A shared bus when things come at the wrong moment: nothing is swallowed, nothing stops, nothing grows for ever."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from agui_gate.bus.base import Opening, Publisher
from agui_gate.bus.log import EventLog, LogReader
from agui_gate.bus.replicas import follower, sender
from agui_gate.bus.replicas.bus import SharedBus
from agui_gate.bus.replicas.messages import Came, pack
from agui_gate.bus.replicas.wire import Said, Wanted
from agui_gate.errors import Unavailable
from tests.bus.conftest import RUN_BYTES
from tests.bus.test_contract import Then, frame, said, say, to_the_end, told, until
from tests.bus.test_shared import followed, reading, sent
from tests.bus.wire_in_memory import Place, WireInMemory
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]


class Odd(WireInMemory):
    """``then`` is awaited with each read, after it has looked; ``put`` each time that an opening is asked for."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.then: Callable[[], None] = lambda: None
        self.go = asyncio.Event()
        self.go.set()

    async def read(self, wanted: Sequence[Wanted]) -> Sequence[Said | None]:
        found = await super().read(wanted)
        self.then()
        await self.go.wait()
        return found


@pytest.fixture
def wire(place: Place) -> Odd:
    return Odd(place)


@pytest.fixture
async def there(wire: Odd) -> AsyncIterator[SharedBus]:
    """The bus of the replica that reads."""
    bus = SharedBus(wire, run_bytes=RUN_BYTES)
    await bus.start()
    yield bus
    await bus.aclose()


@pytest.fixture
def never_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not told is not known."""
    monkeypatch.setattr(follower, "LOOK_SECONDS", 3600.0)


async def still(publisher: Publisher) -> None:
    """Until nobody follows it any more."""
    async with asyncio.timeout(60):
        while followed(publisher):  # noqa: ASYNC110  (it has no event)
            await asyncio.sleep(0)


async def test_what_comes_while_something_is_read_is_read_next(
    never_looks: None, here: SharedBus, there: SharedBus, wire: Odd, place: Place
) -> None:
    publisher = await here.open("run", "alice", "t")
    publisher.append(frame(0))
    reader = await reading(there)
    assert await until(reader, len(frame(0))) == frame(0)
    looked = asyncio.Event()
    wire.then = looked.set
    wire.go.clear()
    publisher.append(frame(1))
    async with asyncio.timeout(60):
        await looked.wait()
    publisher.append(frame(2))
    await sent(place, 3)
    await there.find("run")  # its answer comes after the note
    wire.go.set()
    assert await until(reader, len(said(1, 3))) == said(1, 3)
    reader.close()


async def test_a_run_that_says_much_does_not_hide_one_whose_notes_are_lost(
    monkeypatch: pytest.MonkeyPatch, here: SharedBus, there: SharedBus, wire: Odd, place: Place
) -> None:
    monkeypatch.setattr(follower, "LOOK_SECONDS", 0.01)
    busy, quiet = await here.open("busy", "alice", "t"), await here.open("run", "alice", "u")
    for publisher in (busy, quiet):
        publisher.append(frame(0))
    assert await there.read("busy") is not None
    reader = await reading(there)
    assert await until(reader, len(frame(0))) == frame(0)
    (note,) = pack([("", Came("busy"))])
    wire.then = lambda: place.hearing[wire.address](note.payload)
    place.deaf = True
    wire.then()
    quiet.append(frame(1))
    assert await until(reader, len(frame(1))) == frame(1)
    reader.close()


async def test_an_error_that_nobody_thought_of_does_not_stop_all_readers(
    here: SharedBus, there: SharedBus, wire: Odd
) -> None:
    publisher = await here.open("run", "alice", "t")
    publisher.append(frame(0))
    reader = await reading(there)
    assert await until(reader, len(frame(0))) == frame(0)

    def fail() -> None:
        wire.then = lambda: None
        raise RuntimeError("nobody thought of it")

    wire.then = fail
    publisher.append(frame(1))
    assert await until(reader, len(frame(1))) == frame(1)
    reader.close()


async def test_who_goes_before_its_reader_is_there_is_no_follower(here: SharedBus, there: SharedBus) -> None:
    """Else the run would go on for nobody (`on_disconnect`)."""
    publisher = await here.open("run", "alice", "t")
    publisher.append(frame(0))
    assert await there.find("run") is not None
    comes = asyncio.ensure_future(there.read("run"))
    async with asyncio.timeout(60):
        while not followed(publisher):  # noqa: ASYNC110  (it has no event)
            await asyncio.sleep(0)
    comes.cancel()
    await asyncio.wait([comes])
    assert comes.cancelled()
    await still(publisher)


async def test_nor_is_who_finds_no_opening(here: SharedBus, there: SharedBus, wire: Odd) -> None:
    publisher = await here.open("run", "alice", "t")
    publisher.opened(Opening(0, Then("asked"), {}))
    publisher.append(frame(0))

    async def away(run_key: str) -> tuple[int, bytes] | None:
        raise Unavailable("The place is away.")

    async def odd(run_key: str) -> tuple[int, bytes] | None:
        return 0, b"[another version's]"

    wire.opening = away  # type: ignore[method-assign]  # as it is for a moment
    with pytest.raises(Unavailable):
        await there.join("run", told)
    await still(publisher)
    wire.opening = odd  # type: ignore[method-assign]  # the same
    assert await there.join("run", told) is None
    await still(publisher)


async def test_what_ends_while_the_wire_is_away_is_kept_within_bounds(place: Place) -> None:
    bus = SharedBus(WireInMemory(place), run_bytes=RUN_BYTES, kept_bytes=10 * RUN_BYTES)
    await bus.start()
    place.go()
    for number in range(40):
        publisher = await bus.open(f"run {number}", "alice", f"t{number}")
        say(publisher, 0, RUN_BYTES // len(frame(0)))
        publisher.end()
    await bus.expire()
    place.come_back()
    last = await bus.open("run", "alice", "t")
    last.append(frame(0))
    await sent(place, 1)
    last.end()
    await bus.aclose()
    kept = {key for key in place.runs if key != "run"}
    assert {f"run {number}" for number in range(33, 40)} <= kept
    assert len(kept) < 12
    assert all(run.ended for run in place.runs.values())


async def test_what_is_large_has_longer_to_be_sent(
    monkeypatch: pytest.MonkeyPatch, here: SharedBus, place: Place
) -> None:
    """Else it would be tried for ever, and nothing else would be sent any more."""
    monkeypatch.setattr(sender, "SEND_SECONDS", 0.0)
    monkeypatch.setattr(sender, "SLOWEST", 1.0)
    publisher = await here.open("run", "alice", "t")
    publisher.append(frame(0))
    await sent(place, 1)
    monkeypatch.undo()


async def test_waiting_for_long_leaves_nothing_behind() -> None:
    """A silent run is looked at every second by who reads it elsewhere (`readers/remote_run.py`), and pinged."""
    log = EventLog()
    reader = LogReader(log)
    for _ in range(50):
        waits = asyncio.ensure_future(reader.read())
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.wait([waits])
        pinged = asyncio.ensure_future(reader.read())
        await asyncio.sleep(0)
        reader.ping()
        await pinged
        left = asyncio.ensure_future((another := LogReader(log)).read())
        await asyncio.sleep(0)
        another.close()
        assert await left == b""
    assert log._waiting == []
    log.append(frame(0))
    log.end()
    assert await to_the_end(reader) == frame(0)
