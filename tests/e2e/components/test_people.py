"""What people do who decide together, on each page, in each look, by the keyboard: `people.test.mjs` has the cases."""

import asyncio

import pytest

from tests.e2e.components.node_tests import run_cases
from tests.e2e.components.people import people_app
from tests.product.kit import running
from tests.requirements import shows

SECONDS = 480.0


@shows("T6")
@pytest.mark.anyio
async def test_people_decide_by_the_keyboard() -> None:
    async with running(people_app()) as url, asyncio.timeout(SECONDS):
        await run_cases(url, "people.test.mjs")
