"""What is measured of runs that belong together: their first events, histories, earlier runs, gated cycles.

Figures are of our server and the proxy in turns, as in `scenarios.py`. A known thread and a gated cycle are ours alone:
the proxy keeps nothing, so it is asked the same with each run.
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from statistics import median

import msgspec

from tests.bench.checking import WrongStream, approval_id, check_run, read
from tests.bench.client import Connection
from tests.bench.report import Row, compared, grown
from tests.bench.scenarios import Contest, connect, connected
from tests.bench.work import encoded_history, resume_request, run_request, thread_request

HISTORIES = {100: (1.3, 1.6), 1000: (1.5, 2.5), 5000: (2.0, 3.5)}
"""Messages that a client sends along, and the goals where the server knows their thread, and where it doesn't."""

EARLIER_RUNS = 1000
WARM = 3
"""Runs or cycles before the clock starts."""

STREAMS = (50, 100, 150, 200, 250, 300, 375, 450, 550, 650, 800, 950, 1150, 1400)
"""Streams at once, at 50 deltas a second each. More than that is more than the client and the provider take."""

_numbers = count(10**6)


class Timed(Connection):
    """A connection that notes when the first parts with these signs came."""

    SIGNS = (b"RUN_STARTED", b"_CONTENT")

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[bytes, float] = {}

    def data_received(self, data: bytes) -> None:
        """Notes the time, and goes on."""
        for sign in self.SIGNS:
            if sign not in self.times and sign in data:
                self.times[sign] = time.perf_counter()
        super().data_received(data)


async def first_events(contest: Contest) -> list[Row]:
    """Wall time from a request to its first event and to its first text, on one connection: the median of 100 runs."""

    async def one(kind: str) -> list[float]:
        found: list[list[float]] = []
        connection = await Timed.to(contest.servers[kind].port)
        with connected([connection]):
            for _ in range(100):
                connection.times.clear()
                begun = time.perf_counter()
                check_run(await connection.run(run_request(2)), 2)
                found.append([connection.times[sign] - begun for sign in Timed.SIGNS])
        return [median(column) * 1e3 for column in zip(*found, strict=True)]

    ours, proxy = (list(zip(*rounds, strict=True)) for rounds in await contest.rounds(one))
    return [
        compared("until the first event", "ms", ours[0], proxy[0], goal=2.0),
        compared("until the first text", "ms", ours[1], proxy[1], goal=1.6),
    ]


async def histories(contest: Contest) -> list[Row]:
    """CPU of a run whose client sends earlier messages along, on a thread that is new, and on one that is known."""
    rows = []
    for messages, (known_goal, new_goal) in HISTORIES.items():
        earlier, what = encoded_history(messages), f"a run after {messages:,} messages"
        new, proxy = await contest.rounds(_unknown(contest, earlier))
        known = [await _known(contest, earlier) for _ in range(contest.effort.rounds)]
        rows += [
            compared(f"{what}, thread unknown", "ms", new, proxy, goal=new_goal),
            compared(f"{what}, thread known", "ms", known, proxy, goal=known_goal),
        ]
    return rows


def _unknown(contest: Contest, earlier: bytes) -> Callable[[str], Awaitable[float]]:
    async def one(kind: str) -> float:
        return 1e3 * await contest.runs(kind, streams=1, deltas=2, earlier=earlier)

    return one


async def _known(contest: Contest, earlier: bytes) -> float:
    """Milliseconds of a run whose client sends back what it sent before, and the answers it got."""
    thread, sent = b"known-%d" % next(_numbers), earlier
    server = contest.servers["ours"]
    with connected(await connect(server.port, 1)) as (connection,):
        before = 0.0
        for number in range(WARM + 8):
            if number == WARM:
                before = server.cpu()
            response = await connection.run(thread_request(thread, number, 2, earlier=sent))
            check_run(response, 2)
            sent += said(response, number)
        return (server.cpu() - before) / 8 * 1e3


def said(response: bytes, number: int) -> bytes:
    """Returns the messages that a client adds after a run: its own, and the answer."""
    events = [event for event in read(response) if event["type"].startswith("TEXT_MESSAGE_")]
    text = "".join(event.get("delta", "") for event in events)
    mine = {"id": f"m{number}", "role": "user", "content": "bench deltas=2 rate=0"}
    answer = {"id": events[0]["messageId"], "role": "assistant", "content": text}
    return b"".join(msgspec.json.encode(message) + b"," for message in (mine, answer))


async def earlier_runs(contest: Contest) -> list[Row]:
    """CPU of a run on a thread that had many before, whose client sends the new message alone."""
    server, name = contest.servers["ours"], b"old-%d" % next(_numbers)

    async def several(connection: Connection, threads: Iterator[bytes], runs: int) -> float:
        before = server.cpu()
        for _ in range(runs):
            check_run(await connection.run(thread_request(next(threads), next(_numbers), 2)), 2)
        return (server.cpu() - before) / runs * 1e3

    with connected(await connect(server.port, 1)) as (connection,):
        await several(connection, iter(lambda: name, None), EARLIER_RUNS)
        new, old = [], []
        for _ in range(contest.effort.rounds):
            new.append(await several(connection, iter(lambda: b"new-%d" % next(_numbers), None), 100))
            old.append(await several(connection, iter(lambda: name, None), 100))
    note, what = "× one with none", f"a run on a thread with {EARLIER_RUNS:,} earlier runs"
    return [Row(what=what, unit="ms", ours=min(old), ratio=min(old) / min(new), goal=1.3, note=note)]


async def gated_cycles(contest: Contest) -> list[Row]:
    """CPU of a gated cycle, against a run of two deltas: a call is asked about, answered, run, and told of."""
    short = [await contest.short_run("ours") for _ in range(contest.effort.rounds)]
    cycle = [await gated_cycle(contest, "ours") for _ in range(contest.effort.rounds)]
    ratio = min(cycle) / min(short)
    return [Row(what="a gated cycle", unit="ms", ours=min(cycle), ratio=ratio, goal=2.5, note="× a run of 2 deltas")]


async def gated_cycle(contest: Contest, kind: str, cycles: int = 60) -> float:
    """Milliseconds of CPU of one cycle. Raises `WrongStream`."""
    server = contest.servers[kind]
    with connected(await connect(server.port, 1)) as (connection,):
        for _ in range(WARM):
            await _one_cycle(connection)
        before = server.cpu()
        for _ in range(cycles):
            await _one_cycle(connection)
        return (server.cpu() - before) / cycles * 1e3


async def _one_cycle(connection: Connection) -> None:
    number = next(_numbers)
    thread = b"gated-%d" % number
    asked = await connection.run(thread_request(thread, number, 2, call=True))
    told = await connection.run(resume_request(thread, number, approval_id(asked)))
    events = read(told)
    results = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    if events[-1]["type"] != "RUN_FINISHED" or [result["content"] for result in results] != ["49.5 for order-1"]:
        raise WrongStream("the call did not run")


async def sustained_streams(contest: Contest) -> list[Row]:
    """Streams at 50 deltas a second until one is first held up for more than 50 ms."""
    found = {kind: await _sustained(contest, kind) for kind in ("proxy", "ours")}
    what = "streams at 50 deltas a second without a stall"
    return [Row(what=what, unit="", ours=found["ours"], proxy=found["proxy"], note="more is better")]


async def _sustained(contest: Contest, kind: str) -> int:
    """Returns the largest of `STREAMS` of which no delta came later than 50 ms in a window."""
    kept = 0
    for streams in STREAMS:
        if not await contest.keeps_up(kind, streams=streams, rate=50, milliseconds=50):
            break
        kept = streams
    return kept


async def stores(contest: Contest) -> list[Row]:
    """What a run and a gated cycle cost on other stores, against the same on SQLite."""
    rows = await contest.stores()

    async def one(kind: str) -> float:
        return await gated_cycle(contest, kind)

    file, other = await contest.rounds(one, other="postgres")
    return [*rows, grown("a gated cycle on PostgreSQL", "ms", other, file, 1.5, "× SQLite")]
