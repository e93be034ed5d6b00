"""Thinking comes back where the API wants it, and whole; server tools come back as they were, or are told."""

import msgspec
import pytest

from agui_gate.adapter import AssistantTurn, ReasoningPart, SettledCall, TextPart
from tests.adapters.support import Json, assistant, call, user

from .planning import DONE, LOOP, ORIGIN, messages, ours, planned, seal, searched, thought, types
from .support import ADAPTIVE, ENABLED

# --- thinking -----------------------------------------------------------------------------------------------------


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
    assert made[1]["content"][0]["text"].endswith(": ok]")


def test_a_repeated_server_tool_id_is_told() -> None:
    made = messages(user("hi"), ours(searched()), user("And?", "u2"), ours(searched(), turn_id="t2"), user("?", "u3"))
    assert [types(message) for message in made[1::2]] == [["server_tool_use", "web_search_tool_result"], ["text"]]
