"""Identifying: which things, by their ids, a clause is about: named, pointed at, or listed by an earlier output."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.brain.arguments import id_parameter, required_of
from agui_gate_adapters.testkit.brain.sentences import Reading, stems_of_name
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Known", "identify", "points_elsewhere", "record_of"]

_ONE: Final = re.compile(r"\b(?:it|that|this|one)\b", re.IGNORECASE)
_EVERY: Final = re.compile(r"\b(?:them|both|all|each|every|everything|those|these)\b", re.IGNORECASE)
_ORDINALS: Final = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1, "latest": -1}
_ORDINAL: Final = re.compile(rf"\b(?:{'|'.join(_ORDINALS)})\b", re.IGNORECASE)


class Known(msgspec.Struct, frozen=True):
    """What is known before a clause is looked at."""

    values: tuple[Any, ...]
    """Parsed outputs of earlier calls, the latest last."""
    mentioned: tuple[str, ...]
    """Ids that appeared before, the latest last."""
    just_called: bool
    """Whether calls were made since the person spoke: a clause may count on their outputs."""


def points_elsewhere(reading: Reading) -> bool:
    """Say whether the clause points at something instead of naming it."""
    return not reading.ids and any(p.search(reading.text) for p in (_ONE, _EVERY, _ORDINAL))


def identify(tool: Json, reading: Reading, known: Known) -> tuple[list[str | None] | None, Reading]:
    """Return the ids to call the tool for, one call each, and the reading without the numbers that turned out as ids.

    `[None]` is for tools that take no id; None says that an id is needed and not known.
    """
    parameter = id_parameter(tool)
    if parameter is None:
        return [None], reading
    if reading.ids:
        return list(reading.ids), reading
    numbered = [number for number in reading.numbers if number.is_id_like]
    if numbered:
        rest = tuple(number for number in reading.numbers if number not in numbered)
        return [str(number.value) for number in numbered], msgspec.structs.replace(reading, numbers=rest)
    pointed = _pointed_at(reading.text, known)
    if pointed:
        return list(pointed), reading
    return (None if parameter in required_of(tool) else [None]), reading


def _pointed_at(text: str, known: Known) -> list[str]:
    lists = [found for value in known.values if (found := _ids_in(value))]
    longest = next((found for found in reversed(lists) if len(found) > 1), lists[-1] if lists else [])
    ordinal = _ORDINAL.search(text)
    if ordinal and longest:
        index = _ORDINALS[ordinal[0].lower()]
        return [longest[min(index, len(longest) - 1)]]
    if _EVERY.search(text) and longest:
        return longest
    if known.just_called and lists:
        return lists[-1][:1]
    return [known.mentioned[-1]] if known.mentioned and _ONE.search(text) else []


def _ids_in(value: Any) -> list[str]:
    """Return the ids in a parsed output: the first id-like member of each record."""
    if isinstance(value, list):
        return [found for element in value for found in _ids_in(element)]
    if not isinstance(value, dict):
        return []
    for name, member in value.items():
        if stems_of_name(name)[-1:] in (["id"], ["number"], ["order"]) and isinstance(member, str | int):
            return [str(member)]
    return [found for member in value.values() for found in _ids_in(member)]


def record_of(item_id: str | None, values: tuple[Any, ...]) -> dict[str, Any]:
    """Return what earlier outputs said about this id, with what is left of a total, or the total, also known
    as the amount.
    """
    for value in reversed(values):
        for record in value if isinstance(value, list) else [value]:
            if isinstance(record, dict) and item_id is not None and item_id in map(str, record.values()):
                return {**record, **_amount_of(record)}
    return {}


def _amount_of(record: dict[str, Any]) -> dict[str, Any]:
    left = [name for name in record if stems_of_name(name)[0] in ("left", "remain")]
    names = [name for name in (*left, "amount", "total", "price") if name in record]
    return {"amount": record[names[0]]} if names else {}
