"""A server that stops lets a stream of approvals end by itself: a body that is cut looks like a broken connection."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from sse_starlette.sse import AppStatus
from starlette.types import Message

from agui_gate.extras.inbox.feed import Told, Waiting
from agui_gate.extras.inbox.stream import InboxStream

pytestmark = pytest.mark.anyio


async def ends_soon() -> AsyncGenerator[Told, None]:
    """As a watcher does once the engine closes: some turns of the event loop later."""
    for _ in range(20):
        yield Waiting([])
        await asyncio.sleep(0)


async def test_a_stream_has_its_end_when_the_server_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AppStatus, "should_exit", True)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async with asyncio.timeout(60):
        await InboxStream(ends_soon(), {})({"type": "http", "method": "GET", "asgi": {}}, receive, send)
    assert sent[0]["status"] == 200
    assert [message.get("more_body") for message in sent[1:]] == [*[True] * 20, False]
