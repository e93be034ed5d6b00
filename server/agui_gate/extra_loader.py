"""Imports an extra where it is needed: an agent declares it, a thread has its entries, or a setting or a request asks.

The trunk imports nothing of `agui_gate.extras`, so a server in which nobody declares an extra never loads its code.
"""

from importlib import import_module
from types import ModuleType

from agui_gate.errors import ExtraMissing

PACKAGE = "agui_gate.extras"


def load(name: str) -> ModuleType:
    """Returns the module ``agui_gate.extras.<name>``, imported the first time.

    Raises `ExtraMissing` if it isn't there, or an extra that it stands on. Any other import that fails inside the extra
    is raised as it is.
    """
    try:
        return import_module(f"{PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing.startswith(f"{PACKAGE}."):  # it, or another one that it stands on
            raise ExtraMissing(missing.removeprefix(f"{PACKAGE}.")) from None
        if missing and PACKAGE.startswith(missing):
            raise ExtraMissing(name) from None
        raise


def find(name: str) -> ModuleType | None:
    """Returns the extra as `load` does, or None if it isn't there."""
    try:
        return load(name)
    except ExtraMissing:
        return None
