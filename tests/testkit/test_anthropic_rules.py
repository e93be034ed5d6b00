"""A1 to A6, A10 to A12 and the shape of a request: what the Messages API refuses, in its words, and what it takes."""

from typing import Any

import msgspec
import pytest

from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.anthropic import check_messages
from agui_gate_adapters.testkit.faults import Reply
from tests.testkit.anthropic_driving import (
    MODEL,
    THINK,
    TOOL,
    Json,
    any_answer,
    assistant,
    call,
    post,
    refusal,
    reply,
    result,
    use,
    user,
)

GO = user("go")


def without_result(index: int, ids: str) -> str:
    return (
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


# -- A1, A5: every call is answered in the next message, before anything else ------------------------------------


@pytest.mark.parametrize(
    ("messages", "index", "ids"),
    [
        ([GO, assistant(use("toolu_a")), user("and?")], 1, "toolu_a"),
        ([GO, assistant(use("toolu_a"), use("toolu_b"))], 1, "toolu_a, toolu_b"),
        ([GO, assistant(use("toolu_a"), use("toolu_b")), user(result("toolu_b"))], 1, "toolu_a"),
        ([GO, assistant("hi"), GO, assistant(use("toolu_a")), user("no"), assistant("x"), GO], 3, "toolu_a"),
        ([GO, assistant(use("toolu_a")), user("no"), assistant("x"), user(result("toolu_a"))], 1, "toolu_a"),
    ],
)
def test_a1_names_the_assistant_message_and_the_calls(messages: list[Json], index: int, ids: str) -> None:
    emulator = any_answer()
    assert refusal(emulator, *messages) == without_result(index, ids)
    assert [entry.rule for entry in emulator.refusals] == ["A1"]


def test_a1_results_may_come_in_several_user_messages_and_before_text() -> None:
    calls = assistant("I'll look.", use("toolu_a"), use("toolu_b"))
    reply(any_answer(), GO, calls, user(result("toolu_b")), user(result("toolu_a")), user("and hurry"))
    reply(any_answer(), GO, calls, user(result("toolu_a"), result("toolu_b"), "and hurry"))
    reply(any_answer(), GO, assistant("I'll look."), assistant(use("toolu_a")), user(result("toolu_a")))


def test_a5_text_before_results() -> None:
    late = [GO, assistant(use("toolu_a")), user("first this", result("toolu_a"))]
    assert refusal(any_answer(), *late) == without_result(1, "toolu_a")
    assert refusal(any_answer(anthropic="older"), *late, tools=[TOOL]) == (
        "messages.2: Did not find 1 `tool_result` block(s) at the beginning of this message. Messages following "
        "`tool_use` blocks must begin with a matching number of `tool_result` blocks."
    )
    emulator = any_answer()
    refusal(emulator, GO, assistant(use("toolu_a")), user("merged", "with"), user(result("toolu_a")))
    assert [entry.rule for entry in emulator.refusals] == ["A5"]


# -- A2, A3, A4 --------------------------------------------------------------------------------------------------


def orphan(where: str, call_id: str) -> str:
    return (
        f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
    )


@pytest.mark.parametrize(
    ("messages", "where"),
    [
        ([user(result("toolu_x"))], "messages.0.content.0"),
        ([GO, assistant("hi"), user(result("toolu_x"), "and?")], "messages.2.content.0"),
        ([GO, assistant(use("toolu_a")), user(result("toolu_a"), result("toolu_x"))], "messages.2.content.1"),
        (
            [GO, assistant(use("toolu_x")), user(result("toolu_x")), assistant("ok"), user("so", result("toolu_x"))],
            "messages.4.content.1",
        ),
    ],
)
def test_a2_orphan_result(messages: list[Json], where: str) -> None:
    assert refusal(any_answer(), *messages) == orphan(where, "toolu_x")


def test_a3_ids_are_unique_in_the_whole_request() -> None:
    once = [assistant(use("web_search_11")), user(result("web_search_11"))]
    assert refusal(any_answer(), GO, *once, *once) == "messages.3.content.0: `tool_use` ids must be unique"
    twice = assistant("both", use("toolu_a"), use("toolu_a"))
    assert refusal(any_answer(), GO, twice, user(result("toolu_a"))) == (
        "messages.1.content.2: `tool_use` ids must be unique"
    )
    reply(any_answer(), GO, *once, assistant(use("web_search_12")), user(result("web_search_12")))


def test_a4_one_result_for_each_call() -> None:
    twice = user(result("toolu_a"), result("toolu_a", "again"))
    assert refusal(any_answer(), GO, assistant(use("toolu_a")), twice) == (
        "messages.2.content.1: each tool_use must have a single result. "
        "Found multiple `tool_result` blocks with id: toolu_a"
    )


# -- A6 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call_id", ["functions.x:0", "", "toolu a", "call\n"])
def test_a6_foreign_ids(call_id: str) -> None:
    messages = [GO, assistant("ok", use(call_id)), user(result(call_id))]
    pattern = "String should match pattern '^[a-zA-Z0-9_-]+$'"
    assert refusal(any_answer(), *messages) == f"messages.1.content.1.tool_use.id: {pattern}"
    reply(any_answer(), GO, assistant(use("call_9-Az")), user(result("call_9-Az")))


# -- A10, A11, A12 -----------------------------------------------------------------------------------------------


def test_a10_how_a_conversation_ends() -> None:
    expected = "This model does not support assistant message prefill. The conversation must end with a user message."
    assert refusal(any_answer(), GO, assistant("The answer is")) == expected
    reply(any_answer(anthropic="older"), GO, assistant("The answer is"))
    assert refusal(any_answer(anthropic="older"), GO, assistant("The answer is ")) == (
        "messages: final assistant content cannot end with trailing whitespace"
    )


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([user("a", "")], "be non-empty"),
        ([user({"type": "text", "text": ""})], "be non-empty"),
        ([user("\n")], "contain non-whitespace text"),
        ([GO, assistant({"type": "text", "text": " "}), GO], "contain non-whitespace text"),
        ([GO, assistant(use("a")), user(result("a", [{"type": "text", "text": ""}]))], "be non-empty"),
    ],
)
def test_a11_empty_texts(messages: list[Json], problem: str) -> None:
    assert refusal(any_answer(), *messages) == f"messages: text content blocks must {problem}"


def test_a11_in_the_system_prompt_and_where_emptiness_is_fine() -> None:
    empty = [{"type": "text", "text": ""}]
    assert refusal(any_answer(), GO, system=empty) == "system: text content blocks must be non-empty"
    reply(any_answer(), GO, assistant(use("a")), user(result("a", "")), system="")


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], "messages: at least one message is required"),
        ([user("")], "messages.0: user messages must have non-empty content"),
        ([GO, assistant("ok"), user()], "messages.2: user messages must have non-empty content"),
        (
            [GO, assistant(""), GO],
            "messages.1: all messages must have non-empty content except for the optional final assistant message",
        ),
        (
            [{"role": "developer", "content": "x"}],
            'messages: Unexpected role "developer". Allowed roles are "user" or "assistant"',
        ),
        (
            [{"role": "system", "content": "x"}],
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
            'not "system" as an input message role.',
        ),
        ([{"role": "user", "content": "x", "name": "Bo"}], "messages.0.name: Extra inputs are not permitted"),
    ],
)
def test_a12_messages(messages: list[Json], expected: str) -> None:
    emulator = any_answer()
    assert refusal(emulator, *messages) == expected
    assert [entry.rule for entry in emulator.refusals] == ["A12"]


def test_a12_an_empty_message_beside_a_full_one_is_merged() -> None:
    reply(any_answer(), user(""), GO)


def test_a12_members() -> None:
    body = {"model": MODEL, "messages": [GO]}
    assert [found.message for found in check_messages(body)] == ["max_tokens: Field required"]
    extra = {**body, "max_tokens": 1, "max_output_tokens": 1}
    assert [found.message for found in check_messages(extra)] == ["max_output_tokens: Extra inputs are not permitted"]
    assert check_messages({**body, "max_tokens": 1}) == []


def test_the_first_error_is_that_of_the_first_member() -> None:
    body: Json = {"max_tokens": "1", "tools": 1, "system": 2, "tool_choice": "auto"}
    assert [found.message for found in check_messages(body)] == [
        "model: Field required",
        "tool_choice: Input should be a valid dictionary or object to extract fields from",
        "tools: Input should be a valid list",
        "messages: Field required",
        "system: Input should be a valid list",
        "max_tokens: Input should be a valid integer",
    ]


# -- shape -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "tool_use", "id": "a", "input": {}}, "tool_use.name: Field required"),
        (
            {"type": "tool_use", "id": "a", "name": "x", "input": "{}"},
            "tool_use.input: Input should be a valid dictionary",
        ),
        (
            {"type": "tool_use", "id": "a", "name": "x", "input": {}, "x": 1},
            "tool_use.x: Extra inputs are not permitted",
        ),
        ({"type": "text", "text": None}, "text.text: Input should be a valid string"),
        ({"text": "x"}, "type: Field required"),
    ],
)
def test_blocks(block: Json, expected: str) -> None:
    assert refusal(any_answer(), GO, assistant(block), GO) == f"messages.1.content.0.{expected}"


def test_unknown_blocks_are_answered_with_the_known_ones() -> None:
    text = refusal(any_answer(), user({"type": "input_text", "text": "x"}))
    assert text.startswith(
        "messages.0.content.0: Input tag 'input_text' found using 'type' does not match any of the expected tags: 'b"
    )


def test_blocks_belong_to_roles() -> None:
    assert refusal(any_answer(), user(use("a"))) == "messages.0: `tool_use` blocks can only be in `assistant` messages"
    assert refusal(any_answer(), GO, assistant(result("a")), GO) == (
        "messages.1: `tool_result` blocks can only be in `user` messages"
    )


def test_an_error_result_says_something() -> None:
    told = [GO, assistant(use("a"))]
    assert refusal(any_answer(), *told, user(result("a", "", is_error=True))) == (
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true"
    )
    reply(any_answer(), *told, user(result("a", "cancelled by user", is_error=True)))


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            {"name": "a b", "input_schema": {"type": "object"}},
            "name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        ({"name": "x"}, "input_schema: Field required"),
        ({"name": "x", "input_schema": {}}, "input_schema.type: Field required"),
        ({"name": "x", "input_schema": {"type": "array"}}, "input_schema.type: Input should be 'object'"),
        (
            {"name": "x", "input_schema": {"type": "object", "anyOf": []}},
            "input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        ),
        (
            {"name": "x", "input_schema": {"type": "object", "properties": {"a": {"type": "text"}}}},
            "input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
        ),
        (
            {"name": "x", "input_schema": {"type": "object"}, "parameters": {}},
            "parameters: Extra inputs are not permitted",
        ),
    ],
)
def test_tools(tool: Json, expected: str) -> None:
    assert refusal(any_answer(), GO, tools=[tool]) == f"tools.0.custom.{expected}"


def test_tools_of_other_apis() -> None:
    text = refusal(any_answer(), GO, tools=[{"type": "function", "function": {"name": "x"}}])
    assert text.startswith(
        "tools.0: Input tag 'function' found using 'type' does not match any of the expected tags: 'b"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
        ({"tool_choice": {"type": "auto"}}, "tool_choice may only be specified while providing tools."),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "Tool 'x' not found in provided tools"),
        (
            {"tools": [TOOL], "tool_choice": {"type": "required"}},
            "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: "
            "'any', 'auto', 'none', 'tool'",
        ),
        ({"max_tokens": True}, "max_tokens: Input should be a valid integer"),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
        (
            {"max_tokens": 500_000},
            f"max_tokens: 500000 > 128000, which is the maximum allowed number of output tokens for {MODEL}",
        ),
        (
            {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5},
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        ({"mcp_servers": []}, "mcp_servers: Extra inputs are not permitted"),
    ],
)
def test_members(body: Json, expected: str) -> None:
    assert refusal(any_answer(), GO, **body) == expected


def test_versions_of_the_api() -> None:
    old = {"anthropic-version": "2023-06-01"}
    cited = {"type": "text", "text": "x", "citations": [{"type": "char_location"}]}
    document = assistant({"type": "document", "source": {"type": "text"}})
    for member in ("temperature", "top_p", "top_k"):
        assert refusal(any_answer(), GO, **{member: 1}) == f"{member}: Extra inputs are not permitted"
        reply(any_answer(), GO, **{member: 1}, headers=old)
    assert refusal(any_answer(), user(cited)) == "messages.0.content.0.text.citations: Extra inputs are not permitted"
    reply(any_answer(), user(cited), headers=old)
    assert refusal(any_answer(), GO, document, GO) == "messages.1: `document` blocks can only be in `user` messages"
    reply(any_answer(), GO, document, GO, headers=old)
    reply(any_answer(), GO, assistant(cited), GO)
    assert refusal(any_answer(), GO, temperature=2, headers=old) == (
        "temperature: Input should be less than or equal to 1"
    )
    assert refusal(any_answer(), GO, **THINK, temperature=0.5, headers=old).startswith("`temperature` may only be set")


def test_beta_members_need_the_beta_header() -> None:
    reply(any_answer(), GO, mcp_servers=[], headers={"anthropic-beta": "mcp-client-2025-11-20"})


def test_marks_for_the_cache_are_counted_where_they_are() -> None:
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    block = {"type": "text", "text": "x", **mark}
    given: Json = {"system": [block], "tools": [{**TOOL, **mark}]}
    reply(any_answer(), user(block, block), **given)
    assert "Found 5." in refusal(any_answer(), user(block, block, block), **given)


def test_the_prompt_is_too_long() -> None:
    assert refusal(any_answer(), user("x" * 1_000_000)).startswith("prompt is too long: 2500")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"max_tokens": 1024}, "`max_tokens` must be greater than `thinking.budget_tokens`."),
        ({"tools": [TOOL], "tool_choice": {"type": "any"}}, "Thinking may not be enabled when tool_choice forces tool"),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 100}},
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ),
        (
            {"thinking": {"type": "on"}},
            "thinking: Input tag 'on' found using 'type' does not match any of the expected",
        ),
    ],
)
def test_what_thinking_excludes(body: Json, expected: str) -> None:
    assert refusal(any_answer(), GO, **{**THINK, **body}).startswith(expected)


def test_models_that_decide_how_much_to_think() -> None:
    assert refusal(any_answer(anthropic="preserved"), GO, **THINK) == (
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.'
    )
    reply(any_answer(anthropic="preserved"), GO, thinking={"type": "adaptive"}, output_config={"effort": "high"})


def test_hosts_that_want_more() -> None:
    older = any_answer(anthropic="older")
    assert refusal(older, assistant("hi"), GO) == 'messages: first message must use the "user" role'
    history = [GO, assistant(use("a")), user(result("a"))]
    assert refusal(older, *history) == (
        "Requests which have `tool_use` or `tool_result` blocks in `messages` must define tools."
    )
    reply(any_answer(), assistant("hi"), *history)


def test_indices_before_or_after_merging() -> None:
    messages = [user("a"), user("b"), assistant("c"), assistant(use("x")), user("d")]
    assert refusal(any_answer(), *messages) == without_result(1, "x")
    emulator = any_answer()
    emulator.messages.profile = msgspec.structs.replace(emulator.messages.profile, merged_indices=False)
    assert refusal(emulator, *messages) == without_result(2, "x")
    assert refusal(emulator, *messages[:3], user(), user("e", result("y"))) == orphan("messages.4.content.1", "y")


# -- server tools ------------------------------------------------------------------------------------------------

SEARCHED: Json = {"type": "web_search_call", "action": {"query": "tea"}, "results": [{"url": "https://a.example/"}]}


def test_server_tools_live_in_the_assistants_message() -> None:
    emulator = Emulator([{"output": [SEARCHED, {"type": "message", "text": "Found."}, call("toolu_a")]}, {**say_ok()}])
    first = reply(emulator, GO)
    assert [block["type"] for block in first["content"]] == [
        "server_tool_use",
        "web_search_tool_result",
        "text",
        "tool_use",
    ]
    assert first["stop_reason"] == "tool_use"
    search_id = first["content"][0]["id"]
    lost = assistant(*first["content"][1:])
    assert refusal(emulator, GO, lost, user(result("toolu_a"))) == (
        f"messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: {search_id}. "
        "Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it."
    )
    half = assistant(first["content"][0], *first["content"][2:])
    assert refusal(emulator, GO, half, user(result("toolu_a"))) == (
        f"messages.1: `web_search` tool use with id `{search_id}` was found without a corresponding "
        "`web_search_tool_result` block"
    )
    reply(emulator, GO, assistant(*first["content"]), user(result("toolu_a")))


def say_ok() -> Json:
    return {"output": [{"type": "message", "text": "ok"}], "repeat": True}


def test_a_paused_turn_is_sent_back_to_go_on() -> None:
    pending = {**SEARCHED, "pending": True, "call_id": "srvtoolu_1"}
    resumed = {**SEARCHED, "resumes": True, "call_id": "srvtoolu_1"}
    emulator = Emulator(
        [
            {"output": [pending], "status": "incomplete", "reason": "pause_turn"},
            {"output": [resumed, {"type": "message", "text": "Tea."}]},
            say_ok(),
        ]
    )
    first = reply(emulator, GO)
    assert first["stop_reason"] == "pause_turn"
    second = reply(emulator, GO, assistant(*first["content"]))
    assert [block["type"] for block in second["content"]] == ["web_search_tool_result", "text"]
    reply(emulator, GO, assistant(*first["content"]), assistant(*second["content"]), user("thanks"))


# -- access ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status", "kind", "message"),
    [
        ({}, 401, "authentication_error", "x-api-key header is required"),
        ({"x-api-key": "wrong"}, 401, "authentication_error", "invalid x-api-key"),
        ({"authorization": "Bearer wrong"}, 401, "authentication_error", "Invalid bearer token"),
        ({"x-api-key": "right"}, 400, "invalid_request_error", "anthropic-version: header is required"),
        ({"authorization": "Bearer right"}, 400, "invalid_request_error", "anthropic-version: header is required"),
    ],
)
def test_headers(headers: dict[str, str], status: int, kind: str, message: str) -> None:
    from agui_gate_adapters.testkit.faults import Refused

    emulator = any_answer(api_key="right")
    with pytest.raises(Refused) as caught:
        emulator.messages.authorize(headers)
    violation = caught.value.violation
    assert (violation.status, violation.type, violation.message) == (status, kind, message)
    emulator.messages.authorize({"x-api-key": "right", "anthropic-version": "2023-06-01"})


def test_unknown_models_and_bodies_that_are_none() -> None:
    emulator = any_answer(models=frozenset({MODEL}))
    unknown = post(emulator, GO, model="claude-0")
    assert isinstance(unknown, Reply)
    assert (unknown.status, msgspec.json.decode(unknown.body)["error"]) == (
        404,
        {"type": "not_found_error", "message": "model: claude-0"},
    )
    for raw in (b"{", b"[]", b"[" * 100_000):
        refused = emulator.messages.create(raw, {})
        assert isinstance(refused, Reply)
        assert refused.status == 400


def test_a_refused_request_uses_up_no_turn() -> None:
    emulator = Emulator([{"output": [{"type": "message", "text": "once"}]}])
    refusal(emulator)
    assert emulator.remaining_turns == 1
    assert reply(emulator, GO)["content"] == [{"type": "text", "text": "once", "citations": None}]
    assert refusal(emulator, GO) == "Emulator: the script has no turn for this request."


def test_nonsense_is_refused_and_never_crashed_on() -> None:
    nonsense: list[Any] = [None, 1, "x", [], {}, [1], [None], [[]], [{}], {"type": 1}, {"type": []}, [{"type": {}}]]
    for value in nonsense:
        for member in ("messages", "tools", "tool_choice", "system", "thinking", "metadata", "cache_control"):
            check_messages({"model": MODEL, "max_tokens": 1, "messages": [GO], member: value})
        check_messages({"model": MODEL, "max_tokens": 1, "messages": [{"role": value, "content": value}]})
        check_messages({"model": MODEL, "max_tokens": 1, "messages": [user(value)]})
