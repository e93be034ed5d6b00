"""Many people answer at once, at four replicas: each call is decided once, and everybody is told the same.

`make chaos` does it with more of them.
"""

import asyncio
from pathlib import Path

import pytest

from tests.crash.crowd import ENDS, Crowd, approve_all, everything_at_once
from tests.crash.ground import Ground
from tests.crash.nursery import Nursery
from tests.crash.trail import trail
from tests.crash.world import dumped, world
from tests.product.kit import TIMEOUT
from tests.requirements import shows

pytestmark = [
    pytest.mark.anyio,
    shows("B6", "B18"),
    pytest.mark.parametrize("ground", ["sqlite", "postgres"], indirect=True),
]

REPLICAS = 4


async def test_each_call_runs_once_however_often_approved(replicas: Nursery, ground: Ground, tmp_path: Path) -> None:
    async with world(replicas, tmp_path, ground, {}) as found:
        crowd = Crowd(found, [found.replica() for _ in range(REPLICAS)], seed=1)
        async with asyncio.timeout(6 * TIMEOUT):
            done = await approve_all(crowd, 20, each=20)
        assert not done.broken, dumped(done.broken, found)
        assert (done.attempts, done.executions) == (400, 20)
        assert found.emulator.refusals == []
    assert (await trail(ground.url, crowd.states)).broken == []


async def test_one_of_many_answers_is_what_came_of_it(replicas: Nursery, ground: Ground, tmp_path: Path) -> None:
    async with world(replicas, tmp_path, ground, {}) as found:
        crowd = Crowd(found, [found.replica() for _ in range(REPLICAS)], seed=2)
        async with asyncio.timeout(6 * TIMEOUT):
            done = await everything_at_once(crowd, 60)
        assert not done.broken, dumped(done.broken, found)
        assert (sum(done.ends.values()), done.ends.keys() <= ENDS) == (60, True)
        assert found.emulator.refusals == []
    assert (await trail(ground.url, crowd.states)).broken == []
