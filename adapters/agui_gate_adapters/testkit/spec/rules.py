"""The rules of the AG-UI specification for a server: each with a quotation of the text, and in our own words.

They are in ``rules.toml``, read from the frozen text of 1.1 (`ag-ui-protocol/ag-ui`). Its rules are those of 1.0, with
one optional member more. The ids are ours.
"""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

Strength = Literal["MUST", "SHOULD", "MAY", "note"]

SPECIFICATION = "https://github.com/ag-ui-protocol/ag-ui/blob/main/docs/spec/1.1"
"""Its frozen text of 1.1: a page each."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: how strong it is, the part of the specification and the page that it is from, and what it asks."""

    strength: Strength
    page: str
    quote: str
    """The specification's own words."""
    text: str
    """The same in ours, often with what other pages add to it."""
    source: str

    @property
    def url(self) -> str:
        """The page, where everybody can read it."""
        return f"{SPECIFICATION}/{self.source}.mdx"


def _read() -> dict[str, Rule]:
    told = tomllib.loads(files(__package__).joinpath("rules.toml").read_text(encoding="utf-8"))
    return {
        i: Rule(
            strength=rule["strength"],
            page=rule["page"],
            quote=" ".join(rule["quote"].split()),
            text=" ".join(rule["text"].split()),
            source=rule.get("at", rule["page"]),
        )
        for i, rule in told.items()
    }


RULES = _read()
"""By id, in the order of the specification."""
