"""Which turns bring their thinking back.

The API wants thinking back inside a *tool loop* (A7) and there exactly as it was (A8, A9); everywhere else it may be
left out. So it goes back whole while a loop is open, and is left out once the loop is over: that is legal for every
model, a prefix of the request stays the same from one turn to the next (prompt caches; on some models a thinking block
is only good behind the very conversation that it was made in), and instructions that change later can't make an old
block illegal.

A loop is open if the last assistant turn has calls. It reaches back to the last message of a user that came with no
results: one that came with results (the user spoke instead of answering) stands in the middle of what the API sees as
one turn. Where a turn of the loop has lost its thinking, the request goes without any thinking at all, which is the
API's own advice.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from agui_gate.adapter import AssistantTurn, ReasoningPart, SettledCall, TextPart, Transcript, UserTurn

_Part = TextPart | ReasoningPart | SettledCall


class Thinking(NamedTuple):
    """Positions of the turns that bring their thinking back; ``off``: the request must not think."""

    kept: frozenset[int] = frozenset()
    off: bool = False


def decide(transcript: Transcript, origin: str, mode: str | None) -> Thinking:
    """What to do about thinking. ``mode`` is the `type` that is asked for, None if it is left to the model."""
    loop = open_loop(transcript)
    ours = [(place, turn) for place, turn in loop if turn.origin == origin]
    thought = any(isinstance(part, ReasoningPart) for _, turn in ours for part in turn.parts)
    if mode == "disabled" or not loop or (mode is None and not thought):
        return Thinking()
    whole = all(is_whole(turn) for _, turn in ours)
    if mode == "enabled":
        # Manual thinking is the strict one: whatever the API sees as the beginning of a turn must be thinking.
        heads = (turn for place, turn in loop if _begins_a_turn(transcript, place))
        whole = whole and len(ours) == len(loop) and all(isinstance(turn.parts[0], ReasoningPart) for turn in heads)
    if not whole:
        return Thinking(off=True)
    return Thinking(frozenset(place for place, _ in ours) if thought else frozenset())


def open_loop(transcript: Transcript) -> list[tuple[int, AssistantTurn]]:
    """The assistant turns of the tool loop that is open, newest first, with their positions."""
    loop: list[tuple[int, AssistantTurn]] = []
    spoken = False
    for place in range(len(transcript) - 1, -1, -1):
        turn = transcript[place]
        if isinstance(turn, UserTurn):
            spoken = spoken or turn.role == "user"
            continue
        if (spoken or not loop) and not turn.local_calls:
            break
        loop.append((place, turn))
        spoken = False
    return loop


def is_whole(turn: AssistantTurn) -> bool:
    """Whether the turn is complete as it came: no block without its place, none missing, no thinking without a seal."""
    places: list[int] = []
    for part in turn.parts:
        if not _is_intact(part):
            return False
        kept = private(part)
        places += [kept[name] for name in ("index", "result_index") if name in kept]
    counts = {kept["blocks"] for part in turn.parts if "blocks" in (kept := private(part))}
    return sorted(places) == list(range(len(places))) and counts <= {len(places)}


def private(part: _Part) -> dict[str, Any]:
    """What the machine kept with a part."""
    return (part.part.private if isinstance(part, SettledCall) else part.private) or {}


def _is_intact(part: _Part) -> bool:
    kept = private(part)
    if not isinstance(kept.get("index"), int):
        return False
    match part:
        case ReasoningPart():
            return bool(part.encrypted)
        case SettledCall() if not part.part.local:
            return "block" in kept and "result" in kept
        case SettledCall():
            return not part.part.malformed
        case TextPart():
            return True


def _begins_a_turn(transcript: Sequence[UserTurn | AssistantTurn], place: int) -> bool:
    """Whether a user said something right before."""
    while place and isinstance(before := transcript[place - 1], UserTurn):
        if before.role == "user":
            return True
        place -= 1
    return not place
