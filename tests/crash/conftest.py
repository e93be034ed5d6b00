"""What the tests that kill processes share."""

from collections.abc import Iterator

import pytest

from tests.crash.nursery import Nursery, nursery


@pytest.fixture(scope="session")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Where replicas come from. It is empty after each test."""
    with nursery(tmp_path_factory.mktemp("replicas") / "log") as found:
        yield found
