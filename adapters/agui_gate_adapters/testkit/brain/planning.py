"""Choosing tools: which clause of what the person said asks for which tool, and which of those calls come now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.brain.arguments import Filler, id_parameter, required_of
from agui_gate_adapters.testkit.brain.reading import Reading, content_words, read, same_verb, stem, stems_of_name
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Call", "Plan", "Situation", "plan_calls"]

_THRESHOLD: Final = 0.5
_QUOTE: Final = re.compile(r"[\"“«][^\"“”«»]*[\"”»]")
_BREAK: Final = re.compile(r"(?:[.;!?]+\s+|\s*,?\s+(?:and\s+)?(?:then|after\s+that|afterwards)\s+|\n+)", re.IGNORECASE)
_AND: Final = re.compile(r",?\s+(?:and|also|plus)\s+", re.IGNORECASE)
_NEVER: Final = re.compile(r"^\W*(?:please\s+)?(?:don'?t|do\s+not|never)\b", re.IGNORECASE)
_FIRST: Final = re.compile(r"\b(?:it|that|this|first|one)\b", re.IGNORECASE)
_EVERY: Final = re.compile(r"\b(?:them|both|all|each|every|those|these)\b", re.IGNORECASE)


class Call(msgspec.Struct, frozen=True):
    """A tool with its arguments."""

    name: str
    arguments: Json


class Situation(msgspec.Struct, frozen=True):
    """What planning looks at besides the text."""

    tools: list[Json]
    called: frozenset[str]
    """Tools that were called since the person spoke."""
    values: tuple[Any, ...]
    """Parsed outputs of earlier calls, the latest last."""
    mentioned: tuple[str, ...]
    """Ids that appeared in the conversation before, the latest last."""


class Plan(msgspec.Struct):
    """The calls to make now, or the one thing to ask for first."""

    calls: list[Call]
    question: tuple[str, str] | None = None
    """Tool and parameter that the text says nothing about."""


def plan_calls(text: str, situation: Situation) -> Plan:
    """Return the calls that the text asks for and that were not made yet."""
    plan = Plan([])
    for tool, clause in _intents(text, situation.tools):
        if tool["name"] in situation.called:
            continue
        reading = read(clause)
        ids = _ids_for(tool, reading, situation)
        if ids is None:  # It needs an id that is not known yet.
            if not plan.calls:
                plan.question = (tool["name"], str(id_parameter(tool)))
            break
        _add_calls(plan, tool, reading, ids, situation)
    return plan


def _add_calls(plan: Plan, tool: Json, reading: Reading, ids: list[str | None], situation: Situation) -> None:
    numbers = reading.numbers
    for position, item_id in enumerate(ids):
        own = reading
        if len(ids) > 1 and len(numbers) == len(ids):  # "refund A1 with 20 and A2 with 30"
            own = msgspec.structs.replace(reading, numbers=(numbers[position],))
        filler = Filler(tool, own, remembered=_record_of(item_id, situation.values))
        arguments = filler.fill(item_id)
        if filler.missing:
            plan.question = plan.question or (tool["name"], filler.missing[0])
        else:
            plan.calls.append(Call(tool["name"], arguments))


def _intents(text: str, tools: list[Json]) -> Iterator[tuple[Json, str]]:
    """Yield tool and clause; a clause without a tool of its own belongs to the one before."""
    found: list[tuple[Json, str]] = []
    for clause in _clauses(text, tools):
        tool = None if _NEVER.match(clause) else _best_tool(clause, tools)
        if tool is not None:
            found.append((tool, clause))
        elif found and read(clause).ids:
            found[-1] = (found[-1][0], f"{found[-1][1]} {clause}")
    yield from found


def _clauses(text: str, tools: list[Json]) -> list[str]:
    """Split the text at sentence ends and "then", and at "and" where a new action begins; quotes stay whole."""
    quotes: list[str] = []

    def mask(match: re.Match[str]) -> str:
        quotes.append(match[0])
        return f"\x00{len(quotes) - 1}\x00"

    masked = _QUOTE.sub(mask, text)
    clauses: list[str] = []
    for sentence in _BREAK.split(masked):
        parts = _AND.split(sentence)
        whole = parts[0]
        for part in parts[1:]:
            words = content_words(part)
            if words and any(same_verb(stem(words[0]), stems_of_name(t["name"])[0]) for t in tools):
                clauses.append(whole)
                whole = part
            else:
                whole = f"{whole} and {part}"
        clauses.append(whole)
    return [re.sub("\x00(\\d+)\x00", lambda m: quotes[int(m[1])], clause) for clause in clauses if clause.strip()]


def _best_tool(clause: str, tools: list[Json]) -> Json | None:
    scored = [(_score(clause, tool), -index) for index, tool in enumerate(tools)]
    best, index = max(scored, default=(0.0, 0))
    return tools[-index] if best >= _THRESHOLD else None


def _score(clause: str, tool: Json) -> float:
    """Rate how well a clause asks for a tool: its name's words, the place of its verb, its description."""
    words = [stem(word) for word in content_words(_QUOTE.sub(" ", clause))]
    verb, *nouns = stems_of_name(tool["name"])
    exact = sum(part in words for part in (verb, *nouns))
    at = next((index for index, word in enumerate(words) if same_verb(word, verb)), None)
    synonym = at is not None and verb not in words
    described = {stem(word) for word in content_words(str(tool.get("description") or ""))}
    overlap = len(described.intersection(words))
    if nouns and tool["name"] in clause:
        return 3.0  # Called by its very name.
    if not exact and not (synonym and overlap):
        return 0.0
    score = (exact + 0.7 * synonym) / (1 + len(nouns)) + min(0.3, 0.05 * overlap)
    return score + (0.5 if at is not None and at <= 1 else 0.0)


def _ids_for(tool: Json, reading: Reading, situation: Situation) -> list[str | None] | None:
    """Return the ids to call the tool for: one call each; `[None]` for tools without one; None when unknown."""
    parameter = id_parameter(tool)
    if parameter is None:
        return [None]
    if reading.ids:
        return list(reading.ids)
    listed = [found for value in situation.values[-1:] for found in _ids_in(value)]
    if listed and _EVERY.search(reading.text):
        return list(listed)
    if listed:
        return [listed[0]]
    if situation.mentioned and (_FIRST.search(reading.text) or situation.called):
        return [situation.mentioned[-1]]
    return None if parameter in required_of(tool) else [None]


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


def _record_of(item_id: str | None, values: tuple[Any, ...]) -> dict[str, Any]:
    """Return what earlier outputs said about this id, with a total also known as the amount."""
    for value in reversed(values):
        for record in value if isinstance(value, list) else [value]:
            if isinstance(record, dict) and item_id is not None and item_id in map(str, record.values()):
                total = next((record[k] for k in ("amount", "total", "price") if k in record), None)
                return {**record, **({} if total is None else {"amount": total})}
    return {}
