"""The provider of the runbook's tests, and a deployment on a SQLite file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runbook.place import Place, provider


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the provider is."""
    with provider(tmp_path_factory.mktemp("provider")) as found:
        yield found


@pytest.fixture
def place(address: str, tmp_path: Path) -> Iterator[Place]:
    """A deployment on a SQLite file. In the end no process of it is left."""
    made = Place(tmp_path, f"sqlite:///{tmp_path}/gate.db", address)
    yield made
    made.close()
