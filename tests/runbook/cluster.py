"""PostgreSQL as its machine has it: programs, a data directory, a base backup, an archive of its log, a standby."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.runbook.page import FOLDER, Page
from tests.support.servers import START_SECONDS, USER, Postgres, free_port, programs


class Cluster:
    """A PostgreSQL that `pg_ctl` starts and stops. ``data`` is its directory, ``user`` as whom its commands run."""

    def __init__(self, **settings: object) -> None:
        self._made = Postgres(wal_level="replica", max_wal_senders=4, **settings)
        self.folder, self.data = self._made.folder, self._made.data
        self.user: Mapping[str, Any] = {**USER, "cwd": self.folder}
        self.standby, self.standby_port = self.folder / "standby", free_port()
        self.archive = self.folder / "archive"
        self.run("mkdir", str(self.archive))

    def configure(self, data: Path, **settings: object) -> None:
        """Adds settings to a data directory."""
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        with (data / "postgresql.conf").open("a") as conf:
            conf.write(lines)

    def start(self, **settings: object) -> None:
        """Starts it, with the settings of the tests and these."""
        given = {**self._made.settings, "unix_socket_directories": self.folder, "port": self._made.port, **settings}
        self.configure(self.data, **given)
        self.control("start", self.data)

    def control(self, what: str, data: Path, *more: str) -> None:
        """One command of `pg_ctl`."""
        self.run(str(programs() / "pg_ctl"), "-D", str(data), "-l", str(data.with_suffix(".log")), "-w", what, *more)

    def run(self, *command: str) -> None:
        """Runs a command as its user."""
        done = subprocess.run(
            command, cwd=self.folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL, timeout=START_SECONDS, **USER,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout

    def url(self, database: str = "postgres") -> str:
        return self._made.url(database)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        return self._made.execute(statement, database)

    def close(self) -> None:
        """Ends all of it."""
        for data in (self.data, self.standby):
            if (data / "postmaster.pid").exists():
                command = [str(programs() / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop"]
                subprocess.run(command, cwd=self.folder, check=False, capture_output=True, **USER)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def cluster(page: Page, **settings: object) -> Iterator[Cluster]:
    """A cluster that is configured as the page says under "Before it happens", but for ``settings``."""
    made = Cluster()
    try:
        text = (FOLDER / f"{page.name}.md").read_text().rpartition("## Before it happens")[2]
        lines = text.partition("```text\n")[2].partition("```")[0].splitlines()
        said = dict(line.replace("'", "").split(" = ", 1) for line in lines)
        said = {name: value.replace("ARCHIVE", str(made.archive)) for name, value in said.items()}
        made.start(**{**said, **settings})
        yield made
    finally:
        made.close()
