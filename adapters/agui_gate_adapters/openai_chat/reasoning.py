"""Sends reasoning back: selects what, and in which member.

It came in a member of one of three names, and goes back in the same one, or in the one that is required.
`reasoning_details` is a list of blocks that may be signed or sealed. It is sent as it was, and then without the text,
which it holds too.

Only our own reasoning is sent. What is required but lost is an empty text. A server that insists checks that the member
is there, and a conversation must not end because a turn was made by another model.
"""

from typing import Any

from agui_gate.adapter import AssistantTurn, ReasoningPart

from .profiles import Profile
from .wire import Body

DETAILS = "reasoning_details"
FIELDS = ("reasoning_content", "reasoning")


def replayed(turn: AssistantTurn, profile: Profile, *, ours: bool) -> Body:
    """Returns the members of this turn's message that carry its reasoning; none where there is none to send."""
    match profile.reasoning_replay:
        case "never":
            return {}
        case "tool_turns" if not turn.local_calls:
            return {}
    sent = _kept(turn, profile) if ours else {}
    if profile.reasoning_required:
        sent.setdefault(profile.reasoning_field, "")
    return sent


def _kept(turn: AssistantTurn, profile: Profile) -> Body:
    """Returns the members of a turn that bring its reasoning back."""
    texts: dict[str, str] = {}
    details: list[Any] = []
    for part in turn.parts:
        if isinstance(part, ReasoningPart):
            private = part.private or {}
            details += private.get(DETAILS) or ()
            text = "\n\n".join(part.summary)
            if text:
                field = private.get("field")
                if field not in FIELDS or profile.reasoning_required:
                    field = profile.reasoning_field
                texts[field] = texts.get(field, "") + text
    return {DETAILS: details} if details else texts


def merge(details: list[dict[str, Any]], pieces: list[dict[str, Any]]) -> str:
    """Add streamed pieces of blocks to the blocks so far; the text to show that was in them."""
    shown = ""
    for piece in pieces:
        if not details or not _continues(details[-1], piece):
            details.append(dict(piece))
        else:
            _append(details[-1], piece)
        shown += next((text for name in _TEXTS if isinstance(text := piece.get(name), str)), "")
    return shown


_TEXTS = ("text", "summary")


def _continues(block: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Whether a piece continues a block: it isn't sealed, and has the block's type and index."""
    return piece.get("type") != "reasoning.encrypted" and all(
        block.get(name) == piece.get(name) for name in ("type", "index")
    )


def _append(block: dict[str, Any], piece: dict[str, Any]) -> None:
    """Appends texts; other members replace earlier ones, unless they are null."""
    for name, value in piece.items():
        before = block.get(name)
        if name in _TEXTS and isinstance(value, str) and isinstance(before, str):
            block[name] = before + value
        elif value is not None:
            block[name] = value
