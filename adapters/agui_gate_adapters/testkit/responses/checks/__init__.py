"""Every rule the emulated Responses API holds a request to, in its order, without any I/O.

`check_request` is what the HTTP routes use, and it is just as usable on an adapter's outgoing body in a unit test:

    state = ProviderState()
    assert check_request(state, {"model": "m", "input": "hello"}) == []

It returns every violation of the first step that has any, in order; the first of them is what the API would answer.
Later steps are not run then, since they may rely on what the earlier one guarantees.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from agui_gate_adapters.testkit.responses.checks import graph, lookup
from agui_gate_adapters.testkit.responses.checks.body import check_envelope, check_fields, check_types
from agui_gate_adapters.testkit.responses.checks.items import check_items
from agui_gate_adapters.testkit.responses.checks.media import check_history_names, check_media
from agui_gate_adapters.testkit.responses.checks.tools import check_tool_choice, check_tools
from agui_gate_adapters.testkit.responses.profiles import PROFILES, Profile
from agui_gate_adapters.testkit.responses.state import ProviderState
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_request", "context_of", "input_items"]


def check_request(
    state: ProviderState,
    body: Json,
    profile: Profile = PROFILES["openai"],
    *,
    models: frozenset[str] | None = None,
) -> list[Violation]:
    """Return what the API would refuse about `POST /responses` with this body; an empty list means accepted.

    Nothing is changed: neither `state` nor `body`.
    """
    return next((found for found in map(list, _steps(state, body, profile, models)) if found), [])


def context_of(state: ProviderState, body: Json) -> list[Json]:
    """Return the items that the request continues from; empty without a state field or with an unknown one."""
    conversation = lookup.conversation_id(body)
    if conversation is not None:
        found = state.conversations.get(conversation)
        return [] if found is None else found.items
    previous = state.parent(str(body.get("previous_response_id")))
    return [] if previous is None else previous.context


def input_items(body: Json) -> list[Json]:
    """Return the input as a list of items; a string is one user message."""
    given = body["input"]
    if not isinstance(given, str):
        return list(given)
    return [{"type": "message", "role": "user", "content": given}] if given else []


def _steps(
    state: ProviderState, body: Json, profile: Profile, models: frozenset[str] | None
) -> Iterator[Iterator[Violation]]:
    """Yield the steps lazily, so that each runs only after the one before it found nothing."""
    yield check_envelope(body, models)
    yield check_types(body)
    yield check_fields(body)
    given, tools = body["input"], body.get("tools") or []
    yield chain(
        check_items(given, profile) if isinstance(given, list) else iter(()),
        check_tools(tools, profile),
        check_tool_choice(body.get("tool_choice"), tools),
    )
    yield chain(check_media(input_items(body), profile), check_history_names(input_items(body), profile))
    yield lookup.check_continuation(state, body, profile)
    yield lookup.check_emptiness(body)
    items, context = input_items(body), context_of(state, body)
    yield lookup.check_references(state, items, profile)
    yield lookup.check_sealed(items, str(body["model"]))
    yield graph.check_duplicates(context, items)
    yield graph.check_reasoning(state, context, items, profile)
    yield graph.check_replay(context, items, profile)
    merged = context + resolved(state, items)
    yield graph.check_pairs(merged)
    yield chain(graph.check_approvals(merged, profile), graph.check_tool_lists(merged, items))
    yield graph.check_azure(items, profile)


def resolved(state: ProviderState, items: list[Json]) -> list[Json]:
    """Replace references by the items that they name."""
    return [state.issued[item["id"]].item if item.get("type") == "item_reference" else item for item in items]
