"""Steps 4 to 6: what the request refers to. State fields first, then emptiness, then items by id and sealed blobs."""

from __future__ import annotations

from collections.abc import Iterator

from agui_gate_adapters.testkit.kinds import HOSTED, awaits_output, kind_of
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.responses import violations as sv
from agui_gate_adapters.testkit.responses.encrypted_reasoning import unseal
from agui_gate_adapters.testkit.responses.profiles import Profile
from agui_gate_adapters.testkit.responses.state import ProviderState, StoredResponse
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_continuation", "check_emptiness", "check_references", "check_sealed", "conversation_id"]


def conversation_id(body: Json) -> str | None:
    """Return the conversation the body names, as a string or as `{"id": …}`."""
    named = body.get("conversation")
    if isinstance(named, dict):
        named = named.get("id")
    return None if named is None else str(named)


def check_continuation(state: ProviderState, body: Json, profile: Profile) -> Iterator[Violation]:
    """Step 4: zero retention, both fields, the conversation and its lock, the previous response."""
    previous, conversation = body.get("previous_response_id"), conversation_id(body)
    if profile.continuation == "refused" and previous is not None:
        yield sv.no_continuation("previous_response_id")
    if profile.zdr and previous is not None:
        yield sv.zero_retention("previous_response_id")
    if profile.zdr and conversation is not None:
        yield sv.zero_retention("conversation")
    if previous is not None and conversation is not None:
        yield sv.exclusive_state()
    if conversation is not None:
        found = state.conversations.get(conversation)
        if found is None:
            yield sv.conversation_not_found(conversation, profile.conversation_param)
        elif found.locked_by is not None:
            yield v.conversation_locked()
    parent = None if previous is None else state.parent(previous)
    if previous is not None and parent is None:
        yield sv.previous_not_found(previous)
    if parent is not None and _too_late(state, parent, profile):
        yield sv.outputs_too_late()


def _too_late(state: ProviderState, parent: StoredResponse, profile: Profile) -> bool:
    """Say whether the response waits for something and has stopped waiting."""
    window = profile.output_window_seconds
    waits = any(awaits_output(i) or kind_of(i) == "mcp_approval_request" for i in parent.response["output"])
    return window is not None and waits and state.clock.now() - parent.created_at > window


def check_emptiness(body: Json) -> Iterator[Violation]:
    """Step 5: R12."""
    if not body["input"] and not any(body.get(f) for f in ("previous_response_id", "conversation", "prompt")):
        yield sv.nothing_to_answer()


def check_references(state: ProviderState, items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Step 6: references, hosted items and bare reasoning must be in the store (R9)."""
    for item in items:
        item_id = item.get("id")
        if item_id is None or not _needs_store(item):
            continue
        known = state.issued.get(item_id)
        if known is None:
            yield sv.item_not_found(item_id, profile.item_missing_status)
        elif not known.stored:
            yield sv.item_not_persisted(item_id, profile.item_missing_status, profile.zdr)


def _needs_store(item: Json) -> bool:
    kind = kind_of(item)
    if kind == "reasoning":
        return not item.get("encrypted_content")
    return kind == "item_reference" or (
        kind in HOSTED and kind != "mcp_list_tools"
    )  # A list of tools is its own value.


def check_sealed(items: list[Json], model: str) -> Iterator[Violation]:
    """Step 6: an encrypted blob must be whole and belong to this item id and this model (R18)."""
    for item in items:
        blob = item.get("encrypted_content")
        if not isinstance(blob, str) or kind_of(item) != "reasoning":
            continue
        content = unseal(blob)
        if content is None or not content.finished or content.model != model:
            yield sv.blob_unverifiable(blob)
        elif item.get("id") not in (None, content.item_id):
            yield sv.blob_of_another_item(str(item["id"]))
