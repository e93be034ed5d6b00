"""Any settled transcript becomes a request that the API accepts, and one that a prompt cache recognises."""

from typing import Any

import msgspec
import pytest

from agui_gate.adapter import (
    AssistantTurn,
    Media,
    NamedTool,
    Output,
    Text,
    TextPart,
    ToolChoice,
    ToolSpec,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.anthropic_messages.request import plan
from agui_gate_adapters.testkit.anthropic import check_messages
from tests.adapters.support import WEATHER, Json, assistant, call, user

from .planning import DONE, LOOP, messages, ours, planned, said, settings, thought
from .support import ENABLED, SEARCH

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


# --- media --------------------------------------------------------------------------------------------------------

PDF = "application/pdf"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MEDIA: list[tuple[Media, Json | None]] = [
    (Media("image", "data", "/9j/", "image/jpeg"), {"type": "base64", "media_type": "image/jpeg", "data": "/9j/"}),
    (Media("image", "data", PNG), {"type": "base64", "media_type": "image/png", "data": PNG}),
    (
        Media("image", "url", "data:image/gif;base64,R0lGODlh"),
        {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"},
    ),
    (Media("image", "url", "https://x.example/a.png"), {"type": "url", "url": "https://x.example/a.png"}),
    (Media("image", "file", "file_1"), {"type": "file", "file_id": "file_1"}),
    (Media("image", "data", "aGk=", "image/tiff"), None),
    (Media("image", "data", ""), None),
    (Media("document", "data", "JVBERi0=", PDF), {"type": "base64", "media_type": PDF, "data": "JVBERi0="}),
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


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (NamedTool("weather"), {"type": "tool", "name": "weather"}),
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
    ],
)
def test_a_tool_is_forced(choice: ToolChoice, sent: Json) -> None:
    """Nothing may be forced while the model thinks."""
    thinking = {"type": "enabled", "budget_tokens": 2048}
    made = plan(TurnRequest((user("hi"),), tools=(WEATHER,), tool_choice=choice), settings(thinking=thinking))
    assert made.body["tool_choice"] == sent
    assert made.body["thinking"] == (thinking if choice == "none" else {"type": "disabled"})
    assert check_messages(made.body, version="2023-06-01") == []


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
