"""Which URL makes which store."""

import os
import re
import sqlite3
import sys
from pathlib import Path

import pytest

from agui_gate.errors import ConfigurationError
from agui_gate.stores import open_store, schema_of
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore


def test_memory() -> None:
    assert isinstance(open_store("memory://"), MemoryStore)


@pytest.mark.anyio
@pytest.mark.parametrize("absolute", [True, False])
async def test_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absolute: bool) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store(f"sqlite:///{tmp_path}/my gate.db" if absolute else "sqlite:///my gate.db")
    assert isinstance(store, SQLiteStore)
    assert os.listdir(tmp_path) == [], "nothing is opened before start"
    await store.start()
    assert (tmp_path / "my gate.db").exists()
    await store.aclose()


@pytest.mark.parametrize("url", ["postgresql://u:secret@h/db", "postgres://u:secret@h/db"])
def test_postgresql(url: str) -> None:
    assert isinstance(open_store(url), PostgresStore)


@pytest.mark.parametrize(
    "url", ["postgresql://u:secret@[::1/db", "postgresql://u:secret%zz@h/db", "postgresql://h/db?secret=secret"]
)
def test_a_url_of_postgresql_that_can_not_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="postgresql://user:password@host:5432/database") as caught:
        open_store(url)
    assert "secret" not in caught.value.message


def test_a_missing_driver_is_said_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agui_gate.stores.postgres", None)
    with pytest.raises(ConfigurationError, match=r'pip install "agui-gate\[postgres\]"'):
        open_store("postgresql://h/db")


@pytest.mark.parametrize("url", ["", "agui-gate.db", "mysql://u:secret@h/db", "sqlite:file.db", "memory:"])
def test_a_url_that_names_no_store_is_told_which_do(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"memory://.*sqlite:///file\.db.*sqlite:////absolute") as caught:
        open_store(url)
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite://file.db", "sqlite:///:memory:", "memory://x"])
def test_a_url_that_is_incomplete_is_told_how_it_goes(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"sqlite:///file\.db|memory:// with nothing"):
        open_store(url)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://u:secret@h/db", "no store mysql://; this version knows memory://"),
        ("sqlite:///{}", "is a directory. Name the file"),
        (
            "sqlite:///{}/x",
            "check the rights of the file and its directory, and whether the disk is mounted read-only",
        ),
    ],
    ids=["kind", "directory", "rights"],
)
async def test_a_command_says_which_store_it_can_not_look_into(
    url: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one is a file that somebody else alone may read; root may read all."""

    def refuses(*_: object, **__: object) -> None:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    (tmp_path / "x").touch()
    monkeypatch.setattr(sqlite3, "connect", refuses)
    with pytest.raises(ConfigurationError, match=re.escape(why)):
        await schema_of(url.format(tmp_path))
