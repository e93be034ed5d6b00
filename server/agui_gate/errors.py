"""Every error this project raises on purpose, in one tree.

    AguiGateError
    ├── RequestError                what a caller sent can't be served; nothing was executed or stored
    │   ├── InvalidRequest          400 (422 when well-formed but wrong)  invalid_request
    │   ├── Unauthorized            401  unauthorized
    │   ├── Forbidden               403  forbidden
    │   ├── NotFound                404  not_found
    │   ├── ThreadBusy              409  thread_busy
    │   │   └── LeaseLost           409  lease_lost
    │   ├── ApprovalPending         409  approval_pending
    │   ├── ApprovalRefused         422  approval_refused
    │   ├── Gone                    410  gone
    │   ├── TooLarge                413  too_large
    │   └── UnsupportedMediaType    415  unsupported_media_type
    ├── ProviderError               the model provider did not deliver
    │   ├── RateLimited             429  rate_limited
    │   ├── ProviderAuth            503  provider_auth
    │   ├── ProviderRejected        503  provider_rejected
    │   │   ├── ConsentLost         503  provider_rejected
    │   │   ├── FormRefused         503  provider_rejected
    │   │   ├── MediaRefused        503  provider_rejected
    │   │   └── ContentRefused      503  provider_rejected
    │   ├── ProviderUnavailable     503  provider_unavailable
    │   ├── OutputUnfit             503  output_unfit
    │   └── ContextLength           422  context_length
    ├── LimitReached                a limit of the agent ended the run    limit_reached
    ├── Unavailable                 503  unavailable
    │   ├── NotSaved                503  unavailable
    │   ├── Unreadable              503  unavailable
    │   ├── ShuttingDown            503  unavailable
    │   └── Interrupted             503  interrupted
    ├── Internal                    500  internal
    │   ├── NoInstructions          500  internal
    │   └── ForeignRef              500  internal
    ├── IllegalMove                 a gated call was moved against the table of core/approvals.py
    ├── ToolError                   raised by tools on purpose: its text is for the model and the user    tool_failed
    └── ConfigurationError          the deployment is wrong; the message says what to change
        └── Unusable                its database or its bus can't be used here

Each class knows its HTTP status and its code (docs/errors.md). Messages are safe to show: no secret, no provider's
raw body.
"""

from typing import ClassVar


class AguiGateError(Exception):
    """Root of the tree. ``message`` is shown to people as it is."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    retry_after: ClassVar[int | None] = None
    """Seconds after which to try again, where the answer says so (`Retry-After`)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RequestError(AguiGateError):
    """The caller's request can't be served."""

    status = 400
    code = "invalid_request"


class InvalidRequest(RequestError):
    """What was sent is malformed (400), or well-formed and wrong (422). The message names the place: correct it."""

    def __init__(self, message: str, *, well_formed: bool = False) -> None:
        super().__init__(message)
        self.well_formed = well_formed


class Unauthorized(RequestError):
    """Nobody knows who asks. Send a token, or whatever the `auth` of the server wants."""

    status = 401
    code = "unauthorized"


class Forbidden(RequestError):
    """Known, but not allowed; also a foreign Host or Origin. The message says what to configure."""

    status = 403
    code = "forbidden"


class NotFound(RequestError):
    """It does not exist, or belongs to somebody else: the same answer for both."""

    status = 404
    code = "not_found"


class ThreadBusy(RequestError):
    """A run, or a decision, is at work on the thread. Wait until it has ended, or stop it; then try again."""

    status = 409
    code = "thread_busy"


class LeaseLost(ThreadBusy):
    """What works on a thread doesn't hold its lease any more; what it wanted to write was not written.

    Its process was silent for longer than a lease lasts, and another run or decision has the thread now, or had it.
    """

    code = "lease_lost"

    def __init__(self) -> None:
        super().__init__(
            "Another server process took over this thread, because this one did not renew its lease in time. "
            "Nothing more of this run was saved. Reload the thread to see what was saved."
        )


class ApprovalPending(RequestError):
    """With `on_unanswered="refuse"`: calls wait for an answer that this run does not bring. Answer all of them."""

    status = 409
    code = "approval_pending"


class ApprovalRefused(RequestError):
    """An answer that can't be taken: it answers nothing that was asked, or is against the gate's policy. The call goes
    on waiting. Over HTTP, 409 with this code: it was decided before, and `error.record` says how.
    """

    status = 422
    code = "approval_refused"


class Gone(RequestError):
    """It existed and is no longer kept. The message says what is."""

    status = 410
    code = "gone"


class TooLarge(RequestError):
    """Over a limit, which the message names. Most limits are settings: see docs/settings.md."""

    status = 413
    code = "too_large"


class UnsupportedMediaType(RequestError):
    """The body is not declared as JSON. Send `content-type: application/json`."""

    status = 415
    code = "unsupported_media_type"


class ProviderError(AguiGateError):
    """The model's provider did not deliver. Subclasses say why (B19)."""

    status = 503
    code = "provider_unavailable"


class RateLimited(ProviderError):
    """The provider, or this server, wants fewer requests. Wait a moment and try again."""

    status = 429
    code = "rate_limited"


class ProviderAuth(ProviderError):
    """The provider does not accept the key. The deployment has to change it; `agui-gate doctor` checks it."""

    code = "provider_auth"


class ProviderRejected(ProviderError):
    """The provider refuses this request for good (an unknown model, a schema, a policy). Repeating it doesn't help."""

    code = "provider_rejected"


class ConsentLost(ProviderRejected):
    """The provider can't be told any more that it may run a call that it held; it did not run it."""


class FormRefused(ProviderRejected):
    """The provider can't hold the model to the form of its answers. The request is sent once more with it in words."""


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
    """The provider is down, can't be reached, or broke its answer off. Try again in a moment.

    ``reached`` is false where the request surely didn't arrive.
    """

    def __init__(self, message: str, *, reached: bool = True) -> None:
        super().__init__(message)
        self.reached = reached


class OutputUnfit(ProviderError):
    """The model's answer does not fit the form that the agent's answers have, also when it was asked again. What it
    said is kept. Try again, or say what is missing.
    """

    code = "output_unfit"


class ContextLength(ProviderError):
    """The conversation is longer than the model can read. What was too long is left out of the next run."""

    status = 422
    code = "context_length"


class LimitReached(AguiGateError):
    """A limit of the agent or of the server ended the run. What was said is kept. The message says how to go on."""

    status = 422
    code = "limit_reached"


class Unavailable(AguiGateError):
    """The server can't serve right now: it is shutting down, or its store is away. Try again in a moment."""

    status = 503
    code = "unavailable"


class NotSaved(Unavailable):
    """An approved call ran, and its result is not saved yet. It does not run again; the result is saved as soon as
    that is possible. ``ran`` is false where it was stopped before its tool began.
    """

    def __init__(self, message: str, *, ran: bool) -> None:
        super().__init__(message)
        self.ran = ran


class ShuttingDown(Unavailable):
    """The server takes nothing new, since it is about to end. Try again in a moment: another one may be there."""

    retry_after = 2

    def __init__(self) -> None:
        super().__init__("The server is shutting down. Try again in a moment.")


class Unreadable(Unavailable):
    """Another version wrote to this thread what this one can't read safely, so it is left alone. Other threads go on.
    Start that version again, or delete the thread.
    """

    def __init__(self) -> None:
        super().__init__(
            "This thread contains data that this version of agui-gate can't read safely, so it is not changed. "
            "Another version wrote it. Use that version."
        )


class Interrupted(Unavailable):
    """The server process that ran it is gone. What it had saved stands, and is shown. Send a message to go on."""

    code = "interrupted"

    def __init__(self) -> None:
        super().__init__(
            "The server process that ran this was lost. What it had saved is kept; the rest of this answer "
            "is lost. Send a message to continue."
        )


class Internal(AguiGateError):
    """A bug of ours. The details are in the log, never in the message."""

    def __init__(self) -> None:
        super().__init__("Something went wrong on the server. Its log has the details.")


class NoInstructions(Internal):
    """The function that makes the agent's instructions failed, took too long, or returned no text: see the log."""

    def __init__(self) -> None:
        AguiGateError.__init__(self, "The agent's instructions could not be built. The server's log has the details.")


class ForeignRef(Internal):
    """An adapter returned a ref that it could never use again: one that is of another origin than its own."""

    def __init__(self) -> None:
        AguiGateError.__init__(
            self, "The adapter returned a ConversationRef of another origin. It must be the adapter's own `origin`."
        )


class IllegalMove(AguiGateError):
    """A gated call can't move from its state to the wanted one (`core/approvals.py`). For clients it is `internal`."""


class ToolError(AguiGateError):
    """Raise this in a tool to tell the model and the user what went wrong: the text is passed on.

    Any other exception is reported by its type alone, since its text may hold a secret.
    """

    status = 422
    code = "tool_failed"


class ConfigurationError(AguiGateError):
    """The deployment is wrong; raised at start, never per request."""


class Unusable(ConfigurationError):
    """A database or a bus that is named can't be used: its driver is missing, it isn't there, it lets nobody in.

    The command line ends with exit code 1 for it, as for a database that is away.
    """
