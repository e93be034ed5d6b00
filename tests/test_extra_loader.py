"""Extras are imported by name, and one that isn't there is a clear error."""

import sys
from types import ModuleType

import pytest

from agui_gate import extra_loader
from agui_gate.errors import ExtraMissing


def test_an_extra_is_its_module() -> None:
    assert extra_loader.load("suggestions").__name__ == "agui_gate.extras.suggestions"


def test_an_extra_that_is_not_there_is_named() -> None:
    with pytest.raises(ExtraMissing, match=r"feature 'weather' \(agui_gate\.extras\.weather\)"):
        extra_loader.load("weather")
    assert extra_loader.find("weather") is None


def test_without_the_folder_every_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("agui_gate.extras")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr("agui_gate.__path__", [])
    with pytest.raises(ExtraMissing):
        extra_loader.load("suggestions")


def test_what_an_extra_itself_lacks_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    monkeypatch.setattr(extra_loader, "import_module", fail)
    with pytest.raises(ModuleNotFoundError, match="pandas"):
        extra_loader.load("suggestions")
