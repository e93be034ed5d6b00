"""The wire over `postgresql://`: frames are rows, notes are NOTIFY.

Theory of operation
-------------------
What is sent together is one text of statements, so one round trip and one transaction. It writes the heads of the runs
and a row for each batch of frames, and removes old rows. Notes go with it, so they arrive when the rows are there. A
batch that comes twice finds its row (its key is the number after its last frame), and changes nothing.

The tables are UNLOGGED: nothing of this is written to PostgreSQL's log, and no commit waits for a disk. After a crash
of PostgreSQL they are empty, which readers are told as with any other loss. A NOTIFY makes commits wait for each other
in the whole server, so there are few of them: notes go only to who asked for them, many together.

A replica has three connections for this: one that sends, one that reads, one that hears (`postgres_lines`).
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from functools import lru_cache

from agui_gate.bus.postgres_lines import Ear, Line
from agui_gate.bus.replicas.wire import Batch, Head, Note, Piece, Run, Said, Wanted
from agui_gate.errors import Unavailable, Unusable
from agui_gate.stores.postgres.link import parameters
from agui_gate.stores.postgres.literals import MARK, bind, literal
from agui_gate.stores.sql.operations import Statement

CHANNEL = "agui_gate"
"""The channel of notes to every process; the channel to one process has its address at the end."""

PIECES = 32
"""The most that one read gives of one run."""

RUNNING_SECONDS = 24 * 3600
"""Seconds for which a run that says nothing is kept: its process may be dead."""

OPENING_SECONDS = 60

AT_ONCE = 200
"""Runs that are dropped in one transaction."""

HEAR_SECONDS = 5.0
"""Seconds that it may take at the start until a note comes back."""

_NOW = b"CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
_MARKED = literal(MARK)[1:-1]

_HEADS = (
    b"INSERT INTO run_heads AS h (run_key, principal, thread_id, run_id, address, next, ended, at) VALUES %b "
    b"ON CONFLICT (tenant, run_key) DO UPDATE SET next = excluded.next, ended = excluded.ended, at = excluded.at"
)
_EVENTS = b"INSERT INTO run_events (run_key, next, first, frames) VALUES %b ON CONFLICT DO NOTHING"
_TRIM = (
    b"DELETE FROM run_events AS e USING (VALUES %b) AS k (run_key, keep) "
    b"WHERE e.tenant = '' AND e.run_key = k.run_key AND e.next <= k.keep"
)
_FIND = (
    "SELECT principal, thread_id, run_id, address, next, ended, (SELECT first FROM run_events AS e "
    "WHERE e.tenant = '' AND e.run_key = h.run_key ORDER BY e.next LIMIT 1) "
    "FROM run_heads AS h WHERE tenant = '' AND run_key = :run_key"
)
_READ = (
    b"SELECT w.number, h.next, h.ended, e.first, e.frames FROM (VALUES %b) AS w (number, run_key, seq) "
    b"JOIN run_heads AS h ON h.tenant = '' AND h.run_key = w.run_key "
    b"LEFT JOIN LATERAL (SELECT next, first, frames FROM run_events AS e WHERE e.tenant = '' "
    b"AND e.run_key = w.run_key AND e.next > w.seq ORDER BY e.next LIMIT %d) AS e ON true ORDER BY w.number, e.next"
)
_PUT = (
    "INSERT INTO run_openings AS o (run_key, seq, opening, at) VALUES (:run_key, :seq, :opening, :now) "
    "ON CONFLICT (tenant, run_key) DO UPDATE SET seq = excluded.seq, opening = excluded.opening, at = excluded.at"
)
_OPENING = "SELECT seq, opening FROM run_openings WHERE tenant = '' AND run_key = :run_key"
_DROP = (
    "WITH gone AS (SELECT run_key FROM run_heads WHERE tenant = '' AND {which} LIMIT :many FOR UPDATE SKIP LOCKED), "
    "events AS (DELETE FROM run_events AS e USING gone WHERE e.tenant = '' AND e.run_key = gone.run_key), "
    "openings AS (DELETE FROM run_openings AS o USING gone WHERE o.tenant = '' AND o.run_key = gone.run_key) "
    "DELETE FROM run_heads AS h USING gone WHERE h.tenant = '' AND h.run_key = gone.run_key"
)
_FORGET = _DROP.format(which="principal = :principal AND thread_id = :thread_id AND ended = 1")
_EXPIRE = _DROP.format(which="(ended = 1 AND at < :now - :kept OR at < :now - :running)")
_OLD_OPENINGS = "DELETE FROM run_openings WHERE tenant = '' AND at < :now - :kept"
_MAY = b";".join(
    b"INSERT INTO %b SELECT * FROM %b WHERE false; UPDATE %b SET run_key = '' WHERE false; DELETE FROM %b WHERE false"
    % (table, table, table, table)
    for table in (b"run_heads", b"run_events", b"run_openings")
)
"""Does nothing, and is refused where something that is needed isn't there."""


class PostgresWire:
    """`Wire` to the database at ``url``. What has ended is kept for ``kept_seconds``.

    Raises `Unusable` for what is no URL of PostgreSQL.
    """

    def __init__(self, url: str, kept_seconds: float) -> None:
        self._conninfo = parameters(url, "bus")
        self._kept_seconds = kept_seconds
        self._send, self._read = Line(self._conninfo), Line(self._conninfo)
        self._ear: Ear | None = None
        self._trimmed: dict[str, int] = {}

    async def start(self, address: str, hear: Callable[[bytes], None], again: Callable[[], None]) -> None:
        """See `Wire`."""
        token = secrets.token_hex(8).encode()
        heard = asyncio.Event()

        def hear_or_know(payload: bytes) -> None:
            if payload == token:
                heard.set()
            else:
                hear(payload.replace(_MARKED, MARK.encode()))

        self._ear = Ear(self._conninfo, [CHANNEL, f"{CHANNEL}_{address}"], hear_or_know, again)
        try:
            await self._ear.start()
            await self._send.ask(_MAY + b";" + _notify([Note(address, token)]))
        except Unavailable as error:
            await self.aclose()
            raise Unusable(f"The bus can't be used. {error.message}") from None
        try:
            async with asyncio.timeout(HEAR_SECONDS):
                await heard.wait()
        except TimeoutError:
            await self.aclose()
            raise Unusable(
                "The bus receives no notifications of PostgreSQL, as behind a pooler: give it (AGUI_GATE_BUS) a URL "
                "that leads to PostgreSQL itself."
            ) from None

    async def aclose(self) -> None:
        """See `Wire`."""
        if self._ear is not None:
            await self._ear.aclose()
            self._ear = None
        self._send.close()
        self._read.close()

    async def send(self, batches: Sequence[Batch], notes: Sequence[Note]) -> None:
        """See `Wire`."""
        heads = {batch.run.run_key: batch for batch in batches}
        trims = {key: batch.keep for key, batch in heads.items() if batch.keep > self._trimmed.get(key, 0)}
        texts = []
        if batches:
            texts.append(_HEADS % b",".join(map(_head, heads.values())))
        if frames := [batch for batch in batches if batch.data]:
            texts.append(_EVENTS % b",".join(map(_frames, frames)))
        if trims:
            texts.append(_TRIM % b",".join(b"(%b,%d)" % (literal(key), keep) for key, keep in trims.items()))
        if notes:
            texts.append(_notify(notes))
        if texts:
            await self._send.ask(b";".join(texts))
        self._trimmed |= trims
        for key, batch in heads.items():
            if batch.ended:
                self._trimmed.pop(key, None)

    async def find(self, run_key: str) -> Head | None:
        """See `Wire`."""
        (found,) = await self._read.ask(_bound(_FIND, run_key=run_key))
        if not found.rows:
            return None
        principal, thread_id, run_id, address, next_seq, ended, first = found.rows[0]
        run = Run(run_key, principal, thread_id, run_id, address)
        return Head(run, next_seq if first is None else first, next_seq, bool(ended))

    async def read(self, wanted: Sequence[Wanted]) -> Sequence[Said | None]:
        """See `Wire`."""
        if not wanted:
            return []
        values = (b"(%d,%b,%d)" % (number, literal(each.run_key), each.seq) for number, each in enumerate(wanted))
        (found,) = await self._read.ask(_READ % (b",".join(values), PIECES))
        said: list[Said | None] = [None] * len(wanted)
        pieces: list[list[Piece]] = [[] for _ in wanted]
        for number, next_seq, ended, first, frames in found.rows:
            if first is not None:
                pieces[number].append(Piece(first, frames.encode()))
            said[number] = Said(pieces[number], next_seq, bool(ended))
        return said

    async def put_opening(self, run_key: str, seq: int, data: bytes) -> None:
        """See `Wire`."""
        await self._send.ask(_bound(_PUT, run_key=run_key, seq=seq, opening=data))

    async def opening(self, run_key: str) -> tuple[int, bytes] | None:
        """See `Wire`."""
        (found,) = await self._read.ask(_bound(_OPENING, run_key=run_key))
        return None if not found.rows else (found.rows[0][0], found.rows[0][1].encode())

    async def forget(self, principal: str, thread_id: str) -> None:
        """See `Wire`."""
        await self._drop(_bound(_FORGET, principal=principal, thread_id=thread_id, many=AT_ONCE))

    async def expire(self) -> None:
        """See `Wire`."""
        kept, running = int(self._kept_seconds * 1000), RUNNING_SECONDS * 1000
        await self._drop(_bound(_EXPIRE, kept=kept, running=running, many=AT_ONCE))
        await self._send.ask(_bound(_OLD_OPENINGS, kept=OPENING_SECONDS * 1000))

    async def _drop(self, query: bytes) -> None:
        while (await self._send.ask(query))[0].changed == AT_ONCE:
            pass


def _bound(text: str, **values: object) -> bytes:
    return bind(Statement(text, values), {"now": _NOW})


def _head(batch: Batch) -> bytes:
    return b"(%b,%d,%d,%b)" % (_whose(batch.run), batch.next, batch.ended, _NOW)


@lru_cache(maxsize=4096)
def _whose(run: Run) -> bytes:
    return b",".join(map(literal, (run.run_key, run.principal, run.thread_id, run.run_id, run.address)))


def _frames(batch: Batch) -> bytes:
    return b"(%b,%d,%d,%b)" % (literal(batch.run.run_key), batch.next, batch.first, literal(batch.data))


def _notify(notes: Sequence[Note]) -> bytes:
    return b"SELECT " + b",".join(
        b"pg_notify(%b,%b)" % (literal(f"{CHANNEL}_{note.to}" if note.to else CHANNEL), literal(note.payload))
        for note in notes
    )
