"""What a soak measures of its fleet: of the first replica, of the store, and of the bus."""

import asyncio
from pathlib import Path

import httpx2
import psycopg

from tests.soak.fleet import PEOPLE, Fleet, token

SECONDS = 10.0
"""For one sample, and between two."""
PAGE = 4096
STORE_TABLES = (
    *("threads", "journal", "approvals", "outbox", "outbox_taker", "deliveries", "delivery_workers"),
    *("approval_steps", "run_events", "run_heads", "run_openings", "counted_calls", "budgets"),
)
KEPT_TABLES = ("tombstones", "approval_events", "model_requests", "usage_days")
"""Records of what was done, which are kept for as long as the settings say: they grow with the work."""


class Samples:
    """Reads what the fleet holds, and keeps it by name."""

    def __init__(self, found: Fleet, client: httpx2.AsyncClient) -> None:
        self._fleet, self._client = found, client
        self.series: dict[str, list[tuple[float, float]]] = {}
        self.missed = 0

    async def take(self, now: float) -> None:
        """One sample of everything. What doesn't answer in time is left out."""
        try:
            async with asyncio.timeout(SECONDS):
                found = await self._of_process() | await asyncio.to_thread(self._of_servers)
        except (httpx2.HTTPError, psycopg.OperationalError, TimeoutError):
            self.missed += 1
            return
        for name, value in found.items():
            self.series.setdefault(name, []).append((now, float(value)))

    async def kinds(self) -> dict[str, int]:
        """How many objects of each kind the first replica has."""
        response = await self._client.get(f"{self._fleet.at(0)}/soak?kinds=1", headers=token(PEOPLE[0]))
        kinds: dict[str, int] = response.json()["kinds"]
        return kinds

    async def _of_process(self) -> dict[str, float]:
        response = await self._client.get(f"{self._fleet.at(0)}/soak", headers=token(PEOPLE[0]))
        said = response.json()
        proc = Path(f"/proc/{said['pid']}")
        resident = int((proc / "statm").read_text().split()[1]) * PAGE
        return {
            "rss_mb": resident / 1e6,
            "descriptors": len(list((proc / "fd").iterdir())),
            "tasks": said["tasks"],
            "threads_of_process": said["threads"],
        }

    def _of_servers(self) -> dict[str, float]:
        ask = self._fleet.postgres.execute
        counts = ", ".join(f"(SELECT count(*) FROM {name})" for name in (*STORE_TABLES, *KEPT_TABLES))
        tables = ", ".join(f"'{name}'" for name in STORE_TABLES)
        (row,) = ask(
            "SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),"
            " (SELECT sum(size) FROM pg_ls_waldir()),"
            f" (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname IN ({tables})), {counts}"
        )
        memory = self._fleet.valkey.ask("INFO memory").decode()
        clients = self._fleet.valkey.ask("INFO clients").decode()
        return {
            "store_connections": row[0],
            "wal_mb": float(row[1]) / 1e6,
            "tables_mb": float(row[2]) / 1e6,
            **{f"rows_{name}": n for name, n in zip((*STORE_TABLES, *KEPT_TABLES), row[3:], strict=True)},
            "bus_mb": _member(memory, "used_memory") / 1e6,
            "bus_connections": _member(clients, "connected_clients"),
            "bus_keys": int(self._fleet.valkey.ask("DBSIZE").strip(b":\r\n")),
        }


def _member(text: str, name: str) -> float:
    return next(float(line.partition(":")[2]) for line in text.splitlines() if line.partition(":")[0] == name)
