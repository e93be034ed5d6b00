"""Operators: they see and change what belongs to anybody of their tenant, by a server and on the store."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from agui_gate import Agent, Principal, create_app
from agui_gate import adapter as ad
from agui_gate.bus.replicas import bus as replicas_bus
from agui_gate.cli.program import program
from agui_gate.cli.remote_server import RemoteServer
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, State
from agui_gate.core.freezes import Freeze
from agui_gate.core.transcript import Output
from agui_gate.errors import ApprovalRefused, InvalidRequest, NotFound
from agui_gate.extras.operations import summary
from agui_gate.extras.operations.desk import MAX_REASON, MOST_RUNS
from agui_gate.extras.operations.desk import Desk as OperatorsDesk
from agui_gate.stores import schema_of
from agui_gate.stores.base import LEASE_MS, Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sql.operators import SqlOperators
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.desk import Desk, Model
from tests.product.inprocess import Answer, Parrot, request, run, run_body, started, user
from tests.product.kit import TIMEOUT
from tests.stores.support import Clock, ask, gated
from tests.support.servers import Valkey

pytestmark = pytest.mark.anyio

PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "eve": Principal("eve", "evil"),
    "olga": Principal("olga", "acme", ["operator"]),
}


class Recalls(Model):
    """Remembers what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[ad.TurnRequest] = []

    def _turn(self, request: ad.TurnRequest) -> list[Any]:
        self.sent.append(request)
        return super()._turn(request)


class Office(Desk):
    """A desk with a model that remembers, and a tool that may break off."""

    def __init__(self, **gate: Any) -> None:
        super().__init__(dict(PEOPLE), **gate)
        self.model = Recalls()

    def agent(self) -> Agent:
        made = super().agent()
        return Agent(name="support", model=self.model, tools=list(made.tools))

    async def unknown(self, who: str = "ada", thread: str = "t") -> str:
        """The id of a call that was interrupted while it ran."""
        approval_id = await self.ask(who, thread=thread)
        store = self.app.state.engine.store
        await store.move(approval_id, State.CLAIMED, decision=Decision(True, who, way="http"))
        await store.move(approval_id, State.UNKNOWN, output=Output('{"status":"unknown"}', True))
        return approval_id


SAID = {"done": True, "result": "Refund R-17 was made.", "reason": "Seen in the ledger."}


async def test_a_call_is_settled_and_the_next_run_tells_the_model() -> None:
    async with Office().open() as office:
        approval_id = await office.unknown()
        (seen,) = (await office.get("olga", "/ops/approvals", "state=unknown")).json()["approvals"]
        assert (seen["id"], seen["owner"], seen["tenant"], seen["tool"]) == (approval_id, "ada", "acme", "refund")
        shown = (await office.get("olga", f"/ops/approvals/{approval_id}")).json()
        assert shown["arguments"] == {"order_id": "A1", "amount": 20}
        assert shown["idempotency_key"].endswith(f":{(await _record(office, approval_id))['call_id']}")
        settled = await office.post("olga", f"/ops/approvals/{approval_id}/settle", SAID)
        assert (settled.status, settled.json()["state"]) == (200, "done")
        record = await _record(office, approval_id)
        assert (record["state"], record["decision"]["by"]) == ("done", "ada")
        assert json.loads(record["result"])["result"] == SAID["result"]
        await office.say("ada", "and now?")
        told = [part for turn in office.model.sent[-1].transcript for part in getattr(turn, "results", ())]
        assert SAID["result"] in str(office.model.sent[-1].transcript), told
        assert "and now?" in str(office.model.sent[-1].transcript[-1])
        assert office.ran == [], "it doesn't run again"
        again = await office.post("olga", f"/ops/approvals/{approval_id}/settle", SAID)
        assert (again.status, again.json()["error"]["code"]) == (422, "approval_refused")
        last = [event for event in await office.trail() if event.kind == "settled"]
        trail = office.app.state.engine.store.trail
        said = [(event.by, await trail.reason(event)) for event in last]
        assert said == [("olga", SAID["reason"])]


async def _record(office: Desk, approval_id: str) -> Any:
    return (await office.get("ada", f"/approvals/{approval_id}")).json()


async def test_another_tenants_things_are_not_there() -> None:
    async with Office().open() as office:
        approval_id = await office.unknown("eve", "secret")
        for path in ("/ops/threads", "/ops/runs"):
            assert "secret" not in (await office.get("olga", path)).body.decode()
        assert (await office.get("olga", "/ops/approvals", "state=unknown")).json()["approvals"] == []
        wrong = [
            await office.get("olga", f"/ops/approvals/{approval_id}"),
            await office.get("olga", "/ops/approvals/none"),
            await office.post("olga", f"/ops/approvals/{approval_id}/settle", SAID),
            await office.post("olga", "/ops/threads/secret/stop", {"reason": "x"}),
        ]
        assert [answer.status for answer in wrong] == [404] * 4
        assert wrong[0].body == wrong[1].body == wrong[2].body
        assert (await office.get("olga", "/ops/owners/eve")).json()["threads"]["number"] == 0
        refused = await office.post("olga", "/ops/freezes", {"reason": "x", "tenant": "evil"})
        assert refused.status == 422
        frozen = (await office.post("olga", "/ops/freezes", {"reason": "Mine."})).json()["freezes"]
        assert [(one["tenant"], one["reason"]) for one in frozen] == [("acme", "Mine.")]


@pytest.mark.parametrize("body", [{}, {"done": 1, "result": "x", "reason": "y"}, {**SAID, "more": 1}, [], "x"])
async def test_a_body_that_does_not_fit_is_refused_and_changes_nothing(body: Any) -> None:
    async with Office().open() as office:
        approval_id = await office.unknown()
        assert (await office.post("olga", f"/ops/approvals/{approval_id}/settle", body)).status == 422
        assert (await _record(office, approval_id))["state"] == "unknown"


async def test_lists_refuse_what_they_can_not_be_asked() -> None:
    async with Office().open() as office:
        for query in ("state=done", "limit=0", "limit=201", "limit=x", "cursor=x"):
            assert (await office.get("olga", "/ops/approvals", query)).status == 422, query


async def test_a_run_is_stopped_and_the_trail_says_why() -> None:
    began = asyncio.Event()

    class Hangs(Parrot):
        async def stream(self, turn: Any) -> Any:
            began.set()
            await asyncio.Event().wait()
            yield []

    app = create_app(Agent(name="a", model=Hangs()), store="memory://", settings=Settings())
    async with started(app):
        hanging = asyncio.create_task(run(app, run_body("t", user("hi", "1"))))
        await began.wait()
        (seen,) = (await request(app, "GET", "/ops/runs")).json()["runs"]
        assert (seen["thread_id"], seen["owner"], seen["state"], seen["kind"]) == ("t", "local", "running", "run")
        assert (await _stop(app, "t", {"reason": " "})).status == 422
        stopped = await _stop(app, "t", {"reason": "It hangs."})
        assert (stopped.json()["state"], stopped.json()["unknown"]) == ("stopped", [])
        await hanging
        assert (await _stop(app, "t", {"reason": "Again."})).status == 404
        store = app.state.engine.store
        (event,) = (await store.read_events(limit=10)).events
        assert (event.kind, event.by, await store.trail.reason(event)) == ("stopped", "local", "It hangs.")


async def _stop(app: Any, thread: str, body: Any) -> Answer:
    return await request(app, "POST", f"/ops/threads/{thread}/stop", json.dumps(body).encode())


async def test_threads_are_handed_on_but_for_those_that_are_busy_or_taken(tmp_path: Path) -> None:
    clock = Clock()
    store = SQLiteStore(str(tmp_path / "store.db"), clock=clock)
    await store.start()
    for name in ("free", "busy", "taken"):
        await ask(store, gated(name, thread_id=name), thread_id=name)
    await ask(store, gated("other", principal="bob", thread_id="taken"), principal="bob", thread_id="taken")
    await store.lease_thread("alice", "busy", "support", "r9")
    before = await store.read_thread("alice", "taken", whole=False)
    clock.advance(5_000)
    desk = OperatorsDesk(store, "olga")
    told = await desk.hand_on("alice", "bob", "She has left.")
    after = await store.read_thread("alice", "taken", whole=False)
    assert before is not None
    assert after is not None
    assert (after.updated_at, after.run_key) == (before.updated_at, before.run_key)
    assert (told["threads"], sorted(told["left"])) == (["free"], ["busy", "taken"])
    assert [one.id for one in (await store.list_approvals("bob", limit=10)).approvals] == ["free", "other"]
    assert [one.id for one in (await store.list_approvals("alice", limit=10)).approvals] == ["busy", "taken"]
    assert sorted((await desk.who("bob"))["threads"]["ids"]) == ["free", "taken"]
    with pytest.raises(InvalidRequest):
        await desk.hand_on("bob", "bob", "why")
    await store.aclose()


async def test_threads_stay_within_their_tenant_and_go_to_somebody(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "store.db"))
    await store.start()
    await ask(store, gated(principal="acme\x1fada"), principal="acme\x1fada")
    desk = OperatorsDesk(store, "olga")
    for to in ("evil/eve", "ben", "acme/", "acme/b\n", f"acme/{'b' * 501}"):
        with pytest.raises(InvalidRequest):
            await desk.hand_on("acme/ada", to, "She has left.")
    assert (await desk.who("acme/ada"))["threads"]["number"] == 1
    assert (await desk.hand_on("acme/ada", "acme/ben", "She has left."))["threads"] == ["t"]
    await store.aclose()


async def test_a_run_behind_the_first_thousand_is_found_and_the_next_one_is_not_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()
    await store.start()
    for number in range(MOST_RUNS + 1):
        await store.lease_thread("alice", f"t{number}", "support", f"r{number}")
    desk = OperatorsDesk(store, "olga", stop=_forget)
    ask_to_stop = SqlOperators.ask_to_stop

    async def late(operators: SqlOperators, principal: str, thread_id: str, act: Any, run_key: str) -> str | None:
        """The run ends, and another one begins, before it is asked to stop."""
        thread = await store.read_thread(principal, thread_id)
        assert thread is not None
        await store.commit(thread, Change(status="finished"), run_key)
        await store.lease_thread(principal, thread_id, "support", "later")
        return await ask_to_stop(operators, principal, thread_id, act, run_key)

    listed = await desk.runs()
    assert (len(listed["runs"]), listed["more"]) == (MOST_RUNS, True)
    last = f"r{MOST_RUNS}"
    monkeypatch.setattr(SqlOperators, "ask_to_stop", late)
    assert (await desk.stop(last, "It hangs."))["state"] == "idle"
    assert await store.take_stops(["later"]) == {}
    assert len((await desk.who("alice"))["runs"]) == MOST_RUNS + 1
    await store.aclose()


async def _forget(principal: str, thread_id: str) -> None:
    """Nothing is at work in this process."""


async def test_a_tenant_is_told_what_is_frozen_for_all() -> None:
    async with Office().open() as office:
        store = office.app.state.engine.store
        await store.freeze(Freeze(of_tenant="evil", reason="Theirs."))
        await store.freeze(Freeze(reason="All."))
        seen = (await office.get("olga", "/ops/freezes")).json()["freezes"]
        assert [(one["tenant"], one["reason"]) for one in seen] == [(None, "All.")]
        lifted = await office.post("olga", "/ops/freezes", {"lift": True})
        assert (lifted.status, lifted.json()["changed"]) == (200, False), "it lifts its own alone"


async def test_what_an_operator_does_and_what_a_freeze_refuses_is_logged() -> None:
    with capture_logs() as lines:
        async with Office().open() as office:
            approval_id = await office.ask("ada")
            await office.post("olga", "/ops/freezes", {"agent": "support", "reason": "secret"})
            refused = await office.decide("ada", approval_id)
            await office.post("olga", "/ops/freezes", {"agent": "support", "lift": True})
    assert refused.json()["error"]["code"] == "frozen"
    found = {line["event"]: line for line in lines}
    assert (found["frozen"]["by"], found["frozen"]["agent"], found["lifted"]["by"]) == (
        "acme/olga",
        "support",
        "acme/olga",
    )
    line = found["answer_refused"]
    assert (line["approval"], line["by"], line["why"]) == (approval_id, "acme/ada", "This is frozen")
    assert "secret" not in str(lines)


@pytest.mark.parametrize("wrong", [{"tool": ""}, {"agent": "x" * 257}, {"tool": "a\nb"}, {"tenant": "x" * 257}])
async def test_a_freeze_is_of_names(wrong: dict[str, str]) -> None:
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=Settings())
    async with started(app):
        body = json.dumps({"reason": "x", **wrong}).encode()
        refused = await request(app, "POST", "/ops/freezes", body)
        assert (refused.status, refused.json()["error"]["code"]) == (422, "invalid_request")
        assert (await request(app, "GET", "/ops/freezes")).json() == {"freezes": []}


async def test_a_summary_says_what_no_list_does() -> None:
    settings = Settings(budgets=("principal:100000", "tenant:200000", "all:300000", "run:50000"))
    model = Recalls()
    app = create_app(Agent(name="a", model=model), store="memory://", settings=settings)
    async with started(app):
        await run(app, run_body("t", user("hi", "1")))
        told = (await request(app, "GET", "/ops/summary")).json()
        names = ("store", "bus", "processes", "draining", "runs_here")
        assert [told["server"][name] for name in names] == ["memory", "memory", None, False, 0]
        assert told["server"]["schema"] >= 19
        assert (told["waiting"]["pending"], told["waiting"]["unknown"]) == ({"number": 0, "seconds": 0},) * 2
        assert [(one["name"], one["used"]) for one in told["limits"]] == [
            ("AGUI_GATE_PRINCIPAL_RUNS", 0),
            ("AGUI_GATE_OPEN_BYTES", 0),
        ]
        assert [one["requests"] for one in told["usage"]["models"]] == [1]
        used = {one["scope"]: [(some["of"], some["used"] > 4_000) for some in one["used"]] for one in told["budgets"]}
        assert used == {"run": [], "principal": [("local", True)], "tenant": [("", True)], "all": [("", True)]}
        assert (await request(app, "GET", "/ops/sizes")).json()["sizes"]["threads"] == 1
        app.state.engine._closing = True
        app.state.engine.store.now = lambda: 0  # it is told again for a moment
        assert (await request(app, "GET", "/ops/summary")).json() == told


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_summary_names_the_stores_own_schema_and_counts_the_processes_on_it(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/gate.db" if kind == "sqlite" else str(request.getfixturevalue("tables"))

    def served() -> Any:
        return create_app(Agent(name="a", model=Parrot()), store=url)

    async def told(app: Any) -> tuple[Any, ...]:
        server = await summary.Summary(app.state.engine)._server()
        return server["store"], server["bus"], server["schema"], server["processes"]

    bus = "memory" if kind == "sqlite" else "postgres"
    one, other = served(), served()
    async with started(one):
        schema = await schema_of(url)
        assert await told(one) == (kind, bus, schema, 1)
        async with started(other):
            assert [await told(app) for app in (one, other)] == [(kind, bus, schema, 2)] * 2
        async with asyncio.timeout(TIMEOUT):
            while await told(one) != (kind, bus, schema, 1):  # PostgreSQL learns of a connection's end a moment later
                pass


@pytest.mark.parametrize("may_ask", [True, False])
async def test_a_summary_counts_the_processes_on_a_store_by_who_hears_its_bus(
    may_ask: bool, tables: str, valkey: Valkey
) -> None:
    """Not known where the bus's user may not ask: the summary says the rest."""
    assert valkey.ask(f"ACL SETUSER gate reset on >p ~* &* +@all {'' if may_ask else '-pubsub'}") == b"+OK\r\n"
    bus = valkey.url.replace("redis://", "redis://gate:p@")

    async def told(app: Any) -> tuple[Any, ...]:
        server = await summary.Summary(app.state.engine)._server()
        return server["store"], server["bus"], server["processes"]

    one, other = (create_app(Agent(name="a", model=Parrot()), store=tables, bus=bus) for _ in range(2))
    async with started(one):
        assert await told(one) == ("postgres", "redis", 1 if may_ask else None)
        async with started(other):
            assert await told(one) == ("postgres", "redis", 2 if may_ask else None)


@pytest.mark.parametrize("kind", ["postgres", "redis"])
async def test_each_replica_says_its_release_and_an_older_one_nothing(
    kind: str, tables: str, valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def served() -> Any:
        return create_app(
            Agent(name="a", model=Parrot()), store=tables, bus=tables if kind == "postgres" else valkey.url
        )

    one, other = served(), served()
    async with started(one), started(other):
        server = (await request(one, "GET", "/ops/summary")).json()["server"]
        ours = {"host": gethostname(), "pid": os.getpid(), "version": server["version"], "is_here": True}
        assert server["replicas"] == [{**ours, "revision": server["revision"]}] * 2 == [ours | {"revision": None}] * 2
        monkeypatch.setattr(replicas_bus, "ASK_SECONDS", 0.2)
        monkeypatch.setattr(other.state.engine.bus, "_call_roll", lambda word: None)  # a version that doesn't know it
        server = await summary.Summary(one.state.engine)._server()
        assert (server["processes"], len(server["replicas"]), server["silent"]) == (2, 1, 1)


def test_a_command_says_which_release_each_replica_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"host": "a", "pid": 1, "version": "0.1.0", "revision": None, "is_here": True}
    told = {"server": {"replicas": [one, {**one, "host": "b", "version": "0.2.0"}], "silent": 0}}
    monkeypatch.setattr(RemoteServer, "ask", lambda *_: told)

    def ops(*words: str) -> Any:
        return CliRunner().invoke(program, ["ops", "replicas", *words])

    said = ops("--url", "http://127.0.0.1:1")
    assert (said.exit_code, [line.split() for line in said.output.splitlines()]) == (
        1,
        [["HOST", "PROCESS", "VERSION", "COMMIT"], ["a", "1", "0.1.0", *["not", "known"]],
         ["b", "1", "0.2.0", *["not", "known"]]],
    )  # fmt: skip
    told["server"] = {"replicas": [one], "silent": 1}
    said = ops("--url", "http://127.0.0.1:1", "--json")
    assert (said.exit_code, json.loads(said.output)["silent"]) == (1, 1)
    assert "1 more" in ops("--url", "http://127.0.0.1:1").output
    told["server"] = {"replicas": [one], "silent": 0}
    assert ops("--url", "http://127.0.0.1:1").exit_code == 0
    told["server"] = {"replicas": [], "silent": 0}
    said = ops("--url", "http://127.0.0.1:1")
    assert (said.exit_code, said.output.splitlines()) == (
        1,
        ["There are none that you may see: only an operator of all tenants is told."],
    )
    assert ops("--store", "memory://").exit_code == 2


async def test_a_tenants_operator_is_told_no_figures_of_the_whole_store() -> None:
    async with Office().open(usage=True) as office:
        await office.ask("eve", thread="secret")
        told = (await office.get("olga", "/ops/summary")).json()
        assert (told["waiting"], told["limits"], told["usage"]["models"]) == (None, [], [])
        assert told["server"]["replicas"] == []
        assert (await office.get("olga", "/ops/sizes")).json() == {"sizes": None}
        refused = [await office.get("ada", path) for path in ("/ops/summary", "/ops/sizes")]
        assert [answer.status for answer in refused] == [403, 403]


async def test_a_summary_waits_for_no_count_and_nobody_longer_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(Agent(name="a", model=Recalls()), store="memory://")
    never, counts = asyncio.Event(), asyncio.Event()

    async def hangs() -> Any:
        counts.set()
        await never.wait()

    async with started(app):
        store = app.state.engine.store
        store.tally = hangs
        sizes = asyncio.create_task(request(app, "GET", "/ops/sizes"))
        await counts.wait()
        assert (await asyncio.wait_for(request(app, "GET", "/ops/summary"), 10)).status == 200
        sizes.cancel()
        await asyncio.wait([sizes])
        monkeypatch.setattr(summary, "COUNT_SECONDS", 0.05)
        many = [request(app, "GET", "/ops/sizes") for _ in range(200)]
        assert {one.status for one in await asyncio.wait_for(asyncio.gather(*many), 8)} == {503}


async def test_what_can_not_be_done_is_said() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    await store.start()
    desk = OperatorsDesk(store, "olga")
    with pytest.raises(InvalidRequest, match="in memory"):
        await desk.hand_on("alice", "bob", "why")
    await ask(store, gated("a1"), gated("a2", runner="agent"))
    await store.move("a2", State.CLAIMED)
    await store.move("a2", State.UNKNOWN)
    with pytest.raises(ApprovalRefused, match="is pending"):
        await desk.settle("a1", True, "x", "y")
    with pytest.raises(ApprovalRefused, match="begin a task"):
        await desk.settle("a2", True, "x", "y")
    with pytest.raises(ApprovalRefused, match="is pending"):
        await desk.settle("a1", True, "x", "y" * MAX_REASON)
    for reason in ("  ", "y" * (MAX_REASON + 1)):
        with pytest.raises(InvalidRequest, match="reason"):
            await desk.settle("a2", False, "x", reason)
    with pytest.raises(InvalidRequest, match="result"):
        await desk.settle("a2", False, " ", "y")
    assert (await desk.settle("a2", False, "x", "y"))["state"] == "failed"
    for owner in ("alice", "bob"):
        await store.lease_thread(owner, "t", "support", f"r-{owner}")
    with pytest.raises(InvalidRequest, match=r"Several owners .*: alice, bob\."):
        await desk.stop("t", "why")
    with pytest.raises(NotFound):
        await desk.stop("another", "why")
    await store.aclose()


async def test_who_can_stop_a_run_at_once_does() -> None:
    store, told = MemoryStore(), list[tuple[str, str]]()
    await store.start()
    thread = await store.lease_thread("alice", "t", "support", "run_1")

    async def stop(principal: str, thread_id: str) -> None:
        told.append((principal, thread_id))
        await store.commit(thread, Change(status="cancelled"), "run_1")

    stopped = await OperatorsDesk(store, "olga", stop=stop).stop("t", "why")
    assert (stopped["state"], told) == ("stopped", [("alice", "t")])
    await store.aclose()


async def test_what_lost_its_thread_is_not_said_to_have_stopped() -> None:
    """Its process hangs: it loses the thread while it is asked to stop. Then there is nobody to ask."""
    clock = Clock()
    store: FullStore = MemoryStore(clock=clock)
    await store.start()
    await store.lease_thread("alice", "t", "support", "run_1")

    async def stop(principal: str, thread_id: str) -> None:
        clock.advance(2 * LEASE_MS)

    desk = OperatorsDesk(store, "olga", stop=stop)
    told = [await desk.stop("t", "why"), await desk.stop("run_1", "again")]
    assert [one["state"] for one in told] == ["lost", "lost"]
    assert len((await store.read_events(limit=10)).events) == 1, "what changed nothing is in no trail"
    await store.aclose()


@pytest.mark.parametrize(("after", "state"), [(LEASE_MS, "lost"), (0, "stopped")])
async def test_whose_thread_another_process_has_taken_is_not_said_to_have_stopped(after: int, state: str) -> None:
    """Between two looks: of one that hangs, when its lease has lapsed. Else the run is over, and another one began."""
    clock = Clock()
    store: FullStore = MemoryStore(clock=clock)
    await store.start()
    thread = await store.lease_thread("alice", "t", "support", "run_1")

    async def stop(principal: str, thread_id: str) -> None:
        clock.advance(after)
        if not after:
            await store.commit(thread, Change(status="cancelled"), "run_1")
        await store.lease_thread("alice", "t", "support", "run_2")

    told = await OperatorsDesk(store, "olga", stop=stop).stop("t", "why")
    assert told["state"] == state
    await store.aclose()


async def test_a_stop_names_the_calls_that_became_unknown() -> None:
    store: FullStore = MemoryStore(clock=Clock())
    await store.start()
    await ask(store, gated("a1"), gated("a2"))
    await store.move("a1", State.CLAIMED, decision=Decision(True, "bob", way="http"))
    thread = await store.lease_thread("alice", "t", "support", "run_1")

    async def stop(principal: str, thread_id: str) -> None:
        await store.move("a1", State.UNKNOWN, output=Output("?", True))
        await store.commit(thread, Change(status="cancelled"), "run_1")

    desk = OperatorsDesk(store, "olga", stop=stop)
    stopped = await desk.stop("t", "why")
    assert (stopped["state"], stopped["unknown"]) == ("stopped", ["a1"])
    with pytest.raises(NotFound, match=r"Unknown calls of it: a1\. If the process hangs that ran one, end it"):
        await desk.stop("t", "again", "alice")
    with pytest.raises(NotFound, match=r"thread\.$"):
        await desk.stop("another", "why")
    with pytest.raises(NotFound, match=r"thread\.$"):
        await desk.stop("t", "another owner's", "bob")
    await store.aclose()


def test_a_thread_on_which_nothing_waits_any_more_is_not_said_to_wait(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    prepare(place)

    async def decide() -> None:
        store: FullStore = SQLiteStore(str(place))
        await store.start()
        await store.move("apr_waits", State.REJECTED, decision=Decision(False, "bob", way="http"))
        await store.aclose()

    assert ops(place, "threads")[1].splitlines()[1].split()[-2:] == ["waiting", "1"]
    asyncio.run(decide())
    assert ops(place, "threads")[1].splitlines()[1].split()[-2:] == ["answered", "0"]


# --- the command -----------------------------------------------------------------------------------------------------


def ops(place: Path, *words: str) -> tuple[int, str, Any]:
    """What `agui-gate ops` prints, and as JSON."""
    options = ["--store", f"sqlite:///{place}", "--operator", "olga"]
    told = CliRunner().invoke(program, ["ops", *words, *options], env={"AGUI_GATE_URL": ""})
    as_json: Any = None
    if "--json" in words and told.exit_code == 0:
        as_json = json.loads(told.stdout)
    LOGGED.extend(line.partition(" event=")[2] for line in told.stderr.splitlines() if " event=" in line)
    return told.exit_code, told.output if told.exit_code else told.stdout, as_json


LOGGED: list[str] = []
"""What the commands have logged, behind the time."""


def prepare(place: Path) -> None:
    async def make() -> None:
        store: FullStore = SQLiteStore(str(place))
        await store.start()
        await ask(store, gated("apr_waits"), gated("apr_lost"), gated("apr_unknown"))
        for name in ("apr_lost", "apr_unknown"):
            await store.move(name, State.CLAIMED, decision=Decision(True, "bob", way="http"))
        await store.move("apr_unknown", State.UNKNOWN, output=Output("?", True))
        await store.aclose()

    asyncio.run(make())


def test_the_command_on_a_store(tmp_path: Path) -> None:
    """What it changes is in the log as well, as at a server."""
    place = tmp_path / "store.db"
    prepare(place)
    LOGGED.clear()
    assert ops(place, "runs")[:2] == (0, "Nothing is at work.\n")
    for state, name in (("pending", "apr_waits"), ("orphaned", "apr_lost"), ("unknown", "apr_unknown")):
        code, told, found = ops(place, "approvals", "--state", state, "--json")
        assert (code, [(one["id"], one["state"]) for one in found["approvals"]]) == (0, [(name, state)]), told
        assert "arguments" not in told
        code, told, _ = ops(place, "approvals", "--state", state)
        assert told.splitlines()[1].split()[:5] == [name, "alice", "t", "refund", state]
    code, told, _ = ops(place, "show", "apr_unknown")
    assert '"amount": 50' in told
    assert ":call-apr_unknown" in told
    found = ("--result", "R-17", "--reason", "Seen")
    assert ops(place, "settle", "apr_unknown", *found)[0] == 2
    assert ops(place, "settle", "apr_unknown", "--done", "--result", "R-17")[0] == 2
    assert ops(place, "settle", "apr_none", "--done", *found)[:2] == (1, "error: There is no such approval.\n")
    for command in (("show",), ("settle", "--done", *found)):
        code, told, _ = ops(place, *command, "apr_5f0c2a71")
        assert (code, "beginning of an id. `agui-gate ops approvals`" in told) == (2, True), told
    assert ops(place, "settle", "apr_waits", "--done", *found)[0] == 1
    code, _, settled = ops(place, "settle", "apr_unknown", "--failed", *found, "--json")
    assert (code, settled["state"]) == (0, "failed")
    assert ops(place, "settle", "apr_unknown", "--failed", *found)[0] == 1
    code, told, found_threads = ops(place, "threads", "--json")
    assert [(one["id"], one["owner"], one["pending"]) for one in found_threads["threads"]] == [("t", "alice", 1)]
    assert ops(place, "threads", "--owner", "alice")[1].splitlines()[1].split()[:3] == ["t", "alice", "support"]
    code, told, _ = ops(place, "who", "alice")
    assert (code, "refund (apr_waits)" in told, "refund (apr_lost)" in told) == (0, True, True)
    assert ops(place, "stop", "t", "--reason", "x")[:2] == (1, "error: Nothing is at work on such a thread.\n")
    assert ops(place, "hand-on", "alice", "carl", "--reason", "x")[:2] == (0, "1 thread handed on to carl.\n")
    code, told, _ = ops(place, "hand-on", "alicia", "carl", "--reason", "x")
    assert (code, "0 threads handed on to carl.\nnote: alicia has no threads." in told) == (1, True)
    assert ops(place, "freeze", "--tool", "refund", "--reason", "Checked.")[0] == 0
    assert "Checked." in ops(place, "freeze", "--list")[1]
    assert ops(place, "freeze", "--tool", "refund", "--lift")[:2] == (0, "Nothing is frozen.\n")
    assert ops(place, "freeze", "--tool", "refund", "--lift")[0] == 1
    assert ops(place, "freeze", "--tool", "refund")[0] == 1, "a reason is asked for"
    call = "approval=apr_unknown principal=alice state=failed thread=t tool=refund"
    assert [" ".join([line.split()[0], *sorted(line.split()[1:])]) for line in LOGGED] == [
        f"settled {' '.join(sorted([*call.split(), 'by=olga']))}",
        "handed_on by=olga principal=alice thread=t to=carl",
        "frozen by=olga tool=refund",
        "lifted by=olga tool=refund",
    ]
    checked = CliRunner().invoke(program, ["audit", "verify", "--store", f"sqlite:///{place}"])
    assert (checked.exit_code, "whole" in checked.output) == (0, True), checked.output


def test_a_store_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    code, told, _ = ops(tmp_path / "none.db", "runs")
    assert (code, told.count("\n"), "There is no store at" in told) == (2, 1, True)


def test_every_part_of_the_command_has_json(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    prepare(place)
    parts: Sequence[Sequence[str]] = (
        ("runs",), ("threads",), ("approvals",), ("show", "apr_lost"), ("who", "bob"), ("freeze", "--list"),
        ("hand-on", "alice", "bob", "--reason", "x"), ("freeze", "--reason", "x"),
    )  # fmt: skip
    for part in parts:
        code, told, as_json = ops(place, *part, "--json")
        assert (code, isinstance(as_json, dict)) == (0, True), (part, told)
