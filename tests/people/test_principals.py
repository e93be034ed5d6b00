"""Who acts and whose it is are two things; a tenant's users never see anything of another's."""

import copy
import json
import pickle
from enum import Enum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate import Principal
from agui_gate.core.principals import owner_key, tenant_of
from agui_gate.stores.capabilities import FullStore
from tests.people.desk import Desk, ids
from tests.product.inprocess import run_body, user

pytestmark = pytest.mark.anyio

NAMES = st.text(st.characters(min_codepoint=32, exclude_characters="\x7f", exclude_categories=["Cs"]), min_size=1)


def test_a_principal_is_its_id_as_a_string() -> None:
    alice = Principal("alice", tenant="acme", roles=["user"], claims={"person": "p1"})
    assert alice == "alice"
    assert str.__eq__("alice", alice)
    assert hash(alice) == hash("alice")
    assert "alice" in {alice}
    assert f"{alice}" == "alice"
    assert json.loads(json.dumps([alice])) == ["alice"]
    assert type(alice.id) is str
    assert (alice.person, Principal("bob").person) == ("p1", "bob")


def test_two_of_one_id_in_two_tenants_are_never_equal() -> None:
    one, other = Principal("alice", "acme"), Principal("alice", "evil")
    assert one != other
    assert [one] != [other]
    assert one != Principal("alice")
    assert one == Principal("alice", "acme", roles=["operator"], acts_for="team")
    assert one.owner != other.owner


@given(tenant=NAMES, owner=NAMES, other=NAMES)
def test_no_string_is_the_owner_of_a_tenant(tenant: str, owner: str, other: str) -> None:
    key = owner_key(tenant, owner)
    assert key != other
    assert tenant_of(key) == tenant
    assert tenant_of(other) == ""
    assert owner_key(owner, tenant) != key or owner == tenant


def test_a_principal_can_be_copied_and_not_changed() -> None:
    alice = Principal("alice", "acme", ["user"], "team", {"a": 1})
    for again in (copy.deepcopy(alice), pickle.loads(pickle.dumps(alice))):
        assert (again, again.rights, again.claims) == (alice, alice.rights, alice.claims)
    with pytest.raises(AttributeError):
        alice.tenant = "evil"
    with pytest.raises(AttributeError):
        del alice.tenant
    with pytest.raises(TypeError):
        alice.claims["a"] = 2  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"id": ""}, ValueError),
        ({"id": "a\x1fb"}, ValueError),
        ({"id": "a\n"}, ValueError),
        ({"id": "a" * 501}, ValueError),
        ({"id": 1}, TypeError),
        ({"id": "a", "tenant": "t\x1f"}, ValueError),
        ({"id": "a", "tenant": None}, TypeError),
        ({"id": "a", "roles": "user"}, TypeError),
        ({"id": "a", "roles": [""]}, ValueError),
        ({"id": "a", "roles": [1]}, TypeError),
        ({"id": "a", "acts_for": ""}, ValueError),
        ({"id": "a", "claims": []}, TypeError),
    ],
)
def test_what_can_be_no_principal_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Principal(**arguments)


TEAM = {
    "ada": Principal(
        "ada", "acme", acts_for="desk", claims={"person": "p-ada", "acr": "mfa", "amr": ["otp"], "jti": "j"}
    ),
    "ben": Principal("ben", "acme", acts_for="desk"),
    "eve": Principal("ada", "evil", acts_for="desk"),
    "solo": Principal("ada"),
    "plain": "ada",
    "forged": "acme\x1fdesk",
}


async def test_owner_and_actor_are_two(store: FullStore) -> None:
    """In the context of a tool, in records and in the trail; a colleague of the same owner decides."""
    async with Desk(TEAM).open(store) as desk:
        await desk.say("ada", "look")
        (free,) = desk.free
        assert (free.owner, free.principal) == ("desk", TEAM["ada"])
        assert isinstance(free.principal, Principal)
        approval_id = await desk.ask("ada")
        (shown,) = (await desk.get("ben", "/approvals")).json()["approvals"]
        assert (shown["id"], shown["asker"]) == (approval_id, "ada")
        decided = await desk.decide("ben", approval_id)
        assert (decided.status, decided.json()["state"]) == (200, "done")
        (ran,) = desk.ran
        assert isinstance(ran.principal, Principal)
        assert (ran.owner, ran.principal, ran.principal.person) == ("desk", TEAM["ada"], "p-ada")
        record = (await desk.get("ada", f"/approvals/{approval_id}")).json()
        assert (record["asker"], record["decision"]["by"]) == ("ada", "ben")
        by = {event.kind: event.by for event in await desk.trail()}
        assert (by["shown"], by["approved"]) == ("ada", "ben")


async def test_how_somebody_logged_in_is_in_the_trail(store: FullStore) -> None:
    async with Desk(TEAM).open(store) as desk:
        for approved in (True, False):
            approval_id = await desk.ask("ada", thread=f"t{approved}")
            assert (await desk.decide("ada", approval_id, approved)).status == 200
        said = {event.kind: json.loads(event.body) for event in await desk.trail()}
        for kind in ("approved", "rejected"):
            about = said[kind]
            found = {name: about[name] for name in ("person", "acr", "amr", "jti", "address")}
            assert found == {"person": "p-ada", "acr": "mfa", "amr": ["otp"], "jti": "j", "address": "127.0.0.1"}


@pytest.mark.parametrize("who", ["eve", "solo", "plain"])
async def test_another_tenant_finds_nothing(store: FullStore, who: str) -> None:
    """The same 404 as for what never was; and the same thread id is another thread."""
    async with Desk(TEAM).open(store) as desk:
        approval_id = await desk.ask("ada")
        (run,) = [event for event in await desk.trail() if event.kind == "asked"]
        for path, none in (
            (f"/approvals/{approval_id}", "/approvals/apr_none"),
            ("/threads/t", "/threads/none"),
            (f"/runs/{run.run_key}/events", "/runs/run_none/events"),
        ):
            theirs, nothing = await desk.get(who, path), await desk.get(who, none)
            assert (theirs.status, theirs.json()["error"]["code"]) == (404, "not_found")
            assert theirs.body == nothing.body
        assert (await desk.decide(who, approval_id)).status == 404
        assert ids(await desk.get(who, "/approvals")) == ids(await desk.get(who, "/approvals", "state=all")) == []
        assert (await desk.get(who, "/threads")).json()["threads"] == []
        assert (await desk.post(who, "/threads/t/cancel", {})).status == 404
        await desk.say(who, "hello")
        assert len((await desk.get(who, "/threads/t")).json()["messages"]) == 2
        assert ids(await desk.get("ada", "/approvals")) == [approval_id]
        assert desk.ran == []


async def test_a_string_that_looks_like_a_tenants_owner_is_nobody(store: FullStore) -> None:
    async with Desk(TEAM).open(store) as desk:
        await desk.ask("ada")
        assert (await desk.get("forged", "/approvals")).status == 401


@pytest.mark.parametrize("name", ["a\ud800", "a\x00b", "a\nb", "a" * 501, "\x7f"])
async def test_a_string_that_no_store_can_keep_is_nobody(name: str, store: FullStore) -> None:
    people: dict[str, Any] = {"odd": name, "long": "ä" * 500, "plain": "ada"}
    async with Desk(people).open(store) as desk:
        await desk.ask("long")
        for refused in (await desk.get("odd", "/approvals"), await desk.post("odd", "/", run_body("t", user("hi")))):
            assert (refused.status, refused.json()["error"]["code"]) == (401, "unauthorized")
            assert refused.json()["error"]["message"] == (
                "A principal's id has 1 to 500 characters, and no control characters."
            )


async def test_claims_that_no_store_can_keep_are_kept_without_that(store: FullStore) -> None:
    claims = {"acr": "m\ud800fa", "amr": ["\udfff"], "jti": "\x00"}
    async with Desk({"ada": Principal("ada", "acme", claims=claims)}).open(store) as desk:
        assert (await desk.decide("ada", await desk.ask("ada"))).status == 200
        (approved,) = [json.loads(event.body) for event in await desk.trail() if event.kind == "approved"]
        assert (approved["acr"], approved["amr"], approved["jti"]) == ("m?fa", ["?"], "\x00")


async def test_what_auth_can_not_make_lets_nobody_in() -> None:
    class Broken(Desk):
        def auth(self, request: Any) -> Any:
            return Principal(request.headers["authorization"], tenant="a\x1fb")

    async with Broken({}).open() as desk:
        assert (await desk.get("x", "/approvals")).status == 503


class Role(StrEnum):
    AUDITOR = "auditor"


class Odd(str, Enum):  # noqa: UP042  (as people wrote them before 3.11)
    AUDITOR = "auditor"


@pytest.mark.parametrize("role", [Role.AUDITOR, Odd.AUDITOR])
def test_an_enum_is_its_value(role: str) -> None:
    assert Principal("ann", roles=[role]).roles == ("auditor",)
    assert type(Principal("ann", roles=[role]).roles[0]) is str


@pytest.mark.parametrize("person", [17, "", ["p"], "a\x1fb"])
def test_a_person_that_is_no_name_is_refused(person: Any) -> None:
    """It would count as somebody else's: one human as two."""
    with pytest.raises((TypeError, ValueError)):
        Principal("ann", claims={"person": person})


def test_half_a_character_is_no_name() -> None:
    with pytest.raises(ValueError, match="id"):
        Principal("a\ud800")
