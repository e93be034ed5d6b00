"""Profiles of OpenAI-compatible servers: a switch for each difference.

`PROFILES` has the ones that are known by name. For another server take the nearest and change what it refuses:
``msgspec.structs.replace(PROFILES["lenient"], max_tokens="max_completion_tokens")``.

Nothing here is about reading answers: every oddity of those is taken from every server.
"""

from typing import Literal

import msgspec

from agui_gate.errors import ConfigurationError


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How to talk to one kind of server. The defaults are what nearly every server takes."""

    name: str
    developer: bool = False
    """Whether the role `developer` is known; instructions use it then. Else it becomes `system`."""
    one_system: bool = False
    """Whether only the first message may be the system's ("System message must be at the beginning", in templates of
    local models). Those that stand together there are joined; later ones are sent in the role `user`."""
    stream_usage: bool = True
    """Whether `stream_options` is known. Without it there are token counts only where a server sends them unasked."""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the limit of an answer is called."""
    strict: bool | None = None
    """Sent with every tool; None leaves it out. Schemas made from signatures seldom fit the strict subset."""
    parallel_tool_calls: bool | None = None
    """Sent when there are tools; None leaves it to the server."""
    forces: Literal["named", "required", "nothing"] = "named"
    """How the model can be made to call a tool (`tool_choice`). A named one, only some tool (llama.cpp knows the words
    alone), or not at all. (Models that think refuse it: "incompatible with thinking enabled".)
    """
    output_schema: Literal["always", "without_tools", "never"] = "never"
    """Whether the form of an answer can be told (`response_format`). Servers that hold the model to a grammar from the
    first token on refuse that beside tools, or never call one then.
    """
    reasoning_replay: Literal["never", "tool_turns", "always"] = "never"
    """Which turns are sent back with their reasoning: none, those with tool calls, or all."""
    reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    """The member for reasoning whose own is not known."""
    reasoning_required: bool = False
    """Whether a turn that lost its reasoning has to say so, with an empty text."""
    call_ids: Literal["any", "nine", "verbatim"] = "any"
    """Which call ids are accepted. Any of up to 64 characters, nine letters and digits (Mistral), or only the model's
    own, which is confused by others (Kimi).
    """
    empty_content: str | None = None
    """The content of a message that only calls. Templates of local models tend to write None where it is null."""
    images: bool = True
    four_images: bool = False
    """Whether only PNG, JPEG, GIF and WebP are read. Elsewhere that depends on the server's library."""
    audio: bool = False
    documents: bool = False
    reply_after_tools: bool = False
    """Whether a user's message right after outputs is refused ("Unexpected role 'user' after role 'tool'"), so that an
    assistant's has to stand between them."""
    says_end: bool = True
    """False for servers whose streams have neither a `finish_reason` nor `[DONE]`. A stream that was cut off can't be
    told from a whole one there; only calls whose arguments are whole JSON are then taken."""
    lists_models: bool = True
    """Whether its list of models has the names that requests use. Not so where those are of deployments, or where there
    is one model and any name will do. `agui-gate doctor` looks there.
    """


_OPENAI = Profile(
    name="openai",
    developer=True,
    max_tokens="max_completion_tokens",
    four_images=True,
    audio=True,
    documents=True,
    output_schema="always",
)
_LOCAL = Profile(
    name="local", one_system=True, reasoning_replay="tool_turns", empty_content="", output_schema="without_tools"
)

PROFILES = {
    profile.name: profile
    for profile in (
        _OPENAI,
        msgspec.structs.replace(_OPENAI, name="azure", documents=False, lists_models=False),
        msgspec.structs.replace(_LOCAL, name="vllm", reasoning_field="reasoning", audio=True),
        msgspec.structs.replace(_LOCAL, name="ollama", reasoning_field="reasoning"),
        msgspec.structs.replace(_LOCAL, name="llama_cpp", audio=True, lists_models=False, forces="required"),
        # In all requests that follow, and where there are tools in turns without calls too (MoonshotAI/kimi-cli#2141,
        # openclaw#73417); elsewhere it is ignored (https://api-docs.deepseek.com/guides/thinking_mode).
        Profile(name="deepseek", reasoning_replay="always", reasoning_required=True, images=False, forces="nothing"),
        Profile(
            name="kimi",
            reasoning_replay="tool_turns",
            reasoning_required=True,
            call_ids="verbatim",
            forces="nothing",
        ),
        Profile(
            name="mistral",
            one_system=True,
            stream_usage=False,
            call_ids="nine",
            empty_content="",
            reply_after_tools=True,
            output_schema="without_tools",
        ),
        Profile(name="lenient", one_system=True, stream_usage=False, empty_content=""),
    )
}


def profile_of(given: "str | Profile") -> Profile:
    """Returns the profile itself, or the one of this name. Raises `ConfigurationError`."""
    if isinstance(given, Profile):
        return given
    if given not in PROFILES:
        raise ConfigurationError(f"profile is a Profile or one of {', '.join(PROFILES)}, not {given!r}.")
    return PROFILES[given]
