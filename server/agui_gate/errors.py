"""Every error this project raises on purpose, in one tree.

    AguiGateError
    ├── RequestError                what a caller sent can't be served; nothing was executed or stored
    │   ├── InvalidRequest          400 (422 when well-formed but wrong)  invalid_request
    │   ├── Unauthorized            401  unauthorized
    │   ├── Forbidden               403  forbidden
    │   ├── NotFound                404  not_found
    │   ├── ThreadBusy              409  thread_busy
    │   ├── ApprovalPending         409  approval_pending
    │   ├── ApprovalRefused         422  approval_refused
    │   ├── Gone                    410  gone
    │   ├── TooLarge                413  too_large
    │   └── UnsupportedMediaType    415  unsupported_media_type
    ├── ProviderError               the model provider did not deliver
    │   ├── RateLimited             429  rate_limited           (a retry helps)
    │   ├── ProviderAuth            503  provider_auth
    │   ├── ProviderRejected        503  provider_rejected
    │   │   ├── ConsentLost         503  provider_rejected
    │   │   ├── MediaRefused        503  provider_rejected
    │   │   └── ContentRefused      503  provider_rejected
    │   ├── ProviderUnavailable     503  provider_unavailable   (a retry helps)
    │   └── ContextLength           422  context_length
    ├── RunAborted                  the run was cancelled       abort
    ├── LimitReached                a limit of the agent ended the run    limit_reached
    ├── Unavailable                 503  unavailable            (a retry helps)
    │   └── NotSaved                503  unavailable
    ├── Internal                    500  internal
    ├── IllegalMove                 a gated call was moved against the table of core/approvals.py
    ├── ToolError                   raised by tools on purpose: its text is for the model and the user    tool_failed
    └── ConfigurationError          the deployment is wrong; the message says what to change

Each class knows its HTTP status, its AG-UI code (CONTRACT.md, "Codes") and whether repeating the same request
can help. Messages are safe to show: no secret, no provider's raw body.
"""

from typing import ClassVar


class AguiGateError(Exception):
    """Root of the tree. ``message`` is shown to people as it is."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    retry: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RequestError(AguiGateError):
    """The caller's request can't be served."""

    status = 400
    code = "invalid_request"


class InvalidRequest(RequestError):
    """Malformed or wrong input."""

    def __init__(self, message: str, *, well_formed: bool = False) -> None:
        super().__init__(message)
        self.well_formed = well_formed


class Unauthorized(RequestError):
    """No principal."""

    status = 401
    code = "unauthorized"


class Forbidden(RequestError):
    """Known, but not allowed (also: a foreign Host or Origin)."""

    status = 403
    code = "forbidden"


class NotFound(RequestError):
    """Does not exist, or belongs to someone else: the same answer for both."""

    status = 404
    code = "not_found"


class ThreadBusy(RequestError):
    """One run per thread: another one is active."""

    status = 409
    code = "thread_busy"
    retry = True


class ApprovalPending(RequestError):
    """`on_unanswered="refuse"`: calls wait for an answer that this run does not bring."""

    status = 409
    code = "approval_pending"


class ApprovalRefused(RequestError):
    """An answer that can't be accepted: unknown, or against the gate's policy. (What is decided already is a 409.)"""

    status = 422
    code = "approval_refused"


class Gone(RequestError):
    """It existed and is no longer kept."""

    status = 410
    code = "gone"


class TooLarge(RequestError):
    """Over a documented limit."""

    status = 413
    code = "too_large"


class UnsupportedMediaType(RequestError):
    """Not JSON."""

    status = 415
    code = "unsupported_media_type"


class ProviderError(AguiGateError):
    """The provider did not deliver. Subclasses classify it (facts: B19)."""

    status = 503
    code = "provider_unavailable"


class RateLimited(ProviderError):
    """The provider asks us to slow down."""

    status = 429
    code = "rate_limited"
    retry = True


class ProviderAuth(ProviderError):
    """The provider does not accept the key."""

    code = "provider_auth"


class ProviderRejected(ProviderError):
    """The provider refuses this request for good (unknown model, schema, policy)."""

    code = "provider_rejected"


class ConsentLost(ProviderRejected):
    """The provider can't be told any more that it may run a call that it held; it did not run it."""


class MediaRefused(ProviderRejected):
    """The provider can't take an attachment. The request is sent once more without it (see `engine/refusals.py`).

    ``value`` is (or ends with) what the attachment holds, "" where the provider didn't say which it is. ``accepted``:
    the request was accepted first, so the provider may have kept it, or acted on it.
    """

    def __init__(self, message: str, value: str = "", *, accepted: bool = False) -> None:
        super().__init__(message)
        self.value = value
        self.accepted = accepted


class ContentRefused(ProviderRejected):
    """The provider refuses what was said. What was new in the request is not sent again.

    ``too_long``: for its size; else for its meaning (a content policy).
    """

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class ProviderUnavailable(ProviderError):
    """The provider is down, unreachable, or cut the stream."""

    retry = True


class ContextLength(ProviderError):
    """The conversation is longer than the model can read."""

    status = 422
    code = "context_length"


class RunAborted(AguiGateError):
    """Cancelled by the user or because its client left."""

    status = 409
    code = "abort"


class LimitReached(AguiGateError):
    """A limit of the agent (``max_turns``) ended the run."""

    status = 422
    code = "limit_reached"


class Unavailable(AguiGateError):
    """The server can't serve right now (shutting down, store away)."""

    status = 503
    code = "unavailable"
    retry = True


class NotSaved(Unavailable):
    """An approved call ran, and its result is not saved yet."""

    retry = False


class Internal(AguiGateError):
    """A bug of ours. The details are in the log, never in the message."""


class IllegalMove(AguiGateError):
    """A gated call can't move from its state to the wanted one."""


class ToolError(AguiGateError):
    """Raise this in a tool to tell the model and the user what went wrong: the text is passed on.

    Any other exception is reported by its type alone, since its text may hold a secret.
    """

    status = 422
    code = "tool_failed"


class ConfigurationError(AguiGateError):
    """The deployment is wrong; raised at start, never per request."""
