"""Classifies the Messages API's own refusals: inconsistent conversations, and thinking that can't be sent back.

The API has no codes for these, only `invalid_request_error` and a sentence. The sentences are matched by the parts that
have been the same across its versions and hosts (quotes differ).
"""

import re

from agui_gate.errors import ContextLength, ProviderRejected, RateLimited
from agui_gate_adapters.common.failures import Api, ErrorReply, Failure, Kind

_THINKING = re.compile(
    r"expected [`'\"]?thinking[`'\"]? or [`'\"]?redacted_thinking"  # A7
    r"|redacted_thinking[`'\"]? blocks\b.*\bcannot be modified"  # A8
    r"|invalid [`'\"]?(signature|data)[`'\"]? in [`'\"]?(redacted_)?thinking|thinking\.signature: field required",  # A9
    re.IGNORECASE | re.DOTALL,
)
_MISMATCH = re.compile(
    r"tool_use[`'\"]? ids (were found|must be unique)"  # A1, A3
    r"|unexpected [`'\"]?tool_use_id|each tool_use must have a single result"  # A2, A4
    r"|did not find \d+ [`'\"]?tool_result"  # A5
    r"|tool_use(\.id|_id): string should match"  # A6
    r"|cannot end with trailing whitespace|conversation must end with a user message"  # A10
    r"|text content blocks must|at least one message is required|non-empty content",  # A11, A12
    re.IGNORECASE,
)
_TOO_LONG = re.compile(r"exceed (the )?context limit", re.IGNORECASE)
_NO_CREDIT = re.compile(r"credit balance is too low", re.IGNORECASE)


def messages_failure(reply: ErrorReply) -> Failure | None:
    """Returns the failure of this API that an error means, if it is one."""
    if _THINKING.search(reply.message):
        error = ProviderRejected("The provider does not take back the thinking of this conversation.")
        return Failure(error, Kind.FORGOTTEN)
    if _MISMATCH.search(reply.message):
        return Failure(ProviderRejected("The provider finds the conversation inconsistent."), Kind.MISMATCH)
    if _TOO_LONG.search(reply.message):
        return Failure(ContextLength("The conversation is longer than the model can read."))
    if _NO_CREDIT.search(reply.message):
        return Failure(RateLimited("The account at the provider has no credit left."))
    return None


API = Api("Messages API", "ANTHROPIC_API_KEY", messages_failure)
