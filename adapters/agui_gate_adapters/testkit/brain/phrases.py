"""Saying calls and values in words: what is called, with what, and never as JSON."""

from __future__ import annotations

import re
from typing import Any, Final

from agui_gate_adapters.testkit.brain.arguments import id_parameter
from agui_gate_adapters.testkit.brain.plan import Call
from agui_gate_adapters.testkit.brain.sentences import past, words_of_name

__all__ = ["amount", "heir", "id_name", "listing", "phrase", "plain", "returned", "shorten", "thing", "words"]

_VERBS: Final = {"get": "look up", "fetch": "look up", "lookup": "look up"}
_LONG: Final = ("body", "message", "content", "text")
_WHOM: Final = frozenset({"customer", "name", "user", "person", "city", "location", "place", "query", "topic"})
_MONEY: Final = frozenset("€$£")
_CUT: Final = 48
_MOST: Final = 5
"""So many members of a list are said."""


def phrase(call: Call, *, bold: bool = True, done: bool = False) -> str:
    """Say a call in words: `refund order **A1** (amount: 20 €)`, or `refunded …` when it is `done`."""
    mark = "**" if bold else ""
    if (other := heir(call)) is not None:
        return f"{'handed' if done else 'hand'} you over to {mark}{other}{mark}"
    if set(call.arguments) == {"task"}:
        return f"{'asked' if done else 'ask'} the {mark}{call.name.replace('_', ' ')}{mark}"
    verb, *nouns = words_of_name(call.name)
    named = id_name(call)
    told = past(verb) if done else _VERBS.get(verb, verb)
    if named is not None:
        told += f" {thing(call, named, mark)}"
    elif nouns:
        told += f" {_article(verb, nouns)}{' '.join(nouns)}"
    rest = {name: value for name, value in call.arguments.items() if name not in (named, *_LONG)}
    if len(rest) == 1 and set(rest) & _WHOM:
        return f"{told} for {mark}{words(next(iter(rest.values())))}{mark}"
    details = [f"{name.replace('_', ' ')}: {amount(call, name, value)}" for name, value in rest.items()]
    return f"{told} ({', '.join(details)})" if details else told


def heir(call: Call) -> str | None:
    """To whom a call hands the conversation over, in words; None if it does nothing of the kind."""
    name = call.name.removeprefix("transfer_to_")
    return None if name == call.name or call.arguments else name.replace("_", " ")


def thing(call: Call, named: str, mark: str = "**") -> str:
    """What the argument ``named`` names: `order **A1**`."""
    _, *nouns = words_of_name(call.name)
    noun = " ".join(nouns) or re.sub(r"_?(id|number|code|ref)$", "", named).replace("_", " ")
    return f"{noun} {mark}{words(call.arguments[named])}{mark}"


def amount(call: Call, name: str, value: Any) -> str:
    """A value of an argument, with its unit if it is known."""
    unit = call.units.get(name)
    return _in_unit(value, unit) if unit and isinstance(value, int | float) else words(value)


def returned(call: Call, value: Any) -> str:
    """A value of an output, with the unit that the tool's description names; whole numbers may be no amounts."""
    unit = call.units.get("")
    return _in_unit(value, unit) if unit and isinstance(value, float) else words(value)


def _in_unit(value: float, unit: str) -> str:
    """Money has two digits behind the point, or none: `64.90 €`."""
    cents = unit in _MONEY and not float(value).is_integer() and round(value, 2) == value
    return f"{value:.2f} {unit}" if cents else f"{words(value)} {unit}"


def words(value: Any, cut: int = _CUT) -> str:
    """A value as a person reads it."""
    match value:
        case None | "" | [] | {}:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case dict():
            said = ", ".join(f"{name.replace('_', ' ')} {words(member)}" for name, member in value.items())
        case list():
            more = [f"and {len(value) - _MOST} more"] if len(value) > _MOST else []
            said = ", ".join([words(member) for member in value[:_MOST]] + more)
        case _:
            said = str(value)
    return shorten(said, cut)


def shorten(text: str, cut: int = _CUT) -> str:
    """In one line, cut to a number of characters."""
    text = " ".join(text.split())
    return text if len(text) <= cut else text[: cut - 1] + "…"


def plain(value: Any) -> str:
    """As a sentence of its own."""
    text = str(value).strip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def listing(parts: list[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def id_name(call: Call) -> str | None:
    """The argument that says which one."""
    shape = {name: {"type": "string"} for name in call.arguments}
    return id_parameter({"parameters": {"properties": shape}})


def _article(verb: str, nouns: list[str]) -> str:
    if nouns[-1].endswith("s"):
        return ""
    if verb in ("send", "create", "add", "make", "write", "book", "open"):
        return "an " if nouns[0][0] in "aeiou" else "a "
    return "the "
