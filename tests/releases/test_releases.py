"""Each database that a released version wrote is migrated, and served by two servers, and its trail is whole."""

import asyncio
from pathlib import Path

import pytest

from agui_gate.core.approvals import State
from agui_gate.extras.audit.keys import Keys
from agui_gate.extras.audit.verification import verify
from tests.cli.support import call
from tests.people.desk import Desk, ids
from tests.releases.fixture import EMPTY, FOLDER, GATE, KEY, PEOPLE, USED, connected, counts, load, opened
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T9")]

FILES = sorted(FOLDER.glob("*.sql"))
SETTLED = {"done", "failed", "unknown", "rejected", "superseded", "cancelled", "expired"}


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database as the release left it."""
    kind = request.param.stem.rpartition(".")[2]
    found = str(request.getfixturevalue("database")) if kind == "postgres" else f"sqlite:///{tmp_path / 'gate.db'}"
    load(request.param.read_text(), found)
    return found


def states(url: str) -> dict[str, str]:
    """The state of each call."""
    connection = connected(url)
    try:
        return dict(connection.execute("SELECT id, state FROM approvals").fetchall())
    finally:
        connection.close()


def test_there_is_a_file_of_each_kind_for_each_release() -> None:
    releases = {file.stem.rpartition(".")[0] for file in FILES}
    assert "0.1.0" in releases
    assert {file.name for file in FILES} == {f"{one}.{kind}.sql" for one in releases for kind in ("postgres", "sqlite")}


async def test_a_database_of_a_release_is_served_as_it_was_left(url: str) -> None:
    """With two servers on it, of which the first one migrates, and a command beside them that reads the trail."""
    rows, before = counts(url), states(url)
    assert {name for name, number in rows.items() if not number} <= EMPTY, "something is in every table"
    assert set(before.values()) == set(State)
    desks = (Desk(PEOPLE, **GATE).open(opened(url), **USED) for _ in range(2))
    async with next(desks) as one, next(desks) as other:
        waiting = ids(await one.get("ben", "/approvals"))
        for server, approval_id in zip((one, other), waiting, strict=True):
            assert (await server.decide("ben", approval_id, reason="late")).json()["state"] == "done"
        asked = await one.ask("ada", thread="talks")
        assert (await other.decide("dan", asked)).json()["state"] == "done"
        threads = (await other.get("ada", "/threads", "limit=100")).json()["threads"]
        assert {"talks", "done", "waits", "handed on"} <= {thread["id"] for thread in threads}
        for thread in ("done", "talks"):
            assert (await other.get("ada", f"/threads/{thread}")).status == 200
        story = (await one.get("aud", "/audit", "limit=100")).json()["entries"]
        assert {"as agreed", "too much", "late"} <= {entry.get("reason") for entry in story}
        usage = (await other.get("ada", "/usage", "since=2026-01-01")).json()["total"]
        assert usage["requests"] > 0
        grants = (await one.get("ada", "/grants")).json()["grants"]
        assert [grant["id"] for grant in grants] == ["grant"]
        assert (await one.get("ben", "/deputies")).status == 200
        words = ("audit", "verify", "--store", url)
        checked = await asyncio.to_thread(call, Path.cwd(), *words, env={"AGUI_GATE_AUDIT_KEY": KEY})
        assert checked.returncode == 0, checked.stderr
    after = states(url)
    assert {name: after[name] for name, state in before.items() if state in SETTLED} == {
        name: state for name, state in before.items() if state in SETTLED
    }
    now = counts(url)
    told_or_over = {
        "outbox",
        "deliveries",
        "approval_steps",
        "delivery_workers",
        "budgets",
        "deputies",
        "counted_calls",
    }
    assert {name for name, number in rows.items() if now[name] < number} <= told_or_over | EMPTY
    store = opened(url)
    await store.start()
    assert (await verify(store, (), Keys([KEY.encode()]))).broken == []
    await store.aclose()
