"""What clients say that this version doesn't know, and what they say wrong: two different things (PROC-1, PROC-2)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agui_gate.errors import InvalidRequest
from agui_gate.protocol.lenient_request import MOST_NAME, MOST_PATHS
from agui_gate.protocol.request_decoder import decode
from agui_gate.protocol.run_input import RunInput
from tests.conforming import conforms
from tests.support.chance import examples

pytestmark = conforms("PROC-1", "PROC-2", "PROC-3", "PROC-4", "PROC-5", "IN-9", "VER-9")

Json = dict[str, Any]

V0, V1 = None, "1.0"
OPEN = {"a": None, "toolCallId": 5, "nested": [{"role": "root", "type": "hologram", "x": [None]}]}
"""What is open by meaning may hold anything under any name."""
CALL = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}, "metadata": OPEN}
PARTS = [
    {"type": "text", "text": "look", "id": "p1", "metadata": OPEN},
    {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}, "metadata": 5},
    {"type": "document", "source": {"type": "file", "value": "f", "provider": "openai", "mimeType": "text/csv"}},
    {"type": "audio", "source": {"type": "url", "value": "https://example.org/a"}},
]
MESSAGES: list[Json] = [
    {"id": "1", "role": "user", "content": PARTS, "name": "Ann", "metadata": OPEN, "subagentRunId": "s"},
    {"id": "2", "role": "assistant", "toolCalls": [CALL], "encryptedValue": "sealed"},
    {"id": "3", "role": "tool", "toolCallId": "c", "content": "done", "error": "no", "metadata": OPEN},
    {"id": "4", "role": "tool", "toolCallId": "c", "content": PARTS},
    {"id": "5", "role": "reasoning", "content": "hm", "encryptedValue": "sealed"},
    {"id": "6", "role": "activity", "activityType": "PLAN", "content": OPEN},
    {"id": "7", "role": "system", "content": "be kind"},
    {"id": "8", "role": "developer", "content": "be brief", "name": "ops"},
    {"id": "9", "role": "assistant", "content": "Hello."},
]
EVERYTHING: Json = {
    "threadId": "t",
    "runId": "r",
    "parentRunId": "r0",
    "protocolVersion": V1,
    "state": OPEN,
    "messages": MESSAGES,
    "tools": [{"name": "paint", "description": "d", "parameters": OPEN, "metadata": OPEN}],
    "context": [{"description": "d", "value": "v"}],
    "forwardedProps": OPEN,
    "resume": [{"interruptId": "i", "status": "resolved", "payload": OPEN, "metadata": OPEN}],
}
Path = tuple[str | int, ...]


def read(value: Any) -> RunInput:
    return decode(json.dumps(value).encode())


def fresh(value: Json) -> Json:
    made: Json = json.loads(json.dumps(value))
    return made


def run(version: str | None = V1, **more: Any) -> Json:
    said = {"threadId": "t", "runId": "r", "messages": [], **more}
    return said if version is None else said | {"protocolVersion": version}


def unread_of(value: Json) -> list[str]:
    unread = read(value).unread
    return list(unread.paths) if unread else []


def test_what_the_schema_has_is_read_and_nothing_goes_unread() -> None:
    """PROC-5: what is open by meaning stays as it came."""
    found = read(EVERYTHING)
    assert found.unread is None
    assert len(found.messages) == len(MESSAGES)
    assert found.state == found.forwarded_props == found.client_tools["paint"].parameters == OPEN
    assert found.resume
    assert found.resume[0].payload == OPEN
    assert found.messages[5].content == OPEN
    assert found.messages[0].content == PARTS
    assert [m.role for m in found.messages] == [m["role"] for m in MESSAGES]


@pytest.mark.parametrize("version", [V0, V1])
def test_a_role_nobody_knows_takes_its_message_with_it(version: str | None) -> None:
    """PROC-2, PROC-3: of a list, the element."""
    sent = run(version, messages=[MESSAGES[8], {"id": "x", "role": "oracle", "content": {"deep": 1}}, MESSAGES[6]])
    found = read(sent)
    assert [m.id for m in found.messages] == ["9", "7"]
    assert unread_of(sent) == ["messages[1].role"]


@pytest.mark.parametrize("version", [V0, V1])
@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_part_nobody_knows_goes_as_a_whole(version: str | None, role: str) -> None:
    """PROC-3: a part needs its source, so a source nobody knows takes the part with it."""
    hologram = {"type": "hologram", "value": 1}
    cloud = {"type": "image", "source": {"type": "cloud", "handle": "h"}}
    message = {"id": "1", "role": role, "content": [hologram, PARTS[0], cloud, PARTS[3]]}
    message |= {"toolCallId": "c"} if role == "tool" else {}
    sent = run(version, messages=[message])
    assert read(sent).messages[0].content == [PARTS[0], PARTS[3]]
    assert unread_of(sent) == ["messages[0].content[0].type", "messages[0].content[2].source.type"]


@pytest.mark.parametrize("version", [V0, V1])
def test_a_status_nobody_knows_is_no_answer(version: str | None) -> None:
    entries = [{"interruptId": "a", "status": "postponed"}, {"interruptId": "b", "status": "cancelled"}]
    found = read(run(version, resume=entries))
    assert found.resume
    assert [entry.interrupt_id for entry in found.resume] == ["b"]
    assert unread_of(run(version, resume=entries)) == ["resume[0].status"]


@pytest.mark.parametrize("version", [V0, V1])
def test_unknown_members_go_unread_one_by_one(version: str | None) -> None:
    """IN-9: everything else of the object counts."""
    value = fresh(EVERYTHING) | {"protocolVersion": version, "mood": "fine"}
    expected = ["mood"]
    for path, item in list(objects(value)):
        if path:
            item["mood"] = {"role": "root"}
            expected.append("".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in (*path, "mood"))[1:])
    unread = read(value).unread
    assert unread is not None
    assert unread.number == len(expected)
    assert len(unread.paths) == MOST_PATHS
    assert set(unread.paths) <= set(expected)
    del value["protocolVersion"], value["mood"]
    without = fresh(EVERYTHING)
    del without["protocolVersion"]
    assert read(value).messages == read(without | {"mood": 1}).messages


@pytest.mark.parametrize("version", [V0, V1])
def test_what_is_told_of_it_is_bounded_and_holds_no_values(version: str | None) -> None:
    """PROC-4: names of members and places, and no more of them than can be read."""
    junk = {"secret " + "x" * 5_000: "my secret"}
    sent = run(version, messages=[{"id": str(n), "role": "user", "content": "hi"} | junk for n in range(1_000)])
    unread = read(sent).unread
    assert unread is not None
    assert unread.number == 1_000
    assert len(unread.paths) == MOST_PATHS
    assert all(len(path) <= MOST_NAME + 20 for path in unread.paths)
    assert "my secret" not in str(unread)


MALFORMED: list[tuple[Path, Any]] = [
    (("messages", 0, "id"), ...), (("messages", 0, "content"), ...), (("messages", 2, "content"), ...),
    (("messages", 2, "toolCallId"), ...), (("messages", 6, "content"), ...), (("messages", 5, "activityType"), ...),
    (("messages", 5, "content"), "text"), (("messages", 0, "metadata"), "x"), (("messages", 0, "name"), 5),
    (("messages", 0, "name"), None), (("messages", 1, "content"), None), (("messages", 0, "subagentRunId"), None),
    (("messages", 1, "toolCalls"), None), (("messages", 1, "toolCalls", 0, "type"), "banana"),
    (("messages", 1, "toolCalls", 0, "type"), ...), (("messages", 1, "toolCalls", 0, "metadata"), None),
    (("messages", 1, "toolCalls", 0, "function", "arguments"), None), (("messages", 2, "error"), None),
    (("messages", 1, "encryptedValue"), None), (("messages", 0, "content", 0, "id"), 5),
    (("messages", 0, "content", 0, "metadata"), None), (("messages", 0, "content", 1, "source", "mimeType"), ...),
    (("messages", 0, "content", 2, "source", "provider"), 5), (("messages", 8, "content"), PARTS),
    (("parentRunId",), 5), (("parentRunId",), None), (("state",), None), (("forwardedProps",), None),
    (("tools", 0, "description"), ...), (("tools", 0, "parameters"), None), (("tools", 0, "metadata"), []),
    (("tools",), None), (("context", 0, "value"), {"a": 1}), (("context", 0, "value"), ...),
    (("context", 0, "description"), ...), (("resume", 0, "payload"), None), (("resume", 0, "metadata"), "x"),
    (("resume",), None),
]  # fmt: skip
"""Known members with values that they can't have; ``...`` stands for a member that is missing."""


@pytest.mark.parametrize(("path", "value"), MALFORMED, ids=lambda item: str(item)[:60])
def test_what_is_malformed_is_refused_of_clients_that_declare_a_version_and_named(path: Path, value: Any) -> None:
    """PROC-1: no repair, no coercion, no default. Before versions it is taken, as it always was."""
    sent = changed(EVERYTHING, path, value)
    for version in (V1, "1.7", "2.0", "garbage", ""):
        with pytest.raises(InvalidRequest) as caught:
            read(sent | {"protocolVersion": version})
        assert caught.value.well_formed
        named = path[:-1] if value is ... else path
        at = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in named)
        assert f"`${at}" in caught.value.message
        assert "banana" not in caught.value.message
    for version in (V0, "0.9"):
        if value is not PARTS:
            read(sent | {"protocolVersion": version})


@pytest.mark.parametrize("version", [V0, V1])
@pytest.mark.parametrize(
    "message",
    [
        {"id": "x", "content": "hi"}, {"id": "x", "role": 5, "content": "hi"}, {"id": "x", "role": None}, None, "hi",
        {"id": "x", "role": "user", "content": [{"text": "hi"}]}, {"id": "x", "role": "user", "content": ["hi"]},
        {"id": "x", "role": "user", "content": [{"type": "image", "source": {"value": "u"}}]},
        {"id": "x", "role": "user", "content": [{"type": "image", "source": "u"}]},
        {"id": "x", "role": "assistant", "toolCalls": [None]}, {"id": "x", "role": "assistant", "toolCalls": {}},
        {"id": "x", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": None}]},
    ],
)  # fmt: skip
def test_what_says_not_what_it_is_is_malformed_for_everybody(version: str | None, message: Any) -> None:
    ok = {"id": "ok", "role": "user", "content": "hi"}
    unknown = {"id": "?", "role": "oracle"}  # the path is as it was sent, whatever goes unread before it
    with pytest.raises(InvalidRequest, match=r"messages\[2\]") as caught:
        read(run(version, messages=[ok, unknown, message]))
    assert caught.value.well_formed


@pytest.mark.parametrize("version", [5, 1.0, True, [], {}])
def test_a_version_that_is_no_text_is_malformed_for_everybody(version: Any) -> None:
    for sent in (EVERYTHING | {"protocolVersion": version}, run(None, protocol_version=version)):
        with pytest.raises(InvalidRequest, match=r"\$\.protocolVersion"):
            read(sent)


def test_no_version_is_before_versions() -> None:
    lenient = run(None, messages=[{"role": "user", "content": "hi"}], state=None)
    assert read(lenient).protocol_version is None
    assert read(lenient | {"protocolVersion": None}).protocol_version is None


@pytest.mark.parametrize("version", [V0, V1])
def test_the_retired_part_is_read_from_everybody(version: str | None) -> None:
    """VER-9."""
    binary = {"type": "binary", "mimeType": "image/png", "data": "AAAA", "filename": "a.png"}
    assert read(run(version, messages=[{"id": "1", "role": "user", "content": [binary]}])).unread is None
    with pytest.raises(InvalidRequest, match=r"messages\[0\]\.content\[0\]"):
        read(run(version, messages=[{"id": "1", "role": "user", "content": [{**binary, "data": 5}]}]))


def test_before_versions_null_is_no_member_that_could_be_unknown() -> None:
    nulls = {"name": None, "toolCallId": None, "generativeUI": None}
    assert unread_of(run(V0, messages=[{"id": "1", "role": "user", "content": "hi"} | nulls])) == []


# --- held against the official models ---------------------------------------------------------------------------

DISCRIMINATORS = {"role", "type", "status"}
ODD = st.sampled_from([5, True, 1.5, "x", "", [], [1], {}, {"a": 1}, [{"type": "text", "text": "x"}]])


def objects(value: Any, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """The objects of the protocol in a value, not those that are open by meaning."""
    if isinstance(value, dict):
        yield path, value
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, item in items:
        if item is not OPEN and item != OPEN:
            yield from objects(item, (*path, key))


def members(value: Any) -> list[Path]:
    return [(*path, key) for path, item in objects(value) for key in item]


def changed(value: Json, path: Path, new: Any) -> Json:
    made = fresh(value)
    at: Any = made
    for key in path[:-1]:
        at = at[key]
    if new is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return made


@examples(375)
@given(st.sampled_from(members(EVERYTHING)), st.just(...) | ODD, st.booleans())
def test_the_verdict_is_that_of_the_official_models(path: Path, new: Any, also_unknown: bool) -> None:
    """Where the two differ, the schema is stricter than its models: nulls, and a call without a type."""
    if path in {("threadId",), ("runId",)} and new == "":
        return  # ids of ours have at least a character
    if path[-1] in DISCRIMINATORS and (isinstance(new, str) or new is ...):
        return  # an unknown kind goes unread here, which no model does; that it is missing is shown above
    if path == ("protocolVersion",):
        return  # who declares nothing is not held to the models
    known = changed(EVERYTHING, path, new)
    sent = known
    if also_unknown and isinstance(sent.get("messages"), list):
        sent = known | {"messages": [{"role": "oracle"}, *known["messages"]], "mood": "fine"}
    try:
        RunAgentInput.model_validate_json(json.dumps(known))
        official = True
    except ValidationError:
        official = False
    try:
        read(sent)
        ours = True
    except InvalidRequest:
        ours = False
    assert ours is official
