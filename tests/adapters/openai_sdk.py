"""What is the same for the two adapters that use the SDK of OpenAI."""

import msgspec
import openai

from agui_gate.errors import ContextLength, ProviderAuth, ProviderRejected, RateLimited

from .support import Json

OPENAI: Json = {
    "sdk": "openai",
    "client": openai.AsyncOpenAI,
    "blocking_client": openai.OpenAI,
    "install": "pip install openai",
    "variables": "OPENAI",
    "host": "api.openai.com",
    "base_path": "/v1",
    "unknown_model": {"error": {"code": "model_not_found", "message": "x"}},
    "reasons": {"max_output_tokens": "max_output_tokens", "content_filter": "content_filter"},
}
HOPELESS: tuple[tuple[Json, type[Exception], str | None], ...] = (
    ({"kind": "status", "status": 401}, ProviderAuth, None),
    ({"kind": "status", "status": 403}, ProviderAuth, None),
    ({"kind": "status", "status": 400, "code": "context_length_exceeded"}, ContextLength, None),
    ({"kind": "status", "status": 400, "code": "invalid_value"}, ProviderRejected, None),
    ({"kind": "status", "status": 404, "code": "model_not_found"}, ProviderRejected, None),
    ({"kind": "status", "status": 429, "code": "insufficient_quota"}, RateLimited, None),
    ({"kind": "failed", "after_events": 1, "code": "invalid_prompt"}, ProviderRejected, None),
)


def framed(*payloads: Json) -> bytes:
    """A body of these events."""
    return b"".join(b"data: %s\n\n" % msgspec.json.encode(payload) for payload in payloads)
