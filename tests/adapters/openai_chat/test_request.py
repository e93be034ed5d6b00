"""Request bodies: what travels for which server; for any transcript, by the strict emulator's checks."""

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.adapter import (
    AssistantTurn,
    Media,
    NamedTool,
    Output,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    ToolSpec,
    TurnRequest,
    UserTurn,
    retold,
)
from agui_gate_adapters.openai_chat import PROFILES, Profile
from agui_gate_adapters.openai_chat.request import Settings, body
from agui_gate_adapters.testkit import CHAT_PROFILES, check_chat_request
from tests.adapters.support import WEATHER, assistant, call, user

from .support import SERVERS

ORIGIN = "openai-chat:host:gpt"
Json = dict[str, Any]


def asked(*turns: UserTurn | AssistantTurn, profile: str | Profile = "openai", **options: Any) -> Json:
    """The request with these turns, as it is on the wire."""
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    tools: tuple[ToolSpec, ...] = options.pop("tools", (WEATHER,))
    request = TurnRequest(turns, options.pop("instructions", ""), tools, tool_choice=options.pop("tool_choice", None))
    made = body(request, Settings(model="gpt", origin=ORIGIN, profile=chosen, **options))
    decoded: Json = msgspec.json.decode(msgspec.json.encode(made))
    return decoded


def sent(*turns: UserTurn | AssistantTurn, **how: Any) -> list[Json]:
    """The messages of a request with these turns."""
    messages: list[Json] = asked(*turns, **how)["messages"]
    return messages


def ours(*parts: TextPart | ReasoningPart | SettledCall, turn_id: str = "t1") -> AssistantTurn:
    return assistant(*parts, turn_id=turn_id, origin=ORIGIN)


def ids(messages: list[Json]) -> list[str]:
    """The ids of all calls; those of the outputs are the same, in the same order."""
    called = [one["id"] for message in messages for one in message.get("tool_calls", ())]
    assert called == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    return called


# --- the body -----------------------------------------------------------------------------------------------------


def test_the_whole_body() -> None:
    function = {"name": "weather", "description": "The weather.", "parameters": WEATHER.parameters}
    options: Json = {"max_output_tokens": 9, "temperature": 0.0, "reasoning_effort": "low"}
    assert asked(user("hi"), instructions="Be brief.", **options) == {
        "model": "gpt",
        "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": function}],
        "max_completion_tokens": 9,
        "temperature": 0.0,
        "reasoning_effort": "low",
    }  # fmt: skip


def test_what_a_server_does_not_take_is_not_sent() -> None:
    made = asked(user("hi"), instructions="Be brief.", max_output_tokens=9, profile="mistral")
    assert "stream_options" not in made
    assert made["max_tokens"] == 9
    assert made["messages"][0]["role"] == "system"


def test_switches_of_tools() -> None:
    strict = msgspec.structs.replace(PROFILES["lenient"], strict=False, parallel_tool_calls=False)
    made = asked(user("hi"), profile=strict)
    assert made["parallel_tool_calls"] is False
    assert made["tools"][0]["function"]["strict"] is False
    assert not {"tools", "parallel_tool_calls"} & set(asked(user("hi"), profile=strict, tools=()))


NAMED = {"type": "function", "function": {"name": "weather"}}


@pytest.mark.parametrize(
    ("profile", "choice", "sent"),
    [
        ("openai", NamedTool("weather"), NAMED),
        ("openai", "required", "required"),
        ("llama_cpp", NamedTool("weather"), "required"),
        ("kimi", NamedTool("weather"), None),
        ("deepseek", "required", None),
        ("kimi", "none", "none"),
    ],
)
def test_a_tool_is_forced_in_what_the_server_understands(profile: str, choice: Any, sent: Any) -> None:
    assert asked(user("hi"), profile=profile, tool_choice=choice).get("tool_choice") == sent


def test_a_server_that_knows_no_names_is_told_nothing_where_there_are_several_tools() -> None:
    two = (WEATHER, ToolSpec("odd", "", {}))
    assert "tool_choice" not in asked(user("hi"), profile="llama_cpp", tools=two, tool_choice=NamedTool("odd"))


# --- turns --------------------------------------------------------------------------------------------------------


def test_outputs_follow_their_turn() -> None:
    """C1, C2."""
    turns = (user("hi"), ours(TextPart("m", "Look"), call("a", '{"b":1}', content="r1"), call("b", content="r2")))
    assert sent(*turns, user("go on", "u2"))[1:] == [
        {"role": "assistant", "content": "Look", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"b":1}'}},
            {"id": "b", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "a", "content": "r1"},
        {"role": "tool", "tool_call_id": "b", "content": "r2"},
        {"role": "user", "content": "go on"},
    ]  # fmt: skip


def test_an_edited_call_is_sent_as_it_ran() -> None:
    """B11."""
    (message, _) = sent(ours(call("a", '{"city":"Paris"}', ran='{"city":"Oslo"}')))
    assert message["tool_calls"][0]["function"]["arguments"] == '{"city":"Oslo"}'


@pytest.mark.parametrize("turn", [assistant(), assistant(TextPart("m", "")), ours(ReasoningPart("r", ("Hm",)))])
def test_turns_that_say_nothing_are_left_out(turn: AssistantTurn) -> None:
    assert sent(user("hi"), turn) == [{"role": "user", "content": "hi"}]


def test_there_is_always_a_message() -> None:
    """C7."""
    assert sent() == [{"role": "user", "content": ""}]


def test_text_around_a_call_is_one_text() -> None:
    parts = (TextPart("m", "Look."), call("a"), TextPart("n", " So."))
    assert sent(ours(*parts))[0]["content"] == "Look. So."
    assert sent(assistant(*parts))[0]["content"] == "Look.\n\n So."


@pytest.mark.parametrize(("profile", "content"), [("openai", None), ("vllm", ""), ("mistral", "")])
def test_the_content_of_a_turn_that_only_calls(profile: str, content: str | None) -> None:
    assert sent(ours(call("123456789")), profile=profile)[0]["content"] == content


def test_what_a_provider_ran_itself_is_told() -> None:
    hosted = call("ws_1", '{"query":"x"}', kind="hosted", content="found it")
    held = call("m_1", kind="held", content="no")
    assert sent(assistant(TextPart("m", "Let me see."), hosted, call("a"), held))[:2] == [
        {
            "role": "assistant",
            "content": f"Let me see.\n\n{retold(hosted)}\n\n{retold(held)}",
            "tool_calls": [
                {"id": ids(sent(assistant(hosted, call("a"))))[0], "type": "function",
                 "function": {"name": "weather", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": ids(sent(assistant(hosted, call("a"))))[0], "content": "ok"},
    ]  # fmt: skip
    assert sent(assistant(hosted), user("so?"))[0] == {"role": "assistant", "content": retold(hosted)}


def test_a_conversation_ends_with_something_to_answer() -> None:
    """A person decided about a call that the provider before this one would have run: nobody else said anything."""
    messages = sent(user("hi"), assistant(call("m_1", kind="held", content="no")), profile="mistral")
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


def test_between_outputs_and_a_user_there_may_have_to_be_something() -> None:
    turns = (user("hi"), ours(call("123456789")), user("go on", "u2"))
    roles = [message["role"] for message in sent(*turns, profile="mistral")]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


# --- call ids -----------------------------------------------------------------------------------------------------


def test_ids_belong_to_their_turn() -> None:
    turns = (ours(call("a"), call("b")), ours(call("a"), turn_id="t2"))
    assert ids(sent(*turns)) == ["a", "b", "a"]


@pytest.mark.parametrize("wire_ids", [["a", "a"], ["", ""], ["x" * 65, "y" * 65]])
def test_ids_that_repeat_in_a_turn_or_are_illegal_are_minted_the_same_every_time(wire_ids: list[str]) -> None:
    turn = ours(*(call(wire_id, id=f"tc{number}") for number, wire_id in enumerate(wire_ids)))
    made = ids(sent(turn))
    assert len(set(made)) == 2
    assert all(0 < len(one) <= 64 for one in made)
    assert ids(sent(turn)) == made


def test_another_s_ids_are_minted_anew() -> None:
    (call_id,) = ids(sent(assistant(call("toolu_1"))))
    assert call_id.startswith("call_")


def test_nine_letters_or_digits() -> None:
    made = ids(sent(ours(call("aB3456789"), call("call_1"), call("aB3456789", id="x")), profile="mistral"))
    assert made[0] == "aB3456789"
    assert all(len(one) == 9 and one.isalnum() for one in made)
    assert len(set(made)) == 3


def test_ids_as_the_model_made_them() -> None:
    turns = (ours(call("functions.weather:0")), assistant(call("toolu_1"), call("toolu_1", id="b"), turn_id="t2"))
    assert ids(sent(*turns, profile="kimi")) == [f"functions.weather:{number}" for number in range(3)]
    clash = ours(call("functions.weather:1"), call("", id="b"))
    assert len(set(ids(sent(clash, profile="kimi")))) == 2


# --- reasoning ----------------------------------------------------------------------------------------------------

THOUGHT = ReasoningPart("r", ("I see",), private={"field": "reasoning"})
DETAILS = [{"type": "reasoning.encrypted", "data": "x"}]
SEALED = ReasoningPart("d", (), private={"reasoning_details": DETAILS})


def kept(message: Json) -> Json:
    return {name: value for name, value in message.items() if name.startswith("reasoning")}


def profile(**switches: Any) -> Profile:
    return msgspec.structs.replace(PROFILES["lenient"], **switches)


@pytest.mark.parametrize(
    ("replay", "wanted"), [("never", [False, False]), ("tool_turns", [True, False]), ("always", [True, True])]
)
def test_which_turns_keep_their_reasoning(replay: Any, wanted: list[bool]) -> None:
    """In the whole conversation, not only since the last user message."""
    turns = (user("hi"), ours(THOUGHT, call("a")), ours(THOUGHT, TextPart("m", "So"), turn_id="t2"), user("hi", "u2"))
    messages = [message for message in sent(*turns, profile=profile(reasoning_replay=replay))
                if message["role"] == "assistant"]  # fmt: skip
    assert [kept(message) == {"reasoning": "I see"} for message in messages] == wanted
    assert [bool(kept(message)) for message in messages] == wanted


@pytest.mark.parametrize(
    ("parts", "sent_back"),
    [
        ([THOUGHT], {"reasoning": "I see"}),
        ([ReasoningPart("r", ("a", "b"), private={"field": "reasoning_content"})], {"reasoning_content": "a\n\nb"}),
        ([ReasoningPart("r", ("a",))], {"reasoning_content": "a"}),
        ([ReasoningPart("r", ("a",), private={"field": "content"})], {"reasoning_content": "a"}),
        ([THOUGHT, ReasoningPart("s", (", too",), private={"field": "reasoning"})], {"reasoning": "I see, too"}),
        ([SEALED, THOUGHT], {"reasoning_details": DETAILS}),
        ([], {}),
    ],
)
def test_reasoning_goes_back_where_it_came_from(parts: list[ReasoningPart], sent_back: Json) -> None:
    assert kept(sent(ours(*parts, call("a")), profile=profile(reasoning_replay="always"))[0]) == sent_back


def test_reasoning_that_is_required_but_lost_is_empty() -> None:
    turns = (ours(call("a")), assistant(THOUGHT, call("b"), turn_id="t2"), assistant(TextPart("m", "x"), turn_id="t3"))
    for profile, last in (("kimi", {}), ("deepseek", {"reasoning_content": ""})):
        messages = [message for message in sent(*turns, profile=profile) if message["role"] == "assistant"]
        assert [kept(message) for message in messages] == [{"reasoning_content": ""}, {"reasoning_content": ""}, last]


def test_required_reasoning_is_in_the_required_member() -> None:
    assert kept(sent(ours(THOUGHT, call("a")), profile="deepseek")[0]) == {"reasoning_content": "I see"}
    assert kept(sent(ours(SEALED, call("a")), profile="deepseek")[0]) == {
        "reasoning_content": "", "reasoning_details": DETAILS,
    }  # fmt: skip


def test_another_s_reasoning_is_never_sent() -> None:
    messages = sent(assistant(THOUGHT, SEALED, call("a")), profile=profile(reasoning_replay="always"))
    assert kept(messages[0]) == {}


# --- content ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "name", "wanted"),
    [
        (Media("image", "url", "https://x/y.png"), "image_url", {"url": "https://x/y.png"}),
        (Media("image", "data", "QUJD", "image/jpeg"), "image_url", {"url": "data:image/jpeg;base64,QUJD"}),
        (Media("audio", "data", "QUJD", "audio/mpeg"), "input_audio", {"data": "QUJD", "format": "mp3"}),
        (Media("audio", "data", "data:audio/wav;base64,QUJD"), "input_audio", {"data": "QUJD", "format": "wav"}),
        (Media("document", "file", "file_1"), "file", {"file_id": "file_1"}),
        (
            Media("document", "data", "QUJD", "application/pdf"),
            "file",
            {"filename": "document.pdf", "file_data": "data:application/pdf;base64,QUJD"},
        ),
    ],
)
def test_media(part: Media, name: str, wanted: Json) -> None:
    (message,) = sent(UserTurn("u", (Text("See"), part)))
    assert message["content"] == [{"type": "text", "text": "See"}, {"type": name, name: wanted}]


@pytest.mark.parametrize(
    "part",
    [
        Media("video", "data", "QUJD"),
        Media("image", "file", "file_1"),
        Media("audio", "url", "https://x/y.wav"),
        Media("audio", "data", "QUJD", "audio/flac"),
        Media("document", "url", "https://x/y.pdf"),
    ],
)
def test_what_the_api_does_not_take_is_told(part: Media) -> None:
    (message,) = sent(UserTurn("u", (Text("See"), part)))
    text, note = message["content"].split("\n\n")
    assert text == "See"
    assert part.kind in note
    assert (part.value in note) == (part.source == "url")
    assert "QUJD" not in note


def test_what_a_server_does_not_take_is_told() -> None:
    turn = UserTurn("u", (Media("image", "data", "QUJD"), Media("document", "file", "f")))
    assert isinstance(sent(turn, profile="deepseek")[0]["content"], str)
    assert sent(UserTurn("u", ()))[0]["content"] == ""


def test_roles() -> None:
    turns = [UserTurn(role, (Media("image", "url", "x"),), role) for role in ("system", "developer", "user")]
    assert [message["role"] for message in sent(*turns)] == ["system", "developer", "user"]
    assert [message["role"] for message in sent(*turns, profile="kimi")] == ["system", "system", "user"]
    assert [type(message["content"]) for message in sent(*turns)] == [str, str, list]


def test_there_may_only_be_one_system_message() -> None:
    system = UserTurn("s", (Text("Be kind."),), "system")
    turns = (system, user("hi"), ours(TextPart("m", "Hello")), system)
    assert sent(*turns, instructions="Be brief.", profile="vllm") == [
        {"role": "system", "content": "Be brief.\n\nBe kind."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Be kind."},
    ]
    assert sent(user("hi"), system, profile="vllm")[1]["role"] == "user"
    assert sent(system, profile="vllm") == [{"role": "system", "content": "Be kind."}]


# --- any transcript -----------------------------------------------------------------------------------------------

_numbers = itertools.count()
_text = st.text(st.characters(codec="utf-8"), max_size=8)
_media = st.sampled_from(
    [
        *(Media(kind, "url", "https://x/") for kind in ("image", "audio", "video", "document")),
        *(Media(kind, "file", "f") for kind in ("image", "audio", "video", "document")),
        Media("image", "data", "R0lGODlh", "image/gif"),
        Media("audio", "data", "QUJD", "audio/wav"),
        Media("video", "data", "QUJD", "video/mp4"),
        Media("document", "data", "JVBERi0=", "application/pdf"),
        Media("document", "data", "QUJD", "text/plain"),
    ]
)
_users = st.builds(
    UserTurn, st.uuids().map(str), st.lists(st.builds(Text, _text) | _media, max_size=3).map(tuple),
    st.sampled_from(["user", "system", "developer"]),
)  # fmt: skip
_privates = st.sampled_from([None, {"field": "reasoning"}, {"field": "reasoning_content"}, {"id": "rs_1"}])


@st.composite
def _assistants(draw: st.DrawFn) -> AssistantTurn:
    """A turn of anyone's."""
    parts: list[TextPart | ReasoningPart | SettledCall] = []
    for _ in range(draw(st.integers(0, 4))):
        number = next(_numbers)
        match draw(st.sampled_from(["text", "reasoning", "call", "call"])):
            case "text":
                parts.append(TextPart(f"m{number}", draw(_text)))
            case "reasoning":
                parts.append(
                    ReasoningPart(f"r{number}", tuple(draw(st.lists(_text, max_size=2))), None, draw(_privates))
                )
            case _:
                wire_id = draw(st.sampled_from(["call_1", "call_2", "", "functions.weather:1", "aB3456789", "z" * 70]))
                kind = draw(st.sampled_from(["server", "server", "hosted", "held", "client"]))
                ran = draw(st.sampled_from([None, '{"a":1}']))
                parts.append(call(wire_id, ran=ran, id=f"tc{number}", kind=kind, content=draw(_text)))
    return assistant(*parts, turn_id=f"t{next(_numbers)}", origin=draw(st.sampled_from([ORIGIN, ORIGIN, ""])))


@given(st.lists(_users | _assistants(), max_size=7))
def test_any_transcript_is_legal_everywhere_and_the_same_every_time(turns: list[UserTurn | AssistantTurn]) -> None:
    """C1 to C7."""
    outputs = [one.output.content for turn in turns if isinstance(turn, AssistantTurn) for one in turn.local_calls]
    for server, needed in SERVERS.items():
        made = asked(*turns, profile=needed, instructions="Be brief.", max_output_tokens=99)
        broken = check_chat_request(made, CHAT_PROFILES[server])
        assert not broken, (server, broken)
        assert asked(*turns, profile=needed, instructions="Be brief.", max_output_tokens=99) == made
        roles = [message["role"] for message in made["messages"]]
        assert [message["content"] for message in made["messages"] if message["role"] == "tool"] == outputs
        assert not (needed.one_system and "system" in roles[1:])
        assert not (needed.reply_after_tools and ("tool", "user") in itertools.pairwise(roles))


def test_errors_are_passed_as_they_are() -> None:
    failed = msgspec.structs.replace(call("a"), output=Output("it broke", is_error=True))
    assert sent(ours(failed))[1]["content"] == "it broke"
