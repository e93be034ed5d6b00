"""Makes a settled transcript of loose entries: the only place that does.

Whatever went in, what comes out obeys every provider's pairing rules: each call sits in its turn with exactly one
output, in order of issue. What goes in may be a journal with a crash in it, or a client's history that was cut,
trimmed, repeated or reordered. Nothing is guessed. Where a call's fate is known to the ledger, the caller says so in
``outcomes``, and that counts. Else its result is looked for among the entries. If there is none, the model is told so.

What else it does:

* A repeated message id is one message: first place, last content. Ids that we minted, or empty ones, say nothing.
* Cards (`confirm_changes`) are between us and the client, and disappear together with their answers (B8).
* A turn whose stream was cut keeps its complete text alone, and what the provider itself ran in it: that took effect.
  It loses its origin too: provider-private ids belong to whole turns, and half a reasoning group is refused
  ("reasoning … without its required following item"). Reasoning with nothing after it goes, for the same reason (S19).
* Arguments that are not a JSON object become ``{}``; a person can't have approved them and they never ran.
* Messages that say nothing are left out.
* What no provider could take, or one refused (`LeftOutEntry`), is a note in its place.
* After an answer that did not fit the form that was asked for, the model is told so, in the user's place.
* What only a client says about calls is marked as that: results that nobody here can verify, and what the user did in
  a component. That is a message of the user's and no call (`ActionEntry`).

Linear in the number of entries. Entries are not changed.

A journal that grows is settled at the price of what is new (`TranscriptPrefix`). `sanitize` looks at everything, as a
later entry can change what an earlier one becomes: a message that is edited, a result that comes late, a note that
something is left out. All of these name what they are about by an id. So where no id of the rest occurs in the
beginning, each part can be settled by itself. Where one does, or what the ledger says of the beginning is another, all
of it is settled anew.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.media import FOREIGN, is_foreign, normal, placeholder
from agui_gate.core.transcript import (
    CARD_TOOL,
    ActionEntry,
    AssistantTurn,
    Beginning,
    CallPart,
    Content,
    Entry,
    LeftOutEntry,
    Media,
    Output,
    ReasoningPart,
    ResultEntry,
    SettledCall,
    Text,
    TextPart,
    Transcript,
    TurnEntry,
    UserEntry,
    UserTurn,
)


def _note(message: str) -> Output:
    """Returns an error output in the form that all outcomes without a result have: a JSON object with a ``status``."""
    return Output(msgspec.json.encode({"status": "cancelled", "message": message}).decode(), is_error=True)


NOT_EXECUTED = _note(
    "Not executed: the conversation went on before this call could run. Nobody denied it; "
    "call the tool again if it is still needed."
)
"""The note for a server-side call with neither an outcome nor a result."""

NOT_ANSWERED = _note(
    "The client gave no result, so treat this call as not executed. Nobody denied it; "
    "call the tool again if it is still needed."
)
"""The note for a client tool's call without a result."""

MALFORMED = _note(
    "Not executed: the arguments were not a complete JSON object. Nobody denied it; "
    "call the tool again with valid arguments if it is still needed."
)
"""The note for a call whose arguments were cut off or never were JSON."""


NO_RESULT = _note("The provider gave no result. Whether the call took effect is not known.")
"""The note for a call that the provider ran itself, and gave no result of."""


UNVERIFIED = "[The client reports this result. This server did not run the call and can't verify it.]"
"""The note before a result that only a client knows, of a call that isn't the client's own."""

UNFIT = (
    "[The application could not use the answer above: {}. Answer again, with nothing but JSON that fits the schema.]"
)
"""The note after an answer that has not the form that was asked for."""

_Notes = Mapping[int | None, str]
"""The notes for a message, by the number of its part; None stands for the whole message."""


class Outcome(msgspec.Struct, frozen=True):
    """The ledger's word on one call: what it came to, and the JSON arguments it ran (or would have run) with."""

    output: Output
    arguments: str


Outcomes = Mapping[tuple[str, str], Outcome]
"""The outcomes by (turn id, call id). They win over results among the entries, which may be a client's word."""

Settled = tuple[UserTurn | AssistantTurn, ...]


def sanitize(entries: Sequence[Entry], outcomes: Outcomes, vendor: str = "") -> Settled:
    """Settles ``entries``, for a model of this ``vendor``. What is settled can be settled again, and stays as it is."""
    return tuple(Part(entries).settled(outcomes, vendor))


def carrying(transcript: Transcript, consents: Mapping[str, bool]) -> Transcript:
    """Returns ``transcript`` for a request that tells the provider what was decided about calls that it holds.

    ``consents`` is by call id: see `Journal.consents`. Such a transcript is made for one request, and not kept.
    """
    if not consents:
        return transcript
    return tuple(_carrying(turn, consents) if isinstance(turn, AssistantTurn) else turn for turn in transcript)


def _carrying(turn: AssistantTurn, consents: Mapping[str, bool]) -> AssistantTurn:
    if not any(call.part.is_held and call.part.id in consents for call in turn.calls):
        return turn
    parts = tuple(
        msgspec.structs.replace(part, consent=consents.get(part.part.id))
        if isinstance(part, SettledCall) and part.part.is_held
        else part
        for part in turn.parts
    )
    return msgspec.structs.replace(turn, parts=parts)


class Part:
    """A part of a journal that is settled by itself.

    ``said`` are its entries with each message id once, and ``results`` those of its calls, in order of issue. ``names``
    are the ids by which the entries are known, or name others.

    Nearly always each id is one message's or one call's, and each call has at most one result, behind it. So all of
    this is found in one pass. Where it isn't so, `core/repeated_ids.py` looks closely.
    """

    __slots__ = ("_entries", "_is_plain", "names", "results", "said")

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = self.said = entries
        self.names: set[str] = set()
        self.results: Iterable[ResultEntry | None] = ()
        self._is_plain = self._look()
        if not self._is_plain:
            from agui_gate.core.repeated_ids import distinct, pair

            self.said = distinct(entries)
            self.results = pair(self.said)

    def _look(self) -> bool:
        """Finds results, and the ids by which entries are known or name others. Returns False where something is not as
        it is nearly always: then the results are others.
        """
        names: list[str] = []
        is_plain = True
        results: dict[str, ResultEntry | None] = {}  # by call, in order of issue
        for entry in self._entries:  # not `isinstance`: all of a long history comes here
            if type(entry) is UserEntry:
                names.append(entry.id)
            elif type(entry) is TurnEntry:
                names.append(entry.id)
                for part in entry.parts:
                    if type(part) is CallPart:
                        names.append(part.id)
                        results[part.id] = None
            elif type(entry) is ResultEntry:
                if results.get(entry.call_id, entry) is not None:  # of no call, or not the first one
                    is_plain = False
                    names.append(entry.call_id)
                results[entry.call_id] = entry
            elif type(entry) is LeftOutEntry:
                is_plain = False
                names.append(entry.call_id or entry.message_id)
            elif type(entry) is ActionEntry:
                is_plain = False
                names.append(entry.call_id)
        self.results, self.names = results.values(), set(names)
        return is_plain and len(self.names) == len(names)

    def settled(self, outcomes: Outcomes, vendor: str) -> list[UserTurn | AssistantTurn]:
        """Returns the turns: see `sanitize`."""
        left_out = _LeftOut(() if self._is_plain else self._entries, vendor)
        outputs, outcomes, notes = map(left_out.output, self.results), left_out.outcomes(outcomes), left_out.messages
        turns: list[UserTurn | AssistantTurn] = []
        turn: UserTurn | AssistantTurn | None
        for entry in self.said:
            if type(entry) is UserEntry:
                content = entry.content
                if len(content) == 1 and type(said := content[0]) is Text and not notes:
                    if said.text and not said.text.isspace():
                        turns.append(UserTurn(entry.id, content, entry.role))
                elif (turn := _user_turn(entry, notes.get(entry.id, {}), vendor)) is not None:
                    turns.append(turn)
            elif type(entry) is TurnEntry:
                if (turn := _assistant_turn(entry, outputs, outcomes)) is not None:
                    turns.append(turn)
                if entry.unfit:
                    turns.append(UserTurn(f"{entry.id}-unfit", (Text(UNFIT.format(entry.unfit)),), is_note=True))
            elif type(entry) is ActionEntry:
                turns.append(_action_turn(entry, notes.get(entry.call_id, {}), vendor))
        return turns


class _LeftOut:
    """The notes that the model is told in the place of what is left out: by message and part, and by call."""

    def __init__(self, entries: Sequence[Entry], vendor: str) -> None:
        self.messages: dict[str, dict[int | None, str]] = {}
        self.calls: dict[str, str] = {}
        self._vendor = vendor
        self._parts: dict[str, set[int]] = {}  # of results, by call
        if LeftOutEntry not in map(type, entries):
            return
        for entry in entries:
            if type(entry) is UserEntry:
                if entry.id in self.messages:  # an edit: the notes are about what it replaced
                    del self.messages[entry.id]
            elif type(entry) is LeftOutEntry:
                self._note(entry)

    def _note(self, entry: LeftOutEntry) -> None:
        if entry.call_id and entry.part is not None:
            self._parts.setdefault(entry.call_id, set()).add(entry.part)
        elif entry.call_id:
            self.calls[entry.call_id] = entry.note
        else:
            self.messages.setdefault(entry.message_id, {})[entry.part] = entry.note

    def outcomes(self, outcomes: Outcomes) -> Outcomes:
        """Returns the ledger's outcomes as the model is told them."""
        if not self.calls:
            return outcomes
        return {
            place: Outcome(Output(self.calls[place[1]], one.output.is_error), one.arguments)
            if place[1] in self.calls
            else one
            for place, one in outcomes.items()
        }

    def output(self, result: ResultEntry | None) -> Output | None:
        """Returns a result as the model is told it."""
        if result is None:
            return None
        if self.calls and (note := self.calls.get(result.call_id)) is not None:
            return Output(note, result.output.is_error)
        output = result.output
        if output.parts is not None or output.error:
            output = _as_told(output, self._vendor, self._parts.get(result.call_id, ()))
        return _after(UNVERIFIED, output) if result.unverified else output


def _user_turn(entry: UserEntry, notes: _Notes, vendor: str) -> UserTurn | None:
    """Returns the message without blank text, which providers refuse; None if nothing is left."""
    if None in notes:
        return UserTurn(entry.id, (Text(notes[None]),), entry.role)
    parts = [_part(part, notes.get(place), vendor) for place, part in enumerate(entry.content)]
    content = tuple([part for part in parts if not (isinstance(part, Text) and _blank(part.text))])
    return UserTurn(entry.id, content, entry.role) if content else None


def _part(part: Content, instead: str | None, vendor: str) -> Content:
    if instead is not None:
        return Text(instead)
    if not isinstance(part, Media):
        return part
    return Text(placeholder(part, FOREIGN)) if is_foreign(part, vendor) else normal(part)


def _action_turn(entry: ActionEntry, notes: _Notes, vendor: str) -> UserTurn:
    """Returns what the client says that the user did: in the user's name, since no model made that call."""
    done = f"{entry.name} {entry.arguments}: {_as_told(entry.output, vendor).content}"
    text = notes.get(None) or f"[The client reports what the user did; this server can't verify it: {done}]"
    return UserTurn(entry.call_id, (Text(text),))


def _assistant_turn(entry: TurnEntry, outputs: Iterator[Output | None], outcomes: Outcomes) -> AssistantTurn | None:
    """Returns the turn with its calls settled; None if it says nothing. Takes one of ``outputs`` for each call, kept or
    not.
    """
    part = entry.parts[0] if len(entry.parts) == 1 and not entry.cut else None  # as nearly all have
    if type(part) is TextPart:
        said: Any = entry.parts  # the same, as it is one text
        return None if _blank(part.text) else AssistantTurn(entry.id, said, entry.origin, entry.ref)
    if type(part) is CallPart and part.name != CARD_TOOL:
        call = _settled(entry.id, part, next(outputs), outcomes)
        return AssistantTurn(entry.id, (call,), entry.origin, entry.ref)
    return _whole_turn(entry, outputs, outcomes)


def _whole_turn(entry: TurnEntry, outputs: Iterator[Output | None], outcomes: Outcomes) -> AssistantTurn | None:
    parts: list[TextPart | ReasoningPart | SettledCall] = []
    ahead: list[ReasoningPart] = []
    silent = True
    for part in entry.parts:
        if type(part) is CallPart:
            output = next(outputs)
            if (entry.cut and part.kind != "hosted") or part.name == CARD_TOOL:
                ahead = []  # It preceded this call, and must not end up before anything else.
                continue
            parts += ahead
            parts.append(_settled(entry.id, part, output, outcomes))
            silent = False
        elif type(part) is ReasoningPart:
            if not entry.cut:
                ahead.append(part)
            continue
        elif type(part) is TextPart and (part.text or part.private):
            parts += [*ahead, part]
            silent = silent and (not part.text or part.text.isspace())
        ahead = []
    if silent:
        return None
    return AssistantTurn(entry.id, tuple(parts), "" if entry.cut else entry.origin, None if entry.cut else entry.ref)


def _settled(turn_id: str, part: CallPart, output: Output | None, outcomes: Outcomes) -> SettledCall:
    outcome = outcomes.get((turn_id, part.id)) if outcomes else None
    if part.malformed or parse_object(part.arguments) is None:
        part = _unreadable(part)
    if outcome is not None:
        return SettledCall(part, outcome.output, _as_run(part, outcome.arguments))
    return SettledCall(part, output or _no_result(part), part.arguments)


def _unreadable(part: CallPart) -> CallPart:
    """Returns the call with ``{}`` in place of arguments that are no JSON object. None at all (""), as of a tool that
    takes none, mean just that.
    """
    return msgspec.structs.replace(part, arguments="{}", malformed=part.malformed or not _blank(part.arguments))


def _as_run(part: CallPart, arguments: str) -> str:
    """Returns the arguments that ran, in the model's own words unless they mean something else."""
    ran = parse_object(arguments)
    if ran is None or arguments == part.arguments or canonical(ran) == canonical(part.arguments):
        return part.arguments
    return arguments


def _no_result(part: CallPart) -> Output:
    if part.kind == "hosted":
        return NO_RESULT
    if part.malformed:
        return MALFORMED
    return NOT_ANSWERED if part.kind == "client" else NOT_EXECUTED


def _blank(text: str) -> bool:
    return not text or text.isspace()


class TranscriptPrefix(msgspec.Struct, gc=False):
    """The settled beginning of one journal that is only added to, for models of a ``vendor``."""

    vendor: str
    size: int = 0
    """Entries of the journal that are settled."""
    made: dict[str, tuple[int, Any]] = {}
    """What adapters have made of the turns: see `Beginning`."""
    beginning: Beginning | None = None
    """The beginning of the transcript that `extend` returned last."""
    _turns: list[UserTurn | AssistantTurn] = []
    _names: dict[str, None] = {}
    _outcomes: dict[tuple[str, str], Outcome] = {}

    def _forget(self) -> None:
        self.size, self.made, self._turns, self._names, self._outcomes = 0, {}, [], {}, {}

    def fits(self, entries: Sequence[Entry], outcomes: Outcomes) -> bool:
        """Returns whether the beginning is the same in ``entries``, to which the journal has grown."""
        said = {place: outcome for place, outcome in outcomes.items() if place[1] in self._names}
        return said == self._outcomes and self._names.keys().isdisjoint(Part(entries[self.size :]).names)

    def extend(self, entries: Sequence[Entry], outcomes: Outcomes, place: int) -> Settled:
        """Returns what `sanitize` returns. What comes before ``place`` is settled for good, as far as one can know."""
        if self.size and not self.fits(entries, outcomes):
            self._forget()
        rest = self._go_on(entries, outcomes, place)
        transcript = (*self._turns, *rest.settled(outcomes, self.vendor))
        self.beginning = Beginning(transcript, len(self._turns), self.made)
        return transcript

    def _go_on(self, entries: Sequence[Entry], outcomes: Outcomes, place: int) -> Part:
        """Adds the entries before ``place`` to the beginning, unless something behind them is about them. Returns the
        rest.
        """
        if place > self.size:
            new, rest = Part(entries[self.size : place]), Part(entries[place:])
            if new.names.isdisjoint(rest.names):
                self._turns += new.settled(outcomes, self.vendor)
                self._names |= dict.fromkeys(new.names)
                self._outcomes |= {key: outcome for key, outcome in outcomes.items() if key[1] in new.names}
                self.size = place
                return rest
        return Part(entries[self.size :])


def _as_told(output: Output, vendor: str, gone: Container[int] = ()) -> Output:
    """Returns a client's result for a model of this ``vendor``: its text with what went wrong beside it, and its media
    (TOOL-3), without the parts at the places ``gone``. Mostly it is as it was.

    A part that no model could take, or that this one's provider can't have, is left out; the call is answered all the
    same.

    ``content`` is all of its text; ``parts`` are there where media are among them.
    """
    if output.parts is None and not output.error:
        return output
    text = "\n".join(dict.fromkeys(part for part in (output.content, output.error) if part))
    parts = tuple(
        normal(part) if isinstance(part, Media) else Text(part.text)
        for place, part in enumerate(output.parts or ())
        if place not in gone and _says_something(part, vendor)
    )
    if not any(isinstance(part, Media) for part in parts):
        return Output(text, output.is_error)
    return Output(text, output.is_error, parts=(*parts, Text(output.error)) if output.error else parts)


def _after(words: str, output: Output) -> Output:
    """Returns ``output`` with ``words`` before it."""
    parts = None if output.parts is None else (Text(words), *output.parts)
    return Output(f"{words}\n{output.content}", output.is_error, "", parts)


def _says_something(part: Content, vendor: str) -> bool:
    return not is_foreign(part, vendor) if isinstance(part, Media) else bool(part.text.strip())
