"""Classification, as a table: what a reply means, whatever its wording around the known part (B19, R1-R25)."""

import pytest

from agui_gate.errors import (
    ContentRefused,
    ContextLength,
    MediaRefused,
    ProviderAuth,
    ProviderRejected,
    ProviderUnavailable,
    RateLimited,
)
from agui_gate_adapters.common.failures import ErrorReply, Kind, classify_code, classify_status
from agui_gate_adapters.openai_responses.failures import API

LOST, BUG, FATAL = Kind.FORGOTTEN, Kind.MISMATCH, Kind.FATAL
TABLE = [
    (400, "", "No tool output found for function call call_X.", "input", BUG, ProviderRejected),
    (400, "", "No tool output found for custom tool call call_X.", "input", BUG, ProviderRejected),
    (400, "", "No tool call found for function call output with call_id call_X.", "input", BUG, ProviderRejected),
    (400, "", "Duplicate item found with id fc_X. Remove duplicate items from", "input", BUG, ProviderRejected),
    (400, "", "Item 'rs_X' of type 'reasoning' was provided without its required following item.", "", BUG,
     ProviderRejected),
    (400, "", "Item 'fc_X' of type 'x' was provided without its required 'reasoning' item: 'rs_Y'.", "", BUG,
     ProviderRejected),
    (400, "invalid_value", "Conflicting authenticated continuation identities", "input", BUG, ProviderRejected),
    (400, "previous_response_not_found", "", "previous_response_id", LOST, ProviderRejected),
    (404, "", "Previous response with id 'resp_X' not found.", "", LOST, ProviderRejected),
    (400, "unsupported_parameter", "… cannot be used for this organization due to Zero Data Retention.",
     "previous_response_id", Kind.UNCONTINUED, ProviderRejected),
    (400, "", "llama.cpp does not support 'previous_response_id'.", "", Kind.UNCONTINUED, ProviderRejected),
    (404, "", "Conversation with id 'conv_X' not found.", "", LOST, ProviderRejected),
    (404, "", "no such thing", "conversation_id", LOST, ProviderRejected),
    (404, "", "Item with id 'rs_X' not found. Items are not persisted when `store` is set to false.", "", LOST,
     ProviderRejected),
    (400, "invalid_encrypted_content", "", "", LOST, ProviderRejected),
    (400, "", "The encrypted content gAAA...DQ== could not be verified.", "", LOST, ProviderRejected),
    (400, "conversation_locked", "Another process is", "conversation", Kind.LOCKED, ProviderUnavailable),
    (400, "unknown_parameter", "Unknown parameter: 'conversation'.", "conversation", FATAL, ProviderRejected),
    (400, "mutually_exclusive_parameters", "Mutually exclusive parameters", "", FATAL, ProviderRejected),
    (400, "context_length_exceeded", "", "", FATAL, ContextLength),
    (400, "", "Your input exceeds the context window of this model.", "", FATAL, ContextLength),
    (413, "", "maximum context length is 8192 tokens", "", FATAL, ContextLength),
    (401, "invalid_api_key", "", "", FATAL, ProviderAuth),
    (403, "", "", "", FATAL, ProviderAuth),
    (404, "model_not_found", "The model `gpt` does not exist", "", FATAL, ProviderRejected),
    (404, "", "<html>", "", FATAL, ProviderRejected),
    (422, "", "", "", FATAL, ProviderRejected),
    (408, "", "", "", Kind.AMBIGUOUS, ProviderUnavailable),
    (409, "", "", "", Kind.AMBIGUOUS, ProviderUnavailable),
    (429, "rate_limit_exceeded", "", "", Kind.TRANSIENT, RateLimited),
    (429, "insufficient_quota", "", "", FATAL, RateLimited),
    (500, "", "", "", Kind.AMBIGUOUS, ProviderUnavailable),
    (503, "", "", "", Kind.TRANSIENT, ProviderUnavailable),
    (504, "", "", "", Kind.AMBIGUOUS, ProviderUnavailable),
]  # fmt: skip


@pytest.mark.parametrize(("status", "code", "message", "param", "kind", "error"), TABLE)
def test_replies(status: int, code: str, message: str, param: str, kind: Kind, error: type[Exception]) -> None:
    failure = classify_status(status, ErrorReply(code, message, param), API, model="gpt")
    assert (failure.kind, type(failure.error)) == (kind, error)


def test_the_model_and_the_place_are_named_and_nothing_else() -> None:
    assert "'gpt'" in classify_status(404, ErrorReply("model_not_found"), API, model="gpt").error.message
    assert "base_url" in classify_status(404, ErrorReply("", "<html>"), API, model="gpt").error.message
    told = classify_status(400, ErrorReply("invalid_type", "Bob's secret", "input[1].summary"), API).error.message
    assert told == "The provider refuses the request (400, code invalid_type, at input[1].summary)."
    told = classify_status(400, ErrorReply("Bob's secret", "x", "Bob: secret"), API).error.message
    assert told == "The provider refuses the request (400)."


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("", ProviderUnavailable),
        ("server_error", ProviderUnavailable),
        ("something_new", ProviderUnavailable),
        ("rate_limit_exceeded", RateLimited),
        ("insufficient_quota", RateLimited),
        ("invalid_prompt", ContentRefused),
        ("image_too_large", MediaRefused),
        ("context_length_exceeded", ContextLength),
        ("invalid_api_key", ProviderAuth),
    ],
)
def test_errors_inside_a_stream(code: str, error: type[Exception]) -> None:
    assert type(classify_code(ErrorReply(code), API).error) is error
