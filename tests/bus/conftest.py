"""Every test of the contract runs over every bus."""

from collections.abc import AsyncIterator, Callable

import pytest

from agui_gate.bus.base import Bus
from agui_gate.bus.memory import MemoryBus
from tests.bus.distant import DistantBus

RUN_BYTES = 4096
"""How much of a run these buses keep, about."""

BUSES: dict[str, Callable[[], Bus]] = {
    "memory": lambda: MemoryBus(run_bytes=RUN_BYTES),
    "distant": lambda: DistantBus(run_bytes=RUN_BYTES),
}


@pytest.fixture(params=BUSES)
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    made = BUSES[request.param]()
    await made.start()
    yield made
    await made.aclose()
