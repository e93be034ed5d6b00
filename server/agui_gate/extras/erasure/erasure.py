"""Erases a person from a store, while servers use it.

Theory of operation
-------------------
1. It waits until nothing is at work on the person's threads, and asks to stop what may be stopped: not a call that
   somebody approved. If that takes too long, it is refused, and nothing has happened.
2. The person gets a pseudonym. It follows from their key (`trail.begin`), so it is the same however often this is run.
3. Their threads are deleted, each in one transaction, after what providers keep of it.
4. The name is replaced in rows of other tables, in the trail, and in others' records, page by page: a record together
   with the events of its call, as they have to agree. This goes on until a look finds it nowhere.
5. The key is destroyed, and the trail says so: the last transaction. Until then running it again does the rest.
6. A SQLite file is written anew, as deleted rows stay in its free pages and in the write-ahead log.
"""

import asyncio
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from functools import partial
from typing import Any, cast
from uuid import uuid4

import msgspec
import structlog

from agui_gate.core.approvals import State
from agui_gate.core.audit import digest
from agui_gate.core.json_text import canonical
from agui_gate.core.transcript import ConversationRef
from agui_gate.errors import AguiGateError, NotFound, ThreadBusy, Unavailable
from agui_gate.extras.erasure.names import Name
from agui_gate.extras.erasure.providers import Providers, refs_of
from agui_gate.extras.erasure.tables import BUS, DAYS, STEPS, TABLES, Table, change_page
from agui_gate.extras.erasure.trail import Found, TrailEraser, begin, find, has_key, may_change
from agui_gate.log_events import name_of
from agui_gate.protocol.cards import iso
from agui_gate.stores.base import Change, StopRequest, Thread, ThreadHead
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.lease import DELETES
from agui_gate.stores.sql.store import SQLStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.sqlite.database import Database

WAIT_SECONDS = 60.0
"""Seconds that what is at work is waited for, if nothing else is said."""
LOOK_SECONDS = 0.2
"""Seconds between two looks whether it has ended."""
AGAIN_SECONDS = 0.1
"""Seconds between two tries to clean a file while others read or write."""
MAX_PAGE = 200
MOST_PASSES = 5
"""Looks after which a name that comes anew is left to another run of the command."""

Json = dict[str, Any]

log = structlog.get_logger("agui_gate.operations")


class Receipt(msgspec.Struct, kw_only=True):
    """What was erased. ``deleted`` and ``replaced``: how many, by what they are. ``threads``: digests (SHA-256) of what
    was deleted of each. ``remains``: what is left, in sentences. ``unfinished``: why deleted rows may be in the file.
    """

    pseudonym: str = ""
    tenant: str
    by: str
    at: str = ""
    deleted: dict[str, int] = {}
    replaced: dict[str, int] = {}
    threads: list[str] = []
    remains: list[str] = []
    digest: str = ""
    unfinished: str = ""


class Erasure:
    """Erases one name. ``by``: who does it. ``providers``: None leaves what providers keep. ``say`` is told what is
    waited for. ``persons``: the persons behind this principal who are erased with it.
    """

    def __init__(
        self,
        store: FullStore,
        who: Name,
        by: str,
        *,
        providers: Providers | None,
        wait: float = WAIT_SECONDS,
        say: Callable[[str], None] = lambda _: None,
        persons: Collection[str] = (),
    ) -> None:
        if not isinstance(store, SQLStore):
            raise Unavailable("Nobody can be erased from this store.")
        self._store, self._who, self._by = store, who, by
        self._providers, self._wait, self._say, self._persons = providers, wait, say, persons
        self._do, self._sql = store._do, store._sql
        self._full = cast(FullStore, store)

    # --- what there is

    async def count(self) -> Receipt:
        """Returns what would be erased, as a receipt; changes nothing."""
        deleted = Counter(threads=await self._count_threads())
        found = await self._find()
        if found.persons and (others := [name for name in self._persons if name not in found.persons]):
            behind = ", ".join(map(repr, sorted(found.persons)))
            raise NotFound(
                f"By the audit trail {others[0]!r} is not the person behind {self._who.name!r}, but {behind} is. "
                "Nothing was erased."
            )
        replaced = Counter(events=found.events, records=found.records)
        for table in self._all_tables():
            await self._tables(table, deleted, replaced, look=True)
        receipt = self._receipt(deleted, replaced)
        receipt.remains = self._remains(found)
        return receipt

    async def _count_threads(self) -> int:
        number = 0
        async for _ in self._threads():
            number += 1
        return number

    def _receipt(self, deleted: Counter[str], replaced: Counter[str]) -> Receipt:
        return Receipt(
            tenant=self._who.tenant,
            by=self._by,
            at=iso(self._store.now()),
            deleted=dict(+deleted),  # what is none is left out
            replaced=dict(+replaced),
        )

    def _all_tables(self) -> list[Table]:
        return [*TABLES, DAYS, STEPS, *(BUS if self._store.bus_url else ())]

    async def _find(self) -> Found:
        return await find(self._full, self._do, self._sql, self._who)

    async def _threads(self) -> AsyncIterator[ThreadHead]:
        cursor: str | None = None
        while True:
            page = await self._store.list_threads(self._who.key, limit=MAX_PAGE, cursor=cursor, archived=None)
            for head in page.threads:
                yield head
            if (cursor := page.next_cursor) is None:
                return

    # --- erasing

    async def erase(self) -> Receipt:
        """Erases the person, and returns the receipt. Raises `ThreadBusy` and `Unavailable`; then it can be run again,
        and does what is left.
        """
        receipt = await self.check()
        if await self._is_known(receipt):
            self._who = await self._do("durable", lambda: begin(self._who))
            receipt = await self._erase(receipt)
        try:
            await _clean_file(self._store, self._wait)
        except AguiGateError as error:  # the receipt is of what is done, and there is no second one
            receipt.unfinished = error.message
        return receipt

    async def check(self) -> Receipt:
        """Returns what would be erased. Raises what `erase` is refused for, with nothing changed but runs that were
        asked to stop.
        """
        receipt = await self.count()
        if await self._is_known(receipt):
            await self._check_rights()
            await self._until_idle()
            await self._check_providers()
        return receipt

    async def _is_known(self, seen: Receipt) -> bool:
        known = await self._do("read", lambda: has_key(self._who))
        return known or any(seen.deleted.values()) or bool(seen.replaced)

    async def _erase(self, seen: Receipt) -> Receipt:
        deleted, replaced = Counter[str](), Counter[str]()
        digests: list[str] = []
        eraser = TrailEraser(self._sql, self._who, self._who.one(self._by))
        for _ in range(MOST_PASSES):
            for head in [head async for head in self._threads()]:
                digests += await self._delete(head, deleted)
            found = await self._find()
            for key in sorted(found.chains):
                for page in (eraser.records, eraser.events):
                    after: int | None = -1
                    while after is not None:
                        after = await self._do("durable", partial(page, key, after))
            gone, changed = Counter[str](), Counter(events=found.events, records=found.records)
            for table in self._all_tables():
                await self._tables(table, gone, changed, look=False)
            deleted, replaced = deleted + gone, replaced + changed
            if not (gone + changed):
                break
        else:
            raise Unavailable(
                "This person still does things, so their name came back. Take their token away, and run this again."
            )
        receipt = self._receipt(deleted, replaced)
        receipt.pseudonym = self._who.pseudonym
        receipt.threads = sorted(digests)
        receipt.remains = seen.remains
        receipt.digest = digest(canonical(msgspec.to_builtins(receipt)))
        await self._do("durable", lambda: eraser.end(receipt.digest))
        log.warning("erased", by=name_of(self._by), pseudonym=receipt.pseudonym, receipt=receipt.digest)
        return receipt

    async def _tables(self, table: Table, deleted: Counter[str], replaced: Counter[str], *, look: bool) -> None:
        """Changes a table, or looks at it, page by page; adds how many rows."""
        place: Sequence[Any] | None = tuple(table.key.values())
        while place is not None:
            page = partial(change_page, table, self._who, place, look=look)
            gone, changed, place = await self._do("read" if look else "write", page)
            deleted[table.name] += gone
            replaced[table.name] += changed

    async def _until_idle(self) -> None:
        """Waits until nothing is at work on their threads. Raises `ThreadBusy`."""
        until, told = time.monotonic() + self._wait, 0
        while at_work := await self._at_work():
            if time.monotonic() >= until:
                raise ThreadBusy(await self._why_busy(at_work[0]))
            if len(at_work) != told:
                told = len(at_work)
                self._say(f"Waiting for what is at work on {told} of their threads.")
            for thread_id in at_work:
                await self._store.ask_to_stop(self._who.key, thread_id, StopRequest(gently=True))
            await asyncio.sleep(LOOK_SECONDS)

    async def _at_work(self) -> list[str]:
        """Returns the threads at which something is at work: their ids."""
        runs = await self._store.operators.runs(self._who.tenant, sys.maxsize)
        return [run.thread_id for run in runs.items if run.principal == self._who.key and not run.is_lost]

    async def _why_busy(self, thread_id: str) -> str:
        calls = await self._store.read_calls(self._who.key, thread_id)
        at_work = [one for one in (calls.approvals if calls else ()) if one.state in (State.CLAIMED, State.PASSED)]
        what = f"Call {at_work[0].id} ({at_work[0].tool}) is being carried out" if at_work else "A run is at work"
        return (
            f"{what} on thread {thread_id!r}, and has not ended within {self._wait:g} s. Nothing of this person was "
            "erased. Take their token away, wait until it ends (`agui-gate ops runs`), or give it longer with --wait; "
            "then run this again."
        )

    async def _check_rights(self) -> None:
        """Raises `Unavailable` before anything is deleted, if the names in the trail couldn't be replaced after it."""
        if self._store.bus_url and not await self._do("read", may_change):
            raise Unavailable(
                "The role of the database may not change the audit trail, which servers need not. Name one in --store "
                "that has UPDATE on approval_events. Nothing of this person was erased."
            )

    async def _check_providers(self) -> None:
        if self._providers is None:
            return
        async for head in self._threads():
            self._providers.check(await self._refs(head))

    async def _refs(self, head: ThreadHead) -> list[ConversationRef]:
        try:
            thread = await self._store.read_thread(self._who.key, head.id)
        except AguiGateError:  # a thread that nobody can read
            thread = await self._store.read_thread(self._who.key, head.id, whole=False)
        return [] if thread is None else refs_of(thread)

    async def _delete(self, head: ThreadHead, deleted: Counter[str]) -> list[str]:
        """Deletes a thread, and what providers keep of it. Returns the digest of what it was."""
        try:
            thread, run_key = await self._leased(head)
        except NotFound:
            return []
        try:
            if self._providers is not None:
                deleted["at_providers"] += await self._providers.forget(await self._refs(head))
            whole = await self._read(head)
            await self._store.delete_thread(thread, run_key)
        except BaseException:
            await self._give_back(thread, run_key)
            raise
        deleted["threads"] += 1
        deleted["approvals"] += 0 if whole is None else len(whole.approvals)
        return [digest("" if whole is None else msgspec.json.encode([whole.entries, whole.approvals]).decode())]

    async def _read(self, head: ThreadHead) -> Thread | None:
        try:
            return await self._store.read_thread(self._who.key, head.id)
        except AguiGateError:
            return None

    async def _leased(self, head: ThreadHead) -> tuple[Thread, str]:
        """Leases a thread, once nothing is at work on it. Raises `ThreadBusy` and `NotFound`."""
        await self._until_idle()
        run_key = f"{DELETES}{uuid4().hex}"
        lease = partial(self._store.lease_thread, self._who.key, head.id, head.agent, run_key)
        return await lease(whole=False, create=False), run_key

    async def _give_back(self, thread: Thread, run_key: str) -> None:
        await self._store.commit(thread, Change(status=thread.run_status or "cancelled"), run_key)

    def _remains(self, found: Found) -> list[str]:
        """Returns what is left of the person, in sentences."""
        left = [
            "The audit trail, records of other people's calls, and usage have the pseudonym instead of the name.",
            "Digests of arguments and results, ids of calls and runs, and what other people wrote are as they were.",
            "Backups that were made before have everything until they are deleted.",
        ]
        if self._providers is None:
            left.append("What providers store was left to expire there.")
        if self._store.bus_url:
            left.append("Events of runs on a bus of its own are there until they expire (AGUI_GATE_EVENTS_SECONDS).")
            left.append("PostgreSQL keeps deleted rows in its files until VACUUM, and in its write-ahead log.")
        if found.unsigned:
            left.append(
                f"{found.unsigned:,} events are not signed: who has the database can try whether a name fits a hash."
            )
        left += [
            f"The person {name!r} stood behind this principal. Erase that name, too (--person)."
            for name in sorted(found.persons.difference(self._persons))
        ]
        return left


async def _clean_file(store: SQLStore, seconds: float) -> None:
    """Writes the file of a store that has one anew, so that nothing is left in it of rows that were deleted, nor in its
    write-ahead log.

    Servers may use it; they wait meanwhile. Raises `Unavailable`.
    """
    if isinstance(store, SQLiteStore):
        await store._run(lambda db: _vacuum(db, seconds))


def _vacuum(database: Database, seconds: float) -> None:
    until = time.monotonic() + seconds
    is_anew = False
    while True:
        try:
            if not is_anew:
                database.execute("VACUUM")
                is_anew = True
            ((busy, *_),) = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if not busy:
                return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
        if time.monotonic() > until:
            raise Unavailable(
                "Others were at work in the file all the time, so deleted rows may still be in it. Run this again when "
                "there is less to do."
            )
        time.sleep(AGAIN_SECONDS)  # on the store's own thread
