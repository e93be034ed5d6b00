"""Every test of the contract runs over every bus."""

from collections.abc import AsyncIterator, Callable

import pytest

from agui_gate.bus.base import Bus
from agui_gate.bus.memory import MemoryBus
from agui_gate.bus.postgres import PostgresWire
from agui_gate.bus.redis import RedisWire
from agui_gate.bus.replicas import bus as shared_bus
from agui_gate.bus.replicas.bus import SharedBus
from tests.bus.distant import DistantBus
from tests.bus.wire_in_memory import Place, WireInMemory, across, shared

RUN_BYTES = 4096
"""How much of a run these buses keep, about."""


def memory() -> tuple[Bus, Bus]:
    bus = MemoryBus(run_bytes=RUN_BYTES)
    return bus, bus


def distant() -> tuple[Bus, Bus]:
    bus = DistantBus(run_bytes=RUN_BYTES)
    return bus, DistantBus(bus.there)


def redis(request: pytest.FixtureRequest) -> tuple[SharedBus, SharedBus]:
    url = request.getfixturevalue("valkey").url
    here, there = (SharedBus(RedisWire(url, 300.0), run_bytes=RUN_BYTES) for _ in range(2))
    return here, there


def postgres(request: pytest.FixtureRequest) -> tuple[SharedBus, SharedBus]:
    url = request.getfixturevalue("tables")
    here, there = (SharedBus(PostgresWire(url, 300.0), run_bytes=RUN_BYTES) for _ in range(2))
    return here, there


BUSES: dict[str, Callable[[pytest.FixtureRequest], tuple[Bus, Bus]]] = {
    "memory": lambda _: memory(),
    "distant": lambda _: distant(),
    "shared": lambda _: shared(RUN_BYTES),
    "across": lambda _: across(shared(RUN_BYTES)),
    "redis": redis,
    "redis across": lambda request: across(redis(request)),
    "postgres": postgres,
    "postgres across": lambda request: across(postgres(request)),
}
"""Two of each that lead to the same place."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine has time to answer. Who asks for what nobody knows waits for all of it."""
    for name in ("ASK_SECONDS", "UNKNOWN_SECONDS", "CALL_SECONDS"):
        monkeypatch.setattr(shared_bus, name, 30.0)


@pytest.fixture(params=BUSES)
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Bus, Bus]]:
    """The buses of two replicas, not started."""
    made = BUSES[request.param](request)
    yield made
    for bus in made:
        await bus.aclose()


@pytest.fixture
async def bus(replicas: tuple[Bus, Bus]) -> Bus:
    """That of one."""
    bus, _ = replicas
    await bus.start()
    return bus


# --- two replicas over a wire in memory


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
async def here(place: Place) -> AsyncIterator[SharedBus]:
    """The bus of the replica on which the tests' runs run."""
    bus = SharedBus(WireInMemory(place), run_bytes=RUN_BYTES)
    await bus.start()
    yield bus
    await bus.aclose()


@pytest.fixture
async def there(place: Place) -> AsyncIterator[SharedBus]:
    """That of another replica, which reads them."""
    bus = SharedBus(WireInMemory(place), run_bytes=RUN_BYTES)
    await bus.start()
    yield bus
    await bus.aclose()
