"""What waits for people, and what a grant is good for, in each store: never another tenant's, owner's or tool's."""

import pytest

from agui_gate.core.approvals import People, State
from agui_gate.core.grants import Grant, GrantLimits, Use
from agui_gate.core.principals import owner_key
from agui_gate.core.terms import Terms
from agui_gate.errors import ApprovalRefused
from agui_gate.stores.capabilities import FullStore
from tests.stores.support import ask, gated

pytestmark = pytest.mark.anyio


async def test_a_tenant_is_told_of_its_own_calls_alone(store: FullStore) -> None:
    owners = {"of acme": owner_key("acme", "alice"), "of nobody": "alice", "of another": owner_key("acme2", "alice")}
    for name, owner in owners.items():
        await ask(store, gated(name, principal=owner, people=People()), principal=owner, thread_id=name)
    told = {"acme": ["of acme"], "": ["of nobody"], "acme2": ["of another"], "acm": []}
    for tenant, names in told.items():
        assert [one.id for _, one in await store.people_waiting(tenant, 0, 10)] == names


@pytest.mark.parametrize("other", ["owner", "tool"])
async def test_a_grant_is_good_for_its_owner_and_its_tool_alone(store: FullStore, other: str) -> None:
    limits = GrantLimits(3_600_000)
    grant = Grant(
        id="g1", owner="alice", agent="support", tool="refund", scope="thread", limits=limits, approval_id="a1",
        thread_id="t", giver="alice",
    )  # fmt: skip
    await ask(store, gated("a1"))
    await store.move("a1", State.CLAIMED, terms=Terms(given=grant))
    owner, tool = ("bob", "refund") if other == "owner" else ("alice", "ship")
    await ask(store, gated("a2", principal=owner, tool=tool), principal=owner, thread_id="other")
    with pytest.raises(ApprovalRefused, match="revoked"):
        await store.move("a2", State.CLAIMED, terms=Terms(by_grant=Use("g1", limits)))
    (left,) = await store.grants("id", "g1")
    assert left.used == 0
