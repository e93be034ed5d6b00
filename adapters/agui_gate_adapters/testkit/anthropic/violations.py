"""The errors of the emulated Messages API, in the provider's own words.

Each function returns one `Violation`. Its `type` is what the API puts into `error.type`; `param` and `code` do not
exist here and stay None. Rules "A1" … "A12" are the ids of the wire rules; the others are named by a word: `auth`,
`json`, `model`, `schema`, `thinking` (settings that exclude each other), `server_tool`, `context_length`, `cache`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from agui_gate_adapters.testkit.faults import Fault, Violation
from agui_gate_adapters.testkit.wire import Json

ERROR_TYPES: Final[dict[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}

_WORDS: Final[dict[str, str]] = {
    "authentication_error": "invalid x-api-key",
    "billing_error": "There is an issue with your organization's billing or payment information.",
    "permission_error": "Your API key does not have permission to use the specified resource.",
    "not_found_error": "Not found",
    "request_too_large": "Request exceeds the maximum size",
    "rate_limit_error": (
        "This request would exceed your organization's rate limit of 50,000 input tokens per minute. Please reduce "
        "the prompt length or the maximum tokens requested, or try again later."
    ),
    "api_error": "Internal server error",
    "timeout_error": "The request timed out while processing.",
    "overloaded_error": "Overloaded",
}
_STATUSES: Final = {kind: status for status, kind in ERROR_TYPES.items()}


def body_of(violation: Violation, request_id: str | None = None) -> Json:
    """Return the error object: `{"type": "error", "error": {type, message}, "request_id"}`; streams have no id."""
    told: Json = {"type": "error", "error": {"type": violation.type, "message": violation.message}}
    return told if request_id is None else {**told, "request_id": request_id}


def of_fault(fault: Fault) -> Violation:
    """Return the API's words for a fault. `code` may name another error type, such as `api_error`. Inferred."""
    status = fault.status if fault.kind == "status" else 500
    kind = ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    if fault.code in _WORDS:
        kind = fault.code
    elif fault.kind == "error_event":
        kind = "overloaded_error"
    if fault.kind != "status":
        status = _STATUSES.get(kind, status)
    return Violation("fault", status, fault.message or _WORDS.get(kind, "The request failed."), type=kind)


def refused(rule: str, message: str, status: int = 400) -> Violation:
    """Return a refusal with the error type of its status. The words are the caller's."""
    return Violation(rule, status, message, type=ERROR_TYPES[status])


# -- access ------------------------------------------------------------------------------------------------------


def missing_key() -> Violation:
    """Neither `x-api-key` nor a bearer token. Inferred."""
    return refused("auth", "x-api-key header is required", 401)


def wrong_key(*, bearer: bool) -> Violation:
    """A key other than the one the emulator was told to accept. The key itself is never echoed. Inferred."""
    return refused("auth", "Invalid bearer token" if bearer else "invalid x-api-key", 401)


def missing_version() -> Violation:
    """A12: no `anthropic-version` header."""
    return refused("A12", "anthropic-version: header is required")


def bad_json() -> Violation:
    """The body is not a JSON object. Inferred."""
    return refused("json", "The request body is not valid JSON.")


def unknown_model(model: str) -> Violation:
    """A model that does not exist. Inferred."""
    return refused("model", f"model: {model}", 404)


# -- shape -------------------------------------------------------------------------------------------------------


def missing(path: str) -> Violation:
    """A required member is absent: A12 at the top, A9 for a lost signature."""
    rule = "A9" if path.endswith(".thinking.signature") else "schema" if "." in path else "A12"
    return refused(rule, f"{path}: Field required")


def unknown_member(path: str) -> Violation:
    """A member that the API does not know (A12)."""
    return refused("A12", f"{path}: Extra inputs are not permitted")


def wrong(path: str, complaint: str) -> Violation:
    """A value of the wrong type or out of bounds, in pydantic's words, such as `Input should be a valid string`.

    Inferred.
    """
    return refused("schema", f"{path}: {complaint}")


def bad_pattern(path: str, pattern: str) -> Violation:
    """A6 for the ids of calls; a tool's name otherwise."""
    rule = "A6" if path.endswith(("_use.id", ".tool_use_id")) else "schema"
    return refused(rule, f"{path}: String should match pattern '{pattern}'")


def unknown_tag(path: str, tag: object, expected: Iterable[str]) -> Violation:
    """A `type` that names none of the variants. Inferred."""
    known = ", ".join(f"'{name}'" for name in sorted(expected))
    return wrong(path, f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {known}")


def unknown_role(role: object) -> Violation:
    """A12: a role that the API does not have."""
    if role == "system":
        hint = 'The Messages API accepts a top-level `system` parameter, not "system" as an input message role.'
    else:
        hint = 'Allowed roles are "user" or "assistant"'
    return refused("A12", f'messages: Unexpected role "{role}". {hint}')


def bad_media(message: str) -> Violation:
    """An image or a document that can't be read or had. The words are the caller's."""
    return refused("media", message)


def flagged() -> Violation:
    """What was said led to what the provider doesn't let out. As in anthropics/claude-code#58367."""
    return refused("policy", "Output blocked by content filtering policy")


def no_messages() -> Violation:
    """A12: an empty list of messages."""
    return refused("A12", "messages: at least one message is required")


def empty_message(index: int, role: str) -> Violation:
    """A12: a message without content; the final assistant message may be empty."""
    if role == "user":
        return refused("A12", f"messages.{index}: user messages must have non-empty content")
    text = "all messages must have non-empty content except for the optional final assistant message"
    return refused("A12", f"messages.{index}: {text}")


def misplaced(index: int, kind: str, role: str) -> Violation:
    """A block in a message of the wrong role. Inferred."""
    return refused("schema", f"messages.{index}: `{kind}` blocks can only be in `{role}` messages")


def empty_text(path: str) -> Violation:
    """A11: an empty text block; `path` is `messages` or `system`."""
    return refused("A11", f"{path}: text content blocks must be non-empty")


def blank_text(path: str) -> Violation:
    """A11: a text block of nothing but white space."""
    return refused("A11", f"{path}: text content blocks must contain non-whitespace text")


# The errors of the rules about what belongs together: calls and results (A1 to A5), thinking (A7 to A9), the end.
#
# `index` is that of a message, `where` the path of a block; both as the profile counts them.

_THINKING_DOCS: Final = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


# -- calls and results -------------------------------------------------------------------------------------------


def without_result(index: int, ids: Sequence[str], rule: str = "A1") -> Violation:
    """A1: calls that the next message does not answer; `index` is the assistant message."""
    message = (
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    return refused(rule, message)


def late_results(index: int, count: int) -> Violation:
    """A5: results that other blocks come before; `index` is the user message."""
    message = (
        f"messages.{index}: Did not find {count} `tool_result` block(s) at the beginning of this message. Messages "
        "following `tool_use` blocks must begin with a matching number of `tool_result` blocks."
    )
    return refused("A5", message)


def orphan_result(where: str, tool_use_id: str) -> Violation:
    """A2: a result whose call is not in the message before."""
    message = (
        f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {tool_use_id}. Each `tool_result` block "
        "must have a corresponding `tool_use` block in the previous message."
    )
    return refused("A2", message)


def repeated_id(where: str) -> Violation:
    """A3: a call id that the request has already used, in whichever message."""
    return refused("A3", f"{where}: `tool_use` ids must be unique")


def second_result(where: str, tool_use_id: str) -> Violation:
    """A4: two results for one call."""
    text = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
    return refused("A4", f"{where}: {text}: {tool_use_id}")


def orphan_server_result(where: str, kind: str, tool_use_id: str) -> Violation:
    """A server tool's result without its call before it in the same message. Inferred."""
    message = (
        f"{where}: unexpected `tool_use_id` found in `{kind}` blocks: {tool_use_id}. Each `{kind}` block must have a "
        "corresponding `server_tool_use` block before it."
    )
    return refused("server_tool", message)


def lost_server_result(index: int, name: str, tool_use_id: str) -> Violation:
    """A server tool's call whose result was left out. Inferred."""
    message = (
        f"messages.{index}: `{name}` tool use with id `{tool_use_id}` was found without a corresponding "
        f"`{name}_tool_result` block"
    )
    return refused("server_tool", message)


# -- thinking ----------------------------------------------------------------------------------------------------


def thinking_first(where: str, found: str) -> Violation:
    """A7: the tool loop's assistant message has lost the thinking it began with."""
    message = (
        f"{where}.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, "
        "a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
        "`tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
        f"requirement, disable `thinking`. Please consult our documentation at {_THINKING_DOCS}"
    )
    return refused("A7", message)


def thinking_modified(where: str) -> Violation:
    """A8: blocks of the latest assistant message that are not as they were issued."""
    message = (
        f"{where}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
        "These blocks must remain as they were in the original response."
    )
    return refused("A8", message)


def bad_signature(where: str) -> Violation:
    """A9: a signature that this provider did not make, or not for this text."""
    return refused("A9", f"{where}: Invalid `signature` in `thinking` block")


def bad_data(where: str) -> Violation:
    """A9 for a redacted block."""
    return refused("A9", f"{where}: Invalid `data` in `redacted_thinking` block")


def other_conversation(where: str) -> Violation:
    """A9 for preserved thinking: what comes before the block has changed since."""
    message = (
        f"{where}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the "
        'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
        "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
    )
    return refused("A9", message)


# -- the end of the conversation ---------------------------------------------------------------------------------


def prefill() -> Violation:
    """A10: the last message is the assistant's."""
    message = "This model does not support assistant message prefill. The conversation must end with a user message."
    return refused("A10", message)


def trailing_space() -> Violation:
    """A10 for models that can be prefilled. As in crewAIInc/crewAI#4413."""
    return refused("A10", "messages: final assistant content cannot end with trailing whitespace")
