"""Usage that is kept, its reports, and the budgets that it is held to."""

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from agui_gate import Agent, Principal, create_app
from agui_gate import adapter as ad
from agui_gate.cli.program import program
from agui_gate.config.settings import Settings, load_settings
from agui_gate.core.transcript import Text, UserEntry
from agui_gate.errors import ConfigurationError, LeaseLost, LimitReached, RateLimited
from agui_gate.extras.usage import budgets as budgets_of
from agui_gate.extras.usage.budgets import OUTPUT_TOKENS, Budgets
from agui_gate.extras.usage.meter import UsageMeter, UsageRetention, _code
from agui_gate.extras.usage.prices import Prices
from agui_gate.extras.usage.report import as_csv, thread_view
from agui_gate.protocol.run_input import Message, RunInput
from agui_gate.runs.engine import Engine
from agui_gate.stores.base import Change, Store
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sql import usage_retention
from agui_gate.stores.sql.usage import UsageLedger, ledger_of
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.usage import DAY_MS, BudgetSpent, ModelRequest, Spent, Want
from agui_gate.turns.steps import TurnStep
from tests.product.inprocess import Answer, Parrot, calls, request, run, run_body, says, started, user
from tests.product.kit import product
from tests.product.shop import Shop, refund, say
from tests.stores.support import Clock

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
NOW = 20_000 * DAY_MS + 5_000


class Model(Parrot):
    """A model that says what it used. ``origin`` names it; ``price`` is in `prices`."""

    origin = "parrot:cheap"
    vendor = "acme"

    def _turn(self, request: ad.TurnRequest) -> list[Any]:
        events = super()._turn(request)
        usage = ad.Usage("acme", "cheap", 1_000, 100, 1_100, cached_input_tokens=400, reasoning_tokens=10)
        plain = ad.TurnDone(usage=ad.Usage("p", "m", 1, 1, 2)), ad.TurnDone()
        return [ad.TurnDone(usage=usage) if one in plain else one for one in events]


@pytest.fixture
def prices(tmp_path: Path) -> str:
    file = tmp_path / "prices.json"
    file.write_text('{"dated": "ours of today", "models": {"cheap": {"input": 10, "output": 100, "cached_input": 1}}}')
    return str(file)


PEOPLE = {
    "ann": Principal("ann", "shop"),
    "bob": Principal("bob", "shop"),
    "eve": Principal("eve", "other"),
    "ops": Principal("ops", "shop", roles=["operator"]),
    "aud": Principal("aud", "shop", roles=["auditor"]),
}


class Served:
    """A server, and people who use it."""

    def __init__(self, app: Any, model: Model) -> None:
        self.app, self.model = app, model

    async def say(self, who: str, text: str = "hello", thread: str = "t") -> Answer:
        return await run(self.app, run_body(thread, user(text)), headers={"authorization": who})

    async def get(self, who: str, query: str = "", path: str = "/usage") -> Any:
        answer = await request(self.app, "GET", path, headers={"authorization": who}, query=query)
        return answer.json() if answer.status == 200 and "csv" not in query else answer


@asynccontextmanager
async def served(store: Any = "memory://", plan: Any = None, **settings: Any) -> AsyncIterator[Served]:
    model, shop = Model(plan), Shop()
    app = create_app(
        Agent(name="support", model=model, tools=shop.tools),
        store=store,
        auth=lambda request: PEOPLE.get(request.headers.get("authorization", "")),
        settings=Settings(**{"usage": True} | settings),
    )
    async with started(app) as app:
        yield Served(app, model)


# --- what is kept, and told -------------------------------------------------------------------------------------------


async def test_usage_is_told_to_who_used_it_and_to_operators_of_the_tenant(prices: str) -> None:
    async with served(prices=prices) as s:
        await s.say("ann")
        await s.say("ann", thread="u")
        await s.say("bob")
        await s.say("eve")
        own, all_of, other = await s.get("ann"), await s.get("ops", "by=principal"), await s.get("ops", "by=tenant")
        threads, of_thread = await s.get("ann", "by=thread"), await s.get("bob", "", "/threads/t")
        refused, nobody = await s.get("aud"), await s.get("zoe")
    (line,) = own["usage"]
    assert (line["provider"], line["model"], line["requests"], line["failed"]) == ("acme", "cheap", 2, 0)
    assert (line["input_tokens"], line["output_tokens"], line["cached_input_tokens"]) == (2_000, 200, 800)
    assert (line["reasoning_tokens"], line["cache_write_input_tokens"], line["unpriced"]) == (20, 0, 0)
    assert line["cost"] == pytest.approx(2 * (600 * 10 + 400 * 1 + 100 * 100) / 1e6)
    assert [(one["principal"], one["requests"]) for one in all_of["usage"]] == [("ann", 2), ("bob", 1)]
    assert [(one["tenant"], one["requests"]) for one in other["usage"]] == [("shop", 3)]
    assert [(one["thread"], one["requests"]) for one in threads["usage"]] == [("t", 1), ("u", 1)]
    assert of_thread["usage"]["total"]["requests"] == 1
    assert of_thread["usage"]["by_model"][0]["model"] == "cheap"
    assert (refused.status, nobody.status) == (403, 401)


async def test_a_thread_that_was_deleted_is_not_the_next_one_of_its_id() -> None:
    async with served() as s:
        await s.say("ann")
        await request(s.app, "DELETE", "/threads/t", headers={"authorization": "ann"})
        await s.say("ann")
        assert (await s.get("ann", path="/threads/t"))["usage"]["total"]["requests"] == 1
        assert (await s.get("ann"))["total"]["requests"] == 2


async def test_a_large_report_lets_others_in(monkeypatch: pytest.MonkeyPatch) -> None:
    paused = []
    monkeypatch.setattr("agui_gate.extras.usage.report.AT_ONCE", 1)
    monkeypatch.setattr("agui_gate.concurrency.Pacer.due", True)
    monkeypatch.setattr("agui_gate.concurrency.Pacer.pause", lambda _: asyncio.sleep(0, paused.append(1)))
    lines = [asked(str(number), model=str(number % 3)) for number in range(6)]
    view = await thread_view(lines, is_whole=True)
    assert [(one["model"], one["requests"]) for one in view["by_model"]] == [("0", 2), ("1", 2), ("2", 2)]
    assert (view["total"]["requests"], view["total"]["input_tokens"], len(paused)) == (6, 30, 9)


async def test_csv_has_no_formulas() -> None:
    async with served(plan=[[*says("x"), ad.TurnDone(usage=ad.Usage("p", "=1+1", 5, 1, 6))]]) as s:
        await s.say("ann")
        answer = await s.get("ann", "format=csv&by=model,agent")
    (line,) = csv.DictReader(io.StringIO(answer.body.decode()))
    assert answer.headers["content-type"].startswith("text/csv")
    assert (line["model"], line["agent"], line["input_tokens"], line["cost"]) == ("'=1+1", "support", "5", "")


@pytest.mark.parametrize(
    "query",
    ["by=nothing", "since=yesterday", "since=2026-02-30", "since=2026-01-02&until=2026-01-01", "format=xml", "x=1"],
)
async def test_what_can_not_be_asked_is_said(query: str) -> None:
    async with served() as s:
        answer = await s.get("ann", query)
    assert (answer.status, answer.json()["error"]["code"]) == (422, "invalid_request")


async def test_what_is_not_kept_is_not_told() -> None:
    async with served(usage=False) as s:
        await s.say("ann")
        assert (await s.get("ann")).status == 404
        assert "usage" not in await s.get("ann", "", "/threads/t")


async def test_a_request_that_failed_is_kept_and_so_is_each_of_a_list() -> None:
    from agui_gate.errors import RateLimited as Busy

    first, second = Model([[Busy("busy")]] * 2), Model()
    first.origin, second.origin = "parrot:one", "parrot:two"
    store = MemoryStore()
    for model in ([first, second], first):
        app = create_app(Agent(name="a", model=model), store=store, settings=Settings(usage=True))
        async with started(app):
            await run(app, run_body("t", user("hi")))
            found = (await request(app, "GET", "/usage", query="by=model")).json()
            first.plan = [[Busy("busy")]]
        await store.start()
    lines = [(one["model"], one["requests"], one["failed"], one["input_tokens"]) for one in found["usage"]]
    assert lines == [("cheap", 1, 0, 1_000), ("one", 2, 2, 0)]


async def test_usage_equals_what_the_provider_says() -> None:
    said = {"input_tokens": 50, "output_tokens": 7, "total_tokens": 57}
    turns = [{"output": [refund()], "usage": said}, {"output": [say("done")], "usage": said}]
    async with product(Shop().tools, turns, settings=Settings(usage=True, metrics="on")) as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund")).interrupts
        await chat.resume((ask["id"], {"approved": True}))
        found, figures = await p.get("/usage"), (await p.client.get(f"{p.url}/metrics")).text
    assert (found["total"]["requests"], found["total"]["input_tokens"], found["total"]["output_tokens"]) == (2, 100, 14)
    assert found["total"]["requests"] == len(p.emulator.accepted)
    assert 'agui_gate_tokens_total{kind="input",model="gpt-5.4-mini",provider="openai"} 100.0' in figures


def test_the_command_tells_it_of_a_store(tmp_path: Path, prices: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = f"sqlite:///{tmp_path}/store.db"

    async def use() -> None:
        async with served(place, prices=prices) as s:
            await s.say("ann")

    async def use_without_prices() -> None:
        async with served(place) as s:
            await s.say("ann", thread="u")

    asyncio.run(use())

    def command(*options: str) -> Any:
        return CliRunner().invoke(program, ["usage", "--store", place, *options])

    nobodys = command("--tenant", "").output
    assert "AGUI_GATE_USAGE is on. It isn't" in nobodys.partition("Nothing was used")[2]
    text = command("--tenant", "shop").output
    assert ("acme" in text, "$0.0164" in text, "total" in text) == (True, True, True)
    report = json.loads(command("--tenant", "shop", "--by", "agent", "--json").output)
    assert [(one["agent"], one["output_tokens"]) for one in report["usage"]] == [("support", 100)]
    assert command("--tenant", "shop", "--csv", "--by", "agent").output.replace("\r", "") == (
        as_csv(report).replace("\r", "")
    )
    assert command("--by", "nothing").exit_code == 2

    async def use_elsewhere() -> None:
        store = SQLiteStore(str(tmp_path / "store.db"))
        await store.start()
        other = ModelRequest(
            id="r1", of_tenant="other", owner="other\x1fann", principal="ann", thread_id="t", run_key="run_1",
            agent="support", provider="acme", model="small", at=store.now(), first_ms=1, ms=1, outcome="ok",
            input=5, output=6,
        )  # fmt: skip
        await UsageLedger(store).save([other])
        await store.aclose()

    asyncio.run(use_elsewhere())
    every = json.loads(command("--by", "tenant", "--json").output)
    assert [(one["tenant"], one["output_tokens"]) for one in every["usage"]] == [("other", 6), ("shop", 100)]
    lines = command("--by", "principal").output.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["other", "ann"], ["shop", "ann"]], "two of one name"
    asyncio.run(use_without_prices())
    assert (
        "note: 1 of these requests has no price, and no cost: set AGUI_GATE_PRICES"
        in command("--tenant", "shop").output
    )
    assert ("no price" in text, "BUDGET" in text) == (False, False)
    monkeypatch.setenv("AGUI_GATE_BUDGETS", "run:9,principal:5000,tenant:$2")
    assert [line.split() for line in command("--tenant", "shop").output.split("\n\n")[1].splitlines()] == [
        ["BUDGET", "TODAY", "OF"],
        ["principal", "ann", "2,200", "tokens", "5,000", "tokens"],
        ["tenant", "shop", "$0.0164", "$2.0000"],
    ]


# --- the ledger -------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made: Store
    if request.param == "memory":
        made = MemoryStore(clock=Clock(NOW))
    elif request.param == "sqlite":
        made = SQLiteStore(str(tmp_path / "store.db"), clock=Clock(NOW))
    else:
        made = PostgresStore(request.getfixturevalue("tables"), clock=Clock(NOW))
    await made.start()
    yield made
    await made.aclose()


@pytest.fixture
def ledger(store: Store) -> UsageLedger:
    found = ledger_of(store)
    assert found is not None
    return found


def asked(name: str, **more: Any) -> ModelRequest:
    values: Json = {
        "of_tenant": "", "owner": "ann", "principal": "ann", "thread_id": "t", "run_key": "run_1", "agent": "support",
        "provider": "p", "model": "m", "at": NOW, "first_ms": None, "ms": 10, "outcome": "ok", "input": 5, "output": 2,
    }  # fmt: skip
    return ModelRequest(id=name, **values | more)


async def test_a_commit_that_is_made_twice_counts_once(store: Store, ledger: UsageLedger) -> None:
    thread = await store.lease_thread("ann", "t", "support", "run_1")
    change = Change(after=0, entries=[UserEntry("a", (Text("a"),))])
    one, two = asked("1", spent=[Spent("b", 7, 0)]), asked("2", spent=[Spent("b", 7, 0)])
    assert await ledger.commit(thread, change, "run_1", [one])
    with pytest.raises(LeaseLost):  # as a network would deliver it late
        await ledger.commit(thread, change, "run_1", [one, two])
    assert await ledger.commit(thread, Change(after=1, status="finished"), "run_1", [one, two])
    with pytest.raises(LeaseLost):
        await ledger.commit(thread, Change(after=1), "run_1", [asked("3")])
    (line,), is_whole = await ledger.days("owner", "ann", 20_000, 20_000)
    assert (line.sums.requests, line.sums.input, line.sums.output, is_whole) == (2, 10, 4, True)
    assert await ledger.spent("b") == (14, 0)
    assert [one.id for one in (await ledger.requests("owner", "ann"))[0]] == ["1", "2"]
    assert [one.id for one in (await ledger.requests("owner", "ann", thread_id="t"))[0]] == ["1", "2"]
    assert (await ledger.requests("owner", "ann", thread_id="u"))[0] == []


async def test_reports_are_read_in_pages(ledger: UsageLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_gate.stores.sql.usage.PAGE", 2)
    names = [f"m{number}" for number in range(5)]
    await ledger.save([asked(name, model=name, at=NOW + place * DAY_MS) for place, name in enumerate(names)])
    for whose, value in (("owner", "ann"), ("of_tenant", "")):
        lines, _ = await ledger.days(whose, value, 20_000, 20_003)
        assert [line.model for line in lines] == names[:4]
        requests, _ = await ledger.requests(whose, value, NOW + DAY_MS, NOW + 4 * DAY_MS)
        assert [one.model for one in requests] == names[1:4]
    monkeypatch.setattr("agui_gate.stores.sql.usage.MOST_ROWS", 2)
    assert (await ledger.days("owner", "ann", 20_000, 20_003))[1] is False
    assert (await ledger.requests("owner", "ann"))[1] is False


async def test_a_budget_is_reserved_of_all_or_of_none(ledger: UsageLedger) -> None:
    tokens, money = Want("a", 100, None), Want("b", None, 50)
    await ledger.reserve([tokens, money], 90, 40)
    await ledger.reserve([tokens, money], 90, 40)  # something was left of both
    with pytest.raises(BudgetSpent, match="a"):
        await ledger.reserve([money, tokens], 1, 1)
    assert (await ledger.spent("a"), await ledger.spent("b"), await ledger.spent("c")) == ((180, 80), (180, 80), (0, 0))
    await ledger.save((), [Spent("a", -90, -40)])
    await ledger.reserve([tokens], 1, 0)
    assert await ledger.spent("a") == (91, 40)


async def test_a_new_budget_counts_what_was_used_before_it_on_that_day(store: Store, ledger: UsageLedger) -> None:
    await ledger.save([asked("1"), asked("2", of_tenant="acme", owner="acme\x1fbob"), asked("3", at=NOW - DAY_MS)])
    budgets = Budgets(("principal:100", "tenant:100", "all:100"), ledger, store)
    wants = [f"{scope}:20000:{name}" for scope, name in (("principal", "ann"), ("tenant", ""), ("all", ""))]
    assert [(await ledger.spent(name))[0] for name in wants] == [7, 7, 14]
    reserved = await budgets.reserve("ann", "run_1", 50, 0)
    assert [(await ledger.spent(name))[0] for name in wants] == [57, 57, 64]
    await ledger.save([asked("4", spent=reserved.difference(7, 0))])
    assert [(await ledger.spent(name))[0] for name in wants] == [14, 14, 21]
    await ledger.save([asked("5", spent=[Spent("principal:20000:acme\x1fbob", 7, 0)])])
    assert (await ledger.spent("principal:20000:acme\x1fbob"))[0] == 14


def test_a_request_that_failed_is_kept_with_the_code_of_its_error() -> None:
    errors = (None, asyncio.CancelledError(), LeaseLost(), RateLimited("no"), ValueError("no"))
    assert [_code(error) for error in errors] == [
        *("provider_unavailable", "cancelled", "lease_lost", "rate_limited", "internal"),
    ]


# --- budgets ----------------------------------------------------------------------------------------------------------


async def test_a_run_begins_as_long_as_something_is_left_and_then_it_is_429() -> None:
    async with served(budgets=("principal:2000",)) as s:
        assert [(await s.say("ann")).status for _ in range(3)] == [200, 200, 429]
        refused = await s.say("ann")
        assert (await s.say("bob")).status == 200
        found = await s.get("ann")
    assert len(s.model.requests) == 3
    assert found["total"]["requests"] == 2
    assert refused.json()["error"] == {
        "code": "rate_limited",
        "message": "Your budget (2,000 tokens a day) is spent. It begins anew at 00:00 UTC.",
    }
    assert 0 < int(refused.headers["retry-after"]) <= 86_400


@pytest.mark.parametrize("budget", ["run:0", "principal:0", "tenant:$0", "all:0"])
async def test_of_a_budget_of_zero_nothing_is_asked(budget: str, prices: str) -> None:
    async with served(budgets=(budget,), prices=prices) as s:
        answer = await s.say("ann")
    assert (answer.status, s.model.requests) == (429, [])
    assert 0 < int(answer.headers["retry-after"]) <= 86_400
    assert "is zero, so no model is asked" in answer.json()["error"]["message"]


async def test_a_run_ends_where_its_budget_does() -> None:
    loops = [[*calls("search", {"q": "x"}, wire_id=f"w{n}"), ad.TurnDone()] for n in range(9)]
    async with served(budgets=("run:2500",), plan=loops) as s:
        first = (await s.say("ann")).events()[-1]
        again = await s.say("ann", "go on")
    assert len(s.model.requests) == 6
    assert "limit_reached" in json.dumps(first)
    assert again.status == 200


async def test_money_is_estimated_by_the_prices(prices: str) -> None:
    async with served(budgets=("tenant:$0.03",), prices=prices) as s:
        statuses = [(await s.say(who)).status for who in ("ann", "bob", "ann", "eve")]
    assert statuses == [200, 200, 429, 200]


async def test_a_name_that_only_the_provider_uses_costs_as_the_one_that_was_asked_for(prices: str) -> None:
    usage = ad.Usage("acme", "cheap-2026-11-01", 1_000, 100, 1_100)
    async with served(
        budgets=("tenant:$0.03",), prices=prices, plan=[[*says("ok"), ad.TurnDone(usage=usage)]] * 9
    ) as s:
        assert [(await s.say("ann")).status for _ in range(3)] == [200, 200, 429]


async def test_a_model_that_no_budget_of_dollars_can_count_is_logged_once(
    prices: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Model, "origin", "parrot:dear")
    usage = ad.Usage("acme", "unheard of", 1_000, 100, 1_100)
    with capture_logs() as lines:
        async with served(
            budgets=("all:$0.01",), prices=prices, plan=[[*says("ok"), ad.TurnDone(usage=usage)]] * 9
        ) as s:
            assert [(await s.say("ann")).status for _ in range(3)] == [200] * 3
    (told,) = [line for line in lines if line["event"] == "model_without_price"]
    assert (told["provider"], told["model"]) == ("acme", "dear")
    assert "AGUI_GATE_PRICES" in told["why"]


async def test_what_was_reserved_for_a_request_that_failed_is_given_back() -> None:
    from agui_gate.errors import ProviderUnavailable

    plan = [[ProviderUnavailable("down")], [*says("half"), ProviderUnavailable("cut")]]
    async with served(budgets=("all:1000000",), plan=plan) as s:
        ledger = s.app.state.engine.extensions.all[0].ledger
        budget = f"all:{s.app.state.engine.store.now() // DAY_MS}:"
        await s.say("ann")
        assert await ledger.spent(budget) == (0, 0)
        await s.say("ann")
        assert (await ledger.spent(budget))[0] >= OUTPUT_TOKENS
        found = await s.get("ann")
    assert (found["total"]["requests"], found["total"]["failed"]) == (2, 2)


async def test_an_answer_without_usage_counts_as_what_was_reserved() -> None:
    plan = [[*says("ok"), ad.TurnDone(usage=usage)] for usage in (ad.Usage("acme", "cheap", None, None, None),) * 9]
    async with served(budgets=("principal:6000",), plan=plan) as s:
        assert [(await s.say("ann")).status for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("stopped", [True, False])
async def test_what_was_reserved_for_a_request_that_was_never_made_is_given_back(
    stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(_: Any) -> None:
        raise LeaseLost

    runs: list[Any] = []
    begun = UsageMeter.run_begun
    monkeypatch.setattr(UsageMeter, "run_begun", lambda *args: (runs.append(args[2].task), begun(*args))[1])
    async with served(budgets=("all:1000000", "run:1000000")) as s:
        meter = s.app.state.engine.extensions.all[0]
        reserve = meter.ledger.reserve

        async def stop(*args: Any) -> None:
            await reserve(*args)
            runs[0].cancel()
            await asyncio.sleep(0)

        if stopped:
            monkeypatch.setattr(meter.ledger, "reserve", stop)
        else:
            monkeypatch.setattr("agui_gate.turns.model_turn.ProviderContinuation.suspend", lost)
        await s.say("ann")
        await asyncio.gather(*meter._saving)
        spent = await meter.ledger.spent(f"all:{s.app.state.engine.store.now() // DAY_MS}:")
        assert (spent, s.model.requests) == ((0, 0), [])
        assert (meter.reserving, meter.budgets._runs) == ({}, {})


async def test_at_midnight_it_begins_anew(store: Store, ledger: UsageLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = Budgets(("principal:100",), ledger, store)
    reserved = await budgets.reserve("ann", "run_1", 100, 0)
    with pytest.raises(RateLimited, match=r"is spent, or reserved by .* at work\. Try again in a moment\.") as caught:
        await budgets.check("ann")
    assert caught.value.retry_after == budgets_of.RESERVED_SECONDS
    with pytest.raises(LimitReached, match="or reserved by"):
        await budgets.reserve("ann", "run_1", 1, 0)
    await ledger.save([asked("1", input=90, output=15, spent=reserved.difference(105, 0))])
    with pytest.raises(RateLimited, match=r"is spent\. It begins anew") as caught:
        await budgets.check("ann")
    assert caught.value.retry_after == (DAY_MS - 5_000) // 1000
    with pytest.raises(LimitReached):
        await budgets.reserve("ann", "run_1", 1, 0)
    await budgets.check("bob")
    monkeypatch.setattr(store, "now", lambda: NOW + DAY_MS)
    await budgets.check("ann")
    assert budgets_of.BYTES_PER_TOKEN == 4


@pytest.mark.parametrize(
    "value",
    ["principal", "principal:", "principal:-1", "nobody:5", "run:5,run:6", "run:$", "run:1.5", "all:$1.2.3", "run:1e9"],
)
def test_nonsense_stops_the_start(value: str) -> None:
    with pytest.raises(ConfigurationError, match="AGUI_GATE_BUDGETS"):
        load_settings(environ={"AGUI_GATE_BUDGETS": value})


def test_budgets_are_read() -> None:
    assert load_settings(environ={"AGUI_GATE_BUDGETS": "run:5, all:$2.50"}).budgets == ("run:5", "all:$2.50")


# --- prices -----------------------------------------------------------------------------------------------------------


def test_money_without_prices_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_gate.extras.usage.prices.find_spec", lambda name: None)
    agent = Agent(name="a", model=Model())
    with pytest.raises(ConfigurationError, match="no prices"):
        create_app(agent, store="memory://", settings=Settings(budgets=("all:$5",)))
    create_app(agent, store="memory://", settings=Settings(budgets=("all:5",)))


def test_a_store_that_keeps_none_stops_the_start() -> None:
    class Own:
        def __init__(self) -> None:
            self._inner = MemoryStore()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

    with pytest.raises(ConfigurationError, match="can't keep usage"):
        create_app(Agent(name="a", model=Model()), store=cast(Store, Own()), settings=Settings(usage=True))


@pytest.mark.parametrize("text", [None, "{", '{"dated": "x", "models": {"m": {"input": -1, "output": 1}}}', '{"a": 1}'])
def test_prices_that_can_not_be_read_stop_the_start(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "prices").write_text(text)
    with pytest.raises(ConfigurationError, match="AGUI_GATE_PRICES"):
        Prices(str(tmp_path / "prices"))


def test_a_model_without_a_price_costs_nobody_knows_what(prices: str) -> None:
    own = Prices(prices)
    assert own.cost("acme", "cheap", {"input": 1_000_000, "output": 0}) == (10_000_000_000, "ours of today")
    assert own.cost("acme", "unheard of", {"input": 1, "output": 1}) == (None, "")
    assert own.cost("acme", "cheap", {"input": None, "output": None}) == (None, "")


def test_the_package_of_prices_is_dated() -> None:
    pytest.importorskip("genai_prices")
    packaged = Prices("")
    cost, dated = packaged.cost("openai", "gpt-5.4-mini", {"input": 1_000_000, "output": 0, "cached_input": 1_000_000})
    plain, _ = packaged.cost("openai", "gpt-5.4-mini", {"input": 1_000_000, "output": 0})
    assert plain is not None
    assert cost is not None
    assert 0 < cost < plain
    assert dated.startswith("genai-prices ")


async def test_usage_is_kept_beside_traces() -> None:
    """A run with a span has a meter of its own."""

    class Traced:
        """A meter that gives each run another one."""

        def run_begun(self, agent: str, live: Any, thread: Any) -> None:
            thread.meter = Traced()

        def store(self, store: Store) -> Store:
            return store

        def counting(self, speaker: Any) -> Any:
            return speaker

        def turn_step(self, speaker: Any) -> TurnStep:
            return TurnStep()

    store = MemoryStore()
    meter = UsageMeter(Settings(usage=True), Traced())
    engine = Engine([Agent(name="support", model=Model())], meter.store(store), meter=meter)
    await engine.start()
    live = await engine.run(engine.agent(None), RunInput("t", "r", [Message("user", id="u", content="hi")]), "ann")
    assert live.task is not None
    await live.task
    (thread,) = (await engine.store.list_threads("ann", limit=1)).threads
    found = await engine.store.read_thread("ann", thread.id)
    assert found is not None
    assert (await meter.usage_of(found))["total"]["requests"] == 1
    await engine.aclose()


async def test_old_usage_is_forgotten_and_budgets_of_days_that_are_over(
    store: Store, ledger: UsageLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage_retention, "LOOK", 2)
    today = store.now() // DAY_MS
    for days in range(6):
        used = asked(f"q{days}", at=store.now() - days * DAY_MS, of_tenant="b" if days % 2 else "")
        await ledger.save([used], [Spent(f"all:{today - days}:", 1, 1)])
    await ledger.save([], [Spent("odd", 1, 1)])

    async def forget(days: int) -> int:
        job = UsageRetention(ledger, days, clock=iter(range(0, 1000, 50)).__next__)
        for _ in range(8):
            await job.tick()
        found = [await ledger.days("of_tenant", tenant, 0, today) for tenant in ("", "b")]
        assert sum(len(lines) for lines, _ in found) == len(await _requests(ledger))
        return len(await _requests(ledger))

    assert await forget(0) == 6, "never"
    spent = [await ledger.spent(f"all:{today - days}:") for days in range(6)] + [await ledger.spent("odd")]
    assert spent == [(1, 1)] * 3 + [(7, 0)] * 3 + [(1, 1)], "of one that is gone, what is kept of its day's usage"
    assert await forget(3) == 4


async def _requests(ledger: UsageLedger) -> list[ModelRequest]:
    return [one for tenant in ("", "b") for one in (await ledger.requests("of_tenant", tenant))[0]]
