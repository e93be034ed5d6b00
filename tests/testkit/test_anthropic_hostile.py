"""Two properties: nonsense is refused, never crashed on; and a client that keeps the rules is never refused."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.anthropic.answer import Answer
from tests.support.chance import examples
from tests.testkit.anthropic_driving import HEADERS, MODEL, THINK, TOOL, Json, assistant, call, reply, result, user

KINDS = ["text", "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "image"]
WORDS = [*KINDS, "type", "id", "name", "input", "content", "signature", "data", "role", "cache_control"]
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 10**30), st.floats(allow_nan=False), st.text(max_size=8))
NAMES = st.sampled_from(["toolu_a", "srvtoolu_a", "refund", "object", "ephemeral", "auto", "tool", *KINDS])
JSON = st.recursive(
    SCALARS | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=8,
)
SOUND = st.sampled_from(
    [
        {"type": "text", "text": "x"},
        {"type": "tool_use", "id": "toolu_a", "name": "refund", "input": {}},
        {"type": "tool_result", "tool_use_id": "toolu_a", "content": "ok"},
        {"type": "thinking", "thinking": "x", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "srvtoolu_a", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_a", "content": []},
    ]
)
BROKEN = st.builds(
    lambda kind, members: {**members, "type": kind},
    st.sampled_from([*KINDS, "nonsense"]),
    st.dictionaries(st.sampled_from(WORDS), JSON, max_size=4),
)
CONTENT = st.text(max_size=4) | st.lists(st.one_of(SOUND, SOUND, BROKEN), max_size=4) | JSON
MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": CONTENT})
SCHEMA = st.fixed_dictionaries({"type": st.just("object")}, optional={"properties": JSON, "anyOf": JSON})
MADE = st.fixed_dictionaries({"name": NAMES, "input_schema": SCHEMA | JSON}, optional={"type": JSON})
BODIES = st.fixed_dictionaries(
    {"model": st.just(MODEL), "max_tokens": st.just(4096), "messages": st.lists(MESSAGE, max_size=5) | JSON},
    optional={
        "tools": st.lists(MADE | JSON, max_size=2),
        "thinking": st.sampled_from([{"type": "adaptive"}, THINK["thinking"]]) | JSON,
        **dict.fromkeys(("tool_choice", "system", "metadata", "stop_sequences", "stream", "bogus"), JSON),
    },
)


@pytest.mark.parametrize("profile", ["preserved", "older"])
@given(body=BODIES)
@examples(80)
def test_nonsense_gets_an_answer(profile: Any, body: Json) -> None:
    emulator = Emulator(anthropic=profile)
    answer = emulator.messages.create(msgspec.json.encode(body), HEADERS)
    if isinstance(answer, Answer):
        assert list(answer.frames()) if answer.streamed else answer.whole()
    else:
        assert 400 <= answer.status < 500
        assert msgspec.json.decode(answer.body)["error"].keys() == {"type", "message"}


@pytest.mark.parametrize("depth", [200, 400, 600, 900, 5000, 100_000])
def test_deep_nesting_gets_an_answer(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    raw = b'{"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "go"}, '
    raw += b'{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": {"a": '
    raw += deep + b'}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]}'
    emulator = Emulator([{"output": [{"type": "reasoning", "summary": "x"}]}], anthropic="preserved")
    answer = emulator.messages.create(raw, HEADERS)
    assert isinstance(answer, Answer) or answer.status == 400


ITEM = st.one_of(
    st.builds(lambda n: call(name=f"tool_{n}"), st.integers(0, 3)),
    st.just({"type": "message", "text": "hi"}),
    st.just({"type": "reasoning", "summary": ["x"]}),
    st.just({"type": "reasoning", "summary": ["x"], "redacted": True}),
    st.just({"type": "web_search_call", "action": {"query": "tea"}}),
)
TURNS = st.lists(st.lists(ITEM, min_size=1, max_size=4), min_size=1, max_size=5)


@pytest.mark.parametrize("profile", ["preserved", "older"])
@given(turns=TURNS)
@examples(25)
def test_a_client_that_keeps_the_rules_is_never_refused(profile: Any, turns: list[list[Json]]) -> None:
    """It sends each message back as it came, its results first, and then goes on."""
    emulator = Emulator([{"output": items} for items in turns], anthropic=profile)
    messages = [user("go")]
    for number in range(len(turns)):
        content = reply(emulator, *messages, thinking={"type": "adaptive"}, tools=[TOOL])["content"]
        results = [result(block["id"]) for block in content if block["type"] == "tool_use"]
        text = ["and?"] if number % 2 or not results else []
        messages += [assistant(*content), user(*results, *text)]
    assert emulator.refusals == []
