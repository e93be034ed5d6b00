"""Which blocks a message may have, and which call belongs to which result (A1 to A5, A12, server tools).

Words that no numbered rule of `docs/wire-rules.md` has are inferred, in the form of those that were reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.anthropic import rule_violations as rv
from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.message_merge import Block, Merged
from agui_gate_adapters.testkit.anthropic.profiles import AnthropicProfile
from agui_gate_adapters.testkit.anthropic.shapes import SERVER_RESULTS
from agui_gate_adapters.testkit.violations import Violation

__all__ = ["check_contents", "check_pairs", "check_places", "check_server_tools", "check_unique"]

_ASSISTANT_ONLY: Final = ("tool_use", "thinking", "redacted_thinking", "server_tool_use")
_USER_ONLY: Final = ("tool_result", "image", "document")


def check_contents(messages: list[Merged], profile: AnthropicProfile) -> Iterator[Violation]:
    """A12: there is a message, and none is empty."""
    if not messages:
        yield v.no_messages()
    elif profile.first_message_user and messages[0].role != "user":
        yield v.refused("A12", 'messages: first message must use the "user" role')
    for number, message in enumerate(messages):
        if not message.blocks and not (message.role == "assistant" and number == len(messages) - 1):
            yield v.empty_message(message.index, message.role)


def check_places(messages: list[Merged], *, latest: bool) -> Iterator[Violation]:
    """Check that each block is in a message of its role. `latest`: the API's version is 2026-10-21 or newer."""
    for message in messages:
        users = message.role == "user"
        for block in message.of_kind(*(_ASSISTANT_ONLY if users else _USER_ONLY)):
            if latest or block.kind != "document":
                yield v.misplaced(message.index, block.kind, "assistant" if users else "user")
        for block in message.of_kind("tool_result"):
            if block.value.get("is_error") and not block.value.get("content"):
                yield v.wrong(f"{block.where}.tool_result", "content cannot be empty if `is_error` is true")
        for block in message.of_kind("text") if latest and users else ():
            if block.value.get("citations"):
                yield v.unknown_member(f"{block.where}.text.citations")


def check_unique(messages: list[Merged]) -> Iterator[Violation]:
    """A3: a call's id is used once in the whole request."""
    seen: set[str] = set()
    for message in messages:
        for block in message.of_kind("tool_use", "server_tool_use"):
            if block.value["id"] in seen:
                yield rv.repeated_id(block.where)
            seen.add(block.value["id"])


def check_pairs(messages: list[Merged], profile: AnthropicProfile) -> Iterator[Violation]:
    """A1, A5 for each assistant message, then A4, A2 for the user message after it."""
    calls: list[str] = []
    for number, message in enumerate(messages):
        if message.role == "assistant":
            calls = [block.value["id"] for block in message.of_kind("tool_use")]
            after = messages[number + 1] if number + 1 < len(messages) else None
            yield from _check_answered(message, calls, after, profile)
        else:
            yield from _check_results(message, calls)
            calls = []


def _check_answered(
    message: Merged, calls: list[str], after: Merged | None, profile: AnthropicProfile
) -> Iterator[Violation]:
    results = [] if after is None else after.of_kind("tool_result")
    answered = {block.value["tool_use_id"] for block in results}
    missing = [call for call in calls if call not in answered]
    if missing:
        yield rv.without_result(message.index, missing)
    elif after is not None and (late := _late(after, calls)):
        late_ids = list(dict.fromkeys(block.value["tool_use_id"] for block in late))
        if profile.late_results_are_missing:
            yield rv.without_result(message.index, late_ids, rule="A5")
        else:
            yield rv.late_results(after.index, len(late_ids))


def _late(after: Merged, calls: list[str]) -> list[Block]:
    """Return the results that come after the first block of another kind."""
    first = next((n for n, block in enumerate(after.blocks) if block.kind != "tool_result"), len(after.blocks))
    return [b for b in after.blocks[first:] if b.kind == "tool_result" and b.value["tool_use_id"] in calls]


def _check_results(message: Merged, calls: list[str]) -> Iterator[Violation]:
    results = message.of_kind("tool_result")
    seen: set[str] = set()
    for block in results:
        if block.value["tool_use_id"] in seen:
            yield rv.second_result(block.where, block.value["tool_use_id"])
        seen.add(block.value["tool_use_id"])
    for block in results:
        if block.value["tool_use_id"] not in calls:
            yield rv.orphan_result(block.where, block.value["tool_use_id"])


def check_server_tools(messages: list[Merged]) -> Iterator[Violation]:
    """A server tool's result is in the message of its call, after it; only a paused turn has no result yet."""
    for number, message in enumerate(messages):
        if message.role != "assistant":
            continue
        open_calls: dict[str, str] = {}
        for block in message.blocks:
            if block.kind == "server_tool_use":
                open_calls[block.value["id"]] = str(block.value["name"])
            elif block.kind in SERVER_RESULTS and open_calls.pop(block.value["tool_use_id"], None) is None:
                yield rv.orphan_server_result(block.where, block.kind, block.value["tool_use_id"])
        if number < len(messages) - 1:
            for call_id, name in open_calls.items():
                yield rv.lost_server_result(message.index, name, call_id)
