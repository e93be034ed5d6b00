"""Standing grants and deputies end with the right of who gave them, as far as the server can know."""

import asyncio
import json
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agui_gate import ConfigurationError, Gate, Grant, Principal, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.core.deputies import Deputy
from agui_gate.core.grants import Grant as Given
from agui_gate.core.grants import GrantLimits
from agui_gate.core.principals import Caller
from agui_gate.errors import Unavailable
from agui_gate.extras.audit.sentences import sentence
from agui_gate.extras.people.givers import lost
from agui_gate.extras.people.grants import _by_roles
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sql.deputies import Deputies
from tests.people.desk import Desk, ids
from tests.people.issuer import every_key, token, write
from tests.people.test_grants import FINANCE, PEOPLE, _stores, give, grants, state
from tests.people.test_signed_tokens import JwtDesk, bearer
from tests.product.inprocess import started
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B5")]

LESS: dict[str, Any] = {"ben without finance": Principal("ben", "acme", ("approver",), claims={"person": "p-ben"})}
BY_FINANCE: dict[str, Any] = {"approvers": "finance", "grants": [Grant.arguments()]}


async def ended(desk: Desk) -> list[tuple[str, str, Any]]:
    """Who ended grants, how, and why."""
    found = [event for event in await desk.trail() if event.kind == "revoked"]
    return [(event.by, event.way, json.loads(event.body).get("why")) for event in found]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_grant_ends_when_its_giver_is_seen_without_the_role_on_any_replica(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with AsyncExitStack() as opened:
        one, two = [
            await opened.enter_async_context(Desk(PEOPLE | LESS, **BY_FINANCE).open(store))
            for store in _stores(kind, tmp_path, request)
        ]
        await give(one, "ada", by="ben", scope="arguments")
        assert [(shown["by_roles"], shown["counts"]) for shown in await grants(two, "oli")] == [(["finance"], True)]
        for desk in (one, two):
            assert (await desk.get("ben", "/me")).status == (await desk.get("cat", "/me")).status == 200
        assert await state(one, "ada", "second") == "done", "they have the role still"
        assert (await two.get("ben without finance", "/threads")).status == 403, "seen also where nothing is opened"
        assert await state(one, "ada", "third") == "pending"
        assert (await one.get("ben without finance", "/me")).status == 200
        assert await ended(two) == [("", "", "the giver has lost the role finance")], "once"
        assert await grants(one, "ben") == []


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_nothing_runs_by_a_grant_once_its_giver_was_seen_without_the_role(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Calls on two servers; in the middle of them the giver is seen on both at once."""
    async with AsyncExitStack() as opened:
        desks = [
            await opened.enter_async_context(Desk(PEOPLE | LESS, **BY_FINANCE).open(store))
            for store in _stores(kind, tmp_path, request)
        ]
        await give(desks[0], "ada", by="ben", scope="arguments")
        many = asyncio.gather(*(desks[n % 2].say("ada", "refund", f"r{n}") for n in range(8)))
        seen = await asyncio.gather(*(desk.get("ben without finance", "/me") for desk in desks for _ in range(3)))
        assert {answer.status for answer in seen} == {200}

        async def let_go() -> set[str]:
            listed = (await desks[0].get("ada", "/approvals", "state=all&limit=100")).json()["approvals"]
            return {one["id"] for one in listed if one["state"] != "pending"}

        claimed = {event.approval_id for event in await desks[0].trail() if event.kind == "claimed"}
        await many
        assert await let_go() == claimed, "none after the answer"
        assert len(await ended(desks[0])) == 1


@pytest.mark.parametrize(
    ("gate", "roles", "owner", "why"),
    [
        ({"approvers": "finance"}, ("approver", "other"), "ben", "has lost the role finance"),
        ({"approvers": "finance"}, ("finance",), "ben", ""),
        ({"approvers": "finance"}, ("auditor", "finance"), "ben", "may decide nothing any more"),
        ({"approvers": "finance"}, FINANCE, "team", ""),
        ({"approvers": ["ben"]}, (), "ben", ""),
        ({"approvers": ["ben"]}, ("operator",), "ben", "may decide nothing any more"),
        ({"approvers": lambda principal: True}, ("finance",), "ben", "has lost the role approver"),
        ({"decisions": ("approve",), "self_approval": True}, (), "acme\x1fben", ""),
        ({"decisions": ("approve",), "self_approval": True}, (), "team", "acts for another owner by now"),
        ({}, (), "ben", ""),
        ({}, FINANCE, "team", "acts for another owner by now"),
    ],
)
async def test_it_ends_with_the_right_by_which_it_was_given_and_no_other(
    gate: dict[str, Any], roles: tuple[str, ...], owner: str, why: str
) -> None:
    asker = "ada" if gate.get("approvers") else "ben, who asks"
    people = PEOPLE | {"ben, who asks": Principal("ben", "acme", (*FINANCE, "user"))}
    async with Desk(people, grants=[Grant.arguments()], **gate).open() as desk:
        await give(desk, asker, by="ben", scope="arguments")
        (grant,) = await desk.app.state.engine.store.grants("giver", "acme\x1fben")
    who = Principal("ben", "acme", roles, owner.rpartition("\x1f")[2])
    assert lost(grant, who) == why


@pytest.mark.parametrize(
    ("asked", "now", "roles", "by_roles"),
    [
        (["ben"], ["ben"], FINANCE, ()),
        ("finance", "finance", FINANCE, ("finance",)),
        ("finance", "lead", ("finance", "lead", "more"), ("finance", "lead")),
        (["ben"], "finance", FINANCE, ("finance",)),
        ("finance", ["ben"], FINANCE, ("finance",)),
        ("other", "other", ("lead",), ("lead",)),
        ("finance", "finance", ("finance", "lead"), ("finance",)),
        (["ben"], ["ben"], ("lead",), ()),
        (lambda principal: True, ["ben"], FINANCE, FINANCE),
    ],
)
def test_by_which_roles_somebody_could_give_it(asked: Any, now: Any, roles: tuple[str, ...], by_roles: Any) -> None:
    """By each of the two gates, the first that is enough; one that an escalation has added comes after those named."""

    @tool(gate=Gate(approvers=now, grants=[Grant.arguments()], escalate=[(60, "lead")]))
    async def refund() -> None:
        """Refund."""

    people = Gate(approvers=asked).people
    assert people is not None
    by = Caller(Principal("ben", "acme", roles))
    assert _by_roles(msgspec.structs.replace(people, added=("lead",)), by, refund) == by_roles


def test_a_grant_of_before_the_roles_were_kept_needs_all_of_them() -> None:
    given = Given(
        id="g", owner="ada", agent="a", tool="t", scope="s", limits=GrantLimits(1), approval_id="a", thread_id="t",
        giver="ben", roles=FINANCE,
    )  # fmt: skip
    assert lost(given, Principal("ben", roles=FINANCE)) == ""
    assert lost(given, Principal("ben", roles=("finance",))) == "has lost the role approver"


async def test_each_request_has_one_look_at_what_its_principal_gave(
    store: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Desk(PEOPLE | LESS, **BY_FINANCE).open(store) as desk:
        looked: list[str] = []
        read = Deputies.given_by

        async def counted(deputies: Deputies, tenant: str, name: str) -> Any:
            looked.append(f"{name} of {tenant}")
            return await read(deputies, tenant, name)

        monkeypatch.setattr(Deputies, "given_by", counted)
        for who in ("ben", "ben", "ben without finance", "ada"):
            await desk.get(who, "/me")
        assert looked == ["ben of acme", "ben of acme", "ben of acme", "ada of acme"]


async def test_what_can_not_be_looked_up_is_no_answer_and_asked_again(
    store: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Desk(PEOPLE | LESS, **BY_FINANCE).open(store) as desk:
        await give(desk, "ada", by="ben", scope="arguments")

        async def away(deputies: Deputies, tenant: str, name: str) -> Any:
            raise Unavailable("The store is away.")

        with monkeypatch.context() as broken:
            broken.setattr(Deputies, "given_by", away)
            assert (await desk.get("ben without finance", "/me")).status == 503
        assert (await desk.get("ben without finance", "/me")).status == 200
        assert await grants(desk, "oli") == []


async def test_a_server_whose_gates_ask_nobody_looks_nobody_up() -> None:
    async with Desk(PEOPLE).open() as desk:
        assert desk.app.state.guard.givers is None


async def name(desk: Desk, who: str, deputy: str = "dan", days: float = 1) -> Any:
    until = datetime.fromtimestamp(desk.app.state.engine.store.now() / 1000, UTC) + timedelta(days=days)
    return await desk.post(who, "/deputies", {"deputy": deputy, "until": until.isoformat()})


async def may_decide(desk: Desk, who: str, approval_id: str) -> bool:
    """Whether somebody finds a call among those that they may decide."""
    return approval_id in ids(await desk.get(who, "/approvals"))


DAN: dict[str, Any] = {"dan": Principal("dan", "acme", ("approver",)), "tom": Principal("tom", "acme", ("approver",))}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_deputy_ends_when_who_named_them_is_seen_without_the_role_on_any_replica(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with AsyncExitStack() as opened:
        one, two = [
            await opened.enter_async_context(Desk(PEOPLE | LESS | DAN, approvers="finance", needs=2).open(store))
            for store in _stores(kind, tmp_path, request)
        ]
        said, waiting = await one.ask("ada"), await one.ask("ada", thread="t2")
        assert (await name(one, "ben")).status == (await name(one, "cat", "tom")).status == 201
        assert (await one.decide("dan", said)).json()["state"] == "pending"
        assert await may_decide(two, "dan", waiting), "ben has the role still"
        assert (await two.get("ben without finance", "/threads")).status == 403, "seen also where nothing is opened"
        for desk in (one, two):
            assert not await may_decide(desk, "dan", waiting)
            assert (await desk.decide("dan", waiting)).status == 404
            assert await may_decide(desk, "tom", waiting), "whom somebody else has named"
        assert (await one.decide("cat", said)).status == 403, "dan's yes counts no more"
        assert (await one.get("ben without finance", "/me")).json()["deputies"] == []
        assert one.ran == two.ran == []
        found = [event for event in await one.trail() if event.kind == "deputy_removed"]
        assert [(one.by, one.way, json.loads(one.body)["why"]) for one in found] == [
            ("", "", "ben has lost the role finance")
        ], "once"
        (entry,) = (await one.get("oli", "/audit", "decision=deputy_removed")).json()["entries"]
        assert entry["text"] == "dan is no longer the deputy of ben: ben has lost the role finance."


@pytest.mark.parametrize(
    ("roles", "why"),
    [
        (FINANCE, ""),
        (("finance", "user", "more"), "has lost the role approver"),
        (("approver", "other"), "has lost the role finance"),
        (("auditor",), "may decide nothing any more"),
        (("break-glass", *FINANCE[1:]), "may decide nothing any more"),
    ],
)
def test_a_deputy_has_all_roles_of_who_is_away_or_none(roles: tuple[str, ...], why: str) -> None:
    deputy = Deputy(id="d", tenant="acme", absent="ben", deputy="dan", since=0, until=1, roles=FINANCE)
    assert lost(deputy, Principal("ben", "acme", roles)) == why


async def test_the_weaker_of_two_tokens_ends_what_was_given_with_the_stronger_one(store: FullStore) -> None:
    """Which of the two says what somebody may do now, nobody can know: so it is the one that says less."""
    people = PEOPLE | LESS | DAN | {"ben's script": Principal("script", "acme", ("user",), None, {"person": "p-ben"})}
    async with Desk(people, **BY_FINANCE).open(store) as desk:
        await give(desk, "ada", by="ben", scope="arguments")
        await name(desk, "ben")
        for who in ("ben", "ben's script"):
            assert (await desk.get(who, "/me")).status == 200
        assert await state(desk, "ada", "second") == "done", "another id is nobody's weaker token"
        assert (await desk.get("ben without finance", "/me")).status == 200
        assert await state(desk, "ada", "third") == "pending"
        assert (await desk.get("ben", "/me")).json()["deputies"] == []
        assert (await name(desk, "ben")).status == 201, "who may still give, may give again"
        await give(desk, "ada", "fourth", by="ben", scope="arguments")
        assert await state(desk, "ada", "fifth") == "done"


async def test_a_grant_of_a_token_that_was_revoked_lets_nothing_go(tmp_path: Path) -> None:
    write(tmp_path / "keys.json", *every_key())
    revoked = tmp_path / "revoked"
    revoked.write_text("")
    tokens = {"bot": "old"}
    desk = JwtDesk(tmp_path / "keys.json", jwt_revoked=str(revoked), tokens=tokens)
    desk.gate = Gate(grants=[Grant.arguments()])
    async with desk.open():
        mine = bearer(token(jti="j-1"))
        await give(desk, mine, scope="arguments")
        assert await state(desk, mine, "second") == "done"
        other = bearer(token(jti="j-2"))
        for number, (body, end) in enumerate([("j-3\n", "done"), ("j-1\n", "pending"), ("", "done")]):
            revoked.write_text(body + "#" * number)
            assert await state(desk, other, f"t{number}") == end, body
            shown = [(one["by_roles"], one["counts"]) for one in await grants(desk, other)]
            assert shown == [([], end == "done")], body
        knows = desk.app.state.guard.auth.is_current
        revoked.write_text("j-1\n")
        fixed, nameless, too_long = knows("bot", ""), knows("ada", ""), knows("ada", "j" * 200)
        assert (fixed, nameless, too_long, knows("ada", "j-2")) == (True, False, False, True)
        (given,) = await desk.app.state.engine.store.grants("owner", "acme\x1fada")
        revoked.unlink()
        assert desk.app.state.guard.givers.counts(*given.given_with) is False, "what can't be read is in doubt"


async def test_a_job_in_a_process_of_its_own_lets_nothing_go_by_a_token_that_was_revoked(tmp_path: Path) -> None:
    write(tmp_path / "keys.json", *every_key())
    revoked = tmp_path / "revoked"
    revoked.write_text("")
    place = f"sqlite:///{tmp_path / 'gate.db'}"
    desk = JwtDesk(tmp_path / "keys.json", jwt_revoked=str(revoked))
    desk.gate = Gate(grants=[Grant.arguments()])
    async with desk.open(place):
        await give(desk, bearer(token(jti="j-1")), scope="arguments")
    for number, (body, waits) in enumerate([("other\n", 0), ("j-1\n", 1), ("", 0)]):
        revoked.write_text(body + "#" * number)
        result = await desk.agent().run(
            "refund", store=place, principal=Principal("ada", "acme"), settings=desk.settings
        )
        assert len(result.pending) == waits, body


async def test_a_deputy_named_by_a_token_that_was_revoked_decides_nothing(tmp_path: Path) -> None:
    write(tmp_path / "keys.json", *every_key())
    revoked = tmp_path / "revoked"
    revoked.write_text("")
    desk = JwtDesk(tmp_path / "keys.json", jwt_revoked=str(revoked))
    desk.gate = Gate(approvers=["ben"], needs=1)
    async with desk.open():
        ada, ben, dan = (bearer(token(sub=who, jti=f"{who}-1")) for who in ("ada", "ben", "dan"))
        approval_id = await desk.ask(ada)
        named = (await name(desk, ben)).json()
        for number, (body, counts) in enumerate([("other\n", True), ("ben-1\n", False), ("", True)]):
            revoked.write_text(body + "#" * number)
            assert await may_decide(desk, dan, approval_id) is counts, body
            assert (await desk.get(dan, "/deputies")).json()["deputies"] == [named | {"counts": counts}]
        revoked.write_text("ben-1\n")
        assert (await desk.decide(dan, approval_id)).status == 404
        revoked.write_text("")
        assert (await desk.decide(dan, approval_id)).json()["state"] == "done"


async def test_a_yes_of_a_deputy_counts_no_more_once_the_token_is_revoked_by_which_they_were_named(
    tmp_path: Path,
) -> None:
    write(tmp_path / "keys.json", *every_key())
    revoked = tmp_path / "revoked"
    revoked.write_text("")
    desk = JwtDesk(tmp_path / "keys.json", jwt_revoked=str(revoked))
    desk.gate = Gate(approvers=["ben", "cat"], needs=2)
    async with desk.open():
        ada, ben, cat, dan = (bearer(token(sub=who, jti=f"{who}-1")) for who in ("ada", "ben", "cat", "dan"))
        approval_id = await desk.ask(ada)
        await name(desk, ben)
        assert (await desk.decide(dan, approval_id)).json()["state"] == "pending"
        revoked.write_text("ben-1\n")
        assert (await desk.decide(cat, approval_id)).status == 403
        assert desk.ran == []


async def test_a_deputy_of_who_has_no_fixed_token_any_more_decides_nothing() -> None:
    desk = Desk({}, approvers=["ben"])
    app = create_app(desk.agent(), store="memory://", settings=Settings(tokens={"ada": "a", "ben": "b", "dan": "d"}))
    async with started(app) as desk.app:
        approval_id = await desk.ask("Bearer a")
        assert (await name(desk, "Bearer b")).status == 201
        for tokens, may in (({"ada": "a", "dan": "d"}, False), ({"ada": "a", "ben": "b", "dan": "d"}, True)):
            app.state.guard.auth.replace(tokens)
            assert await may_decide(desk, "Bearer d", approval_id) is may


async def test_a_grant_of_who_has_no_fixed_token_any_more_lets_nothing_go() -> None:
    desk = Desk({}, approvers=["ben"], grants=[Grant.arguments()])
    app = create_app(desk.agent(), store="memory://", settings=Settings(tokens={"ada": "a", "ben": "b"}))
    async with started(app) as desk.app:
        await give(desk, "Bearer a", by="Bearer b", scope="arguments")
        assert await state(desk, "Bearer a", "second") == "done"
        app.state.guard.auth.replace({"ada": "a"})
        assert await state(desk, "Bearer a", "third") == "pending"
        app.state.guard.auth.replace({"ada": "a", "ben": "b"})
        assert await state(desk, "Bearer a", "fourth") == "done"


@pytest.mark.parametrize(
    "options",
    [{"approvers": "finance"}, {"approvers": lambda who: True}, {"approvers": ["ben"], "escalate": [(60, "finance")]}],
)
def test_a_grant_by_a_role_has_an_end_within_a_season(options: dict[str, Any]) -> None:
    longest = 24 * 92
    Gate(grants=[Grant.arguments(hours=longest)], **options)
    with pytest.raises(ConfigurationError, match="at most 2,208"):
        Gate(grants=[Grant.arguments(hours=longest + 1)], **options)
    Gate(grants=[Grant.arguments(hours=longest + 1)], approvers=["ben"])
    Gate(grants=[Grant.arguments(hours=longest + 1)])


def test_the_audit_says_why_it_ended() -> None:
    entry: dict[str, Any] = {"kind": "revoked", "grant": "gr_1", "by": "", "why": "the giver has lost the role finance"}
    assert sentence(entry) == "Grant gr_1 has ended: the giver has lost the role finance."
    assert sentence(entry | {"by": "oli", "why": ""}) == "oli revoked grant gr_1."
