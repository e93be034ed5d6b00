"""Passwords of the store and of the bus change while a server runs: at SIGHUP, for the connections that come later."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from agui_gate import create_app
from agui_gate.bus.redis_client import CONNECTIONS
from agui_gate.cli.server.logins import place_of
from agui_gate.cli.server.plan import Plan, Ready
from agui_gate.cli.server.settings_files import SettingsFiles
from agui_gate.config.settings import load_settings
from agui_gate.errors import Unavailable
from tests.people.desk import Desk
from tests.product.inprocess import started
from tests.support.servers import Postgres, Valkey

pytestmark = pytest.mark.anyio


@pytest.fixture
def locked(postgres: Postgres) -> Iterator[None]:
    postgres.execute("CREATE ROLE locked SUPERUSER LOGIN PASSWORD 'first'", "postgres")
    yield
    postgres.execute("DROP ROLE locked", "postgres")


def write(config: Path, **values: str) -> None:
    for name, value in values.items():
        (config.parent / name).write_text(f"{value}\n")
    config.write_text("".join(f"{name}_file = {str(config.parent / name)!r}\n" for name in values))


@asynccontextmanager
async def served(config: Path, **values: str) -> AsyncIterator[tuple[Desk, SettingsFiles]]:
    """A server whose store and bus are named in files beside ``config``."""
    write(config, **values)
    settings, desk = load_settings(config, environ={}), Desk({"ada": "ada"})
    async with started(create_app(desk.agent(), auth=desk.auth, settings=settings)) as desk.app:
        yield desk, SettingsFiles(Plan(None, config, {}), cast(Ready, SimpleNamespace(app=desk.app, settings=settings)))


def again(files: SettingsFiles) -> list[tuple[str, str | None]]:
    with capture_logs() as lines:
        files.read_again()
    return [(line.get("changed", line["event"]), line.get("means")) for line in lines]


async def test_postgresql_gets_the_new_password_and_what_is_open_stays(
    tables: str, postgres: Postgres, locked: None, tmp_path: Path
) -> None:
    where = tables.rpartition("@")[2]
    async with served(tmp_path / "gate.toml", store=f"postgresql://locked:first@{where}") as (desk, files):
        await desk.ask("ada", thread="before")
        postgres.execute("ALTER ROLE locked PASSWORD 'second'", "postgres")
        await desk.ask("ada", thread="open connections stay")
        (tmp_path / "store").write_text(f"postgresql://locked:second@{where}\n")
        assert again(files) == [("store", None)]
        postgres.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'locked'", "postgres"
        )
        await desk.ask("ada", thread="after")
        store: Any = desk.app.state.engine.store
        assert await store.check() is None
        assert await desk.app.state.engine.bus.check() is None, "its events go through the same database"
        (tmp_path / "store").write_text(f"postgresql://locked:second@{where}_elsewhere\n")
        assert again(files) == [("store", "These count at the next start: store.")]
        (tmp_path / "store").write_text("postgresql://locked:second@[\n")
        assert again(files)[0][0] == "settings_not_read"


async def test_valkey_gets_another_user(valkey: Valkey, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert valkey.ask(f"ACL SETUSER {name} on >pass-{name} ~* &* +@all") == b"+OK\r\n"
    where = valkey.url.partition("://")[2]
    config = tmp_path / "gate.toml"
    async with served(config, store="memory://", bus=f"redis://one:pass-one@{where}") as (desk, files):
        await desk.ask("ada", thread="before")
        (tmp_path / "bus").write_text(f"redis://two:pass-two@{where}\n")
        assert again(files) == [("bus", None)]
        assert valkey.ask("ACL DELUSER one") == b":1\r\n"  # and its connections are closed
        for _ in range(CONNECTIONS):  # those that it doesn't know to be closed
            with suppress(Unavailable):
                await desk.app.state.engine.bus.check()
        await desk.app.state.engine.bus.check()
        await desk.ask("ada", thread="after")
    assert valkey.ask("ACL DELUSER two") == b":1\r\n"


def test_a_place_is_a_url_without_who_comes() -> None:
    here = place_of("postgresql://a:b@db:5432/gate?sslmode=require")
    assert here == place_of("postgresql://db:5432/gate?user=c&sslmode=require&password=d")
    assert here != place_of("postgresql://a:b@db:5432/gate?sslmode=disable")
    assert place_of("redis://:x@host/0") != place_of("redis://:x@host/1")
