"""Two properties: nonsense is refused, never crashed on; and a client that keeps the rules is never refused."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.kinds import KINDS
from agui_gate_adapters.testkit.responses.exchange import Exchange
from tests.support.chance import examples
from tests.testkit.driving import MODEL, answer, output, user

WORDS = sorted({name for kind in KINDS.values() for name in kind.members})
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 10**6), st.floats(allow_nan=False), st.text(max_size=8))
TEXTS = st.sampled_from(["rs_1", "fc_1", "call_a", "function", "user", "assistant", "input_text", "output_text", "_"])
JSON = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=8,
)
ITEMS = st.builds(
    lambda kind, members: {**members, "type": kind},
    st.sampled_from([*KINDS, "nonsense"]),
    st.dictionaries(st.sampled_from(WORDS), JSON, max_size=5),
)
TOOLS = st.builds(
    lambda name, schema: {"type": "function", "name": name, "parameters": {"type": "object", "properties": schema}},
    st.sampled_from(["refund", "_", "search_orders"]) | JSON,
    st.dictionaries(st.sampled_from(WORDS), JSON, max_size=3) | JSON,
)
FREE = ("previous_response_id", "include", "metadata", "store", "tool_choice", "reasoning", "stream")
BODIES = st.fixed_dictionaries(
    {"model": st.just(MODEL) | JSON, "input": st.text(max_size=20) | st.lists(ITEMS | JSON, max_size=4) | JSON},
    optional=dict.fromkeys(FREE, JSON)
    | {"tools": st.lists(TOOLS | JSON, max_size=2), "conversation": JSON, "stream_options": JSON, "bogus": JSON},
)


@pytest.mark.parametrize("profile", ["openai", "foundry", "compat_lenient"])
@given(body=BODIES)
@examples(37)
def test_nonsense_gets_an_answer(profile: Any, body: dict[str, Any]) -> None:
    emulator = Emulator(profile=profile)
    reply = emulator.create(msgspec.json.encode(body))
    if isinstance(reply, Exchange):
        reply.finish()
    else:
        assert 400 <= reply.status < 500
        assert set(msgspec.json.decode(reply.body)["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"model": "m", "input": ' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_deep_nesting_is_refused(raw: bytes) -> None:
    reply = Emulator().create(raw)
    assert not isinstance(reply, Exchange)
    assert reply.status == 400


CALL = st.builds(lambda n: {"type": "function_call", "name": "refund", "call_id": f"call_{n}"}, st.integers(0, 3))
ITEM = st.one_of(CALL, st.just({"type": "message", "text": "hi"}), st.just({"type": "reasoning", "summary": ["x"]}))
TURNS = st.lists(st.lists(ITEM, min_size=1, max_size=4), min_size=1, max_size=5)


@pytest.mark.parametrize("mode", ["chain", "conversation", "stateless"])
@given(turns=TURNS)
@examples(40)
def test_a_client_that_keeps_the_rules_is_never_refused(mode: str, turns: list[list[dict[str, Any]]]) -> None:
    """Repeated call ids within a turn are answered once, across turns each time."""
    emulator = Emulator([{"output": items} for items in turns])
    history: list[dict[str, Any]] = []
    fresh: list[dict[str, Any]] = [user("go")]
    body: dict[str, Any] = {}
    if mode == "stateless":
        body = {"store": False, "include": ["reasoning.encrypted_content"]}
    if mode == "conversation":
        body = {"conversation": _conversation(emulator)}
    for _ in turns:
        history += fresh
        response = answer(emulator, **body, input=history if mode == "stateless" else fresh)
        if mode == "chain":
            body = {"previous_response_id": response["id"]}
        history += response["output"]
        open_calls = {item["call_id"]: None for item in response["output"] if item["type"] == "function_call"}
        fresh = [*(output(call_id) for call_id in open_calls), user("next")]
    assert emulator.refusals == []


def _conversation(emulator: Emulator) -> str:
    from agui_gate_adapters.testkit.responses.state import Conversation

    conversation = Conversation(emulator.state.mint("conv_"), 0.0, {}, [])
    emulator.state.conversations[conversation.id] = conversation
    return conversation.id
