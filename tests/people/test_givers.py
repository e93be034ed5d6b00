"""Standing grants end with the right of who gave them, as far as the server can know."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agui_gate import ConfigurationError, Gate, Grant, Principal, create_app
from agui_gate.config.settings import Settings
from agui_gate.core.grants import Grant as Given
from agui_gate.core.grants import GrantLimits
from agui_gate.errors import Unavailable
from agui_gate.extras.audit.sentences import sentence
from agui_gate.extras.people import givers
from agui_gate.extras.people.givers import Givers, lost
from agui_gate.stores.capabilities import FullStore
from tests.people.desk import Desk
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


def test_a_grant_of_before_the_roles_were_kept_needs_all_of_them() -> None:
    given = Given(
        id="g", owner="ada", agent="a", tool="t", scope="s", limits=GrantLimits(1), approval_id="a", thread_id="t",
        giver="ben", roles=FINANCE,
    )  # fmt: skip
    assert lost(given, Principal("ben", roles=FINANCE)) == ""
    assert lost(given, Principal("ben", roles=("finance",))) == "has lost the role approver"


async def test_who_has_the_same_rights_as_before_is_not_looked_up(store: FullStore) -> None:
    async with Desk(PEOPLE | LESS, **BY_FINANCE).open(store) as desk:
        looked: list[str] = []
        read = store.grants

        async def counted(whose: Any, value: str) -> Any:
            looked.append(value)
            return await read(whose, value)

        store.grants = counted  # type: ignore[method-assign]  # it counts, and reads as before
        for who in ("ben", "ben", "ben without finance", "ben without finance", "ben", "ada", "ben"):
            await desk.get(who, "/me")
        assert looked == [f"acme\x1f{name}" for name in ("ben", "ben", "ben", "ada")]


async def test_what_can_not_be_looked_up_is_no_answer_and_asked_again(
    store: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Desk(PEOPLE | LESS, **BY_FINANCE).open(store) as desk:
        await give(desk, "ada", by="ben", scope="arguments")

        async def away(whose: Any, value: str) -> Any:
            raise Unavailable("The store is away.")

        with monkeypatch.context() as broken:
            broken.setattr(store, "grants", away)
            assert (await desk.get("ben without finance", "/me")).status == 503
        assert (await desk.get("ben without finance", "/me")).status == 200
        assert await grants(desk, "oli") == []


async def test_a_process_remembers_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(givers, "MOST_SEEN", 2)
    async with Desk(PEOPLE, **BY_FINANCE).open() as desk:
        for who in ("ada", "ben", "cat", "ada", "oli"):
            await desk.get(who, "/me")
        found: Givers = desk.app.state.guard.givers
        assert [name for _, name in found._seen] == ["ada", "oli"]


async def test_a_server_without_grants_looks_nobody_up() -> None:
    async with Desk(PEOPLE, approvers="finance").open() as desk:
        assert desk.app.state.guard.givers is None


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
        knows = desk.app.state.guard.auth.is_current
        revoked.write_text("j-1\n")
        fixed, nameless, too_long = knows("bot", ""), knows("ada", ""), knows("ada", "j" * 200)
        assert (fixed, nameless, too_long, knows("ada", "j-2")) == (True, False, False, True)
        (given,) = await desk.app.state.engine.store.grants("owner", "acme\x1fada")
        revoked.unlink()
        assert desk.app.state.guard.givers.counts(given) is False, "what can't be read is in doubt"


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
