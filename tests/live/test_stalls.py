"""Heavy requests don't keep others waiting (issue 9, line 15). The figures: `python -m tests.bench.stalls`."""

import pytest

from tests.bench.stalls import GOAL, SCENARIOS, Scenario, measure
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T15")]

MARGIN = 2.0
"""How much slower a machine may be that has other things to do."""


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_heavy_input_does_not_stall_others(scenario: Scenario) -> None:
    """Counted in what this process works while the loop is held up; the best of three."""
    worst = []
    for _ in range(3):
        worst.append(max((await measure(scenario)).work))
        if worst[-1] < GOAL:
            break
    assert min(worst) < GOAL * MARGIN, f"{scenario.__doc__}: {worst}"
