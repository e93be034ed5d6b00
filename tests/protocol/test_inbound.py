"""`RunAgentInput` as it comes: what is read, what is refused and with which words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.transcript import Media, Text
from agui_gate.errors import AguiGateError, InvalidRequest, TooLarge
from agui_gate.protocol import member_names, request_decoder, request_shapes, run_input
from tests.support.chance import examples

MINIMAL = {"threadId": "t", "runId": "r", "messages": []}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def decode(**more):
    return request_decoder.decode(json.dumps({**MINIMAL, **more}).encode())


@examples(100)
@given(
    st.dictionaries(st.sampled_from(sorted(member_names.members_of(request_shapes.InputShape).names)), JSON),
    st.booleans(),
)
def test_anything_is_read_or_refused(fields, complete) -> None:
    body = json.dumps({**(MINIMAL if complete else {}), **fields}).encode()
    try:
        run = request_decoder.decode(body)
    except AguiGateError as error:
        assert len(error.message) < 300  # noqa: PT017
    else:
        assert run.thread_id
        assert isinstance(run.messages, list)


@examples(100)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(body) -> None:
    for read in (request_decoder.decode, request_decoder.decode_json):
        try:
            read(body)
        except InvalidRequest as error:
            assert error.code == "invalid_request"  # noqa: PT017


def test_what_is_absent_or_null() -> None:
    bare = request_decoder.decode(json.dumps(MINIMAL).encode())
    nulls = decode(tools=None, context=None, resume=None, state=None, forwardedProps=None, protocolVersion=None)
    assert bare == nulls
    assert bare.client_tools == {}


@pytest.mark.parametrize(
    "value",
    ["", "x" * 257, "a\nb", "\x00", "\x7f", "\u2028", "\u202e"],
    ids=["empty", "long", "newline", "nul", "del", "ls", "bidi"],
)
@pytest.mark.parametrize("field", ["threadId", "runId"])
def test_ids_that_are_refused(field: str, value: str) -> None:
    with pytest.raises(InvalidRequest, match=field) as caught:
        decode(**{field: value})
    assert caught.value.well_formed
    assert value == "" or value not in caught.value.message


@pytest.mark.parametrize("value", ["x", "x" * 256, "a b", "é", "😀", "a/b?c#d", "%00"])
def test_ids_that_are_taken(value: str) -> None:
    assert decode(threadId=value).thread_id == value


def test_too_many_messages() -> None:
    message = {"role": "user", "content": "x"}
    assert len(decode(messages=[message] * 10_000).messages) == 10_000
    with pytest.raises(TooLarge, match="10,000"):
        decode(messages=[message] * 10_001)


CALL = {"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}


@pytest.mark.parametrize(
    "place",
    [
        lambda deep: {"state": deep},
        lambda deep: {"forwardedProps": deep},
        lambda deep: {"context": [{"value": deep}]},
        lambda deep: {"tools": [{"name": "x", "parameters": deep}]},
        lambda deep: {"resume": [{"interruptId": "i", "status": "resolved", "payload": deep}]},
        lambda deep: {"messages": [{"role": "user", "content": "x", "function_approvals": deep}]},
        lambda deep: {
            "messages": [{"id": "a", "role": "assistant", "content": "", "toolCalls": [{**CALL, "metadata": deep}]}]
        },
    ],
)
def test_depth(place) -> None:
    def nested(levels):
        value = []
        for _ in range(levels - 1):
            value = [value]
        return value

    decode(**place(nested(60)))
    with pytest.raises(InvalidRequest, match="nested deeper"):
        decode(**place(nested(80)))
    with pytest.raises(InvalidRequest):
        request_decoder.decode(
            json.dumps({**MINIMAL}).encode()[:-1] + b',"state":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
        )


FILE = {"type": "file", "value": "f"}
PNG = {"type": "data", "value": "AAAA", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ()),
        ("", ()),
        ("hi", (Text("hi"),)),
        ([], ()),
        ([{"type": "text", "text": ""}], (Text("", "{}"),)),
        ([{"type": "text", "text": "hi"}], (Text("hi", "{}"),)),
        ([{"type": "text", "text": "hi", "id": "p", "surprise": 1}], (Text("hi", '{"id":"p"}'),)),
        (
            [{"type": "image", "source": {**FILE, "provider": "openai"}, "metadata": {"a": None}}],
            (Media("image", "file", "f", None, "openai", '{"metadata":{"a":null}}'),),
        ),
        ([{"type": "image", "source": {**FILE, "provider": 5}, "id": 5}], (Media("image", "file", "f"),)),
        (
            [{"type": "text", "text": "hi"}, {"type": "image", "source": PNG}],
            (Text("hi"), Media("image", "data", "AAAA", "image/png")),
        ),
        ([{"type": "audio", "source": {"type": "url", "value": "u"}}], (Media("audio", "url", "u", None),)),
        ([{"type": "document", "source": {"type": "file", "value": "f"}}], (Media("document", "file", "f", None),)),
        ([{"type": "binary", "mimeType": "image/gif", "data": "A"}], (Media("image", "data", "A", "image/gif"),)),
        (
            [{"type": "binary", "mimeType": "text/csv", "url": "u"}],
            (Media("document", "url", "u", "text/csv"),),
        ),
        ([{"type": "binary", "mimeType": "video/mp4", "id": "f"}], (Media("video", "file", "f", "video/mp4"),)),
    ],
)
def test_content(content, expected) -> None:
    assert run_input.parts(content) == expected


@pytest.mark.parametrize(
    "content",
    [
        5, {}, True, [5], [None], ["text"], [{}], [{"type": "text"}], [{"type": "text", "text": 5}],
        [{"type": "image"}], [{"type": "image", "source": "u"}], [{"type": "image", "source": {"type": "data"}}],
        [{"type": "binary", "data": "AA"}],
        [{"type": "image", "source": {"type": "data", "value": "A", "mimeType": 5}}], [{"type": ["text"], "text": "x"}],
        [{"type": {"a": 1}}],
    ],
)  # fmt: skip
def test_content_that_is_refused(content) -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode(messages=[{"role": "user", "content": content}])
    assert len(caught.value.message) < 200


def test_activity_may_hold_anything_and_is_left_alone() -> None:
    assert decode(messages=[{"role": "activity", "content": {"a": [1]}}]).messages[0].role == "activity"


def test_errors_name_the_path_and_never_the_content() -> None:
    with pytest.raises(InvalidRequest, match=r"\$\.messages\[0\]\.role") as caught:
        decode(messages=[{"role": 5, "content": "my secret"}])
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b"[" * 100 + b"]" * 100, b"{", b"\xff"],
    ids=["deep and cut off", "very deep", "deep", "cut off", "no text"],
)
def test_any_other_body_that_is_no_json_or_too_deep_is_refused_too(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        request_decoder.decode_json(body)


def test_a_number_that_none_can_hold_is_told_in_words_that_fit_any_body() -> None:
    for read in (request_decoder.decode, request_decoder.decode_json):
        with pytest.raises(InvalidRequest) as caught:
            read(b'{"editedArgs": {"amount": 1e999}}')
        assert (caught.value.message, caught.value.well_formed) == ("The body has a number that is out of range.", True)


@pytest.mark.parametrize(
    ("field", "one", "most"),
    [
        ("tools", {"name": "t", "description": "", "parameters": {}}, run_input.MAX_TOOLS),
        ("context", {"description": "d", "value": "v"}, run_input.MAX_CONTEXT),
        ("resume", {"interruptId": "i", "status": "resolved"}, run_input.MAX_ANSWERS),
    ],
)
def test_there_is_a_most_of_each(field: str, one: dict[str, object], most: int) -> None:
    decode(**{field: [one] * most})
    with pytest.raises(TooLarge, match=f"at most {most:,}"):
        decode(**{field: [one] * (most + 1)})
