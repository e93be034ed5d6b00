"""Refusals name the tool they are about: ours, by its place in the request or its name in the provider's sentence."""

import pytest

from agui_gate_adapters.common.failures import Api, ErrorReply, classify_status

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
