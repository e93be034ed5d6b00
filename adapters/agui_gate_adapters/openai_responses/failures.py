"""Classifies failures of stored conversations: missing, locked or inconsistent ones."""

import re

from agui_gate.errors import ProviderRejected, ProviderUnavailable
from agui_gate_adapters.common.failures import Api, ErrorReply, Failure, Kind

_FORGOTTEN_CODES = frozenset({"previous_response_not_found", "conversation_not_found", "invalid_encrypted_content"})
_FORGOTTEN = re.compile(
    r"previous response with id\b.*\bnot found|conversation with id\b.*\bnot found|^item with id\b.*\bnot found"
    r"|encrypted content\b.*\bcould not be verified",
    re.IGNORECASE | re.DOTALL,
)
_UNCONTINUED = re.compile(
    r"zero data retention|cannot be used for this organization|not support(?:ed)?\b.*\bprevious_response_id",
    re.IGNORECASE | re.DOTALL,
)
_MISMATCH = re.compile(
    r"no tool output found|no [\w ]*output found for"
    r"|no tool call found|duplicate item found|was provided without its required"
    r"|conflicting authenticated continuation",
    re.IGNORECASE,
)


def conversation_failure(reply: ErrorReply) -> Failure | None:
    """Returns the failure of a stored conversation that an error means, if it is one."""
    if reply.code == "conversation_locked":
        return Failure(ProviderUnavailable("The conversation is busy at the provider."), Kind.LOCKED)
    if _UNCONTINUED.search(reply.message):
        return Failure(ProviderRejected("The provider keeps nothing that could be continued."), Kind.UNCONTINUED)
    lost = reply.param in ("previous_response_id", "conversation", "conversation_id")
    if (
        reply.code in _FORGOTTEN_CODES
        or (lost and reply.code != "unknown_parameter")
        or _FORGOTTEN.search(reply.message)
    ):
        return Failure(ProviderRejected("The provider no longer has this conversation."), Kind.FORGOTTEN)
    if _MISMATCH.search(reply.message):
        return Failure(ProviderRejected("The provider finds the conversation inconsistent."), Kind.MISMATCH)
    return None


API = Api("Responses API", "OPENAI_API_KEY", conversation_failure)
