"""Refusals name the tool they are about: ours, by its place in the request or its name in the provider's sentence."""

import pytest

from agui_gate_adapters.anthropic_messages.failures import API as messages
from agui_gate_adapters.common.failures import Api, ErrorReply, classify_status
from agui_gate_adapters.openai_chat.failures import api_of
from agui_gate_adapters.openai_responses.failures import API as responses
from tests.support.pairwise import turns
from tests.support.timing import grows_less

API = Api("API", "KEY")
TOOLS = ["search", "refund"]


@pytest.mark.parametrize(
    "told",
    [
        ErrorReply("invalid_function_parameters", "Invalid schema", "tools[1].parameters"),
        ErrorReply("invalid_function_parameters", "Invalid schema for function 'refund': In context=(), …", ""),
        ErrorReply("", "Invalid schema", "tools[1].function.parameters"),
        ErrorReply("", "tools.1.custom.input_schema: JSON schema is invalid.", "tools.1.custom.input_schema"),
        ErrorReply("", "Value error in `tools[1].function`: …", ""),
    ],
)
def test_the_tool_is_named(told: ErrorReply) -> None:
    message = classify_status(400, told, API, tools=TOOLS).error.message
    assert message.startswith("The provider refuses the tool 'refund' (400")
    assert message.endswith("check its name, description and parameters' schema.")
    assert "In context" not in message


@pytest.mark.parametrize(
    ("told", "hint"),
    [
        (ErrorReply("", "Invalid", "tools[7].name"), ": check the tools' names and schemas."),
        (ErrorReply("", "Bob said 'refund' me", ""), "(400)."),
        (ErrorReply("invalid_type", "", "input[1].content"), "(400, code invalid_type, at input[1].content)."),
    ],
)
def test_where_no_tool_is_meant_none_is_named(told: ErrorReply, hint: str) -> None:
    assert classify_status(400, told, API, tools=TOOLS).error.message.endswith(hint)


LIKE = ["a", "'a", "tools[1", "messages.0.content.", "context ", "/a", "\n", "a "]


@pytest.mark.parametrize(("like", "status"), turns(LIKE, [400, 404, 413, 422, 429, 500]))
def test_what_a_provider_says_is_looked_through_once_however_long_it_is(status: int, like: str) -> None:
    """100,000 characters without a space kept the server waiting for half a minute."""
    apis = [API, api_of("model"), responses, messages]

    def look(length: int) -> None:
        for api in apis:
            classify_status(status, ErrorReply("", like * length, like * length), api, tools=TOOLS)

    assert grows_less(24, lambda: look(500), lambda: look(4_000))
