"""What every test shares: the loop's backend, hypothesis made repeatable, and interop tests where there is no Node."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.interop.replay import unavailable

# The same examples every time, and no deadline: a busy machine must not decide (--hypothesis-profile=default explores).
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

LEFT_OUT = pytest.StashKey[str]()
REPLAYS = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run `anyio` tests on asyncio, the loop that the server runs on."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _every_stream_is_accepted(request: pytest.FixtureRequest) -> Iterator[None]:
    """In a session that has interop tests, what all its tests have streamed is replayed to the real clients in the end.

    (As an error at the teardown of the last test: only then is all of it there.)
    """
    yield
    if request.config.stash.get(REPLAYS, False):
        from tests.interop.recorded import assert_all_accepted

        assert_all_accepted()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the interop tests out where the clients can't run, and say so; in CI they stay in and fail."""
    interop = [item for item in items if item.get_closest_marker("interop")]
    if not interop or os.environ.get("CI") == "true" or not (reason := unavailable()):
        config.stash[REPLAYS] = bool(interop)
        return
    config.hook.pytest_deselected(items=interop)
    items[:] = [item for item in items if item not in interop]
    config.stash[LEFT_OUT] = f"{len(interop)} interop tests left out: {reason}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which tests were left out and why."""
    if reason := config.stash.get(LEFT_OUT, None):
        terminalreporter.write_line(reason, yellow=True)
