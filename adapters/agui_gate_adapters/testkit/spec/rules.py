"""The rules of the AG-UI specification for a server: a sentence or two each, in our own words.

They are in ``rules.toml``, read from the frozen text of 1.1 (`ag-ui-protocol/ag-ui`). Its rules are those of 1.0, with
one optional member more. The ids are ours.
"""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

Strength = Literal["MUST", "SHOULD", "MAY", "note"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: how strong it is, the page of the specification that it is from, and what it asks."""

    strength: Strength
    page: str
    text: str


def _read() -> dict[str, Rule]:
    told = tomllib.loads(files(__package__).joinpath("rules.toml").read_text(encoding="utf-8"))
    return {i: Rule(rule["strength"], rule["page"], " ".join(rule["text"].split())) for i, rule in told.items()}


RULES = _read()
"""By id, in the order of the specification."""
