"""A7, A8, A9: thinking comes back as it was issued, in the tool loop that it belongs to; and preserved thinking."""

from typing import Any

import msgspec
import pytest

from agui_gate_adapters.testkit import Emulator
from tests.testkit.anthropic_driving import (
    THINK,
    TOOL,
    Json,
    assistant,
    call,
    refusal,
    reply,
    result,
    say,
    use,
    user,
)

GO = user("go")
REASONING: Json = {"type": "reasoning", "summary": ["The order", "exists."]}
REDACTED: Json = {**REASONING, "redacted": True}
ADAPTIVE: Json = {"thinking": {"type": "adaptive"}}

MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
FIRST = (
    "Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final `assistant` "
    "message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). "
    "We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. "
    "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)
BAD = "Invalid `signature` in `thinking` block"


def issued(*items: Json, **body: Any) -> tuple[Emulator, list[Json]]:
    """An emulator whose first answer had these items, and the content of that answer."""
    emulator = Emulator([{"output": list(items)}, {**say("next"), "repeat": True}])
    return emulator, reply(emulator, GO, **{**THINK, "tools": [TOOL], **body})["content"]


def again(emulator: Emulator, *content: Json, **body: Any) -> str:
    """The refusal of the next request in the tool loop."""
    calls = [result(block["id"]) for block in content if block["type"] == "tool_use"]
    return refusal(emulator, GO, assistant(*content), user(*calls), **{**THINK, "tools": [TOOL], **body})


def accepted(emulator: Emulator, *messages: Json, **body: Any) -> Json:
    return reply(emulator, *messages, **{**THINK, "tools": [TOOL], **body})


# -- the legal way -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [THINK, ADAPTIVE])
def test_blocks_go_back_as_they_came(mode: Json) -> None:
    loop = {"output": [REASONING, REDACTED, call()]}
    emulator = Emulator([loop, {"output": [REASONING, call()]}, {"output": [call()]}, say("done")])
    messages = [GO]
    for _ in range(3):
        content = accepted(emulator, *messages, **mode)["content"]
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        messages += [assistant(*content), user(*map(result, calls))]
    assert [block["type"] for block in messages[1]["content"]] == ["thinking", "redacted_thinking", "tool_use"]
    assert messages[1]["content"][0]["thinking"] == "The order\n\nexists."
    assert accepted(emulator, *messages, **mode)["stop_reason"] == "end_turn"


def test_signatures_are_repeatable_and_differ() -> None:
    def signatures() -> list[str]:
        return [block["signature"] for block in issued(REASONING, REASONING, call())[1][:2]]

    assert signatures() == signatures()
    assert len(set(signatures())) == 2


def test_reasoning_is_left_out_for_requests_that_do_not_think() -> None:
    assert [block["type"] for block in issued(REASONING, call(), thinking={"type": "disabled"})[1]] == ["tool_use"]
    emulator = Emulator([{"output": [REASONING, call()]}])
    assert [block["type"] for block in reply(emulator, GO)["content"]] == ["tool_use"]


def test_omitted_thinking_is_signed_and_goes_back_empty() -> None:
    omitted: Json = {"thinking": {"type": "adaptive", "display": "omitted"}}
    emulator, content = issued(REASONING, call("toolu_a"), **omitted)
    assert content[0]["thinking"] == ""
    accepted(emulator, GO, assistant(*content), user(result("toolu_a")), **omitted)


def test_a_finished_turn_may_leave_its_thinking_out() -> None:
    emulator, content = issued(REASONING, {"type": "message", "text": "Hello."})
    accepted(emulator, GO, assistant(*content), user("more"))
    accepted(emulator, GO, assistant(content[1]), user("more"))


def test_blocks_are_not_looked_at_without_thinking() -> None:
    emulator, content = issued(REASONING, call("toolu_a"))
    foreign = {"type": "thinking", "thinking": "x", "signature": "x"}
    for blocks in (content[1:], [foreign, content[1]]):
        reply(emulator, GO, assistant(*blocks), user(result("toolu_a")), tools=[TOOL])


# -- A7 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [{}, ADAPTIVE])
def test_a7_thinking_lost_inside_the_loop(mode: Json) -> None:
    emulator, content = issued(REASONING, call(), **mode)
    assert again(emulator, content[1], **mode) == "messages.1.content.0.type: " + FIRST.format("tool_use")
    assert [entry.rule for entry in emulator.refusals] == ["A7"]


def test_a7_names_the_message_that_began_the_loop() -> None:
    emulator = Emulator(
        [say("hi"), {"output": [REASONING, {"type": "message", "text": "x"}, call("toolu_a")]}, say("")]
    )
    before = [GO, assistant(*accepted(emulator, GO)["content"]), user("more")]
    content = accepted(emulator, *before)["content"]
    loop = [
        *before,
        assistant(*content[1:]),
        user(result("toolu_a")),
        assistant(use("toolu_b")),
        user(result("toolu_b")),
    ]
    expected = "messages.3.content.0.type: " + FIRST.format("text")
    assert refusal(emulator, *loop, **THINK, tools=[TOOL]) == expected


def test_a7_another_providers_call_needs_thinking_only_when_it_is_manual() -> None:
    emulator, _ = issued(REASONING)
    foreign = [GO, assistant(use("call_1")), user(result("call_1"))]
    assert refusal(emulator, *foreign, **THINK).startswith("messages.1.content.0.type: Expected `thinking`")
    accepted(emulator, *foreign, **ADAPTIVE)
    accepted(emulator, *foreign, assistant("done"), user("more"))


# -- A8 ----------------------------------------------------------------------------------------------------------


def test_a8_edited_reordered_merged_lost_doubled() -> None:
    emulator, content = issued(REASONING, REASONING, call(), REDACTED, call())
    first, second, use_a, hidden, use_b = content
    edited = {**first, "thinking": "Something else."}
    assert again(emulator, edited, second, use_a, hidden, use_b) == f"messages.1.content.0: {MODIFIED}"
    assert again(emulator, second, first, use_a, hidden, use_b) == f"messages.1.content.1: {MODIFIED}"
    merged = {**first, "thinking": first["thinking"] + second["thinking"]}
    assert again(emulator, merged, use_a, hidden, use_b) == f"messages.1.content.0: {MODIFIED}"
    assert again(emulator, first, use_a, hidden, use_b) == f"messages.1.content.1: {MODIFIED}"
    assert again(emulator, first, second, use_a, use_b) == f"messages.1.content.3: {MODIFIED}"
    assert again(emulator, first, first, second, use_a, hidden, use_b) == f"messages.1.content.1: {MODIFIED}"
    assert again(emulator, first, second, use_a, use_b, hidden) == f"messages.1.content.4: {MODIFIED}"
    assert {entry.rule for entry in emulator.refusals} == {"A8"}
    accepted(emulator, GO, assistant(*content), user(result(use_a["id"]), result(use_b["id"])))


def test_a8_half_of_the_thinking_of_a_finished_turn() -> None:
    emulator, content = issued(REASONING, REASONING, {"type": "message", "text": "Hello."})
    messages = [GO, assistant(content[0], content[2]), user("more")]
    assert refusal(emulator, *messages, **THINK) == f"messages.1.content.1: {MODIFIED}"


def test_a8_is_about_the_latest_message_only() -> None:
    emulator, content = issued(REASONING, call("toolu_a"))
    loop = [GO, assistant(*content), user(result("toolu_a"))]
    second = accepted(emulator, *loop)["content"]
    accepted(emulator, GO, assistant(content[1]), user(result("toolu_a")), assistant(*second), user("more"))


# -- A9 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signature", ["", "EqQBCkYIBxgCKkA", "not base64 at all!", "A" * 200])
def test_a9_foreign_signatures(signature: str) -> None:
    emulator, content = issued(REASONING, call())
    foreign = {"type": "thinking", "thinking": "The order exists.", "signature": signature}
    finished = [GO, assistant(foreign, "Hello."), user("more")]
    assert refusal(emulator, *finished, **THINK) == f"messages.1.content.0: {BAD}"
    assert again(emulator, foreign, use("call_other")) == f"messages.1.content.0: {BAD}"
    assert {entry.rule for entry in emulator.refusals} == {"A9"}
    assert content


def test_a9_a_lost_signature_and_foreign_data() -> None:
    emulator, content = issued(REASONING, REDACTED, call())
    lost = {"type": "thinking", "thinking": content[0]["thinking"]}
    assert again(emulator, lost, *content[1:]) == "messages.1.content.0.thinking.signature: Field required"
    foreign = {"type": "redacted_thinking", "data": "EmwKAhgB"}
    text = refusal(emulator, GO, assistant(foreign, "Hello."), user("more"), **THINK)
    assert text == "messages.1.content.0: Invalid `data` in `redacted_thinking` block"
    assert [entry.rule for entry in emulator.refusals] == ["A9", "A9"]


def test_a9_an_edited_text_further_back() -> None:
    emulator, content = issued(REASONING, {"type": "message", "text": "Hello."})
    edited = [{**content[0], "thinking": "Else."}, content[1]]
    messages = [GO, assistant(*edited), user("more"), assistant("Yes."), user("and")]
    assert refusal(emulator, *messages, **THINK) == f"messages.1.content.0: {BAD}"


def test_signatures_outlive_what_is_remembered() -> None:
    emulator, content = issued(REASONING, REASONING, call("toolu_a"))
    emulator.reset()
    accepted(emulator, GO, assistant(*content), user(result("toolu_a")))
    edited = {**content[0], "thinking": "Else."}
    assert again(emulator, edited, *content[1:]) == f"messages.1.content.0: {BAD}"


# -- preserved thinking ------------------------------------------------------------------------------------------

BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires '
    "the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)


def preserved() -> tuple[Emulator, list[Json]]:
    emulator = Emulator(
        [{"output": [REASONING, call("toolu_a")]}, {**say("next"), "repeat": True}], anthropic="preserved"
    )
    return emulator, reply(emulator, GO, system="You help.", tools=[TOOL])["content"]


def test_preserved_thinking_needs_the_same_conversation_before_it() -> None:
    emulator, content = preserved()
    rest = [assistant(*content), user(result("toolu_a"))]
    given: Json = {"system": "You help.", "tools": [TOOL]}
    assert refusal(emulator, GO, *rest, **{**given, "system": "You help. It is Monday."}) == BOUND
    assert refusal(emulator, GO, *rest, **{**given, "tools": [{**TOOL, "description": "Refunds."}]}) == BOUND
    assert refusal(emulator, user("go!"), *rest, **given) == BOUND
    marked = {"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}
    reply(emulator, user(marked), *rest, **given)
    done = reply(emulator, GO, *rest, **given)["content"]
    reply(emulator, GO, *rest, assistant(*done), user("more"), **given)


def test_preserved_thinking_may_lose_its_beginning_but_nothing_in_between() -> None:
    thoughts = {"output": [REASONING, {"type": "message", "text": "So."}], "repeat": True}
    emulator = Emulator([thoughts], anthropic="preserved")
    messages = [GO]
    for _ in range(3):
        messages += [assistant(*reply(emulator, *messages)["content"]), user("more")]
    first, second = messages[1], messages[3]
    reply(emulator, GO, assistant(first["content"][1]), *messages[2:])
    gap = [*messages[:3], assistant(second["content"][1]), *messages[4:]]
    assert refusal(emulator, *gap).startswith(
        "messages.5.content.0: Invalid `signature` in `thinking` block. The block"
    )


def test_preserved_thinking_can_be_dropped_with_the_beta() -> None:
    emulator, content = preserved()
    messages = [user("other"), assistant(*content), user(result("toolu_a"))]
    drop = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert refusal(emulator, *messages, thinking=drop) == (
        "thinking.adaptive.block_binding: Extra inputs are not permitted"
    )
    reply(emulator, *messages, thinking=drop, headers={"anthropic-beta": "thinking-binding-controls-2026-08-01"})


def test_a_switch_by_itself() -> None:
    emulator, _ = preserved()
    emulator.messages.profile = msgspec.structs.replace(emulator.messages.profile, preserved_thinking=False)
    content = reply(emulator, GO)["content"]
    reply(emulator, user("other"), assistant(*content), user("more"))
