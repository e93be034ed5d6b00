"""Chat profiles: what the servers that call themselves OpenAI-compatible refuse, and how they talk.

`openai` is the reference. The others collect what was seen in the wild of the server they are named after; `lenient`
and `bare` are the worst of many proxies, `legacy` refuses everything that is newer than tool calls. Every field can be
combined with any other: `msgspec.structs.replace(CHAT_PROFILES["vllm"], call_index="missing")`.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

ChatProfileName = Literal[
    "openai",
    "azure",
    "vllm",
    "ollama",
    "ollama_no_ids",
    "deepseek",
    "kimi",
    "mistral",
    "dashscope",
    "minimax",
    "llama_cpp",
    "legacy",
    "lenient",
    "bare",
]

ArgumentForm = Literal["pieces", "whole", "object", "glued"]
"""`pieces` of text after a head with id and name. All in one delta with the head, as text or as an `object`. Or
`glued`: pieces with a stray `{}` before the real object.
"""


class ChatProfile(msgspec.Struct, frozen=True):
    """One kind of server. The first group is what it refuses, the second how it answers."""

    name: str
    unknown_members: bool = True
    """Refuse members that the API does not know, in the body, in messages and in tools."""
    refused: frozenset[str] = frozenset()
    """Known members of the body that this server refuses all the same; `strict` stands for that of function tools."""
    developer_role: bool = True
    """Accept messages of the role `developer`."""
    content_required: bool = True
    """Refuse messages without content (C4)."""
    max_call_id: int | None = 64
    """Longest call id (C6)."""
    nine_character_ids: bool = False
    """Refuse call ids that are not nine letters or digits."""
    repeated_calls: bool = False
    """Accept one call id twice in one turn; each then needs its own answer."""
    call_names: bool = True
    """Refuse names of calls in the history that no tool can have."""
    output_schema: bool = True
    """Accept a `response_format` with a schema."""
    output_beside_tools: bool = True
    """Accept a `response_format` beside tools."""
    images: bool = True
    """Read pictures."""
    system_first: bool = False
    """Refuse a system message that is not the first message."""
    reply_after_tools: bool = False
    """Refuse a user message right after answers; an assistant's has to stand between them."""
    reasoning_back: Literal["ignored", "required", "refused"] = "ignored"
    """Whether tool-calling turns since the last user message must carry their reasoning, or no message may."""
    reasoning_missing: str = "The `reasoning_content` in the thinking mode must be passed back to the API."
    """The error for lost reasoning; `{index}` is the message's."""
    words: Literal["openai", "deepseek", "mistral", "dashscope", "minimax"] = "openai"
    """How C1 and C2 are worded."""
    errors: Literal["openai", "bare", "short", "numbered", "vllm"] = "openai"
    """The shape of error bodies: `bare` has no `error` around it, `short` only message and type; the last two have a
    number for a code."""
    key_header: bool = False
    """Accept the key in `api-key` too."""

    prelude: bool = False
    """Begin a stream with a chunk without choices (content filter results of the prompt)."""
    reasoning_field: Literal["reasoning_content", "reasoning"] | None = None
    """Where reasoning is told; None keeps it hidden."""
    call_ids: Literal["call", "chatcmpl-tool", "positional", "nine", "plain", "empty", "missing"] = "call"
    """`positional` is `functions.name:0`, counted within the turn, so that ids repeat from turn to turn."""
    call_index: Literal["counted", "zero", "missing"] = "counted"
    argument_forms: tuple[ArgumentForm, ...] = ("pieces",)
    """Used in turn by the calls of one answer."""
    empty_arguments: Literal["{}", ""] | None = "{}"
    """What stands for no arguments; None is null."""
    repeat_head: bool = False
    """Send id, type and name with every piece of arguments."""
    finish_with_calls: Literal["tool_calls", "stop", "stop_when_forced"] = "tool_calls"
    """`finish_reason` of an answer that has calls."""
    final_finish: bool = True
    """Send a final `finish_reason`."""
    usage: Literal["own_chunk", "last_chunk", "never"] = "own_chunk"
    """In a stream: in a chunk of its own when asked for, or unasked in the last chunk that has choices."""
    done: bool = True
    """End a stream with `[DONE]`."""


_PROFILES: Final = (
    ChatProfile("openai"),
    ChatProfile("azure", prelude=True, key_header=True),
    ChatProfile(
        "vllm",
        system_first=True,
        unknown_members=False,
        content_required=False,
        max_call_id=None,
        errors="vllm",
        reasoning_field="reasoning",
        call_ids="chatcmpl-tool",
        finish_with_calls="stop_when_forced",
    ),
    ChatProfile(
        "ollama",
        unknown_members=False,
        max_call_id=None,
        reasoning_field="reasoning",
        call_index="zero",
        argument_forms=("whole",),
    ),
    ChatProfile(
        "ollama_no_ids",
        unknown_members=False,
        max_call_id=None,
        reasoning_field="reasoning",
        call_ids="missing",
        call_index="missing",
        argument_forms=("whole",),
        finish_with_calls="stop",
    ),
    ChatProfile(
        "deepseek",
        output_schema=False,
        images=False,
        unknown_members=False,
        developer_role=False,
        max_call_id=None,
        reasoning_back="required",
        words="deepseek",
        reasoning_field="reasoning_content",
    ),
    ChatProfile(
        "kimi",
        output_schema=False,
        unknown_members=False,
        max_call_id=None,
        reasoning_back="required",
        reasoning_missing="thinking is enabled but reasoning_content is missing in assistant tool call message "
        "at index {index}",
        errors="short",
        reasoning_field="reasoning_content",
        call_ids="positional",
    ),
    ChatProfile(
        "mistral",
        system_first=True,
        refused=frozenset({"stream_options", "max_completion_tokens", "store", "logprobs", "user"}),
        developer_role=False,
        max_call_id=None,
        nine_character_ids=True,
        reply_after_tools=True,
        words="mistral",
        errors="bare",
        call_ids="nine",
        argument_forms=("whole",),
        usage="last_chunk",
    ),
    ChatProfile("dashscope", unknown_members=False, words="dashscope", reasoning_field="reasoning_content"),
    ChatProfile("minimax", unknown_members=False, words="minimax", reasoning_field="reasoning_content"),
    ChatProfile(
        "llama_cpp",
        output_beside_tools=False,
        system_first=True,
        unknown_members=False,
        content_required=False,
        max_call_id=None,
        errors="numbered",
        reasoning_field="reasoning_content",
        call_ids="plain",
    ),
    ChatProfile(
        "legacy",
        refused=frozenset({"response_format", "stream_options", "parallel_tool_calls", "strict"}),
        developer_role=False,
        max_call_id=None,
        usage="never",
    ),
    ChatProfile(
        "lenient",
        system_first=True,
        unknown_members=False,
        content_required=False,
        max_call_id=None,
        repeated_calls=True,
        argument_forms=("pieces", "object", "glued"),
        empty_arguments=None,
        repeat_head=True,
        finish_with_calls="stop",
        usage="last_chunk",
        done=False,
    ),
    ChatProfile(
        "bare",
        call_names=False,
        unknown_members=False,
        content_required=False,
        max_call_id=None,
        repeated_calls=True,
        call_ids="empty",
        call_index="missing",
        empty_arguments="",
        final_finish=False,
        usage="never",
        done=False,
    ),
)

CHAT_PROFILES: Final[dict[str, ChatProfile]] = {profile.name: profile for profile in _PROFILES}
