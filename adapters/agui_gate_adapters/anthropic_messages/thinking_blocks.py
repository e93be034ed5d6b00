"""Which turns bring their thinking back.

The API wants thinking back inside a *tool loop* (A7) and there exactly as it was (A8, A9); everywhere else it may be
left out. So it goes back whole while a loop is open, and is left out once the loop is over. That is legal for every
model. A prefix of the request stays the same from one turn to the next. That is good for prompt caches, and some models
need it: with them a thinking block is only good behind the very conversation that it was made in. Instructions that
change later can't make an old block illegal.

A loop is open if the last assistant turn has calls. It reaches back to the last message of a user that came with no
results. One that came with results (the user spoke instead of answering) stands in the middle of what the API sees as
one turn. Where a turn of the loop has lost its thinking, the request goes without any thinking at all, which is the
API's own advice.
"""

from itertools import dropwhile
from typing import Any, NamedTuple

from agui_gate.adapter import AssistantTurn, ReasoningPart, SettledCall, Text, TextPart, Transcript, UserTurn

_Part = TextPart | ReasoningPart | SettledCall


class Thinking(NamedTuple):
    """The thinking of a request. ``kept``: positions of turns that bring theirs back. ``off``: it must not think."""

    kept: frozenset[int] = frozenset()
    off: bool = False


class _InLoop(NamedTuple):
    """A turn of the open loop: its position in the transcript, and whether a user spoke right before it."""

    place: int
    turn: AssistantTurn
    begins: bool


def decide(transcript: Transcript, origin: str, mode: str | None) -> Thinking:
    """What to do about thinking. ``mode`` is the `type` that is asked for, None if it is left to the model."""
    loop = _open_loop(transcript)
    ours = [one for one in loop if one.turn.origin == origin]
    thought = any(_thinks(one.turn) for one in ours)
    if mode == "disabled" or not loop or (mode is None and not thought):
        return Thinking()
    whole = all(is_whole(one.turn) and not _thinks_after_blank(one.turn) for one in ours)
    if mode == "enabled":
        # Manual thinking is the strict one: whatever the API sees as the beginning of a turn must be thinking.
        heads = (one.turn for one in loop if one.begins)
        whole = whole and len(ours) == len(loop) and all(isinstance(turn.parts[0], ReasoningPart) for turn in heads)
    if not whole:
        return Thinking(off=True)
    # What came before the first thought was told in another way when that was made (`replay.py`), and stays so.
    since = dropwhile(lambda one: not _thinks(one.turn), reversed(ours))
    return Thinking(frozenset(one.place for one in since))


def _open_loop(transcript: Transcript) -> list[_InLoop]:
    """The assistant turns of the tool loop that is open, newest first; none if no loop is open."""
    heard = [(place, turn) for place, turn in enumerate(transcript) if _is_heard(turn)]
    loop: list[_InLoop] = []
    spoken = False
    for position in range(len(heard) - 1, -1, -1):
        place, turn = heard[position]
        if isinstance(turn, UserTurn):
            spoken = True
            continue
        if (spoken or not loop) and not turn.local_calls:
            break
        begins = position == 0 or isinstance(heard[position - 1][1], UserTurn)
        loop.append(_InLoop(place, turn, begins))
        spoken = False
    return loop


def _is_heard(turn: UserTurn | AssistantTurn) -> bool:
    """Whether the turn is a message of the request, or a part of one, even if its thinking is left out."""
    if isinstance(turn, UserTurn):
        return turn.role == "user" and any(not isinstance(part, Text) or part.text.strip() for part in turn.content)
    return bool(turn.calls) or any(isinstance(part, TextPart) and part.text.strip() for part in turn.parts)


def _thinks(turn: AssistantTurn) -> bool:
    return any(isinstance(part, ReasoningPart) for part in turn.parts)


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


def _thinks_after_blank(turn: AssistantTurn) -> bool:
    """Blank text can't be sent back (A11), and thinking that came after it would stand behind something else."""
    blank = False
    for part in turn.parts:
        if blank and isinstance(part, ReasoningPart):
            return True
        blank = blank or (isinstance(part, TextPart) and not part.text.strip())
    return False


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
