"""From a settled transcript back to loose entries, to see that settling them again changes nothing."""

from agui_gate.core.sanitizer import Outcome
from agui_gate.core.transcript import (
    AssistantTurn,
    Entry,
    ResultEntry,
    SettledCall,
    Transcript,
    TurnEntry,
    UserEntry,
    UserTurn,
)


def loosen(transcript: Transcript) -> list[Entry]:
    """Entries that say the same as ``transcript``, apart from what `edits` holds."""
    entries: list[Entry] = []
    for turn in transcript:
        if isinstance(turn, UserTurn):
            entries.append(UserEntry(turn.id, turn.content, turn.role, minted=True))
            continue
        parts = tuple(part.part if isinstance(part, SettledCall) else part for part in turn.parts)
        entries.append(TurnEntry(turn.id, parts, turn.origin, turn.ref))
        entries += [ResultEntry(call.part.id, "", call.output) for call in turn.calls]
    return entries


def edits(transcript: Transcript) -> dict[tuple[str, str], Outcome]:
    """The outcomes that loose entries have no room for: arguments that a person changed."""
    turns = (turn for turn in transcript if isinstance(turn, AssistantTurn))
    return {
        (turn.id, call.part.id): Outcome(call.output, call.arguments)
        for turn in turns
        for call in turn.calls
        if call.edited
    }
