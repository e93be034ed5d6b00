"""What the tests that kill processes share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.ground import Ground, on_postgres, on_sqlite
from tests.crash.nursery import Nursery, nursery


@pytest.fixture(scope="session")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Where replicas come from. It is empty after each test."""
    with nursery(tmp_path_factory.mktemp("replicas") / "log") as found:
        yield found


@pytest.fixture
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    """A store that is new, by its kind."""
    if request.param == "sqlite":
        return on_sqlite(tmp_path)
    return on_postgres(request.getfixturevalue("postgres"), request.getfixturevalue("database"))
