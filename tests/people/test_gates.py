"""Gates that ask for people: who sees a call, who may decide it, and how many have to."""

import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from agui_gate import ConfigurationError, Gate, Principal
from agui_gate.core.approvals import Approval
from agui_gate.core.principals import Caller
from agui_gate.extras.people import approvers
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.desk import Desk, Json, ids
from tests.product.inprocess import Answer, run, run_body
from tests.stores.support import gated

pytestmark = pytest.mark.anyio

FINANCE = ("approver", "finance")
PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "ada of finance": Principal("ada", "acme", ("user", "finance")),
    "ben": Principal("ben", "acme", FINANCE, claims={"person": "p-ben"}),
    "ben's bot": Principal("bot", "acme", FINANCE, claims={"person": "p-ben"}),
    "cat": Principal("cat", "acme", FINANCE),
    "dan": Principal("dan", "acme", FINANCE),
    "mia": Principal("mia", "acme", ("user",)),
    "eve": Principal("ben", "evil", FINANCE),
    "none": Principal("ben", "", FINANCE),
    "plain": "ben",
}


async def record(desk: Desk, who: str, approval_id: str) -> Json:
    found: Json = (await desk.get(who, f"/approvals/{approval_id}")).json()
    return found


def told(answer: Answer) -> tuple[int, str]:
    """The status, and what is said: a state, or an error's code."""
    body = answer.json()
    return answer.status, body["error"]["code"] if "error" in body else body["state"]


async def test_somebody_without_roles_decides_by_their_id(store: FullStore) -> None:
    """Fixed tokens, and an ``auth`` that returns a string, name people who have an id alone."""
    async with Desk({"ada": "ada", "cat": "cat", "eve": "eve"}, approvers=["cat"]).open(store) as desk:
        approval_id = await desk.ask("ada")
        assert (await record(desk, "ada", approval_id))["asker"] == "ada"
        assert told(await desk.decide("ada", approval_id)) == (403, "not_allowed")
        assert (ids(await desk.get("eve", "/approvals")), ids(await desk.get("cat", "/approvals"))) == (
            [],
            [approval_id],
        )
        assert told(await desk.decide("eve", approval_id)) == (404, "not_found")
        assert (await desk.get("cat", "/me")).json()["principal"] == "cat"
        assert told(await desk.decide("cat", approval_id)) == (200, "done")
        assert [context.principal for context in desk.ran] == ["ada"]
        by_role = await desk.ask("cat", thread="u")
        assert told(await desk.decide("cat", by_role)) == (403, "not_allowed")


async def test_two_others_have_to_agree(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance", needs=2).open(store) as desk:
        approval_id = await desk.ask("ada")
        shown = await record(desk, "ada", approval_id)
        assert (shown["asker"], shown["approvers"], shown["needs"], shown["approvals"]) == ("ada", "finance", 2, [])
        assert told(await desk.decide("ada", approval_id)) == (403, "not_allowed")
        for who in ("ben", "cat"):
            assert ids(await desk.get(who, "/approvals")) == [approval_id]
        assert told(await desk.decide("ben", approval_id)) == (200, "pending")
        assert told(await desk.decide("ben", approval_id)) == (200, "pending"), "the same person again"
        assert told(await desk.decide("ben's bot", approval_id)) == (200, "pending"), "and behind another principal"
        assert [one["by"] for one in (await record(desk, "ada", approval_id))["approvals"]] == ["ben"]
        assert desk.ran == []
        assert told(await desk.decide("cat", approval_id)) == (200, "done")
        assert [context.principal for context in desk.ran] == [PEOPLE["ada"]]
        done = await record(desk, "ben", approval_id)
        assert (done["state"], done["decision"]["by"]) == ("done", "cat")
        assert told(await desk.decide("dan", approval_id)) == (409, "approval_refused")
        trail = [(event.kind, event.by) for event in await desk.trail()]
        assert [one for one in trail if one[0] in ("agreed", "approved")] == [("agreed", "ben"), ("approved", "cat")]
        assert len(desk.ran) == 1


@pytest.mark.parametrize("who", ["mia", "eve", "none", "plain"])
async def test_who_is_no_approver_finds_nothing(store: FullStore, who: str) -> None:
    async with Desk(PEOPLE, approvers="finance").open(store) as desk:
        approval_id = await desk.ask("ada")
        assert ids(await desk.get(who, "/approvals")) == []
        for path in ("/approvals/{}", "/approvals/{}?view=card"):
            theirs, none = await desk.get(who, path.format(approval_id)), await desk.get(who, path.format("apr_none"))
            assert (theirs.status, theirs.body) == (404, none.body)
        assert (await desk.decide(who, approval_id)).body == (await desk.decide(who, "apr_none")).body
        assert (await desk.decide(who, approval_id, approved=False)).status == 404
        assert (await desk.get("ben", "/threads/t")).status == 403, "an approver sees the call, not the conversation"
        assert desk.ran == []


async def test_an_approver_who_asked_is_not_one(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance").open(store) as desk:
        approval_id = await desk.ask("ada of finance")
        assert told(await desk.decide("ada of finance", approval_id)) == (403, "not_allowed")
        assert told(await desk.decide("ben", approval_id)) == (200, "done")


async def test_self_approval_may_be_allowed() -> None:
    async with Desk(PEOPLE, approvers="finance", self_approval=True).open() as desk:
        approval_id = await desk.ask("ada of finance")
        assert told(await desk.decide("ada", approval_id)) == (403, "not_allowed"), "without the role"
        assert told(await desk.decide("ada of finance", approval_id)) == (200, "done")


async def test_an_edit_takes_back_what_was_said_and_is_shown_to_the_next(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance", needs=2, editable=["amount"]).open(store) as desk:
        approval_id = await desk.ask("ada")
        assert told(await desk.decide("ben", approval_id)) == (200, "pending")
        edit = {"order_id": "A1", "amount": 5}
        assert told(await desk.decide("cat", approval_id, edited_arguments=edit)) == (200, "pending")
        shown = await record(desk, "ben", approval_id)
        assert [one["by"] for one in shown["approvals"]] == ["cat"]
        assert (shown["arguments"]["amount"], shown["effective_arguments"]["amount"]) == (20, 5)
        assert told(await desk.decide("ben", approval_id)) == (200, "pending"), "who edited isn't among the two"
        assert told(await desk.decide("cat", approval_id)) == (200, "pending")
        assert told(await desk.decide("dan", approval_id)) == (200, "done")
        assert desk.amounts == [5]
        done = await record(desk, "ben", approval_id)
        assert done["effective_arguments"]["amount"] == 5


async def test_the_only_approver_may_edit(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers=["ben"], editable=["amount"]).open(store) as desk:
        approval_id = await desk.ask("ada")
        edit = {"order_id": "A1", "amount": 5}
        assert told(await desk.decide("ben", approval_id, edited_arguments=edit)) == (200, "done")
        assert desk.amounts == [5]


async def test_a_function_is_asked_about_what_would_run(store: FullStore) -> None:
    def up_to_100(principal: Principal, asker: Principal, arguments: Json) -> bool:
        return bool(arguments["amount"] <= 100)

    async with Desk(PEOPLE, approvers=up_to_100, editable=["amount"]).open(store) as desk:
        approval_id = await desk.ask("ada")
        edit = {"order_id": "A1", "amount": 1_000_000}
        assert told(await desk.decide("ben", approval_id, edited_arguments=edit)) == (403, "not_allowed")
        assert desk.ran == []
        edit["amount"] = 99
        assert told(await desk.decide("ben", approval_id, edited_arguments=edit)) == (200, "done")
        assert desk.amounts == [99]


async def test_to_edit_back_is_an_edit(store: FullStore) -> None:
    """Who names what was asked first doesn't agree to what somebody else has made of it."""
    async with Desk(PEOPLE, approvers="finance", needs=2, editable=["amount"]).open(store) as desk:
        approval_id = await desk.ask("ada")
        edit = {"order_id": "A1", "amount": 9999}
        assert told(await desk.decide("ben", approval_id, edited_arguments=edit)) == (200, "pending")
        assert told(await desk.decide("cat", approval_id, edited_arguments=edit | {"amount": 20})) == (200, "pending")
        shown = await record(desk, "ben", approval_id)
        assert [one["by"] for one in shown["approvals"]] == ["cat"]
        assert shown["effective_arguments"]["amount"] == 20
        assert told(await desk.decide("dan", approval_id)) == (200, "pending"), "cat edited and isn't among the two"
        assert told(await desk.decide("ben", approval_id)) == (200, "done")
        assert desk.amounts == [20]


async def test_an_answer_that_names_other_arguments_than_are_shown_is_refused(store: FullStore) -> None:
    team = {name: Principal(name, "acme", acts_for="desk") for name in ("ada", "ben", "cat", "dan")}
    async with Desk(team, needs=2, editable=["amount"]).open(store) as desk:
        approval_id = await desk.ask("ada")
        edit = {"order_id": "A1", "amount": 9999}
        assert told(await desk.decide("ben", approval_id, edited_arguments=edit)) == (200, "pending")
        for who in ("cat", "dan"):
            named = {
                "id": approval_id,
                "name": "refund",
                "arguments": {"order_id": "A1", "amount": 20},
                "approved": True,
            }
            message = {"id": f"by-{who}", "role": "user", "content": "", "function_approvals": [named]}
            await run(desk.app, run_body("t", message), headers={"authorization": who})
        assert desk.ran == []
        assert (await record(desk, "ben", approval_id))["state"] == "pending"


async def test_who_answers_in_a_run_did_not_ask_for_what_follows(store: FullStore) -> None:
    """The asker is whose message began it: they can't approve the next call because a colleague's yes led to it."""
    team = {name: Principal(name, "acme", acts_for="desk") for name in ("ada", "ben")}
    desk = Desk(team, approvers=["ada", "ben"])
    async with desk.open(store):
        approval_id = await desk.ask("ada", "refund twice")
        events = await desk.say("ben", "", **yes(approval_id))
        following = events[-1]["outcome"]["interrupts"][0]["id"]
        assert following != approval_id
        assert told(await desk.decide("ada", following)) == (403, "not_allowed")
        assert len(desk.ran) == 1


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({}, 403),
        ({"acr": "mfa"}, 403),
        ({"acr": "mfa", "auth_time": -301}, 403),
        ({"acr": "mfa", "auth_time": 3600}, 403),
        ({"acr": "pwd", "auth_time": 0}, 403),
        ({"auth_time": 0}, 403),
        ({"acr": "mfa", "auth_time": "now"}, 403),
        ({"acr": "mfa", "auth_time": True}, 403),
        ({"acr": "mfa", "auth_time": 0}, 200),
        ({"acr": "mfa", "auth_time": -200}, 200),
    ],
)
async def test_a_login_that_is_weak_or_stale_decides_nothing(claims: Json, status: int) -> None:
    at = claims.get("auth_time")
    if type(at) is int:
        claims = claims | {"auth_time": int(time.time()) + at}
    people = PEOPLE | {"ben": Principal("ben", "acme", FINANCE, claims=claims)}
    async with Desk(people, approvers="finance", max_auth_age=300, acr="mfa").open() as desk:
        approval_id = await desk.ask("ada")
        assert ids(await desk.get("ben", "/approvals")) == [approval_id], "allowed to see"
        answer = await desk.decide("ben", approval_id)
        assert answer.status == status
        assert len(desk.ran) == (status == 200)


@pytest.mark.parametrize("kind", ["four", "three", "async", "raises", "truthy", "async truthy"])
async def test_a_function_says_who_may(store: FullStore, kind: str) -> None:
    asked: list[Any] = []

    def four(principal: Principal, asker: Principal, arguments: Json, ctx: Any) -> bool:
        asked.append((principal, asker, arguments["amount"], ctx.tenant, ctx.owner, ctx.tool))
        return "finance" in principal.roles

    def three(principal: Principal, asker: Principal, arguments: Json) -> bool:
        return "finance" in principal.roles

    async def later(principal: Principal, asker: Principal, arguments: Json, ctx: Any) -> bool:
        return "finance" in principal.roles

    def raises(*given: Any) -> bool:
        raise ValueError("no idea")

    async def says_text(*given: Any) -> Any:
        return "yes"

    functions = {"four": four, "three": three, "async": later, "raises": raises, "truthy": lambda *given: "yes"}
    functions["async truthy"] = says_text
    async with Desk(PEOPLE, approvers=functions[kind]).open(store) as desk:
        approval_id = await desk.ask("ada")
        knows = kind in ("four", "three", "async")
        assert ids(await desk.get("ben", "/approvals")) == ([approval_id] if knows else [])
        assert (await desk.decide("eve", approval_id)).status == 404, "nobody of another tenant is asked about"
        assert (await desk.decide("ben", approval_id)).status == (200 if knows else 404)
        if kind == "four":
            assert asked[0] == (PEOPLE["ben"], PEOPLE["ada"], 20, "acme", "ada", "refund")


async def test_who_asked_may_always_reject_and_an_approver_if_the_gate_says_so(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance", decisions=("approve",)).open(store) as desk:
        approval_id = await desk.ask("ada")
        assert told(await desk.decide("ben", approval_id, approved=False)) == (403, "not_allowed")
        assert told(await desk.decide("ada", approval_id, approved=False)) == (200, "rejected")
        assert desk.ran == []


async def test_one_no_ends_it(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance", needs=2).open(store) as desk:
        approval_id = await desk.ask("ada")
        assert told(await desk.decide("ben", approval_id)) == (200, "pending")
        assert told(await desk.decide("cat", approval_id, approved=False)) == (200, "rejected")
        assert told(await desk.decide("dan", approval_id)) == (409, "approval_refused")
        assert desk.ran == []


async def test_a_gate_may_allow_no_edit() -> None:
    async with Desk(PEOPLE, approvers="finance", decisions=("approve", "reject"), editable=["amount"]).open() as desk:
        approval_id = await desk.ask("ada")
        edit = {"order_id": "A1", "amount": 5}
        assert told(await desk.decide("ben", approval_id, edited_arguments=edit)) == (403, "not_allowed")
        assert told(await desk.decide("ben", approval_id)) == (200, "done")


def yes(approval_id: str) -> Json:
    return {"resume": [{"interruptId": approval_id, "status": "resolved", "payload": {"approved": True}}]}


async def test_an_answer_in_a_run_is_held_to_the_same(store: FullStore) -> None:
    """Who asked says yes on their page: it is refused with the reason, and asked again."""
    team = {name: Principal(name, "acme", acts_for="desk") for name in ("ada", "ben", "cat")}
    async with Desk(team, needs=2).open(store) as desk:
        approval_id = await desk.ask("ada")
        events = await desk.say("ada", "", **yes(approval_id))
        refused = next(event for event in events if event.get("name") == "agui-gate:answer_refused")
        assert "Somebody else has to" in refused["value"]["message"]
        assert events[-1]["outcome"]["interrupts"][0]["id"] == approval_id
        events = await desk.say("ben", "", **yes(approval_id))
        assert events[-1]["outcome"]["interrupts"][0]["id"] == approval_id, "one more is needed"
        assert desk.ran == []
        events = await desk.say("cat", "", **yes(approval_id))
        assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == ["refunded"]
        assert [context.principal for context in desk.ran] == ["ada"]


async def test_what_became_stricter_counts(tmp_path: Any) -> None:
    """The gate as it is when the call is carried out is asked as well."""
    path = str(tmp_path / "store.db")
    async with Desk(PEOPLE, approvers="finance", needs=2).open(SQLiteStore(path)) as desk:
        approval_id = await desk.ask("ada")
        assert told(await desk.decide("ben", approval_id)) == (200, "pending")
    for stricter in (
        {"approvers": "finance", "needs": 3},
        {"approvers": ["cat", "dan"], "needs": 2},
        {"approvers": "board", "needs": 2},
        {"approvers": "finance", "needs": 2, "acr": "mfa"},
        {"approvers": lambda *given: False},
    ):
        async with Desk(PEOPLE, **stricter).open(SQLiteStore(path)) as desk:
            assert (await desk.decide("cat", approval_id)).status in (403, 404), stricter
            assert desk.ran == []
    async with Desk(PEOPLE, approvers=lambda who, *about: who == "cat").open(SQLiteStore(path)) as desk:
        assert (await desk.decide("cat", approval_id)).status == 403, "ben's yes is held to the gate of now as well"
        assert desk.ran == []
    async with Desk(PEOPLE).open(SQLiteStore(path)) as desk:  # the gate asks for nobody any more; what was asked stands
        assert told(await desk.decide("ada", approval_id)) == (403, "not_allowed")
        assert told(await desk.decide("cat", approval_id)) == (200, "done")


async def test_a_call_that_waits_for_people_outlives_a_restart(tmp_path: Any) -> None:
    path = str(tmp_path / "store.db")
    async with Desk(PEOPLE, approvers="finance", needs=2).open(SQLiteStore(path)) as desk:
        approval_id = await desk.ask("ada")
        assert told(await desk.decide("ben", approval_id)) == (200, "pending")
    async with Desk(PEOPLE, approvers="finance", needs=2).open(SQLiteStore(path)) as desk:
        assert told(await desk.decide("ben's bot", approval_id)) == (200, "pending")
        assert told(await desk.decide("cat", approval_id)) == (200, "done")


async def test_a_list_goes_on_with_what_is_of_others(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance").open(store) as desk:
        own = [await desk.ask("ada of finance", thread=f"own-{number}") for number in range(3)]
        people = PEOPLE | {"zoe": Principal("zoe", "acme")}
        desk.people = people
        others = [await desk.ask("zoe", thread=f"t{number}") for number in range(4)]
        found: list[str] = []
        query = "limit=2"
        while True:
            page = (await desk.get("ada of finance", "/approvals", query)).json()
            assert len(page["approvals"]) <= 2
            found += [one["id"] for one in page["approvals"]]
            if page["next_cursor"] is None:
                break
            query = f"limit=2&cursor={page['next_cursor']}"
        assert found == own + others
        cards = (await desk.get("ada of finance", "/approvals", "view=card")).json()["approvals"]
        assert [card["thread"] is None for card in cards] == [False] * 3 + [True] * 4
        assert (await desk.get("ben", "/approvals", "cursor=people:x")).status in (400, 422)


@pytest.mark.parametrize(
    "options",
    [
        {"needs": 0},
        {"needs": 21},
        {"needs": 2, "approvers": ["ben"]},
        {"approvers": []},
        {"approvers": ""},
        {"approvers": [""]},
        {"approvers": 7},
        {"decisions": "approve"},
        {"decisions": ("edit",)},
        {"decisions": ("approve", "sign")},
        {"decisions": ("approve", "reject", "sign")},
        {"max_auth_age": 0},
        {"acr": [""]},
        {"acr": [7]},
    ],
)
def test_a_gate_that_nobody_could_open_is_refused(options: Json) -> None:
    with pytest.raises(ConfigurationError):
        Gate(**options)


def test_a_gate_that_asks_for_nobody_has_no_people() -> None:
    assert Gate().people is None
    assert Gate(editable=["a"], expires_after=3).people is None
    assert Gate(decisions=["reject", "approve", "edit"]).people is None


def kinds(trail: Sequence[Any]) -> list[str]:
    return [event.kind for event in trail]


async def test_the_trail_says_how_each_of_them_logged_in(store: FullStore) -> None:
    people = PEOPLE | {"ben": Principal("ben", "acme", FINANCE, claims={"person": "p-ben", "acr": "mfa"})}
    async with Desk(people, approvers="finance", needs=2).open(store) as desk:
        approval_id = await desk.ask("ada")
        await desk.decide("ben", approval_id)
        await desk.decide("cat", approval_id)
        trail = await desk.trail()
        assert kinds(trail) == ["asked", "shown", "agreed", "approved", "claimed", "done"]
        agreed = json.loads(next(event.body for event in trail if event.kind == "agreed"))
        assert (agreed["person"], agreed["acr"], agreed["address"]) == ("p-ben", "mfa", "127.0.0.1")


async def test_a_yes_may_say_what_it_was_shown(store: FullStore) -> None:
    """Somebody who has loaded the call before another's edit doesn't agree to what they haven't seen."""
    async with Desk(PEOPLE, approvers="finance", needs=2, editable=["amount"], message="Pay {amount}?").open(
        store
    ) as desk:
        approval_id = await desk.ask("ada")
        before = (await record(desk, "ben", approval_id))["effective_arguments"]
        edit = {"order_id": "A1", "amount": 5}
        assert told(await desk.decide("cat", approval_id, edited_arguments=edit)) == (200, "pending")
        refused = await desk.decide("ben", approval_id, effective_arguments=before)
        assert told(refused) == (422, "approval_refused")
        assert told(await desk.decide("ben", approval_id, effective_arguments="x")) == (422, "approval_refused")
        now = await record(desk, "ben", approval_id)
        assert now["message"] == "Pay 20? (Edited by cat: see the arguments.)"
        shown = now["effective_arguments"]
        assert told(await desk.decide("ben", approval_id, effective_arguments=shown)) == (200, "pending")
        assert told(await desk.decide("dan", approval_id, effective_arguments=shown)) == (200, "done")
        assert desk.amounts == [5]


async def test_what_is_asked_in_a_run_has_the_edit_and_who_agreed(store: FullStore) -> None:
    team = {name: Principal(name, "acme", acts_for="desk") for name in ("ada", "ben", "cat", "dan")}
    async with Desk(team, needs=2, editable=["amount"]).open(store) as desk:
        approval_id = await desk.ask("ada")
        edit = {"approved": True, "editedArgs": {"order_id": "A1", "amount": 5}}
        resume = [{"interruptId": approval_id, "status": "resolved", "payload": edit}]
        asked = (await desk.say("ben", "", resume=resume))[-1]["outcome"]["interrupts"][0]
        about = asked["metadata"]
        assert (about["arguments"]["amount"], about["needs"]) == (5, 2)
        assert [one["by"] for one in about["approvals"]] == ["ben"]
        assert "Edited by ben" in asked["message"]
        assert (await desk.say("cat", "", **yes(approval_id)))[-1]["outcome"]["interrupts"]
        await desk.say("dan", "", **yes(approval_id))
        assert desk.amounts == [5]


async def test_a_yes_that_is_not_in_the_trail_counts_for_nothing(tmp_path: Any) -> None:
    """Whoever can write the ledger alone can't say that somebody agreed."""
    path = str(tmp_path / "store.db")
    async with Desk(PEOPLE, approvers="finance", needs=2).open(SQLiteStore(path)) as desk:
        approval_id = await desk.ask("ada")
    with closing(sqlite3.connect(path)) as connection, connection:
        (text,) = connection.execute("SELECT people FROM approvals").fetchone()
        people = json.loads(text)
        decision = {"approved": True, "by": "ben", "person": "p-ben", "way": "http", "roles": ["finance"]}
        people["said"] = [{"decision": decision, "at": 1, "of": approval_id}]
        connection.execute("UPDATE approvals SET people = ?", (json.dumps(people),))
    async with Desk(PEOPLE, approvers="finance", needs=2).open(SQLiteStore(path)) as desk:
        assert told(await desk.decide("cat", approval_id)) == (422, "approval_refused")
        assert desk.ran == []


async def test_a_function_that_is_gone_lets_nobody_approve(tmp_path: Any) -> None:
    path = str(tmp_path / "store.db")
    async with Desk(PEOPLE, approvers=lambda *given: True).open(SQLiteStore(path)) as desk:
        approval_id = await desk.ask("ada")
    async with Desk(PEOPLE).open(SQLiteStore(path)) as desk:
        assert (await desk.decide("ben", approval_id)).status == 404
        assert told(await desk.decide("ada", approval_id)) == (403, "not_allowed")
        assert desk.ran == []
        assert told(await desk.decide("ada", approval_id, approved=False)) == (200, "rejected")


async def test_a_card_says_that_more_persons_have_to_agree_by_now(tmp_path: Any) -> None:
    path = str(tmp_path / "store.db")
    async with Desk(PEOPLE, approvers="finance").open(SQLiteStore(path)) as desk:
        approval_id = await desk.ask("ada")
    async with Desk(PEOPLE, approvers="finance", needs=2).open(SQLiteStore(path)) as desk:
        you = (await desk.get("ben", f"/approvals/{approval_id}", "view=card")).json()["you"]
        assert you["may"] == ["reject"]
        assert you["why"].startswith("More persons have to agree by now")
        assert told(await desk.decide("ben", approval_id)) == (403, "not_allowed")


async def test_a_card_says_what_its_reader_may_do(store: FullStore) -> None:
    """So nobody has to try: who asked, who edited, who has agreed, and whose login is too old."""
    gate = {"approvers": "finance", "needs": 2, "editable": ["amount"], "max_auth_age": 300}
    people = PEOPLE | {
        who: Principal(who, "acme", FINANCE, claims={"auth_time": time.time() - age})
        for who, age in (("ben", 10), ("cat", 10), ("dan", 900))
    }
    async with Desk(people, **gate).open(store) as desk:
        approval_id = await desk.ask("ada")

        async def you(who: str) -> tuple[list[str], bool, str]:
            [listed] = (await desk.get(who, "/approvals", "view=card")).json()["approvals"]
            shown = (await desk.get(who, f"/approvals/{approval_id}", "view=card")).json()
            assert (listed["you"], listed["edited_by"]) == (shown["you"], shown["edited_by"])
            assert (shown["thread"] is None) is (who != "ada")
            for query in ("", "view=calls") if who == "ada" else ():  # what the chat's own page reads
                [call] = (await desk.get(who, "/threads/t", query)).json()["calls"]
                assert (call["you"], call["edited_by"]) == (shown["you"], shown["edited_by"])
            return shown["you"]["may"], shown["you"]["agreed"], shown["you"]["why"] or ""

        assert await you("ben") == (["approve", "edit", "reject"], False, "")
        may, agreed, why = await you("ada")
        assert (may, agreed) == (["reject"], False)
        assert "Somebody else has to" in why
        may, agreed, why = await you("dan")
        assert (may, agreed) == (["reject"], False)
        assert "a login in the last 300 s" in why
        edited = {"order_id": "A1", "amount": 5}
        assert told(await desk.decide("ben", approval_id, edited_arguments=edited)) == (200, "pending")
        assert await you("ben") == (["approve", "edit", "reject"], True, "")
        assert await you("cat") == (["approve", "edit", "reject"], False, "")
        assert (await desk.get("cat", f"/approvals/{approval_id}", "view=card")).json()["edited_by"] == "ben"
        assert told(await desk.decide("cat", approval_id)) == (200, "pending")
        assert told(await desk.decide("dan", approval_id)) == (403, "not_allowed")
        assert "you" not in (await desk.get("cat", f"/approvals/{approval_id}")).json()


async def test_a_page_looks_through_so_many_calls_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvers, "MOST_LOOKED_AT", 2)
    pages: list[int] = []

    async def people_waiting(tenant: str, after: int, most: int) -> list[tuple[int, Approval]]:
        pages.append(after)
        return [(after + 1, gated()), (after + 2, gated())]

    store: Any = SimpleNamespace(people_waiting=people_waiting)
    found = await approvers.waiting(store, {}, Caller(Principal("ben", "acme")), "alice", limit=5)
    assert (found, pages) == (([], "people:2"), [0])
