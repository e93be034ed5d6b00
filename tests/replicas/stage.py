"""Where a test has its servers: so many replicas, on what kind of store and bus."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agui_gate.stores.base import LEASE_MS
from tests.replicas.fleet import App, Fleet, fleet
from tests.support.servers import Postgres

STORES, BUSES = ("sqlite", "postgres"), ("", "valkey")
"""One SQLite file or PostgreSQL; the store's own bus or Valkey."""

_spare: list[str] = []
"""Databases with tables and no rows, which a stage before has left: to make one takes longer than most tests."""


@dataclass
class Stage:
    """For one test. ``stores``: what stands for each store that the test has named. ``hosted``: applications so far."""

    count: int
    kind: str
    other_bus: str
    request: pytest.FixtureRequest
    stores: dict[str, str] = field(default_factory=dict)
    hosted: int = 0

    @classmethod
    def called(cls, name: str, request: pytest.FixtureRequest) -> "Stage":
        """By its name, such as `4:postgres+valkey`."""
        count, _, kinds = name.partition(":")
        kind, _, bus = kinds.partition("+")
        assert kind in STORES, f"a fleet is such as 2:postgres, 4:postgres+valkey or 2:sqlite, not {name}"
        assert bus in BUSES, f"the bus is the store's own or valkey, not {bus}"
        return cls(int(count), kind, bus, request)

    @asynccontextmanager
    async def running(self, app: Any) -> AsyncIterator[str]:
        """As `kit.running`: the address at which ``app`` is served."""
        async with self.fleet(app) as found:
            yield found.url

    @asynccontextmanager
    async def fleet(self, app: Any) -> AsyncIterator[Fleet]:
        """Replicas of ``app`` on a store that they share."""
        if not isinstance(app, App):
            pytest.fail("this application was made before its replicas were; list the test in `scenarios`")
        self.hosted += 1
        options = app.options | {"store": self.store(app.options.get("store")), "bus": self._bus()}
        async with fleet(App(app.agents, options, apart=self.kind != "sqlite"), self.count) as found:
            yield found

    def time_passes(self, store: str = "memory 0") -> None:
        """No lease that anybody has by now is good any more, as if each had lasted as long as it may."""
        server: Postgres = self.request.getfixturevalue("postgres")
        server.execute(
            f"UPDATE threads SET lease_until = lease_until - {2 * LEASE_MS}", self.stores[store].rpartition("/")[2]
        )

    def store(self, named: object) -> str:
        """The store that the replicas share instead of this one. A file stays the same over restarts."""
        if not isinstance(named, str | None):
            pytest.fail("the test brings a store of its own; list it in `scenarios`")
        if named is None or named == "memory://":
            named = f"memory {len(self.stores)}"
        if named not in self.stores:
            self.stores[named] = self._new_store()
        return self.stores[named]

    def _new_store(self) -> str:
        if self.kind == "sqlite":
            folder: Path = self.request.getfixturevalue("tmp_path")
            return f"sqlite:///{folder / f'replicas-{len(self.stores)}.db'}"
        server: Postgres = self.request.getfixturevalue("postgres")
        name = _spare.pop() if _spare else server.create()
        self.request.addfinalizer(lambda: _give_back(server, name))
        return server.url(name)

    def _bus(self) -> str | None:
        """The bus, where it isn't the store's own. What a test brings is for one process."""
        return str(self.request.getfixturevalue("valkey").url) if self.other_bus else None


def _give_back(server: Postgres, name: str) -> None:
    try:
        server.empty(name)
    except psycopg.errors.UndefinedTable:  # nothing has started on it
        server.drop(name)
    else:
        _spare.append(name)
