"""Filling a tool's arguments from what a clause says, by simple rules on the parameters' names and types."""

from __future__ import annotations

import re
from typing import Any, Final

from agui_gate_adapters.testkit.brain.sentences import (
    STOP_WORDS,
    Number,
    Reading,
    content_words,
    same_verb,
    stem,
    stems_of_name,
)
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Filler", "id_parameter", "properties_of", "required_of", "units_of"]

_ID_WORDS: Final = frozenset({"id", "number", "code", "ref", "referenc", "sku", "uuid"})
_MONEY_WORDS: Final = frozenset({"amount", "pric", "total", "sum", "cost", "budget", "valu", "payment"})
_EMAIL_WORDS: Final = frozenset({"to", "email", "mail", "recipient", "cc", "bcc", "addres"})
_DATE_WORDS: Final = frozenset({"date", "day", "when", "until", "deadlin"})
_PROSE_WORDS: Final = frozenset(
    {"body", "messag", "content", "text", "not", "comment", "description", "reason", "task"}
)
_TITLE_WORDS: Final = frozenset({"subject", "titl", "summary", "headlin"})
_SAYING: Final = re.compile(
    r"\b(?:saying|says|that says|telling (?:her|him|them)(?: that)?|that|with the text)\b:?\s+(.+)$", re.IGNORECASE
)
_ABOUT: Final = re.compile(r"\b(?:about|regarding|on the subject of|titled|subject:?)\s+(.+)$", re.IGNORECASE)
_HIS: Final = re.compile(r"\b(?:his|her|their)\b", re.IGNORECASE)
_UNITS: Final = {"euros": "€", "euro": "€", "eur": "€", "€": "€", "dollars": "$", "usd": "$", "pounds": "£", "gbp": "£"}
_IN_UNIT: Final = re.compile(rf"\bin ({'|'.join(map(re.escape, _UNITS))})(?!\w)", re.IGNORECASE)
_HALF: Final = re.compile(r"\bhalf\b", re.IGNORECASE)
_NO: Final = re.compile(r"\b(?:no|not|off|disable|without|never)\b", re.IGNORECASE)


def id_parameter(tool: Json) -> str | None:
    """Return the name of the first parameter that takes an id, or None."""
    return next((name for name, schema in properties_of(tool).items() if _is_id(name, schema)), None)


def properties_of(tool: Json) -> dict[str, Json]:
    """Return the tool's parameters with their schemas; whatever is not a schema counts as an empty one."""
    found = (tool.get("parameters") or {}).get("properties")
    known = found.items() if isinstance(found, dict) else ()
    return {name: schema if isinstance(schema, dict) else {} for name, schema in known}


def required_of(tool: Json) -> frozenset[str]:
    """Return the names of the required parameters."""
    found = (tool.get("parameters") or {}).get("required")
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


def units_of(tool: Json) -> dict[str, str]:
    """Return what the numbers are in, by parameter, where the schema says so: in `unit`, or as "in euros".

    Under the empty name, what the tool's own description says: that is for the numbers that it returns.
    """
    found = {name: schema.get("unit") or _described(schema) for name, schema in properties_of(tool).items()}
    found[""] = _described(tool)
    return {name: unit for name, unit in found.items() if isinstance(unit, str)}


def _described(schema: Json) -> str | None:
    said = _IN_UNIT.search(str(schema.get("description") or ""))
    return _UNITS[said[1].lower()] if said else None


def _enum_of(schema: Json) -> list[Any]:
    found = schema.get("enum")
    return found if isinstance(found, list) else []


def _type_of(schema: Json) -> str:
    kind = schema.get("type")
    if kind is None:
        options = schema.get("anyOf")
        listed = options if isinstance(options, list) else []
        kinds = [str(option.get("type")) for option in listed if isinstance(option, dict)]
    else:
        kinds = [str(k) for k in kind] if isinstance(kind, list) else [str(kind)]
    return next((k for k in kinds if k != "null"), "string")


def _is_id(name: str, schema: Json) -> bool:
    return _type_of(schema) in ("string", "integer") and bool(_ID_WORDS & set(stems_of_name(name)[-1:]))


class Filler:
    """Fills the parameters of one tool from one clause. Values are used up as they are assigned."""

    def __init__(self, tool: Json, reading: Reading, *, remembered: dict[str, Any] | None = None) -> None:
        self._tool = tool
        self._reading = reading
        self._remembered = remembered or {}
        self._numbers = list(reading.numbers)
        self._names = list(reading.names)
        self._required = required_of(tool)
        self.missing: list[str] = []
        self.guessed = False
        """Whether a number had to be made up."""

    def fill(self, item_id: str | None) -> Json:
        """Return the arguments; `item_id` goes to the id parameter. What could not be found is in `missing`."""
        arguments: Json = {}
        for name, schema in properties_of(self._tool).items():
            value = self._value(name, schema, item_id)
            if value is None and name in self._required:
                value = self._fallback(name, schema)
            if value is not None:
                arguments[name] = value
            elif name in self._required:
                self.missing.append(name)
        return arguments

    def _value(self, name: str, schema: Json, item_id: str | None) -> Any:
        """Return what the clause says outright about this parameter, or None."""
        kind = _type_of(schema)
        if _enum_of(schema):
            return self._enumerated(_enum_of(schema))
        if _is_id(name, schema):
            return self._identifier(kind, item_id)
        if kind in ("number", "integer"):
            return self._number(name, kind)
        if kind == "boolean":
            mentioned = set(stems_of_name(name)) & {stem(word) for word in content_words(self._reading.text)}
            return not _NO.search(self._reading.text) if mentioned else None
        if kind == "array":
            return self._many(name, schema, item_id)
        return self._string(name) if kind == "string" else None

    def _enumerated(self, values: list[Any]) -> Any:
        words = {stem(word) for word in re.findall(r"\w+", self._reading.text)}
        return next((value for value in values if stem(str(value)) in words), None)

    def _identifier(self, kind: str, item_id: str | None) -> Any:
        if kind == "integer":
            return int(item_id) if item_id and item_id.isdigit() else None
        return item_id

    def _number(self, name: str, kind: str) -> int | float | None:
        stems = set(stems_of_name(name))
        offered = [number for number in self._numbers if not (number.percent and stems & _MONEY_WORDS)]
        best = max(offered, key=lambda number: self._fitness(number, stems), default=None)
        if best is None:
            known = self._known_number(name)
            return self._part(known) if known is not None and stems & _MONEY_WORDS else known
        self._numbers.remove(best)
        return int(best.value) if kind == "integer" else best.value

    def _known_number(self, name: str) -> int | float | None:
        """Return what an earlier output said about this, such as an order's total."""
        known = self._remembered.get(name)
        if isinstance(known, bool) or not isinstance(known, int | float):
            return None
        return int(known) if float(known).is_integer() else known

    def _part(self, whole: float) -> int | float:
        """Return what "half of it" or "20% of it" is of an amount."""
        percent = next((number.value for number in self._numbers if number.percent), None)
        if percent is None:
            percent = 50 if _HALF.search(self._reading.text) else 100
        part = round(whole * percent / 100, 2)
        return int(part) if float(part).is_integer() else part

    @staticmethod
    def _fitness(number: Number, stems: set[str]) -> int:
        return 2 * (number.before in stems) + (number.money if stems & _MONEY_WORDS else -number.money)

    def _many(self, name: str, schema: Json, item_id: str | None) -> list[Any] | None:
        items = schema.get("items")
        one = self._value(name.removesuffix("s"), items if isinstance(items, dict) else {}, item_id)
        return None if one is None else [one]

    def _string(self, name: str) -> str | None:
        stems, reading = set(stems_of_name(name)), self._reading
        if name == "task":
            return self._task()
        if stems & _EMAIL_WORDS:
            return reading.emails[0] if reading.emails else self._next_name(stems)
        if stems & _DATE_WORDS and reading.dates:
            return reading.dates[0]
        if stems & _TITLE_WORDS:
            return self._title()
        if stems & _PROSE_WORDS:
            return self._prose()
        return reading.quoted[0] if reading.quoted else self._next_name(stems)

    def _task(self) -> str:
        """What is asked of somebody else: what is quoted, or stands after their name, or else all of it."""
        who = re.escape(str(self._tool.get("name")).replace("_", " "))
        asked = re.search(rf"\b{who}\b,? (?:to )?(.+?)(?: and (?:ask|have|tell) |$)", self._reading.text, re.IGNORECASE)
        said = asked[1] if asked else self._reading.text
        return self._reading.quoted[-1] if self._reading.quoted else f"{_sentence(said)}."

    def _next_name(self, _stems: set[str]) -> str | None:
        tool_words = set(stems_of_name(str(self._tool.get("name"))))
        for name in self._names:
            if stem(name) not in tool_words:
                self._names.remove(name)
                return name
        return None

    def _title(self) -> str | None:
        if len(self._reading.quoted) > 1:
            return self._reading.quoted[0]
        about = _ABOUT.search(_SAYING.sub("", self._reading.text))
        return _sentence(about[1]) if about and about[1].lower().strip(".!?") not in STOP_WORDS else None

    def _prose(self) -> str | None:
        if self._reading.quoted:
            return self._reading.quoted[-1]
        saying = _SAYING.search(self._reading.text)
        return _sentence(_HIS.sub("your", saying[1])) + "." if saying else None

    def _fallback(self, name: str, schema: Json) -> Any:
        """Return something sensible for a required parameter that the clause does not name, or None to ask."""
        for source in ("default", "minimum"):
            if source in schema:
                return schema[source]
        kind, stems = _type_of(schema), set(stems_of_name(name))
        if _enum_of(schema):
            return _enum_of(schema)[0]
        plain: Json = {"boolean": True, "array": [], "object": {}, "integer": 1, "number": 10}
        self.guessed = self.guessed or kind in ("integer", "number")
        if kind in plain:
            return None if _is_id(name, schema) else plain[kind]
        if _is_id(name, schema) or stems & _EMAIL_WORDS:
            return None
        if stems & _TITLE_WORDS:
            said = self._prose()
            return said.rstrip(".") if said and len(said) <= 48 else "News from us"
        if stems & _PROSE_WORDS:
            about = self._title()
            return f"Hello, this is about {about[:1].lower() + about[1:]}." if about else "Hello from us!"
        return self._leftover() or None

    def _leftover(self) -> str:
        """Return the words of the clause that nothing else explains."""
        verbs = stems_of_name(str(self._tool.get("name")))
        parameters = {part for name in properties_of(self._tool) for part in stems_of_name(name)}
        taken = {*self._reading.ids, *self._reading.emails}
        words = [
            word
            for word in content_words(self._reading.text)
            if word not in taken
            and word.lower() not in STOP_WORDS
            and stem(word) not in parameters
            and not any(same_verb(stem(word), verb) for verb in verbs)
        ]
        return " ".join(word.strip(".,'") for word in words)


def _sentence(text: str) -> str:
    """Return the text without its closing punctuation, beginning with a capital."""
    text = text.strip().rstrip(".!?,;")
    return text[:1].upper() + text[1:]
