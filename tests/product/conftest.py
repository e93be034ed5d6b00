"""Of the modes of the Responses API a test of the product runs in one, taking turns: they are what adapters are about.

The conformance suite plays every scenario in each of them. Here all three are kept where the provider's memory is the
point, and everywhere with `--every`. What else a test runs with (ways of asking, versions of the client, stores) takes
turns as well.
"""

from collections import defaultdict
from pathlib import Path

import pytest

from tests.product.kit import MODES
from tests.support.pairwise import of_folder, take_turns

HERE = Path(__file__).parent
WHOLE = {"test_approvals", "test_history", "test_hosted_approvals", "test_left_out", "test_poison", "test_unanswered"}
"""Modules whose tests of one value keep every mode."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as spare what only another mode tells from a case that runs."""
    functions: defaultdict[tuple[str, str], defaultdict[str, list[pytest.Item]]] = defaultdict(
        lambda: defaultdict(list)
    )
    here = of_folder(items, HERE)
    for item in here:
        if not hasattr(item, "callspec"):
            continue
        values = dict(item.callspec.params)
        if values.pop("mode", None) in MODES and not item.get_closest_marker("spare"):
            functions[item.path.stem, item.originalname][repr(values)].append(item)
    for n, ((module, _), cases) in enumerate(functions.items()):
        if len(cases) == 1 and module in WHOLE:
            continue
        for turn, modes in enumerate(cases.values(), n):
            for at, item in enumerate(modes):
                if at != turn % len(modes):
                    item.add_marker("spare")
    take_turns(here)
