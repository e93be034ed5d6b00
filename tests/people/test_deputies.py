"""Deputies: who is away names who decides in their place, and what that doesn't give them."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from agui_gate import Grant, Principal, create_app
from agui_gate.cli.program import program
from agui_gate.core import deputies
from agui_gate.errors import InvalidRequest
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate_adapters.testkit.agui import serving
from tests.people.desk import Desk, Json, ids
from tests.people.test_gates import told
from tests.product.inprocess import Answer, request, started
from tests.stores.support import Clock

pytestmark = pytest.mark.anyio

FINANCE = ("approver", "finance")
PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "ann": Principal("ann", "acme", FINANCE, claims={"person": "p-ann"}),
    "ann's other": Principal("ann2", "acme", ("approver",), claims={"person": "p-ann"}),
    "ben": Principal("ben", "acme", FINANCE),
    "dan": Principal("dan", "acme", ("approver",), claims={"person": "p-dan"}),
    "eve": Principal("eve", "acme", ("approver",)),
    "dan of others": Principal("dan", "other", ("approver",)),
    "ops": Principal("ops", "acme", ("operator",)),
    "plain": "dan",
}


def at(clock: Callable[[], int], **later: float) -> str:
    """A time, so much later than now by the store's clock."""
    return (datetime.fromtimestamp(clock() / 1000, UTC) + timedelta(**later)).isoformat()


async def name(desk: Desk, clock: Clock, who: str = "ann", deputy: str = "dan", **more: Any) -> Answer:
    """`POST /deputies`, for a day."""
    return await desk.post(who, "/deputies", {"deputy": deputy, "until": at(clock, days=1), **more})


async def remove(desk: Desk, who: str, deputy_id: str) -> Answer:
    return await request(desk.app, "DELETE", f"/deputies/{deputy_id}", headers={"authorization": who})


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_a_deputy_decides_in_the_place_of_who_is_away(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance").open(store) as desk:
        approval_id = await desk.ask("ada")
        assert ids(await desk.get("dan", "/approvals")) == []
        assert (await desk.decide("dan", approval_id)).status == 404
        named = await desk.post("ann", "/deputies", {"deputy": "dan", "until": at(store.now, days=1)})
        assert named.status == 201, named.body
        deputy = named.json()
        assert (deputy["absent"], deputy["deputy"], deputy["roles"]) == ("ann", "dan", list(FINANCE))
        assert ids(await desk.get("dan", "/approvals")) == [approval_id]
        card = (await desk.get("dan", f"/approvals/{approval_id}", "view=card")).json()
        assert card["you"] == {
            "may": ["approve", "reject"],
            "agreed": False,
            "why": None,
            "deputy_of": {"id": "ann", "until": deputy["until"]},
        }
        assert (await desk.get("dan of others", f"/approvals/{approval_id}")).status == 404
        assert told(await desk.decide("dan", approval_id)) == (200, "done")
        record = (await desk.get("ada", f"/approvals/{approval_id}")).json()
        assert (record["decision"]["by"], record["decision"]["deputy_of"]) == ("dan", "ann")
        said = [event for event in await desk.trail() if event.kind in ("deputy_named", "approved")]
        assert [(event.kind, event.by) for event in said] == [("deputy_named", "ann"), ("approved", "dan")]
        assert msgspec.json.decode(said[1].body) | {"arguments": ""} == {
            "absent": "ann",
            "address": "127.0.0.1",
            "arguments": "",
            "deputy": deputy["id"],
            "person": "p-dan",
        }
        (given,) = (await desk.get("ops", "/audit", "decision=deputy_named")).json()["entries"]
        assert given["text"].startswith("p-ann (as ann), approver and finance, named dan as deputy, from ")
        shown = (await desk.get("ada", "/audit", f"approval={approval_id}&decision=approved")).json()["entries"]
        assert (shown[0]["absent"], shown[0]["roles"]) == ("ann", list(FINANCE))
        assert (
            shown[0]["text"]
            == "p-dan (as dan), as deputy of ann, approver and finance, approved it over HTTP from 127.0.0.1."
        )
        assert len(desk.ran) == 1


async def test_only_from_then_until_then(clock: Clock) -> None:
    async with Desk(PEOPLE, approvers="finance").open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        assert (await name(desk, clock, since=at(clock, hours=1))).status == 201
        assert (await desk.decide("dan", approval_id)).status == 404
        clock.advance(3_600_000)
        assert ids(await desk.get("dan", "/approvals")) == [approval_id]
        clock.advance(23 * 3_600_000)
        assert ids(await desk.get("dan", "/approvals")) == []
        assert (await desk.decide("dan", approval_id)).status == 404
        assert (await desk.get("ann", "/deputies")).json() == {"deputies": []}
        assert desk.ran == []


async def test_a_yes_of_a_deputy_counts_no_more_when_their_time_is_over(clock: Clock) -> None:
    async with Desk(PEOPLE, approvers="finance", needs=2).open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        deputy_id = (await name(desk, clock)).json()["id"]
        assert told(await desk.decide("dan", approval_id)) == (200, "pending")
        assert (await remove(desk, "ann", deputy_id)).status == 200
        answer = await desk.decide("ben", approval_id)
        assert told(answer) == (403, "not_allowed")
        assert "Somebody agreed who may no longer do so: dan." in answer.json()["error"]["message"]
        assert desk.ran == []


@pytest.mark.parametrize("needs", [1, 2])
async def test_who_is_removed_while_they_say_yes_has_not_said_it(needs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused at once. Saved, it would count for nobody, and the call could only be rejected."""
    clock = Clock()
    store = MemoryStore(clock=clock)
    async with Desk(PEOPLE, approvers="finance", needs=needs).open(store) as desk:
        approval_id = await desk.ask("ada")
        deputy_id = (await name(desk, clock)).json()["id"]
        move = MemoryStore.move

        async def remove_and_move(self: MemoryStore, *args: Any, terms: Any = None, **more: Any) -> Any:
            await self.deputies().remove(deputy_id, "ann")
            return await move(self, *args, terms=terms, **more)

        with monkeypatch.context() as patched:
            patched.setattr(MemoryStore, "move", remove_and_move)
            answer = await desk.decide("dan", approval_id)
        assert told(answer) == (403, "not_allowed")
        assert answer.json()["error"]["message"] == "A deputy agreed whose time is over. Reject it and ask again."
        assert (await desk.get("ada", f"/approvals/{approval_id}")).json().get("approvals", []) == []
        assert desk.ran == []
        states = [told(await desk.decide(who, approval_id)) for who in ("ann", "ben")[:needs]]
        assert states == [(200, "pending"), (200, "done")][-needs:]


async def test_one_right_and_one_person_count_once(clock: Clock) -> None:
    async with Desk(PEOPLE, approvers="finance", needs=2).open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        for who in ("ann", "ben"):
            assert (await name(desk, clock, who)).status == 201
        assert told(await desk.decide("dan", approval_id)) == (200, "pending")
        assert told(await desk.decide("dan", approval_id)) == (200, "pending"), "for the other one, and one person"
        said = (await desk.get("ada", f"/approvals/{approval_id}")).json()["approvals"]
        assert [(one["by"], one["deputy_of"]) for one in said] == [("dan", "ann")]
        assert told(await desk.decide("ann", approval_id)) == (200, "pending"), "her right was used"
        assert desk.ran == []
        assert told(await desk.decide("ben", approval_id)) == (200, "done")


async def test_a_deputy_takes_the_right_that_was_not_used_yet(clock: Clock) -> None:
    async with Desk(PEOPLE, approvers="finance", needs=2).open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        for who in ("ann", "ben"):
            await name(desk, clock, who)
        assert told(await desk.decide("ann", approval_id)) == (200, "pending")
        assert told(await desk.decide("dan", approval_id)) == (200, "done")
        record = (await desk.get("ada", f"/approvals/{approval_id}")).json()
        assert [one.get("deputy_of") for one in record["approvals"]] == [None, "ben"]


async def test_neither_for_oneself_nor_for_who_asked(clock: Clock) -> None:
    people = PEOPLE | {"dan": Principal("dan", "acme", ("user",))}
    async with Desk(people, approvers="finance", self_approval=True).open(MemoryStore(clock=clock)) as desk:
        await name(desk, clock)
        await name(desk, clock, deputy="ann2")
        own = await desk.ask("dan")
        assert told(await desk.decide("dan", own)) == (403, "not_allowed"), "who asked is nobody's deputy"
        other = await desk.ask("ada", thread="t2")
        assert (await desk.decide("ann's other", other)).status == 404, "another account of the same person"
        assert desk.ran == []


async def test_the_deputy_of_who_asked_may_not(clock: Clock) -> None:
    people = PEOPLE | {"ann": Principal("ann", "acme", ("user", "finance"))}
    async with Desk(people, approvers="finance").open(MemoryStore(clock=clock)) as desk:
        await name(desk, clock)
        approval_id = await desk.ask("ann")
        assert told(await desk.decide("dan", approval_id)) == (403, "not_allowed")
        assert desk.ran == []


async def test_a_deputys_deputy_is_none(clock: Clock) -> None:
    async with Desk(PEOPLE, approvers="finance").open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        assert (await name(desk, clock, "ann", "dan")).status == 201
        assert (await name(desk, clock, "dan", "eve")).status == 201
        assert (await desk.decide("eve", approval_id)).status == 404
        answer = await name(desk, clock, "eve", "ann")
        assert told(answer) == (422, "invalid_request")
        assert answer.json()["error"]["message"] == (
            "This would be a circle: in that time eve is to decide in the place of ann."
        )
        later = {"since": at(clock, days=2), "until": at(clock, days=3)}
        assert (await name(desk, clock, "eve", "ann", **later)).status == 201, "at another time it is none"


async def test_a_right_that_the_gate_took_away_is_gone(clock: Clock) -> None:
    async with Desk(PEOPLE, approvers=["ann", "ben"]).open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        await name(desk, clock)
        assert ids(await desk.get("dan", "/approvals")) == [approval_id]
        assert desk.gate.people is not None
        object.__setattr__(desk.gate, "people", msgspec.structs.replace(desk.gate.people, approvers=("ben",)))
        assert (await desk.decide("dan", approval_id)).status == 404
        assert desk.ran == []


async def test_a_function_is_asked_about_who_is_away(clock: Clock) -> None:
    asked: list[tuple[str, tuple[str, ...], str]] = []

    def approvers(principal: Principal, asker: Principal) -> bool:
        asked.append((principal.id, principal.roles, principal.person))
        return principal.id == "ann"

    async with Desk(PEOPLE, approvers=approvers).open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        await name(desk, clock)
        assert told(await desk.decide("dan", approval_id)) == (200, "done")
    assert asked[-1] == ("ann", FINANCE, "p-ann")


async def test_a_deputy_grants_nothing(clock: Clock) -> None:
    async with Desk(PEOPLE, approvers="finance", grants=[Grant.thread()]).open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        await name(desk, clock)
        answer = await desk.decide("dan", approval_id, grant={"scope": "thread"})
        assert told(answer) == (422, "approval_refused")
        assert told(await desk.decide("dan", approval_id)) == (200, "done"), "a gate with grants counts its calls"


async def test_who_sees_and_removes_them(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance").open(store) as desk:
        body = {"deputy": "dan", "until": at(store.now, days=1)}
        deputy_id = (await desk.post("ann", "/deputies", body)).json()["id"]
        for who, sees in {"ann": True, "dan": True, "ops": True, "eve": False, "dan of others": False}.items():
            found: Json = (await desk.get(who, "/deputies")).json()
            assert [one["id"] for one in found["deputies"]] == ([deputy_id] if sees else []), who
        for who in ("eve", "dan of others"):
            assert (await remove(desk, who, deputy_id)).body == (await remove(desk, who, "dep_none")).body
        assert (await remove(desk, "dan", deputy_id)).json() == {"id": deputy_id, "removed": True}
        assert (await remove(desk, "ann", deputy_id)).status == 404
        assert [(one.kind, one.by) for one in await desk.trail()] == [
            ("deputy_named", "ann"),
            ("deputy_removed", "dan"),
        ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"deputy": "ann", "until": "2100-01-01"}, "Nobody is their own deputy. Name somebody else."),
        ({"deputy": "p-ann", "until": "2100-01-01"}, "Nobody is their own deputy. Name somebody else."),
        ({"deputy": "dan", "until": "2001-01-01"}, "'until' must be later than 'since', and in the future."),
        ({"deputy": "dan", "until": "2100-01-01"}, "'until' is at most 92 days from now."),
        ({"deputy": "dan", "until": "tomorrow"}, "'until' must be a time, such as 2026-12-01T08:00:00Z."),
        ({"deputy": "d\x1fn", "until": "2100-01-01"}, "'deputy' is the id of a principal: 1 to 500 characters, and no"),
        ({"deputy": "dan"}, "The body was not understood: Object missing required field `until`."),
        ({"deputy": "dan", "until": "2100-01-01", "roles": ["admin"]}, "The body was not understood: Object contains"),
        ({"deputy": "dan", "until": "2100-01-01", "x" * 9_000: 1}, "The body was not understood: Object contains"),
        (["dan"], "The body was not understood: Expected `object`, got `array`."),
    ],
)
async def test_what_can_not_be_named(body: Any, why: str) -> None:
    async with Desk(PEOPLE).open() as desk:
        answer = await desk.post("ann", "/deputies", body)
        assert told(answer) == (422, "invalid_request")
        assert answer.json()["error"]["message"].startswith(why)
        assert len(answer.body) < 400
        assert await desk.trail() == []


async def test_a_deputy_has_nothing_of_the_threads_of_who_is_away(clock: Clock) -> None:
    """Not the no that every principal of the owner has, and not the yes where a gate names nobody."""
    people = PEOPLE | {"tom": Principal("tom", "acme", acts_for="ada")}
    gate: dict[str, Any] = {"approvers": ["eve"], "decisions": ("approve", "edit")}
    async with Desk(people, **gate).open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        await name(desk, clock, "tom", "eve")
        assert told(await desk.decide("eve", approval_id, approved=False)) == (403, "not_allowed")
        assert told(await desk.decide("eve", approval_id)) == (200, "done")
    async with Desk(people, needs=2).open(MemoryStore(clock=clock)) as desk:
        approval_id = await desk.ask("ada")
        await name(desk, clock, "tom", "eve")
        assert (await desk.decide("eve", approval_id)).status == 404


async def test_who_can_not_name_any() -> None:
    async with Desk(PEOPLE).open() as desk:
        for who in ("plain", "ops"):
            assert told(await desk.post(who, "/deputies", {"deputy": "dan", "until": "2100-01-01"})) == (
                403,
                "forbidden",
            )
        assert (await desk.get("plain", "/deputies")).json() == {"deputies": []}


def test_a_long_way_round_is_a_circle_too() -> None:
    def one(absent: str, deputy: str, since: int = 0, until: int = 10) -> deputies.Deputy:
        return deputies.Deputy(id="", tenant="", absent=absent, deputy=deputy, since=since, until=until)

    known = [one("a", "b"), one("b", "c"), one("c", "d", 0, 4)]
    deputies.check_named(one("d", "a", 5), known, 0)
    with pytest.raises(InvalidRequest, match="circle"):
        deputies.check_named(one("d", "a", 3), known, 0)
    with pytest.raises(InvalidRequest, match="You have named 20 deputies"):
        deputies.check_named(one("d", "a"), [one("d", "y")] * deputies.MAX_OF_ONE, 0)
    with pytest.raises(InvalidRequest, match=r"1,000 deputies"):
        deputies.check_named(one("d", "a"), [one("x", "y")] * deputies.MAX_OF_TENANT, 0)


async def test_from_a_shell(clock: Clock) -> None:
    people = {f"Bearer {who}": principal for who, principal in PEOPLE.items()}
    desk = Desk(people, approvers="finance")
    app = create_app(desk.agent(), store=MemoryStore(clock=clock), auth=desk.auth)

    async def shell(who: str, *arguments: str) -> tuple[int, str]:
        options = ["--url", url, "--token", who]
        done = await asyncio.to_thread(CliRunner().invoke, program, [*arguments, *options])
        return done.exit_code, done.output

    async with started(app) as desk.app, serving(app) as url:
        approval_id = await desk.ask("Bearer ada")
        assert await shell("ann", "deputies", "ls") == (0, "There are no deputies.\n")
        code, output = await shell("ann", "deputies", "add", "dan", "--until", at(clock, days=1))
        assert (code, output.startswith("dan decides in the place of ann from ")) == (0, True)
        code, output = await shell("ann", "deputies", "add", "ann", "--until", at(clock, days=1))
        assert (code, "Nobody is their own deputy." in output) == (1, True)
        code, output = await shell("dan", "deputies", "ls", "--json")
        (deputy,) = json.loads(output)["deputies"]
        assert (await shell("ben", "approvals", "hand-to", approval_id, "dan"))[1].endswith("Handed to dan.\n")
        assert (await shell("dan", "approvals", "approve", approval_id, "--no-continue"))[0] == 0
        assert await shell("ann", "deputies", "rm", deputy["id"]) == (0, "Removed.\n")
        assert await shell("ann", "deputies", "rm", deputy["id"]) == (1, "error: There is no such deputy.\n")
    assert len(desk.ran) == 1


async def test_an_emergency_from_a_shell() -> None:
    desk = Desk({"Bearer ada": PEOPLE["ada"], "Bearer zoe": Principal("zoe", "acme", ("break-glass",))}, needs=2)
    app = create_app(desk.agent(), store="memory://", auth=desk.auth)
    async with started(app) as desk.app, serving(app) as url:
        approval_id = await desk.ask("Bearer ada")

        async def shell(*arguments: str) -> tuple[int, str]:
            options = ["--url", url, "--token", "zoe"]
            done = await asyncio.to_thread(CliRunner().invoke, program, ["approvals", *arguments, *options])
            return done.exit_code, done.output

        assert await shell("ls") == (0, "Nothing is pending for you.\n")
        assert approval_id[:12] in (await shell("ls", "--break-glass"))[1]
        why = ("--reason", "The till burns.", "--no-continue")
        code, output = await shell("approve", approval_id[:12], "--break-glass", *why)
        assert (code, "order_id" in output) == (0, True), "the call is shown before it is decided"
        other = await desk.ask("Bearer ada", thread="t2")
        assert (await shell("reject", other[:12], "--break-glass", *why))[0] == 0
        record = (await desk.get("Bearer ada", f"/approvals/{other}")).json()
        assert (record["state"], record["decision"]["break_glass"]) == ("rejected", True)
    assert len(desk.ran) == 1
