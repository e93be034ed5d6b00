"""What the tests of several adapters ask for by name."""

from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest

from tests.support.pairwise import covering, of_folder

from .subject import Way
from .subjects import SUBJECTS

HERE = Path(__file__).parent


@pytest.fixture
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No address and no credentials in the environment, nor on disk."""
    for subject in SUBJECTS:
        for name in (subject.key, subject.address, *subject.no_variables):
            monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What happens in several ways and with several values happens in each way once, and with each value to each API.

    The other cases are spare.
    """
    functions: defaultdict[Hashable, list[pytest.Function]] = defaultdict(list)
    for item in of_folder(items, HERE):
        if hasattr(item, "callspec") and isinstance(item.callspec.params.get("way"), Way):
            functions[item.path, item.originalname].append(item)
    for cases in functions.values():
        chosen = covering([_shown(case.callspec.params) for case in cases])
        for n in set(range(len(cases))).difference(chosen):
            cases[n].add_marker("spare")


def _shown(values: dict[str, Any]) -> set[Hashable]:
    way = values["way"]
    others = {(name, repr(value)) for name, value in values.items() if name != "way"}
    return {("way", str(way)), *((str(way.subject), *other) for other in others)}
