"""Every test of the contract runs over every bus."""

from collections.abc import AsyncIterator, Callable

import pytest

from agui_gate.bus.base import Bus
from agui_gate.bus.memory import MemoryBus
from tests.bus.distant import DistantBus
from tests.bus.wire_in_memory import across, shared

RUN_BYTES = 4096
"""How much of a run these buses keep, about."""


def memory() -> tuple[Bus, Bus]:
    bus = MemoryBus(run_bytes=RUN_BYTES)
    return bus, bus


def distant() -> tuple[Bus, Bus]:
    bus = DistantBus(run_bytes=RUN_BYTES)
    return bus, DistantBus(bus.there)


BUSES: dict[str, Callable[[], tuple[Bus, Bus]]] = {
    "memory": memory,
    "distant": distant,
    "shared": lambda: shared(RUN_BYTES),
    "across": lambda: across(shared(RUN_BYTES)),
}
"""Two of each that lead to the same place."""


@pytest.fixture(params=BUSES)
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Bus, Bus]]:
    """The buses of two replicas, not started."""
    made = BUSES[request.param]()
    yield made
    for bus in made:
        await bus.aclose()


@pytest.fixture
async def bus(replicas: tuple[Bus, Bus]) -> Bus:
    """That of one."""
    bus, _ = replicas
    await bus.start()
    return bus
