"""Heavy requests don't keep others waiting (T15). The figures: `python -m tests.bench.stalls`."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from tests.bench import asking
from tests.bench.heart import GOAL, Heartbeat, slower
from tests.bench.stalls import SCENARIOS, Scenario, measure
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T15")]

MARGIN = 2.0
"""How much slower than `slower` says all may be, where a machine has other things to do."""


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with asking.provider() as url:
        yield url


async def check(measured: Callable[[], Awaitable[Heartbeat]], what: str) -> None:
    """Counted in what this process works while the loop is held up; the best of three."""
    worst = []
    for _ in range(3):
        worst.append(max((await measured()).work))
        if worst[-1] < GOAL:
            break
    limit = GOAL * MARGIN * slower()
    assert min(worst) < limit, f"{what}: {worst}, of {limit:.3f} s"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_heavy_input_does_not_stall_others(scenario: Scenario) -> None:
    await check(lambda: measure(scenario), scenario.__doc__ or "")


def cases() -> Iterator[Any]:
    """Every case in every way; of the modes of one adapter by turns only one, but for `--every`."""
    modes = ("chain", "stateless", "conversation")
    for turn, case in enumerate(asking.CASES):
        for way in asking.WAYS:
            marks = pytest.mark.spare if way in modes and way != modes[turn % len(modes)] else ()
            yield pytest.param(case, way, id=f"{case.__name__}-{way}", marks=marks)


@pytest.mark.parametrize(("case", "way"), [*cases()])
async def test_heavy_requests_to_a_provider_do_not_stall_others(case: asking.Case, way: str, provider: str) -> None:
    await check(lambda: asking.measure(way, case, provider), f"{way}: {case.__doc__}")
