"""What a second reader of a run costs our server, its socket included: the same runs with and without it, in turns.

A read from the provider is one send to each reader, whatever it holds; so the cost of a delta depends on how many
arrive together. With each delta alone it is about the price of the system's send, which no server can avoid.
"""

import asyncio
from collections.abc import Awaitable, Callable

from tests.bench.checking import check_run
from tests.bench.report import Row
from tests.bench.scenarios import Contest, connect, connected
from tests.bench.work import follow_request, run_request

DELTAS = 20_000
MANY, SOME = 11, 4
"""Readers of a run, in bursts and paced; what ten of them add is more than what rounds differ by."""


async def fan_out(contest: Contest) -> list[Row]:
    """CPU per delta and reader, of those after the first."""

    async def bursts(readers: int) -> float:
        return await long_run(contest, readers)

    async def paced(readers: int) -> float:
        return await contest.trickle("ours", readers)

    many, single = await _more(contest, bursts, MANY), await _more(contest, paced, SOME)
    return [
        Row(what="a delta to a second reader", unit="µs", ours=many, goal=3, note="in bursts"),
        Row(what="a delta that is alone to another reader", unit="µs", ours=single, note="a send of its own each"),
    ]


async def _more(contest: Contest, measure: Callable[[int], Awaitable[float]], many: int) -> float:
    """µs per delta of each reader after the first, from the best of rounds with one and of rounds with all."""
    figures: dict[int, list[float]] = {1: [], many: []}
    for _ in range(contest.effort.rounds):
        for readers, found in figures.items():
            found.append(await measure(readers))
    alone, together = map(min, figures.values())
    return max(0.0, together - alone) / (many - 1) * 1e6


async def long_run(contest: Contest, readers: int) -> float:
    """CPU seconds per delta of an answer of `DELTAS` that arrive as fast as they are read; all readers get it whole."""
    server = contest.servers["ours"]
    with connected(await connect(server.port, readers)) as connections:
        before = server.cpu()
        first, *others = connections
        answers = [asyncio.ensure_future(first.run(run_request(DELTAS)))]
        while not first.parts:  # noqa: ASYNC110  (another process does it, in a millisecond)
            await asyncio.sleep(0)
        answers += [asyncio.ensure_future(other.run(follow_request(first.run_key()))) for other in others]
        responses = await asyncio.gather(*answers)
        used = server.cpu() - before
    for response in responses:
        check_run(response, DELTAS)
    return used / DELTAS
