"""What goes wrong at the provider or on the way is tried once more or classified; never again once it was shown."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from agui_gate.adapter import ModelEvent, TurnDone, TurnRequest
from agui_gate.errors import ProviderUnavailable, RateLimited
from tests.support.chance import some
from tests.support.pairwise import turns

from .subject import Subject, Way
from .subjects import EVERY_WAY, PLAIN, WAYS, every_adapter, every_subject, everywhere
from .support import ANSWER, CALLS, CITIES, STREAM, Json, Turn, user, waits, watch

pytestmark = pytest.mark.anyio

TRANSIENT: list[Json] = [
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 503},
    {"kind": "status", "status": 529},
    {"kind": "status", "status": 429, "retry_after": 2},
    {"kind": "html", "status": 502},
    {"kind": "html", "status": 200},
    {"kind": "cut", "after_events": 0},
    {"kind": "cut", "after_bytes": 20},
    {"kind": "error_event", "after_events": 0},
    {"kind": "error_event", "after_events": 1},
    {"kind": "error_event", "after_events": 1, "code": "api_error"},
    {"kind": "error_event", "after_events": 1, "shape": "flat"},
    {"kind": "failed", "after_events": 0, "code": "server_error"},
    {"kind": "failed", "after_events": 1, "code": "server_error"},
    {"kind": "content_type"},
]


def name(value: Any) -> str:
    if isinstance(value, type):
        return value.__name__
    return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def cuts(way: Way) -> list[Json]:
    """Wherever the stream is cut before anything is shown."""
    return [
        {"kind": "cut", "after_events": events, "clean": clean}
        for events in range(1, way.quiet + 1)
        for clean in (False, True)
    ]


def transient(ways: list[Way]) -> pytest.MarkDecorator:
    """Each fault that may pass, and each of these ways. All of them with one another are more than PLAIN needs."""
    pairs = [
        pytest.param(way, fault, marks=() if way in PLAIN or at % len(ways) == n else pytest.mark.spare)
        for n, way in enumerate(ways)
        for at, fault in enumerate((*TRANSIENT, *cuts(way)))
    ]
    return pytest.mark.parametrize(("way", "fault"), pairs, ids=name)


@transient(WAYS)
async def test_a_transient_fault_is_retried_exactly_once(way: Way, fault: Json) -> None:
    # A whole answer of the wrong type counts as one.
    again = [ANSWER] if fault["kind"] == "content_type" else []
    async with way.talking([ANSWER, {"fault": fault, **ANSWER}, *again, ANSWER]) as (emulator, thread):
        slept = waits(thread.model)
        thread.say("hi")
        await thread.turn()
        thread.say("again")
        assert (await thread.turn()).text == "Sunny in both."
        assert slept == [2.0] if "retry_after" in fault else len(slept) == 1
        assert len(emulator.journal.entries) == 3
        thread.say("more")
        await thread.turn()
    assert emulator.refusals == []


@transient(PLAIN)
async def test_twice_is_an_error(way: Way, fault: Json) -> None:
    async with way.talking([{"fault": {**fault, "times": 0}, **ANSWER}] * 2) as (emulator, thread):
        waits(thread.model)
        thread.say("hi")
        with pytest.raises(RateLimited if fault.get("status") == 429 else ProviderUnavailable) as caught:
            await thread.turn()
        assert "Gateway" not in caught.value.message
        assert len(emulator.journal.entries) == 2


@every_adapter
async def test_a_long_retry_after_is_left_to_the_caller(way: Way) -> None:
    async with way.talking([{"fault": {"kind": "status", "status": 429, "retry_after": 60}}]) as (emulator, thread):
        thread.say("hi")
        with pytest.raises(RateLimited):
            await thread.turn()
        assert len(emulator.journal.entries) == 1


@pytest.mark.parametrize(
    ("way", "fault", "error", "says"), [(way, *row) for way in PLAIN for row in way.subject.hopeless], ids=name
)
async def test_what_no_retry_helps(way: Way, fault: Json, error: type[Exception], says: str) -> None:
    """B19: the provider's own words stay in the debug log."""
    async with way.talking([{"fault": {"message": "sk-secret said Bob", **fault}}]) as (emulator, thread):
        thread.say("hi")
        with pytest.raises(error, match=says) as caught:
            await thread.turn()
        assert "Bob" not in str(caught.value)
        assert "sk-secret" not in str(caught.value)
        assert len(emulator.journal.entries) == 1


# --- once shown ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "kind"), turns(EVERY_WAY, ["cut", "error_event", "failed"]), ids=name)
async def test_what_was_shown_is_never_tried_again(way: Way, kind: str) -> None:
    """And the turn after a cut one is legal: the cut one was not committed."""
    fault = {"kind": kind, "after_events": way.text_after}
    cut = {"output": [{"type": "message", "deltas": ["Sun", "ny"]}], "fault": fault}
    async with way.talking([CALLS, cut, ANSWER]) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        shown: list[ModelEvent] = []
        with pytest.raises(ProviderUnavailable):
            await watch(thread.model, thread.request(), shown)
        assert Turn(shown).text == "Sun"
        before = len(emulator.journal.entries)
        thread.keep_cut("Sun")
        thread.say("You were cut off")
        await thread.turn()
        assert len(emulator.journal.entries) == before + 1
    assert emulator.refusals == []


@everywhere
async def test_a_call_that_was_cut_never_ends(way: Way) -> None:
    """B25: the connection drops somewhere in the calls; what has ended by then is whole, and no more was said to be."""
    for events in range(1, 16, some(2, 1)):
        script = [{**CALLS, "fault": {"kind": "cut", "after_events": events, "times": 0}}]
        async with way.talking(script) as (_, thread):
            waits(thread.model)
            thread.say("Weather?")
            shown: list[ModelEvent] = []
            try:
                await watch(thread.model, thread.request(), shown)
            except ProviderUnavailable:
                assert TurnDone not in map(type, shown)
                ended = Turn(shown).arguments
                assert ended == (CITIES[: len(ended)] if way.subject.ends_calls_early else [])
            else:  # nothing was left to cut
                assert Turn(shown).arguments == CITIES


class Dropped(httpx2.AsyncByteStream):
    """A body that ends in a dropped connection."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body
        raise httpx2.ReadError("reset")


class Ending:
    """A provider whose body is over after ``length`` bytes, and that counts how often it was asked."""

    def __init__(self, body: bytes, *, dropped: bool) -> None:
        self.calls = self.length = 0
        self._body = body
        self._dropped = dropped

    def __call__(self, _: httpx2.Request) -> httpx2.Response:
        self.calls += 1
        part = self._body[: self.length]
        how: Json = {"stream": Dropped(part)} if self._dropped else {"content": part}
        return httpx2.Response(200, headers=STREAM, **how)


@every_subject
@pytest.mark.parametrize("how", ["ended", "dropped"])
async def test_wherever_the_body_ends(subject: Subject, how: str) -> None:
    """Also between the bytes of a character: no half of it is shown, and without the end nothing is done."""
    body = subject.said("naïve 🙂")
    ending = Ending(body, dropped=how == "dropped")
    model = subject.answering(ending)
    for ending.length in range(0, len(body), some(3, 1)):
        ending.calls = 0
        shown: list[ModelEvent] = []
        try:
            await watch(model, TurnRequest((user("hi"),)), shown)
        except ProviderUnavailable:
            assert TurnDone not in map(type, shown)
            assert Turn(shown).text in ("", "naïve 🙂")
            assert ending.calls == (1 if shown else 2)
        else:
            assert Turn(shown).text == "naïve 🙂"
            assert Turn(shown).done.status == "completed"
