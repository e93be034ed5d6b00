"""Request bodies: what travels in which mode, rule by rule; for any transcript, by the strict emulator's checks."""

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.adapter import (
    AssistantTurn,
    ConversationRef,
    Media,
    NamedTool,
    Output,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    ToolChoice,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.openai_responses.replay import result
from agui_gate_adapters.openai_responses.request import MAX_AGE_MS, Mode, Plan, Settings, Shape, plan
from agui_gate_adapters.testkit import PROFILES, ProviderState, check_request
from tests.adapters.support import WEATHER, assistant, call, user

NOW = 1_800_000_000_000
ORIGIN = "openai-responses:m:host:gpt"


def settings(mode: Mode = "chain", **more: Any) -> Settings:
    return Settings(model="gpt", mode=mode, origin=ORIGIN, **more)


def chain_ref(turn_id: str = "t1", **more: Any) -> ConversationRef:
    known: dict[str, Any] = {"previous_response_id": "resp_1", "committed_at": NOW - 1000, **more}
    return ConversationRef(turn_id, known.pop("origin", ORIGIN), **known)


def planned(*turns: UserTurn | AssistantTurn, ref: ConversationRef | None = None, **how: Any) -> Plan:
    request = TurnRequest(turns, "Be brief.", (WEATHER,), ref)
    return plan(request, settings(how.pop("mode", "chain"), **how.pop("options", {})), now_ms=NOW, **how)


def kinds(made: Plan) -> list[str]:
    return [f"{item['type']}:{item['role']}" if "role" in item else item["type"] for item in made.body["input"]]


CALLED = (user("hi"), assistant(call("call_1", content="r1"), call("call_2", content="r2"), ref=chain_ref()))
FULL = ["message:user", "function_call", "function_call", "function_call_output", "function_call_output"]


# --- continuation -------------------------------------------------------------------------------------------------


def test_a_continuation_sends_outputs_then_messages_and_nothing_the_provider_said() -> None:
    """S13, S14, S17."""
    made = planned(*CALLED, user("go on", "u2"), ref=chain_ref())
    assert made.shape is Shape.CONTINUED
    assert made.body["previous_response_id"] == "resp_1"
    assert made.body["input"] == [
        {"type": "function_call_output", "call_id": "call_1", "output": "r1"},
        {"type": "function_call_output", "call_id": "call_2", "output": "r2"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
    ]


def test_nothing_is_inherited_so_everything_is_sent_again() -> None:
    made = planned(*CALLED, ref=chain_ref())
    assert made.body["instructions"] == "Be brief."
    assert made.body["tools"] == [
        {"type": "function", "name": "weather", "description": "The weather.", "parameters": WEATHER.parameters,
         "strict": False}
    ]  # fmt: skip
    assert made.body["store"] is True
    assert made.body["stream_options"] == {"include_obfuscation": False}


@pytest.mark.parametrize(
    ("choice", "sent"), [(NamedTool("weather"), {"type": "function", "name": "weather"}), ("required", "required")]
)
def test_a_tool_is_forced(choice: ToolChoice, sent: Any) -> None:
    request = TurnRequest((user("hi"),), tools=(WEATHER,), tool_choice=choice)
    assert plan(request, settings(), now_ms=NOW).body["tool_choice"] == sent


def test_a_conversation_is_continued_by_its_id_and_never_expires() -> None:
    ref = ConversationRef("t1", ORIGIN, conversation_id="conv_1", committed_at=1)
    made = planned(*CALLED, ref=ref, mode="conversation")
    assert (made.shape, made.conversation_id, len(made.body["input"])) == (Shape.CONTINUED, "conv_1", 2)
    assert "previous_response_id" not in made.body


@pytest.mark.parametrize(
    "ref",
    [
        None,
        chain_ref(origin="openai-responses:chain:other:gpt"),
        chain_ref(previous_response_id=None),
        chain_ref(previous_response_id=None, conversation_id="conv_1"),
        chain_ref(committed_at=NOW - MAX_AGE_MS),
        chain_ref("t0"),
        chain_ref("u1"),
    ],
    ids=["none", "other origin", "empty", "other mode", "expired", "unknown turn", "not a turn of the model"],
)
def test_without_a_usable_ref_everything_goes_and_no_continuation_id(ref: ConversationRef | None) -> None:
    """S15, S18."""
    made = planned(*CALLED, ref=ref)
    assert made.shape is Shape.PLAIN
    assert "previous_response_id" not in made.body
    assert kinds(made) == FULL


def test_a_turn_that_the_provider_does_not_know_forces_a_replay() -> None:
    cut = assistant(TextPart("m", "It is"), turn_id="t2", origin=ORIGIN)
    made = planned(*CALLED, cut, user("go on", "u2"), ref=chain_ref())
    assert made.shape is Shape.PLAIN
    assert kinds(made) == [*FULL, "message:assistant", "message:user"]


def test_an_older_ref_is_used_when_the_newer_turn_is_gone() -> None:
    """A regenerated answer: the branch goes on from the response before it."""
    made = planned(user("hi"), assistant(TextPart("m", "Hello")), user("again", "u2"), ref=chain_ref())
    assert (made.shape, kinds(made)) == (Shape.CONTINUED, ["message:user"])


@pytest.mark.parametrize("ids", [("call_1", "call_1"), ("", "call_2")])
def test_ids_that_can_not_name_their_calls_force_a_replay(ids: tuple[str, str]) -> None:
    """Two equal ids in one turn leave open which output is whose."""
    before = assistant(call("call_0"), turn_id="t0")
    made = planned(
        user("hi"), before, assistant(*(call(wire_id, id=f"tc{wire_id}") for wire_id in ids)), ref=chain_ref()
    )
    assert made.shape is Shape.PLAIN
    sent = [item["call_id"] for item in made.body["input"] if item["type"] == "function_call"]
    assert len(set(sent)) == 3
    assert sent[0] == "call_0"


def test_an_id_that_an_earlier_turn_had_too_goes_on_as_it_is() -> None:
    """S24: an id belongs to its turn, and is kept for the provider."""
    before = assistant(call("call_0"), turn_id="t0")
    made = planned(user("hi"), before, assistant(call("call_0", id="tc")), ref=chain_ref())
    assert made.shape is Shape.CONTINUED
    assert [item["call_id"] for item in made.body["input"]] == ["call_0"]


def test_an_edit_is_told_where_the_model_sees_its_own_arguments() -> None:
    """B11."""
    edited = call("call_1", '{"amount":5}', ran='{"amount":3}', content="refunded")
    (item,) = planned(user("hi"), assistant(edited), ref=chain_ref()).body["input"]
    told = msgspec.json.decode(item["output"])
    assert told["arguments"] == {"amount": 3}
    assert told["result"] == "refunded"


def test_an_edit_is_simply_shown_in_a_replay() -> None:
    edited = call("call_1", '{"amount":5}', ran='{"amount":3}', content="refunded")
    made = planned(user("hi"), assistant(edited))
    assert made.body["input"][1]["arguments"] == '{"amount":3}'
    assert made.body["input"][2]["output"] == "refunded"


def test_conversation_without_a_ref_asks_for_a_new_one() -> None:
    said = (user("hi"), assistant(TextPart("m", "Hello")), user("again", "u2"))
    made = planned(*said, mode="conversation")
    assert made.conversation_id == ""
    assert "store" not in made.body


def test_a_replay_with_calls_names_no_conversation_not_even_a_new_one() -> None:
    """S13, S16: what a request with a conversation may carry doesn't depend on how new the conversation is."""
    made = planned(*CALLED, mode="conversation")
    assert (made.shape, made.conversation_id, made.body["store"]) == (Shape.PLAIN, None, True)
    assert kinds(made) == FULL


def test_after_a_replay_a_conversation_mode_thread_goes_on_from_its_response() -> None:
    made = planned(*CALLED, ref=chain_ref(), mode="conversation")
    assert (made.shape, made.conversation_id) == (Shape.CONTINUED, None)
    assert (made.body["previous_response_id"], made.body["store"]) == ("resp_1", True)
    assert "function_call" not in kinds(made)


# --- replay by value ----------------------------------------------------------------------------------------------


def test_ids_are_minted_anew_where_they_repeat_or_are_too_long_the_same_every_time() -> None:
    turns = [
        user("hi"),
        assistant(call("x"), call("y" * 65), call("x", id="b")),
        assistant(call("x", id="c"), turn_id="t2"),
    ]
    made = planned(*turns)
    sent = [item["call_id"] for item in made.body["input"] if item["type"] == "function_call"]
    answered = [item["call_id"] for item in made.body["input"] if item["type"] == "function_call_output"]
    assert sent == answered
    assert len(set(sent)) == 4
    assert sent[0] == "x"
    assert all(len(call_id) <= 64 for call_id in sent)
    assert planned(*turns).body == made.body


def test_a_replay_by_value_has_no_reasoning_and_no_ids_but_keeps_the_phase() -> None:
    turn = reasoned()
    for origin, phase in ((ORIGIN, {"phase": "final_answer"}), ("other", {})):
        made = planned(user("hi"), msgspec.structs.replace(turn, origin=origin), mode="stateless", plain=True)
        assert made.body["input"][1:] == [
            {"type": "message", "role": "assistant", "content": "Look", **phase},
            {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
        ]


def test_empty_assistant_text_is_left_out_and_an_empty_message_stays_legal() -> None:
    made = planned(UserTurn("u", ()), assistant(TextPart("m", "")))
    assert made.body["input"] == [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": ""}]}]


def test_roles() -> None:
    turns = [UserTurn(role, (Text("x"),), role) for role in ("system", "developer", "user")]  # type: ignore[arg-type]
    assert kinds(planned(*turns)) == ["message:system", "message:developer", "message:user"]


# --- sealed reasoning ---------------------------------------------------------------------------------------------


def reasoned(turn_id: str = "t1", **change: Any) -> AssistantTurn:
    more = {"encrypted": "sealed", "private": {"id": f"rs_{turn_id}", "index": 0}, "ran": None, **change}
    return assistant(
        ReasoningPart("r", ("first", "raw"), more["encrypted"], more["private"] and {**more["private"], "raw": [1]}),
        TextPart("m", "Look", {"id": f"msg_{turn_id}", "index": 1, "phase": "final_answer"}),
        call("call_1", ran=more["ran"], private={"id": f"fc_{turn_id}", "index": more.get("last", 2)}),
        turn_id=turn_id,
        origin=more.get("origin", ORIGIN),
    )


def test_a_whole_turn_is_replayed_verbatim() -> None:
    """S19, S21, B16."""
    made = planned(user("hi"), reasoned(), mode="stateless")
    assert made.body["store"] is False
    assert made.body["include"] == ["reasoning.encrypted_content"]
    text = [{"type": "output_text", "text": "Look", "annotations": []}]
    summary = [{"type": "summary_text", "text": "first"}]
    assert made.body["input"][1:] == [
        {"type": "reasoning", "id": "rs_t1", "summary": summary, "encrypted_content": "sealed"},
        {"type": "message", "id": "msg_t1", "role": "assistant", "status": "completed", "content": text,
         "phase": "final_answer"},
        {"id": "fc_t1", "type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "other"},
        {"encrypted": None},
        {"private": None},
        {"private": {"index": 0}},
        {"last": 3},
        {"ran": '{"a":1}'},
    ],
    ids=["other origin", "not sealed", "client's", "no id", "gap", "edited"],
)
def test_a_turn_that_is_not_whole_loses_all_of_its_ids_and_reasoning(change: dict[str, Any]) -> None:
    made = planned(user("hi"), reasoned(**change), mode="stateless")
    assert kinds(made)[1:] == ["message:assistant", "function_call", "function_call_output"]
    assert not [item for item in made.body["input"] if "id" in item]


def test_reasoning_without_what_followed_it_is_dropped() -> None:
    turn = assistant(ReasoningPart("r", (), "sealed", {"id": "rs_1", "index": 0}), origin=ORIGIN)
    assert kinds(planned(user("hi"), turn, mode="stateless")) == ["message:user"]


def test_azure_gets_the_newest_turn_s_reasoning_only() -> None:
    turns = [user("hi"), reasoned("t1"), msgspec.structs.replace(reasoned("t2"), parts=reasoned("t2").parts[:2])]
    made = planned(*turns, mode="stateless", options={"newest_sealed_only": True})
    assert [item["id"] for item in made.body["input"] if "id" in item] == ["rs_t2", "msg_t2"]


def test_a_repeated_id_costs_its_turn_the_reasoning() -> None:
    made = planned(user("hi"), reasoned("t1"), reasoned("t2"), mode="stateless")
    assert [item["id"] for item in made.body["input"] if "id" in item] == ["rs_t1", "msg_t1", "fc_t1"]


# --- content ------------------------------------------------------------------------------------------------------


def test_a_result_is_parts_only_where_there_is_more_than_text() -> None:
    words, picture = Text("Here."), Media("image", "url", "https://x/y.png")
    assert result(Output("Here.", parts=(words,))) == "Here."
    made = result(Output("Here.", parts=(words, picture)))
    assert [part["type"] for part in made if isinstance(part, dict)] == ["input_text", "input_image"]


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        (Media("image", "url", "https://x/y.png"), {"image_url": "https://x/y.png"}),
        (Media("image", "data", "QUJD", "image/jpeg"), {"image_url": "data:image/jpeg;base64,QUJD"}),
        (Media("image", "file", "file_1"), {"file_id": "file_1"}),
        (Media("document", "url", "https://x/y.pdf"), {"file_url": "https://x/y.pdf"}),
        (Media("document", "file", "file_1"), {"file_id": "file_1"}),
        (
            Media("document", "data", "QUJD", "application/pdf"),
            {"filename": "document.pdf", "file_data": "data:application/pdf;base64,QUJD"},
        ),
    ],
)
def test_media(part: Media, sent: dict[str, str]) -> None:
    head = {"type": "input_image", "detail": "auto"} if part.kind == "image" else {"type": "input_file"}
    assert planned(UserTurn("u", (part,))).body["input"][0]["content"] == [{**head, **sent}]


@pytest.mark.parametrize("kind", ["audio", "video"])
def test_media_that_the_api_does_not_take_leave_a_note(kind: Any) -> None:
    (part,) = planned(UserTurn("u", (Media(kind, "data", "QUJD"),))).body["input"][0]["content"]
    assert part["type"] == "input_text"
    assert kind in part["text"]


def test_options_travel_only_when_given() -> None:
    assert not {"reasoning", "temperature", "max_output_tokens"} & set(planned(user("hi")).body)
    body = planned(user("hi"), options={"reasoning": {"effort": "low"}, "temperature": 0.0}).body
    assert (body["reasoning"], body["temperature"]) == ({"effort": "low"}, 0.0)


# --- any transcript -----------------------------------------------------------------------------------------------

_numbers = itertools.count()
_text = st.text(st.characters(codec="utf-8"), max_size=8)
_media = st.builds(
    Media, st.sampled_from(["image", "audio", "video", "document"]), st.just("url"), st.just("https://x/")
)
_users = st.builds(
    UserTurn, st.uuids().map(str), st.lists(st.builds(Text, _text) | _media, max_size=3).map(tuple),
    st.sampled_from(["user", "system", "developer"]),
)  # fmt: skip


@st.composite
def _assistants(draw: st.DrawFn) -> AssistantTurn:
    """A turn of anyone's, whole or with any part of it missing."""
    parts: list[TextPart | ReasoningPart | SettledCall] = []
    for index in range(draw(st.integers(0, 4))):
        number = next(_numbers)
        kind = draw(st.sampled_from(["msg", "rs", "fc"]))
        position = draw(st.sampled_from([index, index, index, index + 1]))
        private = draw(st.sampled_from([{"id": f"{kind}_{number}", "index": position}] * 3 + [{"index": index}, None]))
        if kind == "msg":
            parts.append(TextPart(f"m{number}", draw(_text), private))
        elif kind == "rs":
            summary = tuple(draw(st.lists(_text, max_size=2)))
            parts.append(ReasoningPart(f"r{number}", summary, draw(st.sampled_from(["sealed", None])), private))
        else:
            wire_id = draw(st.sampled_from([f"call_{number}", "call_same", "", "z" * 70]))
            ran = draw(st.sampled_from([None, '{"a":1}']))
            more: dict[str, Any] = {"id": f"tc{number}", "content": draw(_text)}
            more["kind"] = draw(st.sampled_from(["server", "server", "hosted", "held"]))
            parts.append(call(wire_id, ran=ran, private=private, **more))
    origin = draw(st.sampled_from([ORIGIN, ORIGIN, ""]))
    return assistant(*parts, turn_id=f"t{next(_numbers)}", origin=origin)


@given(st.lists(_users | _assistants(), max_size=8), st.sampled_from(["chain", "conversation", "stateless"]))
def test_a_replay_of_any_transcript_is_legal(turns: list[UserTurn | AssistantTurn], mode: Mode) -> None:
    made = planned(user("hi"), *turns, mode=mode, plain=mode != "stateless")
    profile = msgspec.structs.replace(PROFILES["foundry"], name="strictest", single_sealed_turn=False)
    body = msgspec.json.decode(msgspec.json.encode(made.body))
    # Sealed content of invented reasoning can't be valid; that it comes back byte for byte is shown over HTTP.
    broken = [violation for violation in check_request(ProviderState(), body, profile) if violation.rule != "R18"]
    assert not broken, broken


@given(st.lists(_users, max_size=3), st.integers(0, 3))
def test_a_continuation_of_any_length_holds_only_what_is_new(news: list[UserTurn], count: int) -> None:
    calls = [call(f"call_{number}", content=str(number)) for number in range(count)]
    made = planned(user("hi"), assistant(*calls), *news, ref=chain_ref())
    assert made.shape is Shape.CONTINUED
    assert kinds(made) == ["function_call_output"] * count + [f"message:{new.role}" for new in news]


def test_errors_are_passed_as_they_are() -> None:
    failed = msgspec.structs.replace(call("call_1"), output=Output("it broke", is_error=True))
    assert planned(user("hi"), assistant(failed), ref=chain_ref()).body["input"][0]["output"] == "it broke"
