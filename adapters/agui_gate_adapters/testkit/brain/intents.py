"""Matching: which clause of what the person said asks for which tool."""

from __future__ import annotations

import re
from typing import Final

from agui_gate_adapters.testkit.brain.arguments import id_parameter
from agui_gate_adapters.testkit.brain.sentences import (
    content_words,
    past,
    read,
    same_verb,
    stem,
    stems_of_name,
    verb_of,
)
from agui_gate_adapters.testkit.wire import Json

__all__ = ["intents", "is_lookup"]

_THRESHOLD: Final = 0.5
_QUOTE: Final = re.compile(r"[\"“«][^\"“”«»]*[\"”»]")
_BREAK: Final = re.compile(r"(?:[.;!?]+\s+|\s*,?\s+(?:and\s+)?(?:then|after\s+that|afterwards)\s+|\n+)", re.IGNORECASE)
_AND: Final = re.compile(r",?\s+(?:and|also|plus)\s+", re.IGNORECASE)
_NEVER: Final = re.compile(
    r"^\W*(?:please\s+)?(?:don['’]?t|do\s+not|never|undo|reverse|revert|take\s+back"
    r"|(?:cancel|stop|abort)\s+(?:the|that|this|my)\s+(?:refund|e-?mail))\b",
    re.IGNORECASE,
)
_WHETHER: Final = re.compile(r"^\W*(?:did|has|had|have\s+(?:i|you|we|they)|was|were)\b", re.IGNORECASE)
_TOLD: Final = r"^\W*(?:is|are)\b.*\b{0}\b|\b(?:i|you|we|they)(?:['’]ve|\s+have)?\s+(?:already\s+)?{0}\b"
_THANKS: Final = re.compile(r"^\W*thank(?:s|\s+you)\b.*\bfor\b", re.IGNORECASE)
_MONEY_BACK: Final = re.compile(r"\b(?:my|the|her|his|their)?\s*money\s+back\b", re.IGNORECASE)


def is_lookup(tool: Json) -> bool:
    """Say whether the tool only finds things out, going by its verb."""
    return same_verb(stems_of_name(tool["name"])[0], "search")


def intents(text: str, tools: list[Json]) -> list[tuple[Json, str]]:
    """Return tools with their clauses; a clause without a tool of its own belongs to the one before."""
    found: list[tuple[Json, str]] = []
    for clause in _clauses(_MONEY_BACK.sub(" refund", text), tools):
        tool = None if _NEVER.match(clause) else _best_tool(clause, tools)
        if tool is not None:
            found.append((tool, clause))
        elif found and read(clause).ids:
            found[-1] = (found[-1][0], f"{found[-1][1]} {clause}")
    return found


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
    scored = [
        (_score(clause, tool), -index) for index, tool in enumerate(tools) if not _is_about_the_past(clause, tool)
    ]
    best, index = max(scored, default=(0.0, 0))
    if best >= _THRESHOLD:
        return tools[-index]
    reading = read(clause)
    if not reading.ids and not any(number.is_id_like for number in reading.numbers):
        return None
    # Something is asked about a thing with an id: look it up, if there is a way.
    return next((tool for tool in tools if is_lookup(tool) and id_parameter(tool)), None)


def _is_about_the_past(clause: str, tool: Json) -> bool:
    """Say whether the clause speaks of what such a tool has done: "Did you refund it?" asks for no refund."""
    if is_lookup(tool):
        return False
    told = re.search(_TOLD.format(re.escape(past(verb_of(tool["name"])))), clause, re.IGNORECASE)
    return bool(told or _WHETHER.match(clause) or _THANKS.match(clause))


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
    if at is None and not is_lookup(tool):  # "What is the state of order 1002?" cancels none
        return 0.0
    score = (exact + 0.7 * synonym) / (1 + len(nouns)) + min(0.3, 0.05 * overlap)
    if read(clause).ids:  # Who names an id hardly wants to search.
        score += 0.3 if id_parameter(tool) else -0.3
    return score + (0.5 if at is not None and at <= 1 else 0.0)
