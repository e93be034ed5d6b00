"""Input that is spelled in snake_case (T17): the same input, wherever the protocol has a name for it."""

import json

import msgspec
import pytest
from ag_ui import core
from ag_ui.core import RunAgentInput, types

from agui_gate.core.transcript import Media
from agui_gate.errors import InvalidRequest
from agui_gate.protocol import part_shapes, request_decoder, run_input
from agui_gate.protocol import request_shapes as shapes
from agui_gate.protocol.member_names import members_of

OWN = {"thread_id": 1, "toolCallId": 2, "nested": [{"run_id": {"tool_calls": [], "mimeType": "m"}}]}
"""What is the user's own: its names look like the protocol's, and are not."""

CALL = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": '{"order_id": 1, "toolCallId": 2}'}}
PNG = {"type": "data", "value": "AAAA", "mimeType": "image/png"}

EVERYTHING = {
    "threadId": "t",
    "runId": "r",
    "parentRunId": "r0",
    "protocolVersion": "1.0",
    "state": OWN,
    "messages": [
        {"id": "1", "role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "source": PNG}]},
        {"id": "2", "role": "reasoning", "content": "hm", "encryptedValue": "sealed"},
        {"id": "3", "role": "assistant", "toolCalls": [CALL]},
        {"id": "4", "role": "tool", "content": '{"thread_id": 1}', "toolCallId": "c", "error": "no"},
        {"id": "5", "role": "activity", "activityType": "PLAN", "content": OWN},
    ],
    "tools": [{"name": "paint", "description": "d", "parameters": OWN}],
    "context": [{"description": "d", "value": json.dumps(OWN)}],
    "forwardedProps": OWN,
    "resume": [{"interruptId": "i", "status": "resolved", "payload": {"approved": True, "editedArgs": OWN}}],
}
MINIMAL = {"threadId": "t", "runId": "r", "messages": []}


def decode(value):
    """What is read, content as the parts that it is taken for."""
    read = request_decoder.decode(json.dumps(value).encode())
    read.messages[:] = [
        m if m.role == "activity" else msgspec.structs.replace(m, content=run_input.parts(m.content))
        for m in read.messages
    ]
    return read


def dumped(by_alias):
    official = RunAgentInput.model_validate(EVERYTHING)
    return json.loads(official.model_dump_json(by_alias=by_alias, exclude_none=True))


def test_both_spellings_of_the_official_models_are_the_same_input() -> None:
    camel, snake = dumped(by_alias=True), dumped(by_alias=False)
    assert "thread_id" in snake
    assert "threadId" not in snake
    read = decode(snake)
    assert read == decode(camel) == decode(EVERYTHING)
    assert read.messages[3].tool_call_id == "c"
    assert read.messages[2].tool_calls[0].function.arguments == CALL["function"]["arguments"]
    assert read.messages[1].encrypted_value == "sealed"
    assert read.messages[0].content[1] == Media("image", "data", "AAAA", "image/png")


def test_what_is_the_users_own_keeps_its_names() -> None:
    read = decode(dumped(by_alias=False))
    assert read.state == read.forwarded_props == read.client_tools["paint"].parameters == OWN
    assert read.resume[0].payload == {"approved": True, "editedArgs": OWN}
    assert json.loads(read.context[0].value) == OWN


@pytest.mark.parametrize("name", ["thread_id", "run_id", "forwarded_props", "protocol_version", "messages", "resume"])
def test_spellings_may_be_mixed(name: str) -> None:
    camel, snake = dumped(by_alias=True), dumped(by_alias=False)
    alias = RunAgentInput.model_fields[name].alias or name
    mixed = {key: value for key, value in camel.items() if key != alias} | {name: snake[name]}
    assert decode(mixed) == decode(camel)


def test_every_member_has_the_spellings_of_the_official_models() -> None:
    """As the protocol grows, so must the shapes: a member that the models have and these don't is found here."""
    for shape, model in {
        shapes.InputShape: core.RunAgentInput, shapes.ResumeShape: core.ResumeEntry, shapes.ContextShape: core.Context,
        shapes.FrontendToolShape: core.Tool, shapes.CallShape: core.ToolCall, shapes.FunctionShape: core.FunctionCall,
        shapes.UserShape: core.UserMessage, shapes.AssistantShape: core.AssistantMessage,
        shapes.ToolShape: core.ToolMessage, shapes.SystemShape: core.SystemMessage,
        shapes.DeveloperShape: core.DeveloperMessage, shapes.ActivityShape: core.ActivityMessage,
        shapes.ReasoningShape: core.ReasoningMessage, part_shapes.TextShape: types.TextPart,
        part_shapes.ImageShape: types.ImagePart, part_shapes.AudioShape: types.AudioPart,
        part_shapes.VideoShape: types.VideoPart, part_shapes.DocumentShape: types.DocumentPart,
        part_shapes.DataShape: types.DataSource, part_shapes.UrlShape: types.UrlSource,
        part_shapes.FileShape: types.FileSource,
    }.items():  # fmt: skip
        members = members_of(shape)
        newer = {"encryptedValueType"}  # of 1.1
        assert members.names - {"function_approvals"} - newer == {f.alias for f in model.model_fields.values()}, shape
        twice = {f.alias: name for name, f in model.model_fields.items() if f.alias != name}
        assert {name: other for other, name in members.spellings.items() if name not in newer} == twice


@pytest.mark.parametrize(
    "place",
    [
        lambda camel, snake: {"threadId": camel, "thread_id": snake},
        lambda camel, snake: {"runId": camel, "run_id": snake},
        lambda camel, snake: {"forwardedProps": {"x": camel}, "forwarded_props": {"x": snake}},
        lambda camel, snake: {"protocolVersion": camel, "protocol_version": snake},
        lambda camel, snake: {"messages": [{"role": "tool", "toolCallId": camel, "tool_call_id": snake}]},
        lambda camel, snake: {"messages": [{"role": "reasoning", "encryptedValue": camel, "encrypted_value": snake}]},
        lambda camel, snake: {
            "messages": [
                {"role": "assistant", "toolCalls": [{**CALL, "id": camel}], "tool_calls": [{**CALL, "id": snake}]}
            ]
        },
        lambda camel, snake: {"resume": [{"interruptId": camel, "interrupt_id": snake, "status": "resolved"}]},
        lambda camel, snake: {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image",
                            "source": {"type": "data", "value": "A", "mimeType": camel, "mime_type": snake},
                        }
                    ],
                }
            ]
        },
    ],
    ids=["thread", "run", "props", "version", "call id", "sealed", "calls", "interrupt", "mime"],
)
def test_a_member_in_both_spellings_must_say_the_same(place) -> None:
    """Fail closed: of two ids that differ, nobody knows which one is meant."""
    decode(MINIMAL | place("same", "same"))
    with pytest.raises(InvalidRequest, match="in two spellings") as caught:
        decode(MINIMAL | place("one", "two"))
    assert caught.value.well_formed


@pytest.mark.parametrize("missing", ["threadId", "runId", "messages"])
def test_what_is_missing_is_named(missing: str) -> None:
    with pytest.raises(InvalidRequest, match=f"missing required field `{missing}`") as caught:
        decode({key: value for key, value in MINIMAL.items() if key != missing})
    assert caught.value.well_formed
    with pytest.raises(InvalidRequest, match="missing required field `interruptId`"):
        decode(MINIMAL | {"resume": [{"status": "resolved"}]})


def test_two_deep_values_are_refused_before_they_are_compared() -> None:
    deep = "[" * 900 + "]" * 900
    body = json.dumps(MINIMAL)[:-1] + f', "forwardedProps": {deep}, "forwarded_props": {deep}}}'
    with pytest.raises(InvalidRequest, match="nested deeper"):
        request_decoder.decode(body.encode())
