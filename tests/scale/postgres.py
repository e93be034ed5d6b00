"""A PostgreSQL that says what it was asked: its log has every message, its views what came of them."""

import os
import re
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from tests.support.servers import Postgres

MESSAGE = re.compile(r"LOG:  (?:statement|execute [^:]*): ((?:.*)(?:\n\t.*)*)")
STATEMENT = re.compile(r"(?:^|;)\s*(?=[A-Za-z(])")
WRITE = re.compile(r"\b(?:INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b")
NOTIFY = re.compile(r"\bpg_notify\(|\bNOTIFY\b")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Counts:
    """What it has done so far. ``wal`` and ``kept`` are bytes, ``cpu`` seconds; ``connections`` are those there are."""

    messages: int
    statements: int
    notifies: int
    writes: int
    wal: int
    kept: int
    cpu: float
    connections: int

    def __sub__(self, before: "Counts") -> "Counts":
        """What was done since; connections are those of now."""
        done = [now - then for now, then in zip(astuple(self), astuple(before), strict=True)]
        return replace(Counts(*done), connections=self.connections)


class Watched:
    """The server, with one database. Within the block it runs."""

    def __init__(self) -> None:
        # A line of the log is what costs least of all that counts statements; it is a few % of its CPU.
        self._server = Postgres(log_statement="all", log_line_prefix="[%d] ")

    def __enter__(self) -> "Watched":
        self._server.start()
        self._name = self._server.create()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.close()

    @property
    def store(self) -> str:
        """The database's URL."""
        return self._server.url(self._name)

    def counts(self) -> Counts:
        """Now."""
        messages = [m for m in MESSAGE.findall(self._of_the_database()) if m]
        ((wal, kept, connections),) = self._server.execute(
            f"SELECT (pg_current_wal_lsn() - '0/0')::bigint, pg_database_size('{self._name}'),"
            f" (SELECT count(*) FROM pg_stat_activity WHERE datname = '{self._name}')"
        )
        return Counts(
            len(messages),
            sum(len(STATEMENT.findall(message)) for message in messages),
            sum(len(NOTIFY.findall(message)) for message in messages),
            sum(len(WRITE.findall(message)) for message in messages),
            wal,
            kept,
            self._cpu(),
            connections,
        )

    def _of_the_database(self) -> str:
        """The log, without what others than the replicas asked (us, in another database)."""
        parts = re.split(r"^(?=\[[^\]]*\] )", self._server.log.read_text(errors="replace"), flags=re.MULTILINE)
        return "".join(part.partition("] ")[2] for part in parts if part.startswith(f"[{self._name}] "))

    def _cpu(self) -> float:
        """CPU seconds of all of its processes that live, and of those that ended."""
        assert self._server.pid is not None
        seconds = 0.0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, fields = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if pid == self._server.pid:
                seconds += sum(map(int, fields[11:15])) / TICKS
            elif int(fields[1]) == self._server.pid:
                seconds += sum(map(int, fields[11:13])) / TICKS
        return seconds
