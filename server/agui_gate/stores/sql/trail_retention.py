"""Prunes old events of the audit trail, in SQL; what stays of them is an anchor (`core/audit_anchors.py`).

Of a chain whose thread is there, and of the one that belongs to no thread, the beginning goes: events that are old
enough, up to the first one that something open needs. These are calls of which it isn't known yet what comes of them,
calls by which a grant was given that stands, and freezes and deputies that stand. The chain of a thread that is gone
goes as a whole, when its last event is old enough.

An anchor vouches for what went. So events are verified before, and the records of their calls are held against them:
what somebody has changed stays, with what follows it, until it is found out by whom.
"""

from collections.abc import Collection, Sequence
from itertools import takewhile

import msgspec

from agui_gate.core.approvals import UNFINISHED, Approval, State
from agui_gate.core.audit import STORE_CHAIN, Event
from agui_gate.core.audit_anchors import Cut, Pruned, anchor, pruning, read_pruned, sealed
from agui_gate.core.audit_verification import Chains, unsigned_hash
from agui_gate.core.audit_verification import Ledger as HeldAgainst
from agui_gate.core.deputies import Deputy
from agui_gate.core.json_text import parse_object
from agui_gate.errors import Unavailable
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.store_chain import LOCK, add
from agui_gate.stores.sql.trail import EVENT, Trail, event_of, head_of

CHAINS = 200
"""Chains that one step looks at."""
EVENTS = 1_000
"""Events of one chain that go at once: the event loop waits until they are verified."""
RECORDS = 20
"""Records that are read at once with all that they have."""

_SETTLED = ", ".join(repr(state.value) for state in State if state not in UNFINISHED | {State.UNKNOWN})
_TIMES = "min(CASE WHEN kind <> 'pruned' THEN at END) AS first, max(CASE WHEN kind <> 'pruned' THEN at END) AS last"
_CHAINS = (
    f"SELECT thread, {_TIMES}, count(*) AS events, "  # noqa: S608 our names
    "(SELECT count(*) FROM threads WHERE tenant = :tenant AND key = approval_events.thread) AS threads "
    "FROM approval_events WHERE tenant = :tenant AND thread > :after GROUP BY thread ORDER BY thread LIMIT :limit"
)
_OF_CHAIN = f"SELECT {', '.join(EVENT)} FROM approval_events WHERE tenant = :tenant AND thread = :key"  # noqa: S608 ours
_FIRST = f"{_OF_CHAIN} ORDER BY seq LIMIT :most"
_PRUNE = "DELETE FROM approval_events WHERE tenant = :tenant AND thread = :key AND seq <= :through"
_REMOVE = (
    "DELETE FROM approval_events WHERE tenant = :tenant AND thread = :key "
    "AND NOT EXISTS (SELECT 1 FROM threads WHERE tenant = :tenant AND key = :key)"
)
_IN_FORCE = (
    "SELECT min(at) FROM freezes WHERE tenant = :tenant",
    "SELECT body FROM deputies WHERE tenant = :tenant AND until > :now",
)
_IS_MARKED = "SELECT 1 FROM approval_events WHERE tenant = :tenant AND thread = :key AND kind = 'pruned' LIMIT 1"

_decode_chains = msgspec.json.Decoder(list[tuple[int, int | None, int | None, int, int]]).decode


_GIVES = ("approved", "agreed")
"""The kinds of events by which a grant is given; those of calls that it lets go have its name as their way."""


def _grant_of(event: Event) -> str:
    return str((parse_object(event.body) or {}).get("grant", ""))


class Swept(msgspec.Struct):
    """What became of one step: how many events went, where the next one goes on, and chains that stay since they, or
    their records, were changed.
    """

    events: int = 0
    place: int = -1
    broken: list[str] = msgspec.field(default_factory=list)


class Pruning:
    """The statements and steps of pruning."""

    def __init__(self, ledger: Ledger, trail: Trail) -> None:
        self._ledger, self._trail, self._variant = ledger, trail, ledger.variant
        names = ("thread", "first", "last", "events", "threads")
        self._chains = f"SELECT {self._variant.arrays(names)}, :now FROM ({_CHAINS}) AS found"  # noqa: S608 our names
        self._lock = (
            f"SELECT tenant, principal, id FROM threads WHERE tenant = :tenant AND key = :key{self._variant.lock}"  # noqa: S608 our names
        )
        is_file = not self._variant.lock  # SQLite: what is deleted is overwritten there from then on
        self._overwrite = "PRAGMA secure_delete = ON" if is_file else "SELECT 1"
        among = self._variant.among
        self._open = (
            f"SELECT id FROM approvals WHERE tenant = :tenant AND thread = :key AND {among('id', 'ids')} "  # noqa: S608 ours
            f"AND state NOT IN ({_SETTLED})"
        )
        self._grants = f"SELECT id FROM grants WHERE tenant = :tenant AND {among('id', 'grants')} AND until > :now"  # noqa: S608 ours
        self._told = f"{_OF_CHAIN} AND ({among('approval_id', 'ids')} OR kind IN ('handed_on', 'pruned')) ORDER BY seq"
        self._records = ledger.reading(f"thread = :key AND {among('id', 'ids')}")

    def sweep(self, age: int | None, gone_age: int | None, after: int) -> Steps[Swept]:
        """Takes one step, over the chains behind ``after``. The ages are in ms, None for never: that of events, and
        that of chains whose threads are gone.
        """
        (found,) = yield Last([Statement(self._chains, {"after": after, "limit": CHAINS})])
        ((body, now),) = found.rows
        chains = _decode_chains(body)
        swept, gone = Swept(), list[int]()
        for key, first, last, events, threads in chains:
            swept.place = key
            is_there = key == STORE_CHAIN or bool(threads)
            if is_there and age is not None and first is not None and first <= now - age:
                yield from self._prune(key, now - age, swept, is_there=True)
                if key == STORE_CHAIN and swept.events:
                    return swept
            elif not is_there and gone_age is not None and (last is None or last <= now - gone_age):
                if events > EVENTS:
                    yield from self._prune(key, now - gone_age, swept, is_there=False)
                else:
                    gone.append(key)
            if swept.events + sum(size for chain, _, _, size, _ in chains if chain in gone) >= EVENTS:
                break
        else:
            swept.place = chains[-1][0] if len(chains) == CHAINS else -1
        cuts = yield from self._remove(gone, swept)
        (marked,) = yield [Statement(_IS_MARKED, {"key": STORE_CHAIN})]
        if cuts or (swept.events and not marked.rows):  # from then on, nothing is from before the trail (`BEGAN`)
            yield from add(self._variant, self._trail, anchor(Pruned(chains=cuts)))
        return swept

    def _prune(self, key: int, before: int, swept: Swept, *, is_there: bool) -> Steps[None]:
        """Prunes the beginning of a chain, of what is from before that time. That is a transaction of its own: who has
        the lock of the chain of no thread takes none of a thread.
        """
        is_threads = is_there and key != STORE_CHAIN
        alone = Statement(self._variant.alone, {"name": LOCK})
        lock = Statement(self._lock, {"key": key}) if is_threads else alone
        values = {"key": key, "most": EVENTS}
        texts = (_FIRST, head_of(":key"), "SELECT :now")
        locked, found, end, clock = yield [lock, *(Statement(text, values) for text in texts)]
        batch: list[Statement] = []
        old = (yield from self._old(key, before, [event_of(row) for row in found.rows])) if found.rows else []
        if old and (locked.rows or not is_threads):
            records = yield from self._held(key, old)
            if records is None or (yield from self._is_cut(key, old)):
                swept.broken.append(str(key))
            else:
                whose = ("", "", "") if is_there else (old[-1].tenant, old[-1].principal, old[-1].thread_id)
                tenant, *names = locked.rows[0] if is_threads else whose
                delete = Statement(_PRUNE, {"key": key, "through": old[-1].seq})
                happened = [anchor(pruning(old, records), *names)]
                added = self._trail.added(key, tenant, end.rows, clock.rows[0][0], happened)
                batch = [Statement(self._overwrite), delete, *added]
                swept.events += len(old)
        yield Last(batch or [Statement("SELECT :now")])

    def _old(self, key: int, before: int, events: Sequence[Event]) -> Steps[list[Event]]:
        """Returns the first of these events that may go."""
        if key == STORE_CHAIN:
            before = yield from self._in_force(before)
        needed = yield from self._needed(key, events)
        old = list(takewhile(lambda event: event.at <= before and event.approval_id not in needed, events))
        return old if any(event.kind != "pruned" for event in old) else []

    def _in_force(self, before: int) -> Steps[int]:
        """Returns the time before which nothing began that is in force."""
        frozen, deputies = yield [Statement(text) for text in _IN_FORCE]
        since = [msgspec.json.decode(body, type=Deputy).at for (body,) in deputies.rows]
        since += [at for (at,) in frozen.rows if at is not None]
        return min([before, *(at - 1 for at in since)])

    def _needed(self, key: int, events: Sequence[Event]) -> Steps[set[str]]:
        """Returns the ids of calls whose events are needed."""
        ids = sorted({event.approval_id for event in events if event.approval_id})
        if not ids:
            return set()
        gave = {
            _grant_of(event): event.approval_id for event in events if event.kind in _GIVES and event.way != "grant"
        }
        values = {"key": key, "ids": self._variant.listed(ids), "grants": self._variant.listed(sorted(gave))}
        unsettled, stand = yield [Statement(self._open, values), Statement(self._grants, values)]
        return {name for (name,) in unsettled.rows} | {gave[grant] for (grant,) in stand.rows}

    def _is_cut(self, key: int, events: Sequence[Event]) -> Steps[bool]:
        """Returns whether a chain was changed whose first events these are, or cut off before them."""
        keys = self._trail.keys
        chains = Chains((), unsigned_hash if keys is None else keys.hash_of)
        if any(chains.check(event) for event in events):
            return True
        (found,) = yield [Statement(f"{_OF_CHAIN} AND kind = 'pruned' ORDER BY seq", {"key": key})]
        for event in map(event_of, found.rows):
            if event.key_id or not events[0].key_id:  # else one that isn't signed comes after one that is
                chains.add_anchor(event)
        return bool(chains.end_chain())

    def _held(self, key: int, events: Sequence[Event]) -> Steps[list[Approval] | None]:
        """Returns the records of the calls of these events; None where one differs from what the trail says of it."""
        names = {event.approval_id for event in events if event.approval_id}
        names.update(*(read_pruned(event).records for event in events if event.kind == "pruned"))
        found: list[Approval] = []
        ids = sorted(names)
        for start in range(0, len(ids), RECORDS):
            some = ids[start : start + RECORDS]
            records = yield from self._some_held(key, some)
            if records is None:
                return None
            found += records
        return found

    def _some_held(self, key: int, ids: Collection[str]) -> Steps[list[Approval] | None]:
        values = {"key": key, "ids": self._variant.listed(ids)}
        told, read = yield [Statement(self._told, values), Statement(self._records, values)]
        held = HeldAgainst(sealed if self._trail.keys is not None else None)
        for row in told.rows:
            held.apply(event_of(row))
        records = self._ledger.approvals(read)
        return None if any(name in ids for name, *_ in held.differences(records)) else records

    def _remove(self, keys: Sequence[int], swept: Swept) -> Steps[dict[str, Cut]]:
        """Removes chains of threads that are gone, and returns their ends. Raises `Unavailable` where one goes on just
        now.
        """
        cuts: dict[str, Cut] = {}
        for key in keys:
            (found,) = yield [Statement(_FIRST, {"key": key, "most": EVENTS + 1})]
            events = [event_of(row) for row in found.rows]
            if not events or (yield from self._needed(key, events)):
                continue
            if (yield from self._is_cut(key, events)):
                swept.broken.append(str(key))
                continue
            *_, removed = yield [Statement(self._overwrite), Statement(_REMOVE, {"key": key})]
            if removed.changed not in (0, len(events)):
                raise Unavailable("The audit trail went on while its old events were pruned. It is tried again.")
            if removed.changed:
                cuts[str(key)] = Cut(events[-1].seq, events[-1].hash, len(events))
                swept.events += len(events)
        return cuts


__all__ = ["Pruning", "Swept"]
