"""What the way into the `openai` SDK costs, for a request that holds 1,000 earlier messages.

Its typed methods walk through every item to transform it; bytes that were encoded before pass untouched. The answer
comes from a transport in this process, so what is measured is building, signing and sending.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

import httpx2
import msgspec
import openai

from tests.bench.proxy import items
from tests.bench.report import Row
from tests.bench.work import history

REPEATS = 5


async def sending() -> list[Row]:
    """CPU per request of three ways to send the same history."""
    earlier = items(history(1000))
    answer = httpx2.Response(200, headers={"content-type": "application/json"}, content=b"{}")
    transport = httpx2.MockTransport(lambda request: answer)
    http = openai.DefaultAsyncHttpxClient(transport=transport)
    async with openai.AsyncOpenAI(api_key="bench", base_url="http://127.0.0.1/v1", http_client=http) as client:

        async def typed() -> object:
            return await client.responses.create(model="bench", input=cast(Any, earlier))

        async def extra() -> object:
            return await client.responses.create(model="bench", input="", extra_body={"input": earlier})

        async def content() -> object:
            body = msgspec.json.encode({"model": "bench", "input": earlier})
            options = {"headers": {"content-type": "application/json"}}
            return await client.post("/responses", cast_to=object, content=body, options=cast(Any, options))

        figures = [await _best(way) * 1e3 for way in (content, extra, typed)]
    return [
        Row(what="SDK, 1,000 messages: content=", unit="ms", ours=figures[0], note="as we send it"),
        Row(what="SDK, 1,000 messages: extra_body=", unit="ms", ours=figures[1], note=_times(figures[1], figures[0])),
        Row(what="SDK, 1,000 messages: input=", unit="ms", ours=figures[2], note=_times(figures[2], figures[0])),
    ]


async def _best(way: Callable[[], Awaitable[object]]) -> float:
    """CPU seconds of the quickest of some calls, after one that imports what is lazy."""
    await way()
    taken = []
    for _ in range(REPEATS):
        before = time.process_time()
        await way()
        taken.append(time.process_time() - before)
    return min(taken)


def _times(figure: float, base: float) -> str:
    return f"{figure / base:.0f} × content="
