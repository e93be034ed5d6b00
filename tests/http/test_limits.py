"""What a body may be, and how long it may take."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.requests import Request
from starlette.types import Message

from agui_gate.errors import InvalidRequest, TooLarge, UnsupportedMediaType
from agui_gate.http import request_body

pytestmark = pytest.mark.anyio


def request(receive: Callable[[], Awaitable[Message]], kind: bytes = b"application/json") -> Request:
    return Request({"type": "http", "method": "POST", "headers": [(b"content-type", kind)]}, receive)


def sending(*messages: Message) -> Callable[[], Awaitable[Message]]:
    """Send these, then nothing more, for ever."""
    left = list(messages)

    async def receive() -> Message:
        if not left:
            await asyncio.Event().wait()
        return left.pop(0)

    return receive


def part(body: bytes, *, more: bool) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_is_read_to_its_end() -> None:
    assert await request_body.json_body(request(sending(part(b"[1", more=True), part(b"]", more=False)))) == b"[1]"


async def test_a_body_that_does_not_arrive_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.01)
    async with asyncio.timeout(60):
        with pytest.raises(InvalidRequest, match="did not arrive"):
            await request_body.json_body(request(sending(part(b"{", more=True))))


async def test_a_body_that_somebody_else_has_read_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A middleware that reads it and hands the same `receive` on, under uvicorn: nothing more comes, ever."""
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.01)

    class Cycle:
        more_body, message_event = False, asyncio.Event()

        async def receive(self) -> Message:
            await self.message_event.wait()
            return part(b"", more=False)

    async with asyncio.timeout(60):
        with pytest.raises(InvalidRequest, match="did not arrive"):
            await request_body.json_body(request(Cycle().receive))


async def test_a_slow_body_that_keeps_coming_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four megabytes took a phone with 500 kbit/s more than a minute, and were refused however steadily they came."""
    loop = asyncio.get_running_loop()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    piece, pieces = b"x" * request_body.SLOWEST * 60, iter(range(3))

    async def receive() -> Message:
        nonlocal now
        now += 50  # the third one comes after 150 seconds; each gives another minute
        for _ in range(3):
            await asyncio.sleep(0)  # what is due by now happens
        return part(piece, more=next(pieces) < 2)

    assert await request_body.json_body(request(receive)) == piece * 3


async def test_a_body_that_is_cut_off_or_too_large_or_something_else_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="cut off"):
        await request_body.json_body(request(sending(part(b"{", more=True), {"type": "http.disconnect"})))
    with pytest.raises(TooLarge):
        await request_body.json_body(request(sending(part(b"123", more=True))), limit=2)
    with pytest.raises(UnsupportedMediaType):
        await request_body.json_body(request(sending(), b"text/plain"))


async def test_a_body_may_have_only_so_many_objects_and_lists_and_brackets_in_texts_are_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_body, "MAX_CONTAINERS", 3)
    for fine in (b"[{},{}]", b'["{{{{[[[[", "\\"[[[["]'):
        request_body.check_containers(fine)
    for much in (b"[[],[],{}]", b'["[", {"a": {"b": [1]}}]', b'["\\\\", [[[]]]]'):
        with pytest.raises(TooLarge, match="at most 3 objects and lists"):
            request_body.check_containers(much)
