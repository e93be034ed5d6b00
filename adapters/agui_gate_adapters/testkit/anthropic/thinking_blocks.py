"""Thinking blocks that come back (A7, A8, A9) and the settings that thinking excludes.

Held only against requests that think: for the others the API leaves the blocks out.

Words that no numbered rule of `docs/wire-rules.md` has are inferred, in the form of those that were reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.anthropic import violations as rv
from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.messages import Block, Merged
from agui_gate_adapters.testkit.anthropic.profiles import AnthropicProfile
from agui_gate_adapters.testkit.anthropic.signatures import Issued, Record, Signed, digest, prefix_digest, unsign
from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.wire import Json

BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
_ADAPTIVE_ONLY: Final = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" '
    "to control thinking behavior."
)
_DOCS: Final = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


def mode_of(body: Json, profile: AnthropicProfile) -> str | None:
    """Return how the request thinks: `enabled`, `adaptive`, `between_tools`, or None."""
    given = body.get("thinking")
    if given is None:
        return "adaptive" if profile.thinking_by_default else None
    return None if given["type"] == "disabled" else str(given["type"])


def check_settings(body: Json, profile: AnthropicProfile, betas: frozenset[str]) -> Iterator[Violation]:
    """Check that the model thinks like that, and what thinking excludes: a small `max_tokens`, a forced tool."""
    given = body.get("thinking") or {}
    if "block_binding" in given and BINDING_BETA not in betas:
        yield v.unknown_member(f"thinking.{given['type']}.block_binding")
    if given.get("type") not in ("enabled", "adaptive"):
        return
    if given["type"] == "enabled" and not profile.manual_thinking:
        yield v.refused("thinking", _ADAPTIVE_ONLY)
    if given.get("budget_tokens", 0) >= body.get("max_tokens", float("inf")):
        yield v.refused("thinking", f"`max_tokens` must be greater than `thinking.budget_tokens`. {_DOCS}")
    if body.get("temperature", 1) != 1:
        yield v.refused("thinking", f"`temperature` may only be set to 1 when thinking is enabled. {_DOCS}")
    if given["type"] == "enabled" and (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield v.refused("thinking", "Thinking may not be enabled when tool_choice forces tool use.")


def check_blocks(messages: list[Merged], body: Json, profile: AnthropicProfile, record: Record) -> Iterator[Violation]:
    """Check A7, A8, A9 in this order."""
    mode = mode_of(body, profile)
    if mode is None:
        return
    answers = [number for number, message in enumerate(messages) if message.role == "assistant"]
    if answers:
        loops = bool(messages[-1].of_kind("tool_result")) or answers[-1] == len(messages) - 1
        if loops:
            yield from _check_head(messages[_head(messages, answers[-1])], mode, record)
        yield from _check_latest(messages[answers[-1]], record, loops=loops)
    yield from _check_signatures(messages, body, profile)


# -- A7 ----------------------------------------------------------------------------------------------------------


def _head(messages: list[Merged], last: int) -> int:
    """Return the index of the assistant message that began the tool loop which is still open."""
    while last >= 2 and all(block.kind == "tool_result" for block in messages[last - 1].blocks):
        last -= 2
    return last


def _check_head(head: Merged, mode: str, record: Record) -> Iterator[Violation]:
    """Checks A7: an own message must begin with thinking if it did; a foreign one, if thinking is manual."""
    if not head.of_kind("tool_use") or head.blocks[0].thinks:
        return
    ours = record.called_in(head)
    if all(issued.thought_first for issued in ours) if ours else mode == "enabled":
        yield rv.thinking_first(head.blocks[0].where, head.blocks[0].kind)


# -- A8 ----------------------------------------------------------------------------------------------------------


def _check_latest(message: Merged, record: Record, *, loops: bool) -> Iterator[Violation]:
    known = record.thought_in(message)
    if loops and not known and len(called := record.called_in(message)) == 1:
        known = called
    for issued in known:
        yield from _compare(message, issued, complete=loops)


def _compare(message: Merged, issued: Issued, *, complete: bool) -> Iterator[Violation]:
    """Compare with what was issued: same blocks, same order; in a finished turn, all thinking may be left out."""
    before, seen = -1, set[int]()
    for block in message.blocks:
        at = issued.position(block)
        if at is None:
            continue
        if block.thinks:
            if at < before or at in seen or issued.content[at] != block.value:
                yield rv.thinking_modified(block.where)
                return
            seen.add(at)
        before = max(before, at)
    lost = [n for n, block in enumerate(issued.content) if Block(block, "").thinks and n not in seen]
    if lost and (complete or seen):
        yield rv.thinking_modified(_where_missing(message, issued, lost[0]))


def _where_missing(message: Merged, issued: Issued, lost: int) -> str:
    """Return the path of the block that is now where the lost one was."""
    later = (b.where for b in message.blocks if (at := issued.position(b)) is not None and at > lost)
    return next(later, message.blocks[-1].where)


# -- A9 ----------------------------------------------------------------------------------------------------------


def _check_signatures(messages: list[Merged], body: Json, profile: AnthropicProfile) -> Iterator[Violation]:
    before: list[tuple[str, Json]] = []
    previous = ""
    binding = (body.get("thinking") or {}).get("block_binding") or {}
    bound = profile.preserved_thinking and binding.get("prefix_mismatch_behavior") != "drop_block"
    for message in messages:
        for block in message.blocks:
            if block.thinks and message.role == "assistant":
                signature = str(block.value.get("signature", block.value.get("data")))
                signed = unsign(signature)
                if not _is_genuine(block, signed):
                    yield rv.bad_signature(block.where) if block.kind == "thinking" else rv.bad_data(block.where)
                elif bound and signed is not None and not _fits(signed, body, before, previous):
                    yield rv.other_conversation(block.where)
                previous = digest(signature)
            before.append((message.role, block.value))


def _is_genuine(block: Block, signed: Signed | None) -> bool:
    if signed is None:
        return False
    return block.kind == "redacted_thinking" or signed.text == digest(block.value["thinking"])


def _fits(signed: Signed, body: Json, before: list[tuple[str, Json]], previous: str) -> bool:
    """Say whether a block stands behind the conversation it was made in; leading thinking may have been left out."""
    return previous in ("", signed.after) and signed.prefix == prefix_digest(body, before)
