"""What all buses for several processes have in common, over a wire in memory: who is told what, and when it is sent."""

import asyncio

import msgspec
import pytest

from agui_gate import Agent, create_app
from agui_gate.bus.base import FellBehind, Opening, Publisher, Reader, Signal
from agui_gate.bus.memory import MemoryBus
from agui_gate.bus.replicas import bus as shared_bus
from agui_gate.bus.replicas import follower, sender, sent_run
from agui_gate.bus.replicas.bus import SharedBus
from agui_gate.bus.replicas.messages import Answer, Came, Left, Told, Word, pack, unpack
from agui_gate.bus.replicas.wire import NOTE_BYTES
from agui_gate.core.sse import PING
from agui_gate.errors import Unavailable
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.bench.counting import answered, counting
from tests.bus.conftest import RUN_BYTES
from tests.bus.test_contract import Then, frame, said, say, to_the_end, told, until
from tests.bus.wire_in_memory import Place, WireInMemory
from tests.product.inprocess import run, run_body, started, user
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]

MANY = 50 * RUN_BYTES // 24


async def reading(bus: SharedBus, after: int = -1) -> Reader:
    reader = await bus.read("run", after)
    assert reader is not None
    return reader


def followed(publisher: Publisher) -> bool:
    return publisher.followed_elsewhere


async def sent(place: Place, number: int) -> None:
    """Until so many frames of the run have arrived."""
    async with asyncio.timeout(60):
        while (kept := place.runs.get("run")) is None or kept.next < number:  # noqa: ASYNC110  (it has no event)
            await asyncio.sleep(0)


# --- how much is sent, and how often ----------------------------------------------------------------------------------


async def test_a_short_run_that_nobody_follows_is_sent_at_once(
    here: SharedBus, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "LAZY", 1.0)
    publisher = await here.open("run", "alice", "t")
    for number in range(10):
        publisher.append(frame(number))
        await asyncio.sleep(0)
    publisher.end()
    await sent(place, 10)
    assert place.sends == 1, "its head, its frames and its end"


async def test_a_delta_costs_what_it_costs_on_the_bus_in_memory() -> None:
    """Counted are calls of functions in a whole run, its provider's bytes included (`make bench` measures time)."""
    calls = []
    for bus in (MemoryBus(), SharedBus(WireInMemory(Place()))):
        model = OpenAIResponses("bench", mode="stateless", base_url="http://127.0.0.1/v1", api_key="bench")
        with answered(deltas=1000):
            async with started(create_app(Agent(name="a", model=model), store="memory://", bus=bus)) as app:
                await run(app, run_body("first", user("hello", "m1")))  # in which things are loaded
                with counting() as counted:
                    await run(app, run_body("second", user("hello", "m1")))
        calls.append(counted.calls)
    assert calls[1] < 1.1 * calls[0]


async def test_twenty_readers_cost_what_one_does(here: SharedBus, there: SharedBus, place: Place) -> None:
    publisher = await here.open("run", "alice", "t")
    readers = [await reading(there) for _ in range(20)]
    reading_all = [asyncio.ensure_future(to_the_end(reader)) for reader in readers]
    before = place.reads
    for number in range(40):
        publisher.append(frame(number))
        await asyncio.sleep(0)
    publisher.end()
    assert set(await asyncio.gather(*reading_all)) == {said(0, 40)}
    assert place.reads - before <= 42, "each read serves all of them"


async def test_who_reads_no_more_is_told_no_more(here: SharedBus, there: SharedBus, place: Place) -> None:
    publisher = await here.open("run", "alice", "t")
    reader = await reading(there)
    publisher.append(frame(0))
    assert await until(reader, len(frame(0))) == frame(0)
    assert followed(publisher)
    reader.close()
    assert await there.find("run") is not None  # after which it is known that nobody follows
    assert not followed(publisher)
    reads = place.reads
    say(publisher, 1, 3)
    await sent(place, 3)
    publisher.end()
    assert place.reads == reads


async def watching(bus: SharedBus) -> Reader:
    reader = await bus.join("run", told, watching=True)
    assert reader is not None
    return reader


@pytest.mark.parametrize("is_opened", [False, True], ids=["from the first frame", "from an opening"])
async def test_who_watches_elsewhere_does_not_keep_a_run_going(
    here: SharedBus, there: SharedBus, is_opened: bool
) -> None:
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 2)
    if is_opened:
        publisher.opened(Opening(1, Then("said"), {}))
    watcher = await watching(there)
    assert not followed(publisher)
    reader = await reading(there)
    assert followed(publisher)
    other = await watching(there)
    assert followed(publisher), "who came later and only watches changes nothing"
    reader.close()
    assert await there.find("run") is not None  # after which it is known who has left
    assert not followed(publisher)
    say(publisher, 2, 3)
    publisher.end()
    assert (await to_the_end(watcher)).endswith(frame(2)), "it is told nevertheless"
    other.close()


async def test_a_reader_that_goes_on_keeps_a_run_going_next_to_one_that_watched(
    here: SharedBus, there: SharedBus
) -> None:
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 2)
    reader, watcher = await reading(there), await watching(there)
    watcher.close()
    assert await there.find("run") is not None
    assert followed(publisher)
    reader.close()
    assert await there.find("run") is not None
    assert not followed(publisher)


async def test_a_reader_may_want_earlier_frames_than_one_before(here: SharedBus, there: SharedBus) -> None:
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    late = await reading(there, 7)
    assert await until(late, len(said(8, 10))) == said(8, 10)
    early = await reading(there)
    say(publisher, 10, 12)
    publisher.end()
    assert await to_the_end(early) == said(0, 12)
    assert await to_the_end(late) == said(10, 12)


# --- what is lost -----------------------------------------------------------------------------------------------------


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "LOOK_SECONDS", 0.02)


async def test_lost_notes_only_make_it_slow(looks_often: None, here: SharedBus, there: SharedBus, place: Place) -> None:
    publisher = await here.open("run", "alice", "t")
    publisher.append(frame(0))
    reader = await reading(there)
    assert await until(reader, len(frame(0))) == frame(0)
    waiting = asyncio.ensure_future(to_the_end(reader))
    place.deaf = True
    say(publisher, 1, 5)
    publisher.end()
    assert await waiting == said(1, 5)


async def test_the_wire_is_away_for_longer_than_a_log_holds(
    here: SharedBus, there: SharedBus, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "RETRY_SECONDS", (0.001, 0.002))
    monkeypatch.setattr(follower, "RETRY_SECONDS", 0.001)
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 3)
    reader = await reading(there)
    assert await until(reader, len(said(0, 3))) == said(0, 3)
    place.go()
    say(publisher, 3, MANY)
    with pytest.raises(Unavailable):
        await there.find("run")
    with pytest.raises(Unavailable):
        await there.read("run")
    place.come_back()
    with pytest.raises(FellBehind):
        await until(reader, 10**9)
    reader.close()
    publisher.append(frame(MANY))
    run = await there.find("run")
    assert run is not None
    assert (run.first > 3, run.next) == (True, MANY + 1)
    again = await reading(there, run.first - 1)
    publisher.end()
    assert await to_the_end(again) == said(run.first, MANY + 1)


async def test_a_server_that_comes_back_with_nothing(here: SharedBus, there: SharedBus, place: Place) -> None:
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 5)
    reader = await reading(there)
    assert await until(reader, len(said(0, 5))) == said(0, 5)
    place.come_back(with_nothing=True)
    assert await there.find("run") is None
    say(publisher, 5, 9)
    publisher.end()
    assert await to_the_end(reader) == said(5, 9), "who had read it all has lost nothing"
    run = await there.find("run")
    assert run is not None
    assert (run.first, run.next) == (5, 9)
    with pytest.raises(FellBehind):
        await (await reading(there, 2)).read()


async def test_the_process_of_a_run_is_gone(
    here: SharedBus, there: SharedBus, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_bus, "ASK_SECONDS", 0.01)
    publisher = await here.open("run", "alice", "t")
    publisher.opened(Opening(1, Then("asked"), {}))
    say(publisher, 0, 3)
    await sent(place, 3)
    place.hearing.pop(here._address)  # it will answer nobody
    run = await there.find("run")
    assert run is not None
    assert run.next == 3
    assert await there.join("run", told) is None, "the store says what stands"
    reader = await reading(there)
    assert await until(reader, len(said(0, 3))) == said(0, 3)
    waiting = asyncio.ensure_future(reader.read())
    await asyncio.sleep(0)
    reader.ping()
    assert await waiting == PING
    reader.close()
    assert await reader.read() == b""


async def test_an_opening_that_is_too_large_is_no_opening(
    here: SharedBus, there: SharedBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sent_run, "OPENING_BYTES", 100)
    publisher = await here.open("run", "alice", "t")
    publisher.opened(Opening(1, Then("." * 200), {}))
    say(publisher, 0, 3)
    assert await there.join("run", told) is None
    publisher.end()


async def test_a_large_opening_arrives_whole(here: SharedBus, there: SharedBus) -> None:
    text = "ü" * 300_000
    publisher = await here.open("run", "alice", "t")
    publisher.opened(Opening(1, Then(text), {"n": [1]}))
    say(publisher, 0, 3)
    reader = await there.join("run", told)
    publisher.end()
    assert reader is not None
    assert await to_the_end(reader) == told(Opening(1, Then(text), {"n": [1]})) + said(1, 3)


async def test_what_is_sent_when_a_thread_is_deleted_elsewhere_is_dropped_too(
    here: SharedBus, there: SharedBus, place: Place
) -> None:
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 3)
    publisher.end()
    await there.forget("alice", "t")
    async with asyncio.timeout(60):
        while await here.find("run") is not None:  # noqa: ASYNC110  (it has no event)
            await asyncio.sleep(0)
    assert await there.find("run") is None
    assert not place.runs


async def test_closing_sends_what_is_left(here: SharedBus, there: SharedBus) -> None:
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 3)
    publisher.end()
    await here.aclose()
    assert await to_the_end(await reading(there)) == said(0, 3)


async def test_a_wire_that_refuses_for_good_stops_nothing(
    here: SharedBus, there: SharedBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise ValueError("not this")

    publisher = await here.open("run", "alice", "t")
    with monkeypatch.context() as patched:
        patched.setattr(here._wire, "send", refuse)
        say(publisher, 0, 3)
        await here._sender.flush(10)
    say(publisher, 3, 6)
    publisher.end()
    assert await to_the_end(await reading(there, 2)) == said(3, 6)


# --- notes ------------------------------------------------------------------------------------------------------------


def test_notes_are_packed_by_address_within_bounds() -> None:
    words: list[tuple[str, Word]] = [("", Told("a", Signal("written", "alice", f"thread {n}"))) for n in range(1000)]
    words += [("b", Came("run")), ("b", Left("a", "run")), ("b", Came("run"))]
    notes = list(pack(words))
    assert max(len(note.payload) for note in notes) <= NOTE_BYTES
    assert [note.to for note in notes] == [""] * (len(notes) - 1) + ["b"]
    assert [word for note in notes[:-1] for word in unpack(note.payload)] == [word for _, word in words[:1000]]
    assert list(unpack(notes[-1].payload)) == [Came("run"), Left("a", "run")]


def test_what_is_too_long_for_a_note_is_left_out() -> None:
    words: list[tuple[str, Word]] = [("", Told("a", Signal("stop", "x" * NOTE_BYTES, "t"))), ("", Answer(1))]
    (note,) = pack(words)
    assert list(unpack(note.payload)) == [Answer(1)]


def test_what_is_not_understood_is_passed_over() -> None:
    later = msgspec.json.encode([["of a later version", 1], Answer(7), ["told", "a", ["unheard of", "p", "t"]], 5])
    assert list(unpack(later)) == [Answer(7)]
    assert list(unpack(b"no JSON")) == []
