"""`AGUI_GATE_LIMITS`: what owners and tenants may have at once."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from agui_gate import Agent, Gate, Principal, Ruling, create_app, tool
from agui_gate import adapter as ad
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError, RateLimited
from agui_gate.extras import quotas
from agui_gate.extras.operations import refusal_log
from agui_gate.extras.people.rules import RuleContext
from agui_gate.extras.quotas import read_quotas
from agui_gate.stores.base import LEASE_MS
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sql.usage import ledger_of
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.desk import Desk
from tests.product.inprocess import Answer, Parrot, request, run, run_body, started, user
from tests.stores.support import Clock, ask, gated

pytestmark = pytest.mark.anyio

PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "ben": Principal("ben", "acme"),
    "eve": Principal("eve", "evil"),
    "olga": Principal("olga", "acme", ["operator"]),
}


class Office(Desk):
    """A desk with limits."""

    def __init__(self) -> None:
        super().__init__(dict(PEOPLE))

    async def begin(self, who: str, thread: str, text: str = "hi") -> Answer:
        """A run, or what refuses it."""
        return await run(self.app, run_body(thread, user(text)), headers={"authorization": who})


def told(answer: Answer) -> tuple[int, str, bool]:
    """The status, the code, and whether there is a `Retry-After`."""
    return answer.status, answer.json()["error"]["code"], answer.headers.get("retry-after", "0") != "0"


REFUSED = (429, "rate_limited", True)


class Hanging(Parrot):
    """Waits in the middle of an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.began, self.goes_on = 0, asyncio.Event(), asyncio.Event()

    async def stream(self, turn: ad.TurnRequest) -> AsyncIterator[list[Any]]:
        self.asked += 1
        self.began.set()
        await self.goes_on.wait()
        async for batch in super().stream(turn):
            yield batch


@asynccontextmanager
async def hanging(**settings: Any) -> AsyncIterator[tuple[Any, Hanging, "asyncio.Task[Answer]"]]:
    """A server with a run that hangs."""
    model = Hanging()
    app = create_app(Agent(name="a", model=model), store="memory://", settings=Settings(**settings))
    async with started(app):
        first = asyncio.create_task(run(app, run_body("t1", user("hi"))))
        await model.began.wait()
        yield app, model, first
        model.goes_on.set()
        assert (await first).status == 200


async def test_runs_of_an_owner_are_counted_in_the_store_and_none_too_many_asks_the_model() -> None:
    async with hanging(limits=("principal:runs=1",), budgets=("run:100000",), metrics="on") as (app, model, first):
        assert told(await run(app, run_body("t2", user("hi")))) == REFUSED
        assert model.asked == 1
        model.goes_on.set()
        await first
        assert (await run(app, run_body("t2", user("hi")))).status == 200


@pytest.mark.parametrize("settings", [{"limits": ("principal:runs=1",)}, {"principal_runs": 1}])
async def test_whose_requests_a_limit_refuses_is_logged_once_a_minute(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(refusal_log, "limited", refusal_log.Limited(lambda: now[0]))
    async with hanging(**settings) as (app, model, first):
        with capture_logs() as lines:
            for seconds in (0, 1, 59, 61):
                now[0] = seconds
                assert told(await run(app, run_body("t2", user("hi"))))[:2] == REFUSED[:2]
        model.goes_on.set()
        await first
    found = [line for line in lines if line["event"] == "request_refused"]
    assert [(one["status"], one["code"], one["principal"], one["path"]) for one in found] == [
        (429, "rate_limited", "local", "/")
    ] * 2
    assert "which is the limit" in found[0]["why"]


async def test_streams_are_counted_until_they_are_over() -> None:
    async with hanging(limits=("tenant:streams=1",)) as (app, model, first):
        assert told(await run(app, run_body("t2", user("hi")))) == REFUSED
        assert (await request(app, "GET", "/threads")).status == 200
        assert [one["used"] for one in (await request(app, "GET", "/ops/summary")).json()["limits"][:1]] == [1]
        model.goes_on.set()
        await first
        assert (await run(app, run_body("t2", user("hi")))).status == 200
        assert model.asked == 2


async def test_copilotkits_streams_count_and_what_stops_them_does_not() -> None:
    async with hanging(limits=("principal:streams=1",)) as (app, model, first):

        async def single(method: str, **params: str) -> int:
            body: Any = {} if params else run_body("t2", user("hi"))
            call = {"method": method, "params": {"agentId": "a", **params}, "body": body}
            return (await request(app, "POST", "/copilotkit", json.dumps(call).encode())).status

        for kind in ("run", "connect", "suggest"):
            body = json.dumps(run_body("t2", user("hi"))).encode()
            assert told(await request(app, "POST", f"/copilotkit/agent/a/{kind}", body)) == REFUSED
        assert [await single(f"agent/{kind}") for kind in ("run", "connect")] == [429, 429]
        assert (await single("info"), await single("agent/stop", threadId="t1")) == (200, 200)
        await first
        assert model.asked == 1
        assert await single("agent/connect") == 200


async def test_requests_come_at_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(quotas, "time", type("Time", (), {"monotonic": staticmethod(lambda: now[0])}))
    async with Office().open(limits=("principal:requests=3/m", "tenant:requests=5/m")) as office:
        assert [(await office.get("ada", "/threads")).status for _ in range(4)] == [200, 200, 200, 429]
        assert (await office.get("ada", "/threads")).headers["retry-after"] == "20"
        assert (await office.get("ada", "/healthz")).status == 200
        now[0] += 20
        assert [(await office.get("ada", "/threads")).status for _ in range(2)] == [200, 429]
        now[0] += 60
        assert [(await office.get("ben", "/threads")).status for _ in range(3)] == [200, 200, 200]
        assert [(await office.get("ada", "/threads")).status for _ in range(3)] == [200, 200, 429]
        assert (await office.get("eve", "/threads")).status == 200, "of another tenant"


async def test_of_more_owners_than_are_counted_the_oldest_are_forgotten_many_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quotas, "MOST_KEYS", 100)
    async with Office().open(limits=("principal:requests=1/h",)) as office:
        (counts,) = [one for one in office.app.state.engine.extensions.all if isinstance(one, quotas.Quotas)]
        for number in range(101):
            counts._count_request(counts._requests[0], ("principal", str(number)))
        assert list(counts._full_at) == [("principal", str(number)) for number in range(11, 101)]


def test_who_came_last_is_forgotten_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "MOST_KEYS", 10)
    counts = quotas.Quotas(cast(Any, None), ("principal:requests=5/h",))
    for number in (*range(10), 0, 10):
        counts._count_request(counts._requests[0], ("principal", str(number)))
    assert [name for _, name in counts._full_at] == ["3", "4", "5", "6", "7", "8", "9", "0", "10"]


def test_of_several_streams_those_that_are_over_count_no_longer() -> None:
    counts, held = quotas.Quotas(cast(Any, None), ("principal:streams=2",)), list[tuple[str, str]]()
    for _ in range(2):
        counts._count_stream("ada", held)
    counts.release([held.pop()])
    counts._count_stream("ada", held)
    with pytest.raises(RateLimited):
        counts._count_stream("ada", [])
    counts.release(held)
    assert not counts._open


async def test_threads_are_limited_where_a_run_would_make_one() -> None:
    async with Office().open(limits=("principal:threads=1", "tenant:threads=2")) as office:
        assert (await office.begin("ada", "t1")).status == 200
        assert told(await office.begin("ada", "t2")) == REFUSED
        assert (await office.begin("ada", "t1")).status == 200, "that one is there"
        assert (await office.begin("ben", "t1")).status == 200
        assert told(await office.begin("olga", "t1"))[0] == 403
        assert (await office.begin("eve", "t1")).status == 200
        summary = (await office.get("olga", "/ops/summary")).json()
        assert [(one["name"], one["used"]) for one in summary["limits"]] == [
            ("principal:threads", None),
            ("tenant:threads", 2),
        ]


async def test_at_the_limit_of_waiting_calls_nothing_new_waits_and_what_waits_is_decided() -> None:
    async with Office().open(limits=("principal:approvals=1",)) as office:
        approval_id = await office.ask("ada")
        assert told(await office.begin("ada", "t2", "refund")) == REFUSED
        asked = await office.say("ada", "refund", "t")  # the call that waits here may be answered, so a run may begin
        results = [json.loads(one["content"]) for one in asked if one["type"] == "TOOL_CALL_RESULT"]
        assert all(one["status"] in ("cancelled", "rejected") for one in results), results
        waiting = (await office.get("ada", "/approvals", "state=pending")).json()["approvals"]
        assert len(waiting) == 1
        assert (await office.decide("ada", waiting[0]["id"])).status == 200
        assert len(office.ran) == 1
        assert approval_id


async def test_calls_over_the_limit_are_refused_to_the_model_with_the_reason() -> None:
    class Asks(Parrot):
        """Asks for three refunds in one answer, then says what it was told."""

        def _turn(self, request: ad.TurnRequest) -> list[Any]:
            if isinstance(request.transcript[-1], ad.UserTurn):
                starts = [
                    one
                    for n in range(3)
                    for one in (
                        ad.CallStart(f"k{n}", f"call_{n}", "refund"),
                        ad.CallEnd(f"k{n}", json.dumps({"order_id": f"A{n}", "amount": n})),
                    )
                ]
                return [*starts, ad.TurnDone()]
            return super()._turn(request)

    office = Office()
    made = office.agent()
    agent = Agent(name="support", model=Asks(), tools=list(made.tools))
    office.agent = lambda: agent  # type: ignore[method-assign]
    async with office.open(limits=("tenant:approvals=2",)):
        events = await office.say("ada", "go")
        (told,) = [json.loads(one["content"]) for one in events if one["type"] == "TOOL_CALL_RESULT"]
        assert told["status"] == "rejected"
        assert "AGUI_GATE_LIMITS, tenant:approvals" in told["reason"]
        waiting = (await office.get("ada", "/approvals", "state=pending")).json()["approvals"]
        assert [one["arguments"]["order_id"] for one in waiting] == ["A0", "A1"]
        rejected = [one for one in await office.trail() if one.kind == "rejected"]
        assert [(one.way, one.by) for one in rejected] == [("rule", "")]
        assert office.ran == []


async def test_a_rule_asks_people_when_much_of_a_budget_is_used() -> None:
    class Counts(Parrot):
        """Uses what it is told to, and asks for a refund."""

        used = 0

        def _turn(self, request: ad.TurnRequest) -> list[Any]:
            done = ad.TurnDone(usage=ad.Usage("p", "m", self.used, 0, self.used))
            asks = isinstance(request.transcript[-1], ad.UserTurn)
            call = [ad.CallStart("k", "call", "refund"), ad.CallEnd("k", '{"order_id": "A1"}')]
            return [*(call if asks else []), done]

    seen: list[float] = []

    async def dear(arguments: Any, ctx: RuleContext) -> Ruling:
        parts = [await ctx.budget(scope) for scope in ("run", "principal", "tenant")]
        seen.extend(parts)
        return Ruling.ask() if parts[1] >= 0.8 else Ruling.allow()

    ran: list[str] = []

    @tool(gate=Gate(when=dear))
    async def refund(order_id: str) -> str:
        """Refund an order."""
        ran.append(order_id)
        return "refunded"

    model = Counts()
    model.used = 5_000
    settings = Settings(budgets=("run:20000", "principal:12500", "tenant:50000"))
    app = create_app(Agent(name="a", model=model, tools=[refund]), store="memory://", settings=settings)
    async with started(app):
        ended = (await run(app, run_body("t1", user("go")))).events()[-1]
        assert ended.get("outcome", {}).get("interrupts") is None
        assert (seen, ran) == ([0.25, 0.4, 0.1], ["A1"])
        ended = (await run(app, run_body("t2", user("go")))).events()[-1]
        assert len(ended["outcome"]["interrupts"]) == 1
        assert (seen[3:], ran) == ([0.25, 1.2, 0.3], ["A1"])


async def test_a_rule_about_a_budget_that_is_not_there_asks() -> None:
    office = Office()
    office.gate = Gate(when=_half)
    async with office.open():
        assert await office.ask("ada")


def _half(arguments: Any, ctx: RuleContext) -> bool:
    return bool(ctx.budget("all") > 0.5)


async def test_sessions_are_held_to_limits_and_budgets() -> None:
    class Uses(Parrot):
        def _turn(self, request: ad.TurnRequest) -> list[Any]:
            usage = ad.Usage("p", "m", 600, 0, 600)
            return [ad.TurnDone(usage=usage) if isinstance(one, ad.TurnDone) else one for one in super()._turn(request)]

    agent, store = Agent(name="a", model=Uses()), MemoryStore()
    settings = Settings(budgets=("principal:1000",), limits=("principal:threads=1",))
    async with agent.session(store=store, settings=settings) as session:
        await session.run("hi", thread="t")
        with pytest.raises(RateLimited, match="AGUI_GATE_LIMITS"):
            await session.run("hi", thread="other")
        await session.run("hi", thread="t")
        with pytest.raises(RateLimited, match="budget"):
            await session.run("hi", thread="t")
        async with session.engine() as engine:
            ledger = ledger_of(store)
            assert ledger is not None
            (line,) = (await ledger.days("owner", "local", 0, 2**40))[0]
            assert (line.sums.requests, line.sums.input) == (2, 1_200)
            assert engine.limits.limits


async def test_decisions_lost_runs_and_expired_calls_do_not_count() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    await store.start()
    quotas.enforce_on_store(store, ("principal:runs=1", "principal:approvals=1"))
    await store.lease_thread("alice", "t1", "support", "decide_1")
    await store.lease_thread("alice", "t2", "support", "run_2")
    with pytest.raises(RateLimited, match="1 runs of yours are in progress"):
        await store.lease_thread("alice", "t3", "support", "run_3")
    await store.lease_thread("bob", "t3", "support", "run_3")
    clock.advance(LEASE_MS + 1)
    await ask(store, gated("a1", thread_id="t4", expires_at=1_000), thread_id="t4")
    with pytest.raises(RateLimited, match="wait for a person"):
        await store.lease_thread("alice", "t5", "support", "run_5")
    clock.advance(2_000)
    await store.expire()
    await store.lease_thread("alice", "t5", "support", "run_5")
    await store.aclose()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_several_processes_begin_no_run_and_no_thread_too_many(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Four stores on one database, as four processes have them."""
    stores: list[Any] = [SQLiteStore(str(tmp_path / "store.db")) for _ in range(4)]
    if kind == "postgres":
        url = request.getfixturevalue("database")
        stores = [PostgresStore(url) for _ in range(4)]
    for store in stores:
        await store.start()
        quotas.enforce_on_store(store, ("principal:runs=3", "tenant:threads=5"))

    async def begin(number: int) -> bool:
        try:
            await stores[number % 4].lease_thread(f"p{number % 2}", f"t{number}", "support", f"run_{number}")
        except RateLimited:
            return False
        return True

    begun = await asyncio.gather(*map(begin, range(24)))
    assert sum(begun) == 5
    for store in stores:
        await store.aclose()


async def test_several_processes_leave_no_call_too_many_waiting(tmp_path: Path) -> None:
    """Four servers on one file, whose runs ask at the same time: each counts after it has recorded its own."""
    offices, limits = [Office() for _ in range(4)], ("principal:approvals=2",)
    async with AsyncExitStack() as up:
        for office in offices:
            await up.enter_async_context(office.open(f"sqlite:///{tmp_path}/store.db", limits=limits))
        runs = [office.begin("ada", f"t{number}", "refund") for number, office in enumerate(offices * 3)]
        answers = await asyncio.gather(*runs)
        waiting = (await offices[0].get("ada", "/approvals", "state=pending")).json()["approvals"]
        assert {answer.status for answer in answers} <= {200, 429}
        assert len(waiting) <= 2
        rejected = [one for one in await offices[0].trail() if one.kind == "rejected"]
        asked = [one for one in await offices[0].trail() if one.kind == "asked"]
        assert len(asked) == len(waiting) + len(rejected) >= 2
        assert all(office.ran == [] for office in offices)


@pytest.mark.parametrize(
    "wrong",
    [
        "principal:runs",
        "all:runs=1",
        "principal:requests=5",
        "principal:runs=5/m",
        "tenant:cats=1",
        "principal:runs=-1",
        "principal:runs=1,principal:runs=2",
        "principal:requests=5/d",
        "principal:runs=1000000000000",
    ],
)
def test_wrong_limits_are_one_sentence(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="limits must"):
        Settings(limits=wrong)  # type: ignore[arg-type]


def test_limits_are_read() -> None:
    said = Settings(limits="principal:requests=600/m, tenant : runs = 8").limits  # type: ignore[arg-type]
    assert said == ("principal:requests=600/m", "tenant:runs=8")
    assert [tuple(one) for one in read_quotas(said)] == [("principal", "requests", 600, 60), ("tenant", "runs", 8, 0)]


async def test_a_store_that_can_not_count_is_refused() -> None:
    class Own:
        """A store of somebody's own."""

    with pytest.raises(ConfigurationError, match="can't count"):
        quotas.enforce_on_store(Own(), ("principal:runs=1",))  # type: ignore[arg-type]  # it counts nothing
    quotas.enforce_on_store(Own(), ("principal:streams=1",))  # type: ignore[arg-type]  # nor need it
