"""A server that lacks some extras."""

from importlib import import_module
from types import ModuleType

import pytest

from agui_gate import extra_loader


def missing(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """From now on these extras can't be imported: their files are not there."""
    gone = {f"{extra_loader.PACKAGE}.{name}" for name in names}

    def imported(name: str) -> ModuleType:
        if name in gone:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return import_module(name)

    monkeypatch.setattr(extra_loader, "import_module", imported)
