"""Standing grants: a yes to calls that come after, within a scope of the gate, and never more than its giver could."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from agui_gate import Agent, ConfigurationError, Gate, Grant, Principal, Ruling, create_app, tool
from agui_gate.approvals.answer_validation import Verdict
from agui_gate.cli.program import program
from agui_gate.core.approvals import Decision, State
from agui_gate.core.freezes import Freeze
from agui_gate.core.grants import Grant as Given
from agui_gate.core.grants import GrantLimits, has_same, used
from agui_gate.errors import ApprovalRefused
from agui_gate.extras.people import grants as grant_seam
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.testkit.agui import serving
from tests.people.desk import Desk, Json, Model
from tests.product.inprocess import started
from tests.requirements import shows
from tests.stores.support import Clock, gated

pytestmark = [pytest.mark.anyio, shows("B5")]

FINANCE = ("approver", "finance")
PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "team": Principal("tom", "acme", acts_for="team"),
    "tim": Principal("tim", "acme", acts_for="team"),
    "ben": Principal("ben", "acme", FINANCE, claims={"person": "p-ben"}),
    "ben for the team": Principal("ben", "acme", ("user", "finance"), acts_for="team", claims={"person": "p-ben"}),
    "cat": Principal("cat", "acme", FINANCE),
    "oli": Principal("oli", "acme", ("operator",)),
    "evil operator": Principal("oli", "evil", ("operator",)),
    "evil ada": Principal("ada", "evil"),
    "plain": "bob",
    "plain operator": "oli",
}
HOUR_MS = 3_600_000


def test_a_grant_is_over_at_its_end_and_not_before() -> None:
    limits = GrantLimits(duration=10)
    grant = Given(
        id="g", owner="acme\x1fada", agent="support", tool="refund", scope="all", limits=limits, approval_id="a1",
        thread_id="t", giver="ben", at=100,
    )  # fmt: skip
    assert used(grant, limits, "{}", 109).used == 1
    for narrower in (limits, GrantLimits(duration=9)):
        with pytest.raises(ApprovalRefused, match="has ended"):
            used(grant, narrower, "{}", 100 + narrower.duration)
    with pytest.raises(ApprovalRefused, match="is used up"):
        used(used(grant, limits, "{}", 109), GrantLimits(duration=10, times=1), "{}", 109)


async def test_a_store_that_keeps_no_grants_is_given_none() -> None:
    gate = Gate(approvers="finance", grants=[Grant(name="all", hours=1)])

    @tool(gate=gate)
    async def refund() -> None:
        """Refund."""

    thread: Any = SimpleNamespace(lease=SimpleNamespace(store=SimpleNamespace(move=MemoryStore.move)))
    verdict = Verdict(gated(schema_digest="d"), State.CLAIMED, Decision(True, "ben"), grant='{"grant":{"scope":"all"}}')
    with pytest.raises(ApprovalRefused, match="keeps no grants"):
        await grant_seam.give(verdict, refund, thread)


async def ends(desk: Desk, who: str, thread: str) -> Json:
    """The record of the call that a run asks for."""
    events = await desk.say(who, "refund", thread)
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    listed = (await desk.get(who, "/approvals", "state=all")).json()["approvals"]
    return next(dict(one) for one in listed if one["thread_id"] == thread)


async def state(desk: Desk, who: str, thread: str) -> str:
    """How that call ended."""
    return str((await ends(desk, who, thread))["state"])


async def give(desk: Desk, who: str, thread: str = "first", by: str = "", **grant: Any) -> str:
    """A yes with a grant; returns the grant's id."""
    approval_id = await desk.ask(who, thread=thread)
    answer = await desk.decide(by or who, approval_id, grant=grant)
    assert (answer.status, answer.json()["state"]) == (200, "done"), answer.body
    return str(answer.json()["grant"])


async def grants(desk: Desk, who: str) -> list[Json]:
    """The grants that somebody sees."""
    return list((await desk.get(who, "/grants")).json()["grants"])


async def revoke(desk: Desk, who: str, grant_id: str) -> int:
    """The status of a `DELETE`."""
    from tests.product.inprocess import request

    answer = await request(desk.app, "DELETE", f"/grants/{grant_id}", headers={"authorization": who})
    return answer.status


async def test_a_call_that_fits_runs_by_the_grant(store: FullStore) -> None:
    async with Desk(PEOPLE, grants=[Grant.arguments("order_id", hours=8, times=2)]).open(store) as desk:
        grant_id = await give(desk, "ada", scope="arguments", times=2)
        record = await ends(desk, "ada", "second")
        assert (record["state"], record["decision"] | {"at": ""}) == (
            "done",
            {"approved": True, "by": "ada", "way": "grant", "grant": grant_id, "at": ""},
        )
        assert await state(desk, "ada", "third") == "done"
        assert await state(desk, "ada", "fourth") == "pending", "it is used up"
        assert await state(desk, "evil ada", "second") == "pending"
        assert await state(desk, "team", "second") == "pending", "of another owner"
        assert len(desk.ran) == 3
        (shown,) = await grants(desk, "ada")
        assert shown["id"] == grant_id
        assert (shown["used"], shown["times"], shown["by"], shown["owner"]) == (2, 2, "ada", "ada")
        assert (shown["scope"], shown["arguments"], shown["thread_id"]) == ("arguments", {"order_id": "A1"}, None)
        said = [
            (event.thread_id, event.by, event.way, json.loads(event.body).get("grant"))
            for event in await desk.trail()
            if event.kind == "approved"
        ]
        assert sorted(said) == [
            ("first", "ada", "http", grant_id),
            ("second", "ada", "grant", grant_id),
            ("third", "ada", "grant", grant_id),
        ]


async def test_a_grant_is_given_in_a_run_and_by_a_plain_principal(store: FullStore) -> None:
    async with Desk(PEOPLE, grants=[Grant.thread()]).open(store) as desk:
        approval_id = await desk.ask("plain")
        payload = {"approved": True, "grant": {"scope": "thread"}}
        resume = [{"interruptId": approval_id, "status": "resolved", "payload": payload}]
        await desk.say("plain", "thanks", resume=resume)
        assert await state(desk, "plain", "t") == "done"
        assert len(desk.ran) == 2
        assert await state(desk, "plain", "other") == "pending"
        assert [one["thread_id"] for one in await grants(desk, "plain")] == ["t"]


async def test_a_thread_of_the_same_name_is_another_one(store: FullStore) -> None:
    async with Desk(PEOPLE, grants=[Grant.thread()]).open(store) as desk:
        await give(desk, "ada", "t", scope="thread")
        assert await desk.app.state.engine.delete_thread("acme\x1fada", "t")
        assert await state(desk, "ada", "t") == "pending"


@pytest.mark.parametrize(
    ("grant", "fit", "last"),
    [
        ({"up_to": 20}, [20, 20], 21),
        ({"total": 45}, [20, 20, 5], 1),
        ({"times": 1}, [20], 1),
        ({"total": 20.5}, [20], 1),
        ({}, [50, 50], 1),
        ({}, [50], 51),
        ({}, [0], -1),
    ],
)
async def test_amounts(
    grant: Json, fit: list[int], last: int, store: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = Grant.amount("amount", up_to=50, total=100, times=10)
    desk = Desk(PEOPLE, grants=[offer])
    async with desk.open(store):
        await give(desk, "ada", scope="amount", **grant)
        for number, amount in enumerate([*fit, last]):
            monkeypatch.setattr(Model, "amount", amount)
            assert await state(desk, "ada", f"t{number}") == ("done" if number < len(fit) else "pending")


@pytest.mark.parametrize("amount", ["-1", "0.2", "null", '"x"', "true"])
def test_what_is_no_amount_fits_no_grant(amount: str) -> None:
    limits = GrantLimits(HOUR_MS, field="amount", total="1.0", up_to="0.1")
    grant = Given(
        id="g", owner="a", agent="a", tool="t", scope="s", limits=limits, approval_id="a", thread_id="t", giver="a"
    )
    with pytest.raises(ApprovalRefused):
        used(grant, limits, f'{{"amount":{amount}}}', 1)
    after = used(grant, limits, '{"amount":0.1}', 1)
    assert (after.used, used(after, limits, '{"amount":"0.1"}', 1).spent) == (1, "0.2"), "added exactly"


@pytest.mark.parametrize(
    ("same", "arguments", "fits"),
    [
        ({"a": 1}, '{"a":1,"b":2}', True),
        ({"a": 1}, '{"a":true}', False),
        ({"a": None}, "{}", False),
        ({"a": [1, {"b": 2}]}, '{"a":[1,{"b":2}]}', True),
        ({}, '{"a":1}', True),
        ({"a": 1}, "[]", False),
    ],
)
def test_arguments_are_the_same(same: Json, arguments: str, fits: bool) -> None:
    assert has_same(same, arguments) is fits


OFFERS = [Grant.thread(hours=2, times=3), Grant.amount("amount", up_to=50, hours=1)]


@pytest.mark.parametrize(
    "grant",
    [
        {"scope": "world"},
        {"scope": "arguments"},
        {},
        "thread",
        [],
        True,
        {"scope": "thread", "hours": 3},
        {"scope": "thread", "hours": 0},
        {"scope": "thread", "hours": True},
        {"scope": "thread", "hours": "1"},
        {"scope": "thread", "times": 4},
        {"scope": "thread", "times": 0},
        {"scope": "thread", "times": 1.5},
        {"scope": "thread", "up_to": 5},
        {"scope": "thread", "forever": True},
        {"scope": "amount", "up_to": 51},
        {"scope": "amount", "up_to": -1},
        {"scope": 1},
    ],
)
async def test_what_the_gate_does_not_offer_decides_nothing(grant: Any) -> None:
    async with Desk(PEOPLE, grants=OFFERS).open() as desk:
        approval_id = await desk.ask("ada")
        answer = await desk.decide("ada", approval_id, grant=grant)
        assert (answer.status, answer.json()["error"]["code"]) == (422, "approval_refused"), answer.body
        assert (await desk.get("ada", f"/approvals/{approval_id}")).json()["state"] == "pending"
        assert (await grants(desk, "ada"), desk.ran) == ([], [])
        assert (await desk.decide("ada", approval_id, grant=None)).json()["state"] == "done", "none is wanted"


@pytest.mark.parametrize("options", [{}, {"always": True}, {"needs": 2, "approvers": "finance"}])
async def test_a_gate_that_offers_none(options: Json) -> None:
    async with Desk(PEOPLE, **options).open() as desk:
        approval_id = await desk.ask("ada")
        answer = await desk.decide("ben" if "needs" in options else "ada", approval_id, grant={"scope": "thread"})
        assert (answer.status, answer.json()["error"]["code"]) == (422, "approval_refused")
        record = (await desk.get("ada", f"/approvals/{approval_id}")).json()
        assert (record["state"], "grants" in record, desk.ran) == ("pending", False, [])


async def test_a_no_gives_no_grant() -> None:
    async with Desk(PEOPLE, grants=OFFERS).open() as desk:
        approval_id = await desk.ask("ada")
        answer = await desk.decide("ada", approval_id, approved=False, grant={"scope": "thread"})
        assert (answer.status, answer.json()["error"]["code"]) == (422, "approval_refused")
        record = (await desk.get("ada", f"/approvals/{approval_id}")).json()
        assert record["state"] == "pending"
        assert record["grants"] == [
            {"scope": "thread", "in_thread": True, "hours": 2, "times": 3, "same": []},
            {"scope": "amount", "in_thread": False, "hours": 1, "times": None, "same": []}
            | {"field": "amount", "up_to": 50, "total": None},
        ]


@pytest.mark.parametrize(
    "options",
    [
        {"grants": [Grant.thread()], "always": True},
        {"always": True, "when": lambda arguments: False},
        {"grants": [Grant.thread()], "needs": 2},
        {"grants": [Grant.thread(), Grant.thread()]},
        {"grants": "thread"},
        {"grants": ["thread"]},
        {"grants": [Grant.thread(hours=0)]},
        {"grants": [Grant.thread(hours=100_000)]},
        {"grants": [Grant.thread(hours=float("nan"))]},
        {"grants": [Grant.thread(times=0)]},
        {"grants": [Grant.thread(times=True)]},
        {"grants": [Grant.amount("amount")]},
        {"grants": [Grant.amount("amount", up_to=-1)]},
        {"grants": [Grant.thread(name="")]},
    ],
)
def test_a_gate_that_can_not_be(options: Json) -> None:
    with pytest.raises(ConfigurationError):
        Gate(**options)


def test_a_grant_names_arguments_of_the_tool() -> None:
    with pytest.raises(ConfigurationError, match="names no argument: amnt, order"):

        @tool(gate=Gate(grants=[Grant.amount("amnt", up_to=5), Grant.arguments("order")]))
        async def refund(order_id: str, amount: int) -> str:
            """Refund."""
            return ""

    agent = Agent(name="other", model=Model())
    with pytest.raises(ConfigurationError, match="whether a task begins"):
        agent.as_tool(gate=Gate(grants=[Grant.thread()]))


async def test_it_ends_with_its_time(store: FullStore) -> None:
    clock = Clock()
    async with Desk(PEOPLE, grants=[Grant.arguments()]).open(MemoryStore(clock=clock)) as desk:
        await give(desk, "ada", scope="arguments", hours=2)
        clock.advance(2 * HOUR_MS - 1_000)
        assert await state(desk, "ada", "before") == "done"
        clock.advance(1_000)
        assert await state(desk, "ada", "after") == "pending"
        assert await grants(desk, "ada") == []


async def test_the_gate_as_it_is_now_counts(store: FullStore) -> None:
    await store.start()
    offer = Grant.amount("amount", up_to=50, hours=8)
    async with Desk(PEOPLE, grants=[offer]).open(SameStore(store)) as desk:
        await give(desk, "ada", scope="amount")
    now: list[tuple[Json, str]] = [
        ({"grants": [Grant.amount("amount", up_to=19)]}, "pending"),
        ({"grants": [Grant.amount("amount", up_to=20)]}, "done"),
        ({"grants": [Grant.amount("amount", up_to=50, same=["order_id"])]}, "pending"),
        ({"grants": [Grant.amount("amount", up_to=50, in_thread=True)]}, "pending"),
        ({"grants": [Grant.amount("amount", up_to=50, name="other")]}, "pending"),
        ({"grants": [Grant.amount("amount", up_to=50, times=1)]}, "pending"),
        ({"grants": [Grant.amount("amount", up_to=50, total=39)]}, "pending"),
        ({"grants": [offer], "approvers": "finance"}, "pending"),
        ({"always": True}, "pending"),
        ({}, "pending"),
        ({"grants": [offer], "self_approval": True, "approvers": ["ada"]}, "done"),
    ]
    for number, (gate, end) in enumerate(now):
        async with Desk(PEOPLE, **gate).open(SameStore(store)) as desk:
            assert await state(desk, "ada", f"t{number}") == end, gate


class SameStore:
    """A store that is not closed with its server."""

    def __init__(self, store: FullStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def start(self) -> None:
        """It is open."""

    async def aclose(self) -> None:
        """It stays open."""


async def test_a_grant_counts_as_what_its_giver_could_decide(store: FullStore) -> None:
    async with Desk(PEOPLE, grants=[Grant.arguments()], approvers="finance").open(store) as desk:
        await give(desk, "team", by="ben", scope="arguments")
        assert await state(desk, "tim", "second") == "done"
        assert await state(desk, "ben for the team", "third") == "pending", "nobody approves what they ask for"
        assert [one["by"] for one in await grants(desk, "ben")] == ["ben"]
        assert await grants(desk, "cat") == []
        record = await ends(desk, "team", "fourth")
        assert (record["state"], record["decision"]["by"], record["asker"]) == ("done", "ben", "tom")


async def test_a_grant_of_who_shares_the_thread_counts_where_the_gate_names_nobody() -> None:
    async with Desk(PEOPLE, grants=[Grant.arguments()], decisions=("approve", "reject")).open() as desk:
        await give(desk, "team", by="tim", scope="arguments")
        assert await state(desk, "team", "second") == "done"


async def test_a_giver_without_the_right_gives_nothing_more() -> None:
    allowed = {"ben"}
    gate = {"approvers": lambda principal, asker, arguments: principal.id in allowed, "grants": [Grant.arguments()]}
    async with Desk(PEOPLE, **gate).open() as desk:
        await give(desk, "ada", by="ben", scope="arguments")
        assert await state(desk, "ada", "second") == "done"
        allowed.clear()
        assert await state(desk, "ada", "third") == "pending"


async def test_a_login_that_is_too_old_grants_nothing() -> None:
    clock = Clock(1_800_000_000_000)
    login = {"auth_time": 1_800_000_000}
    people = PEOPLE | {"cat": Principal("cat", "acme", FINANCE, claims=login)}
    gate: Json = {"approvers": "finance", "max_auth_age": 300, "grants": [Grant.arguments()]}
    async with Desk(people, **gate).open(MemoryStore(clock=clock)) as desk:
        await give(desk, "ada", by="cat", scope="arguments")
        assert await state(desk, "ada", "second") == "done"
        clock.advance(301_000)
        assert await state(desk, "ada", "third") == "pending"


async def test_a_rule_has_its_say_before_a_grant(store: FullStore) -> None:
    said: dict[str, Ruling] = {"t1": Ruling.deny("Not on Sundays."), "t2": Ruling.ask(), "t3": Ruling.allow()}
    seen: list[Any] = []

    def rule(arguments: Json, ctx: Any) -> Ruling:
        seen.append(ctx.approver)
        return said.get(ctx.thread_id, Ruling.ask())

    async with Desk(PEOPLE, when=rule, grants=[Grant.arguments()]).open(store) as desk:
        await give(desk, "ada", scope="arguments")
        found = [await ends(desk, "ada", thread) for thread in said]
        assert [(one["state"], one["decision"]["way"]) for one in found] == [
            ("rejected", "rule"),
            ("done", "grant"),
            ("done", "rule"),
        ]
        assert [None if who is None else who.id for who in seen] == [None, "ada", None, None, "ada", None]


async def test_a_function_of_the_arguments_goes_with_grants() -> None:
    async with Desk(PEOPLE, when=lambda arguments: arguments["amount"] > 20, grants=[Grant.arguments()]).open() as desk:
        assert await state(desk, "ada", "t1") == "done"
        assert [one["way"] for one in [(await ends(desk, "ada", "t2"))["decision"]]] == ["rule"]


async def test_a_freeze_wins(store: FullStore) -> None:
    async with Desk(PEOPLE, grants=[Grant.arguments()]).open(store) as desk:
        await give(desk, "ada", scope="arguments")
        await store.freeze(Freeze())
        assert await state(desk, "ada", "t1") == "pending"
        assert [one["used"] for one in await grants(desk, "ada")] == [0]


async def test_who_may_revoke_a_grant(store: FullStore) -> None:
    async with Desk(PEOPLE, grants=[Grant.arguments()], approvers="finance").open(store) as desk:
        first = await give(desk, "ada", "t1", by="ben", scope="arguments")
        for who in ("team", "cat", "evil operator", "evil ada", "plain", "plain operator"):
            assert await grants(desk, who) == [], who
            assert await revoke(desk, who, first) == 404, who
        assert await revoke(desk, "ada", "none") == 404
        assert [one["id"] for one in await grants(desk, "oli")] == [first]
        for who in ("ada", "ben", "oli"):
            grant_id = (await grants(desk, who))[0]["id"]
            assert await state(desk, "ada", f"before {who}") == "done"
            assert await revoke(desk, who, grant_id) == 200
            assert await revoke(desk, who, grant_id) == 404
            assert await state(desk, "ada", f"after {who}") == "pending"
            await give(desk, "ada", f"again {who}", by="ben", scope="arguments")
        revoked = [
            (event.by, event.way, json.loads(event.body)) for event in await desk.trail() if event.kind == "revoked"
        ]
        assert sorted(by for by, _, _ in revoked) == ["ada", "ben", "oli"]
        assert ("ada", "http", {"grant": first}) in revoked


async def test_a_restored_backup_has_no_grants(store: FullStore) -> None:
    async with Desk(PEOPLE, grants=[Grant.arguments()]).open(store) as desk:
        await give(desk, "ada", scope="arguments")
        await store.begin_epoch()
        assert await grants(desk, "ada") == []
        assert await state(desk, "ada", "t1") == "pending"


def _stores(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> list[FullStore]:
    if kind == "sqlite":
        return [SQLiteStore(str(tmp_path / "store.db")) for _ in range(2)]
    return [PostgresStore(request.getfixturevalue("tables")) for _ in range(2)]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize(("limits", "fit"), [({"times": 3}, 3), ({"total": 65}, 3)])
async def test_two_at_once_never_take_the_last_use(
    kind: str, limits: Json, fit: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with AsyncExitStack() as opened:
        gate = {"grants": [Grant.amount("amount", up_to=50, total=1_000, times=100)]}
        desks = [
            await opened.enter_async_context(Desk(PEOPLE, **gate).open(store))
            for store in _stores(kind, tmp_path, request)
        ]
        await give(desks[0], "ada", scope="amount", **limits)
        await asyncio.gather(*(desks[n % 2].say("ada", "refund", f"r{n}") for n in range(8)))
        assert len(desks[0].ran) + len(desks[1].ran) == 1 + fit
        waiting = (await desks[1].get("ada", "/approvals")).json()["approvals"]
        assert len(waiting) == 8 - fit
        assert [one["used"] for one in await grants(desks[1], "ada")] == [fit]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_nothing_runs_by_a_grant_that_was_revoked(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Calls on two servers; in the middle of them the grant is revoked on the first one."""
    async with AsyncExitStack() as opened:
        desks = [
            await opened.enter_async_context(Desk(PEOPLE, grants=[Grant.arguments()]).open(store))
            for store in _stores(kind, tmp_path, request)
        ]
        grant_id = await give(desks[0], "ada", scope="arguments")
        many = asyncio.gather(*(desks[n % 2].say("ada", "refund", f"r{n}") for n in range(10)))
        assert await revoke(desks[0], "ada", grant_id) == 200
        listed = (await desks[0].get("ada", "/approvals", "state=all&limit=100")).json()["approvals"]
        after = {one["id"] for one in listed if one["state"] in ("done", "claimed", "failed")}
        await many
        listed = (await desks[0].get("ada", "/approvals", "state=all&limit=100")).json()["approvals"]
        assert {one["id"] for one in listed if one["state"] != "pending"} == after, "none after the answer"
        assert await state(desks[1], "ada", "last") == "pending"


async def test_a_grant_from_a_shell() -> None:
    desk = Desk({"Bearer ada": PEOPLE["ada"]}, grants=[Grant.amount("amount", up_to=50, times=9)])
    app = create_app(desk.agent(), store="memory://", auth=desk.auth)
    async with started(app) as desk.app, serving(app) as url:

        async def shell(*arguments: str) -> tuple[int, str]:
            options = ["--url", url, "--token", "ada"]
            done = await asyncio.to_thread(CliRunner().invoke, program, [*arguments, *options])
            return done.exit_code, done.output

        approve = ("approvals", "approve", await desk.ask("Bearer ada"), "--no-continue")
        assert await shell("grants", "ls") == (0, "There are no grants.\n")
        for wrong in (("--within", "times=2"), ("--grant", "amount", "--within", "times=x"), ("--within", "=nan")):
            assert (await shell(*approve, *wrong))[0] == 2
        code, output = await shell(*approve, "--grant", "amount", "--within", "times=99")
        assert (code, "wider" in output or "more" in output) == (1, True), output
        assert (await shell(*approve, "--grant", "amount", "--within", "times=2", "--within", "up_to=20.5"))[0] == 0
        (given,) = json.loads((await shell("grants", "ls", "--json"))[1])["grants"]
        assert (given["scope"], given["times"], given["up_to"]) == ("amount", 2, 20.5)
        assert await state(desk, "Bearer ada", "second") == "done"
        assert "1/2" in (await shell("grants", "ls"))[1]
        assert await shell("grants", "rm", given["id"]) == (0, "Revoked.\n")
        assert (await shell("grants", "rm", given["id"]))[0] == 1
        assert await state(desk, "Bearer ada", "third") == "pending"
