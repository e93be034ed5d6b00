"""The tests of the whole product, each over several replicas: `pytest -p tests.replicas.plugin tests/product …`.

A test makes its agent, starts "the server", and talks to it. Here the server is a fleet: replicas on one store behind a
balancer that gives every request to another one. The test is the same, and so is what it expects.

``--fleet=2:postgres,4:postgres+valkey`` says which fleets: so many replicas on PostgreSQL alone, with Valkey as bus,
or on one SQLite file. ``--once``: of all tests only so many that each fleet shows every requirement, and one of them
each file that shows any. The second fleet chooses from the other end.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from openai import AsyncOpenAI

from agui_gate import Agent, create_app
from agui_gate_adapters.common import transport
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit.conformance import ground
from tests.product import kit
from tests.replicas import scenarios
from tests.replicas.fleet import app_of
from tests.replicas.stage import Stage
from tools.marks import TESTS

HERE = Path(__file__).parent
LOADED = (
    "agui_gate.bus.redis", "agui_gate.bus.replicas.bus", "agui_gate.stores.postgres", "psycopg_pool", "redis.asyncio",
    "uvicorn.lifespan.on", "uvicorn.loops.auto", "uvloop",
)  # fmt: skip
FLEETS = "2:postgres,4:postgres+valkey"


@pytest.fixture(scope="session")
def _loaded() -> None:
    """What a replica would load, compile and keep with its start and its first run: it is forked from us."""
    for name in LOADED:
        import_module(name)
    transport.certificates()
    assert AsyncOpenAI(api_key="k").responses is not None
    create_app(Agent(name="a", model=OpenAIResponses("m", base_url="http://127.0.0.1", api_key="k")), store="memory://")


@pytest.fixture(autouse=True)
def over_replicas(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, _loaded: None) -> Iterator[None]:
    """Within: servers are fleets."""
    if not hasattr(request, "param"):  # a test that has fleets of its own
        yield
        return
    stage = Stage.called(request.param, request)
    for module in (kit, ground, request.module):
        for name, stand_in in (("create_app", app_of), ("running", stage.running), ("serving", stage.running)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, stand_in)
    if hasattr(request.module, "quiet"):
        monkeypatch.setattr(request.module, "quiet", _nothing)
    yield
    assert stage.hosted, "nothing of this test ran over replicas; list it in `scenarios`"


async def _nothing(_: Any) -> None:
    """What is left over in a process is for tests of one process."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of ours."""
    parser.addoption("--fleet", default=FLEETS, help=f"replicas and what they run on, by default {FLEETS}")
    parser.addoption("--once", action="store_true", help="each requirement once, instead of every test")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every scenario on every fleet."""
    if _is_scenario(metafunc.definition):
        metafunc.parametrize("over_replicas", metafunc.config.getoption("fleet").split(","), indirect=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is no scenario, and with `--once` what the others show already."""
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    kept = [item for item in items if isinstance(item, pytest.Function) and _is_scenario(item)]
    if config.getoption("once"):
        fleets = list(dict.fromkeys(_fleet(item) for item in kept))
        kept = [item for turn in range(len(fleets)) for item in _once(_of(fleets[turn], kept), turn, len(fleets))]
    left = set(items) - {*ours, *kept}
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def _is_scenario(item: pytest.Function) -> bool:
    name = f"{item.path.relative_to(TESTS).as_posix()}::{item.originalname}"
    return scenarios.why_not(name) is None


def _of(fleet: str, items: Sequence[pytest.Function]) -> list[pytest.Function]:
    return [item for item in items if _fleet(item) == fleet]


def _fleet(item: pytest.Function) -> str:
    return str(item.callspec.params["over_replicas"])


def _once(items: Sequence[pytest.Function], turn: int, fleets: int) -> list[pytest.Function]:
    """As few of these as show what this fleet has to: at each step the one that shows most that is new."""
    shows = {item: _shows(item, turn, fleets) for item in items[:: -1 if turn % 2 else 1]}
    missing = set().union(*shows.values())
    chosen = []
    while missing:
        best = max(shows, key=lambda item: len(shows[item] & missing))
        chosen.append(best)
        missing -= shows[best]
    return chosen


def _shows(item: pytest.Function, turn: int, fleets: int) -> set[str]:
    """The requirements that a test shows; and that its file shows any, which is for one of the fleets."""
    marks = [i for mark in item.iter_markers("shows") for i in mark.args]
    found = scenarios.ids(item.originalname, marks) & set(scenarios.WANTED)
    is_ours = found and crc32(item.path.stem.encode()) % fleets == turn
    return found | ({item.path.stem} if is_ours else set())
