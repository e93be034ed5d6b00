"""Every test of the contract runs over every store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agui_gate.stores.base import Store
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.stores.support import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, clock: Clock, path: str) -> AsyncIterator[Store]:
    made: Store = MemoryStore(clock=clock) if request.param == "memory" else SQLiteStore(path, clock=clock)
    await made.start()
    yield made
    await made.aclose()
