"""What every test shares: the loop's backend, hypothesis made repeatable, and interop tests where there is no Node."""

import asyncio
import gc
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from agui_gate.protocol import sent_messages
from agui_gate.runs.warm_up import frozen
from agui_gate.threads import leased_thread
from agui_gate_adapters.common import large_requests
from agui_gate_adapters.testkit.conformance.ground import LOOP
from tests.interop.replay import unavailable
from tests.support import certificates, chance, processes, signatures

if TYPE_CHECKING:
    from tests.support.servers import Postgres, Valkey  # imported where one is asked for: that takes a while

# Eight thousand collected tests are looked through each time: seldom is enough, and takes a tenth off the whole.
gc.set_threshold(100_000, 20, 50)

LEFT_OUT = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of ours."""
    processes.add_option(parser)
    parser.addoption(
        "--replay", action="store_true", help="replay every recorded stream to the real clients in the end"
    )
    parser.addoption("--explore", type=int, metavar="SEED", help="much at random instead of little that is repeatable")
    parser.addoption("--every", action="store_true", help="what is left out as spare, too: every way and every case")
    parser.addoption("--histories", action="store_true", help="replay every history of the model of the ledger")
    parser.addoption("--offsets", type=int, default=40, help="at how many moments a click is cut short (all: 200)")


def pytest_configure(config: pytest.Config) -> None:
    """Before any test is imported."""
    if most := config.getoption("numprocesses"):
        config.pluginmanager.register(processes.Processes(most))
    chance.begin(config.getoption("explore"))
    certificates.keep()
    leased_thread.CHECKED = large_requests.CHECKED = sent_messages.CHECKED = True
    if not config.getoption("every"):  # a trial of mutants has to make everything
        signatures.keep()


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Run `anyio` tests on uvloop, the loop that the server runs on."""
    return LOOP


@pytest.fixture(scope="session")
def _postgres() -> Iterator["Postgres"]:
    from tests.support.servers import Postgres

    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def postgres(_postgres: "Postgres") -> "Postgres":
    """PostgreSQL, running: the one of this process of the tests, also if a test before has stopped it."""
    _postgres.start()
    return _postgres


@pytest.fixture
def database(postgres: "Postgres") -> Iterator[str]:
    """The URL of a database of PostgreSQL that is empty."""
    name = postgres.take()
    yield postgres.url(name)
    postgres.start()
    postgres.give_back(name)


@pytest.fixture(scope="session")
def _tables(_postgres: "Postgres") -> Iterator[str]:
    from agui_gate.stores.postgres import PostgresStore

    async def make(url: str) -> None:
        store = PostgresStore(url)
        await store.start()
        await store.aclose()

    _postgres.start()
    name = _postgres.create()
    with ThreadPoolExecutor(1) as aside:  # the loop of the tests is this thread's
        aside.submit(asyncio.run, make(_postgres.url(name))).result()
    yield _postgres.url(name)
    _postgres.start()
    _postgres.drop(name)


@pytest.fixture
def tables(postgres: "Postgres", _tables: str) -> str:
    """The URL of a database with the tables of a PostgreSQL store, empty. It is quicker to have than `database`; who
    uses it leaves the tables as they are.
    """
    postgres.empty(_tables.rpartition("/")[2])
    return _tables


@pytest.fixture(scope="session")
def _valkey() -> Iterator["Valkey"]:
    from tests.support.servers import Valkey

    server = Valkey()
    yield server
    server.close()


@pytest.fixture
def valkey(_valkey: "Valkey") -> "Valkey":
    """Valkey, running and empty: the one of this process of the tests."""
    _valkey.start()
    _valkey.flush()
    return _valkey


@pytest.fixture(scope="session", autouse=True)
def _every_stream_is_accepted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """With `--replay`, what the session's tests have streamed is replayed to the real clients in the end.

    (As an error at the teardown of the last test: only then is all of it there.)
    """
    yield
    if request.config.getoption("--replay") and (os.environ.get("CI") == "true" or not unavailable()):
        from tests.interop.recorded import assert_all_accepted

        here = tmp_path_factory.getbasetemp()
        shared = here.parent if processes.is_forked(request.config) else here  # that of the session
        assert_all_accepted(every=request.config.getoption("every"), shared=shared / "looks")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is spare, unless all or single tests were asked for; and the interop tests where they can't run.

    Of these it is said in the end. In CI they stay in, and fail.
    """
    if not (config.getoption("every") or config.option.keyword or any("::" in name for name in config.args)):
        _leave_out(config, items, [item for item in items if item.get_closest_marker("spare")])
    interop = [item for item in items if item.get_closest_marker("interop")]
    if interop and os.environ.get("CI") != "true" and (reason := unavailable()):
        _leave_out(config, items, interop)
        config.stash[LEFT_OUT] = f"{len(interop)} interop tests left out: {reason}"


def pytest_collection_finish() -> None:
    """Take what was collected out of the garbage collector's sight, as the first of a process's servers does.

    None that a test starts is the first one then, which would walk through every collected test: a second each time.
    """
    frozen.enter()


def _leave_out(config: pytest.Config, items: list[pytest.Item], left: list[pytest.Item]) -> None:
    gone = set(left)
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in gone]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which tests were left out and why."""
    if reason := config.stash.get(LEFT_OUT, None):
        terminalreporter.write_line(reason, yellow=True)
