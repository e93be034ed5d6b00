"""Makes a turn's request body. Pure: everything is sent by value, every time, since the provider remembers nothing."""

import re
from collections.abc import Sequence
from itertools import count
from typing import Literal, NamedTuple

import msgspec

from agui_gate.adapter import (
    AssistantTurn,
    Content,
    Media,
    NamedTool,
    SettledCall,
    Text,
    TextPart,
    ToolChoice,
    ToolSpec,
    TurnRequest,
    UserTurn,
    retold,
)
from agui_gate_adapters.common import large_requests
from agui_gate_adapters.common.failures import READABLE, dropped
from agui_gate_adapters.common.large_requests import Items, Turns
from agui_gate_adapters.common.names import stable_id
from agui_gate_adapters.common.output_schemas import strict_schema

from .profiles import Profile
from .reasoning import replayed
from .wire import Body

# A user's message in this API's words. What the server can't take is told, so that the model knows of it.

_PDF = "application/pdf"
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def user_message(turn: UserTurn, profile: Profile) -> Body:
    """Makes a user's, system's or developer's message. Text alone is a string: not every server reads lists."""
    parts = [_part(part, profile, turn.role) for part in turn.content]
    role = "system" if turn.role == "developer" and not profile.developer else turn.role
    if all(part["type"] == "text" for part in parts):
        return {"role": role, "content": "\n\n".join(part["text"] for part in parts)}
    return {"role": role, "content": parts}


def _part(part: Content, profile: Profile, role: str) -> Body:
    if not isinstance(part, Media):
        return {"type": "text", "text": part.text}
    made = None
    if role == "user":  # nobody else's messages may hold anything but text
        match part.kind:
            case "image" if profile.images:
                made = _image(part, profile)
            case "audio" if profile.audio:
                made = _audio(part)
            case "document" if profile.documents:
                made = _document(part)
    return made or {"type": "text", "text": _as_text(part)}


def _image(part: Media, profile: Profile) -> Body | None:
    unread = part.source == "data" and profile.four_images and (part.mime_type or "image/png") not in READABLE
    if part.source == "file" or unread:
        return None
    return {"type": "image_url", "image_url": {"url": _address(part, "image/png")}}


def _audio(part: Media) -> Body | None:
    kind = _AUDIO_FORMATS.get(part.mime_type or "audio/wav")
    if part.source != "data" or kind is None:
        return None
    data = part.value.partition(",")[2] if part.value.startswith("data:") else part.value
    return {"type": "input_audio", "input_audio": {"data": data, "format": kind}}


def _document(part: Media) -> Body | None:
    if part.source == "url" or (part.source == "data" and (part.mime_type or _PDF) != _PDF):
        return None
    if part.source == "file":
        return {"type": "file", "file": {"file_id": part.value}}
    return {"type": "file", "file": {"filename": "document.pdf", "file_data": _address(part, _PDF)}}


def _address(part: Media, default_type: str) -> str:
    """Returns a URL, or a data URL of base64 data."""
    if part.source == "url" or part.value.startswith("data:"):
        return part.value
    return f"data:{part.mime_type or default_type};base64,{part.value}"


def _as_text(part: Media) -> str:
    """Returns the text that stands in place of a part."""
    where = f" ({part.value})" if part.source == "url" and not part.value.startswith("data:") else ""
    return f"[{part.kind} attachment left out: this model's API does not accept it{where}]"


# The ids of a turn's calls: the provider's own where they can be, new ones where not, none twice.

MAX_CALL_ID = 64
"""Characters that a call id may have (C6)."""

Rule = Literal["any", "nine", "verbatim"]
"""See `Profile.call_ids`."""

_NINE = re.compile(r"[A-Za-z0-9]{9}")


def call_ids(turn_id: str, calls: Sequence[SettledCall], rule: Rule, *, ours: bool, before: int) -> list[str]:
    """Returns an id for each call, in order. ``before`` is how many calls the earlier turns had."""
    used: set[str] = set()
    ids = []
    for position, call in enumerate(calls):
        call_id = call.part.wire_id
        if not ours or not _fits(call_id, rule) or call_id in used:
            call_id = _minted(call, rule, before + position, used, turn_id)
        used.add(call_id)
        ids.append(call_id)
    return ids


def _fits(call_id: str, rule: Rule) -> bool:
    match rule:
        case "any":
            return 0 < len(call_id) <= MAX_CALL_ID
        case "nine":
            return bool(_NINE.fullmatch(call_id))
        case "verbatim":
            return bool(call_id)


def _minted(call: SettledCall, rule: Rule, number: int, used: set[str], turn_id: str) -> str:
    """Makes a new id, the same every time, of the kind that the model expects."""
    if rule == "verbatim":
        call_id = f"functions.{call.part.name}:{number}"  # the name is one that providers take: see `common.names`
        if len(call_id) <= MAX_CALL_ID and call_id not in used:
            return call_id
    for attempt in count():
        names = (turn_id, str(number), call.part.id, str(attempt))
        call_id = stable_id("", *names, digits=9) if rule == "nine" else stable_id("call_", *names)
        if call_id not in used:
            return call_id
    raise AssertionError("unreachable: count() does not end")


# A transcript as messages. Pure, and legal whatever the transcript is.
#
# Each assistant turn becomes one message, directly followed by one `tool` message a call. Outputs are nested in their
# turn, so none can be missing, stray or doubled (C1-C3). An id belongs to its turn alone. It is sent as the provider
# made it where this very provider made it, since some models are confused by other ids. It is minted anew, from what it
# names, where it is another's, illegal here, or was there before in the same turn. So the same transcript always gives
# the same messages (prompt caches).
#
# Calls are sent with the arguments that really ran, edits included (B11): the provider has no copy of its own.

_GO_ON = "(Go on.)"


class _Said(NamedTuple):
    """The state behind some turns: how many ``calls`` they had, the role of the ``last`` message, and what the system's
    messages say that are ``leading`` and are to be one (`Profile.one_system`).
    """

    calls: int = 0
    last: str = ""
    leading: tuple[str, ...] = ()


def _role(request: TurnRequest, profile: Profile) -> str:
    """Returns the role of the instructions."""
    return "developer" if profile.developer and request.instructions else "system"


def history_name(request: TurnRequest, settings: "Settings") -> str:
    """Returns the name under which the messages made of the history stay with its thread."""
    return f"chat {settings.origin} {settings.profile} {_role(request, settings.profile)}"


def _messages(request: TurnRequest, settings: "Settings") -> list[Body] | Items:
    """Returns all messages, the instructions first; at least one (C7)."""
    profile, role = settings.profile, _role(request, settings.profile)
    start = _Said(last=role if role == "developer" else "")  # what follows that is no leading system's message

    def ends(said: _Said) -> tuple[list[Body], list[Body]]:
        texts = [request.instructions, *said.leading] if request.instructions else [*said.leading]
        first: list[Body] = [{"role": role, "content": "\n\n".join(texts)}] if texts else []
        if said.last == "assistant":
            # A call that another provider would have run was answered. Mistral refuses a conversation that ends with
            # the assistant, llama.cpp would go on with the very words.
            return first, [{"role": "user", "content": _GO_ON}]
        return first, [] if first or said.last else [{"role": "user", "content": ""}]

    def replay(turns: Turns, said: _Said) -> tuple[list[Body], _Said]:
        return _replay(turns, said, profile, settings.origin)

    return large_requests.replayed(request, history_name(request, settings), start, replay, ends)


def _replay(turns: Turns, said: _Said, profile: Profile, origin: str) -> tuple[list[Body], _Said]:
    """Returns the messages of some turns, and the state behind them."""
    made: list[Body] = []
    calls, last, leading = said
    for turn in turns:
        if isinstance(turn, AssistantTurn):
            more = _assistant(turn, profile, ours=turn.origin == origin, before=calls)
            calls += len(turn.local_calls)
        else:
            if profile.reply_after_tools and last == "tool":
                made.append({"role": "assistant", "content": "…"})
            more = [user_message(turn, profile)]
            if profile.one_system and more[0]["role"] == "system":
                if not last:
                    leading = (*leading, more[0]["content"])
                    continue
                more[0]["role"] = "user"
        made += more
        last = made[-1]["role"] if more else last
    return made, _Said(calls, last, leading)


def _assistant(turn: AssistantTurn, profile: Profile, *, ours: bool, before: int) -> list[Body]:
    """Makes the messages of a turn; none if it is empty. ``before`` is how many calls there were in earlier turns."""
    text = _text(turn, ours=ours)
    calls = turn.local_calls
    if not text and not calls:
        return []
    message: Body = {"role": "assistant", "content": text or profile.empty_content}
    message |= replayed(turn, profile, ours=ours)
    if not calls:
        return [message]
    ids = call_ids(turn.id, calls, profile.call_ids, ours=ours, before=before)
    message["tool_calls"] = [_call(call_id, call) for call_id, call in zip(ids, calls, strict=True)]
    return [message, *(_output(call_id, call) for call_id, call in zip(ids, calls, strict=True))]


def _text(turn: AssistantTurn, *, ours: bool) -> str:
    """Returns the text and what the provider ran itself. Own pieces were one text; others' are paragraphs."""
    pieces = []
    for part in turn.parts:
        if isinstance(part, TextPart):
            pieces.append(part.text)
        elif isinstance(part, SettledCall) and not part.part.local:
            pieces.append(retold(part))
    return ("" if ours else "\n\n").join(piece for piece in pieces if piece)


def _call(call_id: str, call: SettledCall) -> Body:
    function = {"name": call.part.name, "arguments": call.arguments or "{}"}
    return {"id": call_id, "type": "function", "function": function}


def _output(call_id: str, call: SettledCall) -> Body:
    if call.output.parts is not None:  # results are text here
        dropped(call.output, sum(isinstance(part, Text) for part in call.output.parts))
    return {"role": "tool", "tool_call_id": call_id, "content": call.output.content}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of all turns of an adapter."""

    model: str
    origin: str
    profile: Profile
    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None


def body(request: TurnRequest, settings: Settings) -> Body:
    """Makes the request for a turn."""
    profile = settings.profile
    made: Body = {
        "model": settings.model,
        "messages": _messages(request, settings),
        "stream": True,
    }
    if profile.stream_usage:
        made["stream_options"] = {"include_usage": True}
    if request.tools:
        made["tools"] = [_tool(tool, profile) for tool in request.tools]
        if profile.parallel_tool_calls is not None:
            made["parallel_tool_calls"] = profile.parallel_tool_calls
        made |= _choice(request.tool_choice, profile, alone=len(request.tools) == 1)
    if request.output is not None:
        told = {"name": request.output.name, "schema": strict_schema(request.output.schema), "strict": True}
        made["response_format"] = {"type": "json_schema", "json_schema": told}
    options = {
        profile.max_tokens: settings.max_output_tokens,
        "temperature": settings.temperature,
        "reasoning_effort": settings.reasoning_effort,
    }
    return made | {name: value for name, value in options.items() if value is not None}


def _choice(choice: ToolChoice | None, profile: Profile, *, alone: bool) -> Body:
    """Returns the tool choice as the server understands it. ``alone``: with one tool, `required` means that one."""
    if choice is None or (profile.forces == "nothing" and choice != "none"):
        return {}
    if not isinstance(choice, NamedTool):
        return {"tool_choice": choice}
    if profile.forces == "named":
        return {"tool_choice": {"type": "function", "function": {"name": choice.name}}}
    return {"tool_choice": "required"} if alone else {}


def _tool(tool: ToolSpec, profile: Profile) -> Body:
    function: Body = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if profile.strict is not None:
        function["strict"] = profile.strict
    return {"type": "function", "function": function}
