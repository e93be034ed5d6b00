"""The leases of threads in SQL."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from agui_gate.concurrency import collector_paused
from agui_gate.errors import NotFound, ThreadBusy, Unavailable, Unreadable
from agui_gate.stores.base import Bounds, JournalVersion, StopRequest, Thread, new_key
from agui_gate.stores.lease import LEASE_MS
from agui_gate.stores.outbox import is_run
from agui_gate.stores.sql.journal import UNDER_LEASE, Journal
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Last, Result, Statement, Steps
from agui_gate.stores.sql.rows import ThreadRow
from agui_gate.stores.sql.trail import ended, telling_end
from agui_gate.stores.sql.variant import Variant

ROW = f"SELECT {', '.join(ThreadRow.__struct_fields__[:-2])}, :now, :ticks FROM threads WHERE "  # noqa: S608 our names
BY_KEY = "tenant = :tenant AND key = :key"
_BY_ID = "tenant = :tenant AND principal = :principal AND id = :thread_id"
_BY_ALIAS = (
    "(SELECT key FROM threads WHERE tenant = :tenant AND principal = :principal AND alias = :thread_id "
    "ORDER BY updated_at DESC LIMIT 1)"
)
BY_EITHER = f"tenant = :tenant AND key = coalesce((SELECT key FROM threads WHERE {_BY_ID}), {_BY_ALIAS})"  # noqa: S608 ours
"""Find by the client's id, else by the provider's current id (S2)."""

_FREE = "(coalesce(run_status, '') <> 'running' OR run_key = :run_key)"
_WRITTEN = (
    "CASE WHEN key = :known_key AND run_key = :known_run AND run_status = :known_status AND entries = :known_entries "
    "THEN entries ELSE 0 END"
)
"""The number of entries of a journal that the caller has already: all of them or none, see `JournalVersion.is_of`."""
_LEFT = "run_status = 'running' AND run_key = :held AND lease_until = :until"
"""The lease that was found, and that counts no more."""

_TAKEN = f"run_key = :run_key, run_status = 'running', lease_owner = :owner, lease_until = :ticks + {LEASE_MS}"
_CREATE = (
    "INSERT INTO threads (tenant, key, principal, id, agent, created_at, updated_at, run_key, run_status, "  # noqa: S608 ours
    "lease_owner, lease_until) VALUES (:tenant, coalesce((SELECT key FROM threads WHERE tenant = :tenant "
    "AND principal = :principal AND alias = :thread_id LIMIT 1), :new_key), :principal, :thread_id, :agent, "
    f":now, :now, :run_key, 'running', :owner, :ticks + {LEASE_MS}) ON CONFLICT DO NOTHING"
)
"""The SQL that adds the thread. Where the name is another's alias, it is refused, as its key is that one's then. For an
INSERT that selects from its own table SQLite makes a table in between, which takes as long as the rest.
"""
_CREATED = (
    "SELECT created_at FROM threads WHERE tenant = :tenant AND key = :new_key AND principal = :principal "
    "AND id = :thread_id"
)
"""The SQL that reads when a thread was created, unless the key is another's; not by RETURNING, for which SQLite makes
such a table, too.
"""

_UNTAKE = (
    "UPDATE threads SET run_key = :was, run_status = :status, lease_owner = NULL, lease_until = 0 "  # noqa: S608 ours
    f"WHERE {UNDER_LEASE}"
)
_VOID = "UPDATE threads SET lease_until = 0 WHERE tenant = :tenant AND run_status = 'running' AND "
_HEARD = (
    "UPDATE threads SET stop = NULL "
    "WHERE tenant = :tenant AND run_status = 'running' AND run_key = :run_key AND stop = :stop"
)
_TRIES = 3
"""The number of tries at making a thread that somebody else makes, or deletes, at the same time."""

_decode_state = msgspec.json.decode
_decode_request = msgspec.json.Decoder(StopRequest).decode


class Wish(msgspec.Struct, frozen=True):
    """The arguments of `ThreadStore.lease_thread`, and who will own the lease."""

    principal: str
    thread_id: str
    agent: str
    run_key: str
    owner: str
    whole: bool
    create: bool
    known: JournalVersion | None


class Leases:
    """The statements and steps of leases, and of reading a thread under one; see `ThreadStore`."""

    def __init__(self, variant: Variant, ledger: Ledger, journal: Journal, bounds: Bounds) -> None:
        self._variant, self._ledger, self._journal, self._bounds = variant, ledger, journal, bounds
        self._largest = 2**62 if bounds.thread_bytes is None else bounds.thread_bytes
        self._lease_by_id = self._leasing(_BY_ID, _FREE)
        self._lease_by_key = self._leasing(BY_KEY, _FREE)
        self._take_over = self._leasing(BY_KEY, _LEFT)
        self._tell_left = telling_end(f"{BY_KEY} AND {_LEFT}{variant.lock}")

    def lease(self, wish: Wish) -> Steps[Thread]:
        """Takes the lease, and reads the thread. One batch, but for what is rare."""
        values = msgspec.structs.asdict(wish)
        for _ in range(_TRIES):
            values["new_key"] = new_key()  # another one, if another thread has it
            if (thread := (yield from self._lease_or_create(wish, values))) is not None:
                return thread
        raise Unavailable("The thread could not be created, because others create it too. Try again.")

    def _lease_or_create(self, wish: Wish, values: dict[str, object]) -> Steps[Thread | None]:
        create = Statement(_CREATE, values)
        if not self._variant.lock and wish.create and wish.known is None:  # it is alone, and its answer is near
            (tried,) = yield [create]
            if tried.changed:
                return _new_thread(wish, values["new_key"], tried.now)
        values["largest"], known = self._largest if wish.whole else 2**62, wish.known
        what = (None,) * 4 if known is None else (int(known.key), known.run_key, known.status, known.entries)
        values |= zip(("known_key", "known_run", "known_status", "known_entries"), what, strict=True)
        batch = _statements(self._lease_by_id, wish, values)
        if wish.create:
            batch += [msgspec.structs.replace(create, unless=0), Statement(_CREATED, values, after=len(batch))]
        results = yield Last(batch)
        if results[0].rows:
            return (yield from self._leased(wish, values, results))
        if wish.create and (created := results[-1].rows):
            return _new_thread(wish, values["new_key"], *created[0])
        (alias,) = yield [Statement(f"SELECT {_BY_ALIAS}", values)]
        ((key,),) = alias.rows
        if key is not None:
            return (yield from self._lease_by(self._lease_by_key, wish, {**values, "key": key}))
        if not wish.create:
            raise NotFound("There is no such thread.")
        return None

    def _lease_by(
        self, texts: Sequence[str], wish: Wish, values: Mapping[str, object], *first: Statement
    ) -> Steps[Thread | None]:
        """Leases by the thread's key; returns None if it is there no more. What tells of it goes ``first``."""
        if first:
            yield first
        results = yield Last(_statements(texts, wish, values))
        return (yield from self._leased(wish, values, results)) if results[0].rows else None

    def _leased(self, wish: Wish, values: Mapping[str, object], results: Sequence[Result]) -> Steps[Thread | None]:
        """Returns the thread that was leased, from what came of trying that."""
        row = ThreadRow(*results[0].rows[0])
        *rest, taken = results[1 : 4 if wish.whole else 2]
        if not taken.changed:
            if wish.whole:
                self._bounds.check_readable(row.bytes)
            if "held" in values or not row.lapsed():
                raise ThreadBusy("Another run is active on this thread.")
            left = {"key": row.key, "held": row.run_key, "until": row.lease_until, "body": ended("interrupted")}
            tell = [Statement(self._tell_left, {**values, **left})] if is_run(row.run_key or "") else []
            return (yield from self._lease_by(self._take_over, wish, {**values, **left}, *tell))
        thread = row.head()
        if "held" in values:
            thread.run_status = "interrupted"
        if wish.whole:
            thread.is_known = wish.known is not None and wish.known.is_of(thread, row.entries)
            try:
                self.fill(thread, row, rest)
            except Unreadable:
                was = {"key": row.key, "run_key": wish.run_key, "was": row.run_key, "status": thread.run_status}
                yield Last([Statement(_UNTAKE, was)])
                raise
            if any(approval.overdue_at(row.now) for approval in thread.approvals):
                thread.approvals = yield from self._ledger.fresh_of(row.key)
        return thread

    def _leasing(self, place: str, free: str) -> list[str]:
        """Looks and locks, reads, takes. What is known of the journal is read no more: whether it is, the row says that
        is there before it is taken.
        """
        mine = f"{place} AND bytes <= :largest AND {free}"
        return [
            f"{ROW}{place}{self._variant.lock}",
            *self.rest(mine, since=f"(SELECT {_WRITTEN} FROM threads WHERE {mine})"),  # noqa: S608 our names
            f"UPDATE threads SET {_TAKEN}, stop = NULL WHERE {mine}",  # noqa: S608 our names
        ]

    def rest(self, place: str, since: str = "") -> tuple[str, str]:
        """Returns the SQL that reads the journal and the approvals of the thread at ``place``."""
        key = f"(SELECT key FROM threads WHERE {place})"  # noqa: S608 our names
        return self._journal.reading(key, since), self._ledger.reading(f"thread = {key}")

    def fill(self, thread: Thread, row: ThreadRow, results: Sequence[Result]) -> None:
        """Gives a thread what `rest` has read."""
        journal, approvals = results
        with collector_paused():
            thread.state = None if row.state is None else _decode_state(row.state)
            thread.entries = self._journal.entries(journal)
            thread.approvals = self._ledger.approvals(approvals)

    def renew(self, run_keys: Collection[str]) -> Steps[set[str]]:
        """Prolongs what these runs still hold. Returns those that hold nothing."""
        held = f"tenant = :tenant AND run_status = 'running' AND {self._variant.among('run_key', 'run_keys')}"
        text = (
            f"UPDATE threads SET lease_until = :ticks + {LEASE_MS} WHERE tenant = :tenant AND key IN "  # noqa: S608 ours
            f"(SELECT key FROM threads WHERE {held} ORDER BY key{self._variant.lock}) RETURNING run_key"
        )
        (found,) = yield Last([Statement(text, {"run_keys": self._variant.listed(run_keys)})])
        return set(run_keys) - {run_key for (run_key,) in found.rows}

    def void(self, run_key: str) -> Steps[None]:
        """Ends the lease of one run."""
        yield Last([Statement(_VOID + "run_key = :run_key", {"run_key": run_key})])

    def void_all(self, owner: str) -> Steps[None]:
        """Ends all leases of one owner; their runs count as interrupted."""
        yield Last([Statement(_VOID + "lease_owner = :owner", {"owner": owner})])

    def take_stops(self, run_keys: Collection[str]) -> Steps[dict[str, StopRequest]]:
        """Returns what was asked of these runs; each request is given out once."""
        text = (
            "SELECT run_key, stop FROM threads WHERE tenant = :tenant AND run_status = 'running' "  # noqa: S608 our names
            f"AND stop IS NOT NULL AND {self._variant.among('run_key', 'run_keys')}"
        )
        (asked,) = yield Last([Statement(text, {"run_keys": self._variant.listed(run_keys)})])
        if asked.rows:
            yield Last([Statement(_HEARD, {"run_key": run_key, "stop": stop}) for run_key, stop in asked.rows])
        return {run_key: _decode_request(stop) for run_key, stop in asked.rows}


def _statements(texts: Sequence[str], wish: Wish, values: Mapping[str, object]) -> list[Statement]:
    later = texts[1:] if wish.whole else texts[-1:]
    return [Statement(texts[0], values), *[Statement(text, values, 0) for text in later]]


def _new_thread(wish: Wish, key: object, now: int) -> Thread:
    names: Any = {"key": str(key), "principal": wish.principal, "id": wish.thread_id, "agent": wish.agent}
    return Thread(**names, created_at=now, updated_at=now, now=now)
