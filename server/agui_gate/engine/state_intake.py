"""What becomes of the shared state that a request brings (docs/state.md#who-wins).

A state that the page sends replaces what is kept, but for two cases. One that says nothing (`{}`, or none at all)
changes nothing: clients say that after a reload. And one that is older than what is kept takes nothing back.

Each change by a tool makes a new version of the state, and the journal has an entry for it (`StateEntry`). A request's
history says how far its page has read. A page that shows nothing of what came after the entry, nor the result of its
call, has not seen that version. So what it sends is a change of the version before, which the entries lead back to. If
it is that version itself, what is kept stays. If not, what the page has changed is done to what is kept. Where that is
not possible, what is kept stays. The page is told by STATE_SNAPSHOT.
"""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import structlog

from agui_gate.core.journal import Journal
from agui_gate.core.json_diff import difference
from agui_gate.core.json_patch import NotApplicable, patched
from agui_gate.core.transcript import CallPart, Entry, ReportedEntry, ResultEntry, StateEntry, TurnEntry, UserEntry
from agui_gate.protocol.inbound import Message, RunInput

log = structlog.get_logger("agui_gate.state")

_sorted = msgspec.json.Encoder(order="sorted").encode


def to_keep(run: RunInput, journal: Journal, kept: Any) -> Any:
    """The state that is to be kept from now on, of the one that a request brings and the one that is ``kept``."""
    sent = run.state
    if not sent or same(sent, kept):
        return kept
    unseen = _unseen(journal.entries, run.messages) if journal.has_state_entries else []
    if not unseen:
        return sent
    log.info("state_of_before", changes=len(unseen))
    return _merged(sent, kept, unseen, again=_goes_back(run.messages, journal))


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same. To Python, 1 is True."""
    return bool(left == right) and _sorted(left) == _sorted(right)


def _merged(sent: Any, kept: Any, unseen: Sequence[StateEntry], *, again: bool) -> Any:
    """``sent`` and what its page has not seen. Who asks ``again`` shows less than it has seen, so it may hold more."""
    before = kept
    try:
        for entry in unseen:  # the newest first
            if entry.back is None:
                return kept
            before = patched(before, entry.back)
        if same(sent, before):
            return kept
        return sent if again else patched(kept, difference(before, sent, small=False))
    except NotApplicable:
        return sent if again else kept


def _unseen(entries: Sequence[Entry], messages: Sequence[Message]) -> list[StateEntry]:
    """The changes that a page with this history has not seen, the newest first.

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
    """Whether the request ends in a message of the user's that the thread has: to be answered again, or a retry."""
    last = next((message for message in reversed(messages) if message.role not in ("activity", "reasoning")), None)
    return last is not None and last.role == "user" and journal.messages.place_of(last.id or "") is not None
