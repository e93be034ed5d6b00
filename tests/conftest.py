"""What every test shares: the loop's backend, hypothesis made repeatable, and interop tests where there is no Node."""

import os

import pytest
from hypothesis import settings

from tests.interop.replay import unavailable

# The same examples every time, and no deadline: a busy machine must not decide (--hypothesis-profile=default explores).
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

LEFT_OUT = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run `anyio` tests on asyncio, the loop that the server runs on."""
    return "asyncio"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the interop tests out where the clients can't run, and say so; in CI they stay in and fail."""
    interop = [item for item in items if item.get_closest_marker("interop")]
    items.sort(key=lambda item: item in interop)  # last: they also replay what the other tests have streamed
    if not interop or os.environ.get("CI") == "true" or not (reason := unavailable()):
        return
    config.hook.pytest_deselected(items=interop)
    items[:] = [item for item in items if item not in interop]
    config.stash[LEFT_OUT] = f"{len(interop)} interop tests left out: {reason}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which tests were left out and why."""
    if reason := config.stash.get(LEFT_OUT, None):
        terminalreporter.write_line(reason, yellow=True)
