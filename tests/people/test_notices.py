"""Notices: who is told what, how often, and in which order; and that nobody waits for somebody else."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from importlib import import_module
from ipaddress import ip_address, ip_network
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from structlog.testing import capture_logs

from agui_gate import ConfigurationError, Gate, Notice, Principal, create_app
from agui_gate.approvals import outbox
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision
from agui_gate.extras.notices import delivery as notice_delivery
from agui_gate.extras.notices import steps
from agui_gate.extras.notices.connection import ATTEMPT_SECONDS, Connection, Undelivered, is_allowed
from agui_gate.extras.notices.courier import Notices
from agui_gate.extras.notices.delivery import FIRST_MS, LONGEST_MS, Worker, again_ms, targets
from agui_gate.extras.notices.endpoints import read_endpoints
from agui_gate.extras.notices.notice import KINDS, with_arguments
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.clock import wall_clock
from agui_gate.stores.deliveries import FORGET_MS, GIVE_UP_MS, WORK_MS, Delivery, DeliveryStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.desk import Desk, ids
from tests.people.receivers import OLD, SECRET, Received, Receiver, receiving
from tests.product.inprocess import request, started
from tests.stores.support import Clock, gated
from tests.support import virtual_time

pytestmark = pytest.mark.anyio

PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "ben": Principal("ben", "acme", ("approver", "finance")),
    "lea": Principal("lea", "acme", ("approver", "team-lead")),
}


@asynccontextmanager
async def served(store: Any, *, on_notice: Any = None, webhooks: Any = None, **gate: Any) -> AsyncIterator[Desk]:
    desk = Desk(PEOPLE, **gate)
    settings = Settings(webhooks=webhooks or "", public_url="https://gate.example.com")
    app = create_app(desk.agent(), store=store, auth=desk.auth, settings=settings, on_notice=on_notice)
    async with started(app) as desk.app:
        yield desk


class Heard:
    """A function of the application that keeps what it is told."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.news = asyncio.Condition()

    async def __call__(self, notice: Notice) -> None:
        async with self.news:
            self.notices.append(notice)
            self.news.notify_all()

    async def until(self, number: int) -> list[Notice]:
        async with asyncio.timeout(20), self.news:
            await self.news.wait_for(lambda: len(self.notices) >= number)
        return self.notices


async def test_a_function_and_a_webhook_are_told_in_order(store: FullStore) -> None:
    heard = Heard()

    async def on_notice(notice: Notice) -> None:
        await heard(notice)

    async with receiving(Receiver()) as receiver:
        table = {"desk": receiver.table(secrets=[SECRET, OLD])}
        async with served(store, on_notice=on_notice, webhooks=table, approvers="finance") as desk:
            approval_id = await desk.ask("ada")
            asked = (await heard.until(1))[0]
            await desk.decide("ben", approval_id)
            decided = (await heard.until(2))[1]
            await receiver.until(lambda: len(receiver.got) >= 2)
    assert (asked.kind, asked.state, asked.tool, asked.asker, asked.owner, asked.tenant, asked.approvers) == (
        "asked", "pending", "refund", "ada", "ada", "acme", "finance",
    )  # fmt: skip
    assert asked.arguments == {"order_id": "A1", "amount": 20}
    assert (decided.kind, decided.state, decided.by) == ("decided", "claimed", "ben")
    assert receiver.kinds(approval_id) == ["asked", "decided"]
    assert [one.headers["webhook-id"] for one in receiver.got] == [asked.id, decided.id]
    data = receiver.got[0].json()["data"]
    assert data["link"] == f"https://gate.example.com/inbox#{approval_id}"
    assert "A1" not in receiver.got[0].body.decode()
    for secret in (SECRET, OLD):
        for one in receiver.got:
            import_module("standardwebhooks").Webhook(secret).verify(one.body, one.headers)


async def test_a_deputy_is_told(store: FullStore) -> None:
    heard = Heard()

    async def on_notice(notice: Notice) -> None:
        await heard(notice)

    async with receiving(Receiver()) as receiver:
        table = {"desk": receiver.table(with_arguments=True), "pager": receiver.table(kinds=["asked"])}
        async with served(store, on_notice=on_notice, webhooks=table, approvers="finance") as desk:
            until = datetime.fromtimestamp(store.now() / 1000 + 3600, UTC).isoformat(timespec="seconds")
            named = (await desk.post("ben", "/deputies", {"deputy": "lea", "until": until})).json()
            await heard.until(1)
            path = f"/deputies/{named['id']}"
            assert (await request(desk.app, "DELETE", path, headers={"authorization": "lea"})).status == 200
            told = await heard.until(2)
            await receiver.until(lambda: len(receiver.got) >= 2)
            assert await desk.app.state.engine.store.deliveries().listed(limit=10, dead=True) == []
    assert [(one.kind, one.owner, one.tenant, one.to, one.by, one.approval_id) for one in told] == [
        ("deputy_named", "ben", "acme", ("lea",), "ben", ""),
        ("deputy_removed", "ben", "acme", ("lea",), "lea", ""),
    ]
    first, second = (one.json() for one in receiver.got)
    link = "https://gate.example.com/inbox#deputies"
    data = {"owner": "ben", "tenant": "acme", "by": "ben", "to": ["lea"], "link": link}
    data |= {name: named[name] for name in ("since", "until")}
    assert (first["type"], first["data"]) == ("deputy.named", data)
    assert (second["type"], second["data"]) == ("deputy.removed", data | {"by": "lea"})


class Target:
    """Where attempts are counted; ``fails`` of them fail."""

    name, kinds, with_arguments = "desk", frozenset(KINDS), False

    def __init__(self, fails: int = 0, *, is_final: bool = False) -> None:
        self.fails, self.is_final = fails, is_final
        self.sent: list[str] = []

    async def send(self, notice: Notice) -> None:
        if self.fails:
            self.fails -= 1
            raise Undelivered("refused", "it answered 503", is_final=self.is_final)
        self.sent.append(notice.id)

    def close(self) -> None:
        """Holds nothing."""


def delivery(notice_id: str, approval_id: str = "a1", endpoint: str = "desk") -> Delivery:
    notice = Notice(id=notice_id, kind="asked", at=0, approval_id=approval_id, thread_id="t", owner="alice", state="")
    return Delivery(endpoint, notice_id, approval_id, msgspec.json.encode(notice).decode())


@asynccontextmanager
async def working(target: Target, clock: Clock, name: str = "one") -> AsyncIterator[tuple[Worker, DeliveryStore]]:
    store = MemoryStore(clock=clock)
    await store.start()
    yield Worker(target, store, store.deliveries(), name), store.deliveries()
    await store.aclose()


async def test_what_fails_is_tried_again_and_those_behind_it_wait() -> None:
    clock, target = Clock(), Target(fails=3)
    async with working(target, clock) as (worker, deliveries):
        await deliveries.add([delivery("n1"), delivery("other", "a2")])
        target.fails = 2
        assert await worker.deliver() == 0
        await deliveries.add([delivery("n2"), delivery("n1")])
        assert target.sent == []
        clock.advance(900)
        wait = await worker.deliver()
        assert wait is not None
        assert 0 < wait <= FIRST_MS
        clock.advance(FIRST_MS)
        while await worker.deliver() == 0:
            pass
        assert sorted(target.sent[:2]) == ["n1", "other"]
        assert target.sent[2:] == ["n2"]
        assert await deliveries.listed(limit=10) == []


@pytest.mark.parametrize("is_final", [False, True])
async def test_what_fails_for_a_day_is_a_dead_letter_until_somebody_retries_it(is_final: bool) -> None:
    clock, target = Clock(), Target(fails=1_000, is_final=is_final)
    async with working(target, clock) as (worker, deliveries):
        await deliveries.add([delivery("n1"), delivery("n2", "a2")])
        attempts = 0
        while not await deliveries.listed(limit=10, dead=True):
            wait = await worker.deliver()
            clock.advance(wait or 1)
            attempts += 1
        assert clock.now - 1_000_000 <= GIVE_UP_MS
        assert attempts == 1 if is_final else 20 < attempts < 200
        for dead in await deliveries.listed(limit=10, dead=True):
            assert (dead.error, dead.dead) == ("it answered 503", True)
        target.fails = 0
        clock.advance(GIVE_UP_MS)
        await worker.deliver()
        dead_ids = [one.id for one in await deliveries.listed(limit=10, dead=True)]
        assert await deliveries.retry(dead_ids) == len(dead_ids)
        await worker.deliver()
        assert sorted(target.sent) == ["n1", "n2"]
        await deliveries.add([delivery("n3")])
        clock.advance(GIVE_UP_MS + FORGET_MS + 1)
        await deliveries.add([delivery("n4")])
        assert [one.notice for one in await deliveries.listed(limit=10)] == ["n4"]


def test_delays_double_up_to_an_hour() -> None:
    delays = [again_ms(attempts, GIVE_UP_MS, lambda: 1.0) for attempts in range(14)]
    assert delays[:4] == [2_000, 4_000, 8_000, 16_000]
    assert delays[-1] == LONGEST_MS
    assert again_ms(0, GIVE_UP_MS, lambda: 0.0) == 1_000
    assert again_ms(3, 10_000, lambda: 1.0) is None


async def test_of_two_replicas_one_delivers(store: FullStore) -> None:
    target, other = Target(), Target()
    await store.start()
    deliveries = store.deliveries()
    await deliveries.add([delivery(f"n{number}", f"a{number}") for number in range(100)])
    workers = [Worker(target, store, deliveries, "one"), Worker(other, store, deliveries, "two")]
    await workers[0].deliver()
    assert await workers[1].deliver() is None
    while await workers[0].deliver() == 0:
        pass
    assert (len(target.sent), len(set(target.sent)), other.sent) == (100, 100, [])
    await deliveries.add([delivery("more")])
    assert await workers[1].deliver() is None
    await workers[0]._leave()
    await workers[1].deliver()
    assert other.sent == ["more"]


async def test_a_worker_that_was_killed_before_it_said_so_delivers_again(tmp_path: Path) -> None:
    """`kill -9` between the delivery and its record: once more, with the same id."""
    path = str(tmp_path / "store.db")
    store = SQLiteStore(path)
    await store.start()
    await store.deliveries().add([delivery("n1")])
    await store.aclose()
    process: list[Any] = []

    def kill(_: Received) -> bytes | None:
        if process:
            process.pop().kill()
            return None
        return b"HTTP/1.1 200 OK\r\n\r\n"

    async with receiving(Receiver(kill)) as receiver:
        table = {"desk": receiver.table()}
        script = (
            "import asyncio, json, sys\nfrom agui_gate.extras.notices.delivery import Webhook, Worker\n"
            "from agui_gate.extras.notices.endpoints import read_endpoints\n"
            "from agui_gate.stores.sqlite import SQLiteStore\n"
            "async def main():\n    store = SQLiteStore(sys.argv[1])\n    await store.start()\n"
            "    target = Webhook(read_endpoints(json.loads(sys.argv[2]))[0])\n"
            "    sys.stdin.readline()\n    await Worker(target, store, store.deliveries(), 'first').deliver()\n"
            "asyncio.run(main())\n"
        )
        command = [sys.executable, "-c", script, path, json.dumps(table)]
        first = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
        process.append(first)
        await first.communicate(b"\n")
        assert first.returncode == -signal.SIGKILL
        later = SQLiteStore(path, clock=lambda: wall_clock() + WORK_MS + 1)
        await later.start()
        (target,) = targets(read_endpoints(table), None)
        await Worker(target, later, later.deliveries(), "second").deliver()
        assert await later.deliveries().listed(limit=10) == []
        target.close()
        await later.aclose()
    assert [one.headers["webhook-id"] for one in receiver.got] == ["n1", "n1"]


async def test_one_that_is_dead_slow_endless_or_redirects_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The healthy one and the function have all of it while the others are in their first attempts."""
    heard = Heard()
    endless = Receiver(b"HTTP/1.1 200 OK\r\nx: " + b"x" * 100_000)
    other = Receiver()
    async with AsyncExitStack() as stack:
        healthy, slow, twice, redirects = Receiver(), Receiver(None), Receiver(), Receiver()
        for receiver in (healthy, slow, endless, twice, redirects, other):
            await stack.enter_async_context(receiving(receiver))
        redirects.answer = f"HTTP/1.1 307 Temporary Redirect\r\nlocation: {other.url}\r\n\r\n".encode()
        twice.answer = b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
        table = {
            name: receiver.table()
            for name, receiver in {"slow": slow, "endless": endless, "twice": twice, "redirects": redirects}.items()
        }
        table |= {"dead": healthy.table(url="http://127.0.0.1:1/"), "healthy": healthy.table()}

        async def on_notice(notice: Notice) -> None:
            await heard(notice)

        async with served("memory://", on_notice=on_notice, webhooks=table) as desk:
            began = asyncio.get_running_loop().time()
            approval_id = await desk.ask("ada")
            await heard.until(1)
            await desk.decide("ada", approval_id)
            await heard.until(2)
            await healthy.until(lambda: len(healthy.got) == 2)
            await twice.until(lambda: len(twice.got) == 2)
            assert asyncio.get_running_loop().time() - began < ATTEMPT_SECONDS
            assert (slow.kinds(), redirects.kinds(), other.got) == (["asked"], ["asked"], [])
            left = await desk.app.state.engine.store.deliveries().listed(limit=100)
    errors = {one.endpoint: one.error for one in left if one.error}
    assert errors == {
        "dead": "no connection (Connection refused)",
        "endless": "it did not answer with HTTP",
        "redirects": "it answered 307, and redirects are not followed",
    }
    assert {one.endpoint for one in left} >= {"dead", "endless", "redirects", "slow"}


async def test_a_function_that_fails_is_called_again_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice_delivery, "FIRST_MS", 10)
    heard: list[str] = []
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_notice(notice: Notice) -> None:
        heard.append(notice.kind)
        if len(heard) == 1:
            raise ValueError("not now")
        if notice.kind == "decided":
            loop.call_soon_threadsafe(done.set)

    async with served("memory://", on_notice=on_notice) as desk:
        await desk.decide("ada", await desk.ask("ada"))
        async with asyncio.timeout(20):
            await done.wait()
    assert heard == ["asked", "asked", "decided"]


async def test_a_function_that_hangs_holds_up_no_end() -> None:
    hangs, over = threading.Event(), threading.Event()

    def on_notice(notice: Notice) -> None:
        hangs.set()
        over.wait()

    try:
        async with asyncio.timeout(20):  # less than a call may take
            async with served("memory://", on_notice=on_notice) as desk:
                await desk.ask("ada")
                await asyncio.to_thread(hangs.wait)
        assert not over.is_set()
    finally:
        over.set()


# --- reminders and escalations


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(outbox, "GATHER_SECONDS", 0.02)


@pytest.mark.usefixtures("quick")
async def test_people_are_reminded_and_more_may_decide(store: FullStore) -> None:
    heard = Heard()

    async def on_notice(notice: Notice) -> None:
        await heard(notice)

    gate = {"approvers": "finance", "remind": [0.002], "escalate": [(0.004, "team-lead"), (3600, ["mia"])]}
    async with served(store, on_notice=on_notice, **gate) as desk:
        approval_id = await desk.ask("ada")
        told = {notice.kind: notice for notice in await heard.until(3)}
        assert (told["reminder"].after, told["reminder"].state) == (0.002, "pending")
        assert (told["escalated"].to, told["escalated"].after) == (("team-lead",), 0.004)
        assert ids(await desk.get("lea", "/approvals")) == [approval_id]
        record = (await desk.get("ada", f"/approvals/{approval_id}")).json()
        assert (record["state"], record["approvers"], record["escalated"]) == ("pending", "finance", ["team-lead"])
        assert (await desk.decide("ada", approval_id)).status == 403
        assert (await desk.decide("lea", approval_id)).json()["state"] == "done"
        assert [notice.by for notice in await heard.until(4)][3:] == ["lea"]
        events = [(event.kind, event.body) for event in await desk.trail() if event.kind == "escalated"]
        assert events == [("escalated", '{"after":4,"to":["team-lead"]}')]


@pytest.mark.usefixtures("quick")
async def test_steps_are_done_by_whichever_server_runs_then(tmp_path: Path) -> None:
    """Nobody is told of them: the escalation takes place all the same, and there is no row for a reminder."""
    path = str(tmp_path / "store.db")
    gate = {"remind": [0.3], "escalate": [(0.4, "team-lead")]}
    async with served(SQLiteStore(path), **gate) as desk:
        approval_id = await desk.ask("ada")
        deliveries = desk.app.state.engine.store.deliveries()
        async with asyncio.timeout(20):
            while (await deliveries.due_steps(10))[1] is None:
                pass
    async with served(SQLiteStore(path), **gate) as desk:
        deliveries = desk.app.state.engine.store.deliveries()
        async with asyncio.timeout(20):
            while await deliveries.due_steps(10) != ([], None):
                pass
        assert ids(await desk.get("lea", "/approvals")) == [approval_id]
        assert (await desk.decide("ada", approval_id)).json()["state"] == "done", "who asked may still"


@pytest.mark.usefixtures("quick")
async def test_a_gate_that_names_them_no_more_counts(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    async with served(SQLiteStore(path), approvers="finance", escalate=[(0.001, "team-lead")]) as desk:
        approval_id = await desk.ask("ada")
        async with asyncio.timeout(20):
            while not ids(await desk.get("lea", "/approvals")):
                pass
    async with served(SQLiteStore(path), approvers="finance") as desk:
        assert ids(await desk.get("lea", "/approvals")) == []
        assert (await desk.decide("lea", approval_id)).status == 404
        assert (await desk.decide("ben", approval_id)).json()["state"] == "done"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"remind": 300}, "remind=…\\) takes a list of seconds"),
        ({"remind": [0]}, "seconds above 0"),
        ({"remind": [-5]}, "seconds above 0"),
        ({"remind": ["300"]}, "seconds above 0"),
        ({"remind": [300, 300]}, "that ascend"),
        ({"remind": [600, 300]}, "that ascend"),
        ({"remind": [600], "expires_after": 600}, "has expired"),
        ({"remind": list(range(1, 30))}, "up to 20"),
        ({"escalate": "team-lead"}, "escalate=…\\) takes a list"),
        ({"escalate": [300]}, "escalate=…\\) takes a list"),
        ({"escalate": [(900, "")]}, "a role, or a list of ids"),
        ({"escalate": [(900, [])]}, "a role, or a list of ids"),
        ({"escalate": [(900, print)]}, "a role, or a list of ids"),
        ({"escalate": [(900, "a"), (300, "b")]}, "that ascend"),
    ],
    ids=str,
)
def test_steps_that_can_not_be_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Gate(**options)


def test_a_gate_that_only_reminds_is_as_it_was() -> None:
    assert Gate(remind=[5]).people is None
    people = Gate(escalate=[(5, "lead")]).people
    assert people is not None
    assert (people.self_approval, people.needs, people.approvers) == (True, 1, None)


# --- settings


def test_what_is_no_function_stops_the_start() -> None:
    with pytest.raises(ConfigurationError, match="takes a function"):
        create_app(Desk(PEOPLE).agent(), store="memory://", settings=Settings(), on_notice="no")  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"url": "http://example.com/"}, "https://"),
        ({"url": "https://user:pass@example.com/"}, "https://"),
        ({"url": "ftp://example.com/"}, "https://"),
        ({"url": None}, "https://"),
        ({"secrets": []}, "secrets"),
        ({"secrets": ["whsec_c2hvcnQ="]}, "secrets"),
        ({"secrets": [SECRET, OLD, SECRET]}, "secrets"),
        ({"secrets": SECRET}, "secrets"),
        ({"kinds": ["done"]}, "kinds"),
        ({"with_arguments": "yes"}, "with_arguments"),
        ({"private": ["lan"]}, "private"),
        ({"retries": 3}, "no member"),
    ],
    ids=str,
)
def test_an_endpoint_that_can_not_be_stops_the_start(more: dict[str, Any], problem: str) -> None:
    table = {"desk": {"url": "https://example.com/", "secrets": [SECRET], **more}}
    with pytest.raises(ConfigurationError, match=problem) as refused:
        create_app(Desk(PEOPLE).agent(), store="memory://", settings=Settings(webhooks=table))
    assert SECRET.removeprefix("whsec_") not in str(refused.value)


@pytest.mark.parametrize("name", ["on_notice", "Desk", "", "a b"])
def test_names_of_endpoints(name: str) -> None:
    with pytest.raises(ConfigurationError, match="another name"):
        read_endpoints({name: {"url": "https://example.com/", "secrets": [SECRET]}})


def test_files_of_endpoints(tmp_path: Path) -> None:
    table = {"desk": {"url": "https://example.com/x", "secrets": [SECRET], "kinds": ["asked"]}}
    (tmp_path / "hooks.json").write_text(json.dumps(table))
    (tmp_path / "hooks.toml").write_text(
        f'[desk]\nurl = "https://example.com/x"\nsecrets = ["{SECRET}"]\nkinds = ["asked"]\n'
    )
    assert read_endpoints(str(tmp_path / "hooks.json")) == read_endpoints(str(tmp_path / "hooks.toml"))
    (tmp_path / "bad.toml").write_text(f'secrets = ["{SECRET}"')
    for kind in ("json", "toml"):
        (tmp_path / f"deep.{kind}").write_text(f"{'a = ' if kind == 'toml' else ''}{'[' * 100_000}")
    bad = {"bad.toml": "not valid", "none.toml": "can't be read", "deep.json": "not valid", "deep.toml": "not valid"}
    for name, problem in bad.items():
        with pytest.raises(ConfigurationError, match=problem) as refused:
            read_endpoints(str(tmp_path / name))
        assert SECRET not in str(refused.value)


async def test_secrets_and_addresses_are_nowhere() -> None:
    table = {"desk": {"url": "http://127.0.0.1:1/token-in-path", "secrets": [SECRET], "private": ["127.0.0.1/32"]}}
    settings = Settings(webhooks=table)
    (endpoint,) = read_endpoints(table)
    (target,) = targets([endpoint], None)
    store = MemoryStore()
    await store.start()
    await store.deliveries().add([delivery("n1")])
    with capture_logs() as lines:
        await Worker(target, store, store.deliveries(), "one").deliver()
    target.close()
    shown = f"{settings!r}{settings.shown('webhooks')}{endpoint!r}{lines!r}"
    assert "not_delivered" in shown
    assert SECRET not in shown
    assert "token-in-path" not in shown
    assert settings.shown("webhooks") == "desk"


# --- addresses


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "fec0::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1",
        "::127.0.0.1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert not is_allowed(ip_address(address))


@pytest.mark.parametrize("address", ["192.88.99.1", "168.63.129.16", "::ffff:168.63.129.16"])
def test_so_are_public_ones_that_lead_inside(address: str) -> None:
    assert not is_allowed(ip_address(address))
    assert is_allowed(ip_address("168.63.129.17"))


def test_a_silent_address_leaves_time_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    async def open_or_hang(self: Connection, address: str, secure: Any) -> Any:
        tried.append(address)
        if len(tried) < 3:
            await asyncio.Event().wait()
        raise ConnectionRefusedError(111, "refused")

    async def check() -> float:
        (endpoint,) = read_endpoints({"a": {"url": "https://a.example", "secrets": [SECRET]}})
        connection = Connection(endpoint, lambda host, port: [f"93.184.215.{last}" for last in range(9)])
        with pytest.raises(Undelivered, match="refused"):
            await connection.check()
        connection.close()
        return asyncio.get_running_loop().time()

    monkeypatch.setattr(Connection, "_open", open_or_hang)
    assert virtual_time.run(check()) == 2 * ATTEMPT_SECONDS / 5
    assert tried == [f"93.184.215.{last}" for last in range(4)]


def test_a_function_that_hangs_does_not_keep_the_process() -> None:
    program = """
import asyncio, threading
from agui_gate.extras.notices import delivery

async def main():
    delivery.CALL_SECONDS = 0.1
    target = delivery.Callback(lambda notice: threading.Event().wait())
    try:
        await target.send(None)
    except delivery.Undelivered as error:
        print(error.outcome)
    target.close()

asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout.split()[-1:]) == (0, ["timeout"]), ended.stderr


async def test_steps_of_a_tool_whose_source_is_away_are_not_planned_silently() -> None:
    class Away:
        sources, by_name = (object(),), dict[str, Any]()

        async def ready(self) -> "Away":
            return self

    told = Notices([])
    told._server = SimpleNamespace(engine=SimpleNamespace(members={"support": Away()}))  # type: ignore[assignment]
    with capture_logs() as lines:
        await told._plan(cast(Any, None), gated("a1"))
    assert [(line["event"], line["approval"]) for line in lines] == [("steps_not_planned", "a1")]


def test_public_addresses_and_named_networks_are_allowed() -> None:
    assert all(is_allowed(ip_address(one)) for one in ("93.184.215.14", "2606:2800:21f::1", "64:ff9b::5db8:d70e"))
    assert is_allowed(ip_address("10.1.2.3"), [ip_network("10.1.0.0/16")])
    assert is_allowed(ip_address("::ffff:10.1.2.3"), [ip_network("10.1.0.0/16")])
    assert not is_allowed(ip_address("10.2.2.3"), [ip_network("10.1.0.0/16"), ip_network("fc00::/7")])


async def test_a_name_that_leads_elsewhere_by_now_is_refused() -> None:
    """It is the address that is connected to which is looked at: each time (DNS rebinding)."""
    answers = [["127.0.0.1"], ["127.0.0.2", "10.0.0.1"], ["10.0.0.1"]]
    async with receiving(Receiver()) as receiver:
        table = {
            "desk": receiver.table(url=receiver.url.replace("127.0.0.1", "desk.example"), private=["127.0.0.1/32"])
        }
        (endpoint,) = read_endpoints(table)
        connection = Connection(endpoint, lambda host, port: answers.pop(0))
        assert await connection.post(b"{}", {}) == 204
        for _ in range(2):
            with pytest.raises(Undelivered) as refused:
                await connection.post(b"{}", {})
            assert refused.value.outcome == "refused_address"
        connection.close()
        assert receiver.got[0].headers["host"] == f"desk.example:{receiver.port}"
    assert len(receiver.got) == 1


async def test_plain_http_goes_to_named_networks_alone() -> None:
    table = {"url": "http://desk.example/", "secrets": [SECRET], "private": ["10.0.0.0/8"]}
    (endpoint,) = read_endpoints({"desk": table})
    connection = Connection(endpoint, lambda host, port: ["93.184.215.14"])
    with pytest.raises(Undelivered, match="none of the networks"):
        await connection.post(b"{}", {})
    connection.close()


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 200_000, None),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20, "no_answer"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"x" * 100_000, "no_answer"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "no_answer"),
        (b"", "no_answer"),
    ],
    ids=["interim", "long body", "interim for ever", "long head", "another protocol", "nothing"],
)
async def test_answers(answer: bytes, outcome: str | None) -> None:
    async with receiving(Receiver(answer)) as receiver:
        (endpoint,) = read_endpoints({"desk": receiver.table()})
        connection = Connection(endpoint)
        if outcome is None:
            assert await connection.post(b"{}", {}) == 200
        else:
            with pytest.raises(Undelivered) as failed:
                await connection.post(b"{}", {})
            assert failed.value.outcome == outcome
        connection.close()


def test_a_notice_of_a_decision_alone_has_its_reason() -> None:
    record = gated(decision=Decision(True, "bob", "because", None, "http"))
    about: dict[str, Any] = {"id": "n", "at": 0, "approval_id": "a1", "thread_id": "t", "owner": "alice", "state": ""}
    told = {kind for kind in KINDS if with_arguments(Notice(kind=cast(Any, kind), **about), record).reason}
    assert told == {"decided", "break_glass"}
