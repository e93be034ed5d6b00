"""What the judge finds: a rule that a stream doesn't keep, and the frame that shows it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from agui_gate_adapters.testkit.spec.rules import RULES, Strength

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
    """A breach with where it was."""
    strength = breach.strength or RULES[breach.rule].strength
    return Finding(breach.rule, strength, breach.sentence, frame, text)


def word(event: Json, name: str) -> str:
    """A member that has to be a string; "" where it is anything else, which the shapes tell."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def listed(value: object) -> list[Json]:
    """The objects of what has to be a list of objects."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
