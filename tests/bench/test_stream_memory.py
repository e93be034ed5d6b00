"""An open stream takes so much memory, whatever is added to the product: counted by allocation, not by the process."""

import asyncio
import gc
import json
import tracemalloc
from typing import Any

import pytest

from agui_gate import Agent, adapter, create_app
from tests.product.inprocess import Parrot, run_body, says, started, user

pytestmark = pytest.mark.anyio

STREAMS = 40
OURS = [tracemalloc.Filter(True, f"*/{package}/*") for package in ("agui_gate", "starlette")]
TEXTS = tracemalloc.Filter(True, __file__)
"""What the model said."""


class Halfway(Parrot):
    """Says ``deltas`` words, and no more until it is let go. ``come`` has one for each stream that has come so far."""

    def __init__(self, deltas: int) -> None:
        super().__init__()
        self.deltas, self.come, self.go_on = deltas, asyncio.Semaphore(0), asyncio.Event()

    async def stream(self, request: adapter.TurnRequest) -> Any:
        """One turn."""
        self.requests.clear()
        begin, _, end = says("-")
        yield [begin]
        for number in range(self.deltas):
            yield [adapter.TextDelta("0", f"word {number} ")]
        self.come.release()
        await self.go_on.wait()
        yield [end, adapter.TurnDone()]


class Page:
    """A client that keeps nothing of what it reads."""

    def __init__(self, thread: str) -> None:
        self._bodies = [json.dumps(run_body(thread, user("hi"))).encode()]
        self._leaves = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        """See ASGI."""
        if self._bodies:
            return {"type": "http.request", "body": self._bodies.pop(), "more_body": False}
        await self._leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """See ASGI."""

    async def read(self, app: Any) -> None:
        """Posts a run and reads it to its end."""
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": "/", "raw_path": b"/", "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "server": ("testserver", 80),
        }  # fmt: skip
        await app(scope, self.receive, self.send)


async def bytes_of_a_stream(deltas: int, *more: tracemalloc.Filter) -> float:
    """What each of some streams holds that have said so many words and wait, above those that came before."""
    model = Halfway(deltas)
    held = []
    async with (
        started(create_app(Agent(name="a", model=model), store="memory://")) as app,
        asyncio.TaskGroup() as pages,
    ):
        tracemalloc.start()
        try:
            for first in (0, STREAMS):
                for number in range(first, first + STREAMS):
                    pages.create_task(Page(f"t{number}").read(app))
                async with asyncio.timeout(60):
                    for _ in range(STREAMS):
                        await model.come.acquire()
                gc.collect()
                traces = tracemalloc.take_snapshot().filter_traces([*OURS, *more]).traces
                held.append(sum(trace.size for trace in traces))
        finally:
            tracemalloc.stop()
            model.go_on.set()
    return (held[1] - held[0]) / STREAMS


async def test_the_memory_of_an_open_stream() -> None:
    """Without the connections to the client and to the provider, which are the libraries'."""
    took = await bytes_of_a_stream(deltas=20)
    assert took < 18_800


async def test_what_a_delta_adds_to_an_open_stream() -> None:
    """The frame, which readers may miss and come back for, and the text: not an object for each."""
    few, many = [await bytes_of_a_stream(deltas, TEXTS) for deltas in (20, 520)]
    assert (many - few) / 500 < 165
