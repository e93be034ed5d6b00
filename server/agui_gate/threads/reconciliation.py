"""Compares a request with its thread and returns what is new in it. It is pure.

The server's journal is the authority for what the server issued. From the client's replayed history it takes only
what the client alone can know:

* new messages of the user (by id; without an id, by their place among equal ones);
* results of client tools, what the user did in a component (`Actions`), and answers.

A thread the server has never seen is built from the client's history (`import_history`). Nothing of it is trusted as an
approval. Results of calls that are not the client's own are marked as unverified: this server did not see them run.
Nearly all of its messages are plain, which the decoder says by their classes (`request_shapes.py`): what is made of
these is made without a look at what they don't have.

Clients report what the user did in a component as a call that no model made, with its result. `log_a2ui_event` of
``@ag-ui/a2ui-middleware`` comes like that, without a message of the user's. It is taken once, when it is new: its call
is unknown here, and stands behind all that is known of the request's history. A pair of the server's own tools counts
for nothing, whatever it says.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from agui_gate.core import answers as an
from agui_gate.core import result_texts
from agui_gate.core.answers import Answer, Way
from agui_gate.core.approvals import Approval
from agui_gate.core.journal import Journal
from agui_gate.core.media import placeholder, problem
from agui_gate.core.message_index import is_answerable
from agui_gate.core.registry import ApprovalIndex
from agui_gate.core.transcript import (
    CARD_TOOL,
    ActionEntry,
    CallPart,
    CardClosedEntry,
    Content,
    Entry,
    KeptEntry,
    LeftOutEntry,
    Media,
    Output,
    ResultEntry,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
)
from agui_gate.protocol.request_shapes import PlainAssistantShape, PlainToolShape, PlainUserShape
from agui_gate.protocol.run_input import FunctionCall, Message, RunInput, parts, says_nothing

NewId = Callable[[], str]

ANSWERED_BEFORE = "it is to a card that was answered before"
ASKED_BEFORE = "it is to a question from before a backup was restored, which is asked again"


def new_id() -> str:
    """Returns a fresh random id: 32 hex digits."""
    return os.urandom(16).hex()


class Intake(msgspec.Struct, kw_only=True):
    """The part of a request that is new. ``keep`` is set when it branches back: the journal's first ``keep`` entries
    stay.

    ``said``: the user said something new. ``unknown``: what its answers named that this thread never asked.
    ``repeated``: approvals that were decided before and are answered again; ``late``: those of them that are answered
    in another way now than they were decided. ``index`` finds the approvals of the thread. ``behind``: the client has
    dropped the beginning of an answer that goes on. ``calls``: those in a whole history. ``is_plain``: it has no parts.
    """

    entries: list[Entry] = msgspec.field(default_factory=list)
    calls: Sequence[CallPart] = ()
    is_plain: bool = False
    answers: list[Answer] = msgspec.field(default_factory=list)
    repeated: list[Approval] = msgspec.field(default_factory=list)
    late: list[Approval] = msgspec.field(default_factory=list)
    index: ApprovalIndex = ApprovalIndex()  # of a new thread: empty, so that nobody changes it
    keep: int | None = None
    said: bool = False
    behind: bool = False
    unknown: list[str] = msgspec.field(default_factory=list)


def take(run: RunInput, journal: Journal, new_id: NewId, way: Way = "resume", ours: Container[str] = ()) -> Intake:
    """Compares a request with the thread it is for. ``way`` is how its `resume[]` came.

    ``ours`` are the names of the tools that the server runs. The journal is only read.
    """
    if not journal.entries:
        intake = import_history(run.messages, new_id, [name for name in run.client_tools if name not in ours])
        said = next((e for e in reversed(intake.entries) if not isinstance(e, LeftOutEntry | KeptEntry)), None)
        intake.said = isinstance(said, UserEntry)
        intake.unknown = [entry.interrupt_id for entry in run.resume or ()]
        return intake
    return _Comparison(run, journal, new_id, ours).take(way)


class _Comparison:
    """Compares one request with one known thread: with what the journal knows, and what the request has said so far."""

    def __init__(self, run: RunInput, journal: Journal, new_id: NewId, ours: Container[str]) -> None:
        self.run, self.journal, self.new_id = run, journal, new_id
        self.index = ApprovalIndex(journal.approvals.values(), journal.cards.approvals)
        self.actions = Actions(run.messages, journal, ours)
        self.users: set[str] = set()
        self.resulted: set[str] = set()
        self.said: dict[str, set[str]] = {}  # to each card, by its id
        self.matched = 0  # of the messages without an id, in order
        self.shown = {m.tool_call_id for m in run.messages if m.role == "tool"}  # calls whose result the client has
        last = takewhile(lambda m: m.role == "tool", reversed(run.messages))
        self.newest = {id(m) for m in last}  # history that is sent again has its answers further up
        self.intake = Intake(index=self.index)

    def take(self, way: Way) -> Intake:
        for entry in self.run.resume or ():
            self._answer(an.from_resume(entry.interrupt_id, entry.status, entry.payload, way))
        props = self.run.forwarded_props
        command = an.from_command(props.get("command")) if isinstance(props, dict) else None
        if command is not None:
            self._answer(command)
        known, users = self.journal.returned_calls(self.shown), self.journal.messages.users
        for message in self.run.messages:  # nearly all of a history says nothing new, so it is left out first
            role = message.role
            if role == "tool":
                if message.tool_call_id not in known:
                    self._tool(message)
            elif role in ("user", "system", "developer") and (message.id not in users or message.function_approvals):
                self._user(message)
        self._branch()
        return self.intake

    def _answer(self, answer: Answer) -> None:
        found = self._found(answer)
        if found is None:
            self.intake.unknown.append(answer.id)
        elif found.is_pending:
            if self.index.is_old(answer.id, answer.target, "approval", "call"):
                answer = msgspec.structs.replace(answer, problem=ASKED_BEFORE, given=None)
            self.intake.answers.append(msgspec.structs.replace(answer, target="approval", id=found.id))
        else:
            self._too_late(found, answer)

    def _too_late(self, approval: Approval, answer: Answer) -> None:
        from agui_gate.approvals.edits import agrees

        self.intake.repeated.append(approval)
        if not agrees(answer, approval):
            self.intake.late.append(approval)

    def _tool(self, message: Message) -> None:
        call_id = message.tool_call_id or ""
        call = self.journal.call(call_id)
        if call_id in self.journal.cards:
            self._card(call_id, message)
        elif (approval := self.index.find(call_id, "call")) is not None:
            self._on_call(approval, message)
        elif call is None:
            self._of_nobody(call_id, message)
        elif call.kind == "client" and not (self.journal.has_result(call_id) or call_id in self.resulted):
            self.resulted.add(call_id)
            result = ResultEntry(call_id, message.id or self.new_id(), reported(message), more=message.more())
            self.intake.entries += admitted(result)

    def _of_nobody(self, call_id: str, message: Message) -> None:
        """Takes a result of a call that nobody made here: what the user did in a component, or nothing."""
        if call_id not in self.actions:
            if message is self.run.messages[-1]:
                self.intake.unknown.append(call_id)
        elif done := self.actions.take(message, self.new_id):
            self.intake.entries += done
            self.intake.said = True

    def _on_call(self, approval: Approval, message: Message) -> None:
        """Takes a tool message for a gated call: an answer, or what clients replay of its result, which says
        nothing.
        """
        if approval.is_pending:
            self._answer(an.from_text("call", approval.call_id, message.text))
            return
        result = self.journal.result(approval.call_id) if approval.is_begun else approval
        said, told = message.text, result.output.content if result and result.output else None
        if id(message) in self.newest and said != told and an.looks_like_answer(said):
            self._too_late(approval, an.from_text("call", approval.call_id, said))

    def _card(self, card_id: str, message: Message) -> None:
        approval = self.index.find(card_id, "card")
        decided = approval is not None and not approval.is_pending
        said = self.said.setdefault(card_id, set(self.journal.cards.said(card_id)))
        if message.text in said:
            if approval is not None and decided and approval.call_id not in self.shown:
                self.intake.repeated.append(approval)  # this client has not seen what came of it
            return
        if approval is not None:
            answer = an.from_text("card", card_id, message.text, "card")
            if not decided and not is_answerable(said):
                answer = msgspec.structs.replace(answer, problem=ANSWERED_BEFORE)
            self._answer(answer)
        said.add(message.text)
        closed = CardClosedEntry(card_id, message.id or self.new_id(), message.text)
        true = result_texts.on_cards(approval) if decided and approval is not None else None
        if true is not None:  # and not what was clicked
            closed = msgspec.structs.replace(closed, content=true.content, said=message.text)
        self.intake.entries.append(closed)

    def _user(self, message: Message) -> None:
        known = self._is_known(message)
        for item in message.function_approvals or ():
            answer = an.from_function_approval(item)
            if answer is None or (known and self._is_decided(answer)):
                continue
            if self._names_two(item, answer):
                answer = msgspec.structs.replace(answer, problem="'id' and 'call_id' name different calls")
            self._answer(answer)
        entry = None if known else user_entry(message, self.new_id)
        if entry is None:
            return
        if not entry.minted:
            self.users.add(entry.id)
        self.intake.entries += admitted(entry)
        self.intake.said |= entry.role == "user"

    def _is_decided(self, answer: Answer) -> bool:
        found = self._found(answer)
        return found is None or not found.is_pending

    def _names_two(self, item: Any, answer: Answer) -> bool:
        """Returns whether a function approval's ``id`` is another call's than its ``call_id``: ambiguous means no."""
        claimed = item.get("id")
        other = self.index.find(claimed, "approval", "call") if isinstance(claimed, str) else None
        return other is not None and other is not self._found(answer)

    def _found(self, answer: Answer) -> Approval | None:
        """Returns the record that an answer is to. Clients give a call's id for an approval's, and the other way
        round.
        """
        return self.index.find(answer.id, answer.target, "approval", "call")

    def _is_known(self, message: Message) -> bool:
        if message.id:
            return message.id in self.users or self.journal.messages.place_of(message.id) is not None
        places = self.journal.messages.places_of(parts(message.content))
        at = bisect_left(places, self.matched)
        if at == len(places) or (message is self.run.messages[-1] and not self._repeats(places)):
            return False  # said again, as the newest message (B12)
        self.matched = places[at] + 1
        return True

    def _repeats(self, places: Sequence[int]) -> bool:
        """Returns whether a request's last message, which has no id, is the thread's last one sent again beside an
        answer.

        Without an answer it is what the request is for, whatever was said before.
        """
        return bool(self.run.resume or self.intake.answers) and places[-1] == self.journal.messages.unnamed - 1

    def _branch(self) -> None:
        """Branches back where the history ends at a message that the server has answered: that means "go back to it".

        Who answers doesn't mean that, but for who cancels what is in the way. See
        docs/http-api.md#the-clients-history.
        """
        intake = self.intake
        if intake.repeated or intake.unknown or intake.entries or any(a.choice != "cancel" for a in intake.answers):
            return
        last = next((m for m in reversed(self.run.messages) if m.role not in ("activity", "reasoning")), None)
        if last is None or last.role != "user" or not last.id:
            return
        index = self.journal.messages.place_of(last.id)
        if index is None:
            return
        entry = self.journal.entries[index]
        content = parts(last.content)
        if isinstance(entry, UserEntry) and not says_nothing(content) and content != entry.content:
            intake.keep = index
            intake.entries += admitted(UserEntry(entry.id, content, entry.role, entry.minted, last.more()))
            intake.said = True
        elif self.journal.is_answered(index):
            intake.keep = index + 1
        else:  # while its answer is under way, the request is a retry (B10)
            intake.behind = self.journal.has_turn_after(index)


class Actions:
    """The pairs of one request, for one known thread. ``ours``: the names of the tools that the server runs."""

    def __init__(self, messages: Sequence[Message], journal: Journal, ours: Container[str]) -> None:
        self._journal, self._ours = journal, ours
        self._taken: set[str] = set()  # ids of calls that this request brought
        self._calls: dict[str, tuple[Message, FunctionCall]] = {}
        for message in messages[_first_new(messages, journal) :]:
            self._calls.update((call.id, (message, call.function)) for call in message.tool_calls or ())

    def __contains__(self, call_id: str) -> bool:
        """Returns whether this is the call of such a pair, known or new."""
        return self._is_known(call_id) or self._is_new(call_id)

    def take(self, message: Message, new_id: Callable[[], str]) -> list[ActionEntry]:
        """Returns the entry that a tool message reports; an empty list if it was taken before."""
        call_id = message.tool_call_id or ""
        if not self._is_new(call_id):
            return []
        self._taken.add(call_id)
        shown, call = self._calls[call_id]
        return [
            ActionEntry(
                message_id=shown.id or new_id(),
                call_id=call_id,
                name=call.name,
                arguments=call.arguments or "{}",
                result_id=message.id or new_id(),
                output=reported(message),
            )
        ]

    def _is_known(self, call_id: str) -> bool:
        return call_id in self._taken or self._journal.is_action(call_id)

    def _is_new(self, call_id: str) -> bool:
        if call_id not in self._calls or self._is_known(call_id) or self._journal.has_result(call_id):
            return False
        name = self._calls[call_id][1].name  # a source may be away now, so what was called counts too
        return name not in self._ours and not self._journal.has_issued(name) and name != CARD_TOOL


def _first_new(messages: Sequence[Message], journal: Journal) -> int:
    """Returns the place behind the last message that the thread knows. What stands before it is history, of whatever
    kind.
    """
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        has_ended = message.role == "tool" and journal.knows_call(message.tool_call_id or "")
        if has_ended or (message.id or "") in journal.messages:
            return place + 1
    return 0


def user_entry(message: Message, new_id: NewId) -> UserEntry | None:
    """Returns a user's, system's or developer's message; None if it says nothing."""
    plain = type(message.content) is str
    content: tuple[Content, ...] = (Text(message.content),) if plain else parts(message.content)
    if not message.content or (not plain and says_nothing(content)):
        return None
    role: Any = message.role  # one of three
    return UserEntry(message.id or new_id(), content, role, not message.id, message.more())


def reported(message: Message) -> Output:
    """Returns the output that a tool message reports for its call."""
    content, error = message.content, message.error
    said = parts(content) if type(content) is list else None
    return Output(content if type(content) is str else message.text, error is not None, error or "", said)


def admitted(entry: Entry) -> Iterator[Entry]:
    """Yields an entry, and notes in the place of what no provider could take of a message or a result."""
    yield entry
    content: Sequence[Content] = ()
    message_id = call_id = ""
    if isinstance(entry, UserEntry):
        content, message_id = entry.content, entry.id
    elif isinstance(entry, ResultEntry):
        content, call_id = entry.output.parts or (), entry.call_id
    for place, part in enumerate(content):
        if isinstance(part, Media) and (reason := problem(part)) is not None:
            yield LeftOutEntry(placeholder(part, reason), message_id, place, call_id)


def import_history(messages: Sequence[Message], new_id: NewId, client_tools: Collection[str] = ()) -> Intake:
    """Returns a client's history, for a thread the server has never seen. Cards and activity stay out (B8).

    ``client_tools`` are the names of the tools that the client runs itself, so that it knows their results. What a
    sub-agent said is shown again, and no model is told it: the result of the call that delegated says what came of it.
    """
    cards, theirs = _ids_of_calls(messages, client_tools)
    found: list[Entry] = []
    calls: list[CallPart] = []
    is_plain = True
    for message in messages:
        kind, message_id, text = type(message), message.id, message.content
        if kind is PlainUserShape and message_id and text:  # nearly all are like one of these two, or a plain turn
            found.append(UserEntry(message_id, (Text(text),)))
            continue
        call_id = message.tool_call_id if kind is PlainToolShape and message_id and '"a' not in text else None
        if call_id and message_id and call_id not in cards:
            found.append(ResultEntry(call_id, message_id, Output(text), call_id not in theirs))
            continue
        entry: Entry | None = _plain_turn(message, calls) if kind is PlainAssistantShape else None
        entry = entry or _unusual(message, new_id, calls, cards, theirs)
        if entry is not None and type(text) is list:
            is_plain = False
            found += admitted(entry)
        elif entry is not None:
            found.append(entry)
    return Intake(entries=found, calls=calls, is_plain=is_plain)


def _ids_of_calls(messages: Sequence[Message], client_tools: Collection[str]) -> tuple[set[str], set[str]]:
    """Returns the ids of the cards among the calls, and of those to the client's own tools."""
    names = {CARD_TOOL, *client_tools}
    called = [call for m in messages if (made := m.tool_calls) for call in made if call.function.name in names]
    cards = {call.id for call in called if call.function.name == CARD_TOOL}
    return cards, {call.id for call in called if call.function.name in client_tools}


def _plain_turn(message: Message, calls: list[CallPart]) -> TurnEntry | None:
    """Returns a turn of text and calls with nothing beside them; None for what says nothing."""
    turn_id, text = message.id, message.content
    if not turn_id or (text is not None and (not text or text.isspace())):
        return None
    if not message.tool_calls:
        return None if text is None else TurnEntry(turn_id, (TextPart(turn_id, text),))
    parts: list[TextPart | CallPart] = [] if text is None else [TextPart(turn_id, text)]
    for call in message.tool_calls:
        made = call.function
        if call.id and made.name and made.name != CARD_TOOL:
            part = CallPart(call.id, call.id, made.name, made.arguments or "{}", turn_id, "client")
            calls.append(part)
            parts.append(part)
    return TurnEntry(turn_id, tuple(parts)) if parts else None


def _unusual(message: Message, *rest: Any) -> Entry | None:
    """Returns what `unusual_messages.imported` does, which few histories need."""
    from agui_gate.threads.unusual_messages import imported

    return imported(message, *rest)
