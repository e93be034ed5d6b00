"""`agui-gate notifications`, what `doctor` says of endpoints, and notices that no click brings about."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agui_gate import Notice, create_app
from agui_gate.approvals import outbox
from agui_gate.cli.program import program
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import State
from agui_gate.extras.inbox.feed import Waiting, inbox_of
from agui_gate.extras.notices import steps
from agui_gate.extras.notices.delivery import targets
from agui_gate.stores.base import LEASE_MS
from agui_gate.stores.deliveries import Delivery
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.desk import Desk
from tests.people.receivers import SECRET, Receiver, receiving
from tests.people.test_notices import PEOPLE, Heard, delivery, served
from tests.product.inprocess import request, started
from tests.stores.support import Clock, ask, gated

anyio = pytest.mark.anyio


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(outbox, "GATHER_SECONDS", 0.02)


def shell(*arguments: str) -> Result:
    return CliRunner().invoke(program, arguments)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a delivery that waits, and two dead letters."""
    path = tmp_path / "store.db"

    async def fill() -> None:
        store = SQLiteStore(str(path))
        await store.start()
        deliveries = store.deliveries()
        await deliveries.add([delivery("n1"), delivery("n2", "a2"), delivery("n3", "a3", "pager")])
        for endpoint in ("desk", "pager"):
            for one in (await deliveries.take(endpoint, "w", 10)).deliveries:
                await deliveries.failed(one, "it answered 503", None if one.notice != "n1" else 60_000)
        await deliveries.add([Delivery("desk", "odd", "a4", "[]")])
        await store.aclose()

    asyncio.run(fill())
    return f"sqlite:///{path}"


def test_what_waits_is_listed(url: str) -> None:
    listed = shell("notifications", "ls", "--store", url)
    assert listed.exit_code == 0
    lines = listed.output.splitlines()
    assert [line.split()[1:4] for line in lines] == [
        ["desk", "asked", "a1"], ["desk", "asked", "a2"], ["pager", "asked", "a3"], ["desk", "?", "a4"],
    ]  # fmt: skip
    assert "dead, 1 attempt: it answered 503" in lines[1]
    found = json.loads(shell("notifications", "ls", "--dead", "--json", "--store", url).output)["notifications"]
    assert [(one["notice"], one["state"], one["due_at"]) for one in found] == [
        ("n2", "dead", None),
        ("n3", "dead", None),
    ]
    (waits,) = json.loads(shell("notifications", "ls", "--endpoint", "pager", "--json", "--store", url).output).values()
    assert [one["endpoint"] for one in waits] == ["pager"]


def test_dead_letters_are_retried(url: str) -> None:
    assert shell("notifications", "retry", "--all", "--endpoint", "pager", "--store", url).output.startswith("1 dead")
    (left,) = json.loads(shell("notifications", "ls", "--dead", "--json", "--store", url).output)["notifications"]
    retried = shell("notifications", "retry", str(left["id"]), "--json", "--store", url)
    assert (retried.exit_code, json.loads(retried.output)) == (0, {"retried": 1})
    assert shell("notifications", "retry", "--all", "--store", url).exit_code == 1
    assert shell("notifications", "retry", "1", "--store", url).exit_code == 1, "it isn't dead"
    assert shell("notifications", "ls", "--dead", "--store", url).output == "Nothing waits.\n"


@pytest.mark.parametrize("arguments", [(), ("1", "--all"), ("--endpoint", "desk"), ("0",), ("one",)], ids=str)
def test_what_is_to_be_retried_has_to_be_said(url: str, arguments: tuple[str, ...]) -> None:
    assert shell("notifications", "retry", *arguments, "--store", url).exit_code == 2


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    for command in (["ls"], ["retry", "--all"]):
        assert shell("notifications", *command, "--store", f"sqlite:///{tmp_path}/none.db").exit_code == 2
    assert shell("notifications", "ls", "--store", "memory://").exit_code == 2


# --- doctor


def findings(config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.toml").write_text(config)
    output = shell("doctor", "--config", "settings.toml", "--store", "memory://").output
    return [line for line in output.splitlines() if "webhook" in line]


def test_doctor_says_what_is_wrong_with_an_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = (
        f'[webhooks.away]\nurl = "http://127.0.0.1:1/token"\nsecrets = ["{SECRET}"]\nprivate = ["127.0.0.0/8"]\n'
        f'[webhooks.inside]\nurl = "https://127.0.0.1/token"\nsecrets = ["{SECRET}"]\n'
    )
    said = findings(table, tmp_path, monkeypatch)
    assert any("webhooks: their notices have no links" in line for line in said)
    assert any(line.startswith("✗ webhook away: 127.0.0.1: no connection") for line in said)
    assert any(line.startswith("✗ webhook inside: 127.0.0.1: its address is not public") for line in said)
    assert not any(SECRET in line or "token" in line for line in said)
    line, *_ = findings('[webhooks.desk]\nurl = "https://example.com/"\n', tmp_path, monkeypatch)
    assert line.startswith("✗ settings: The webhook 'desk' (AGUI_GATE_WEBHOOKS) needs secrets")


# --- notices that no click brings about


@anyio
@pytest.mark.usefixtures("quick")
async def test_what_expires_and_what_is_deleted_is_told() -> None:
    heard = Heard()

    async def on_notice(notice: Notice) -> None:
        await heard(notice)

    async with served("memory://", on_notice=on_notice, expires_after=0.3) as desk:
        await desk.ask("ada")
        kinds = [(notice.kind, notice.state) for notice in await heard.until(2)]
    assert kinds == [("asked", "pending"), ("expired", "expired")]
    heard.notices.clear()
    async with served("memory://", on_notice=on_notice) as desk:
        for thread in ("t", "u"):
            approval_id = await desk.ask("ada", thread=thread)
            if thread == "u":
                await desk.decide("ada", approval_id, approved=False)
            await request(desk.app, "DELETE", f"/threads/{thread}", headers={"authorization": "ada"})
        told = await heard.until(4)
    by_thread = {thread: [one.state for one in told if one.thread_id == thread] for thread in ("t", "u")}
    assert by_thread == {"t": ["pending", "deleted"], "u": ["pending", "rejected"]}
    assert [one.arguments for one in told if one.state == "deleted"] == [None]


@anyio
@pytest.mark.usefixtures("quick")
async def test_a_call_that_nobody_works_on_is_told_once() -> None:
    clock, heard = Clock(), Heard()
    store = MemoryStore(clock=clock)
    await store.start()
    await ask(store, gated("a1"))
    await store.lease_thread("alice", "t", "support", "left")
    await store.move("a1", State.CLAIMED)
    clock.advance(2 * LEASE_MS)

    async def on_notice(notice: Notice) -> None:
        await heard(notice)

    app = create_app(Desk(PEOPLE).agent(), store=store, settings=Settings(), on_notice=on_notice)
    async with started(app):
        told = await heard.until(3)
    assert [one.kind for one in told] == ["asked", "decided", "orphaned"]


@anyio
@pytest.mark.usefixtures("quick")
async def test_the_feed_tells_again_what_was_escalated() -> None:
    async with served("memory://", escalate=[(0.5, "team-lead")]) as desk:
        inbox = inbox_of(desk.app.state.engine)
        watching = inbox.watch("acme\x1fada")
        assert await anext(watching) == Waiting([])
        asked = asyncio.ensure_future(anext(watching))
        approval_id = await desk.ask("ada")
        async with asyncio.timeout(20):
            first, second = await asked, await anext(watching)
        await watching.aclose()
    assert getattr(first, "id", "") == getattr(second, "id", "") == approval_id
    people = [getattr(one, "people", None) for one in (first, second)]
    assert [one.added for one in people if one is not None] == [(), ("team-lead",)]


@anyio
@pytest.mark.usefixtures("quick")
async def test_attempts_are_counted() -> None:
    async with receiving(Receiver()) as receiver:
        table: dict[str, Any] = {"desk": receiver.table()}
        desk = Desk(PEOPLE)
        settings = Settings(webhooks=table, metrics="on")
        async with started(create_app(desk.agent(), store="memory://", auth=desk.auth, settings=settings)) as desk.app:
            await desk.ask("ada")
            await receiver.until(lambda: len(receiver.got) == 1)
            meter = next(one for one in desk.app.state.engine.extensions.all if hasattr(one, "families"))
            counted = meter.families.webhook_attempts
            async with asyncio.timeout(20):
                while not next(iter(counted.collect())).samples:
                    await desk.get("ada", "/approvals")
            samples = [one for one in next(iter(counted.collect())).samples if one.name.endswith("_total")]
    assert [(one.labels, one.value) for one in samples] == [({"endpoint": "desk", "outcome": "delivered"}, 1.0)]


@anyio
async def test_a_store_in_memory_keeps_so_many() -> None:
    store = MemoryStore()
    await store.start()
    await store.deliveries().add([delivery("first"), delivery("second")])
    store._database.execute("UPDATE sqlite_sequence SET seq = 10001 WHERE name = 'deliveries'")
    await store.deliveries().add([delivery("last")])
    assert [one.notice for one in await store.deliveries().listed(limit=10)] == ["last"]


def test_without_the_package_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from agui_gate import ConfigurationError
    from agui_gate.extras.notices.endpoints import read_endpoints

    monkeypatch.setitem(__import__("sys").modules, "standardwebhooks", None)
    table = {"desk": {"url": "https://example.com/", "secrets": [SECRET]}}
    with pytest.raises(ConfigurationError, match=r'pip install "agui-gate\[webhooks\]"'):
        targets(read_endpoints(table), None)


@anyio
@pytest.mark.usefixtures("quick")
async def test_two_replicas_tell_each_notice_once_and_in_order(tables: str) -> None:
    async with receiving(Receiver()) as receiver:
        table: dict[str, Any] = {"desk": receiver.table()}
        async with (
            served(PostgresStore(tables), webhooks=table) as one,
            served(PostgresStore(tables), webhooks=table) as other,
        ):
            desks = [one, other]
            asked = [await desks[number % 2].ask("ada", thread=f"t{number}") for number in range(6)]
            for number, approval_id in enumerate(asked):
                await desks[number // 2 % 2].decide("ada", approval_id)
            await receiver.until(lambda: len(receiver.got) >= 12)
    assert [receiver.kinds(approval_id) for approval_id in asked] == [["asked", "decided"]] * 6
    assert len({one.headers["webhook-id"] for one in receiver.got}) == len(receiver.got) == 12
