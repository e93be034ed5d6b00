"""The journal in SQL: one row a batch of entries, read as one value."""

from collections.abc import Mapping, Sequence

from agui_gate.core.stored_values import decode_entries, encode_entries, first_entries
from agui_gate.core.transcript import Entry
from agui_gate.stores.base import Change
from agui_gate.stores.sql.operations import Result, Statement
from agui_gate.stores.sql.variant import Variant

UNDER_LEASE = "tenant = :tenant AND key = :key AND run_key = :run_key AND run_status = 'running'"
"""The row of ``threads`` whose lease that run holds: what every write by a run asks for."""

AS_KNOWN = f"{UNDER_LEASE} AND coalesce(:after, entries) = entries"
"""The same, where the journal has as many entries as the run knows of. So a commit that the network delivers when it
was made again already changes nothing.
"""

_MINE = "tenant = :tenant AND thread = :key"


class Journal:
    """The statements of the journal. Those that write are for a run that holds the lease."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self._append = (
            "INSERT INTO journal (tenant, thread, seq, count, body) "  # noqa: S608 our names
            f"SELECT tenant, key, coalesce(:seq, entries), :count, :body FROM threads WHERE {AS_KNOWN}{variant.lock}"
        )
        self._size = f"SELECT coalesce(sum({variant.size('body')}), 0) FROM journal WHERE {_MINE} AND seq >= :keep"  # noqa: S608 ours

    def reading(self, thread: str, since: str = "") -> str:
        """Returns the SQL that reads all of a thread whose key is the expression ``thread``, or what was written
        ``since`` a number of entries; see `entries`.
        """
        newer = f" AND seq >= {since}" if since else ""
        rows = f"SELECT body FROM journal WHERE tenant = :tenant AND thread = {thread}{newer} ORDER BY seq"  # noqa: S608 our names
        return f"SELECT {self._variant.joined('body')} FROM ({rows}) AS found"  # noqa: S608 our names

    @staticmethod
    def entries(result: Result) -> list[Entry]:
        """Returns the entries that were read."""
        bodies: bytes | str | None = result.rows[0][0]
        if bodies is None:
            return []
        return decode_entries(b"[%b]" % (bodies.encode() if isinstance(bodies, str) else bodies))

    def append(self, held: Mapping[str, object], seq: int | None, change: Change) -> tuple[Statement, int]:
        """Returns a statement with a change's entries at place ``seq`` (None: the end), and their bytes. ``held``: the
        values of `AS_KNOWN`.
        """
        body = encode_entries(change.entries) if change.encoded is None else change.encoded
        values = {**held, "seq": seq, "count": len(change.entries), "body": self._variant.body(body)}
        return Statement(self._append, values), len(body)

    def look(self, key: int, keep: int) -> list[Statement]:
        """Returns the statements that find what has to be known before the end after ``keep`` entries is dropped."""
        values = {"key": key, "keep": keep}
        straddling = f"SELECT seq, body FROM journal WHERE {_MINE} AND seq < :keep ORDER BY seq DESC LIMIT 1"  # noqa: S608 ours
        return [Statement(self._size, values), Statement(straddling, values)]

    def drop(self, key: int, keep: int, looked: Sequence[Result]) -> tuple[list[Statement], int]:
        """Deletes that end; a batch that is partly kept is rewritten. By how many bytes that grows it: below 0."""
        ((size,),), batch = looked[0].rows, looked[1].rows
        values: dict[str, object] = {"key": key, "keep": keep}
        statements = [Statement(f"DELETE FROM journal WHERE {_MINE} AND seq >= :keep", values)]  # noqa: S608 our names
        for seq, written in batch:
            body = written.encode() if isinstance(written, str) else written
            kept = first_entries(body, keep - seq)
            if kept is not None:
                size += len(body) - len(kept)
                values = {"key": key, "seq": seq, "count": keep - seq, "body": self._variant.body(kept)}
                text = f"UPDATE journal SET count = :count, body = :body WHERE {_MINE} AND seq = :seq"  # noqa: S608 ours
                statements.append(Statement(text, values))
        return statements, -size
