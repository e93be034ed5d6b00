"""Verifies a store: the chains of its trail, and whether the ledger and the journals say the same.

What each of them can show: a chain, that an event was changed, added or left out; a key, that it was rewritten; heads
that were kept elsewhere, that its end was cut off; the ledger and the journals, that a record or a call was changed.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.audit import Event, Head
from agui_gate.core.audit_anchors import sealed
from agui_gate.core.audit_verification import Break, Chains, Ledger, unsigned_hash
from agui_gate.core.transcript import TurnEntry
from agui_gate.errors import AguiGateError, ConfigurationError
from agui_gate.extras.audit.keys import Keys
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.cursor import Place as After
from agui_gate.stores.cursor import to_cursor

PAGE = 500


class Place(msgspec.Struct, frozen=True):
    """A place where a chain is broken. ``thread`` is the store's key of it, and ``thread_id`` the client's."""

    principal: str
    thread_id: str
    thread: str
    seq: int
    why: str


class Checked(msgspec.Struct):
    """The findings of a verification. ``erased``: events in which names were replaced by pseudonyms. ``pruned``: events
    that were deleted by their age, as the trail says. ``pruned_heads``: heads of such, which can't be checked any more.
    """

    events: int = 0
    chains: int = 0
    erased: int = 0
    pruned: int = 0
    pruned_heads: int = 0
    broken: list[Place] = []


_WORDS = {
    "missing": "events before it are missing",
    "added": "it is a duplicate, or was added",
    "changed": "it was changed",
    "not_the_head": "it differs from the exported head",
    "no_key": "it is signed by a key that is not given",
    "unsigned": "it is not signed, and events before it are",
}
_NOT_THERE = "it is missing: truncated, removed, or expired with its chain"
_NO_KEYED = "the trail does not say since when its events are signed"
_DIFFERS = {
    "arguments": "its record has arguments that were not asked about or approved",
    "decision": "its record has another decision, or a decision of another person",
    "state": "its record is in another state",
    "output": "its record has another result",
    "record": "its record was changed",
    "no_decision": "it was carried out, and nobody let it go",
    "not_asked": "it has a record, but the trail has no question about it",
    "no_record": "it has no record, and the trail has no deletion of it",
}
_NO_CALL = "its call is not in the thread's journal"
_OTHER_CALL = "the thread's journal has a call of another tool"
_UNREAD = "something in its record can't be read"
_UNREADABLE = "the thread's journal can't be read"


async def verify(
    store: FullStore, heads: Sequence[Head], keys: Keys | None = None, progress: Callable[[int], None] = lambda _: None
) -> Checked:
    """Returns what is wrong with the trail of a store. ``progress`` is told how many events were read, page by page."""
    found = _Verification(store, heads, keys)
    async for event in all_events(store, progress=progress):
        await found.take(event)
    return await found.end()


async def all_events(
    store: FullStore,
    *,
    principal: str | None = None,
    thread_id: str | None = None,
    since: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> AsyncIterator[Event]:
    """Yields all events, chain by chain, in pages."""
    cursor, number = None, 0
    while True:
        page = await store.read_events(limit=PAGE, cursor=cursor, principal=principal, thread_id=thread_id, since=since)
        for event in page.events:
            yield event
        number, cursor = number + len(page.events), page.next_cursor
        if cursor is None:
            return
        progress(number)


class _Verification:
    def __init__(self, store: FullStore, heads: Sequence[Head], keys: Keys | None) -> None:
        self._store = store
        self._chains = Chains(heads, unsigned_hash if keys is None else keys.hash_of)
        self._seal = None if keys is None else sealed
        self._ledger = Ledger(self._seal)
        self._last: Event | None = None
        self._checked = Checked()

    async def take(self, event: Event) -> None:
        """Takes the next event."""
        if self._last is None or event.thread != self._last.thread:
            await self._hold()
            self._ledger = Ledger(self._seal)
            self._checked.chains += 1
        self._checked.events += 1
        self._last = event
        self._ledger.apply(event)
        self._checked.broken += [_place(broken, event) for broken in self._chains.check(event)]

    async def end(self) -> Checked:
        """Returns the findings, after the last event."""
        await self._hold()
        self._checked.erased = self._chains.erased
        self._checked.broken += [
            Place(one.principal, one.thread_id, "", 0, f"approval {one.id}: {_DIFFERS['not_asked']}")
            for one in await self._store.read_ledger(None)
        ]
        self._checked.broken += [_place(broken, None) for broken in self._chains.missing()]
        self._checked.pruned, self._checked.pruned_heads = self._chains.anchors.events, self._chains.anchors.heads
        if await self._store.trail.strays():
            self._checked.broken.append(Place("", "", "", 0, "rows of the trail were given to another tenant"))
        return self._checked

    async def _hold(self) -> None:
        """Holds the records of a thread, and its journal, against its chain. What happens meanwhile is no finding."""
        last = self._last
        if last is None:
            return
        self._checked.broken += [_place(broken, last) for broken in self._chains.end_chain()]
        records = await self._store.read_ledger(last.thread)
        found = [(name, seq, _DIFFERS[why]) for name, seq, why in self._ledger.differences(records)]
        if records and self._seal is not None:
            found += [(name, last.seq, _UNREAD) for name in await self._store.trail.unread(last.thread)]
        if records:
            found += [(name, last.seq, why) for name, why in await self._strange_calls(last, records)]
        busy = await self._busy(last) if found else set()
        self._checked.broken += [
            Place(last.principal, last.thread_id, last.thread, seq, f"approval {name}: {why}")
            for name, seq, why in found
            if name not in busy
        ]

    async def _busy(self, last: Event) -> set[str]:
        """Returns the ids of calls to which something happened since."""
        page = await self._store.read_events(limit=PAGE, cursor=to_cursor(After(int(last.thread), last.seq)))
        return {event.approval_id for event in page.events if event.thread == last.thread}

    async def _strange_calls(self, last: Event, records: Iterable[Approval]) -> list[tuple[str, str]]:
        """Returns the records whose calls the journal has otherwise. Without a key, one that it has not is none."""
        try:
            thread = await self._store.read_thread(last.principal, last.thread_id)
        except AguiGateError:
            return [(record.id, _UNREADABLE) for record in records]
        if thread is None or thread.key != last.thread:
            return []
        turns = [entry for entry in thread.entries if isinstance(entry, TurnEntry)]
        names = {call.id: call.name for turn in turns for call in turn.calls}
        lost = [(record.id, _NO_CALL) for record in records if record.call_id not in names and not record.replaced]
        other = [
            (record.id, _OTHER_CALL) for record in records if names.get(record.call_id, record.tool) != record.tool
        ]
        return [*(lost if self._seal else ()), *other]


def _place(broken: Break, event: Event | None) -> Place:
    if event is None:
        return Place("", "", broken.thread, broken.seq, _NO_KEYED if broken.why == "no_keyed" else _NOT_THERE)
    return Place(event.principal, event.thread_id, broken.thread, broken.seq, _WORDS[broken.why])


_LOGGED = re.compile(r"\bhead=[\"']?(\d+:\d+:[0-9a-f]{64})\b|\"head\": ?\"(\d+:\d+:[0-9a-f]{64})\"")
_HEAD = re.compile(r"(\d+):(\d+):([0-9a-f]{64})")


def read_heads(lines: Iterable[str]) -> list[Head]:
    """Returns the heads in lines that `agui-gate audit heads` prints, or in those of a server's log. Raises
    `ConfigurationError` if there are none.
    """
    found: list[Head] = []
    other = False
    try:
        for line in filter(str.strip, lines):
            if logged := _LOGGED.search(line):
                found.append(read_head(logged[1] or logged[2]))
            elif line.startswith("{"):
                found.append(msgspec.json.decode(line, type=Head))
            else:
                other = True
    except (msgspec.DecodeError, UnicodeDecodeError):
        other = True
        found = []
    if other and not found:
        raise ConfigurationError("The file with the heads is not what `agui-gate audit heads` prints, nor a log.")
    return found


def read_head(text: str) -> Head:
    """Returns the head that ``KEY:SEQ:HASH`` says. Raises `ConfigurationError`."""
    match = _HEAD.fullmatch(text)
    if match is None:
        raise ConfigurationError("A head is KEY:SEQ:HASH, as in the server's log (audit_head).")
    return Head(match[1], int(match[2]), match[3])
