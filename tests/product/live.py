"""Readers of live runs: raw bytes, cut and resumed at will."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agui_gate.bus.log import Frames
from tests.product.kit import TIMEOUT, Chat, Product, Stream, parse, record

Json = dict[str, Any]


class Following:
    """One open stream; ``raw`` is what came so far. ``body``: the request, if it is one of an AG-UI client."""

    def __init__(self, response: Any, body: Json | None = None) -> None:
        self.response, self.raw, self.body = response, "", body
        self.status: int = response.status_code
        self.run_key: str = response.headers.get("agui-run-key", "")
        self._chunks = response.aiter_text()

    @property
    def frames(self) -> list[str]:
        """The whole frames that came so far, without comments."""
        return frames(self.raw[: self.raw.rfind("\n\n") + 2])

    @property
    def last_id(self) -> str:
        """The id of the last whole frame."""
        return frame_id(self.frames[-1])

    async def until(self, marker: str, *, whole: bool = True) -> Stream:
        """Read on until ``marker`` was streamed, and to the end of its frame."""
        async with asyncio.timeout(TIMEOUT):
            while marker not in self.raw or (whole and "\n\n" not in self.raw[self.raw.rindex(marker) :]):
                self.raw += await anext(self._chunks)
        return parse("".join(self.frames))

    async def count(self, number: int) -> None:
        """Read on until at least ``number`` frames came, or the end."""
        async with asyncio.timeout(TIMEOUT):
            while len(self.frames) < number and (chunk := await anext(self._chunks, "")):
                self.raw += chunk

    async def end(self) -> Stream:
        """Read to the end."""
        async with asyncio.timeout(TIMEOUT):
            async for chunk in self._chunks:
                self.raw += chunk
        stream = parse(self.raw)
        if self.status == 200 and self.body is not None:
            record(stream, self.body, replays=self.response.url.path.endswith("/connect"))
        return stream


def frames(raw: str) -> list[str]:
    """The frames of a body, each with its end, without comments."""
    return [f"{frame}\n\n" for frame in raw.split("\n\n") if frame and not frame.startswith(":")]


def frame_id(frame: str) -> str:
    """`<run_key>:<seq>`."""
    return frame.split("\n", 1)[0].removeprefix("id: ")


@asynccontextmanager
async def starting(p: Product, chat: Chat, text: str | None = None, **more: Any) -> AsyncIterator[Following]:
    """A run that the caller reads; leaving the block is leaving the server."""
    if text is not None:
        chat.messages.append({"id": f"u{len(chat.messages)}", "role": "user", "content": text})
    body = chat.body(**more)
    async with p.client.stream("POST", p.url + chat.path, json=body, headers=chat.headers) as response:
        yield Following(response, body)


@asynccontextmanager
async def resuming(
    p: Product, run_key: str, last: str | None = None, *, query: bool = False, headers: Json | None = None
) -> AsyncIterator[Following]:
    """`GET /runs/{run_key}/events` after the event with the id ``last``."""
    head, params = dict(headers or {}), {}
    if last is not None and query:
        params["after"] = last
    elif last is not None:
        head["last-event-id"] = last
    async with p.client.stream("GET", f"{p.url}/runs/{run_key}/events", headers=head, params=params) as response:
        yield Following(response)


async def rest(p: Product, run_key: str, last: str | None = None, *, query: bool = False) -> str:
    """What `resuming` gives, to its end."""
    async with resuming(p, run_key, last, query=query) as reader:
        assert reader.status == 200
        await reader.end()
        return reader.raw


@asynccontextmanager
async def connecting(p: Product, chat: Chat, **more: Any) -> AsyncIterator[Following]:
    """`POST …/connect` with nothing but the thread's id."""
    body = {**chat.body(), "messages": [], **more}
    url = f"{p.url}/agents/support/connect"
    async with p.client.stream("POST", url, json=body, headers=chat.headers) as response:
        yield Following(response, body)


async def connect(p: Product, chat: Chat, **more: Any) -> Stream:
    """What `connecting` gives, to its end."""
    async with connecting(p, chat, **more) as reader:
        assert reader.status == 200
        stream = await reader.end()
        stream.run_key = reader.run_key
        return stream


async def cancel(p: Product, chat: Chat) -> Json:
    """`POST /threads/{id}/cancel`."""
    response = await p.client.post(f"{p.url}/threads/{chat.thread_id}/cancel", headers=chat.headers)
    return {**json.loads(response.content), "status_code": response.status_code}


async def over(p: Product, chat: Chat, status: str) -> Json:
    """Wait until the thread's run has ended like this, by asking."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            thread: Json = await p.get(f"/threads/{chat.thread_id}", chat.headers)
            if thread["status_code"] == 200 and thread["run"]["status"] != "running":
                assert thread["run"]["status"] == status, thread
                return thread


async def quiet(p: Product) -> None:
    """Nothing of any run is left but the events that are kept."""
    engine = p.app.state.engine
    async with asyncio.timeout(TIMEOUT):
        while engine._runs or any(t.get_name().startswith("run ") for t in asyncio.all_tasks()):
            await p.get("/healthz")
        while any("EventStream" in str(t.get_coro()) for t in asyncio.all_tasks()):
            await p.get("/healthz")
    assert not engine._by_thread
    assert all(isinstance(kept.log, Frames) for kept in engine.bus._runs.values())
