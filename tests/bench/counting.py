"""What a run takes, counted and not timed: the same on a busy machine, so that a test can hold it.

A run goes through the whole product but its sockets: routes, engine, SQLite, and an adapter whose HTTP client is
answered by a function. What is heavy is done at once and in place, so that it is counted, too.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import httpx2
import msgspec

from agui_gate import concurrency
from agui_gate.approvals import outbox
from agui_gate.runs import heartbeat
from agui_gate.stores.sqlite import store
from agui_gate_adapters.common import transport as adapter_transport
from tests.bench import provider

_HOUR = 3600
_SDK = "/opentelemetry/sdk/"
_HEADERS = {"content-type": "text/event-stream"}


class Counted(msgspec.Struct):
    """What happened within `counting`, in the thread of the event loop.

    ``ours``: calls of functions of the product. ``calls``: of all Python functions. ``sdk``: of these, what the SDK of
    OpenTelemetry does, with all that it calls. ``tasks``: those that began. ``jobs``: what other threads handed back.
    """

    ours: int = 0
    calls: int = 0
    sdk: int = 0
    tasks: int = 0
    jobs: int = 0

    def over(self, bound: "Counted") -> dict[str, int]:
        """The counts that are over their bounds."""
        counts = msgspec.structs.asdict(self)
        return {name: count for name, count in counts.items() if count > getattr(bound, name)}


def least(counts: Sequence[Counted]) -> Counted:
    """The smallest of each: in the others things are loaded, or what other threads did came apart."""
    return Counted(*(min(column) for column in zip(*map(msgspec.structs.astuple, counts), strict=True)))


class _Here(Executor):
    """The thread for heavy work, which is this one."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        """Do it now."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **more))
        return done


@contextmanager
def counting() -> Iterator[Counted]:
    """Within: everything is counted."""
    loop = asyncio.get_running_loop()
    counted, codes = Counted(), Counter[CodeType]()
    hand_back, resolve = loop.call_soon_threadsafe, store._resolve

    within: list[FrameType] = []  # the SDK's frame that was called first, while it is open

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            codes[frame.f_code] += 1
            if not within and _SDK in frame.f_code.co_filename:
                within.append(frame)
            counted.sdk += len(within)
        elif event == "return" and within and frame is within[0]:
            within.clear()

    def begin(loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> Any:
        counted.tasks += 1
        return asyncio.Task(work, loop=loop, **more)

    def handed_back(*args: Any, **more: Any) -> Any:
        counted.jobs += args[0] is not resolved
        return hand_back(*args, **more)

    def resolved(outcomes: Any) -> None:
        counted.jobs += 1
        resolve(outcomes)

    loop.set_task_factory(begin)
    heavy = patch.object(concurrency, "_thread", _Here)
    stored = patch.object(store, "_resolve", resolved)
    with heavy, stored, patch.object(loop, "call_soon_threadsafe", handed_back):
        sys.setprofile(note)
        try:
            yield counted
        finally:
            sys.setprofile(None)
            loop.set_task_factory(None)
    for code, number in codes.items():
        counted.calls += number
        counted.ours += number * _is_ours(code)


def _is_ours(code: CodeType) -> bool:
    return "/agui_gate" in code.co_filename.replace("\\", "/")


@contextmanager
def answered(deltas: int) -> Iterator[None]:
    """Within: the clients that adapters make are answered as the benchmark's provider answers. In what is started here
    nothing is done now and then (the heart's beats, the outbox): the count of that says how long a run took.
    """
    body = b"".join(provider.frames(deltas))
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=_HEADERS, content=body))
    seldom = {"LOOK_SECONDS": _HOUR, "GATHER_SECONDS": _HOUR, "LONGEST": _HOUR}
    with (
        patch.object(adapter_transport, "new_carrier", lambda limits: transport),
        patch.object(heartbeat, "STOP_MS", _HOUR * 1000),
        patch.dict(vars(outbox), seldom),
    ):
        yield
