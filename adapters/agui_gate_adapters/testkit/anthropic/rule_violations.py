"""The errors of the rules about what belongs together: calls and results (A1 to A5), thinking (A7 to A9), the end.

`index` is that of a message, `where` the path of a block; both as the profile counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agui_gate_adapters.testkit.anthropic.violations import refused
from agui_gate_adapters.testkit.violations import Violation

__all__ = [
    "bad_data",
    "bad_signature",
    "late_results",
    "lost_server_result",
    "orphan_result",
    "orphan_server_result",
    "other_conversation",
    "prefill",
    "repeated_id",
    "second_result",
    "thinking_first",
    "thinking_modified",
    "trailing_space",
    "without_result",
]

_THINKING_DOCS: Final = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


# -- calls and results -------------------------------------------------------------------------------------------


def without_result(index: int, ids: Sequence[str], rule: str = "A1") -> Violation:
    """A1: calls that the next message does not answer; `index` is the assistant message."""
    message = (
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    return refused(rule, message)


def late_results(index: int, count: int) -> Violation:
    """A5: results that other blocks come before; `index` is the user message."""
    message = (
        f"messages.{index}: Did not find {count} `tool_result` block(s) at the beginning of this message. Messages "
        "following `tool_use` blocks must begin with a matching number of `tool_result` blocks."
    )
    return refused("A5", message)


def orphan_result(where: str, tool_use_id: str) -> Violation:
    """A2: a result whose call is not in the message before."""
    message = (
        f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {tool_use_id}. Each `tool_result` block "
        "must have a corresponding `tool_use` block in the previous message."
    )
    return refused("A2", message)


def repeated_id(where: str) -> Violation:
    """A3: a call id that the request has already used, in whichever message."""
    return refused("A3", f"{where}: `tool_use` ids must be unique")


def second_result(where: str, tool_use_id: str) -> Violation:
    """A4: two results for one call."""
    text = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
    return refused("A4", f"{where}: {text}: {tool_use_id}")


def orphan_server_result(where: str, kind: str, tool_use_id: str) -> Violation:
    """A server tool's result without its call before it in the same message. Inferred."""
    message = (
        f"{where}: unexpected `tool_use_id` found in `{kind}` blocks: {tool_use_id}. Each `{kind}` block must have a "
        "corresponding `server_tool_use` block before it."
    )
    return refused("server_tool", message)


def lost_server_result(index: int, name: str, tool_use_id: str) -> Violation:
    """A server tool's call whose result was left out. Inferred."""
    message = (
        f"messages.{index}: `{name}` tool use with id `{tool_use_id}` was found without a corresponding "
        f"`{name}_tool_result` block"
    )
    return refused("server_tool", message)


# -- thinking ----------------------------------------------------------------------------------------------------


def thinking_first(where: str, found: str) -> Violation:
    """A7: the tool loop's assistant message has lost the thinking it began with."""
    message = (
        f"{where}.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, "
        "a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
        "`tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
        f"requirement, disable `thinking`. Please consult our documentation at {_THINKING_DOCS}"
    )
    return refused("A7", message)


def thinking_modified(where: str) -> Violation:
    """A8: blocks of the latest assistant message that are not as they were issued."""
    message = (
        f"{where}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
        "These blocks must remain as they were in the original response."
    )
    return refused("A8", message)


def bad_signature(where: str) -> Violation:
    """A9: a signature that this provider did not make, or not for this text."""
    return refused("A9", f"{where}: Invalid `signature` in `thinking` block")


def bad_data(where: str) -> Violation:
    """A9 for a redacted block."""
    return refused("A9", f"{where}: Invalid `data` in `redacted_thinking` block")


def other_conversation(where: str) -> Violation:
    """A9 for preserved thinking: what comes before the block has changed since."""
    message = (
        f"{where}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the "
        'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
        "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
    )
    return refused("A9", message)


# -- the end of the conversation ---------------------------------------------------------------------------------


def prefill() -> Violation:
    """A10: the last message is the assistant's."""
    message = "This model does not support assistant message prefill. The conversation must end with a user message."
    return refused("A10", message)


def trailing_space() -> Violation:
    """A10 for models that can be prefilled. As in crewAIInc/crewAI#4413."""
    return refused("A10", "messages: final assistant content cannot end with trailing whitespace")
