"""Every numbered refusal: exact status and body, and nothing stored by it."""

from typing import Any

import msgspec
import pytest

from agui_gate_adapters.testkit import PROFILES, Emulator, ProviderState, check_request
from tests.testkit.driving import MODEL, TOOL, answer, call, error, output, refusal, say, user

REASONING = {"type": "reasoning", "summary": ["thinking"]}
ENCRYPTED = {"store": False, "include": ["reasoning.encrypted_content"]}


def pending(*items: dict[str, Any], **body: Any) -> tuple[Emulator, dict[str, Any]]:
    """An emulator whose first answer had these items, and that answer."""
    emulator = Emulator([{"output": list(items)}, {**say("next"), "repeat": True}])
    return emulator, answer(emulator, **body)


def no_output(call_id: str, label: str = "function call") -> dict[str, Any]:
    return error(f"No tool output found for {label} {call_id}.", "input", None)


# -- R1, R1b, R2: calls and outputs ------------------------------------------------------------------------------


def test_r1_in_a_chain_names_the_missing_call_and_leaves_the_parent_usable() -> None:
    emulator, first = pending(call(call_id="call_a"), call(call_id="call_b"))
    again = {"previous_response_id": first["id"]}
    assert refusal(emulator, **again) == (400, no_output("call_a"))
    assert refusal(emulator, **again, input=[output("call_a"), user("go on")]) == (400, no_output("call_b"))
    assert answer(emulator, **again, input=[output("call_a"), output("call_b")])["status"] == "completed"


def test_r1_in_a_conversation_is_sticky() -> None:
    emulator = Emulator([{"output": [call(call_id="call_a")]}, {**say("next"), "repeat": True}])
    conversation = new_conversation(emulator)
    answer(emulator, conversation=conversation)
    for _ in range(2):
        assert refusal(emulator, conversation={"id": conversation}) == (400, no_output("call_a"))
    answer(emulator, conversation=conversation, input=[output("call_a"), user("and?")])
    answer(emulator, conversation=conversation)


def test_r1_stateless() -> None:
    emulator = Emulator([say("hi")])
    items = [user("go"), {"type": "function_call", "call_id": "call_x", "name": "refund", "arguments": "{}"}]
    assert refusal(emulator, input=items, store=False) == (400, no_output("call_x"))
    answer(emulator, input=[*items, user("between"), output("call_x")], store=False)


def test_r1_when_an_output_carries_its_calls_item_id() -> None:
    emulator, first = pending(call(call_id="call_a"))
    wrong = {**output("call_a"), "id": first["output"][0]["id"]}
    assert refusal(emulator, previous_response_id=first["id"], input=[wrong]) == (400, no_output("call_a"))


@pytest.mark.parametrize(
    ("item", "label"),
    [
        ({"type": "custom_tool_call", "name": "sql", "input": "select", "call_id": "call_a"}, "custom tool call"),
        ({"type": "local_shell_call", "action": {"type": "exec"}, "call_id": "call_a"}, "local shell call"),
        ({"type": "shell_call", "action": {}, "call_id": "call_a"}, "shell call"),
        ({"type": "apply_patch_call", "operation": {}, "call_id": "call_a", "status": "completed"}, "apply patch call"),
        ({"type": "computer_call", "action": {}, "call_id": "call_a"}, "computer call"),
        (
            {"type": "tool_search_call", "arguments": {}, "execution": "client", "call_id": "call_a"},
            "tool search call",
        ),
    ],
)
def test_r1b_for_the_other_kinds(item: dict[str, Any], label: str) -> None:
    emulator, first = pending(item)
    assert refusal(emulator, previous_response_id=first["id"]) == (400, no_output("call_a", label))


def test_local_shell_output_pairs_through_its_id() -> None:
    emulator, first = pending({"type": "local_shell_call", "action": {"type": "exec"}, "call_id": "call_a"})
    shell = {"type": "local_shell_call_output", "id": first["output"][0]["id"], "output": "{}"}
    second = answer(emulator, previous_response_id=first["id"], input=[shell])
    answer(emulator, previous_response_id=second["id"])


def test_r2_orphan_output() -> None:
    emulator, first = pending(call(call_id="call_a"))
    expected = error("No tool call found for function call output with call_id call_z.", "input", None)
    again = {"previous_response_id": first["id"]}
    assert refusal(emulator, **again, input=[output("call_a"), output("call_z")]) == (400, expected)
    assert refusal(emulator, input=[output("call_z")]) == (400, expected)


def test_r2_kinds_must_match() -> None:
    emulator, first = pending(call(call_id="call_a"))
    wrong = {"type": "custom_tool_call_output", "call_id": "call_a", "output": "x"}
    expected = error("No tool call found for custom tool call output with call_id call_a.", "input", None)
    assert refusal(emulator, previous_response_id=first["id"], input=[wrong]) == (400, expected)


def test_an_output_before_its_call_is_an_orphan() -> None:
    emulator = Emulator([say("hi")])
    items = [output("call_x"), {"type": "function_call", "call_id": "call_x", "name": "refund", "arguments": "{}"}]
    assert refusal(emulator, input=items, store=False)[1]["message"].startswith("No tool call found")


def test_a_second_output_is_reported_as_ours() -> None:
    emulator, first = pending(call(call_id="call_a"))
    status, body = refusal(emulator, previous_response_id=first["id"], input=[output("call_a"), output("call_a")])
    assert (status, body["code"]) == (400, "emulator_strict")


def test_a_repeated_call_id_needs_a_new_output_each_time() -> None:
    repeated = {"output": [call(call_id="call_a")]}
    emulator = Emulator([repeated, repeated, say("done")])
    first = answer(emulator)
    second = answer(emulator, previous_response_id=first["id"], input=[output("call_a")])
    assert refusal(emulator, previous_response_id=second["id"])[1] == no_output("call_a")
    answer(emulator, previous_response_id=second["id"], input=[output("call_a")])


# -- R3 ----------------------------------------------------------------------------------------------------------


def test_r3_in_context_in_input_and_by_reference() -> None:
    emulator, first = pending(call(call_id="call_a"))
    item = first["output"][0]
    message = f"Duplicate item found with id {item['id']}. Remove duplicate items from your input and try again."
    expected = (400, error(message, "input", None))
    again = {"previous_response_id": first["id"]}
    reference = {"type": "item_reference", "id": item["id"]}
    assert refusal(emulator, **again, input=[item, output("call_a")]) == expected
    assert refusal(emulator, **again, input=[reference, output("call_a")]) == expected
    assert refusal(emulator, input=[item, item, output("call_a")]) == expected


def test_a_call_replayed_without_its_id_is_reported_as_ours() -> None:
    emulator, first = pending(call(call_id="call_a"))
    bare = {key: value for key, value in first["output"][0].items() if key != "id"}
    body = {"previous_response_id": first["id"], "input": [bare, output("call_a")]}
    assert refusal(emulator, **body)[1]["code"] == "emulator_strict"
    emulator.profile = msgspec.structs.replace(emulator.profile, reject_call_id_replay=False)
    answer(emulator, **body)


# -- R4, R5: reasoning groups ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stateless", [False, True])
def test_r4_reasoning_without_its_item(stateless: bool) -> None:
    emulator, first = pending(REASONING, call(call_id="call_a"), **(ENCRYPTED if stateless else {}))
    thought, made = first["output"]
    message = f"Item '{thought['id']}' of type 'reasoning' was provided without its required following item."
    expected = (400, error(message, "input", None))
    bare = {key: value for key, value in made.items() if key != "id"}
    for items in ([thought], [thought, user("x"), made, output("call_a")], [thought, bare, output("call_a")]):
        assert refusal(emulator, input=[user("go"), *items], store=False) == expected


@pytest.mark.parametrize("stateless", [False, True])
def test_r5_item_without_its_reasoning(stateless: bool) -> None:
    emulator, first = pending(REASONING, call(call_id="call_a"), **(ENCRYPTED if stateless else {}))
    thought, made = first["output"]
    message = (
        f"Item '{made['id']}' of type 'function_call' was provided "
        f"without its required 'reasoning' item: '{thought['id']}'."
    )
    assert refusal(emulator, input=[made, output("call_a")], store=False) == (400, error(message, "input", None))


def test_r5_for_messages() -> None:
    emulator, first = pending(REASONING, {"type": "message", "text": "hi"})
    thought, said = first["output"]
    message = (
        f"Item '{said['id']}' of type 'message' was provided without its required 'reasoning' item: '{thought['id']}'."
    )
    assert refusal(emulator, input=[said, user("x")]) == (400, error(message, "input", None))


def test_whole_groups_and_groups_without_ids_are_fine() -> None:
    emulator, first = pending(REASONING, call(call_id="call_a"), **ENCRYPTED)
    thought, made = first["output"]
    bare = {key: value for key, value in made.items() if key != "id"}
    answer(emulator, input=[user("go"), thought, made, output("call_a")], **ENCRYPTED)
    answer(emulator, input=[user("go"), bare, output("call_a")], **ENCRYPTED)


def test_the_strict_switch_for_unstored_groups() -> None:
    emulator, first = pending(REASONING, call(call_id="call_a"), **ENCRYPTED)
    emulator.profile = msgspec.structs.replace(emulator.profile, reasoning_groups_unstored=False)
    answer(emulator, input=[first["output"][1], output("call_a")], **ENCRYPTED)


# -- R6 to R10, R12: state ---------------------------------------------------------------------------------------


def previous_not_found(response_id: str) -> tuple[int, dict[str, Any]]:
    message = f"Previous response with id '{response_id}' not found."
    return 400, error(message, "previous_response_id", "previous_response_not_found")


def test_r6_unknown_unstored_deleted_and_expired() -> None:
    emulator, first = pending({"type": "message", "text": "hi"})
    unstored = answer(emulator, store=False)
    deleted = answer(emulator)
    emulator.responses.delete(deleted["id"])
    for response_id in ("resp_nope", unstored["id"], deleted["id"]):
        assert refusal(emulator, previous_response_id=response_id) == previous_not_found(response_id)
    answer(emulator, previous_response_id=first["id"])
    emulator.state.clock.advance(31 * 86_400)
    assert refusal(emulator, previous_response_id=first["id"]) == previous_not_found(first["id"])


def test_r6_a_failed_response_is_no_parent_but_an_incomplete_one_is() -> None:
    emulator = Emulator([{"status": "failed"}, say("half", status="incomplete"), say("next")])
    failed, incomplete = answer(emulator), answer(emulator)
    assert refusal(emulator, previous_response_id=failed["id"]) == previous_not_found(failed["id"])
    answer(emulator, previous_response_id=incomplete["id"])


def test_r6b_zero_data_retention() -> None:
    emulator = Emulator([say("hi")], zdr=True)
    first = answer(emulator)
    assert first["store"] is False
    tail = "cannot be used for this organization due to Zero Data Retention."
    assert refusal(emulator, previous_response_id=first["id"]) == (
        400,
        error(f"Previous response {tail}", "previous_response_id", "unsupported_parameter"),
    )
    assert refusal(emulator, conversation="conv_x") == (
        400,
        error(f"Conversation ID {tail}", "conversation", "unsupported_parameter"),
    )


def test_r7_unknown_conversation() -> None:
    expected = error("Conversation with id 'conv_x' not found.", None, None)
    assert refusal(Emulator([say("hi")]), conversation="conv_x") == (404, expected)
    foundry = Emulator([say("hi")], profile="foundry")
    assert refusal(foundry, conversation="conv_x", input=[user("x")])[1]["param"] == "conversation_id"


def test_r10_both_state_fields() -> None:
    message = "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' or 'conversation'."
    expected = error(message, None, "mutually_exclusive_parameters")
    assert refusal(Emulator([say("hi")]), previous_response_id="resp_x", conversation="conv_x") == (400, expected)


def test_r12_nothing_to_answer() -> None:
    message = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided."
    expected = (400, error(message, None, "missing_required_parameter"))
    emulator = Emulator([say("hi")])
    assert refusal(emulator, input="") == expected
    assert refusal(emulator, input=[]) == expected


# -- R9, R18, R19 ------------------------------------------------------------------------------------------------


def test_r9_ids_of_unstored_responses_cannot_be_resolved() -> None:
    emulator, first = pending(REASONING, {"type": "message", "text": "hi"}, store=False)
    thought = first["output"][0]
    start = f"Item with id '{thought['id']}' not found. Items are not persisted"
    tail = "Try again with `store` set to true, or remove this item from your input."
    message = f"{start} when `store` is set to false. {tail}"
    assert refusal(emulator, input=first["output"], store=False) == (404, error(message, "input", None))
    reference = {"type": "item_reference", "id": thought["id"]}
    assert refusal(emulator, input=[reference]) == (404, error(message, "input", None))


def test_r9_unknown_ids_and_hosted_items() -> None:
    emulator = Emulator([say("hi")])
    expected = (404, error("Item with id 'ws_x' not found.", "input", None))
    assert refusal(emulator, input=[{"type": "item_reference", "id": "ws_x"}]) == expected
    search = {"type": "web_search_call", "id": "ws_x", "status": "completed"}
    assert refusal(emulator, input=[search, user("x")]) == expected
    azure = Emulator([say("hi")], profile="azure_v1")
    assert refusal(azure, input=[search, user("x")])[0] == 400


def test_r9_under_zero_data_retention() -> None:
    emulator = Emulator([{"output": [REASONING]}], zdr=True)
    thought = answer(emulator)["output"][0]
    message = refusal(emulator, input=[thought])[1]["message"]
    assert "not persisted for Zero Data Retention organizations" in message


def test_references_to_stored_items_resolve() -> None:
    emulator, first = pending(call(call_id="call_a"))
    reference = {"type": "item_reference", "id": first["output"][0]["id"]}
    answer(emulator, input=[user("go"), reference, output("call_a")])


def test_r18_blob_under_another_id() -> None:
    emulator, first = pending(REASONING, {"type": "message", "text": "hi"}, **ENCRYPTED)
    thought = {**first["output"][0], "id": "rs_other"}
    reason = "Reason: Encrypted content item_id did not match the target item id."
    message = f"The encrypted content for item rs_other could not be verified. {reason}"
    expected = (400, error(message, None, "invalid_encrypted_content"))
    assert refusal(emulator, input=[thought, user("x")], store=False) == expected


def test_r18_altered_early_and_foreign_blobs() -> None:
    emulator = Emulator([{"output": [REASONING]}, {**say("next"), "repeat": True}])
    exchange = emulator.create(msgspec.json.encode({"model": MODEL, "input": "x", "stream": True, **ENCRYPTED}))
    events = list(exchange.events())  # type: ignore[union-attr]  # a Reply would fail the test here
    early = next(event["item"] for event in events if event["type"] == "response.output_item.added")
    done = next(event["item"] for event in events if event["type"] == "response.output_item.done")
    blob = done["encrypted_content"]
    assert early["encrypted_content"] != blob
    altered = blob[:-8] + ("A" * 8 if blob[-8:] != "A" * 8 else "B" * 8)
    for wrong in (early["encrypted_content"], altered, "gAAAAnonsense"):
        message = f"The encrypted content {wrong[:4]}...{wrong[-4:]} could not be verified."
        expected = (400, error(message, None, "invalid_encrypted_content"))
        assert refusal(emulator, input=[{**done, "encrypted_content": wrong}], store=False) == expected
    assert refusal(emulator, model="other", input=[done], store=False)[1]["code"] == "invalid_encrypted_content"
    answer(emulator, input=[done, user("x")], store=False)


def test_r19_mcp_approvals() -> None:
    request = {"type": "mcp_approval_request", "server_label": "s", "name": "t", "arguments": "{}"}
    emulator, first = pending(request)
    request_id = first["output"][0]["id"]
    again = {"previous_response_id": first["id"]}
    message = f"The following MCP approval requests do not have an approval: {request_id}"
    assert refusal(emulator, **again) == (400, error(message, "input", None))
    response = {"type": "mcp_approval_response", "approval_request_id": request_id, "approve": True}
    unknown = {**response, "approval_request_id": "mcpr_x"}
    expected = error("Item with id 'mcpr_x' not found.", "input", None)
    assert refusal(emulator, **again, input=[response, unknown]) == (404, expected)
    answer(emulator, **again, input=[response])


# -- R11, R13 to R17, R20 to R22, R25: shape ---------------------------------------------------------------------

FUNCTION_CALL = {"type": "function_call", "call_id": "call_a", "name": "refund", "arguments": "{}"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}
CHAT_TOOL = {"type": "function", "function": {"name": "refund"}}


@pytest.mark.parametrize(
    ("body", "message", "param", "code"),
    [
        ({"model": None}, "Missing required parameter: 'model'.", "model", "missing_required_parameter"),
        ({"zzz": 1}, "Unknown parameter: 'zzz'.", "zzz", "unknown_parameter"),
        ({"stor": True}, "Unknown parameter: 'stor'. Did you mean 'store'?", "stor", "unknown_parameter"),
        (
            {"input": [user("x"), {**THOUGHT, "status": None}]},
            "Unknown parameter: 'input[1].status'.",
            "input[1].status",
            "unknown_parameter",
        ),
        (
            {"input": [{**user("x"), "phase": "commentary"}]},
            "Unknown parameter: 'input[0].phase'.",
            "input[0].phase",
            "unknown_parameter",
        ),
        (
            {"input": [{**FUNCTION_CALL, "id": None}, output("call_a")]},
            "Unknown parameter: 'input[0].id'.",
            "input[0].id",
            "unknown_parameter",
        ),
        (
            {"input": [user("x"), {**THOUGHT, "summary": {"type": "summary_text", "text": "x"}}]},
            "Invalid type for 'input[1].summary': expected an array of objects, but got an object instead.",
            "input[1].summary",
            "invalid_type",
        ),
        (
            {"input": [user("x"), {"type": "reasoning", "id": "rs_1"}]},
            "Missing required parameter: 'input[1].summary'.",
            "input[1].summary",
            "missing_required_parameter",
        ),
        (
            {"input": [{"type": "reasoning", "summary": []}]},
            "Missing required parameter: 'input[0].id'.",
            "input[0].id",
            "missing_required_parameter",
        ),
        (
            {"input": [{**FUNCTION_CALL, "id": "call_X"}]},
            "Invalid 'input[0].id': 'call_X'. Expected an ID that begins with 'fc'.",
            "input[0].id",
            "invalid_value",
        ),
        (
            {"input": [{**FUNCTION_CALL, "id": "fc:1"}]},
            "Invalid 'input[0].id': 'fc:1'. Expected an ID that contains letters, numbers, underscores, or dashes, "
            "but this value contained additional characters.",
            "input[0].id",
            "invalid_value",
        ),
        (
            {"input": [{**FUNCTION_CALL, "call_id": "c" * 446}]},
            "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, "
            "but got a string with length 446 instead.",
            "input[0].call_id",
            "string_above_max_length",
        ),
        (
            {"input": [{"type": "message", "role": "tool", "content": "x"}]},
            "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
            "input[0].role",
            "invalid_value",
        ),
        (
            {"input": [{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]},
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
            "input[0].content[0]",
            "invalid_value",
        ),
        (
            {"tool_choice": "any"},
            "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
            "tool_choice",
            "invalid_value",
        ),
        (
            {"tools": [CHAT_TOOL]},
            "Missing required parameter: 'tools[0].name'.",
            "tools[0].name",
            "missing_required_parameter",
        ),
        (
            {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "refund"}}},
            "Missing required parameter: 'tool_choice.name'.",
            "tool_choice.name",
            "missing_required_parameter",
        ),
        (
            {"stream": True, "stream_options": {"include_usage": True}},
            "Unknown parameter: 'stream_options.include_usage'.",
            "stream_options.include_usage",
            "unknown_parameter",
        ),
        (
            {"max_output_tokens": 5},
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 5 instead.",
            "max_output_tokens",
            "integer_below_min_value",
        ),
    ],
)
def test_shape(body: dict[str, Any], message: str, param: str, code: str) -> None:
    assert refusal(Emulator([say("hi")]), **body) == (400, error(message, param, code))


def test_r11_missing_input_comes_before_unknown_members() -> None:
    broken = check_request(ProviderState(), {"model": MODEL, "bogus": 1})
    assert broken[0].body["error"] == error(
        "Missing required parameter: 'input'.", "input", "missing_required_parameter"
    )


def test_r20_lists_the_item_types() -> None:
    status, body = refusal(Emulator([say("hi")]), input=[{"type": "foo"}])
    assert status == 400
    assert body["message"].startswith("Invalid value: 'foo'. Supported values are: 'message', 'reasoning', ")
    assert (body["param"], body["code"]) == ("input[0]", "invalid_value")
    assert refusal(Emulator([say("hi")]), include=["foo"])[1]["param"] == "include[0]"


def test_r21_chat_body() -> None:
    broken = check_request(ProviderState(), {"model": MODEL, "messages": []})
    assert (broken[0].rule, broken[0].code, broken[0].param) == ("R21", "unsupported_parameter", None)
    assert "In the Responses API, this parameter has moved to 'input'" in broken[0].message


def test_null_members_of_the_body_count_as_absent() -> None:
    answer(Emulator([say("hi")]), previous_response_id=None, conversation=None, tools=None, metadata=None)


def test_strict_schemas() -> None:
    tool = {**TOOL, "strict": True, "parameters": {"type": "object", "properties": {"a": {}}, "required": ["a"]}}
    status, body = refusal(Emulator([say("hi")]), tools=[tool])
    assert (status, body["code"], body["param"]) == (400, "invalid_function_parameters", "tools[0].parameters")


# -- the profiles, and what no refusal may do --------------------------------------------------------------------


def test_foundry_insists_on_types_and_reasoning_ids() -> None:
    emulator = Emulator([{"output": [REASONING]}, say("next")], profile="foundry")
    status, body = refusal(emulator, input=[{"role": "user", "content": "x"}])
    assert (status, body["param"]) == (400, "input[0]")
    assert body["message"].startswith("Invalid value: ''. Supported values are: ")
    thought = answer(emulator, input=[user("x")], **ENCRYPTED)["output"][0]
    del thought["id"]
    expected = error("The provided data does not match the expected schema", "input", "invalid_payload")
    assert refusal(emulator, input=[thought, user("x")], store=False) == (400, expected)


def test_azure_takes_sealed_reasoning_of_one_turn_only() -> None:
    emulator = Emulator([{"output": [REASONING], "repeat": True}], profile="azure_v1")
    one, two = (answer(emulator, **ENCRYPTED)["output"][0] for _ in range(2))
    expected = error("Conflicting authenticated continuation identities", "input", "invalid_value")
    assert refusal(emulator, input=[one, two, user("x")], **ENCRYPTED) == (400, expected)
    answer(emulator, input=[two, user("x")], **ENCRYPTED)


def test_lenient_servers_still_hold_the_pairing_rules() -> None:
    emulator = Emulator([{"output": [REASONING, call(call_id="call_a")]}, say("next")], profile="compat_lenient")
    first = answer(emulator)
    assert refusal(emulator, previous_response_id=first["id"])[1] == no_output("call_a")
    odd = {**first["output"][1], "id": "call_a", "extra": None}
    answer(emulator, input=[odd, output("call_a")])


def test_a_refusal_changes_nothing() -> None:
    emulator = Emulator([{"output": [call(call_id="call_a")]}, say("next")])
    conversation = new_conversation(emulator)
    answer(emulator, conversation=conversation)
    before = len(emulator.state.conversations[conversation].items)
    refusal(emulator, conversation=conversation, input=[user("lost")])
    assert len(emulator.state.conversations[conversation].items) == before
    assert emulator.state.conversations[conversation].locked_by is None
    assert [entry.rule for entry in emulator.refusals] == ["R1"]
    assert emulator.remaining_turns == 1


def test_check_request_reports_all_of_a_step_and_is_pure() -> None:
    body = {"model": MODEL, "input": [FUNCTION_CALL, {**FUNCTION_CALL, "call_id": "call_b"}]}
    before = msgspec.json.encode(body)
    rules = [violation.rule for violation in check_request(ProviderState(), body, PROFILES["openai"])]
    assert rules == ["R1", "R1"]
    assert msgspec.json.encode(body) == before


def new_conversation(emulator: Emulator) -> str:
    from agui_gate_adapters.testkit.responses.state import Conversation

    conversation = Conversation(emulator.state.mint("conv_"), 0.0, {}, [])
    emulator.state.conversations[conversation.id] = conversation
    return conversation.id
