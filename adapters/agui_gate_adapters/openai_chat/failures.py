"""Classifies the refusals of this API's servers, by the words of each.

Calls and outputs that do not fit together can't come from here (`request.py`). So a server that says so has found a
bug of ours, or has rules that its profile does not know. Everything is sent by value: there is nothing to heal.
"""

import re

from agui_gate.adapter import TurnRequest
from agui_gate.errors import ContextLength, ProviderRejected
from agui_gate_adapters.common.failures import Api, ErrorReply, Failure, Kind, log
from agui_gate_adapters.common.retries import Once, Step

_MISMATCH = re.compile(
    # OpenAI; DashScope and DeepSeek with other quotes, prefixes and capitals; Mistral; MiniMax
    r"must be followed by tool messages|did not have response messages|insufficient tool messages"
    r"|must be a response to a prec|duplicate value for .tool_call_id"
    r"|unexpected role '\w+' after role|not the same number of function calls and responses"
    r"|tool call result does not follow tool call|tool call id .* (not found|has to be defined|must be )"
    r"|reasoning_content. in the thinking mode must be passed back|reasoning_content is missing",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    # Beside what all have in common: vLLM, Kimi, DashScope, xAI, GLM, Groq
    r"maximum model length|exceeded model token limit|range of input length|maximum prompt length"
    r"|prompt exceeds max length|reduce the length of the messages",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"model not exist|invalid model\b|not a valid model", re.IGNORECASE)


def api_of(model: str) -> Api:
    """Returns the API for classification."""

    def known(reply: ErrorReply) -> Failure | None:
        if _MISMATCH.search(reply.message):
            return Failure(ProviderRejected("The provider finds the conversation inconsistent."), Kind.MISMATCH)
        if _TOO_LONG.search(reply.message):
            return Failure(ContextLength("The conversation is longer than the model can read."))
        if _NO_MODEL.search(reply.message):
            return Failure(ProviderRejected(f"The provider does not know the model {model!r}."))
        return None

    return Api("Chat Completions API", "OPENAI_API_KEY", known)


class ChatLadder(Once[TurnRequest]):
    """The same request once more; and a word in the log about what must not happen."""

    def next(self, failure: Failure, plan: TurnRequest) -> Step[TurnRequest] | None:
        """Returns the next step, as `Once.next` does."""
        if failure.kind is Kind.MISMATCH:
            log.error("adapter bug: the provider finds calls, outputs or reasoning inconsistent (or: a wrong profile)")
        return super().next(failure, plan)
