"""Strictness profiles: how the hosts that speak the Responses API differ in what they refuse.

`openai` is the reference. `azure_v1` and `foundry` add what Azure hosts were seen to refuse. `compat_lenient` is the
typical compatible server: state and pairing are checked, fine points of shape are not. `llama_cpp` and `litellm` are
servers that continue nothing: one refuses to, the other doesn't say so. Every field can be overridden
one by one: `msgspec.structs.replace(PROFILES["openai"], …)`.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

ProfileName = Literal["openai", "azure_v1", "foundry", "compat_lenient", "llama_cpp", "litellm"]


class Profile(msgspec.Struct, frozen=True):
    """What one kind of host insists on."""

    name: str
    unknown_members: bool = True
    """Refuse unknown or null members inside items (R13)."""
    id_shape: bool = True
    """Refuse item ids of the wrong prefix, characters or length (R16)."""
    reasoning_graph: bool = True
    """Refuse half of a stored reasoning group (R4, R5)."""
    explicit_item_type: bool = False
    """Refuse messages that carry only a role (R20 with an empty value)."""
    reasoning_id_required: bool = False
    """Refuse reasoning without an id (`invalid_payload`)."""
    single_sealed_turn: bool = False
    """Refuse sealed reasoning of more than one response in a stateless request."""
    item_missing_status: int = 404
    """HTTP status of R9."""
    conversation_param: str | None = None
    """`param` of R7."""
    output_window_seconds: float | None = None
    """Refuse to continue a response that waits for outputs or approvals after so long."""
    continuation: Literal["kept", "refused", "dropped"] = "kept"
    """What becomes of `previous_response_id` and of conversations. They are refused as llama.cpp does it (R6c), or
    dropped without a word as by LiteLLM before a model without this API. That also leaves nulls out of what it streams.
    """
    describes_models: bool = True
    """Answer `GET /models/{id}`; many servers have no such route."""
    zdr: bool = False
    """Zero data retention: nothing is stored, and state fields are refused (R6b)."""
    media: bool = True
    """Refuse attachments that can't be read or had."""
    call_names: bool = True
    """Refuse names of calls in the history that no tool can have; known of Chat, and by analogy here."""
    reject_call_id_replay: bool = True
    """Strict: refuse a server-issued call that is sent again without its id when continuing."""
    reasoning_groups_unstored: bool = True
    """Strict: hold R4 and R5 for ids of unstored responses too, where the real API was seen to be lenient."""


_LENIENT: Final = Profile(
    "compat_lenient",
    unknown_members=False,
    id_shape=False,
    reasoning_graph=False,
    reject_call_id_replay=False,
    reasoning_groups_unstored=False,
)

PROFILES: Final[dict[ProfileName, Profile]] = {
    "openai": Profile("openai"),
    "azure_v1": Profile("azure_v1", single_sealed_turn=True, item_missing_status=400),
    "foundry": Profile(
        "foundry",
        explicit_item_type=True,
        reasoning_id_required=True,
        single_sealed_turn=True,
        item_missing_status=400,
        conversation_param="conversation_id",
        output_window_seconds=600,
    ),
    "compat_lenient": _LENIENT,
    "llama_cpp": msgspec.structs.replace(_LENIENT, name="llama_cpp", continuation="refused", describes_models=False),
    "litellm": msgspec.structs.replace(_LENIENT, name="litellm", continuation="dropped"),
}
