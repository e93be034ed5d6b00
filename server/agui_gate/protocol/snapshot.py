"""The thread as AG-UI messages: for MESSAGES_SNAPSHOT and ``GET /threads/{thread_id}``.

Ids and order are those of the stream (B21). Each text is an assistant message. A call hangs on the message named when
it started. A result follows the message that holds its call, and the results that were shown before it: that is where
clients put TOOL_CALL_RESULT. A call that still waits has no result, for a result is what ends its chip. Results come
from the ledger for gated calls and from the journal for the rest, paired as the sanitizer pairs them. A gated call has
the arguments that ran, or would run. It and its result, its cards and theirs, say in their metadata what the ledger
says (`_Shown._add_decision`). What belongs to a sub-agent has the id of its task as ``subagentRunId``.

What a client sent is restated as it came: what came in as parts comes back as parts, text alone as a string, and the
members that say nothing to a model are kept (`run_input.py`). Values are JSON-ready, in camelCase and
without nulls, and of the shapes of 1.x. What of them a client is shown, and how, is its dialect's to say
(`protocol/dialects/`).

Divergence: arguments that are not a JSON object are shown as ``{}`` (the schema allows any text), because clients parse
them while rendering.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.events import METADATA
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.message_index import REPLACED
from agui_gate.core.sanitizer import Part
from agui_gate.core.transcript import (
    CARD_TOOL,
    ActionEntry,
    ActivityEntry,
    CallPart,
    CardClosedEntry,
    CardEntry,
    Content,
    Entry,
    KeptEntry,
    Media,
    Output,
    ReasoningPart,
    ReplacedEntry,
    ReportedEntry,
    ResultEntry,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
)
from agui_gate.protocol.cards import in_order, metadata
from agui_gate.protocol.dialects.base import Message, Place, View
from agui_gate.protocol.dialects.v0 import VIEW

EVERYTHING: View = VIEW
"""The view of a reader who is shown all that there is."""

PARAGRAPH = "\n\n"
"""Between the paragraphs of visible reasoning, in the stream as here."""

RAN_BEFORE = "Ran in an answer that was replaced; what it did stays done."
"""The content of a message that holds such calls, for pages that know nothing of its metadata."""


UNTYPED = "application/octet-stream"
"""The media type of inline bytes that came without one; the schema requires it there."""


def agui_messages(
    entries: Sequence[Entry], approvals: Sequence[Approval], *, view: View = EVERYTHING, untold: bool = True
) -> list[Message]:
    """Returns the messages of a thread with these ``entries`` and ``approvals``, oldest first. Linear.

    ``view``: what of it is shown, and where; by default everything. Content has the
    shapes of 1.x whatever the view. ``untold``: outcomes that no stream has told yet are shown, too. Where a run goes
    on from here they are not: it tells them itself (TOOL-2).
    """
    part = Part(entries)
    shown = _Shown(part.said, approvals, view, untold=untold)
    results = iter(part.results)
    for entry in part.said:
        if isinstance(entry, TurnEntry):
            shown.turn(entry, results)
        else:
            shown.entry(entry)
    return shown.messages()


def result_id(call_id: str) -> str:
    """Returns the id of the message that holds a gated call's result: the same in the stream, after a restart and
    here.
    """
    return f"{call_id}-result"


class _Shown:
    """Messages in the making: groups of one message and the results that follow it."""

    def __init__(self, entries: Sequence[Entry], approvals: Sequence[Approval], view: View, *, untold: bool) -> None:
        self._view, self._untold = view, untold
        self._shown_cards = view.cards(entries)
        self._undecided: dict[
            str, tuple[TurnEntry, CallPart, ResultEntry | None]
        ] = {}  # to be shown where their outcome was told
        self._arrived = {id(e): place for place, e in enumerate(entries) if isinstance(e, ResultEntry)}
        self._reported = {e.call_id: place for place, e in enumerate(entries) if isinstance(e, ReportedEntry)}
        self._places: dict[int, int] = {}
        self._never = len(entries)
        self._records = {(approval.turn_id, approval.call_id): approval for approval in approvals}
        self._by_id = {name: approval for approval in approvals for name in (approval.was, approval.id) if name}
        self._order: dict[str, dict[str, Any]] = {}
        self._metadata: dict[str, Message] = {}
        self._by_call = {approval.call_id: approval for approval in approvals}
        self._groups: list[list[Message]] = []
        self._users: dict[str, int] = {}  # where the message with that id is
        self._activities: dict[str, Message] = {}
        self._tasks: dict[str, str] = {}  # of calls that were made in one
        self._assistants: dict[str, list[Message]] = {}
        self._cards: dict[str, tuple[list[Message], Approval | None]] = {}

    def messages(self) -> list[Message]:
        for group in self._groups:
            group.sort(key=self._place)  # stable, and the message itself has no place
        return [message for group in self._groups for message in group]

    def _place(self, message: Message) -> int:
        """Returns when a result was shown; what was not shown yet comes last, in the order of the calls."""
        return self._places.get(id(message), -1)

    def entry(self, entry: Entry) -> None:
        """Shows one entry that is no turn."""
        if isinstance(entry, UserEntry):
            self._user(entry)
        elif isinstance(entry, ReportedEntry | ResultEntry):
            if (decided := self._undecided.pop(entry.call_id, None)) is not None:
                self._call_with_result(*decided)
        elif isinstance(entry, ActionEntry):
            self._action(entry)
        elif isinstance(entry, CardEntry):
            self._card(entry)
        elif isinstance(entry, CardClosedEntry):
            self._card_closed(entry)
        elif isinstance(entry, ReplacedEntry):
            self._replaced(entry)
        elif isinstance(entry, KeptEntry):
            self._groups.append([msgspec.json.decode(entry.message)])
        elif isinstance(entry, ActivityEntry):
            self._activity(entry)

    def turn(self, entry: TurnEntry, results: Iterator[ResultEntry | None]) -> None:
        """Shows a turn as it was streamed. ``results`` has the one of each of its calls next, as they are paired."""
        after: list[tuple[CallPart, ResultEntry | None]] = []
        for part in entry.parts:
            if not isinstance(part, CallPart):
                self._said(part, entry)
                continue
            paired = next(results)
            match self._view.place(part, paired, self._records.get((entry.id, part.id))):
                case Place.HERE:
                    self._call_with_result(entry, part, paired)
                case Place.AFTER:
                    after.append((part, paired))
                case Place.DECIDED:
                    self._undecided[part.id] = entry, part, paired
        for part, paired in after:
            self._call_with_result(entry, part, paired)
        if entry.cut:
            self._cut_off(entry)
        if entry.task:
            self._tasks |= dict.fromkeys([entry.id, *(call.id for call in entry.calls)], entry.task)
        if entry.more is not None:
            with_more(self._assistant(entry.id, entry.task)[0], entry.more)

    def _user(self, entry: UserEntry) -> None:
        content = content_of(entry.content)
        if entry.role != "user" and not isinstance(content, str):  # Only users' messages may have parts.
            content = "\n".join(part.text for part in entry.content if isinstance(part, Text))
        message = {"id": entry.id, "role": entry.role, "content": content}
        shown = [message if entry.more is None else with_more(message, entry.more)]
        place = self._users.setdefault(entry.id, len(self._groups))
        if place == len(self._groups):
            self._groups.append(shown)
        else:  # changed while a call waited, so that the model was told both (`approvals/unanswered_calls.py`)
            self._groups[place] = shown

    def _said(self, part: TextPart | ReasoningPart, turn: TurnEntry) -> None:
        """Shows text or reasoning; empty texts and invisible reasoning were not streamed."""
        if isinstance(part, TextPart):
            if part.text:
                message = self._assistant(part.id, turn.task, turn.agent)[0]
                message["content"] = message.get("content", "") + part.text
        elif part.summary or part.encrypted:
            message = {"id": part.id, "role": "reasoning", "content": PARAGRAPH.join(part.summary)}
            if part.encrypted:
                message["encryptedValue"] = part.encrypted
            self._groups.append([_of(turn.task, message)])

    def _cut_off(self, turn: TurnEntry) -> None:
        """Says of the last text of a turn that its stream did not finish; of its last reasoning, if it said nothing."""
        texts = [part.id for part in turn.parts if isinstance(part, TextPart) and part.text]
        last = (texts or [part.id for part in turn.parts if isinstance(part, ReasoningPart)])[-1:]
        for message in (group[0] for group in reversed(self._groups) if last and group[0]["id"] == last[0]):
            message["metadata"] = {METADATA: {"cut": True}}
            break

    def _call_with_result(self, entry: TurnEntry, part: CallPart, paired: ResultEntry | None) -> None:
        record = self._records.get((entry.id, part.id))
        self._assistant(part.parent_id or entry.id, entry.task)
        group = self._call(part.parent_id or entry.id, part.id, part.name, part.arguments, record)
        if part.more is not None:
            with_more(group[0]["toolCalls"][-1], part.more)
        self._result(entry, part, paired)

    def _call(self, message_id: str, call_id: str, name: str, arguments: str, record: Approval | None) -> list[Message]:
        """Adds a call of the model's. A gated one gets the arguments that ran. Returns its message's group."""
        issued = parse_object(arguments)
        if record is not None:
            self._order[record.id] = {"properties": issued or {}}
            arguments = as_run(arguments, record, issued)
        elif issued is None:
            arguments = "{}"
        return self._hang(message_id, call_id, name, arguments, record)

    def _hang(self, message_id: str, call_id: str, name: str, arguments: str, record: Approval | None) -> list[Message]:
        """Hangs a call on its message, and returns the message's group."""
        group = self._assistant(message_id)
        call: Message = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        group[0].setdefault("toolCalls", []).append(self._add_decision(record, call))
        return group

    def _result(self, entry: TurnEntry, part: CallPart, paired: ResultEntry | None) -> None:
        """Adds what the call came to, if it is known: by the ledger's word, else as the journal has it."""
        record = self._records.get((entry.id, part.id))
        if record is not None and record.output is not None:
            if not self._untold and part.id not in self._reported:
                return
            message = self._add_decision(record, tool_message(result_id(part.id), part.id, record.output))
            place = self._reported.get(part.id, self._never)
        elif paired is not None:
            message = self._add_decision(
                record, tool_message(paired.message_id or result_id(part.id), part.id, paired.output)
            )
            if paired.more is not None:
                with_more(message, paired.more)
            place = self._arrived[id(paired)]
        else:
            return
        self._places[id(message)] = place
        self._assistant(part.parent_id or entry.id).append(_of(entry.task, message))

    def _action(self, entry: ActionEntry) -> None:
        """Shows what the user did in a component as the client told it."""
        group = self._call(entry.message_id, entry.call_id, entry.name, entry.arguments, None)
        group.append(tool_message(entry.result_id, entry.call_id, entry.output))

    def _card(self, entry: CardEntry) -> None:
        if entry.id not in self._shown_cards:
            return
        record = self._by_id.get(entry.approval_id)
        self._cards[entry.id] = self._hang(entry.message_id, entry.id, CARD_TOOL, entry.arguments, record), record

    def _card_closed(self, entry: CardClosedEntry) -> None:
        """Adds a card's answer. The first one counts, except that a note gives way to an answer after it."""
        group, record = self._cards.get(entry.card_id, (None, None))
        if group is None or not self._view.shows_end(entry):
            return
        known = next((m for m in group if m.get("toolCallId") == entry.card_id), None)
        if known is None:
            group.append(
                self._add_decision(record, tool_message(entry.message_id, entry.card_id, Output(entry.content)))
            )
        elif known["content"] == REPLACED:
            known["content"] = entry.content

    def _activity(self, entry: ActivityEntry) -> None:
        """Shows what a call's tool showed: where that began, as it was last."""
        message = self._activities.get(entry.message_id)
        if message is None:
            task = self._tasks.get(entry.call_id, "")
            message = self._activities[entry.message_id] = _of(task, {"id": entry.message_id, "role": "activity"})
            self._groups.append([message])
        message |= {"activityType": entry.kind, "content": entry.content}

    def _replaced(self, entry: ReplacedEntry) -> None:
        """Adds what was approved and ran in an answer that is gone: calls of a message of its own, with their
        results.
        """
        for call_id, issued in entry.gated:
            record = self._by_call.get(call_id)
            if record is None:
                continue
            group = self._call(entry.id, call_id, record.tool, issued, record)
            group[0] |= {"content": RAN_BEFORE, "metadata": {METADATA: {"replaced": True}}}
            if record.output is not None:
                group.append(self._add_decision(record, tool_message(result_id(call_id), call_id, record.output)))

    def _add_decision(self, record: Approval | None, item: Message) -> Message:
        """Adds to ``item``, as metadata, what was decided, by whom and with which arguments, as the record says it."""
        if record is None:
            return item
        said = self._metadata.get(record.id)
        if said is None:
            said = self._metadata[record.id] = metadata(record, self._order.get(record.id))
        item["metadata"] = said
        return item

    def _assistant(self, message_id: str, task: str = "", agent: str = "") -> list[Message]:
        """Returns the group of an assistant's message. ``agent`` says it ("": the entry agent, which has no name here).

        A message that has calls alone has no name, as there is none in the stream.
        """
        group = self._assistants.get(message_id)
        if group is None:
            message = {"id": message_id, "role": "assistant"}
            group = self._assistants[message_id] = [_of(task, message | {"name": agent} if agent else message)]
            self._groups.append(group)
        return group


def _of(task: str, message: Message) -> Message:
    """Returns ``message``, saying to which sub-agent it belongs, if to any."""
    if task:
        message["subagentRunId"] = task
    return message


def as_run(text: str, record: Approval, issued: dict[str, Any] | None = None) -> str:
    """Returns the arguments that ran or would run, in the model's own words (``text``) unless they mean something
    else. ``issued``: what ``text`` is read as, where that is known.
    """
    issued = parse_object(text) if issued is None else issued
    effective = record.effective_arguments  # canonical
    if issued is not None and (text == effective or canonical(issued) == effective):
        return text
    return msgspec.json.encode(in_order(effective, {"properties": issued or {}})).decode()


def content_of(content: Sequence[Content]) -> str | list[Message]:
    """Returns a string where text is all there is, and came as that; else parts."""
    if not content:
        return ""
    first = content[0]
    if len(content) == 1 and isinstance(first, Text) and first.more is None:
        return first.text
    return [_part(part) for part in content]


def tool_message(message_id: str, call_id: str, output: Output) -> Message:
    """Returns a result, with its error beside it where it is one."""
    content = output.content if output.parts is None else [_part(part) for part in output.parts]
    message: Message = {"id": message_id, "role": "tool", "toolCallId": call_id, "content": content}
    if output.is_error:
        message["error"] = output.error or output.content
    return message


def _part(part: Content) -> Message:
    shown = (
        {"type": "text", "text": part.text} if isinstance(part, Text) else {"type": part.kind, "source": _source(part)}
    )
    return shown if part.more is None else with_more(shown, part.more)


def _source(media: Media) -> Message:
    source = {"type": media.source, "value": media.value}
    mime_type = media.mime_type or (UNTYPED if media.source == "data" else None)
    if mime_type:
        source["mimeType"] = mime_type
    if media.provider is not None:
        source["provider"] = media.provider
    return source


def with_more(item: dict[str, Any], kept: str) -> dict[str, Any]:
    """Returns ``item`` with what was kept beside it."""
    item.update(msgspec.json.decode(kept))
    return item
