"""What the emulated Chat Completions API refuses: every rule with its exact error, beside what it accepts."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate_adapters.testkit import CHAT_PROFILES, Emulator, check_chat_request
from tests.support.chance import examples
from tests.testkit.chatting import HELLO, MODEL, SCHEMA, TOOL, post, refusal, reply, result, said

MUST_FOLLOW = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
)
UNANSWERED = f"{MUST_FOLLOW} The following tool_call_ids did not have response messages: "
ORPHAN = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
LONG = "call_" + "x" * 60


def error(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"message": message, "type": "invalid_request_error", "param": param, "code": code}


def empty(path: str) -> dict[str, Any]:
    told = f"Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return error(told, path, "empty_array")


PAIRS: list[tuple[str, list[dict[str, Any]], dict[str, Any]]] = [
    ("C1", [HELLO, said("call_a", "call_b"), HELLO], error(f"{UNANSWERED}call_a, call_b", "messages.[2].role")),
    ("C1", [HELLO, said("call_a", "call_b"), result("call_b")], error(f"{UNANSWERED}call_a", "messages")),
    ("C1", [said("call_a"), said("call_b"), result("call_b")], error(f"{UNANSWERED}call_a", "messages.[1].role")),
    ("C1", [said("call_a"), HELLO, result("call_a")], error(f"{UNANSWERED}call_a", "messages.[1].role")),
    ("C1", [said("call_a", "call_a"), result("call_a")], error(f"{UNANSWERED}call_a", "messages.[0].role")),
    ("C2", [HELLO, result("call_a")], error(ORPHAN, "messages.[1].role")),
    ("C2", [said("call_a"), result("call_b")], error(ORPHAN, "messages.[1].role")),
    ("C2", [said("call_a"), result("call_a"), HELLO, result("call_a")], error(ORPHAN, "messages.[3].role")),
    (
        "C3",
        [said("call_a"), result("call_a"), result("call_a")],
        error(
            "Invalid parameter: Duplicate value for 'tool_call_id' of 'call_a', in messages[1] and messages[2].",
            "messages.[2].tool_call_id",
        ),
    ),
    (
        "C4",
        [HELLO, {"role": "user", "content": None}],
        error("Invalid value for 'content': expected a string, got null.", "messages.[1].content"),
    ),
    (
        "C4",
        [{"role": "assistant"}],
        error("Invalid value for 'content': expected a string, got null.", "messages.[0].content"),
    ),
    (
        "C4",
        [said("call_a"), result("call_a", None)],
        error("Invalid value for 'content': expected a string, got null.", "messages.[1].content"),
    ),
    ("C5", [said(content="Hm.")], empty("messages[0].tool_calls")),
    (
        "C6",
        [said(LONG), result(LONG)],
        error(
            "Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with maximum length 64, "
            "but got a string with length 65 instead.",
            "messages[0].tool_calls[0].id",
            "string_above_max_length",
        ),
    ),
]


@pytest.mark.parametrize(("rule", "messages", "expected"), PAIRS)
def test_pairing_and_content(rule: str, messages: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    emulator = Emulator()
    assert refusal(emulator, *messages) == (400, {"error": expected})
    (entry,) = emulator.refusals
    assert (entry.rule, entry.path, entry.error) == (rule, "/v1/chat/completions", expected)
    assert entry.body is not None
    assert entry.body["messages"] == messages


@pytest.mark.parametrize(
    "messages",
    [
        [said("call_a", "call_b"), result("call_b"), result("call_a"), HELLO],
        [said("call_a"), result("call_a"), said("call_a"), result("call_a")],  # Ids are scoped to their turn.
        [said("call_a"), result("call_a"), HELLO, said("call_a"), result("call_a", ""), HELLO],
        [HELLO, {"role": "assistant", "refusal": "No."}, {"role": "user", "content": ""}],
        [{"role": "developer", "content": [{"type": "text", "text": "Be kind."}]}, HELLO],
        [HELLO, {"role": "assistant", "content": "Hi.", "tool_calls": None}, HELLO],
        [said("x" * 64), result("x" * 64)],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}}]}],
    ],
)
def test_accepted(messages: list[dict[str, Any]]) -> None:
    assert check_chat_request({"model": MODEL, "messages": messages}) == []
    reply(Emulator(), *messages)


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({"messages": [HELLO]}, 400, error("you must provide a model parameter")),
        (
            {"model": "gpt-9", "messages": [HELLO]},
            404,
            error("The model `gpt-9` does not exist or you do not have access to it.", None, "model_not_found"),
        ),
        (
            {"model": MODEL},
            400,
            error("Missing required parameter: 'messages'.", "messages", "missing_required_parameter"),
        ),
        (
            {"model": MODEL, "messages": "hello"},
            400,
            error(
                "Invalid type for 'messages': expected an array of objects, but got a string instead.",
                "messages",
                "invalid_type",
            ),
        ),
        ({"model": MODEL, "messages": []}, 400, empty("messages")),
    ],
)
def test_model_and_messages(body: dict[str, Any], status: int, expected: dict[str, Any]) -> None:
    """C7, after the model."""
    emulator = Emulator(models=frozenset({MODEL}))
    answer = emulator.chat.create(msgspec.json.encode(body))
    assert (answer.status, msgspec.json.decode(answer.body)) == (status, {"error": expected})  # type: ignore[union-attr]  # a refusal


FLAT = {"type": "function", "name": "refund", "parameters": SCHEMA}
MEMBERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"input": "x"}, error("Unknown parameter: 'input'.", "input", "unknown_parameter")),
    (
        {"stream": "yes"},
        error("Invalid type for 'stream': expected a boolean, but got a string instead.", "stream", "invalid_type"),
    ),
    (
        {"temperature": 3},
        error(
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
            "temperature",
            "decimal_above_max_value",
        ),
    ),
    (
        {"stream_options": {"include_usage": True}},
        error(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
            "invalid_value",
        ),
    ),
    (
        {"stream": True, "stream_options": {"usage": True}},
        error("Unknown parameter: 'stream_options.usage'.", "stream_options.usage", "unknown_parameter"),
    ),
    ({"tools": []}, empty("tools")),
    (
        {"tools": [FLAT]},
        error("Missing required parameter: 'tools[0].function'.", "tools[0].function", "missing_required_parameter"),
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "re fund"}}]},
        error(
            "Invalid 'tools[0].function.name': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            "tools[0].function.name",
            "invalid_value",
        ),
    ),
    (
        {"tools": [TOOL], "tool_choice": "any"},
        error(
            "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
            "tool_choice",
            "invalid_value",
        ),
    ),
    (
        {"tools": [TOOL], "tool_choice": {"type": "function", "name": "refund"}},
        error(
            "Missing required parameter: 'tool_choice.function'.", "tool_choice.function", "missing_required_parameter"
        ),
    ),
    (
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}},
        error("Tool choice 'other' not found in 'tools' parameter.", "tool_choice", "invalid_value"),
    ),
    (
        {"parallel_tool_calls": False},
        error(
            "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are "
            "specified.",
            "parallel_tool_calls",
        ),
    ),
]


@pytest.mark.parametrize(("body", "expected"), MEMBERS)
def test_the_body(body: dict[str, Any], expected: dict[str, Any]) -> None:
    assert refusal(Emulator(), HELLO, **body) == (400, {"error": expected})


def test_a_request_with_everything_is_accepted() -> None:
    body = {
        "tools": [TOOL],
        "tool_choice": {"type": "function", "function": {"name": "refund"}},
        "parallel_tool_calls": False,
        "stream": True,
        "stream_options": {"include_usage": True, "include_obfuscation": False},
        "temperature": 0,
        "max_completion_tokens": 100,
    }
    assert check_chat_request({"model": MODEL, "messages": [HELLO], **body}) == []


MESSAGES: list[tuple[dict[str, Any], str, str | None]] = [
    ({"content": "x"}, "Missing required parameter: 'messages[0].role'.", "messages[0].role"),
    (
        {"role": "robot", "content": "x"},
        "Invalid value: 'robot'. Supported values are: "
        "'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
        "messages[0].role",
    ),
    (
        {"role": "user", "content": 7},
        "Invalid type for 'messages[0].content': expected one of a string or array of objects, "
        "but got an integer instead.",
        "messages[0].content",
    ),
    (
        {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
        "Invalid value: 'input_text'. Supported values are: 'text', 'image_url', 'input_audio', and 'file'.",
        "messages[0].content[0].type",
    ),
    (
        {"role": "user", "content": "x", "tool_calls": None},
        "Unknown parameter: 'messages[0].tool_calls'.",
        "messages[0].tool_calls",
    ),
    (
        {"role": "assistant", "content": "x", "reasoning_content": "hm"},
        "Unknown parameter: 'messages[0].reasoning_content'.",
        "messages[0].reasoning_content",
    ),
    (
        {"role": "tool", "content": "x"},
        "Missing required parameter: 'messages[0].tool_call_id'.",
        "messages[0].tool_call_id",
    ),
    (
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": {}}}],
        },
        "Invalid type for 'messages[0].tool_calls[0].function.arguments': expected a string, "
        "but got an object instead.",
        "messages[0].tool_calls[0].function.arguments",
    ),
]


@pytest.mark.parametrize(("message", "told", "param"), MESSAGES)
def test_single_messages(message: dict[str, Any], told: str, param: str) -> None:
    status, body = refusal(Emulator(), message)
    assert (status, body["error"]["message"], body["error"]["param"]) == (400, told, param)


def test_the_order_of_the_checks() -> None:
    """Roles before content types before C5 and C6 before pairing, and C4 last of all."""
    steps: list[tuple[str, dict[str, Any]]] = [
        ("role", {"role": "robot"}),
        ("type", {"role": "user", "content": 7}),
        ("C5", said()),
        ("C2", result("call_a")),
        ("C4", {"role": "user"}),
    ]
    for first in range(len(steps)):
        messages = [message for _, message in reversed(steps[first:])]
        rules = [found.rule for found in check_chat_request({"model": MODEL, "messages": messages})]
        assert rules[0] == steps[first][0]


def test_what_is_no_json_is_said_so() -> None:
    emulator = Emulator()
    for raw in (b"", b"[]", b'{"model"', b"\xff"):
        answer = emulator.chat.create(raw)
        assert answer.status == 400  # type: ignore[union-attr]  # a refusal
    assert [entry.rule for entry in emulator.refusals] == ["json"] * 4


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.sampled_from(["", "user", "tool", "assistant", "function", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "tool_calls", "tool_call_id", "id", "type", "function", "name", "arguments", "text"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@examples(37)
@given(messages=JSON, tools=JSON, choice=JSON, profile=st.sampled_from(sorted(CHAT_PROFILES)))
def test_any_json_is_refused_or_answered(messages: Any, tools: Any, choice: Any, profile: str) -> None:
    emulator = Emulator(chat=profile)
    body = {"model": MODEL, "messages": messages, "tools": tools, "tool_choice": choice}
    emulator.chat.create(msgspec.json.encode(body))
    assert len(emulator.journal.entries) == 1


TURNS = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True), max_size=4)


@examples(60)
@given(turns=TURNS, data=st.data())
def test_whole_turns_pair_and_every_gap_is_seen(turns: list[list[str]], data: st.DataObject) -> None:
    messages: list[dict[str, Any]] = [HELLO]
    for ids in turns:
        messages += [said(*ids), *(result(i) for i in data.draw(st.permutations(ids)))]
    assert check_chat_request({"model": MODEL, "messages": messages}) == []
    answers = [index for index, message in enumerate(messages) if message["role"] == "tool"]
    if answers:
        gone = data.draw(st.sampled_from(answers))
        (found,) = check_chat_request({"model": MODEL, "messages": messages[:gone] + messages[gone + 1 :]})
        assert found.rule == "C1"
        assert found.message.endswith(f": {messages[gone]['tool_call_id']}")


def test_a_refused_request_uses_up_no_turn() -> None:
    emulator = Emulator([{"output": [{"type": "message", "text": "Hi."}]}])
    refusal(emulator, result("call_a"))
    assert emulator.remaining_turns == 1
    assert reply(emulator)["choices"][0]["message"]["content"] == "Hi."
    status, body = refusal(emulator)
    assert (status, body["error"]["code"]) == (400, "emulator_script_exhausted")
    assert post(emulator, HELLO, n=0) is not None
