"""Tests about people run over every store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FullStore]:
    """A store that is not open."""
    made: FullStore
    if request.param == "memory":
        made = MemoryStore()
    elif request.param == "sqlite":
        made = SQLiteStore(str(tmp_path / "store.db"))
    else:
        made = PostgresStore(request.getfixturevalue("tables"))
    yield made
    await made.aclose()
