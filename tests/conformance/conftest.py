"""Which scenarios run with which adapters; and retries without their pause: how often is tested, not how long."""

import inspect
from collections import Counter, defaultdict
from collections.abc import Hashable
from functools import cache
from pathlib import Path

import pytest

from agui_gate_adapters.common import retries
from agui_gate_adapters.testkit.conformance import Suite
from tests.conformance.inside import Inside
from tests.support.pairwise import covering, of_folder

HERE = Path(__file__).parent
MEMORY = ("mode", "thinking")
"""What a subclass says of how its adapter remembers: it may make a difference to any scenario."""
FACTS = (*(name for name in vars(Suite) if name in Suite.__annotations__), "profile")
"""What it says of the server: it may make a difference to any group of scenarios."""


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "RETRY_SECONDS", (0.0, 0.0))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of each scenario of the suite, keep as few cases as there are pairs to show; the others are spare.

    Every case runs with each API and at each place, every scenario with each memory, and every group of scenarios with
    each kind of server, and at each place with each API and memory. Of cases that show as much, those of the class with
    the fewest come first.
    """
    scenarios: defaultdict[Hashable, list[pytest.Function]] = defaultdict(list)
    for item in of_folder(items, HERE):
        if _is_of_the_suite(item):
            scenarios[item.originalname, _param(item, "over_replicas")].append(item)
    missing = {fact for cases in scenarios.values() for case in cases for fact in _of_the_server(case)}
    uses: Counter[Hashable] = Counter()
    left: list[pytest.Function] = []
    for cases in scenarios.values():
        cases.sort(key=lambda case: (-len(missing & _of_the_server(case)), uses[case.cls]))
        chosen = [cases[n] for n in covering([_shown(case) for case in cases])]
        uses.update(case.cls for case in chosen)
        missing.difference_update(*map(_of_the_server, chosen))
        left += [case for case in cases if case not in chosen]
    needed = covering([missing & _of_the_server(case) for case in left])
    for n in set(range(len(left))).difference(needed):
        left[n].add_marker("spare")


def _is_of_the_suite(item: pytest.Function) -> bool:
    return item.cls is not None and issubclass(item.cls, Suite)


def _param(item: pytest.Function, name: str) -> Hashable:
    return repr(item.callspec.params.get(name)) if hasattr(item, "callspec") else None


def _place(suite: type[Suite]) -> str:
    return "inside" if issubclass(suite, Inside) else "alone"


def _api(suite: type[Suite]) -> str:
    makes = suite.adapter if issubclass(suite, Inside) else suite.make_adapter
    return str(inspect.signature(makes).return_annotation.__name__)


def _values(suite: type[Suite], names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, repr(getattr(suite, name, None))) for name in names]


def _shown(item: pytest.Function) -> set[Hashable]:
    """The pairs that a case shows."""
    case = item.callspec.id if hasattr(item, "callspec") else ""
    api, place, memory = _of_the_suite(item.cls)
    return {(case, api), (case, place), *memory}


@cache
def _of_the_suite(suite: type[Suite]) -> tuple[str, str, list[tuple[str, str]]]:
    return _api(suite), _place(suite), _values(suite, MEMORY)


def _of_the_server(item: pytest.Function) -> frozenset[Hashable]:
    """What it shows of its group of scenarios."""
    return _of_the_group(item.cls, item.originalname)


@cache
def _of_the_group(suite: type[Suite], scenario: str) -> frozenset[Hashable]:
    group = next(base for base in reversed(suite.__mro__) if scenario in vars(base))
    facts = [("api", _api(suite)), *_values(suite, (*FACTS, *MEMORY))]
    return frozenset((group, _place(suite), *fact) for fact in facts)
