"""What a provider's "no" means: the error a person sees, and what may be tried about it.

Classification uses the HTTP status, the error's `code`, and, where there is no code, a part of its message that has
been stable across vendors. None of the provider's own words reach the error: they may quote the conversation, so they
only go to the debug log.
"""

import logging
import re
from enum import Enum

from agui_gate.errors import (
    ContextLength,
    ProviderAuth,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
    RateLimited,
)

log = logging.getLogger("agui_gate.adapters")


class Kind(Enum):
    """What may help, as long as nothing of the turn was shown."""

    FATAL = "fatal"
    TRANSIENT = "transient"
    """The same request again; the provider surely did not act on this one."""
    AMBIGUOUS = "ambiguous"
    """As transient, but the provider may have acted: never into the same conversation (items could be there twice)."""
    LOCKED = "locked"
    """Another response is being written to this conversation."""
    FORGOTTEN = "forgotten"
    """The provider lost what we refer to, or may not use it: send everything."""
    MISMATCH = "mismatch"
    """Calls, outputs or reasoning do not fit together there. Ours is a bug then; sending everything heals it."""


class Failure(Exception):
    """A `ProviderError` together with its `Kind`. ``retry_after`` is in seconds, None when the provider named none."""

    def __init__(self, error: ProviderError, kind: Kind = Kind.FATAL, retry_after: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.kind = kind
        self.retry_after = retry_after


_FORGOTTEN_CODES = frozenset({"previous_response_not_found", "conversation_not_found", "invalid_encrypted_content"})
_FORGOTTEN = re.compile(
    r"previous response with id\b.*\bnot found|conversation with id\b.*\bnot found|^item with id\b.*\bnot found"
    r"|zero data retention|cannot be used for this organization"
    r"|encrypted content\b.*\bcould not be verified",
    re.IGNORECASE | re.DOTALL,
)
_MISMATCH = re.compile(
    r"no tool output found|no [\w ]*output found for"
    r"|no tool call found|duplicate item found|was provided without its required"
    r"|conflicting authenticated continuation",
    re.IGNORECASE,
)
_CONTEXT = re.compile(r"context window|maximum context length|context length|prompt is too long", re.IGNORECASE)
_SAFE_TOKEN = re.compile(r"[A-Za-z0-9_.\[\]]{1,64}")


def classify_status(
    status: int,
    code: str = "",
    message: str = "",
    param: str = "",
    *,
    model: str = "",
    retry_after: float | None = None,
) -> Failure:
    """The failure that an HTTP error reply means. ``code``, ``message`` and ``param`` are "" where there are none."""
    log.debug("provider replied %s: code=%r param=%r message=%r", status, code, param, message)
    if status in (400, 404):
        known = _conversation_failure(code, message, param)
        if known is not None:
            return known
    if status in (401, 403):
        return Failure(ProviderAuth(f"The provider does not accept the API key for this request ({status})."))
    if status == 429:
        return _rate_limit(code, retry_after)
    if status in (408, 409) or status >= 500:
        kind = Kind.TRANSIENT if status == 503 else Kind.AMBIGUOUS
        return Failure(ProviderUnavailable(f"The provider is not available right now ({status})."), kind, retry_after)
    if status == 404:
        return Failure(_not_found(code, message, model))
    if code == "context_length_exceeded" or _CONTEXT.search(message):
        return Failure(_too_long())
    return Failure(ProviderRejected(f"The provider refuses the request ({_described(status, code, param)})."))


def classify_code(code: str = "", message: str = "") -> Failure:
    """The failure that an error inside a stream means: an `error` event, or a failed response's error."""
    log.debug("provider failed the response: code=%r message=%r", code, message)
    known = _conversation_failure(code, message, "")
    if known is not None:
        return known
    if code in ("rate_limit_exceeded", "insufficient_quota", "429"):
        return _rate_limit(code, None)
    if code in ("invalid_api_key", "authentication_error", "permission_denied", "401", "403"):
        return Failure(ProviderAuth("The provider does not accept the API key for this request."))
    if code == "context_length_exceeded" or _CONTEXT.search(message):
        return Failure(_too_long())
    if code.startswith(("invalid_", "unsupported_", "image_", "empty_image")) or "content_policy" in code:
        return Failure(ProviderRejected(f"The provider refuses the request ({_described(None, code, '')})."))
    return Failure(ProviderUnavailable("The provider failed while it answered."), Kind.AMBIGUOUS)


def unreachable(detail: str, *, sent: bool) -> Failure:
    """No reply. ``sent`` says whether the request may have arrived."""
    return Failure(ProviderUnavailable(detail), Kind.AMBIGUOUS if sent else Kind.TRANSIENT)


def _conversation_failure(code: str, message: str, param: str) -> Failure | None:
    if code == "conversation_locked":
        return Failure(ProviderUnavailable("The conversation is busy at the provider."), Kind.LOCKED)
    lost = param in ("previous_response_id", "conversation", "conversation_id") and code != "unknown_parameter"
    if code in _FORGOTTEN_CODES or lost or _FORGOTTEN.search(message):
        return Failure(ProviderRejected("The provider no longer has this conversation."), Kind.FORGOTTEN)
    if _MISMATCH.search(message):
        return Failure(ProviderRejected("The provider finds the conversation inconsistent."), Kind.MISMATCH)
    return None


def _rate_limit(code: str, retry_after: float | None) -> Failure:
    if code == "insufficient_quota":
        return Failure(RateLimited("The account at the provider has no quota left."))
    return Failure(RateLimited("The provider asks to slow down (429)."), Kind.TRANSIENT, retry_after)


def _not_found(code: str, message: str, model: str) -> ProviderRejected:
    if code == "model_not_found" or "model" in message.lower() or "deployment" in message.lower():
        return ProviderRejected(f"The provider does not know the model {model!r}.")
    return ProviderRejected("The provider has no Responses API at this address (404): check base_url.")


def _too_long() -> ContextLength:
    return ContextLength("The conversation is longer than the model can read.")


def _described(status: int | None, code: str, param: str) -> str:
    """Status, code and parameter path, the latter two only where they are plain names."""
    safe = [f"{name} {value}" for name, value in (("code", code), ("at", param)) if _SAFE_TOKEN.fullmatch(value)]
    return ", ".join(([str(status)] if status else []) + safe) or "no reason given"
