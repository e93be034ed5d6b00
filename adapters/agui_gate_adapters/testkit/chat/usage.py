"""Usage in Chat's words."""

from __future__ import annotations

from agui_gate_adapters.testkit.script import Turn
from agui_gate_adapters.testkit.wire import Json

__all__ = ["usage_of"]


def usage_of(turn: Turn, message: Json, prompt_tokens: int) -> Json:
    """Return what the script says, translated if it is in the Responses API's words. Else it is an estimate: four
    characters a token, sixteen for a hidden thought.
    """
    given = turn.usage
    if given is not None and "prompt_tokens" in given:
        return given
    if given is not None:
        read, thought = given.get("input_tokens_details") or {}, given.get("output_tokens_details") or {}
        return _usage(
            given.get("input_tokens", 0),
            given.get("output_tokens", 0),
            cached=read.get("cached_tokens", 0),
            reasoning=thought.get("reasoning_tokens", 0),
        )
    reasoning = 16 * sum(item["type"] == "reasoning" for item in turn.output)
    calls = "".join(str(call["function"]) for call in message.get("tool_calls") or ())
    letters = len(message["content"] or "") + len(message["refusal"] or "") + len(calls)
    return _usage(prompt_tokens, letters // 4 + reasoning, reasoning=reasoning)


def _usage(prompt: int, completion: int, *, cached: int = 0, reasoning: int = 0) -> Json:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
    }
