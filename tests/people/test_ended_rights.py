"""A right that ended on one replica counts on no other one from the answer on, whether a bus tells of it or not."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jwt
import msgspec
import pytest

from agui_gate import Gate, Grant, Principal, Ruling
from agui_gate.bus.memory import MemoryBus
from agui_gate.bus.replicas.bus import SharedBus
from agui_gate.core.freezes import Freeze
from agui_gate.http import auth
from tests.bus.wire_in_memory import Place, WireInMemory
from tests.people.desk import Desk
from tests.people.issuer import every_key, token, write
from tests.people.test_givers import DAN, LESS, may_decide, name
from tests.people.test_grants import FINANCE, PEOPLE, _stores, give, revoke, state
from tests.people.test_signed_tokens import JwtDesk, bearer
from tests.product.inprocess import request as send
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B5")]

EVERYBODY = PEOPLE | LESS | DAN
ONE: dict[str, Any] = {"approvers": "finance", "grants": [Grant.arguments()]}
TWO: dict[str, Any] = {"approvers": "finance", "needs": 2}
REALM = {"roles": ["user", "approver", "finance"]}
WEAK = "ben without finance"


class Replicas:
    """Two servers on one store. ``revoked``: the file of revoked tokens, where they have one."""

    def __init__(self, stores: list[Any], buses: list[Any], opened: AsyncExitStack, place: Path) -> None:
        self._stores, self._buses, self._opened, self._place = stores, buses, opened, place
        self.revoked = place / "revoked"

    async def open(self, people: dict[str, Any] = EVERYBODY, **gate: Any) -> tuple[Desk, Desk]:
        """Servers whose people are known by name."""
        return await self._open(Desk(people, **gate), Desk(people, **gate))

    async def open_with_tokens(self, **gate: Any) -> tuple[Desk, Desk]:
        """Servers whose people are known by an issuer's tokens."""
        write(self._place / "keys.json", *every_key())
        self.revoked.write_text("")
        desks = [JwtDesk(self._place / "keys.json", jwt_revoked=str(self.revoked)) for _ in range(2)]
        for desk in desks:
            desk.gate = Gate(**gate)
        return await self._open(*desks)

    async def _open(self, *desks: Desk) -> tuple[Desk, Desk]:
        places = zip(desks, self._stores, self._buses, strict=True)
        one, two = [await self._opened.enter_async_context(desk.open(store, bus)) for desk, store, bus in places]
        return one, two


@pytest.fixture(params=["sqlite", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> list[Any]:
    return list(_stores(str(request.param), tmp_path, request))


@pytest.fixture(params=["silent", "working"])
async def replicas(request: pytest.FixtureRequest, stores: list[Any], tmp_path: Path) -> AsyncIterator[Replicas]:
    place = Place()
    buses = [MemoryBus() if request.param == "silent" else SharedBus(WireInMemory(place)) for _ in stores]
    async with AsyncExitStack() as opened:
        yield Replicas(stores, buses, opened, tmp_path)


@pytest.fixture
async def alone(stores: list[Any], tmp_path: Path) -> AsyncIterator[Replicas]:
    """Two with a silent bus, for what no bus has to do with."""
    async with AsyncExitStack() as opened:
        yield Replicas(stores, [MemoryBus() for _ in stores], opened, tmp_path)


def end_deputy(desk: Desk, who: str, deputy_id: str) -> Any:
    return send(desk.app, "DELETE", f"/deputies/{deputy_id}", headers={"authorization": who})


async def test_a_grant_that_was_revoked(replicas: Replicas) -> None:
    one, two = await replicas.open(**ONE)
    grant_id = await give(one, "ada", by="ben", scope="arguments")
    assert await state(two, "ada", "used") == "done"
    assert await revoke(one, "ben", grant_id) == 200
    assert await state(two, "ada", "after") == "pending"


async def test_a_deputy_who_was_withdrawn(replicas: Replicas) -> None:
    one, two = await replicas.open(**TWO)
    said, waiting = await one.ask("ada"), await one.ask("ada", thread="t2")
    deputy_id = (await name(one, "ben")).json()["id"]
    assert (await two.decide("dan", said)).json()["state"] == "pending"
    assert (await end_deputy(one, "ben", deputy_id)).status == 200
    assert not await may_decide(two, "dan", waiting)
    for approved in (True, False):
        assert (await two.decide("dan", waiting, approved)).status == 404
    assert (await two.decide("cat", said)).status == 403, "dan's yes counts no more"
    assert one.ran == two.ran == []


async def test_a_giver_who_was_seen_without_the_role_and_had_been_before(replicas: Replicas) -> None:
    """Seen on the second server a moment ago, so that anything it remembered of that would be of before the giving."""
    one, two = await replicas.open(**ONE)
    assert (await two.get(WEAK, "/me")).status == 200
    await give(one, "ada", by="ben", scope="arguments")
    assert (await name(one, "ben")).status == 201
    assert await state(one, "ada", "used") == "done"
    assert (await two.get(WEAK, "/me")).status == 200
    assert await state(one, "ada", "after") == "pending"
    (waiting,) = [each["id"] for each in (await one.get("ada", "/approvals")).json()["approvals"]]
    assert not await may_decide(one, "dan", waiting)
    assert (await one.decide("dan", waiting)).status == 404


async def test_a_token_that_was_revoked(replicas: Replicas) -> None:
    one, two = await replicas.open_with_tokens(grants=[Grant.arguments()])
    mine, other = bearer(token(jti="j-1")), bearer(token(jti="j-2"))
    await give(one, mine, scope="arguments")
    assert await state(two, other, "used") == "done"
    replicas.revoked.write_text("j-1\n")
    assert await state(two, other, "after") == "pending"
    assert (await two.get(mine, "/me")).status == 401


async def test_what_was_said_with_a_token_that_was_revoked_since(replicas: Replicas) -> None:
    """By an approver, and by the deputy of one."""
    one, two = await replicas.open_with_tokens(approvers=["ben", "cat", "ann"], needs=2)
    ada, ben, cat, ann, dan = (bearer(token(sub=who, jti=f"{who}-1")) for who in ("ada", "ben", "cat", "ann", "dan"))
    by_ben, by_dan = await one.ask(ada), await one.ask(ada, thread="t2")
    assert (await name(one, ann)).status == 201
    for who, approval_id in ((ben, by_ben), (dan, by_dan)):
        assert (await one.decide(who, approval_id)).json()["state"] == "pending"
    replicas.revoked.write_text("ben-1\nann-1\n")
    for approval_id in (by_ben, by_dan):
        assert (await two.decide(cat, approval_id)).status == 403
    assert one.ran == two.ran == []
    assert (await two.decide(cat, by_ben, approved=False)).json()["state"] == "rejected"


async def test_a_freeze(replicas: Replicas) -> None:
    one, two = await replicas.open(EVERYBODY, **ONE)
    await give(one, "ada", by="ben", scope="arguments")
    assert await state(two, "ada", "used") == "done"
    await one.app.state.engine.store.freeze(Freeze(tool="refund"))
    assert await state(two, "ada", "after") == "pending"
    (waiting,) = [each["id"] for each in (await two.get("ada", "/approvals")).json()["approvals"]]
    assert (await two.decide("cat", waiting)).status == 403
    assert len(one.ran) + len(two.ran) == 2


# --- what ends between the look before a claim and the claim --------------------------------------------------------


async def test_a_token_that_is_revoked_while_the_rule_is_asked(alone: Replicas) -> None:
    """Its grant lets nothing go, its deputy decides nothing, nor does who has it."""
    revokes: list[str] = []

    def rule(arguments: Any, ctx: Any) -> Ruling:
        if ctx.approver is not None and revokes:
            alone.revoked.write_text("\n".join(revokes))
        return Ruling.ask()

    one, two = await alone.open_with_tokens(when=rule, approvers=["ben"], grants=[Grant.arguments()])
    ada, ben, dan, again = (
        bearer(token(sub=who, jti=jti)) for who, jti in (("ada", "a"), ("ben", "b"), ("dan", "d"), ("ben", "b-2"))
    )
    await give(one, ada, by=ben, scope="arguments")
    assert (await name(one, ben)).status == 201
    revokes.append("b")
    assert await state(two, ada, "by the grant") == "pending"
    (waiting,) = [each["id"] for each in (await two.get(ada, "/approvals")).json()["approvals"]]
    alone.revoked.write_text("")
    assert (await two.decide(dan, waiting)).status == 403, "the deputy"
    alone.revoked.write_text("")
    assert (await two.decide(ben, waiting)).status == 403, "the approver"
    assert len(one.ran) + len(two.ran) == 1
    assert (await two.decide(again, waiting)).json()["state"] == "done", "with another token"


async def test_a_deputy_who_is_withdrawn_while_they_say_no(alone: Replicas) -> None:
    one, two = await alone.open(approvers=["ben"])
    approval_id = await one.ask("ada")
    deputy_id = (await name(one, "ben")).json()["id"]
    assert await may_decide(two, "dan", approval_id)
    store = two.app.state.engine.store
    move = store.move

    async def withdrawn(*given: Any, **more: Any) -> Any:
        assert (await end_deputy(one, "ben", deputy_id)).status == 200
        return await move(*given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "move", withdrawn)
        answer = await two.decide("dan", approval_id, approved=False)
    assert answer.status == 403, answer.body
    assert (await two.get("ada", f"/approvals/{approval_id}")).json()["state"] == "pending"


@pytest.mark.parametrize("approved", [True, False])
async def test_an_answer_in_a_run_whose_right_ends_is_refused_and_asked_about_again(
    approved: bool, alone: Replicas
) -> None:
    """Tim and tom work on the threads of one team; tim's token is revoked when his answer is looked at already."""
    one, two = await alone.open_with_tokens(approvers=["tim", "tom"])
    for desk in (one, two):
        desk.app.state.guard.auth._rules = msgspec.structs.replace(desk.app.state.guard.auth._rules, acts_for="team")
    tom, tim = (bearer(token(sub=who, jti=who, team="desk")) for who in ("tom", "tim"))
    approval_id = await one.ask(tom)
    store = two.app.state.engine.store
    move = store.move

    async def revoked(*given: Any, **more: Any) -> Any:
        alone.revoked.write_text("tim\n")
        return await move(*given, **more)

    answer = [{"interruptId": approval_id, "status": "resolved", "payload": {"approved": approved}}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "move", revoked)
        events = await two.say(tim, "", resume=answer, messages=[], runId="second")
    (refused,) = [event["value"] for event in events if event.get("name") == "agui-gate:answer_refused"]
    assert refused["message"].startswith("The token by which tim decided is no longer valid.")
    assert events[-1]["outcome"]["interrupts"][0]["id"] == approval_id
    assert one.ran == two.ran == []


@pytest.mark.parametrize(("seconds", "status"), [(0.99, 200), (1.0, 401)])
@pytest.mark.parametrize("now", [None, Principal("ben", "acme", ("approver",))], ids=["nobody", "other rights"])
async def test_who_decides_is_asked_again_once_a_second_has_passed(
    seconds: float, status: int, now: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So what a decision waits for, its thread or a function, gives nobody more than that second."""
    clock = [0.0]
    monkeypatch.setattr(auth, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    async def is_bens(principal: Principal) -> bool:
        if desk.people["ben"] is ben:
            desk.people["ben"], clock[0] = now, clock[0] + seconds
        return principal == "ben"

    ben = Principal("ben", "acme", FINANCE)
    async with Desk({"ada": EVERYBODY["ada"], "ben": ben}, approvers=is_bens).open() as desk:
        approval_id = await desk.ask("ada")
        clock[0] += 3600
        assert (await desk.decide("ben", approval_id)).status == status
        assert len(desk.ran) == (status == 200)
        state_now = (await desk.get("ada", f"/approvals/{approval_id}")).json()["state"]
        assert state_now == ("done" if status == 200 else "pending")


@pytest.mark.parametrize(("seconds", "status"), [(304, 200), (306, 401)])
async def test_a_role_that_the_issuer_took_away_counts_until_the_token_ends(
    seconds: int, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token ends after 300 seconds, and the leeway is 5. Only the issuer knows before that."""
    begun = int(time.time())
    write(tmp_path / "keys.json", *every_key())
    ada, ben = (bearer(token(sub=who, iat=begun, exp=begun + 300, realm=REALM)) for who in ("ada", "ben"))
    desk = JwtDesk(tmp_path / "keys.json")
    desk.gate = Gate(approvers="finance")
    async with desk.open():
        approval_id = await desk.ask(ada)
        late = SimpleNamespace(now=lambda tz: datetime.fromtimestamp(begun + seconds, tz))
        monkeypatch.setattr(jwt.api_jwt, "datetime", late)
        assert (await desk.decide(ben, approval_id)).status == status
