"""Every rule the emulated Chat Completions API holds a request to, in its order, without any I/O.

    assert check_chat_request({"model": "m", "messages": [{"role": "user", "content": "hello"}]}) == []

It returns every violation of the first step that has any, in order; the first of them is what the API would answer.
The API has no state: a request carries its whole history.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from agui_gate_adapters.testkit.chat.checks.body import check_envelope, check_members
from agui_gate_adapters.testkit.chat.checks.media import check_media
from agui_gate_adapters.testkit.chat.checks.messages import (
    check_calls,
    check_content,
    check_roles,
    check_shapes,
)
from agui_gate_adapters.testkit.chat.checks.pairs import check_order, check_pairs, check_reasoning
from agui_gate_adapters.testkit.chat.checks.tools import check_tools
from agui_gate_adapters.testkit.chat.profiles import CHAT_PROFILES, ChatProfile
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_chat_request"]


def check_chat_request(
    body: Json, profile: ChatProfile = CHAT_PROFILES["openai"], *, models: frozenset[str] | None = None
) -> list[Violation]:
    """Return what the API would refuse about `POST /chat/completions` with this body; empty means accepted."""
    return next((found for found in map(list, _steps(body, profile, models)) if found), [])


def _steps(body: Json, profile: ChatProfile, models: frozenset[str] | None) -> Iterator[Iterator[Violation]]:
    """Yield the steps lazily, so that each runs only after the one before it found nothing."""
    yield check_envelope(body, models)
    yield check_members(body, profile)
    messages = body["messages"]
    yield check_roles(messages, profile)
    yield chain(check_shapes(messages, profile), check_calls(messages, profile))
    yield check_media(messages, profile)
    yield check_tools(body, profile)
    yield check_pairs(messages, profile)
    yield check_order(messages, profile)
    yield check_reasoning(messages, profile)
    yield check_content(messages, profile)
