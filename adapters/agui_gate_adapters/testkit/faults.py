"""Refusals and faults: the errors that an emulated provider answers with, and how an answer goes wrong on its way.

A `Violation` is a rule that a request breaks, with the provider's error. The catalogues of violations are in the
packages of the APIs. The rules that adapters are tested against have ids: "R1" … "R25" of the Responses API,
"C1" … "C7" of Chat Completions, "A1" … "A12" of Anthropic's Messages.

A `Fault` never changes what validation says, which always runs first. Some faults replace the answer before anything is
streamed (`status`, `html`, `locked`). One makes the provider forget before it looks at the request (`forget`). The
others spoil the stream itself.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from agui_gate_adapters.testkit.wire import Json, encode


class Violation(msgspec.Struct, frozen=True):
    """One broken rule and the exact error that the provider answers with."""

    rule: str
    status: int
    message: str
    param: str | None = None
    code: str | None = None
    type: str = "invalid_request_error"

    @property
    def body(self) -> Json:
        """The HTTP body: `{"error": {message, type, param, code}}`."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


class Refused(Exception):
    """Raised by the engine when a request breaks a rule; nothing was stored."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.message)
        self.violation = violation


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to fail."""

    kind: Literal["status", "html", "content_type", "cut", "hang", "slow", "error_event", "failed", "forget", "locked"]
    times: int = 1
    """How many requests it hits; 0 means every one."""
    status: int = 500
    retry_after: float | None = None
    """Seconds, sent as `Retry-After`."""
    code: str | None = None
    message: str | None = None
    after_events: int | None = None
    """For `cut`, `hang`, `error_event`, `failed`: how many events go out first (2 if neither is given:
    `created` and `in_progress`)."""
    after_bytes: int | None = None
    """For `cut`: where the body is cut."""
    clean: bool = False
    """For `cut`: end the HTTP body properly instead of dropping the connection."""
    ms: float = 50.0
    """For `slow`: milliseconds before each event."""
    shape: Literal["nested", "flat"] = "nested"
    """For `error_event`: both shapes exist in the wild."""

    @property
    def events_before(self) -> int:
        """How many events go out before the fault strikes."""
        return 2 if self.after_events is None else self.after_events


class Reply(msgspec.Struct, frozen=True):
    """A whole HTTP answer."""

    status: int
    body: bytes
    media_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


BEFORE_STREAM: Final = frozenset({"status", "html", "locked"})
IN_STREAM: Final = frozenset({"error_event", "failed"})

_DEFAULTS: Final[dict[int, tuple[str, str, str | None]]] = {
    401: ("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    403: ("You do not have access to this resource.", "invalid_request_error", None),
    429: ("Rate limit reached. Please try again later.", "requests", "rate_limit_exceeded"),
    500: ("The server had an error while processing your request. Sorry about that!", "server_error", None),
    503: ("The engine is currently overloaded, please try again later.", "server_error", None),
}
_HTML: Final = (
    b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"
)


def html_reply(fault: Fault) -> Reply:
    """Return the error page of an `html` fault."""
    return Reply(fault.status, _HTML, "text/html", _retry(fault.retry_after))


def error_reply(
    status: int, body: Json, retry_after: float | None = None, headers: tuple[tuple[str, str], ...] = ()
) -> Reply:
    """Return an error as JSON; `retry_after` in seconds."""
    return Reply(status, encode(body), headers=(*headers, *_retry(retry_after)))


def _retry(seconds: float | None) -> tuple[tuple[str, str], ...]:
    return () if seconds is None else (("Retry-After", f"{seconds:g}"),)


def status_violation(fault: Fault) -> Violation:
    """Return OpenAI's words for the status of a fault."""
    message, kind, code = _DEFAULTS.get(fault.status, ("The request failed.", "invalid_request_error", None))
    return Violation("fault", fault.status, fault.message or message, None, fault.code or code, kind)


def stream_error(fault: Fault) -> Json:
    """Return the `error` event of an `error_event` fault, in the shape it asks for."""
    message = fault.message or "The server had an error while processing your request."
    code = fault.code or "server_error"
    if fault.shape == "flat":
        return {"type": "error", "code": code, "message": message, "param": None}
    return {"type": "error", "error": {"type": "server_error", "code": code, "message": message, "param": None}}
