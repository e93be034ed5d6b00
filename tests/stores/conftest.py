"""Every test of the contract runs over every store; of one with more parameters, each case runs over one of them."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.stores.support import Clock
from tests.support.pairwise import of_folder, take_turns


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture
def place(request: pytest.FixtureRequest) -> str:
    """Where the `store` keeps what it has: a file, or a URL of PostgreSQL."""
    kind = request.node.callspec.params["store"]
    where: str = request.getfixturevalue("tables" if kind == "postgres" else "path")
    return where


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, clock: Clock) -> AsyncIterator[FullStore]:
    made = _STORES[request.param](request, clock)
    await made.start()
    yield made
    await made.aclose()


def _postgres(request: pytest.FixtureRequest, clock: Clock) -> FullStore:
    return PostgresStore(request.getfixturevalue("tables"), clock=clock)


def _sqlite(request: pytest.FixtureRequest, clock: Clock) -> FullStore:
    return SQLiteStore(request.getfixturevalue("path"), clock=clock)


_STORES: dict[str, Callable[[pytest.FixtureRequest, Clock], FullStore]] = {
    "memory": lambda request, clock: MemoryStore(clock=clock),
    "sqlite": _sqlite,
    "postgres": _postgres,
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `--every` what only another store tells from a case that runs."""
    apart = {"test_histories_of_the_model_come_out_the_same"}  # there, each store has histories of its own
    take_turns(item for item in of_folder(items, Path(__file__).parent) if item.originalname not in apart)
