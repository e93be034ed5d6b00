"""Reads the audit trail in SQL, page by page: for exports and checks."""

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from agui_gate.core.approvals import Approval
from agui_gate.core.audit import Event, Head
from agui_gate.stores.audit import EventPage, HeadPage
from agui_gate.stores.cursor import Place, from_cursor, to_cursor
from agui_gate.stores.sql.ledger import BEGAN, Ledger
from agui_gate.stores.sql.operations import Kind, Last, Operation, Statement, Steps
from agui_gate.stores.sql.trail import EVENT, event_of

T = TypeVar("T")


class Do(Protocol):
    """Runs an operation in a transaction of that kind: see `SQLStore`."""

    def __call__(self, kind: Kind, operation: Operation[T]) -> Awaitable[T]:
        """Runs an operation in a transaction of that kind."""
        ...


STEP = 500
"""Events, or approvals, that one step looks at, where only some of them are wanted."""

Link = tuple[int, int]
"""A thread's key, and the number of an event of it."""

_AFTER = "(thread, seq) > (:thread, :seq) ORDER BY thread, seq"
_HEADS = (
    "SELECT event.thread, event.seq, event.hash, event.tenant "
    "FROM (SELECT thread, max(seq) AS seq FROM approval_events WHERE tenant = :tenant AND thread > :after_thread "
    "GROUP BY thread ORDER BY thread LIMIT :limit) AS head "
    "JOIN approval_events AS event ON event.tenant = :tenant AND event.thread = head.thread AND event.seq = head.seq "
    "ORDER BY event.thread"
)

_EVENTS = "SELECT 1 FROM approval_events WHERE tenant = :tenant AND approval_events.thread = approvals.thread"
_BEFORE_THE_TRAIL = f"asked_at < coalesce(({BEGAN}), asked_at + 1)"
_TOLD = f"(NOT {_BEFORE_THE_TRAIL} OR EXISTS ({_EVENTS} AND approval_id = approvals.id AND kind = 'asked'))"
"""The SQL for what the trail has to have: in an upgraded store, some were asked before there was a trail."""
_OF_THREAD = f"thread = :key AND {_TOLD}"
_STEP = (
    "SELECT seq, id, thread, asked_at FROM approvals WHERE tenant = :tenant AND seq > :after ORDER BY seq LIMIT :step"
)
_CHAINLESS = f"seq IN (SELECT seq FROM ({_STEP}) AS approvals WHERE NOT EXISTS ({_EVENTS}) AND {_TOLD})"  # noqa: S608 ours
_LAST = "SELECT seq FROM approvals WHERE tenant = :tenant AND seq > :after ORDER BY seq LIMIT 1 OFFSET :step - 1"


class AuditReader:
    """The steps that read the trail; see `AuditStore`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @staticmethod
    def after(cursor: str | None) -> Link:
        """Returns the link after which to go on. Raises `InvalidRequest`."""
        if cursor is None:
            return (-1, 0)
        place = from_cursor(cursor)
        return (place.updated_at, place.key)

    async def read(
        self, do: Do, limit: int, cursor: str | None, principal: str | None, thread_id: str | None, since: int
    ) -> EventPage:
        """Returns a page of events, a step after the other, each in a transaction by ``do``."""
        place: Link | None = self.after(cursor)
        found: list[Event] = []
        while place is not None and len(found) <= limit:
            step = partial(self.events, limit + 1 - len(found), place, principal, thread_id, since)
            more, place = await do("read", step)
            found += more
        return EventPage(found[:limit], _next(found, limit))

    def events(
        self, most: int, after: Link, principal: str | None, thread_id: str | None, since: int
    ) -> Steps[tuple[list[Event], Link | None]]:
        """Returns up to ``most`` of the next step's events, and where to go on for more; None at the end. There may be
        none of those that are wanted in this step.
        """
        wanted = {"principal": principal, "thread_id": thread_id}
        named = [f"{name} = :{name}" for name, value in wanted.items() if value is not None]
        indexed = " AND ".join(("tenant = :tenant", *(named if len(named) == len(wanted) else ()), _AFTER))
        look = f"SELECT * FROM approval_events WHERE {indexed} LIMIT :step"  # noqa: S608 our names
        text = (
            f"SELECT {', '.join(EVENT)} FROM ({look}) AS found "  # noqa: S608 our names
            f"WHERE {' AND '.join((*named, 'at >= :since'))} ORDER BY thread, seq LIMIT :most"
        )
        end = f"SELECT thread, seq FROM approval_events WHERE {indexed} LIMIT 1 OFFSET :step - 1"  # noqa: S608 our names
        step = STEP if named or since else most
        values = {**wanted, "thread": after[0], "seq": after[1], "step": step, "most": most, "since": since}
        found, last = yield Last([Statement(text, values), Statement(end, values)])
        return [event_of(row) for row in found.rows], last.rows[0] if last.rows else None

    def heads(self, limit: int, cursor: str | None) -> Steps[HeadPage]:
        """Returns the heads of chains."""
        values = {"after_thread": self.after(cursor)[0], "limit": limit + 1}
        (found,) = yield Last([Statement(_HEADS, values)])
        heads = [Head(str(thread), *rest) for thread, *rest in found.rows]
        return HeadPage(heads[:limit], _next(heads, limit))

    def ledger_of(self, key: int) -> Steps[list[Approval]]:
        """Returns those approvals of one thread that the trail has to have, as they are."""
        (found,) = yield Last([Statement(self._ledger.reading(_OF_THREAD), {"key": key})])
        return self._ledger.approvals(found)

    def chainless(self, after: int) -> Steps[tuple[list[Approval], int | None]]:
        """Returns those that the trail has to have, of threads without a chain, among the next ones; and where to go
        on.
        """
        values = {"after": after, "step": STEP}
        found, last = yield Last([Statement(text, values) for text in (self._ledger.reading(_CHAINLESS), _LAST)])
        return self._ledger.approvals(found), last.rows[0][0] if last.rows else None


def _next(found: Sequence[Event] | Sequence[Head], limit: int) -> str | None:
    """Returns the cursor behind the last one that is shown; None where that is the end."""
    last = found[limit - 1] if len(found) > limit else None
    return None if last is None else to_cursor(Place(int(last.thread), last.seq))
