"""What the end of a run elsewhere says: how its questions are answered, how it ended, and what it cost. Pure."""

from typing import Any

from agui_gate.adapter import Private, TurnDone, Usage, misfit, token_count
from agui_gate.client import Json, Question, events
from agui_gate.client.questions import REASONS


def answering(question: Question) -> Private:
    """How the question is answered: the word for yes and no, whether a no can be said, and with a reason.

    ``wants``: it wants more than a yes, or nobody says what it wants.
    """
    schema = question.schema or {}
    (word,) = question.approve().payload
    kept: Private = {"ask": question.id, "word": word, "way": question.way}
    kept["no"] = misfit({word: False}, schema) is None
    kept["reasons"] = next((name for name in REASONS if name in question.reject("x").payload), False)
    if not question.approval or misfit({word: True}, schema) is not None:
        kept["wants"] = True
    return kept


def done(event: events.RunFinished) -> TurnDone:
    """The end of the turn."""
    stopped = (event.outcome or {}).get("type") == "cancelled"
    usage = _usage(event.usage or [])
    return TurnDone("incomplete", "stopped_by_the_remote_agent", usage) if stopped else TurnDone(usage=usage)


def _usage(told: list[Json]) -> Usage | None:
    """All that was reported, under the names of the first."""
    counts: Usage | None = None
    for entry in told:
        one = Usage(
            _word(entry.get("provider")),
            _word(entry.get("model")),
            **{name: token_count(entry.get(wire)) for name, wire in _COUNTS.items()},
        )
        counts = one if counts is None else counts.plus(one)
    return counts


_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cached_input_tokens": "cachedInputTokens",
    "reasoning_tokens": "reasoningTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens",
}


def _word(value: Any) -> str:
    return value[:100] if isinstance(value, str) else ""
