"""What the tests of several adapters ask for by name."""

from pathlib import Path

import pytest

from .subjects import SUBJECTS


@pytest.fixture
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No address and no credentials in the environment, nor on disk."""
    for subject in SUBJECTS:
        for name in (subject.key, subject.address, *subject.no_variables):
            monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
