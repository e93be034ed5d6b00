"""What a client sent comes back as it came: through the journal, its stored form, and MESSAGES_SNAPSHOT."""

import itertools
import json
from typing import Any

import msgspec
import pytest
from ag_ui.core import Message as OfficialMessage
from pydantic import TypeAdapter

from agui_gate.core.sanitizer import sanitize
from agui_gate.core.stored_values import decode_entries, encode_entries
from agui_gate.core.transcript import Text
from agui_gate.protocol import request_decoder, run_input
from agui_gate.protocol.dialects.v0 import FILES, RESULTS, VIEW, V0Shapes
from agui_gate.protocol.snapshot import agui_messages
from agui_gate.threads.reconciliation import import_history
from tests.conforming import conforms

OFFICIAL = TypeAdapter(list[OfficialMessage])

META = {"a": None, "acme": {"b": [1.5, "ü"]}}
FILE = {"type": "file", "value": "file-1", "provider": "openai", "mimeType": "image/png"}
PNG = {"type": "data", "value": "QUJD", "mimeType": "image/png"}
CALL = {"id": "c1", "type": "function", "function": {"name": "paint", "arguments": '{"a": 1}'}}

HISTORY: list[dict[str, Any]] = [
    {"id": "s1", "role": "system", "content": "Be kind.", "name": "house", "metadata": META},
    {"id": "d1", "role": "developer", "content": "Be brief.", "encryptedValue": "d"},
    {"id": "u1", "role": "user", "content": "Look", "name": "Bo", "metadata": META, "subagentRunId": "sub"},
    {"id": "r1", "role": "reasoning", "content": "Hm.", "encryptedValue": "sealed", "encryptedValueType": "acme.x"},
    {
        "id": "a1",
        "role": "assistant",
        "content": "I see.",
        "name": "painter",
        "metadata": META,
        "toolCalls": [{**CALL, "metadata": META, "encryptedValue": "sig"}],
    },
    {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "no", "error": "It broke.", "metadata": META},
    {
        "id": "u2",
        "role": "user",
        "content": [
            {"type": "text", "text": "these:", "id": "p1", "metadata": META},
            {"type": "text", "text": ""},
            {"type": "image", "source": FILE, "id": "p2"},
            {"type": "image", "source": PNG, "metadata": {"filename": "a.png"}},
            {"type": "document", "source": {"type": "url", "value": "https://x.example/a"}},
        ],
    },
    {"id": "r2", "role": "reasoning", "content": "", "encryptedValue": "sealed too"},
    {"id": "a2", "role": "assistant", "content": ""},
    {"id": "a3", "role": "assistant", "content": "", "toolCalls": [{**CALL, "id": "c2"}, {**CALL, "id": "c3"}]},
    {
        "id": "t2",
        "role": "tool",
        "toolCallId": "c2",
        "content": [{"type": "text", "text": "a picture"}, {"type": "image", "source": PNG, "id": "p3"}],
    },
    {"id": "t3", "role": "tool", "toolCallId": "c3", "content": "", "error": "gone"},
    {"id": "a4", "role": "assistant", "content": "Done."},
    {"id": "u3", "role": "user", "content": ""},
    {"id": "u4", "role": "user", "content": [{"type": "text", "text": "And?"}]},
]


def restated(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """``messages`` after they were imported, stored and read again."""
    body = {"threadId": "t", "runId": "r", "messages": messages, "protocolVersion": "1.0"}
    run = request_decoder.decode(json.dumps(body).encode())
    ids = (f"minted-{number}" for number in itertools.count())
    entries = import_history(run.messages, ids.__next__, ["paint"]).entries
    return agui_messages(decode_entries(encode_entries(entries)), ())


@conforms("VER-6", "STATE-2", "REAS-3", "REAS-4", "META-1")
def test_a_history_comes_back_as_it_came() -> None:
    OFFICIAL.validate_python(HISTORY)
    assert restated(*HISTORY) == HISTORY


@pytest.mark.parametrize("message", HISTORY, ids=lambda message: message["id"])
def test_each_message_alone_comes_back_too(message: dict[str, Any]) -> None:
    """But for a result whose call is not there: clients could not show it either."""
    assert restated(message) == ([] if message["role"] == "tool" else [message])


def test_nothing_of_it_reaches_a_model() -> None:
    body = {"threadId": "t", "runId": "r", "messages": HISTORY}
    entries = import_history(request_decoder.decode(json.dumps(body).encode()).messages, lambda: "x", ["paint"]).entries
    told = msgspec.json.encode([turn.parts for turn in sanitize(entries, {}) if hasattr(turn, "parts")]).decode()
    assert "Hm." not in told
    assert [turn.id for turn in sanitize(entries, {})] == ["s1", "d1", "u1", "a1", "u2", "a3", "a4", "u4"]


@pytest.mark.parametrize(
    "odd",
    [{"name": None}, {"name": 5}, {"metadata": "x"}, {"encryptedValueType": "alone"}, {"surprise": 1}],
    ids=lambda odd: next(iter(odd)),
)
def test_what_no_schema_has_is_not_restated(odd: dict[str, Any]) -> None:
    plain = {"id": "u1", "role": "user", "content": "hi"}
    assert restated_leniently(plain | odd) == [plain]


def restated_leniently(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    run = request_decoder.decode(json.dumps({"threadId": "t", "runId": "r", "messages": messages}).encode())
    return agui_messages(import_history(run.messages, lambda: "x").entries, ())


def test_ordinary_messages_cost_nothing_more_in_store() -> None:
    run = request_decoder.decode(
        json.dumps({"threadId": "t", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "hi"}]}).encode()
    )
    assert msgspec.json.encode(import_history(run.messages, lambda: "x").entries) == (
        b'[{"type":"user","id":"u","content":[{"type":"text","text":"hi"}]}]'
    )


def test_deep_metadata_is_refused_at_the_door() -> None:
    deep: Any = {}
    for _ in range(run_input.MAX_DEPTH + 1):
        deep = {"a": deep}
    for message in (
        {"id": "u", "role": "user", "content": "hi", "metadata": deep},
        {"id": "a", "role": "assistant", "toolCalls": [{**CALL, "metadata": deep}]},
    ):
        with pytest.raises(Exception, match="nested deeper"):
            restated_leniently(message)


# --- for clients of 0.x -----------------------------------------------------------------------------------------------


@conforms("VER-6", "TOOL-3")
def test_for_0_x_what_it_has_no_shape_for_is_left_out_with_nothing_in_its_place() -> None:
    messages = restated(*HISTORY)
    assert VIEW.fit(messages) == {FILES, RESULTS}
    by_id = {message["id"]: message for message in messages}
    assert by_id["u2"]["content"] == [part for part in HISTORY[6]["content"] if part.get("source") is not FILE]
    assert by_id["t2"]["content"] == "a picture"
    changed = {"u2", "t2"}
    assert [m for m in messages if m["id"] not in changed] == [m for m in HISTORY if m["id"] not in changed]


def test_what_is_left_empty_is_an_empty_string() -> None:
    messages = restated(
        {"id": "u", "role": "user", "content": [{"type": "image", "source": FILE}]},
        {"id": "a", "role": "assistant", "toolCalls": [CALL]},
        {"id": "t", "role": "tool", "toolCallId": "c1", "content": [{"type": "image", "source": PNG}]},
    )
    VIEW.fit(messages)
    assert [message.get("content") for message in messages] == ["", None, ""]


def test_text_alone_loses_nothing() -> None:
    messages = restated({"id": "u", "role": "user", "content": [{"type": "text", "text": "hi"}]})
    assert VIEW.fit(messages) == set()
    encoded = msgspec.Raw(msgspec.json.encode([{"id": "u", "role": "user", "content": '"content":['}]))
    assert V0Shapes().messages(encoded) == (encoded, set())


def test_a_conversation_as_json_is_brought_into_its_shapes_too() -> None:
    messages = restated(*HISTORY)
    told, lost = V0Shapes().messages(msgspec.Raw(msgspec.json.encode(messages)))
    VIEW.fit(messages)
    assert msgspec.json.decode(told) == messages
    assert lost == {FILES, RESULTS}


def test_a_text_part_is_a_text() -> None:
    assert [part.text for part in run_input.parts([{"type": "text", "text": "a"}]) if isinstance(part, Text)] == ["a"]
