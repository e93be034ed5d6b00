"""A call is handed to a colleague: they are told and shown as waited for, and have no right by that."""

from types import SimpleNamespace
from typing import Any

import pytest

from agui_gate import Principal
from agui_gate.core.approvals import Approval
from agui_gate.core.principals import Caller
from agui_gate.errors import InvalidRequest
from agui_gate.extras.people.hand_to import hand_to
from agui_gate.stores.capabilities import FullStore
from tests.people.desk import Desk
from tests.people.test_gates import told
from tests.product.inprocess import Answer
from tests.stores.support import gated

pytestmark = pytest.mark.anyio

FINANCE = ("approver", "finance")
PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "ben": Principal("ben", "acme", FINANCE),
    "cat": Principal("cat", "acme", FINANCE),
    "mia": Principal("mia", "acme", ("approver",)),
    "team": Principal("tim", "acme", acts_for="desk"),
    "team's other": Principal("tom", "acme", acts_for="desk"),
    "plain": "ben",
}


async def hand(desk: Desk, who: str, approval_id: str, to: Any) -> Answer:
    return await desk.post(who, f"/approvals/{approval_id}/hand-to", {"to": to})


async def test_a_colleague_is_named(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance").open(store) as desk:
        approval_id = await desk.ask("ada")
        handed = {"to": "cat", "by": "ben"}
        for _ in range(2):  # the second time, it is so already
            answer = await hand(desk, "ben", approval_id, "cat")
            assert (answer.status, answer.json()) == (200, {"id": approval_id, "state": "pending", "handed_to": handed})
        for who in ("ada", "cat"):
            assert (await desk.get(who, f"/approvals/{approval_id}")).json()["handed_to"] == handed
        told_others = [n.body for n in await store.take_notices("me", limit=100) if n.kind == "approval_notice"]
        assert told_others == ['{"by":"ben","state":"handed_to","to":["cat"]}']
        entries = (await desk.get("ada", "/audit", f"approval={approval_id}&decision=handed_to")).json()["entries"]
        assert [(entry["text"], entry["to"]) for entry in entries] == [("ben handed it to cat.", ["cat"])]
        assert told(await desk.decide("cat", approval_id)) == (200, "done")
        assert told(await hand(desk, "ben", approval_id, "dan")) == (422, "approval_refused")


async def test_the_trail_says_which_way() -> None:
    async with Desk(PEOPLE, approvers="finance").open() as desk:
        path = f"/approvals/{await desk.ask('ada')}/hand-to"
        for body, status in [({"to": "cat", "way": "shell"}, 200), ({"to": "ben2", "way": "card"}, 422)]:
            assert (await desk.post("ben", path, body)).status == status
        (event,) = [event for event in await desk.trail() if event.kind == "handed_to"]
        assert (event.by, event.way) == ("ben", "shell")


async def test_who_waits_here_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Desk(PEOPLE, approvers="finance").open() as desk:
        approval_id, heard = await desk.ask("ada"), list[tuple[str, ...]]()
        monkeypatch.setattr(desk.app.state.engine, "written", lambda *about: heard.append(about))
        assert (await hand(desk, "ben", approval_id, "cat")).status == 200
        assert heard == [("acme\x1fada", "t", "approvals")]


async def test_a_store_that_tells_nobody_hands_nothing_on() -> None:
    async def approval(owner: str, approval_id: str) -> Approval:
        return gated(approval_id)

    engine: Any = SimpleNamespace(store=SimpleNamespace(approval=approval), members={})
    with pytest.raises(InvalidRequest, match="can't hand calls"):
        await hand_to(engine, "alice", "a1", Caller(Principal("alice")), "bob")


async def test_it_gives_no_right() -> None:
    async with Desk(PEOPLE, approvers="finance").open() as desk:
        approval_id = await desk.ask("ada")
        assert (await hand(desk, "ben", approval_id, "mia")).status == 200, "what roles mia has isn't known here"
        assert (await desk.decide("mia", approval_id)).status == 404
        assert told(await desk.decide("ben", approval_id)) == (200, "done"), "ben still may"


@pytest.mark.parametrize(
    ("who", "gate", "to", "status", "why"),
    [
        ("ben", {"approvers": ["ben", "cat"]}, "mia", 403, "mia can't decide this: it waits for ben, cat."),
        ("ben", {"approvers": "finance"}, "ada", 403, "Who asked for this can't approve it. Hand it to somebody else."),
        ("ben", {"approvers": "finance"}, "ben", 422, "Nobody hands a call to themselves. Name a colleague."),
        ("mia", {"approvers": "finance"}, "cat", 404, "There is no such approval."),
        ("plain", {"approvers": "finance"}, "cat", 404, "There is no such approval."),
        ("ben", {"approvers": "finance"}, "", 422, "'to' is the id of a principal"),
        ("ben", {"approvers": "finance"}, 7, 422, "The body was not understood"),
    ],
)
async def test_what_is_refused(who: str, gate: dict[str, Any], to: Any, status: int, why: str) -> None:
    async with Desk(PEOPLE, **gate).open() as desk:
        approval_id = await desk.ask("ada")
        answer = await hand(desk, who, approval_id, to)
        assert answer.status == status
        assert answer.json()["error"]["message"].startswith(why)
        assert "handed_to" not in [event.kind for event in await desk.trail()]


async def test_a_call_of_no_named_people_goes_within_its_owner() -> None:
    async with Desk(PEOPLE, self_approval=True).open() as desk:
        approval_id = await desk.ask("team")
        assert (await hand(desk, "team", approval_id, "tom")).status == 200
        assert (await desk.get("ben", f"/approvals/{approval_id}")).status == 404
        assert (await desk.get("team's other", f"/approvals/{approval_id}")).json()["handed_to"]["to"] == "tom"
        assert told(await desk.decide("team's other", approval_id)) == (200, "done")


async def test_the_deputy_of_a_named_colleague_is_one() -> None:
    people = PEOPLE | {"dan": Principal("dan", "acme", ("approver",))}
    async with Desk(people, approvers=["ben", "cat"]).open() as desk:
        approval_id = await desk.ask("ada")
        assert (await hand(desk, "ben", approval_id, "dan")).status == 403
        assert (await desk.post("cat", "/deputies", {"deputy": "dan", "until": _soon(desk)})).status == 201
        assert (await hand(desk, "ben", approval_id, "dan")).status == 200
        assert told(await desk.decide("dan", approval_id)) == (200, "done")


def _soon(desk: Desk) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(desk.app.state.engine.store.now() / 1000 + 3600, UTC).isoformat()
