"""Emergencies: one person decides in the place of all who have to, with a reason, and everybody is told."""

import asyncio
from typing import Any

import msgspec
import pytest

from agui_gate import Gate, Principal
from agui_gate.core.freezes import Freeze
from agui_gate.stores.capabilities import FullStore
from tests.people.desk import Desk, ids
from tests.people.test_gates import told
from tests.product.kit import TIMEOUT

pytestmark = pytest.mark.anyio

FINANCE = ("approver", "finance")
PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme", ("user", "break-glass")),
    "ada's other": Principal("ada2", "acme", ("break-glass",), claims={"person": "ada"}),
    "ben": Principal("ben", "acme", FINANCE),
    "zoe": Principal("zoe", "acme", ("break-glass",), claims={"acr": "mfa"}),
    "lea": Principal("lea", "acme", ("break-glass", *FINANCE)),
    "mia": Principal("mia", "acme", ("user",)),
    "zoe of others": Principal("zoe", "other", ("break-glass",)),
}
WHY: dict[str, Any] = {"break_glass": True, "reason": "The till burns."}


async def test_one_decides_in_the_place_of_all(store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[str, str, str]] = []
    came, take = asyncio.Event(), store.take_notices

    async def take_notices(*args: Any, **more: Any) -> Any:
        """The server's own courier takes notices, too: whoever does, they are seen."""
        found = await take(*args, **more)
        taken.extend((notice.about, notice.kind, notice.body) for notice in found)
        came.set()
        return found

    monkeypatch.setattr(store, "take_notices", take_notices)
    async with Desk(PEOPLE, approvers="finance", needs=2).open(store) as desk:
        approval_id = await desk.ask("ada")
        assert ids(await desk.get("zoe", "/approvals")) == []
        assert ids(await desk.get("zoe", "/approvals", "break_glass=true")) == [approval_id]
        card = (await desk.get("zoe", f"/approvals/{approval_id}", "view=card")).json()
        assert card["you"]["may"] == ["break_glass"]
        assert told(await desk.decide("zoe", approval_id)) == (403, "not_allowed"), "not without saying so"
        answer = await desk.decide("zoe", approval_id, break_glass=True)
        assert (told(answer), answer.json()["error"]["message"]) == (
            (403, "not_allowed"),
            "Breaking the glass needs a reason.",
        )
        assert told(await desk.decide("zoe", approval_id, **WHY)) == (200, "done")
        assert len(desk.ran) == 1
        record = (await desk.get("ada", f"/approvals/{approval_id}")).json()
        assert record["decision"] | {"at": ""} == {
            "approved": True,
            "by": "zoe",
            "at": "",
            "way": "http",
            "break_glass": True,
            "reason": "The till burns.",
        }
        kinds = [event.kind for event in await desk.trail()]
        assert kinds[-4:] == ["break_glass", "approved", "claimed", "done"]
        entries = (await desk.get("ada", "/audit", f"approval={approval_id}&decision=break_glass")).json()["entries"]
        assert [entry["text"] for entry in entries] == [
            "zoe, break-glass, broke the glass over HTTP from 127.0.0.1, in the place of those who have to agree: "
            "“The till burns.”"
        ]
        await store.take_notices("me", limit=100)
        async with asyncio.timeout(TIMEOUT):
            while (approval_id, "approval_notice", '{"state":"break_glass"}') not in taken:
                await came.wait()
                came.clear()


async def test_a_no_can_be_one_too() -> None:
    async with Desk(PEOPLE, approvers="finance").open() as desk:
        approval_id = await desk.ask("ada")
        assert told(await desk.decide("zoe", approval_id, approved=False)) == (403, "not_allowed")
        assert told(await desk.decide("zoe", approval_id, approved=False, **WHY)) == (200, "rejected")
        assert [event.kind for event in await desk.trail()][-2:] == ["break_glass", "rejected"]


@pytest.mark.parametrize(
    ("who", "gate", "answer", "status", "why"),
    [
        ("ada", {}, WHY, 403, "You asked for this, so you can't decide it in an emergency. Somebody else has to."),
        (
            "ada's other",
            {"self_approval": True},
            WHY,
            403,
            "You asked for this, so you can't decide it in an emergency. Somebody else has to.",
        ),
        ("ben", {}, WHY, 403, "Breaking the glass needs the role break-glass."),
        ("lea", {"break_glass": False}, WHY, 403, "The gate of this call lets nobody break the glass."),
        ("zoe", {"break_glass": False}, WHY, 404, "There is no such approval."),
        ("zoe", {}, WHY | {"reason": " "}, 403, "Breaking the glass needs a reason."),
        ("zoe", {}, WHY | {"reason": "\u200b\u0000"}, 403, "Breaking the glass needs a reason."),
        ("zoe", {}, WHY | {"edited_arguments": {"order_id": "A1", "amount": 2}}, 403, "In an emergency a call is"),
        ("zoe", {"acr": "strong"}, WHY, 403, "Log in more strongly: this needs strong (acr)."),
        ("zoe", {}, WHY | {"break_glass": "yes"}, 422, "Not a decision: 'break_glass' must be true or false."),
        ("lea", {"break_glass": False}, WHY | {"approved": False}, 403, "The gate of this call lets nobody break"),
        ("zoe", {}, {"break_glass": True, "approved": False}, 403, "Breaking the glass needs a reason."),
        ("mia", {}, WHY, 404, "There is no such approval."),
        ("zoe of others", {}, WHY, 404, "There is no such approval."),
    ],
)
async def test_what_is_refused(who: str, gate: dict[str, Any], answer: dict[str, Any], status: int, why: str) -> None:
    async with Desk(PEOPLE, **{"approvers": "finance", "editable": ["amount"]} | gate).open() as desk:
        approval_id = await desk.ask("ada")
        refused = await desk.decide(who, approval_id, **answer)
        assert refused.status == status
        assert refused.json()["error"]["message"].startswith(why)
        assert desk.ran == []
        assert "break_glass" not in [event.kind for event in await desk.trail()]


async def test_the_gate_that_is_there_now_counts_too() -> None:
    async with Desk(PEOPLE, approvers="finance").open() as desk:
        approval_id = await desk.ask("ada")
        assert desk.gate.people is not None
        object.__setattr__(desk.gate, "people", msgspec.structs.replace(desk.gate.people, break_glass=False))
        assert told(await desk.decide("zoe", approval_id, **WHY)) == (403, "not_allowed")


async def test_a_freeze_holds_it_and_a_rule_too() -> None:
    from agui_gate import Ruling

    def never(arguments: Any, ctx: Any) -> Any:
        return Ruling.ask() if ctx.approver is None else Ruling.deny("Closed.")

    async with Desk(PEOPLE, approvers="finance", when=never).open() as desk:
        approval_id = await desk.ask("ada")
        assert told(await desk.decide("zoe", approval_id, **WHY)) == (422, "approval_refused")
    async with Desk(PEOPLE, approvers="finance").open() as desk:
        approval_id = await desk.ask("ada")
        await desk.app.state.engine.store.freeze(Freeze(tool="refund"))
        assert told(await desk.decide("zoe", approval_id, **WHY)) == (403, "frozen")
        assert desk.ran == []


async def test_there_is_no_glass_where_nobody_in_particular_is_asked() -> None:
    async with Desk(PEOPLE).open() as desk:
        approval_id = await desk.ask("ada")
        answer = await desk.decide("ada", approval_id, **WHY)
        assert told(answer) == (403, "not_allowed")
        assert told(await desk.decide("ada", approval_id)) == (200, "done")


@pytest.mark.parametrize("gate", [{"needs": 2}, {"acr": "mfa"}], ids=lambda gate: next(iter(gate)))
async def test_the_role_is_no_yes_to_calls_of_gates_that_name_nobody(gate: dict[str, Any]) -> None:
    """They are for those who share the thread; who may break the glass finds them, and can do that alone."""
    async with Desk(PEOPLE, **gate).open() as desk:
        approval_id = await desk.ask("ada")
        card = (await desk.get("zoe", f"/approvals/{approval_id}", "view=card")).json()
        assert (card["you"]["may"], card["you"]["why"]) == (
            ["break_glass"],
            "You can't approve this: it waits for somebody else.",
        )
        for approved in (True, False):
            assert told(await desk.decide("zoe", approval_id, approved)) == (403, "not_allowed")
        handed = await desk.post("lea", f"/approvals/{approval_id}/hand-to", {"to": "ben"})
        assert told(handed) == (403, "not_allowed")
        assert told(await desk.decide("zoe", approval_id, **WHY)) == (200, "done")


async def test_a_call_that_was_handed_on_has_no_glass_by_that() -> None:
    people = PEOPLE | {
        "tim": Principal("tim", "acme", acts_for="desk"),
        "tom": Principal("tom", "acme", acts_for="desk"),
    }
    async with Desk(people).open() as desk:
        approval_id = await desk.ask("tim")
        assert (await desk.post("tim", f"/approvals/{approval_id}/hand-to", {"to": "tom"})).status == 200
        assert ids(await desk.get("zoe", "/approvals", "break_glass=true")) == []
        for answer in ({}, WHY):
            assert (await desk.decide("zoe", approval_id, **answer)).status == 404
        assert desk.ran == []


@pytest.mark.parametrize(("value", "status"), [(None, 200), (False, 200), (0, 422), ("", 422), ([], 422), (1, 422)])
async def test_a_member_that_is_no_boolean_decides_nothing(value: Any, status: int) -> None:
    """Null is what isn't there. A call was claimed with what can't be read again, and never ran."""
    async with Desk(PEOPLE).open() as desk:
        approval_id = await desk.ask("ada")
        assert (await desk.decide("ada", approval_id, break_glass=value)).status == status
        assert len(desk.ran) == (status == 200)
        record = (await desk.get("ada", f"/approvals/{approval_id}")).json()
        assert record["state"] == ("done" if status == 200 else "pending")


async def test_who_may_list_them() -> None:
    async with Desk(PEOPLE, approvers="finance").open() as desk:
        assert told(await desk.get("ben", "/approvals", "break_glass=true")) == (403, "forbidden")
        assert told(await desk.get("zoe", "/approvals", "break_glass=1")) == (422, "invalid_request")


def test_gates_allow_it_unless_they_say_no() -> None:
    gates = [Gate(approvers="finance"), Gate(approvers="finance", break_glass=False)]
    assert [gate.people.break_glass for gate in gates if gate.people] == [True, False]


async def test_who_edited_a_call_does_not_approve_it_alone(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance", needs=2, editable=["amount"]).open(store) as desk:
        for thread, who, state in (("t", "zoe", "done"), ("u", "lea", "rejected")):
            approval_id = await desk.ask("ada", thread=thread)
            edited = {"order_id": "A1", "amount": 9}
            assert told(await desk.decide("lea", approval_id, edited_arguments=edited)) == (200, "pending")
            answer = await desk.decide("lea", approval_id, **WHY)
            assert (told(answer), answer.json()["error"]["message"]) == (
                (403, "not_allowed"),
                "You edited this, so you can't approve it in an emergency. Somebody else has to.",
            )
            assert told(await desk.decide(who, approval_id, approved=state == "done", **WHY)) == (200, state)
        assert desk.amounts == [9]
