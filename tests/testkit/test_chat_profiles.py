"""The Chat profiles: each server's refusals in its own words, and each of its habits in what it sends."""

from typing import Any

import msgspec
import pytest

from agui_gate_adapters.testkit import CHAT_PROFILES, ChatProfile, Emulator
from tests.testkit.chatting import HELLO, TOOL, call_deltas, deltas, payloads, refusal, reply, result, said, streamed

MUST_FOLLOW = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
)
SPOKEN: dict[str, Any] = {
    "repeat": True,
    "output": [
        {"type": "reasoning", "summary": ["Think."]},
        {"type": "message", "text": "On it."},
        {"type": "function_call", "name": "look", "arguments": {"a": "long enough"}},
        {"type": "function_call", "name": "look", "arguments": {"b": 2}},
        {"type": "function_call", "name": "tell", "arguments": {"c": 3}},
        {"type": "function_call", "name": "now"},
    ],
}


def play(profile: str | ChatProfile, **body: Any) -> tuple[Emulator, list[Any]]:
    emulator = Emulator([SPOKEN], chat=profile)  # type: ignore[arg-type]  # a name of the table
    return emulator, payloads(streamed(emulator, **body))


def ids(events: list[Any]) -> list[Any]:
    return [call["id"] for call in call_deltas(events) if "id" in call]


# -- what they refuse --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "unanswered", "orphan"),
    [
        (
            "deepseek",
            {
                "message": f"{MUST_FOLLOW} (insufficient tool messages following tool_calls message)",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_request_error",
            },
            {
                "message": "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_request_error",
            },
        ),
        (
            "dashscope",
            {
                "message": "<400> InternalError.Algo.InvalidParameter: "
                + MUST_FOLLOW.replace("'", '"')
                + " The following tool_call_ids did not have response messages: message[1].role",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_parameter_error",
            },
            {
                "message": '<400> InternalError.Algo.InvalidParameter: messages with role "tool" must be a response '
                'to a preceeding message with "tool_calls".',
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_parameter_error",
            },
        ),
        *(
            ("minimax", told, told)
            for told in [
                {
                    "message": "tool call result does not follow tool call (2013)",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "2013",
                }
            ]
        ),
    ],
)
def test_pairing_in_other_words(profile: Any, unanswered: dict[str, Any], orphan: dict[str, Any]) -> None:
    lost = said("call_a", reasoning_content="")
    emulator = Emulator(chat=profile)
    assert refusal(emulator, lost, HELLO) == (400, {"error": unanswered})
    assert refusal(emulator, result("call_a")) == (400, {"error": orphan})
    assert [entry.rule for entry in emulator.refusals] == ["C1", "C2"]


def test_mistral_refuses_without_a_wrapper() -> None:
    emulator = Emulator(chat="mistral")
    count = {
        "object": "error",
        "message": "Not the same number of function calls and responses",
        "type": "invalid_request_message_order",
        "param": None,
        "code": "3230",
    }
    assert refusal(emulator, said("abcDEF123"), HELLO) == (400, count)
    assert refusal(emulator, result("abcDEF123")) == (400, count)
    told = "Tool call id was call_a but must be a-z, A-Z, 0-9, with a length of 9."
    status, body = refusal(emulator, said("call_a"), result("call_a"))
    assert (status, body["message"], body["type"], body["code"]) == (400, told, "invalid_function_call", "3280")
    assert emulator.refusals[-1].error == body
    reply(emulator, said("abcDEF123"), result("abcDEF123"))


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"stream": True, "stream_options": {}}, ["body", "stream_options"]),
        ({"max_completion_tokens": 5}, ["body", "max_completion_tokens"]),
        ({"foo": 1}, ["body", "foo"]),
    ],
)
def test_mistral_lists_what_it_does_not_know(body: dict[str, Any], where: list[Any]) -> None:
    status, told = refusal(Emulator(chat="mistral"), HELLO, **body)
    detail = {"type": "extra_forbidden", "loc": where, "msg": "Extra inputs are not permitted"}
    assert (status, told["message"], told["code"]) == (422, {"detail": [detail]}, None)


def test_mistral_wants_a_reply_after_answers() -> None:
    emulator = Emulator(chat="mistral")
    loop = [HELLO, said("abcDEF123"), result("abcDEF123")]
    expected = {
        "object": "error",
        "message": "Unexpected role 'user' after role 'tool'",
        "type": "invalid_request_message_order",
        "param": None,
        "code": "3230",
    }
    assert refusal(emulator, *loop, HELLO) == (400, expected)
    reply(emulator, *loop, {"role": "assistant", "content": "Done."}, HELLO)
    reply(Emulator(), *loop, HELLO)


def test_mistral_takes_no_reasoning_back() -> None:
    message = {"role": "assistant", "content": "Hi.", "reasoning_content": "Hm."}
    _, told = refusal(Emulator(chat="mistral"), HELLO, message, HELLO)
    assert told["message"]["detail"][0]["loc"] == ["body", "messages", 1, "assistant", "reasoning_content"]


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        (
            "deepseek",
            {
                "message": "The `reasoning_content` in the thinking mode must be passed back to the API.",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_request_error",
            },
        ),
        (
            "kimi",
            {
                "message": "thinking is enabled but reasoning_content is missing in assistant tool call message "
                "at index 3",
                "type": "invalid_request_error",
            },
        ),
    ],
)
def test_reasoning_goes_back_within_a_tool_loop(profile: Any, told: dict[str, Any]) -> None:
    emulator = Emulator(chat=profile)
    before = [said("call_a"), result("call_a"), HELLO]
    assert refusal(emulator, *before, said("call_b"), result("call_b")) == (400, {"error": told})
    reply(emulator, *before, said("call_b", reasoning_content=""), result("call_b"))
    reply(emulator, *before)  # A turn before the last user message need not carry it.


def test_a_server_that_takes_no_reasoning_at_all() -> None:
    profile = msgspec.structs.replace(CHAT_PROFILES["deepseek"], reasoning_back="refused")
    message = {"role": "assistant", "content": "Hi.", "reasoning_content": "Hm."}
    status, _ = refusal(Emulator(chat=profile), HELLO, message, HELLO)
    assert status == 400
    reply(Emulator(chat=profile), HELLO, {"role": "assistant", "content": "Hi."}, HELLO)


@pytest.mark.parametrize("profile", ["deepseek", "mistral", "legacy"])
def test_no_developer_role(profile: Any) -> None:
    status, _ = refusal(Emulator(chat=profile), {"role": "developer", "content": "Be kind."}, HELLO)
    assert status == 400
    reply(Emulator(chat=profile), {"role": "system", "content": "Be kind."}, HELLO)


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ({"stream": True, "stream_options": {"include_usage": True}}, "stream_options"),
        ({"tools": [TOOL], "parallel_tool_calls": True}, "parallel_tool_calls"),
        (
            {"tools": [{"type": "function", "function": {**TOOL["function"], "strict": False}}]},  # type: ignore[dict-item]  # an object
            "tools[0].function.strict",
        ),
    ],
)
def test_legacy_servers_take_nothing_new(body: dict[str, Any], member: str) -> None:
    _, told = refusal(Emulator(chat="legacy"), HELLO, **body)
    assert told["error"]["message"] == f"Unrecognized request argument supplied: {member}"


@pytest.mark.parametrize(("profile", "accepted"), [("openai", False), ("kimi", False), ("lenient", True)])
def test_one_id_twice_in_a_turn(profile: Any, accepted: bool) -> None:
    emulator = Emulator(chat=profile)
    messages = [said("a", "a", reasoning_content="") if profile == "kimi" else said("a", "a"), result("a"), result("a")]
    if accepted:
        reply(emulator, *messages)
        refusal(emulator, *messages[:2])
        assert emulator.refusals[-1].rule == "C1"
    else:
        refusal(emulator, *messages)
        assert emulator.refusals[-1].rule == "C1"


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("llama_cpp", {"code": 400, "type": "invalid_request_error"}),
        ("vllm", {"code": 400, "type": "BadRequestError", "param": "messages.[0].role"}),
        ("kimi", {"type": "invalid_request_error"}),
    ],
)
def test_shapes_of_errors(profile: Any, expected: dict[str, Any]) -> None:
    _, body = refusal(Emulator(chat=profile), result("call_a"))
    assert {key: value for key, value in body["error"].items() if key != "message"} == expected


@pytest.mark.parametrize("profile", ["vllm", "ollama", "llama_cpp", "lenient", "bare"])
def test_unknown_members_pass_where_nobody_looks(profile: Any) -> None:
    reply(Emulator(chat=profile), {**HELLO, "mood": "good"}, cache=True, tools=[])


# -- how they talk -----------------------------------------------------------------------------------------------


def test_azure_begins_with_a_chunk_without_choices() -> None:
    _, events = play("azure")
    assert events[0]["choices"] == []
    assert "prompt_filter_results" in events[0]


@pytest.mark.parametrize(
    ("profile", "pattern"),
    [
        ("openai", "call_"),
        ("vllm", "chatcmpl-tool-"),
        ("mistral", ""),
        ("llama_cpp", ""),
    ],
)
def test_ids_of_calls(profile: str, pattern: str) -> None:
    _, events = play(profile)
    lengths = {"openai": 29, "vllm": 46, "mistral": 9, "llama_cpp": 32}
    assert len(set(ids(events))) == 4
    assert all(i.startswith(pattern) and len(i) == lengths[profile] for i in ids(events))


def test_kimi_counts_within_the_turn() -> None:
    emulator, events = play("kimi")
    expected = ["functions.look:0", "functions.look:1", "functions.tell:2", "functions.now:3"]
    assert ids(events) == expected
    assert [call["id"] for call in reply(emulator)["choices"][0]["message"]["tool_calls"]] == expected


def test_ollama_calls_are_all_the_first() -> None:
    _, events = play("ollama")
    calls = call_deltas(events)
    assert [call["index"] for call in calls] == [0, 0, 0, 0]
    assert [call["function"]["arguments"] for call in calls] == ['{"a":"long enough"}', '{"b":2}', '{"c":3}', "{}"]
    assert len(set(ids(events))) == 4
    _, events = play("ollama_no_ids")
    assert all("id" not in call and "index" not in call for call in call_deltas(events))
    assert events[-2]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("profile", "field"),
    [("deepseek", "reasoning_content"), ("kimi", "reasoning_content"), ("vllm", "reasoning"), ("openai", None)],
)
def test_where_reasoning_is_told(profile: str, field: str | None) -> None:
    emulator, events = play(profile)
    told = [delta for delta in deltas(events) if delta.keys() & {"reasoning", "reasoning_content"}]
    message = reply(emulator)["choices"][0]["message"]
    if field is None:
        assert told == []
        assert not message.keys() & {"reasoning", "reasoning_content"}
    else:
        assert told == [{field: "Think."}]
        assert message[field] == "Think."


def test_vllm_stops_when_the_tool_was_forced() -> None:
    choice = {"type": "function", "function": {"name": "refund"}}
    _, free = play("vllm")
    _, forced = play("vllm", tools=[TOOL], tool_choice=choice)
    reasons = [events[-2]["choices"][0]["finish_reason"] for events in (free, forced)]
    assert reasons == ["tool_calls", "stop"]


def test_lenient_does_everything_in_its_own_way() -> None:
    _, events = play("lenient")
    calls = call_deltas(events)
    first = [call for call in calls if call["index"] == 0]
    assert len(first) > 2
    assert all((call["id"], call["function"]["name"]) == (first[0]["id"], "look") for call in first)
    arguments = [[call["function"]["arguments"] for call in calls if call["index"] == n] for n in range(4)]
    assert "".join(arguments[0]) == '{"a":"long enough"}'
    assert arguments[1] == [{"b": 2}]
    assert "".join(arguments[2]) == '{}{"c":3}'
    assert arguments[3] == [None]
    last = events[-1]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["usage"]["prompt_tokens"] > 0


def test_bare_leaves_everything_out() -> None:
    emulator, events = play("bare")
    calls = call_deltas(events)
    assert {call.get("id") for call in calls} == {"", None}
    assert all("index" not in call for call in calls)
    assert calls[-1]["function"]["arguments"] == ""
    assert all(event["choices"][0]["finish_reason"] is None for event in events)
    assert not any("usage" in event for event in events)
    assert emulator.accepted[0].ended == "completed"


def test_quirks_combine() -> None:
    odd = msgspec.structs.replace(CHAT_PROFILES["ollama_no_ids"], argument_forms=("pieces",), final_finish=False)
    _, events = play(odd)
    pieces = call_deltas(events)
    assert "index" not in pieces[0]
    assert pieces[1] == {"function": {"arguments": '{"a":"lo'}}
    assert events[-2]["choices"][0]["delta"] != {}
    assert events[-1] == "[DONE]"


@pytest.mark.parametrize("profile", sorted(CHAT_PROFILES))
def test_every_profile_takes_its_own_answer_back(profile: str) -> None:
    """What a server said in one reply is accepted in the next request, where its ids can be sent at all."""
    emulator = Emulator([SPOKEN], chat=profile)  # type: ignore[arg-type]  # a name of the table
    message = reply(emulator)["choices"][0]["message"]
    for number, call in enumerate(message["tool_calls"]):
        call["id"] = call.get("id") or f"call{number}mine"
        call["function"]["arguments"] = "{}"
    reply(emulator, HELLO, message, *(result(call["id"]) for call in message["tool_calls"]))
    assert emulator.refusals == []
