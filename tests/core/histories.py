"""Strategies for histories: what clients replay after reloads, aborts, trims, bugs and attacks.

A history starts as a conversation that went well and is then damaged: messages repeated, moved, lost, cut short, their
ids removed or made equal, answers to nothing put in. Call ids come from a small pool, since repeats are ordinary.
Every text and every result is different from all others, so that tests can tell where each of them went.

Everything is decided by one string of bytes (`Choices`): one draw an example instead of hundreds, so that thousands of
examples take seconds, and a failure still shrinks, as zeros mean the plainest choice everywhere.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec
from hypothesis import strategies as st

from agui_gate.core.sanitizer import CARD_TOOL, Outcome
from agui_gate.core.transcript import (
    CallKind,
    CallPart,
    CardClosedEntry,
    CardEntry,
    Entry,
    Media,
    Output,
    ReasoningPart,
    ResultEntry,
    Role,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
)
from tests.support.chance import examples

PROVEN = examples(250)
"""For properties that must hold for anything."""

CHECKED = examples(100)
"""For properties that follow from others, or need less."""

CALL_IDS = ("call_1", "call_2", "functions.search:0", "web_search:11", "")
NAMES = ("search", "refund", "send_email", CARD_TOOL)
GOOD_ARGUMENTS = ('{"q":"x"}', "{}", ' {"a": [1, {"b": null}]} ', '{"é":"\\u00e9"}', "")
BAD_ARGUMENTS = ('{"q":"tru', "[1]", '"text"', "null", "{}{}", "{'a': 1}", "NaN", '{"a":' * 80 + "1" + "}" * 80)
ORIGIN = "responses/gpt"
ROLES: tuple[Role, ...] = ("user", "user", "user", "system", "developer")
KINDS: tuple[CallKind, ...] = ("server", "gated", "client", "hosted", "held")
MAX_DAMAGES = 6

T = TypeVar("T")


class Choices:
    """Decisions and unique names, all from one string of bytes; when it is used up, every choice is the first."""

    def __init__(self, entropy: bytes) -> None:
        self._bytes = iter(entropy)
        self._last = 0

    def below(self, limit: int) -> int:
        return next(self._bytes, 0) % limit

    def of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def rarely(self, one_in: int) -> bool:
        return self.below(one_in) == one_in - 1

    def new(self, prefix: str) -> str:
        """A name that nothing else in this history has."""
        self._last += 1
        return f"{prefix}{self._last}"


def user_entry(choose: Choices) -> UserEntry:
    text = choose.of(["yes", "yes", "", "  "]) if choose.rarely(6) else choose.new("said ")
    content: tuple[Text | Media, ...] = (Text(text),)
    if choose.rarely(8):
        content = (*content, Media("image", "url", "https://example.com/i.png"))
    return UserEntry(choose.new("u"), content, choose.of(ROLES))


def turn_entry(choose: Choices, arguments: Sequence[str] = GOOD_ARGUMENTS) -> TurnEntry:
    """A turn of a client's history (no origin, ids that repeat, cards), or of the server's own journal."""
    origin = choose.of(["", ORIGIN])
    parts: list[TextPart | ReasoningPart | CallPart] = []
    for _ in range(choose.below(6)):
        kind = choose.of(["text", "call", "call", "reasoning", "blank"])
        if kind == "text":
            parts.append(TextPart(choose.new("m"), choose.new("answer ")))
        elif kind == "blank":
            parts.append(TextPart(choose.new("m"), "\n" if origin else choose.of(["", "\n"])))
        elif kind == "reasoning":
            parts.append(ReasoningPart(choose.new("r"), choose.of([(), ("thinking",)]), "sealed"))
        else:
            parts.append(_call(choose, arguments, origin))
    return TurnEntry(choose.new("t"), tuple(parts), origin)


def _call(choose: Choices, arguments: Sequence[str], origin: str) -> CallPart:
    wire_id = choose.of(CALL_IDS)
    call_id = choose.new("own") if origin else wire_id
    name = choose.of(NAMES[:-1] if origin else NAMES)
    return CallPart(call_id, wire_id, name, choose.of(arguments), "parent", choose.of(KINDS))


def conversation(choose: Choices) -> list[Entry]:
    """A conversation as it should be: every call has its result right after its turn, in order; ids repeat."""
    entries: list[Entry] = []
    for _ in range(1 + choose.below(4)):
        entries.append(user_entry(choose))
        for _ in range(choose.below(4)):
            turn = turn_entry(choose)
            entries.append(turn)
            entries += [ResultEntry(c.id, choose.new("x"), Output(choose.new("result "))) for c in turn.calls]
    return entries


def history(choose: Choices) -> list[Entry]:
    """Any history: a conversation with any number of things gone wrong."""
    # What goes wrong is decided first: the bytes must not be used up by then.
    damages = [(choose.of(DAMAGES), choose.below(256), choose.below(256)) for _ in range(choose.below(MAX_DAMAGES + 1))]
    shuffle = [choose.below(256) for _ in range(40)] if choose.rarely(10) else []
    entries = conversation(choose)
    for damage, at, to in damages:
        if entries:
            damage(choose, entries, at % len(entries), to % len(entries))
    for i, j in enumerate(shuffle[: len(entries)]):
        entries[i], entries[j % len(entries)] = entries[j % len(entries)], entries[i]
    return entries


_ENTROPY = st.binary(min_size=256, max_size=256)


def conversations() -> st.SearchStrategy[list[Entry]]:
    return _ENTROPY.map(lambda entropy: conversation(Choices(entropy)))


def histories() -> st.SearchStrategy[list[Entry]]:
    return _ENTROPY.map(lambda entropy: history(Choices(entropy)))


def settled_histories() -> st.SearchStrategy[tuple[list[Entry], Mapping[tuple[str, str], Outcome]]]:
    """A history, and what a ledger says about some of its calls."""
    return st.tuples(histories(), st.binary(min_size=16, max_size=16).map(Choices)).map(
        lambda drawn: (drawn[0], outcomes_of(drawn[1], drawn[0]))
    )


def outcomes_of(choose: Choices, entries: Sequence[Entry]) -> Mapping[tuple[str, str], Outcome]:
    keys = sorted({(entry.id, call.id) for entry in entries if isinstance(entry, TurnEntry) for call in entry.calls})
    chosen = [key for key in keys if choose.rarely(3)]
    arguments = ['{"q":"x"}', '{"q":"edited"}', "{}"]
    return {key: Outcome(Output(f"outcome {i}", bool(i % 2)), choose.of(arguments)) for i, key in enumerate(chosen)}


# --- what goes wrong ------------------------------------------------------------------------------------------------


def _repeat(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    entries.insert(to, entries[at])


def _move(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    entries.insert(to, entries.pop(at))


def _lose(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    del entries[at]


def _trim(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    del entries[min(at, to) : max(at, to)]


def _interrupt(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    entries.insert(at, user_entry(choose))


def _orphan(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    call_id = choose.of((*CALL_IDS, "never_issued"))
    message_id = choose.of(["", f"{call_id}-result", choose.new("x")])
    entries.insert(at, ResultEntry(call_id, message_id, Output(choose.new("stray "))))


def _cut_arguments(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    entries.insert(at, turn_entry(choose, BAD_ARGUMENTS))


def _cut_turn(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    turn = turn_entry(choose, (*GOOD_ARGUMENTS, *BAD_ARGUMENTS))
    entries.insert(at, msgspec.structs.replace(turn, cut=True))


def _lose_id(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    """An id that is missing, or was minted because it was. Only clients lose ids, so the turn becomes a client's."""
    entry = entries[at]
    if isinstance(entry, TurnEntry):
        entries[at] = msgspec.structs.replace(entry, id="", origin="")
    elif isinstance(entry, UserEntry):
        entries[at] = msgspec.structs.replace(entry, id=choose.of(["", "minted"]), minted=True)
    elif isinstance(entry, ResultEntry):
        entries[at] = msgspec.structs.replace(entry, message_id="")


def _share_id(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    one, other = entries[at], entries[to]
    if isinstance(other, UserEntry | TurnEntry):
        if isinstance(one, UserEntry):
            entries[at] = msgspec.structs.replace(one, id=other.id)
        elif isinstance(one, TurnEntry):
            entries[at] = msgspec.structs.replace(one, id=other.id, origin="")


def _show_card(choose: Choices, entries: list[Entry], at: int, to: int) -> None:
    card = choose.new("card")
    entries.insert(at, CardEntry(card, choose.new("m"), choose.new("approval"), "{}"))
    entries.insert(to, CardClosedEntry(card, choose.new("m"), '{"accepted":true}'))


DAMAGES: tuple[Callable[[Choices, list[Entry], int, int], None], ...] = (
    _repeat,
    _move,
    _lose,
    _trim,
    _interrupt,
    _orphan,
    _cut_arguments,
    _cut_turn,
    _lose_id,
    _share_id,
    _show_card,
)
