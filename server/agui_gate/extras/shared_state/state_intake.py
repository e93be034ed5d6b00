"""Decides what becomes of the shared state that a request brings (docs/state.md#conflicts).

A state that the page sends replaces what is kept, but for two cases. One that says nothing (`{}`, or none at all)
changes nothing: clients say that after a reload. And one that is older than what is kept takes nothing back.

Each change by a tool makes a new version of the state, and the journal has an entry for it (`StateEntry`). A request's
history says how far its page has read. A page that shows nothing of what came after the entry, nor the result of its
call, has not seen that version. So what it sends is a change of the version before, which the entries lead back to. If
it is that version itself, what is kept stays. If not, what the page has changed is done to what is kept. Where that is
not possible, what is kept stays. The page is told by STATE_SNAPSHOT.

What a page was shown of arguments (`extras/shared_state/previews.py`) comes back with its state, and is not its own
word.
"""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import structlog

from agui_gate.agents.state_form import StateForm, Unfit
from agui_gate.core.argument_preview import Place, found, put_back
from agui_gate.core.journal import Journal
from agui_gate.core.json_changes import NotApplicable, difference, patched
from agui_gate.core.json_text import canonical, parse_object, plain
from agui_gate.core.transcript import CallPart, Entry, ReportedEntry, ResultEntry, StateEntry, TurnEntry, UserEntry
from agui_gate.errors import InvalidRequest
from agui_gate.protocol.run_input import Message, RunInput

log = structlog.get_logger("agui_gate.state")

_sorted = msgspec.json.Encoder(order="sorted").encode


class Preview(NamedTuple):
    """A preview: a call's arguments as a page shows them, and the place where."""

    call_id: str
    place: Place
    arguments: dict[str, Any]


def to_keep(run: RunInput, journal: Journal, kept: Any) -> tuple[Any, list[Preview]]:
    """Returns the state that is to be kept from now on, of the one that a request brings and the one that is ``kept``.

    Also which previews its page shows, of calls that still wait.
    """
    sent = run.state
    if not sent or not (journal.has_state_entries or journal.calls.previews) or same(sent, kept):
        return sent or kept, []
    unseen = _unseen(journal.entries, run.messages)
    before = _before(kept, unseen)
    sent, previews = _without_previews(sent, kept if before is None else before, journal)
    waiting = {approval.call_id for approval in journal.pending()}
    kept = _merged(sent, before, kept, again=_goes_back(run.messages, journal)) if unseen else sent
    return kept, [preview for preview in previews if preview.call_id in waiting]


def check_fit(run: RunInput, journal: Journal, kept: Any, form: StateForm) -> None:
    """Raises `InvalidRequest` for a state that the agent's model doesn't take.

    One that says nothing is always good. So is the one that is ``kept``: it was kept under another model, counts as
    none now (`SharedState.take_form`), and its page was told it here.
    """
    if not run.state or form.model is None:
        return
    sent, _ = _without_previews(run.state, kept, journal)
    try:
        form.fitted(msgspec.json.encode(sent))
    except Unfit as unfit:
        if kept is None or not same(sent, kept):
            raise InvalidRequest(str(unfit), well_formed=True) from None


def same(left: Any, right: Any) -> bool:
    """Returns whether two JSON values are the same. To Python, 1 is True; to a browser, 1.0 is 1."""
    return bool(left == right) and (_sorted(left) == _sorted(right) or canonical(left) == canonical(right))


def _without_previews(sent: Any, kept: Any, journal: Journal) -> tuple[Any, list[Preview]]:
    """Returns ``sent`` without what its page was only shown of arguments, and which these are. What the page has
    changed there is its own.
    """
    shown: list[Preview] = []
    for call_id, place in reversed(journal.calls.previews.items()):
        call = journal.call(call_id)
        arguments = (parse_object(call.arguments) if call is not None else None) or {}
        theirs = [name for name, value in arguments.items() if same(found(sent, (*place, name)), (value,))]
        for name in theirs:
            sent = put_back(sent, (*place, name), kept or {})
        if theirs:
            shown.insert(0, Preview(call_id, place, arguments))
    return sent, shown


def _before(kept: Any, unseen: Sequence[StateEntry]) -> Any:
    """Returns the version before these changes, which are the newest ones, the newest first. None where nothing leads
    there.
    """
    ways = [entry.back for entry in unseen]
    try:
        return None if None in ways else patched(kept, chain.from_iterable(filter(None, ways)))
    except NotApplicable:
        return None


def _merged(sent: Any, before: Any, kept: Any, *, again: bool) -> Any:
    """Returns ``sent`` and what its page has not seen. Who asks ``again`` shows less than it has seen, so it may hold
    more.
    """
    log.info("state_of_before", known=before is not None)
    if before is None or same(sent, before):
        return kept
    if again:
        return sent
    try:
        return patched(kept, difference(plain(before), plain(sent), small=False))
    except (NotApplicable, ValueError):  # too different, or too deep
        return kept


def _unseen(entries: Sequence[Entry], messages: Sequence[Message]) -> list[StateEntry]:
    """Returns the changes that a page with this history has not seen, the newest first.

    None where nothing in the history is known: then it doesn't say how far its page has read.
    """
    ids = {message.id for message in messages if message.id}
    results = {message.tool_call_id for message in messages if message.role == "tool" and message.tool_call_id}
    found: list[StateEntry] = []
    for entry in reversed(entries):
        if isinstance(entry, StateEntry):
            if entry.call_id not in results:
                found.append(entry)
        elif _is_shown(entry, ids, results):
            return found
    return []


def _is_shown(entry: Entry, ids: Collection[str], results: Collection[str]) -> bool:
    match entry:
        case UserEntry():
            return entry.id in ids
        case ResultEntry() | ReportedEntry():
            return entry.call_id in results
        case TurnEntry():
            return any((part.parent_id if isinstance(part, CallPart) else part.id) in ids for part in entry.parts)
        case _:
            return False


def _goes_back(messages: Sequence[Message], journal: Journal) -> bool:
    """Returns whether the request ends in a user's message that the thread has: to be answered again, or a retry."""
    last = next((message for message in reversed(messages) if message.role not in ("activity", "reasoning")), None)
    return last is not None and last.role == "user" and journal.messages.place_of(last.id or "") is not None
