"""A server is killed at each of its failpoints. Another one goes on, and every promise is kept.

What ran is counted in a file, and what was told is remembered by the customer (`world`, `customer`). A command is
killed, too, and done again.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import PROGRAM, call, program_killed
from tests.crash.ground import Ground
from tests.crash.nursery import Nursery
from tests.crash.scenes import ORDERS, SCENES, Scene, Street, fusing, shopping
from tests.crash.trail import trail
from tests.crash.world import World, dumped, world
from tests.product import drill
from tests.product.kit import TIMEOUT
from tests.requirements import shows
from tests.support.failpoints import EVERY, Failpoint, Place

pytestmark = [pytest.mark.anyio, shows("B5", "B9")]

stores = pytest.mark.parametrize("ground", ["sqlite", "postgres"], indirect=True)

OF_A_RESTORE = [point for point in EVERY if point.place is Place.EPOCH]
OF_A_FREEZE = [point for point in EVERY if point.place is Place.FREEZE]
OF_A_REVOKE = [point for point in EVERY if point.place is Place.REVOKE]
POINTS = [point for point in EVERY if point not in (*OF_A_RESTORE, *OF_A_FREEZE, *OF_A_REVOKE)]
ONCE = SCENES.keys() | {Place.SAVE, Place.PASS, Place.CLOSE}
"""What `shopping` does not come to a second time."""
AGAIN = [Failpoint(point.side, point.place, 2) for point in POINTS if point.place not in ONCE]


@pytest.fixture
async def city(replicas: Nursery, ground: Ground, tmp_path: Path) -> AsyncIterator[World]:
    async with world(replicas, tmp_path, ground, ORDERS) as found:
        yield found


async def walk(found: World, ground: Ground, scene: Scene, **first: Any) -> None:
    """Play a scene whose first replica dies in it; then say one thing more, and look whether all promises are kept."""
    async with asyncio.timeout(6 * TIMEOUT):
        street = Street(found, ground, **first)
        customer = await scene(street)
        customer.url = await street.follow()
        await customer.settled()
        done = await customer.orders("thanks")
        assert (done[-1]["type"], done.text) == ("RUN_FINISHED", "Done.")
    broken = await found.broken([customer])
    broken += (await trail(ground.url, {record["id"]: record["state"] for record in await customer.records()})).broken
    assert not broken, dumped(broken, found)
    assert found.passed_on() <= 1


def cases() -> list[object]:
    """Each point on SQLite. On PostgreSQL each place before it or after it, by turns; the rest is left to `--every`."""
    places = list(dict.fromkeys(point.place for point in POINTS))
    on_sqlite: list[object] = [("sqlite", point) for point in (*POINTS, *AGAIN)]
    return on_sqlite + [
        pytest.param("postgres", point, marks=() if point.side == side else pytest.mark.spare)
        for point in POINTS
        for side in [("before", "after")[places.index(point.place) % 2]]
    ]


@pytest.mark.parametrize(("ground", "point"), cases(), ids=str, indirect=["ground"])
async def test_killed_at_a_failpoint(city: World, ground: Ground, point: Failpoint) -> None:
    first = {"failpoint": str(point), "forgets": int(point.place is Place.SWEEP)}
    await walk(city, ground, SCENES.get(point.place, shopping), **first)


@stores
async def test_killed_in_the_middle_of_a_tool(city: World, ground: Ground) -> None:
    await walk(city, ground, fusing, fused=True)
    assert [(effect.tool, effect.order) for effect in city.ran()] == [("fuse", "D1")]


@stores
async def test_a_customer_whose_servers_live_gets_everything(city: World, ground: Ground) -> None:
    """What the others are measured by: each order took effect once."""
    customer = await shopping(Street(city, ground))
    assert sorted(effect.order for effect in city.ran()) == ["A1", "A2", "B1"]
    assert await city.broken([customer]) == []
    assert {record["state"] for record in await customer.records()} == {"done", "rejected"}
    assert city.passed_on() == 1


@pytest.mark.parametrize("point", OF_A_RESTORE, ids=str)
@pytest.mark.parametrize("kind", drill.KINDS)
async def test_a_restore_that_is_killed_is_begun_again(
    kind: str, point: Failpoint, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """It says what it did the second time: another epoch, if the first had begun. Nothing of before is carried out."""

    killed_there = program_killed(str(point))

    def begin(url: str) -> str:
        command = ("migrate", "--restored", "--store", url)
        killed = call(tmp_path, *command, command=killed_there)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert "has begun" not in killed.stdout
        done = call(tmp_path, *command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with drill.at(kind, request, tmp_path) as place:
        begun = await drill.what_ran_since_does_not_run_again(place, begin)
    assert f"Epoch {2 if point.side == 'before' else 3} has begun. Of what waited, asked again: 1." in begun


@stores
@pytest.mark.parametrize("point", OF_A_FREEZE, ids=str)
def test_a_freeze_that_is_killed_is_there_or_not_and_can_be_made_again(
    ground: Ground, point: Failpoint, tmp_path: Path
) -> None:
    """And so can its end."""
    assert call(tmp_path, "migrate", "--store", ground.url).returncode == 0

    def freeze(*more: str, command: str = PROGRAM) -> tuple[int, bool]:
        done = call(tmp_path, "freeze", *more, "--store", ground.url, command=command)
        return done.returncode, "all gated calls" in done.stdout

    killed_there, took_effect = program_killed(str(point)), point.side == "after"
    assert freeze(command=killed_there) == (-signal.SIGKILL, False)
    assert freeze("--list") == (0, took_effect)
    assert freeze() == (0, True)
    assert freeze("--lift", command=killed_there) == (-signal.SIGKILL, False)
    assert freeze("--list") == (0, not took_effect)
    assert freeze("--lift")[1] is False
    assert freeze("--list") == (0, False)
