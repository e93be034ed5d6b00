"""The rules of the AG-UI specification for a server, and findings: a rule that is broken, with the frame that shows it.

The rules are in ``rules.toml``, read from the frozen text of 1.1 (`ag-ui-protocol/ag-ui`). They are those of 1.0, with
one optional member more. The ids are ours.
"""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, NamedTuple

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


Json = dict[str, Any]


class Breach(NamedTuple):
    """A rule that an event doesn't keep. The strength is the rule's own, unless another part of it is meant."""

    rule: str
    sentence: str
    strength: Strength | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a stream, or an answer, does against a rule.

    ``frame`` counts from 0; None: it is about no frame alone.
    """

    rule: str
    strength: Strength
    sentence: str
    frame: int | None = None
    text: str = ""

    def __str__(self) -> str:
        where = "" if self.frame is None else f" (frame {self.frame}: {self.text[:300]})"
        return f"{self.rule} {self.strength}: {self.sentence}{where}"


def finding(breach: Breach, frame: int | None = None, text: str = "") -> Finding:
    """Makes a finding of a breach and its place."""
    strength = breach.strength or RULES[breach.rule].strength
    return Finding(breach.rule, strength, breach.sentence, frame, text)


def word(event: Json, name: str) -> str:
    """Returns a member that has to be a string; "" where it isn't, which the shapes report."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def listed(value: object) -> list[Json]:
    """Returns the objects of what has to be a list of objects."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
