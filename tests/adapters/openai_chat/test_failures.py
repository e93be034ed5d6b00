"""Classification, as a table: what a refusal means, in the words of each server (C1-C7, B19)."""

import pytest

from agui_gate.errors import ContextLength, ProviderAuth, ProviderRejected, ProviderUnavailable, RateLimited
from agui_gate_adapters.common.failures import ErrorReply, Kind, classify_code, classify_status
from agui_gate_adapters.openai_chat.failures import api_of

API = api_of("gpt")
BUG, FATAL = Kind.MISMATCH, Kind.FATAL
FOLLOW = "must be followed by tool messages responding to each"
TABLE = [
    (400, "", f"An assistant message with 'tool_calls' {FOLLOW} 'tool_call_id'. The …", BUG, ProviderRejected),
    (400, "", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with …", BUG,
     ProviderRejected),
    (400, "", "Invalid parameter: Duplicate value for 'tool_call_id' of 'call_a', in messages[7] and …", BUG,
     ProviderRejected),
    (400, "invalid_parameter_error", f'<400> InternalError.Algo.InvalidParameter: An assistant message with '
     f'"tool_calls" {FOLLOW} "tool_call_id". … message[15].role', BUG, ProviderRejected),
    (400, "invalid_request_error", "… (insufficient tool messages following tool_calls …)", BUG, ProviderRejected),
    (400, "invalid_request_error", "Messages with role 'tool' must be a response to a preceding message with …",
     BUG, ProviderRejected),
    (400, "", "Not the same number of function calls and responses", BUG, ProviderRejected),
    (400, "invalid_request_message_order", "Unexpected role 'user' after role 'tool'", BUG, ProviderRejected),
    (422, "", "Tool call id was X but must be a-z, A-Z, 0-9, with a length of 9.", BUG, ProviderRejected),
    (400, "", "tool call result does not follow tool call (2013)", BUG, ProviderRejected),
    (400, "", "The `reasoning_content` in the thinking mode must be passed back to the API.", BUG, ProviderRejected),
    (400, "", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", BUG,
     ProviderRejected),
    (400, "context_length_exceeded", "", FATAL, ContextLength),
    (400, "", "This model's maximum context length is 8192 tokens. However, you requested 9000", FATAL, ContextLength),
    (400, "", "The decoder prompt (length 9) is longer than the maximum model length of 8.", FATAL, ContextLength),
    (400, "exceed_context_size_error", "the request exceeds the available context size", FATAL, ContextLength),
    (400, "", "input length exceeds the context length", FATAL, ContextLength),
    (400, "", "Prompt contains 9 tokens, too large for model with 8 maximum context length", FATAL, ContextLength),
    (400, "", "Invalid request: Your request exceeded model token limit: 131072", FATAL, ContextLength),
    (400, "", "Range of input length should be [1, 30720]", FATAL, ContextLength),
    (400, "", "invalid params, context window exceeds limit (2013)", FATAL, ContextLength),
    (413, "", "too many tokens", FATAL, ContextLength),
    (401, "invalid_api_key", "", FATAL, ProviderAuth),
    (403, "", "", FATAL, ProviderAuth),
    (400, "invalid_value", "Invalid value for 'content': expected a string, got null.", FATAL, ProviderRejected),
    (422, "", "", FATAL, ProviderRejected),
    (408, "", "", Kind.AMBIGUOUS, ProviderUnavailable),
    (429, "rate_limit_exceeded", "", Kind.TRANSIENT, RateLimited),
    (429, "insufficient_quota", "", FATAL, RateLimited),
    (500, "", "", Kind.AMBIGUOUS, ProviderUnavailable),
    (503, "", "", Kind.TRANSIENT, ProviderUnavailable),
]  # fmt: skip


@pytest.mark.parametrize(("status", "code", "message", "kind", "error"), TABLE)
def test_replies(status: int, code: str, message: str, kind: Kind, error: type[Exception]) -> None:
    failure = classify_status(status, ErrorReply(code, message), API, model="gpt")
    assert (failure.kind, type(failure.error)) == (kind, error)
    if status in (400, 422):
        assert type(classify_code(ErrorReply(code, message), API).error) in (error, ProviderUnavailable)


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (404, "model_not_found", "The model `gpt` does not exist"),
        (404, "", "The model `gpt` does not exist."),
        (404, "", 'model "gpt" not found, try pulling it first'),
        (404, "resource_not_found_error", "Not found the model gpt or Permission denied"),
        (404, "DeploymentNotFound", "The API deployment for this resource does not exist."),
        (400, "invalid_model", "Invalid model: gpt"),
        (400, "", "Model Not Exist"),
        (400, "", "gpt is not a valid model ID"),
    ],
)
def test_unknown_models_are_named(status: int, code: str, message: str) -> None:
    assert "'gpt'" in classify_status(status, ErrorReply(code, message), API, model="gpt").error.message


def test_a_wrong_address_is_said() -> None:
    message = classify_status(404, ErrorReply("", "<html>"), API, model="gpt").error.message
    assert "Chat Completions API" in message
    assert "base_url" in message
