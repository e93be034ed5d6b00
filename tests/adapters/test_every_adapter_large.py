"""A large conversation doesn't keep the event loop: it is gone through beside it, and sent in pieces."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
import pytest

from agui_gate import concurrency
from agui_gate.adapter import AssistantTurn, Beginning, Media, TextPart, TurnRequest, UserTurn, off_loop
from agui_gate.errors import MediaRefused, ProviderRejected
from agui_gate_adapters.common import large_requests
from tests.requirements import shows

from .subject import Subject, Way
from .subjects import WAYS, every_subject, every_way
from .support import ANSWER, CALLS, STREAM, WEATHER, asked, assistant, call, run, user

pytestmark = [pytest.mark.anyio, shows("T15")]

LONG = tuple(
    turn
    for number in range(300)
    for turn in (
        user(f"no {number}", f"u{number}"),
        assistant(call(f"c{number}", name="no.name"), turn_id=f"t{number}"),
    )
)


class Watched(tuple[UserTurn | AssistantTurn, ...]):
    """A transcript that notes on which threads it is gone through."""

    seen: set[int]

    def __iter__(self) -> Iterator[UserTurn | AssistantTurn]:
        self.seen.add(threading.get_ident())
        return super().__iter__()


def watched(*turns: UserTurn | AssistantTurn) -> Watched:
    made = Watched(turns)
    made.seen = set()
    return made


@every_way
async def test_it_is_gone_through_beside_the_loop(way: Way) -> None:
    async with way.talking([ANSWER]) as (emulator, thread):
        transcript = watched(*LONG, user("And now?", "last"))
        turn = await run(thread.model, TurnRequest(transcript, "Be brief.", (WEATHER,), large=True))
        assert turn.text == "Sunny in both."
        assert transcript.seen
        assert threading.get_ident() not in transcript.seen
    assert emulator.refusals == []


@pytest.mark.parametrize("way", [way for way in WAYS if way.remembers], ids=str)
async def test_so_it_is_when_the_provider_forgot_it(way: Way) -> None:
    async with way.talking([ANSWER, ANSWER]) as (emulator, thread):
        thread.say("hi")
        await thread.turn()
        ref = thread.request().ref
        assert ref is not None
        gone = msgspec.structs.replace(ref, turn_id="t", previous_response_id="resp_gone", conversation_id=None)
        transcript = watched(*LONG, assistant(turn_id="t", origin=ref.origin), user("And now?", "last"))
        turn = await run(thread.model, TurnRequest(transcript, "Be brief.", (WEATHER,), gone, large=True))
        assert turn.text == "Sunny in both."
        assert transcript.seen
        assert threading.get_ident() not in transcript.seen
        assert [entry.status for entry in emulator.journal.entries][-2:] == [400, 200]


@every_way
async def test_what_stays_is_made_once(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then little is left to do, and no other thread is asked for it."""
    jobs: list[object] = []
    beside = concurrency.beside
    monkeypatch.setattr(concurrency, "beside", lambda job: (jobs.append(job), beside(job))[1])
    said = tuple(
        turn
        for n in range(300)
        for turn in (user(f"no {n}", f"u{n}"), assistant(TextPart("p", "yes"), turn_id=f"t{n}"))
    )
    async with way.talking([ANSWER] * 3) as (emulator, thread):
        made, counts = dict[str, Any](), []
        for size in (1, 1, large_requests.AT_ONCE + 1):
            jobs.clear()
            transcript = (*said, user("And now?", "last"))
            beginning = Beginning(transcript, len(said), made)
            request = TurnRequest(transcript, "Be brief.", (WEATHER,), large=True, beginning=beginning, size=size)
            assert (await run(thread.model, request)).text == "Sunny in both."
            counts.append(len(jobs))
        assert counts[0] > 0
        assert counts[1] == 0
        assert counts[2] > 0
    assert emulator.refusals == []


@every_way
async def test_the_provider_is_sent_the_same(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is written at once or in pieces."""
    async with way.talking([CALLS, CALLS]) as (emulator, thread):
        monkeypatch.setattr(large_requests, "MANY", 3)
        monkeypatch.setattr(large_requests, "PIECE", 50)
        request = TurnRequest(LONG[:8], "Be brief.", (WEATHER,))
        whole = await run(thread.model, request)
        pieces = await run(thread.model, msgspec.structs.replace(request, large=True))
        assert pieces.arguments == whole.arguments != []
        first, second = [
            entry.body for entry in emulator.journal.entries if "input" in entry.body or "messages" in entry.body
        ]
        assert {**first, "conversation": ""} == {**second, "conversation": ""}
    assert emulator.refusals == []


@every_subject
async def test_a_client_of_the_caller_s_gets_it_at_once(subject: Subject) -> None:
    """It may have to sign it."""
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, content=subject.said("hi"), headers=STREAM)

    turn = await run(subject.answering(handler), TurnRequest((*LONG, user("And now?", "last")), large=True))
    assert turn.text == "hi"
    (request,) = seen
    assert request.headers["content-length"] == str(len(request.content))
    assert json.loads(request.content)["stream"] is True


@every_subject
async def test_an_attachment_that_is_refused_is_named(subject: Subject) -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        where = "input" if "input" in body else "messages"
        place = f"{where}.{len(body[where]) - 1}.content.{len(body[where][-1]['content']) - 1}.image"
        error = {"type": "invalid_request_error", "message": f"{place}: image cannot be empty"}
        return httpx2.Response(400, json={"type": "error", "error": error})

    picture = UserTurn("last", (Media("image", "url", "https://x.example/a.png"),))
    with pytest.raises(MediaRefused) as caught:
        await run(subject.answering(handler), TurnRequest((*LONG, picture), large=True))
    assert caught.value.value == "https://x.example/a.png"


@every_subject
async def test_what_is_not_json_is_refused_before_it_is_sent(subject: Subject) -> None:
    model = subject.answering(lambda _: httpx2.Response(500))
    with pytest.raises(ProviderRejected, match="JSON"):
        await run(model, TurnRequest((*LONG, user("\ud800", "last")), large=True))


@every_way
async def test_it_can_be_cancelled_while_it_is_prepared(way: Way) -> None:
    """Nobody waits for the work then, and the next turn is as any other."""
    async with way.talking([ANSWER]) as (emulator, thread):
        busy, free = threading.Event(), threading.Event()
        work = asyncio.create_task(off_loop(lambda: busy.set() or free.wait(10)))
        asking = asyncio.create_task(run(thread.model, TurnRequest((*LONG, user("And now?", "last")), large=True)))
        await asyncio.to_thread(busy.wait, 10)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert emulator.journal.entries == []
        free.set()
        await work
        assert (await asked(thread.model)).text == "Sunny in both."
