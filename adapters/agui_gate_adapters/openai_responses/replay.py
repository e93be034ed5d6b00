"""Replays a transcript as input items, for a provider that has none of it.

Reasoning binds items by their ids. A reasoning item must be followed by the very item that it preceded, and an item
with an id wants its reasoning item (R4, R5). So a turn is replayed in one of two ways, never half (S19):

- *verbatim*: all of its items, in their order, with their ids and sealed reasoning, exactly as they came;
- *by value*: text and calls without ids, and no reasoning.

Calls that the provider ran itself could be replayed by id alone, and there is nothing it could look the id up in. So
they are told as text, and their turn goes by value. So do held calls, unless this is the request that answers them.

Verbatim is only for turns that this very adapter made, that have no gaps, and that nobody changed since. And it is only
where there is reasoning to keep, since ids are good for nothing else.
"""

import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agui_gate.adapter import (
    AssistantTurn,
    CallPart,
    Content,
    Media,
    Output,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    Transcript,
    UserTurn,
    retold,
)
from agui_gate.errors import ConsentLost
from agui_gate_adapters.common.decisions import reason_of
from agui_gate_adapters.common.failures import READABLE, dropped
from agui_gate_adapters.common.large_requests import PIECE, encoded_items
from agui_gate_adapters.common.names import stable_id

from .hosted_tools import where_servers_are
from .wire import Body

# A message's parts in this API's words.

_PNG = "image/png"


def user_message(turn: UserTurn) -> Body:
    """Makes a user's, system's or developer's message, with its type: some endpoints require it."""
    content = turn.content
    if len(content) == 1 and type(content[0]) is Text:
        return {"type": "message", "role": turn.role, "content": [{"type": "input_text", "text": content[0].text}]}
    return {"type": "message", "role": turn.role, "content": [*map(_part, content)] or [_text("")]}


def result(output: Output) -> str | list[Body]:
    """Returns a call's output: text, or parts where there are some that this API accepts."""
    if not output.parts:
        return output.content
    made = [made for part in output.parts if (made := _taken(part)) is not None]
    dropped(output, len(made))
    return made if any(part["type"] != "input_text" for part in made) else output.content


def _part(part: Content) -> Body:
    if type(part) is Text:
        return _text(part.text)
    made = _taken(part)
    if made is not None or not isinstance(part, Media):
        return made or _text("")
    # The model should know that something was there; a refusal of the whole turn would help nobody.
    what = part.mime_type if part.kind == "image" else part.kind
    return _text(f"[{part.kind} attachment left out: this model's API does not accept {what}]")


def _taken(part: Content) -> Body | None:
    """Returns the part, if this API accepts it."""
    if not isinstance(part, Media):
        return _text(part.text)
    match part.kind:
        case "image" if part.source != "data" or (part.mime_type or _PNG) in READABLE:
            return _image(part)
        case "document":
            return _document(part)
        case _:
            return None


def _text(text: str) -> Body:
    return {"type": "input_text", "text": text}


def _image(part: Media) -> Body:
    if part.source == "file":
        return {"type": "input_image", "detail": "auto", "file_id": part.value}
    return {"type": "input_image", "detail": "auto", "image_url": _address(part, _PNG)}


def _document(part: Media) -> Body:
    match part.source:
        case "file":
            return {"type": "input_file", "file_id": part.value}
        case "url":
            return {"type": "input_file", "file_url": part.value}
        case "data":
            suffix = mimetypes.guess_extension(part.mime_type or "application/pdf") or ".bin"
            data = _address(part, "application/pdf")
            return {"type": "input_file", "filename": f"document{suffix}", "file_data": data}


def _address(part: Media, default_type: str) -> str:
    """Returns a URL, or a data URL of base64 data."""
    if part.source == "url" or part.value.startswith("data:"):
        return part.value
    return f"data:{part.mime_type or default_type};base64,{part.value}"


# Held calls on the wire: what the provider asked, and what it is told (R19).
#
# The provider pairs the two by the request item's id. It still has that item where it is asked to continue, and only
# the answer goes. Where everything is sent, the item goes too, after the tools of its server, which it refers to. A
# "yes" that is sent twice may run the call twice: what says it is sent again only where the provider surely did not
# act.


def held_calls(turn: AssistantTurn) -> list[SettledCall]:
    """Returns the calls of the turn that the provider asked about."""
    return [call for call in turn.calls if call.part.kind == "held"]


def approves_calls(transcript: Transcript, hosted_tools: Sequence[Body]) -> bool:
    """Whether the provider is to be told to run something.

    Raises `ConsentLost` if that was agreed to for a server that is not among ``hosted_tools``, or is another one now.
    (Calls from before that was kept don't say which it was.)
    """
    agreed = [call for turn in transcript if isinstance(turn, AssistantTurn) for call in turn.calls if call.consent]
    servers = where_servers_are(hosted_tools) if agreed else {}
    for private in (call.part.private or {} for call in agreed):
        if "server" in private and servers.get(private.get("server_label", "")) != private["server"]:
            raise ConsentLost("What was approved is for a server that is another one now, or gone. It was not run.")
    return bool(agreed)


def approval_responses(turn: AssistantTurn) -> list[Body]:
    """Makes the items that answer the turn's held calls."""
    return [_response(call) for call in held_calls(turn) if call.consent is not None]


def approval_requests(turn: AssistantTurn, transcript: Transcript) -> Mapping[str, Sequence[Body]]:
    """Returns, by call id, the items that a provider without state needs before the approval responses.

    The tools of a server come once, before the first request for it. They may have been listed in an earlier turn.
    """
    if not any(call.consent is not None for call in turn.calls):
        return {}
    lists = _tool_lists(transcript)
    items: dict[str, Sequence[Body]] = {}
    for call in held_calls(turn):
        private = call.part.private or {}
        label = private.get("server_label", "")
        if call.consent is not None:
            listed = lists.pop(label, None)
            items[call.part.id] = ([listed] if listed else []) + [_request(call, label, private.get("name", ""))]
    return items


def _tool_lists(transcript: Transcript) -> dict[str, Body]:
    turns = (turn for turn in transcript if isinstance(turn, AssistantTurn))
    private = (call.part.private or {} for turn in turns for call in held_calls(turn))
    return {known["server_label"]: known["tool_list"] for known in private if "tool_list" in known}


def _request(call: SettledCall, label: str, name: str) -> Body:
    return {
        "type": "mcp_approval_request",
        "id": call.part.wire_id,
        "server_label": label,
        "name": name,
        "arguments": call.part.arguments,
    }


def _response(call: SettledCall) -> Body:
    body: Body = {
        "type": "mcp_approval_response",
        "approval_request_id": call.part.wire_id,
        "approve": call.consent is True,
    }
    return body if call.consent else body | {"reason": reason_of(call.output.content)}


MAX_CALL_ID = 64
"""Characters that a call id may have on input (R17)."""

_NO_PHASE: Body = {}
_Part = TextPart | ReasoningPart | SettledCall
_Asked = Mapping[str, Sequence[Body]]
"""By call id: the items of held calls that are answered with this request."""


def replay(
    transcript: Transcript,
    *,
    origin: str,
    sealed: frozenset[str] | None = frozenset(),
    answers: Transcript = (),
    used: set[str] | None = None,
) -> list[Body]:
    """Replays turns. ``sealed`` has the ids of those that may be verbatim; None: all.

    ``answers``: held calls get the answers that this request has for them, after the tools of their servers. These are
    the turns that may have listed them: all of the request's, not only those that are replayed. If empty, no call gets
    an answer. ``used`` are ids of calls that occurred before; those of these turns are added.
    """
    used = set() if used is None else used
    return [item for turn in transcript for item in _items(turn, origin, sealed, answers, used)]


def _items(
    turn: UserTurn | AssistantTurn,
    origin: str,
    sealed: frozenset[str] | None,
    answers: Transcript,
    used: set[str],
) -> list[Body]:
    if isinstance(turn, UserTurn):
        return [user_message(turn)]
    ours = turn.origin == origin
    asked = approval_requests(turn, answers) if ours and answers else {}
    return _assistant(turn, used, asked, ours=ours, sealed=sealed is None or turn.id in sealed)


_encode = msgspec.json.Encoder().encode
_SAID = {
    role: b'{"type":"message","role":"%b","content":[{"type":"input_text","text":%%b}]}' % role.encode()
    for role in ("user", "system", "developer")
}
_ANSWER = b'{"type":"message","role":"assistant","content":%b}'
_CALL = (
    b'{"type":"function_call","call_id":%b,"name":%b,"arguments":%b},'
    b'{"type":"function_call_output","call_id":%b,"output":%b}'
)


def written(
    transcript: Transcript, *, origin: str, sealed: frozenset[str] | None, answers: Transcript, used: set[str]
) -> bytes:
    """Returns the JSON of `replay`, without brackets. Nearly all turns of a long conversation are plain: of these no
    items are made. Raises as the encoder does.
    """
    pieces: list[bytes] = []
    for turn in transcript:
        if isinstance(turn, UserTurn):
            if len(turn.content) == 1 and type(said := turn.content[0]) is Text and len(said.text) < PIECE:
                pieces.append(_SAID[turn.role] % _encode(said.text))
                continue
        elif len(turn.parts) == 1:
            part = turn.parts[0]
            if type(part) is TextPart:
                if part.text and part.private is None and len(part.text) < PIECE:
                    pieces.append(_ANSWER % _encode(part.text))
                    continue
            elif type(part) is SettledCall and part.output.parts is None:
                call_id, arguments, told = part.part.wire_id, part.arguments or "{}", part.output.content
                if part.part.local and _fits(call_id, used) and len(arguments) + len(told) < PIECE:
                    used.add(call_id)
                    said_id = _encode(call_id)
                    made = (said_id, _encode(part.part.name), _encode(arguments), said_id, _encode(told))
                    pieces.append(_CALL % made)
                    continue
        if items := _items(turn, origin, sealed, answers, used):
            pieces.append(encoded_items(items, large=True))
    return b",".join(pieces)


def output(call_id: str, content: str | list[Body]) -> Body:
    """Makes a call's output item. It pairs by ``call_id`` alone, and must have no item id."""
    return {"type": "function_call_output", "call_id": call_id, "output": content}


def _assistant(turn: AssistantTurn, used: set[str], asked: _Asked, *, ours: bool, sealed: bool) -> list[Body]:
    items: list[Body] = []
    outputs: list[Body] = []
    as_issued = True
    for part in turn.parts:
        if type(part) is TextPart:
            if part.text:
                items.append(_message(part.text, _phase(part.private) if ours and part.private else _NO_PHASE))
        elif type(part) is SettledCall and part.part.local:
            call = part.part
            call_id = _call_id(call, turn.id, len(outputs), used)
            as_issued = as_issued and call_id == call.wire_id
            items.append(_function_call(call_id, call.name, part.arguments))
            outputs.append(output(call_id, result(part.output)))
        elif type(part) is SettledCall:
            items += asked.get(part.part.id) or [_message(retold(part))]
    if sealed and ours and as_issued and is_whole(turn):
        items = [_verbatim(part) for part in turn.parts]
    return [*items, *outputs, *(approval_responses(turn) if asked else ())]


def _call_id(call: CallPart, turn_id: str, position: int, used: set[str]) -> str:
    """Returns the provider's own id, or a new one where it is missing, too long, or occurred before (S24)."""
    call_id = call.wire_id
    if not _fits(call_id, used):
        call_id = stable_id("call_", f"{turn_id}\0{position}", call.id)
    used.add(call_id)
    return call_id


def _fits(call_id: str, used: set[str]) -> bool:
    return 0 < len(call_id) <= MAX_CALL_ID and call_id not in used


def is_whole(turn: AssistantTurn) -> bool:
    """Whether the turn has reasoning and is complete as it came: no item without its id, none missing, none changed."""
    if not any(isinstance(part, ReasoningPart) for part in turn.parts) or isinstance(turn.parts[-1], ReasoningPart):
        return False
    return all(_is_intact(part, position) for position, part in enumerate(turn.parts))


def _is_intact(part: _Part, position: int) -> bool:
    private = _private(part)
    if not private.get("id") or private.get("index") != position:
        return False
    match part:
        case SettledCall():
            return part.part.local and not part.edited
        case ReasoningPart():
            return bool(part.encrypted)
        case TextPart():
            return bool(part.text)


def _private(part: _Part) -> dict[str, Any]:
    return (part.part.private if isinstance(part, SettledCall) else part.private) or {}


def _verbatim(part: _Part) -> Body:
    private = _private(part)
    match part:
        case SettledCall():
            call = part.part
            return {"id": private["id"], **_function_call(call.wire_id, call.name, call.arguments)}
        case ReasoningPart():
            return {
                "type": "reasoning",
                "id": private["id"],
                "summary": _summary(part, private),
                "encrypted_content": part.encrypted,
            }
        case TextPart():
            return {
                "type": "message",
                "id": private["id"],
                "role": "assistant",
                "status": "completed",
                "content": [_content(part, private)],
                **_phase(private),
            }


def _content(part: TextPart, private: dict[str, Any]) -> Body:
    if private.get("refusal"):
        return {"type": "refusal", "refusal": part.text}
    return {"type": "output_text", "text": part.text, "annotations": []}


def _summary(part: ReasoningPart, private: dict[str, Any]) -> list[Body]:
    """Always a list, empty when nothing was visible (S21, R14); raw reasoning is not a summary."""
    raw = private.get("raw", ())
    return [{"type": "summary_text", "text": text} for position, text in enumerate(part.summary) if position not in raw]


def _message(text: str, phase: Body = _NO_PHASE) -> Body:
    return {"type": "message", "role": "assistant", "content": text, **phase}


def _function_call(call_id: str, name: str, arguments: str) -> Body:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments or "{}"}


def _phase(private: dict[str, Any]) -> Body:
    """Returns a message's phase (commentary, final answer), which models that send it require back."""
    phase = private.get("phase")
    return {"phase": phase} if isinstance(phase, str) else {}
