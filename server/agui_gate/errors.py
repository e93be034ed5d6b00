"""Every error this project raises on purpose, in one tree.

    AguiGateError
    ├── RequestError                what a caller sent can't be served; nothing was executed or stored
    │   ├── InvalidRequest          400 (422 when well-formed but wrong)  invalid_request
    │   ├── Unauthorized            401  unauthorized
    │   ├── Forbidden               403  forbidden
    │   ├── MayNotDecide            403  not_allowed
    │   ├── NotFound                404  not_found
    │   ├── ThreadBusy              409  thread_busy
    │   │   └── LeaseLost           409  lease_lost
    │   ├── DecisionStopped         409  thread_busy
    │   ├── Frozen                  403  frozen
    │   ├── ApprovalPending         409  approval_pending
    │   ├── ApprovalRefused         422  approval_refused
    │   │   └── ArgumentsChanged    422  approval_refused
    │   ├── Gone                    410  gone
    │   ├── TooLarge                413  too_large
    │   └── UnsupportedMediaType    415  unsupported_media_type
    ├── ProviderError               a request to the model provider failed
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
    │   ├── TermsChanged            503  unavailable
    │   ├── ShuttingDown            503  unavailable
    │   ├── ExtraMissing            503  unavailable
    │   └── Interrupted             503  interrupted
    ├── Internal                    500  internal
    │   ├── NoInstructions          500  internal
    │   └── ForeignRef              500  internal
    ├── IllegalMove                 a state change that core/approvals.py doesn't allow
    ├── ToolError                   raised by tools: its text is for the model and the user    tool_failed
    └── ConfigurationError          the configuration is invalid; the message says what to change
        └── Unusable                its database or its bus can't be used here

Each class knows its HTTP status and its code (docs/errors.md). Messages are safe to show: no secret, no provider's
raw body.
"""

from typing import Any, ClassVar


class AguiGateError(Exception):
    """Root of the tree. ``message`` is shown to people as it is."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    retry_after: int | None = None
    """Seconds after which to try again, where the answer says so (`Retry-After`)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RequestError(AguiGateError):
    """The caller's request can't be served."""

    status = 400
    code = "invalid_request"


class InvalidRequest(RequestError):
    """The request is malformed (400), or well-formed but invalid (422). Correct what the message names."""

    def __init__(self, message: str, *, well_formed: bool = False) -> None:
        super().__init__(message)
        self.well_formed = well_formed


class Unauthorized(RequestError):
    """The request isn't authenticated. Send a token, or the credentials that the server's `auth` expects."""

    status = 401
    code = "unauthorized"


class Forbidden(RequestError):
    """Authenticated, but not allowed; also a foreign Host or Origin. The message says what to configure."""

    status = 403
    code = "forbidden"


class MayNotDecide(RequestError):
    """This approval is not this person's to decide, or not with this login. The message says who or what it needs."""

    status = 403
    code = "not_allowed"


class NotFound(RequestError):
    """The resource does not exist, or belongs to another principal: the response is the same."""

    status = 404
    code = "not_found"


class ThreadBusy(RequestError):
    """A run or a decision is in progress on the thread. Wait until it has ended, or stop it; then try again."""

    status = 409
    code = "thread_busy"


class DecisionStopped(RequestError):
    """Somebody stopped the thread before this decision was saved. Nothing was decided; decide again."""

    status = 409
    code = "thread_busy"


class LeaseLost(ThreadBusy):
    """A run or a decision has lost the lease of its thread, so its changes were not saved.

    Its process didn't renew the lease in time, and another run or decision has taken over the thread.
    """

    code = "lease_lost"

    def __init__(self) -> None:
        super().__init__(
            "Another server process took over this thread, because this one did not renew its lease in time. "
            "Nothing more of this run was saved. Reload the thread to see what was saved."
        )


class Frozen(RequestError):
    """An operator has frozen this kind of call, so nobody can approve it now. It stays pending; it can be rejected.

    ``approval`` is the record of the call.
    """

    status = 403
    code = "frozen"

    def __init__(self, message: str, approval: Any) -> None:
        super().__init__(message)
        self.approval = approval


class ApprovalPending(RequestError):
    """The thread has pending calls that this run doesn't answer, with `on_unanswered="refuse"`. Answer all of them."""

    status = 409
    code = "approval_pending"


class ApprovalRefused(RequestError):
    """The answer is invalid: it answers no question, or violates the gate's policy. The call stays pending. Over HTTP,
    409 with this code means that the call was already decided; `error.record` says how.
    """

    status = 422
    code = "approval_refused"


class ArgumentsChanged(ApprovalRefused):
    """The arguments that the answer names as shown were edited since. Over HTTP, `error.record` has those of now."""


class Gone(RequestError):
    """The resource existed and is no longer stored. The message says what remains."""

    status = 410
    code = "gone"


class TooLarge(RequestError):
    """The request exceeds a limit, which the message names. Most limits are settings: see docs/settings.md."""

    status = 413
    code = "too_large"


class UnsupportedMediaType(RequestError):
    """The body isn't declared as JSON. Send `content-type: application/json`."""

    status = 415
    code = "unsupported_media_type"


class ProviderError(AguiGateError):
    """A request to the model's provider failed. Subclasses say why (B19).

    ``reached``: a provider may have kept something of it.
    """

    status = 503
    code = "provider_unavailable"
    reached = False


class RateLimited(ProviderError):
    """The provider, or this server, received too many requests. Wait a moment and try again."""

    status = 429
    code = "rate_limited"


class ProviderAuth(ProviderError):
    """The provider does not accept the API key. The operator must correct it; `agui-gate doctor` checks it."""

    code = "provider_auth"


class ProviderRejected(ProviderError):
    """The provider refuses this request (an unknown model, a schema, a policy). Repeating it doesn't help."""

    code = "provider_rejected"


class ConsentLost(ProviderRejected):
    """The provider no longer accepts the approval of a call that it held. It did not run the call."""


class FormRefused(ProviderRejected):
    """The provider doesn't support the output schema. The request is repeated with the schema in its instructions."""


class MediaRefused(ProviderRejected):
    """The provider rejects an attachment. The request is repeated once without it (see `turns/content_refusals.py`).

    ``value`` is the attachment's content or its end, "" if the provider didn't say which one. ``accepted``: the request
    was accepted first, so the provider may have stored it or acted on it.
    """

    def __init__(self, message: str, value: str = "", *, accepted: bool = False) -> None:
        super().__init__(message)
        self.value = value
        self.accepted = accepted


class ContentRefused(ProviderRejected):
    """The provider refuses the content. What was new in the request is not sent again.

    ``too_long``: because of its size; otherwise because of a content policy.
    """

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class ProviderUnavailable(ProviderError):
    """The provider is down, unreachable, or its answer broke off. Try again in a moment.

    ``reached`` is false if the request certainly didn't arrive.
    """

    def __init__(self, message: str, *, reached: bool = True) -> None:
        super().__init__(message)
        self.reached = reached


class OutputUnfit(ProviderError):
    """The model's answer doesn't match the agent's output schema, also after a second request. The answer is kept. Try
    again, or say what is missing.
    """

    code = "output_unfit"


class ContextLength(ProviderError):
    """The conversation is longer than the model's context. The next run omits what was too long."""

    status = 422
    code = "context_length"


class LimitReached(AguiGateError):
    """A limit of the agent or of the server ended the run. Its messages are kept. The error says how to continue."""

    status = 422
    code = "limit_reached"


class Unavailable(AguiGateError):
    """The server is shutting down, or its store is unavailable. Try again in a moment."""

    status = 503
    code = "unavailable"


class NotSaved(Unavailable):
    """An approved call ran, and its result is not saved yet. It does not run again; the server keeps trying to save the
    result. ``ran`` is false if the call was stopped before its tool began.
    """

    def __init__(self, message: str, *, ran: bool) -> None:
        super().__init__(message)
        self.ran = ran


class TermsChanged(Unavailable):
    """Another call was claimed at this moment, so a sum that a rule went by is another one. Try again."""

    def __init__(self) -> None:
        super().__init__("Another call was decided at this moment. Try again.")


class ShuttingDown(Unavailable):
    """The server is shutting down and accepts no new requests. Try again in a moment: another replica may respond."""

    retry_after = 2

    def __init__(self) -> None:
        super().__init__("The server is shutting down. Try again in a moment.")


class ExtraMissing(Unavailable):
    """The thread or the agent needs a feature whose code (`agui_gate.extras`) this server doesn't have."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"This server lacks the feature {name!r} (agui_gate.extras.{name}). Install the whole package."
        )
        self.name = name


class Unreadable(Unavailable):
    """The thread contains data of another version that this one can't read safely, so it is not changed. Other threads
    work. Use that version, or delete the thread.
    """

    def __init__(self) -> None:
        super().__init__(
            "This thread contains data that this version of agui-gate can't read safely, so it is not changed. "
            "Another version wrote it. Use that version."
        )


class Interrupted(Unavailable):
    """The server process of the run is gone. What it had saved is kept and shown. Send a message to continue."""

    code = "interrupted"

    def __init__(self) -> None:
        super().__init__(
            "The server process that ran this was lost. What it had saved is kept; the rest of this answer "
            "is lost. Send a message to continue."
        )


class Internal(AguiGateError):
    """A bug in the server. The details are in the log, never in the message."""

    def __init__(self) -> None:
        super().__init__("Something went wrong on the server. Its log has the details.")


class NoInstructions(Internal):
    """The function that builds the agent's instructions failed, timed out, or returned no text: see the log."""

    def __init__(self) -> None:
        AguiGateError.__init__(self, "The agent's instructions could not be built. The server's log has the details.")


class ForeignRef(Internal):
    """An adapter returned a ConversationRef with an origin other than its own, which it could never use again."""

    def __init__(self) -> None:
        AguiGateError.__init__(
            self, "The adapter returned a ConversationRef of another origin. It must be the adapter's own `origin`."
        )


class IllegalMove(AguiGateError):
    """A gated call can't change from its state to the wanted one (`core/approvals.py`). Clients receive `internal`."""


class ToolError(AguiGateError):
    """Raise this in a tool to tell the model and the user what went wrong: they receive its text.

    Of other exceptions only the type is reported, because the text may contain a secret.
    """

    status = 422
    code = "tool_failed"


class ConfigurationError(AguiGateError):
    """The configuration is invalid. Raised at start, never per request."""


class Unusable(ConfigurationError):
    """The configured database or bus can't be used: its driver is missing, it doesn't exist, or it denies access.

    The command line exits with code 1, as for a database that is unavailable.
    """
