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
from collections.abc import Callable, Iterator, Mapping, Sequence

from agui_gate.bus.postgres_lines import Ear, Line
from agui_gate.bus.replicas.wire import Batch, Head, Note, Piece, Run, Said, Wanted
from agui_gate.errors import Unavailable, Unusable
from agui_gate.stores.postgres.link import parameters
from agui_gate.stores.postgres.literals import MARK, Given
from agui_gate.stores.sql.operations import Statement
from agui_gate.stores.sql.rows import many

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

_NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
_GIVEN: Given = (("now", _NOW),)
_MARKED = MARK + "1"

_HEADS = (
    "INSERT INTO run_heads AS h (run_key, principal, thread_id, run_id, address, next, ended, at) "  # noqa: S608 ours
    f"SELECT *, {_NOW} FROM (VALUES {{rows}}) AS b "
    "ON CONFLICT (tenant, run_key) DO UPDATE SET next = excluded.next, ended = excluded.ended, at = excluded.at"
)
_EVENTS = "INSERT INTO run_events (run_key, next, first, frames) VALUES {rows} ON CONFLICT DO NOTHING"
_TRIM = (
    "DELETE FROM run_events AS e USING (VALUES {rows}) AS k (run_key, keep) "
    "WHERE e.tenant = '' AND e.run_key = k.run_key AND e.next <= k.keep"
)
_NOTIFY = "SELECT pg_notify(channel, payload) FROM (VALUES {rows}) AS n (channel, payload)"
_FIND = (
    "SELECT principal, thread_id, run_id, address, next, ended, (SELECT first FROM run_events AS e "
    "WHERE e.tenant = '' AND e.run_key = h.run_key ORDER BY e.next LIMIT 1) "
    "FROM run_heads AS h WHERE tenant = '' AND run_key = :run_key"
)
_READ = (
    "SELECT w.number, h.next, h.ended, e.first, e.frames FROM (VALUES {rows}) AS w (number, run_key, seq) "  # noqa: S608 ours
    "JOIN run_heads AS h ON h.tenant = '' AND h.run_key = w.run_key "
    "LEFT JOIN LATERAL (SELECT next, first, frames FROM run_events AS e WHERE e.tenant = '' "
    f"AND e.run_key = w.run_key AND e.next > w.seq ORDER BY e.next LIMIT {PIECES}) AS e ON true "
    "ORDER BY w.number, e.next"
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
_MAY = [
    Statement(text.format(table))
    for table in ("run_heads", "run_events", "run_openings")
    for text in (
        "INSERT INTO {0} SELECT * FROM {0} WHERE false",
        "UPDATE {0} SET run_key = '' WHERE false",
        "DELETE FROM {0} WHERE false",
    )
]
"""Do nothing, and are refused where something that is needed isn't there."""


class PostgresWire:
    """`Wire` to the database at ``url``. What has ended is kept for ``kept_seconds``.

    Raises `Unusable` for what is no URL of PostgreSQL.
    """

    def __init__(self, url: str, kept_seconds: float) -> None:
        self.url, self._conninfo = url, parameters(url, "bus")
        self._kept_seconds = kept_seconds
        self._send, self._read = Line(self._conninfo, _GIVEN), Line(self._conninfo, _GIVEN)
        self._ear: Ear | None = None
        self._trimmed: dict[str, int] = {}

    async def start(self, address: str, hear: Callable[[bytes], None], again: Callable[[], None]) -> None:
        """See `Wire`."""
        token = secrets.token_hex(8)
        heard = asyncio.Event()

        def hear_or_know(payload: str) -> None:
            if payload == token:
                heard.set()
            else:
                hear(payload.replace(_MARKED, MARK).encode())

        self._ear = Ear(self._conninfo, [CHANNEL, f"{CHANNEL}_{address}"], hear_or_know, again)
        try:
            await self._ear.start()
            await self._send.ask(*_MAY, *_notify([Note(address, token.encode())]))
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

    def prepare_login(self, url: str) -> Callable[[], None]:
        """See `SharedBus`."""
        conninfo = parameters(url, "bus")

        def change() -> None:
            self.url = url
            self._conninfo = self._send.conninfo = self._read.conninfo = conninfo
            if self._ear is not None:
                self._ear.conninfo = conninfo

        return change

    async def aclose(self) -> None:
        """See `Wire`."""
        if self._ear is not None:
            await self._ear.aclose()
            self._ear = None
        await self._send.aclose()
        await self._read.aclose()

    async def send(self, batches: Sequence[Batch], notes: Sequence[Note]) -> None:
        """See `Wire`."""
        heads = {batch.run.run_key: batch for batch in batches}
        trims = {key: batch.keep for key, batch in heads.items() if batch.keep > self._trimmed.get(key, 0)}
        statements = [
            *many(_HEADS, [_head(batch) for batch in heads.values()]),
            *many(_EVENTS, [_frames(batch) for batch in batches if batch.data]),
            *many(_TRIM, [{"run_key": key, "keep": keep} for key, keep in trims.items()]),
            *_notify(notes),
        ]
        if statements:
            await self._send.ask(*statements)
        self._trimmed |= trims
        for key, batch in heads.items():
            if batch.ended:
                self._trimmed.pop(key, None)

    async def find(self, run_key: str) -> Head | None:
        """See `Wire`."""
        (found,) = await self._read.ask(Statement(_FIND, {"run_key": run_key}))
        if not found.rows:
            return None
        principal, thread_id, run_id, address, next_seq, ended, first = found.rows[0]
        run = Run(run_key, principal, thread_id, run_id, address)
        return Head(run, next_seq if first is None else first, next_seq, bool(ended))

    async def read(self, wanted: Sequence[Wanted]) -> Sequence[Said | None]:
        """See `Wire`."""
        if not wanted:
            return []
        rows = [{"number": number, "run_key": each.run_key, "seq": each.seq} for number, each in enumerate(wanted)]
        found = await self._read.ask(*many(_READ, rows))
        said: list[Said | None] = [None] * len(wanted)
        pieces: list[list[Piece]] = [[] for _ in wanted]
        for number, next_seq, ended, first, frames in (row for result in found for row in result.rows):
            if first is not None:
                pieces[number].append(Piece(first, frames.encode()))
            said[number] = Said(pieces[number], next_seq, bool(ended))
        return said

    async def put_opening(self, run_key: str, seq: int, data: bytes) -> None:
        """See `Wire`."""
        await self._send.ask(Statement(_PUT, {"run_key": run_key, "seq": seq, "opening": data}))

    async def opening(self, run_key: str) -> tuple[int, bytes] | None:
        """See `Wire`."""
        (found,) = await self._read.ask(Statement(_OPENING, {"run_key": run_key}))
        return None if not found.rows else (found.rows[0][0], found.rows[0][1].encode())

    async def forget(self, principal: str, thread_id: str) -> None:
        """See `Wire`."""
        await self._drop(_FORGET, principal=principal, thread_id=thread_id)

    async def expire(self) -> None:
        """See `Wire`."""
        kept, running = int(self._kept_seconds * 1000), RUNNING_SECONDS * 1000
        await self._drop(_EXPIRE, kept=kept, running=running)
        await self._send.ask(Statement(_OLD_OPENINGS, {"kept": OPENING_SECONDS * 1000}))

    async def _drop(self, text: str, **values: object) -> None:
        while (await self._send.ask(Statement(text, {**values, "many": AT_ONCE})))[0].changed == AT_ONCE:
            pass


def _head(batch: Batch) -> Mapping[str, object]:
    run = batch.run
    return {
        "run_key": run.run_key,
        "principal": run.principal,
        "thread_id": run.thread_id,
        "run_id": run.run_id,
        "address": run.address,
        "next": batch.next,
        "ended": batch.ended,
    }


def _frames(batch: Batch) -> Mapping[str, object]:
    return {"run_key": batch.run.run_key, "next": batch.next, "first": batch.first, "frames": batch.data}


def _notify(notes: Sequence[Note]) -> Iterator[Statement]:
    rows = [{"to": f"{CHANNEL}_{note.to}" if note.to else CHANNEL, "payload": note.payload} for note in notes]
    return many(_NOTIFY, rows)
