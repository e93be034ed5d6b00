"""Which scenarios run with which adapters; and retries without their pause: how often is tested, not how long."""

import inspect
from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path

import pytest

from agui_gate_adapters.common import retries
from agui_gate_adapters.testkit.conformance import Suite
from tests.conformance.inside import Inside
from tests.support.pairwise import covering

HERE = Path(__file__).parent
FACTS = (*(name for name in vars(Suite) if name in Suite.__annotations__), "mode", "profile", "thinking")
"""What a subclass says about its adapter: each value is one that may make a difference."""


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "RETRY_SECONDS", (0.0, 0.0))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of each scenario of the suite, keep as few cases as there are pairs to show; the others are spare.

    Every case runs with each API and at each place, and the scenario with whatever can be said about an adapter.
    """
    scenarios: defaultdict[Hashable, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.path.is_relative_to(HERE) and _is_of_the_suite(item):
            scenarios[item.originalname, _param(item, "over_replicas")].append(item)
    for cases in scenarios.values():
        chosen = covering([_shown(case) for case in cases])
        for n in set(range(len(cases))) - set(chosen):
            cases[n].add_marker("spare")


def _is_of_the_suite(item: pytest.Function) -> bool:
    return item.cls is not None and issubclass(item.cls, Suite)


def _param(item: pytest.Function, name: str) -> Hashable:
    return repr(item.callspec.params.get(name)) if hasattr(item, "callspec") else None


def _shown(item: pytest.Function) -> set[Hashable]:
    """The pairs that a case shows."""
    suite = item.cls
    place = "inside" if issubclass(suite, Inside) else "alone"
    makes = suite.adapter if issubclass(suite, Inside) else suite.make_adapter
    api = inspect.signature(makes).return_annotation.__name__
    case = item.callspec.id if hasattr(item, "callspec") else ""
    facts = {(api, place, name, repr(getattr(suite, name, None))) for name in FACTS}
    return {(case, api), (case, place), *facts}
