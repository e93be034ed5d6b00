"""What is measured without sockets: the pure parts alone, in this process, each the best of some repeats."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing
from functools import partial
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import uvloop

from agui_gate import PendingApprovalRegistry
from agui_gate.bus.base import Reader
from agui_gate.bus.log import EventLog, LogReader
from agui_gate.core.sanitizer import sanitize
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.sse import FrameEncoder, SSESplitter
from agui_gate.core.transcript import Entry
from agui_gate.extras.inbox.feed import LOOK_SECONDS, Inbox, Waiting
from agui_gate.protocol.dialects.v0 import V0Shapes
from agui_gate.protocol.request_decoder import decode
from agui_gate.stores.sqlite.store import SQLiteStore
from agui_gate.threads.reconciliation import import_history
from agui_gate.turns.turn_recorder import TurnRecorder
from agui_gate_adapters.openai_responses.machine import ResponseMachine
from tests.bench import provider
from tests.bench.report import Row
from tests.bench.work import encoded_history

PENDING = 10_000
REPEATS = 5


def best(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """CPU seconds of the quickest of some calls."""

    def once() -> float:
        before = time.process_time()
        work()
        return time.process_time() - before

    return min(once() for _ in range(repeats))


def sanitizing() -> list[Row]:
    """Settle a history of 5,000 messages, 1,000 of them calls with results."""
    small, large = entries(1000), entries(5000)
    quick, slow = (best(partial(sanitize, said, {})) * 1e3 for said in (small, large))
    return [
        Row(what="sanitize 5,000 messages", unit="ms", ours=slow, goal=50),
        Row(what="sanitizing, linear", unit="ms", ours=slow, ratio=slow / quick, goal=7, note="× 1,000 messages"),
    ]


def entries(messages: int) -> Sequence[Entry]:
    """A client's history as it is imported."""
    body = b'{"threadId":"t","runId":"r","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[%b]}'
    run = decode(body % encoded_history(messages)[:-1])
    ids = count()
    return import_history(run.messages, lambda: f"id-{next(ids)}").entries


def registering() -> list[Row]:
    """Register 10,000 pending approvals, each under two keys; consume each by one of them."""
    register, consume = zip(*(registry_times() for _ in range(REPEATS)), strict=True)
    return [
        Row(what="register an approval, 10,000 pending", unit="µs", ours=min(register) * 1e6, goal=20),
        Row(what="consume an approval, 10,000 pending", unit="µs", ours=min(consume) * 1e6, goal=20),
    ]


def registry_times(pending: int = PENDING) -> tuple[float, float]:
    """CPU seconds per `register` with up to ``pending`` entries there, and per `consume` of each."""
    arguments = {"order": "order-1", "amount": 49.5, "reason": "arrived broken"}
    written = msgspec.json.encode(arguments).decode()
    registry = PendingApprovalRegistry(pending)
    start = time.process_time()
    for number in range(pending):
        registry.register((f"thread-1:{number}", f"conversation-1:{number}"), "refund", arguments)
    middle = time.process_time()
    statuses = {registry.consume(f"conversation-1:{number}", "refund", written).status for number in range(pending)}
    end = time.process_time()
    assert statuses == {"ok"}
    return (middle - start) / pending, (end - middle) / pending


def importing() -> list[Row]:
    """Import the package in a fresh interpreter."""
    program = "import time; start = time.perf_counter(); import agui_gate; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", program]
    seconds = [float(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout) for _ in range(4)]
    return [Row(what="import agui_gate", unit="ms", ours=min(seconds) * 1e3, goal=300)]


def parts() -> list[Row]:
    """The pure parts that a text delta passes: bytes to model events, and those to frames."""
    parsed, written = delta_seconds()
    return [
        Row(what="parse a delta", unit="µs", ours=parsed * 1e6, note="splitter, machine"),
        Row(what="write a delta", unit="µs", ours=written * 1e6, note="recorder, sequencer, encoder"),
    ]


def delta_seconds(deltas: int = 4800) -> tuple[float, float]:
    """CPU seconds per delta, of reading and of writing."""
    frames = provider.frames(deltas)
    chunks = [b"".join(frames[i : i + provider.BURST]) for i in range(0, len(frames), provider.BURST)]
    batches = _parsed(chunks)
    assert _written(batches) > deltas
    return best(lambda: _parsed(chunks)) / deltas, best(lambda: _written(batches)) / deltas


def fanning_out() -> list[Row]:
    """What one more reader of a run costs for each delta that arrives alone, up to the bytes it would send."""
    with ThreadPoolExecutor(1) as beside:  # a loop runs in this thread already
        seconds = beside.submit(reader_seconds).result()
    return [Row(what="a wake-up of a second reader", unit="µs", ours=seconds * 1e6, goal=3, note="without its socket")]


def reader_seconds(deltas: int = 2000, more: int = 10) -> float:
    """CPU seconds per delta and reader, of those after the first."""
    frame = b"id: run_0123456789abcdef:1234\ndata: %b\n\n" % (b"x" * 110)

    async def read(readers: int) -> None:
        log = EventLog()
        tasks = [asyncio.ensure_future(_drained(LogReader(log))) for _ in range(readers)]
        for _ in range(deltas):
            await asyncio.sleep(0)
            log.append(frame)
        log.end()
        assert set(await asyncio.gather(*tasks)) == {deltas * len(frame)}

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:

        def drained(readers: int) -> None:
            runner.run(read(readers))

        alone, together = (best(partial(drained, count), 3 * REPEATS) for count in (1, 1 + more))
    return max(0.0, together - alone) / deltas / more


def watching(watchers: int = 1000) -> list[Row]:
    """Jobs of the store a second while so many principals watch their approvals, and nothing happens."""
    with ThreadPoolExecutor(1) as beside:
        jobs = beside.submit(asyncio.run, _jobs_of_a_look(watchers)).result()
    return [Row(what=f"store jobs a second, {watchers:,} idle watchers", unit="", ours=jobs / LOOK_SECONDS, goal=2)]


async def _jobs_of_a_look(watchers: int) -> int:
    with TemporaryDirectory(prefix="agui-gate-bench-") as folder:
        store, names = SQLiteStore(f"{folder}/bench.db"), [f"user-{number}" for number in range(watchers)]
        await store.start()
        jobs, do = 0, store._do

        async def counted(kind: Any, operation: Any) -> Any:
            nonlocal jobs
            jobs += 1
            return await do(kind, operation)

        inbox = Inbox(store)
        async with AsyncExitStack() as open_streams:
            for name in names:
                stream = await open_streams.enter_async_context(aclosing(inbox.watch(name)))
                while not isinstance(await anext(stream), Waiting):
                    pass
            store._do = counted  # type: ignore[assignment, method-assign]
            await inbox._look(names)
        await store.aclose()
    return jobs


async def _drained(reader: Reader) -> int:
    read = 0
    while data := await reader.read():
        read += len(data)
    return read


def _parsed(chunks: Sequence[bytes]) -> list[Any]:
    splitter, machine = SSESplitter(), ResponseMachine("bench", lambda response_id: None)
    return [machine.feed(splitter.feed(chunk)) for chunk in chunks]


def _written(batches: Sequence[Any]) -> int:
    encoder, ids, frames = FrameEncoder("run"), count(), list[bytes]()
    sequencer = Sequencer("thread", "run", lambda event: frames.append(encoder.frame(event)), V0Shapes())
    sequencer.started()
    recorder = TurnRecorder(sequencer, lambda: f"id-{next(ids)}", lambda call_id: True, "bench")
    for batch in batches:
        recorder.feed(batch)
    recorder.entry()
    sequencer.finish()
    return len(frames)
