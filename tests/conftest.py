"""What every test shares: the event loop's backend."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run `anyio` tests on asyncio, the loop that the server runs on."""
    return "asyncio"
