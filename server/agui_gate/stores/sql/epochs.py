"""A restored backup in SQL: see `stores/epochs.py`.

All of it is one transaction, whatever its size: who is killed in the middle of it has begun nothing. So it goes by
pages, and each statement is for many rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import UNFINISHED, Approval, State
from agui_gate.core.audit import Happened, Head, about
from agui_gate.core.transcript import ConversationRef
from agui_gate.stores.epochs import MAY_HAVE_RUN, Epoch
from agui_gate.stores.lease import DECIDES, DELETES
from agui_gate.stores.outbox import tellings
from agui_gate.stores.sql import deputies, grants
from agui_gate.stores.sql.ledger import Ledger, size_of
from agui_gate.stores.sql.operations import Statement, Steps
from agui_gate.stores.sql.rows import many, read_ref
from agui_gate.stores.sql.trail import EVENT, TELLING, Trail, ended, telling_end
from agui_gate.stores.sql.variant import Variant

PAGE = 200
"""Rows that are read at once, about."""

_OPEN = f"state IN ({', '.join(sorted(repr(str(state)) for state in UNFINISHED))})"
_BEGIN = "UPDATE epoch SET number = number + 1 RETURNING number, :now"
_CONCERNED = (
    f"SELECT thread, count(*) FROM approvals WHERE tenant = :tenant AND {_OPEN} GROUP BY thread ORDER BY thread"  # noqa: S608 our names
)
_REFS = (
    "SELECT key, ref FROM threads WHERE tenant = :tenant AND key > :after AND ref LIKE '%conversation_id%' "
    "ORDER BY key LIMIT :limit"
)
_SET_REFS = (
    "UPDATE threads SET ref = new.column2 FROM (VALUES {rows}) AS new WHERE tenant = :tenant AND key = new.column1"
)
_ASK_AGAIN = (
    "UPDATE approvals SET id = new.column2, was = new.column3 FROM (VALUES {rows}) AS new "
    "WHERE tenant = :tenant AND id = new.column1"
)
_AGREED = "UPDATE approvals SET was = id WHERE tenant = :tenant AND runner = 'agent' AND state = 'done'"
_HELD = "tenant = :tenant AND run_status = 'running'"
_RUNS = " AND ".join(f"substr(run_key, 1, {len(key)}) <> '{key}'" for key in (DECIDES, DELETES))
_END_RUNS = f"UPDATE threads SET run_status = 'interrupted', lease_owner = NULL, lease_until = 0 WHERE {_HELD}"  # noqa: S608 ours
_SETTLE = (
    "UPDATE approvals SET state = new.column2, output = new.column3 FROM (VALUES {rows}) AS new "
    "WHERE tenant = :tenant AND id = new.column1"
)
_GROW = (
    "UPDATE threads SET bytes = bytes + new.column2 FROM (VALUES {rows}) AS new "
    "WHERE tenant = :tenant AND key = new.column1"
)


_OUTCOMES = {
    State.CLAIMED: (State.UNKNOWN, MAY_HAVE_RUN),
    State.PASSED: (State.UNKNOWN, MAY_HAVE_RUN),
    State.GIVEN_BACK: (State.UNKNOWN, MAY_HAVE_RUN),
}
"""The outcomes of records that had been approved and had not ended."""

_ADD_MANY = f"INSERT INTO approval_events ({', '.join(EVENT)}) VALUES {{rows}}"  # noqa: S608 our names
_TELL_MANY = f"INSERT INTO outbox ({', '.join(TELLING)}, tenant, created_at) VALUES {{rows}}"  # noqa: S608 our names
_HEADS_OF = (
    "SELECT thread, seq, hash, tenant FROM approval_events AS event WHERE tenant = :tenant AND {} "
    "AND seq = (SELECT max(seq) FROM approval_events WHERE tenant = :tenant AND thread = event.thread)"
)


class _Work:
    """The work on the records of a page: the rows to change, and what happened, by their threads."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.again: list[dict[str, object]] = []
        self.settled: list[dict[str, object]] = []
        self._sizes: Counter[int] = Counter()
        self.happened: dict[int, list[Happened]] = {}
        self.records: list[Approval] = []
        """The records, as they are then."""

    def take(self, thread: int, approval: Approval) -> None:
        """Takes one more record."""
        told = self.happened.setdefault(thread, [])
        if approval.is_pending:
            again = _asked_again(approval, self._number)
            self.again.append({"before": approval.id, "id": again.id, "was": again.was})
            told += restored(approval, self._number, again.id), audit.asked(again)
            self.records.append(again)
            return
        to, output = _OUTCOMES[approval.state]
        settled = msgspec.structs.replace(approval, state=to, output=output)
        self.settled.append({"id": approval.id, "to": to.value, "output": msgspec.json.encode(output).decode()})
        self._sizes[thread] += size_of(settled)
        told += restored(approval, self._number), *audit.moved(approval, to, output=output)
        self.records.append(settled)

    def statements(self) -> Iterator[Statement]:
        """Yields the statements that change the rows."""
        yield from many(_ASK_AGAIN, self.again)
        yield from many(_SETTLE, self.settled)
        yield from many(_GROW, [{"key": thread, "size": size} for thread, size in self._sizes.items()])


class Epochs:
    """The statements and steps of epochs."""

    def __init__(self, variant: Variant, ledger: Ledger, trail: Trail) -> None:
        self._variant, self._ledger, self._trail = variant, ledger, trail
        open_ones = f"{variant.among('thread', 'keys')} AND {_OPEN}"
        lock = (
            f"SELECT key, tenant FROM threads WHERE tenant = :tenant AND {variant.among('key', 'keys')}{variant.lock}"  # noqa: S608 ours
        )
        states = f"SELECT id, thread, state FROM approvals WHERE tenant = :tenant AND {open_ones}"  # noqa: S608 our names
        self._look = (lock, _HEADS_OF.format(variant.among("thread", "keys")), states, ledger.reading(open_ones))

    def begin(self) -> Steps[Epoch]:
        """Begins an epoch."""
        tell = Statement(telling_end(f"{_HELD} AND {_RUNS}"), {"body": ended("interrupted")})
        rest = [Statement(_AGREED), tell, Statement(_END_RUNS)]
        rest += [Statement(grants.FORGET_ALL), Statement(deputies.FORGET_ALL)]
        goes_on = Statement(self._variant.goes_on)
        begun, concerned, *_ = yield [Statement(_BEGIN), Statement(_CONCERNED), *rest, goes_on]
        ((number, now),) = begun.rows
        yield from self._forget()
        again = settled = 0
        for keys in _pages(concerned.rows):
            waiting, others = yield from self._page(keys, number, now)
            again, settled = again + waiting, settled + others
        return Epoch(number, again, settled)

    def _page(self, keys: list[int], number: int, now: int) -> Steps[tuple[int, int]]:
        """Changes the records of these threads; returns how many are asked again, and how many are settled.

        It goes by the states in their rows: what else is in them may be of a newer version, and unreadable here.
        """
        values = {"keys": self._variant.listed(keys)}
        threads, ends, states, found = yield [Statement(text, values) for text in self._look]
        heads = {key: Head(str(key), tenant=tenant) for key, tenant in threads.rows}
        heads |= {key: Head(str(key), *rest) for key, *rest in ends.rows}
        places = {approval_id: (thread, State(state)) for approval_id, thread, state in states.rows}
        work = _Work(number)
        for approval in self._ledger.approvals(found):
            thread, state = places[approval.id]
            work.take(thread, msgspec.structs.replace(approval, state=state))
        if work.happened:
            yield [*work.statements(), *_added_to(self._trail, heads, now, work)]
        return len(work.again), len(work.settled)

    @staticmethod
    def _forget() -> Steps[None]:
        """Forgets what providers keep of conversations: it is not continued."""
        after = -1
        while True:
            (found,) = yield [Statement(_REFS, {"after": after, "limit": PAGE})]
            refs = [(key, read_ref(ref)) for key, ref in found.rows]
            left = [(key, new) for key, old in refs if (new := _not_continued(old)) not in (None, old)]
            if left:
                yield [*many(_SET_REFS, [{"key": key, "ref": msgspec.json.encode(new).decode()} for key, new in left])]
            if len(refs) < PAGE:
                return
            after = refs[-1][0]


def _pages(concerned: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Threads of which so much is read at once. Given: each thread, and how many records of it."""
    page: list[int] = []
    size = 0
    for key, number in concerned:
        page.append(key)
        size += number
        if size >= PAGE:
            yield page
            page, size = [], 0
    if page:
        yield page


def _added_to(trail: Trail, heads: Mapping[int, Head], at: int, work: _Work) -> list[Statement]:
    """Returns what `Trail.added` does, for many threads, by their keys."""
    rows: dict[str, list[dict[str, Any]]] = {_ADD_MANY: [], _TELL_MANY: []}
    for key, some in work.happened.items():
        head = heads[key]
        events = (
            audit.chained(head, at, some) if trail.keys is None else trail.keys.chained(head, at, some, work.records)
        )
        rows[_ADD_MANY] += (msgspec.structs.asdict(event) | {"thread": key} for event in events)
        more = {"tenant": head.tenant, "created_at": at}
        rows[_TELL_MANY] += (msgspec.structs.asdict(telling) | more for telling in tellings(some))
    return [statement for text, listed in rows.items() for statement in many(text, listed)]


def _asked_again(approval: Approval, epoch: int) -> Approval:
    """Returns a record that waits, as it is asked again."""
    was = approval.was or approval.id
    return msgspec.structs.replace(approval, id=f"{was}.{epoch}", was=was)


def _not_continued(ref: ConversationRef | None) -> ConversationRef | None:
    """Returns what is left of a reference: a conversation at the provider is not continued."""
    return msgspec.structs.replace(ref, turn_id="") if ref is not None and ref.conversation_id else ref


def restored(approval: Approval, epoch: int, again: str | None = None) -> Happened:
    """Returns the event that a backup was restored in which it was in that state. ``epoch``: of the store, from then
    on. ``again``: the id under which it is asked again.
    """
    more = {} if again is None else {"again": again}
    return about(approval, "restored", body={"epoch": epoch, "state": approval.state.value, **more})
