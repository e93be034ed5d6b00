"""A refusal: the rule that a request breaks, and the error that the provider answers with.

The catalogues are in the folders of the APIs. The rules that adapters are tested against have ids: "R1" … "R25" of the
Responses API, "C1" … "C7" of Chat Completions, "A1" … "A12" of Anthropic's Messages.
"""

from __future__ import annotations

import msgspec

from agui_gate_adapters.testkit.wire import Json

__all__ = ["Refused", "Violation"]


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
