"""Replicas are killed at random moments while customers are served. `make chaos` does it a hundred times."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.chaos.storm import Storm, business, items
from tests.crash.ground import Ground
from tests.crash.nursery import Nursery
from tests.crash.trail import trail
from tests.crash.world import dumped, script, world
from tests.product.kit import TIMEOUT
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B5", "B6", "B9")]

KILLS = 8


@pytest.mark.parametrize("ground", ["sqlite"], indirect=True)
async def test_everybody_is_served_whoever_is_killed(replicas: Nursery, ground: Ground, tmp_path: Path) -> None:
    chance = random.Random(3)
    asks = business(40, chance)
    async with world(replicas, tmp_path, ground, {}) as found, asyncio.timeout(6 * TIMEOUT):
        found.emulator.load(script(items(asks)))
        storm = Storm(found, ground, asks, chance)
        for _ in range(3):
            storm.start()
        await storm.rage(KILLS, lambda _: None)
        came = await storm.calm()
        assert not came.broken, dumped(came.broken, found)
        assert (came.kills, came.executions > 0) == (KILLS, True)
        assert (await trail(ground.url, storm.states)).broken == []
