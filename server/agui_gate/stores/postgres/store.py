"""The store of many replicas: a PostgreSQL database.

The operations are those of every store in SQL (`stores/sql`). Each batch of statements is one round trip
(`transaction`), on one of a few connections (`pool`, `connection`). The database's clock is the store's (`standing`).
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TypeVar

from agui_gate.core.approvals import Approval, State
from agui_gate.errors import IllegalMove, Unavailable
from agui_gate.stores.base import NO_BOUNDS, Bounds, Change, Thread
from agui_gate.stores.clock import Clock
from agui_gate.stores.lease import LeaseOwner
from agui_gate.stores.postgres import commit_check, readiness, schema
from agui_gate.stores.postgres.errors import CLOSED, OutcomeUnknown, Trouble
from agui_gate.stores.postgres.link import Link, parameters
from agui_gate.stores.postgres.variant import PostgresVariant
from agui_gate.stores.sql.leases import Wish
from agui_gate.stores.sql.ledger import Move
from agui_gate.stores.sql.operations import Kind, Operation
from agui_gate.stores.sql.store import SQLStore

T = TypeVar("T")

CLOSE_SECONDS = 5.0
"""Seconds for which `aclose` tries to give leases back, which end by themselves otherwise."""


class PostgresStore(SQLStore):
    """A `Store` in the database at ``url``. ``clock``: one made by hand, instead of the database's. ``any_past``: see
    `open_store`.
    """

    def __init__(
        self, url: str, *, clock: Clock | None = None, bounds: Bounds = NO_BOUNDS, any_past: bool = False
    ) -> None:
        super().__init__(PostgresVariant(), bounds)
        self._parameters, self.bus_url = parameters(url), url
        self._clock = readiness.DatabaseClock(clock)
        self._tables = schema.Tables(any_past)
        self._sure, self._room = commit_check.Sure(), readiness.Room()
        self._link: Link | None = None
        self._owner: LeaseOwner | None = None
        self.neighbours: Sequence[int] = ()

    async def start(self) -> None:
        """Connects and migrates; does nothing if it is open. Raises `Unavailable`, with what is wrong with it."""
        if self._link is not None:
            return
        link = Link(self._parameters, self._clock.given)
        try:
            await readiness.prepare(link, self._clock, self._tables)
            self.neighbours = await link.run("read", readiness.servers)
        except BaseException:
            await link.aclose()
            raise
        if not self._tables.any_past:
            link.guard = readiness.GUARD
        self._link, self._owner = link, LeaseOwner(shared=True)

    async def check(self) -> None:
        """Raises `Unavailable` unless a read and a write work now, and the clocks agree; and since a write found no
        room on the disk, until there is some.
        """
        await readiness.check(self._open, self._clock, self._tables)
        await self._room.check(self._open)

    async def check_room(self) -> None:
        """Raises `Unavailable` if the database's disk is full. `check` may succeed then: its row has its place."""
        await readiness.check_room(self._open)

    def now(self) -> int:
        """See `StoreLifecycle`."""
        return self._clock()

    def prepare_login(self, url: str) -> Callable[[], None]:
        """Returns what has connections opened by the user and the password of that URL, of the same database. Those
        that are open stay. Raises `Unusable`.
        """
        conninfo = parameters(url)

        def change() -> None:
            self._parameters, self.bus_url = conninfo, url
            if self._link is not None:
                self._link.log_in_by(conninfo)

        return change

    async def aclose(self) -> None:
        """Gives our leases back and closes. Safe to call twice."""
        link, self._link = self._link, None
        owner, self._owner = self._owner, None
        if link is None or owner is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await link.run("write", lambda: self._sql.leases.void_all(owner.name))
        except (Unavailable, TimeoutError):
            pass  # they end by themselves
        finally:
            owner.close()
            await link.aclose()

    # --- what may have happened when a connection broke

    async def _lease(self, wish: Wish) -> Thread:
        """A lease of which the caller doesn't learn is given back."""
        try:
            return await super()._lease(wish)
        except (OutcomeUnknown, Trouble) as error:
            if isinstance(error, OutcomeUnknown) or error.committed:
                self._later(lambda: self._sql.leases.void(wish.run_key))
            raise

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        """See `ThreadStore`. An earlier one of this run, of which nobody knew, is found out about first. If that ended
        the run, it has ended as that one says.
        """
        key = int(thread.key)

        async def commit() -> Change:
            await super(PostgresStore, self).commit(thread, change, run_key)
            return change

        async def look(tried: Change) -> Change | None:
            return tried if await self._do("write", lambda: commit_check.committed(key, tried, run_key)) else None

        done = await self._sure.do(("commit", run_key), change, commit, look)
        if done == change:
            return
        is_over = done.status is not None
        for approval in done.approvals:  # asked, though its run could not know that: it asks no more
            if approval not in change.approvals:
                with suppress(IllegalMove):
                    await self.move(approval.id, State.CANCELLED, run_key=None if is_over else run_key)
        if is_over:
            return
        await self.commit(thread, commit_check.left_of(change, done), run_key)

    async def delete_thread(self, thread: Thread, run_key: str) -> None:
        """See `ThreadStore`."""

        async def delete() -> bool:
            await super(PostgresStore, self).delete_thread(thread, run_key)
            return True

        await self._sure.do(
            ("delete", run_key),
            None,
            delete,
            lambda _: self._do("write", lambda: commit_check.deleted(int(thread.key))),
        )

    async def _move(self, move: Move) -> Approval:
        return await self._sure.do(
            ("move", move.approval_id, move.to, move.run_key),
            move,
            lambda: super(PostgresStore, self)._move(move),
            lambda tried: self._do("write", lambda: commit_check.made(self._sql.ledger, tried)),
        )

    async def renew(self, run_keys: Collection[str]) -> Collection[str]:
        """See `ThreadStore`. The clock and the tables' version are read along with it."""
        await readiness.beat(self._open, self._clock, self._tables)
        return await super().renew(run_keys)

    # --- the driver

    async def _do(self, kind: Kind, operation: Operation[T]) -> T:
        self._tables.require()  # before anything is written that the newer version may not expect
        try:
            return await self._open.run(kind, operation)
        except Trouble as error:
            self._room.refused(error)
            raise

    def _later(self, operation: Operation[None]) -> None:
        if self._link is not None:
            self._link.later("write", operation)

    @property
    def _open(self) -> Link:
        if self._link is None:
            raise Trouble(CLOSED)
        return self._link

    @property
    def _holder(self) -> str:
        if self._owner is None:
            raise Trouble(CLOSED)
        return self._owner.name
