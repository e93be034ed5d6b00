"""The page of the inbox, `/inbox`, as people use it who decide: `inbox_page.test.mjs` has the cases."""

import asyncio

import pytest

from tests.e2e.components.node_tests import run_cases
from tests.e2e.components.people import people_app
from tests.product.kit import running
from tests.requirements import shows

SECONDS = 240.0


@shows("T6")
@pytest.mark.anyio
async def test_people_decide_in_the_inbox() -> None:
    async with running(people_app()) as url, asyncio.timeout(SECONDS):
        await run_cases(url, "inbox_page.test.mjs")
