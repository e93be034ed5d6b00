"""The errors between a client and an agent elsewhere. Each kind has a code that stays as it is.

No message has a word of the other side's in it, since that may hold anybody's secrets. Who wants them asks for them:
`Refused.body`, and `Outcome.error` for what a run says of itself.
"""

from typing import ClassVar

from agui_gate.errors import AguiGateError


class ClientError(AguiGateError):
    """The agent can't be talked to, or doesn't talk AG-UI. The thread stays usable; what was read stays read."""

    code: ClassVar[str] = "agent_failed"


class Unreachable(ClientError):
    """The address has nothing that listens. The request surely wasn't taken if ``sent`` is false."""

    code = "agent_unreachable"

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent


class Refused(ClientError):
    """The agent answered with an HTTP error. ``body`` is what it said, cut at 64 KiB: not for people unasked."""

    code = "agent_refused"

    def __init__(self, http_status: int, body: bytes = b"") -> None:
        super().__init__(f"The agent refuses the request: HTTP status {http_status}.")
        self.http_status, self.body = http_status, body


class Malformed(ClientError):
    """The answer is no AG-UI stream."""

    code = "agent_malformed"


class TooMuch(ClientError):
    """The answer is more than a client takes: an event, or the whole of it, is too large."""

    code = "agent_too_large"


class TooSlow(ClientError):
    """The agent says nothing for too long, or comes to no end."""

    code = "agent_timeout"


class BrokenOff(ClientError):
    """The stream ended before the run did, and could not be taken up again."""

    code = "agent_broken_off"


class NoWayBack(ClientError, LookupError):
    """The server has no route by which a thread is come back to. Only agui-gate has."""

    code = "agent_cannot_return"


class Unanswered(ClientError):
    """The thread waits for answers, and not all of them were given (INT-3). Nothing was sent."""

    code = "unanswered"
