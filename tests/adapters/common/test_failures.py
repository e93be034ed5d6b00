"""Refusals name the tool they are about: ours, by its place in the request or its name in the provider's sentence."""

import pytest

from agui_gate_adapters.common.failures import Api, Told, classify_status

API = Api("API", "KEY")
TOOLS = ["search", "refund"]


@pytest.mark.parametrize(
    "told",
    [
        Told("invalid_function_parameters", "Invalid schema", "tools[1].parameters"),
        Told("invalid_function_parameters", "Invalid schema for function 'refund': In context=(), …", ""),
        Told("", "Invalid schema", "tools[1].function.parameters"),
        Told("", "tools.1.custom.input_schema: JSON schema is invalid.", "tools.1.custom.input_schema"),
        Told("", "Value error in `tools[1].function`: …", ""),
    ],
)
def test_the_tool_is_named(told: Told) -> None:
    message = classify_status(400, told, API, tools=TOOLS).error.message
    assert message.startswith("The provider refuses the tool 'refund' (400")
    assert message.endswith("check its name, description and parameters' schema.")
    assert "In context" not in message


@pytest.mark.parametrize(
    ("told", "hint"),
    [
        (Told("", "Invalid", "tools[7].name"), ": check the tools' names and schemas."),
        (Told("", "Bob said 'refund' me", ""), "(400)."),
        (Told("invalid_type", "", "input[1].content"), "(400, code invalid_type, at input[1].content)."),
    ],
)
def test_where_no_tool_is_meant_none_is_named(told: Told, hint: str) -> None:
    assert classify_status(400, told, API, tools=TOOLS).error.message.endswith(hint)
