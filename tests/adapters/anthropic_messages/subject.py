"""What the tests of every adapter have to know about this one."""

import anthropic

from agui_gate.errors import ContentRefused, ContextLength, ProviderAuth, ProviderRejected, RateLimited
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from tests.adapters.subject import Subject, Way
from tests.adapters.support import Json

from .support import ADAPTIVE, ENABLED, Thread, ended, frame, started, text


def said(words: str) -> bytes:
    """A whole stream."""
    return b"".join(map(frame, [started(), *text(0, words), *ended()]))


REFUSED: list[tuple[int, str, type[Exception], str]] = [
    (401, "invalid x-api-key", ProviderAuth, "ANTHROPIC_API_KEY"),
    (403, "no", ProviderAuth, "ANTHROPIC_API_KEY"),
    (402, "pay", ProviderRejected, "billing_error"),
    (404, "model: sk-secret", ProviderRejected, "does not know the model 'some-model'"),
    (404, "Not found", ProviderRejected, "no Messages API at this address"),
    (413, "Request exceeds the maximum size", ContentRefused, "request_too_large"),
    (400, "prompt is too long: 3 tokens > 2 maximum", ContextLength, "longer"),
    (400, "input length and `max_tokens` exceed context limit: 3 > 2", ContextLength, "longer"),
    (400, "Your credit balance is too low to access the API", RateLimited, "credit"),
    (400, "tools.0.custom.name: String should match", ProviderRejected, "at tools.0.custom.name"),
    (400, "temperature: Extra inputs are not permitted", ProviderRejected, "at temperature"),
    (400, "Bob said: sk-secret", ProviderRejected, r"\(400\)"),
]

SUBJECT = Subject(
    name="anthropic_messages",
    make=AnthropicMessages,
    thread=Thread,
    sdk="anthropic",
    client=anthropic.AsyncAnthropic,
    blocking_client=anthropic.Anthropic,
    install="pip install 'agui-gate[anthropic]'",
    variables="ANTHROPIC",
    no_variables=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_CONFIG_DIR", "ANTHROPIC_FEDERATION_RULE_ID"),
    origin="anthropic-messages",
    host="api.anthropic.com",
    base_path="",
    path="/v1/messages",
    said=said,
    hopeless=tuple(
        ({"kind": "status", "status": status, "message": message}, error, says)
        for status, message, error, says in REFUSED
    ),
    unknown_model={"type": "error", "error": {"type": "not_found_error", "message": "model: x"}},
    reasons={"max_output_tokens": "max_tokens", "content_filter": "refusal"},
)


_SAME: Json = {"text_after": 4, "counted_as": "anthropic"}


def way(profile: str, thinking: Json | None) -> Way:
    """At this kind of server; the reasoning of a script is only said with thinking."""
    words = f"{profile}-{thinking['type'] if thinking else 'plain'}"
    return Way(SUBJECT, words, {"anthropic": profile}, {"thinking": thinking}, quiet=1 if thinking else 2, **_SAME)


PLAIN = Way(SUBJECT, quiet=2, **_SAME)
WAYS = [way("anthropic", thinking) for thinking in (None, ENABLED, ADAPTIVE)]
EVERY_WAY = [*WAYS, *(way("older", thinking) for thinking in (None, ENABLED, ADAPTIVE))]
