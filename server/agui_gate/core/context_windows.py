"""Which part of a long conversation the model is sent. Pure: the journal stays whole.

A conversation is cut between *rounds*. A round begins with what the user says and has all that is said and done until
the user speaks again. So a call is never parted from its result, and no reasoning from what follows it: they are inside
one turn (`core/transcript.py`). And what is sent begins with a message of the user's, as some providers want it.

Where the newest round alone is too long, it is cut too, between two answers of the model: what the user said in it
stays, and the newest of its answers.

Tokens are estimated: four bytes of UTF-8 count as one. Only the provider knows better, and each one differs.
"""

from collections.abc import Sequence
from typing import NamedTuple

from agui_gate.core.content import Content
from agui_gate.core.transcript import (
    AssistantTurn,
    Media,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    Transcript,
    UserTurn,
)

BYTES_PER_TOKEN = 4
TURN_TOKENS = 8
"""What a turn counts by itself, however little it says."""
MEDIA_TOKENS = 1_000
"""What an image or a file counts."""


class Window(NamedTuple):
    """What is sent of a transcript: from the message ``start`` on. ``then``: of that round only the answers from the
    turn of this id on, as the round itself was too long; "" for all of them.
    """

    start: str
    then: str = ""


WHOLE = Window("")
"""Nothing is left out."""


def seen(transcript: Transcript, window: Window) -> Transcript | None:
    """What ``window`` shows of ``transcript``; None if it is not a window of it (any more)."""
    places = _places(transcript, window)
    return None if places is None else (*transcript[places[0] : places[1]], *transcript[places[2] :])


def left_out(transcript: Transcript, window: Window) -> Transcript:
    """What ``window`` doesn't show of ``transcript``; nothing if it is not a window of it."""
    places = _places(transcript, window)
    return () if places is None else (*transcript[: places[0]], *transcript[places[1] : places[2]])


def _places(transcript: Transcript, window: Window) -> tuple[int, int, int] | None:
    """Where the window begins, where it leaves something out, and where it goes on."""
    if window == WHOLE:
        return 0, 0, 0
    start = next((place for place, turn in enumerate(transcript) if _begins(turn, window.start)), None)
    if start is None or not window.then:
        return None if start is None else (start, start, start)
    then = next((place for place in range(start, len(transcript)) if transcript[place].id == window.then), None)
    if then is None:
        return None
    said = start
    while _is_said(transcript, said):
        said += 1
    return start, said, then


def newest_rounds(transcript: Transcript, number: int) -> Window:
    """The newest ``number`` rounds."""
    starts = rounds(transcript)
    return WHOLE if len(starts) <= number else Window(transcript[starts[-number]].id)


def newest_tokens(transcript: Transcript, tokens: int) -> Window:
    """As many of the newest rounds as are ``tokens`` long, at least one: cut between answers if it is too long."""
    sizes = [size_of(turn) for turn in transcript]
    starts = rounds(transcript)
    if not starts or sum(sizes) <= tokens:
        return WHOLE
    kept, size = len(transcript), 0
    for start in reversed(starts):
        size += sum(sizes[start:kept])
        if size > tokens:
            break
        kept = start
    if kept < len(transcript):
        return Window(transcript[kept].id)
    return _within(transcript, starts[-1], sizes, tokens)


def _within(transcript: Transcript, start: int, sizes: Sequence[int], tokens: int) -> Window:
    """The newest round, without its oldest answers. What the user said in it, and its newest answer, always stay."""
    then = len(transcript) - 1
    room = tokens - sizes[then] - sum(sizes[place] for place in range(start, then) if _is_said(transcript, place))
    while then > start and not _is_said(transcript, then - 1) and sizes[then - 1] <= room:
        then -= 1
        room -= sizes[then]
    whole = _is_said(transcript, then) or _is_said(transcript, then - 1)
    return Window(transcript[start].id, "" if whole else transcript[then].id)


def rounds(transcript: Transcript) -> list[int]:
    """Where rounds begin. What stands before the first message of the user's belongs to none."""
    return [
        place for place in range(len(transcript)) if _is_said(transcript, place) and not _follows(transcript, place)
    ]


def _follows(transcript: Transcript, place: int) -> bool:
    """Whether the user has spoken just before: several messages are one."""
    return place > 0 and _is_said(transcript, place - 1)


def _is_said(transcript: Transcript, place: int) -> bool:
    turn = transcript[place]
    return isinstance(turn, UserTurn) and not turn.is_note


def _begins(turn: UserTurn | AssistantTurn, message_id: str) -> bool:
    return isinstance(turn, UserTurn) and turn.id == message_id


def longer(transcript: Transcript, tokens: int) -> bool:
    """Whether a transcript has more than about so many tokens."""
    return sum(map(size_of, transcript)) > tokens


def size_of(turn: UserTurn | AssistantTurn) -> int:
    """About how many tokens a turn has."""
    if isinstance(turn, UserTurn):
        return TURN_TOKENS + sum(map(_content, turn.content))
    return TURN_TOKENS + sum(map(_part, turn.parts))


def _part(part: TextPart | ReasoningPart | SettledCall) -> int:
    match part:
        case TextPart():
            return _text(part.text)
        case ReasoningPart():
            return _text(part.encrypted or "".join(part.summary))
        case SettledCall():
            return _call(part)


def _call(call: SettledCall) -> int:
    output = call.output
    said = sum(map(_content, output.parts)) if output.parts is not None else _text(output.content)
    return TURN_TOKENS + _text(call.part.name) + _text(call.arguments) + said


def _content(part: Content) -> int:
    match part:
        case Text():
            return _text(part.text)
        case Media():
            return MEDIA_TOKENS


def _text(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return -(-size // BYTES_PER_TOKEN)
