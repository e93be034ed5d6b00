"""The catalogue of refusals of the Responses API alone: what depends on what the provider remembers.

R1 to R10, R12, R18, R19, R23 and R24; what Azure hosts add; and the two strict rules of our own.
"""

from __future__ import annotations

from typing import Literal

from agui_gate_adapters.testkit.faults import Violation

StateField = Literal["previous_response_id", "conversation"]


def no_output(label: str, call_id: str) -> Violation:
    """R1 (functions) and R1b (other kinds): a call without an output anywhere in the merged list."""
    rule = "R1" if label == "function call" else "R1b"
    return Violation(rule, 400, f"No tool output found for {label} {call_id}.", "input")


def no_call(label: str, call_id: str) -> Violation:
    """R2: an output whose call is neither in the context nor in the input."""
    return Violation("R2", 400, f"No tool call found for {label} output with call_id {call_id}.", "input")


def duplicate_item(item_id: str) -> Violation:
    """R3: one item id twice in context + input."""
    message = f"Duplicate item found with id {item_id}. Remove duplicate items from your input and try again."
    return Violation("R3", 400, message, "input")


def reasoning_alone(item_id: str) -> Violation:
    """R4: reasoning that is not followed by the item it was issued with."""
    message = f"Item '{item_id}' of type 'reasoning' was provided without its required following item."
    return Violation("R4", 400, message, "input")


def reasoning_missing(item_id: str, kind: str, reasoning_id: str) -> Violation:
    """R5: an item that kept its id although its reasoning is not before it."""
    message = f"Item '{item_id}' of type '{kind}' was provided without its required 'reasoning' item: '{reasoning_id}'."
    return Violation("R5", 400, message, "input")


def previous_not_found(response_id: str) -> Violation:
    """R6: unknown, expired, deleted, never stored, or cut off before it was complete."""
    message = f"Previous response with id '{response_id}' not found."
    return Violation("R6", 400, message, "previous_response_id", "previous_response_not_found")


def zero_retention(field: StateField) -> Violation:
    """R6b: an organisation with zero data retention has no server-side state."""
    subject = "Previous response" if field == "previous_response_id" else "Conversation ID"
    message = f"{subject} cannot be used for this organization due to Zero Data Retention."
    return Violation("R6b", 400, message, field, "unsupported_parameter")


def no_continuation(field: StateField) -> Violation:
    """R6c: a server that keeps nothing (llama.cpp's words)."""
    return Violation("R6c", 400, f"llama.cpp does not support '{field}'.")


def no_conversations() -> Violation:
    """R6c: such a server has no such route. Seen there."""
    return Violation("R6c", 404, "Not Found")


def conversation_not_found(conversation_id: str, param: str | None) -> Violation:
    """R7: unknown conversations are never created on the fly."""
    return Violation("R7", 404, f"Conversation with id '{conversation_id}' not found.", param)


def item_not_found(item_id: str, status: int) -> Violation:
    """R9, plain: the store never had this id."""
    return Violation("R9", status, f"Item with id '{item_id}' not found.", "input")


def item_not_persisted(item_id: str, status: int, zdr: bool) -> Violation:
    """R9: the id was issued by a response that was not stored."""
    if zdr:
        tail = (
            "Items are not persisted for Zero Data Retention organizations. "
            "Remove this item from your input and try again."
        )
    else:
        tail = (
            "Items are not persisted when `store` is set to false. "
            "Try again with `store` set to true, or remove this item from your input."
        )
    return Violation("R9", status, f"Item with id '{item_id}' not found. {tail}", "input")


def exclusive_state() -> Violation:
    """R10: both continuation fields at once. The shortened field name is the API's own."""
    message = "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' or 'conversation'."
    return Violation("R10", 400, message, None, "mutually_exclusive_parameters")


def nothing_to_answer() -> Violation:
    """R12: empty input and nothing to continue."""
    message = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided."
    return Violation("R12", 400, message, None, "missing_required_parameter")


def blob_of_another_item(item_id: str) -> Violation:
    """R18: encrypted reasoning under an id that it was not issued with."""
    reason = "Reason: Encrypted content item_id did not match the target item id."
    message = f"The encrypted content for item {item_id} could not be verified. {reason}"
    return Violation("R18", 400, message, None, "invalid_encrypted_content")


def blob_unverifiable(blob: str) -> Violation:
    """R18, older wording: altered, unfinished, foreign, or made by another model."""
    shown = blob if len(blob) < 12 else f"{blob[:4]}...{blob[-4:]}"
    return Violation(
        "R18", 400, f"The encrypted content {shown} could not be verified.", None, "invalid_encrypted_content"
    )


def approvals_missing(request_ids: list[str]) -> Violation:
    """R19: provider-side MCP approval requests that nobody answered."""
    message = f"The following MCP approval requests do not have an approval: {', '.join(request_ids)}"
    return Violation("R19", 400, message, "input")


def response_not_found(response_id: str) -> Violation:
    """R23: retrieving, cancelling or deleting what was never stored, a cut foreground stream above all."""
    return Violation("R23", 404, f"Response with id '{response_id}' not found.")


def cannot_cancel() -> Violation:
    """R24: only background responses can be cancelled; a foreground one ends when its connection closes."""
    message = "Responses can only be cancelled if they were created with background=true."
    return Violation("R24", 400, message)


def cannot_replay() -> Violation:
    """Replaying events works for background responses alone. Inferred."""
    message = "Responses can only be streamed again if they were created with background=true."
    return Violation("schema", 400, message, "stream")


def continuation_identities() -> Violation:
    """Azure and Foundry: sealed reasoning of more than one response in one stateless request. Inferred."""
    return Violation("azure", 400, "Conflicting authenticated continuation identities", "input", "invalid_value")


def outputs_too_late() -> Violation:
    """Foundry: ten minutes after a response with calls, their outputs are no longer taken. Inferred."""
    return Violation("foundry", 400, "The run has expired: its tool outputs can no longer be submitted.", "input")


def invalid_payload() -> Violation:
    """Foundry's schema check: reasoning without an id. Inferred."""
    message = "The provided data does not match the expected schema"
    return Violation("foundry", 400, message, "input", "invalid_payload")


def second_output(call_id: str) -> Violation:
    """Strict: more outputs than calls for one call id."""
    message = f"Emulator: call {call_id} already has an output; send exactly one output per call."
    return Violation("strict", 400, message, "input", "emulator_strict")


def second_approval(request_id: str) -> Violation:
    """Strict: an MCP approval request that was answered already is answered again, which may run its call again."""
    message = f"Emulator: approval request {request_id} already has an answer; send exactly one."
    return Violation("strict", 400, message, "input", "emulator_strict")


def unlisted_server(label: str) -> Violation:
    """Strict: an approval request is replayed without the list of tools that it refers to."""
    message = f"Emulator: send the mcp_list_tools item of server '{label}' along with its approval request."
    return Violation("strict", 400, message, "input", "emulator_strict")


def replayed_call(call_id: str) -> Violation:
    """Strict: a call that the context already holds was sent again, without its item id."""
    message = (
        f"Emulator: the context already holds call {call_id}; do not send server-issued calls again when continuing."
    )
    return Violation("strict", 400, message, "input", "emulator_strict")
