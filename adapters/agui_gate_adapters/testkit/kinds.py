"""The kinds of input items: their members, their id prefixes, and which call pairs with which output.

One table, read by the shape checks, the pairing checks and the state. A call that the client has to answer names its
`answer`; the label is how error messages call it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from agui_gate_adapters.testkit.wire import Json


class Kind(msgspec.Struct, frozen=True):
    """One `type` of item."""

    type: str
    members: frozenset[str]
    required: tuple[str, ...] = ()
    id_prefix: str = ""
    """Checked on input for messages, function calls and reasoning; for minting it is used for all."""
    answer: str | None = None
    """For calls the client executes: the type of the output item."""
    answers: str | None = None
    """For outputs: the type of the call."""
    label: str = ""


def _kind(
    kind: str, members: str, prefix: str, *, answer: str | None = None, answers: str | None = None, label: str = ""
) -> Kind:
    """Build a table row; members marked with `!` are required."""
    names = members.split()
    required = tuple(name[:-1] for name in names if name.endswith("!"))
    everything = frozenset(name.rstrip("!") for name in names) | {"id", "type"}
    return Kind(kind, everything, required, prefix, answer, answers, label)


_ROWS: Final = (
    _kind("message", "role! content! status phase", "msg"),
    _kind("reasoning", "summary! content encrypted_content", "rs"),
    _kind(
        "function_call",
        "call_id! name! arguments! status async caller",
        "fc",
        answer="function_call_output",
        label="function call",
    ),
    _kind(
        "function_call_output",
        "call_id! output! status caller",
        "fc",
        answers="function_call",
        label="function call",
    ),
    _kind(
        "custom_tool_call",
        "call_id! name! input! status async caller",
        "ctc",
        answer="custom_tool_call_output",
        label="custom tool call",
    ),
    _kind("custom_tool_call_output", "call_id! output! status caller", "ctc", answers="custom_tool_call"),
    _kind(
        "local_shell_call",
        "call_id! action! status",
        "lsh",
        answer="local_shell_call_output",
        label="local shell call",
    ),
    _kind("local_shell_call_output", "output! status", "", answers="local_shell_call"),
    _kind(
        "shell_call",
        "call_id! action! status environment caller",
        "sh",
        answer="shell_call_output",
        label="shell call",
    ),
    _kind("shell_call_output", "call_id! output! status max_output_length caller", "sho", answers="shell_call"),
    _kind(
        "apply_patch_call",
        "call_id! operation! status caller",
        "apc",
        answer="apply_patch_call_output",
        label="apply patch call",
    ),
    _kind("apply_patch_call_output", "call_id! status! output caller", "apco", answers="apply_patch_call"),
    _kind(
        "computer_call",
        "call_id! action actions pending_safety_checks status",
        "cu",
        answer="computer_call_output",
        label="computer call",
    ),
    _kind("computer_call_output", "call_id! output! acknowledged_safety_checks status", "cuo", answers="computer_call"),
    _kind(
        "tool_search_call",
        "call_id arguments! execution status",
        "tsc",
        answer="tool_search_output",
        label="tool search call",
    ),
    _kind("tool_search_output", "call_id tools! execution status", "tso", answers="tool_search_call"),
    _kind("file_search_call", "queries status results", "fs"),
    _kind("web_search_call", "status action", "ws"),
    _kind("code_interpreter_call", "code container_id outputs status", "ci"),
    _kind("image_generation_call", "result status revised_prompt output_format quality size background action", "ig"),
    _kind("mcp_list_tools", "server_label! tools! error", "mcpl"),
    _kind("mcp_approval_request", "server_label! name! arguments!", "mcpr"),
    _kind("mcp_approval_response", "approval_request_id! approve! reason", "mcpa"),
    _kind("mcp_call", "server_label! name! arguments! approval_request_id output error status", "mcp"),
    _kind("compaction", "encrypted_content!", "cmp"),
    _kind("item_reference", "", ""),
)

KINDS: Final[dict[str, Kind]] = {row.type: row for row in _ROWS}

HOSTED: Final = frozenset(
    {
        "file_search_call",
        "web_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_list_tools",
        "mcp_call",
    }
)
"""Items that are complete in themselves and that are replayed by id only."""


def kind_of(item: Json) -> str:
    """Return the item's type; an item that has only a role is a message."""
    return str(item.get("type") or "message")


def awaits_output(item: Json) -> Kind | None:
    """Return the row of a call that the client has to answer, else None."""
    row = KINDS.get(kind_of(item))
    if row is None or row.answer is None:
        return None
    if row.type == "tool_search_call" and item.get("execution") != "client":
        return None  # The provider runs its own tool search.
    return row
