"""The names that a tool may have, in a tool or in a call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.violations import Violation

__all__ = ["MAX_NAME", "NAME_PATTERN", "check_name"]

NAME_PATTERN: Final = "^[a-zA-Z0-9_-]+$"
MAX_NAME: Final = 64
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


def check_name(name: str, path: str, rule: str = "name") -> Iterator[Violation]:
    """Yield what is wrong with a tool's name, in a tool or in a call."""
    if len(name) > MAX_NAME:
        yield v.too_long(path, MAX_NAME, len(name), rule=rule)
    elif not _NAME.fullmatch(name):
        yield v.bad_pattern(path, NAME_PATTERN, rule=rule)
