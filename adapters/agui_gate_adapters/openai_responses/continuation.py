"""Servers that speak this API and continue nothing, as far as this process has seen.

A server that keeps no responses refuses `previous_response_id` (llama.cpp), or leaves it out without a word. Then the
model has forgotten everything (LiteLLM before a model without this API). What was seen of an endpoint holds for the
life of the process: a restart asks again, which costs one request.
"""

from agui_gate_adapters.common.failures import log

_seen: set[str] = set()
"""Origins. One process talks to few."""


def continues(origin: str) -> bool:
    """Whether a request to this endpoint may continue another one."""
    return origin not in _seen


def note(origin: str) -> None:
    """Remember that it may not, and say so once."""
    if origin not in _seen:
        _seen.add(origin)
        log.warning("%s does not continue responses: every request sends everything (as with mode='stateless')", origin)
