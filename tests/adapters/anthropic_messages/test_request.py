"""Any settled transcript becomes a request that the API accepts, and one that a prompt cache recognises."""

from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.adapter import (
    AssistantTurn,
    Content,
    Media,
    Output,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    ToolSpec,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.anthropic_messages.request import Plan, Settings, plan
from agui_gate_adapters.testkit.anthropic import check_messages
from agui_gate_adapters.testkit.anthropic.profiles import ANTHROPIC_PROFILES
from agui_gate_adapters.testkit.anthropic.signing import Signed, digest, sign

from .support import ADAPTIVE, ENABLED, SEARCH, WEATHER, Json, Part, assistant, call, user

ORIGIN = "anthropic-messages:h:m"
OLDER = ANTHROPIC_PROFILES["older"]


def settings(**more: Any) -> Settings:
    return Settings(model="m", origin=ORIGIN, max_tokens=4096, **{"cache": False, **more})


def planned(*turns: UserTurn | AssistantTurn, plain: bool = False, **options: Any) -> Plan:
    request = TurnRequest(turns, options.pop("instructions", ""), options.pop("tools", (WEATHER,)))
    made = plan(request, settings(**options), plain=plain)
    assert check_messages(made.body, OLDER) == []
    return made


def messages(*turns: UserTurn | AssistantTurn, **options: Any) -> list[Json]:
    result: list[Json] = planned(*turns, **options).body["messages"]
    return result


def said(words: str) -> Json:
    return {"type": "text", "text": words}


def seal(place: int, words: str = "") -> str:
    return sign(Signed("msg_1", place, digest(words), "", ""))


def thought(place: int, *words: str) -> ReasoningPart:
    return ReasoningPart(f"r{place}", words, seal(place, "".join(words)), {"index": place})


def ours(*parts: Part, turn_id: str = "t1") -> AssistantTurn:
    """A turn of this adapter; what the parts lack of `private` is added as the machine would have."""
    made: list[Part] = []
    places = count()
    for part in parts:
        kept: Json = {"index": next(places)}
        if isinstance(part, SettledCall):
            if not part.part.local:
                kept |= {"result_index": next(places)}
            kept = (part.part.private or {}) | kept
            made.append(msgspec.structs.replace(part, part=msgspec.structs.replace(part.part, private=kept)))
        else:
            made.append(msgspec.structs.replace(part, private={**(part.private or {}), **kept}))
    blocks = next(places)
    for position, part in enumerate(made):
        if isinstance(part, SettledCall) and part.part.local:
            kept = {**(part.part.private or {}), "blocks": blocks}
            made[position] = msgspec.structs.replace(part, part=msgspec.structs.replace(part.part, private=kept))
    return AssistantTurn(turn_id, tuple(made), ORIGIN)


def searched(wire_id: str = "srvtoolu_1", **more: Any) -> SettledCall:
    block = {"type": "server_tool_use", "id": wire_id, "name": "web_search", "input": {"query": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": wire_id, "content": []}
    private = {"block": block, "result": result}
    return call(wire_id, '{"query":"x"}', name="web_search", kind="hosted", private=private, **more)


# --- roles and places ---------------------------------------------------------------------------------------------


def test_results_come_first_and_roles_take_turns() -> None:
    """A1, A5: what the user says after calls goes behind their results, in the same message."""
    asked = assistant(TextPart("m", "Let me see."), call("toolu_1", '{"city":"Paris"}'), call("toolu_2"))
    assert messages(user("hi"), user("there", "u2"), asked, user("stop", "u3")) == [
        {"role": "user", "content": [said("hi"), said("there")]},
        {
            "role": "assistant",
            "content": [
                said("Let me see."),
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}},
                {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "ok"},
                said("stop"),
            ],
        },
    ]


def test_assistant_turns_in_a_row_are_one_message() -> None:
    made = messages(user("hi"), assistant(TextPart("m", "a")), assistant(call("toolu_1"), turn_id="t2"))
    assert [message["role"] for message in made] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("turns", "roles"),
    [
        ((), ["user"]),
        ((assistant(TextPart("m", "Hello")), user("hi")), ["user", "assistant", "user"]),
        ((user("hi"), assistant(TextPart("m", "Hello"))), ["user", "assistant", "user"]),
        ((user("Be kind", role="system"),), ["user"]),
        ((user(" \n"), user("hi")), ["user"]),
        ((user("hi"), assistant(TextPart("m", "\n")), user("you", "u2")), ["user"]),
    ],
)
def test_it_begins_and_ends_with_the_user(turns: tuple[UserTurn | AssistantTurn, ...], roles: list[str]) -> None:
    """A10, A11, A12."""
    assert [message["role"] for message in messages(*turns)] == roles


def test_system_and_developer_messages_go_to_the_front() -> None:
    turns = (user("Be kind", "s1", "system"), user("hi"), user("No slang", "s2", "developer"))
    made = planned(*turns, instructions="Be brief.")
    assert made.body["system"] == [said("Be brief."), said("Be kind"), said("No slang")]
    assert "system" not in planned(user("hi"), instructions=" ").body


# --- ids, names, arguments, results -------------------------------------------------------------------------------


def ids(made: list[Json]) -> list[str]:
    blocks = [block for message in made for block in message["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert calls == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    return calls


def test_s24_ids_are_unique_in_the_whole_request() -> None:
    """A3: the first keeps its own; the same transcript gives the same ids."""
    turns = [user("hi")] + [assistant(call("web:1"), call("a"), turn_id=f"t{n}") for n in range(2)]
    made = ids(messages(*turns))
    assert made == ids(messages(*turns))
    assert made[1] == "a"
    assert len(set(made)) == 4


@pytest.mark.parametrize("wire_id", ["", "functions.x:0", "naïve", "a" * 200, "a b"])
def test_foreign_ids_are_minted_anew(wire_id: str) -> None:
    """A6."""
    (made,) = ids(messages(user("hi"), assistant(call(wire_id))))
    assert made.startswith("toolu_")


@pytest.mark.parametrize(
    ("name", "sent"), [("weather", "weather"), ("a.b", "a_b"), ("", "tool"), ("x" * 200, "x" * 128)]
)
def test_names_of_past_calls(name: str, sent: str) -> None:
    assert messages(user("hi"), assistant(call("a", name=name)))[1]["content"][0]["name"] == sent


@pytest.mark.parametrize(
    ("output", "sent"),
    [
        (Output("ok"), {"content": "ok"}),
        (Output(""), {}),
        (Output("no", is_error=True), {"content": "no", "is_error": True}),
        (Output(" ", is_error=True), {"content": "The tool failed without saying why.", "is_error": True}),
    ],
)
def test_results(output: Output, sent: Json) -> None:
    made = messages(user("hi"), assistant(call("a", output=output)))
    assert made[2]["content"] == [{"type": "tool_result", "tool_use_id": "a", **sent}]


@pytest.mark.parametrize("arguments", ["", "null", "[1]", '{"a"', "\ud800"])
def test_arguments_that_are_no_object(arguments: str) -> None:
    assert messages(user("hi"), assistant(call("a", arguments)))[1]["content"][0]["input"] == {}


# --- edits --------------------------------------------------------------------------------------------------------

PARIS, ROME = '{"city":"Paris"}', '{"city":"Rome"}'


def test_b11_an_edited_call_is_told_as_it_ran() -> None:
    made = messages(user("hi"), ours(call("a", PARIS, ran=ROME)))
    assert made[1]["content"][0]["input"] == {"city": "Rome"}
    assert made[2]["content"][0]["content"] == "ok"


def test_b11_beside_thinking_the_call_stays_and_the_result_tells() -> None:
    turns = (user("hi"), ours(thought(0, "Hm"), call("a", PARIS, ran=ROME)))
    made = messages(*turns, thinking=ENABLED)
    assert made[1]["content"][1]["input"] == {"city": "Paris"}
    note = msgspec.json.decode(made[2]["content"][0]["content"])
    assert (note["arguments"], note["result"]) == ({"city": "Rome"}, "ok")
    later = messages(*turns, assistant(TextPart("m", "So.")), user("And?", "u2"), thinking=ENABLED)
    assert later[1]["content"][0]["input"] == {"city": "Rome"}


# --- thinking -----------------------------------------------------------------------------------------------------


def types(message: Json) -> list[str]:
    return [block["type"] for block in message["content"]]


LOOP = (user("hi"), ours(thought(0, "Hm"), call("a")))
DONE = (*LOOP, ours(TextPart("m", "Rain."), turn_id="t2"), user("And now?", "u2"))


@pytest.mark.parametrize("thinking", [ENABLED, ADAPTIVE, None])
def test_an_open_loop_brings_its_thinking_back_as_it_was(thinking: Json | None) -> None:
    """A7, A8. Models that think unasked want theirs too."""
    made = planned(*LOOP, ours(call("b"), turn_id="t2"), thinking=thinking)
    block = {"type": "thinking", "thinking": "Hm", "signature": seal(0, "Hm")}
    assert made.body["messages"][1]["content"][0] == block
    assert made.body.get("thinking") == thinking
    assert not made.plain


@pytest.mark.parametrize("thinking", [ENABLED, ADAPTIVE, None])
def test_a_loop_that_is_over_leaves_its_thinking_out(thinking: Json | None) -> None:
    made = planned(*DONE, thinking=thinking)
    assert types(made.body["messages"][1]) == ["tool_use"]
    assert made.body.get("thinking") == thinking


def test_a_user_who_speaks_instead_of_answering_does_not_end_the_loop() -> None:
    """What was made behind the thinking must stay behind it."""
    turns = (*LOOP, user("wait", "u2"), ours(thought(0, "Oh"), call("b"), turn_id="t2"))
    made = messages(*turns, user("Be kind", "s", "system"), thinking=ENABLED)
    assert [types(message)[0] for message in made] == ["text", "thinking", "tool_result", "thinking", "tool_result"]


def test_redacted_thinking_and_thinking_without_text() -> None:
    redacted = ReasoningPart("r", (), seal(0), {"redacted": True})
    made = messages(user("hi"), ours(redacted, thought(1), call("a")), thinking=ENABLED)
    assert made[1]["content"][:2] == [
        {"type": "redacted_thinking", "data": seal(0)},
        {"type": "thinking", "thinking": "", "signature": seal(1)},
    ]


BROKEN = {
    "no seal": ours(ReasoningPart("r", ("Hm",)), call("a")),
    "a gap": AssistantTurn("t1", (thought(1, "Hm"), call("a", private={"index": 2, "blocks": 3})), ORIGIN),
    "its end lost": AssistantTurn("t1", (thought(0, "Hm"), call("a", private={"index": 1, "blocks": 3})), ORIGIN),
    "a cut call": AssistantTurn("t1", (thought(0, "Hm"), call("a", malformed=True)), ORIGIN),
    "blank text before it": ours(thought(0, "Hm"), TextPart("m", "\n"), thought(2, "m"), call("a")),
    "a malformed call": ours(thought(0, "Hm"), call("a", malformed=True)),
}


@pytest.mark.parametrize("thinking", [ENABLED, ADAPTIVE, None])
@pytest.mark.parametrize("turn", BROKEN.values(), ids=BROKEN)
def test_a_loop_that_lost_its_thinking_does_not_think(turn: AssistantTurn, thinking: Json | None) -> None:
    """A7's own advice."""
    made = planned(user("hi"), turn, thinking=thinking)
    assert made.body["thinking"] == {"type": "disabled"}
    assert made.plain
    assert types(made.body["messages"][1]) == ["tool_use"]


FOREIGN = assistant(thought(0, "Hm"), call("a"), origin="openai-responses:x")


def test_a_foreign_turn_in_a_loop() -> None:
    """Manual thinking can't go on behind it; adaptive thinking can, and one's own part of the loop is kept."""
    made = planned(user("hi"), FOREIGN, thinking=ENABLED)
    assert made.body["thinking"] == {"type": "disabled"}
    made = planned(user("hi"), FOREIGN, ours(thought(0, "Hm"), call("b"), turn_id="t2"), thinking=ADAPTIVE)
    assert made.body["thinking"] == ADAPTIVE
    assert [types(message)[0] for message in made.body["messages"][1::2]] == ["tool_use", "thinking"]
    assert "thinking" not in planned(user("hi"), FOREIGN).body


def test_manual_thinking_needs_a_loop_that_began_with_it() -> None:
    """The loop was begun while thinking was off."""
    assert planned(user("hi"), ours(call("a")), thinking=ENABLED).body["thinking"] == {"type": "disabled"}
    assert planned(user("hi"), ours(call("a")), thinking=ADAPTIVE).body["thinking"] == ADAPTIVE


def test_thinking_switched_off_brings_nothing_back() -> None:
    off = {"type": "disabled"}
    made = planned(*LOOP, thinking=off)
    assert made.body["thinking"] == off
    assert types(made.body["messages"][1]) == ["tool_use"]
    plain = planned(*LOOP, thinking=ENABLED, plain=True)
    assert plain.body == made.body


# --- server tools -------------------------------------------------------------------------------------------------


def test_a_server_tool_of_ours_comes_back_as_it_was() -> None:
    cited = TextPart("m", "So.", {"citations": [{"type": "page_location"}]})
    made = messages(user("hi"), ours(searched(), cited), user("And?", "u2"))
    assert types(made[1]) == ["server_tool_use", "web_search_tool_result", "text"]
    assert made[1]["content"][2]["citations"] == [{"type": "page_location"}]


def test_blocks_come_back_in_their_order() -> None:
    """Two searches at once: the results come after both calls."""
    one, two = searched("srvtoolu_1"), searched("srvtoolu_2")
    turn = ours(one, two)
    parts = []
    for part, (index, result_index) in zip(turn.parts, [(0, 2), (1, 3)], strict=True):
        assert isinstance(part, SettledCall)
        private = {**(part.part.private or {}), "index": index, "result_index": result_index}
        parts.append(msgspec.structs.replace(part, part=msgspec.structs.replace(part.part, private=private)))
    made = messages(user("hi"), AssistantTurn("t", tuple(parts), ORIGIN), user("And?", "u2"))
    assert types(made[1]) == ["server_tool_use"] * 2 + ["web_search_tool_result"] * 2


@pytest.mark.parametrize(
    "turn",
    [
        assistant(searched(), origin="other"),
        AssistantTurn("t", (call("srvtoolu_1", name="web_search", kind="hosted"),), ORIGIN),
        ours(call("x", kind="held", name="mcp")),
    ],
    ids=["another's", "without its blocks", "held"],
)
def test_any_other_server_tool_is_told(turn: AssistantTurn) -> None:
    made = messages(user("hi"), turn, user("And?", "u2"))
    assert types(made[1]) == ["text"]
    assert "was run by the provider: ok" in made[1]["content"][0]["text"]


def test_a_repeated_server_tool_id_is_told() -> None:
    made = messages(user("hi"), ours(searched()), user("And?", "u2"), ours(searched(), turn_id="t2"), user("?", "u3"))
    assert [types(message) for message in made[1::2]] == [["server_tool_use", "web_search_tool_result"], ["text"]]


# --- media --------------------------------------------------------------------------------------------------------

PDF = "application/pdf"
MEDIA: list[tuple[Media, Json | None]] = [
    (Media("image", "data", "aGk=", "image/jpeg"), {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}),
    (Media("image", "data", "aGk="), {"type": "base64", "media_type": "image/png", "data": "aGk="}),
    (
        Media("image", "url", "data:image/gif;base64,aGk="),
        {"type": "base64", "media_type": "image/gif", "data": "aGk="},
    ),
    (Media("image", "url", "https://x.example/a.png"), {"type": "url", "url": "https://x.example/a.png"}),
    (Media("image", "file", "file_1"), {"type": "file", "file_id": "file_1"}),
    (Media("image", "data", "aGk=", "image/tiff"), None),
    (Media("image", "data", ""), None),
    (Media("document", "data", "aGk=", PDF), {"type": "base64", "media_type": PDF, "data": "aGk="}),
    (Media("document", "data", "aGk=", "text/csv"), {"type": "text", "media_type": "text/plain", "data": "hi"}),
    (Media("document", "data", "/w==", "text/csv"), None),
    (Media("document", "data", "aGk=", "application/zip"), None),
    (Media("document", "url", "https://x.example/a.pdf"), {"type": "url", "url": "https://x.example/a.pdf"}),
    (Media("audio", "data", "aGk=", "audio/wav"), None),
    (Media("video", "url", "https://x.example/a.mp4"), None),
]


@pytest.mark.parametrize(("media", "source"), MEDIA)
def test_media(media: Media, source: Json | None) -> None:
    (block,) = messages(UserTurn("u", (media,)))[0]["content"]
    if source is None:
        assert block["type"] == "text"
        assert "left out" in block["text"]
    else:
        assert block == {"type": media.kind, "source": source}


def test_media_in_a_system_message_is_told() -> None:
    made = planned(UserTurn("s", (Text("Look:"), Media("image", "url", "https://x.example/a.png")), "system"))
    assert made.body["system"][0]["text"].startswith("Look:\n\n[image attachment")


# --- tools, options, caches ---------------------------------------------------------------------------------------


def test_tools() -> None:
    odd = ToolSpec("odd", "", {"anyOf": [{"required": ["a"]}], "properties": {}})
    assert planned(user("hi"), tools=(WEATHER, odd), hosted_tools=(SEARCH,)).body["tools"] == [
        SEARCH,
        {"name": "weather", "description": "The weather.", "input_schema": WEATHER.parameters},
        {"name": "odd", "description": "", "input_schema": {"properties": {}, "type": "object"}},
    ]
    assert "tools" not in planned(user("hi"), tools=()).body


def test_a_history_with_calls_names_their_tools() -> None:
    """Some hosts insist; none of them may be called."""
    body = planned(user("hi"), assistant(call("a"), call("b"), call("c", name="x")), tools=()).body
    assert [tool["name"] for tool in body["tools"]] == ["weather", "x"]
    assert body["tool_choice"] == {"type": "none"}


def test_options() -> None:
    body = plan(TurnRequest((user("hi"),)), settings(temperature=0.5)).body
    assert check_messages(body, version="2023-06-01") == []
    assert (body["temperature"], body["max_tokens"], body["stream"]) == (0.5, 4096, True)
    assert "thinking" not in body


def marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(marks(member) for member in value.values())
    return sum(map(marks, value)) if isinstance(value, list) else 0


def test_caches_are_told_what_stays() -> None:
    body = planned(*DONE, instructions="Be brief.", cache=True).body
    places = (body["tools"], body["system"], body["messages"][2]["content"], body["messages"][4]["content"])
    assert all("cache_control" in place[-1] for place in places)
    assert marks(body) == 4
    assert marks(planned(*DONE, cache=False).body) == 0


def test_a_cache_finds_the_turn_before() -> None:
    """Without the marks the earlier request is a prefix of the later one, which marks its end again."""
    before = planned(*LOOP, thinking=ENABLED, cache=True).body["messages"]
    after = planned(*LOOP, ours(call("b"), turn_id="t2"), thinking=ENABLED, cache=True).body["messages"]
    assert after[2] == before[2]
    assert after[:2] == [{"role": "user", "content": [said("hi")]}, before[1]]


# --- anything -----------------------------------------------------------------------------------------------------

TEXTS = st.sampled_from(["", " ", "\n", "hi", "naïve 🙂"])
WIRE_IDS = st.sampled_from(["", "a", "b", "srvtoolu_a", "functions.x:0", "x" * 200])
OUTPUTS = st.builds(Output, TEXTS, st.booleans())
ARGUMENTS = st.sampled_from(["{}", PARIS, ROME, "", "nonsense"])
CALL_PRIVATE = st.none() | st.fixed_dictionaries({"index": st.integers(0, 3), "blocks": st.integers(0, 3)})
PRIVATE = st.none() | st.fixed_dictionaries({"index": st.integers(0, 3)})
LOCAL = st.builds(
    lambda wire_id, arguments, ran, **more: call(wire_id, arguments, ran=ran, **more),
    WIRE_IDS, ARGUMENTS, st.none() | ARGUMENTS, output=OUTPUTS, malformed=st.booleans(), private=CALL_PRIVATE,
    kind=st.sampled_from(["server", "gated", "client"]), name=st.sampled_from(["weather", "a.b", ""]),
)  # fmt: skip
HOSTED = st.builds(searched, st.sampled_from(["srvtoolu_1", "srvtoolu_2"]), output=OUTPUTS) | st.builds(
    lambda kind: call("h", kind=kind, name="mcp"), st.sampled_from(["hosted", "held"])
)
REASONING = st.builds(thought, st.integers(0, 3), TEXTS) | st.builds(ReasoningPart, st.just("r"), private=PRIVATE)
PARTS = st.lists(LOCAL | HOSTED | REASONING | st.builds(TextPart, st.just("m"), TEXTS, PRIVATE), min_size=1, max_size=4)
CONTENT: st.SearchStrategy[Content] = st.builds(Text, TEXTS) | st.sampled_from([media for media, _ in MEDIA])
USERS = st.builds(
    UserTurn, st.just("u"), st.lists(CONTENT, max_size=3).map(tuple), st.sampled_from(["user", "user", "system"])
)


@st.composite
def own(draw: st.DrawFn) -> AssistantTurn:
    """A turn as this adapter makes it: every block in its place, sealed for that place."""
    parts: list[Part] = []
    place = 0
    for part in draw(PARTS):
        if isinstance(part, ReasoningPart):
            words = draw(st.sampled_from(["", "Hm"]))
            parts.append(msgspec.structs.replace(thought(place, words), summary=(words,) if words else ()))
        else:
            parts.append(part)
        place += 2 if isinstance(part, SettledCall) and part.part.private and not part.part.local else 1
    return ours(*parts)


TURNS = st.lists(
    USERS | own() | st.builds(AssistantTurn, st.just("t"), PARTS.map(tuple), st.sampled_from(["", "x", ORIGIN])),
    max_size=6,
)


@given(TURNS, st.sampled_from([None, ENABLED, ADAPTIVE, {"type": "disabled"}]), st.booleans(), st.booleans())
def test_any_transcript_is_legal(
    turns: list[UserTurn | AssistantTurn], thinking: Json | None, cache: bool, tools: bool
) -> None:
    """A1 to A12, whatever was said; and the same bytes the second time."""
    ids_ = (msgspec.structs.replace(turn, id=f"{turn.id}{place}") for place, turn in enumerate(turns))
    request = TurnRequest(tuple(ids_), "Be brief.", (WEATHER,) if tools else ())
    made = plan(request, settings(thinking=thinking, cache=cache, hosted_tools=(SEARCH,) if tools else ()))
    assert check_messages(made.body, OLDER) == []
    again = plan(request, settings(thinking=thinking, cache=cache, hosted_tools=(SEARCH,) if tools else ()))
    assert msgspec.json.encode(again.body) == msgspec.json.encode(made.body)
