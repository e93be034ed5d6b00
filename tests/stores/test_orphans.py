"""Calls that were approved and at which nobody is at work: found over all threads and principals, and listed."""

import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import Output
from agui_gate.stores.base import LEASE_MS, ApprovalPage, Change
from agui_gate.stores.capabilities import FullStore
from tests.requirements import shows
from tests.stores.support import Clock, ask, gated

pytestmark = [pytest.mark.anyio, shows("B9")]

YES = Decision(True, by="alice", way="http")


async def claim(store: FullStore, *approval_ids: str) -> None:
    for approval_id in approval_ids:
        await store.move(approval_id, State.CLAIMED, decision=YES)


async def found(store: FullStore, after: int = 0, most: int = 9) -> list[str]:
    return [orphan.id for orphan in (await store.orphans(after, most)).found]


async def test_whoever_holds_the_lease_is_at_work_until_it_has_lapsed(store: FullStore, clock: Clock) -> None:
    thread = await ask(store, gated())
    assert await found(store) == []
    await store.lease_thread("alice", "t", "support", "r9")
    await claim(store, "a1")
    clock.advance(LEASE_MS - 1)
    assert await found(store) == []
    await store.renew(["r9"])
    clock.advance(LEASE_MS - 1)
    assert await found(store) == []
    clock.advance(1)
    (orphan,) = (await store.orphans()).found
    assert (orphan.id, orphan.tool, orphan.principal, orphan.thread_id) == ("a1", "refund", "alice", "t")
    assert (orphan.state, orphan.run_key) == ("claimed", "r9")
    await store.lease_thread("alice", "t", "support", "r10")
    assert await found(store) == []
    await store.commit(thread, Change(status="failed"), "r10")
    assert await found(store) == ["a1"]
    await store.move("a1", State.UNKNOWN, output=Output("?", is_error=True))
    assert await found(store) == []


async def test_a_yes_that_waits_for_the_next_request_is_none(store: FullStore) -> None:
    await ask(store, gated("a1", runner="provider"), gated("a2", runner="agent"))
    await claim(store, "a1", "a2")
    assert await found(store) == ["a2"]
    await store.move("a1", State.PASSED)
    assert await found(store) == ["a1", "a2"]
    await store.move("a1", State.GIVEN_BACK)
    assert await found(store) == ["a2"]


async def test_a_look_goes_on_where_the_last_one_ended(store: FullStore) -> None:
    for number in range(5):
        who = "alice" if number % 2 else "bob"
        await ask(store, gated(f"a{number}", principal=who, thread_id=who), principal=who, thread_id=who)
        await claim(store, f"a{number}")
    seen, after = list[str](), 0
    while True:
        page = await store.orphans(after, 2)
        seen += [orphan.id for orphan in page.found]
        if page.after is None:
            break
        after = page.after
    assert seen == [f"a{number}" for number in range(5)]


async def test_what_is_at_work_and_what_is_unknown_are_lists_of_their_own(store: FullStore) -> None:
    names = [f"a{number}" for number in range(6)]
    await ask(store, *(gated(name, runner="provider" if name == "a1" else "here") for name in names))
    await ask(store, gated("b1", principal="bob", thread_id="u"), principal="bob", thread_id="u")
    await claim(store, *names[:5], "b1")
    await store.move("a1", State.PASSED)
    await store.move("a2", State.DONE, output=Output("ok"))
    for name in ("a3", "a4", "b1"):
        await store.move(name, State.UNKNOWN, output=Output("?", is_error=True))

    def listed(page: ApprovalPage) -> list[str]:
        return [approval.id for approval in page.approvals]

    assert listed(await store.list_approvals("alice", limit=9, which="claimed")) == ["a1", "a0"]
    first = await store.list_approvals("alice", limit=1, which="unknown")
    assert listed(first) == ["a4"]
    assert listed(await store.list_approvals("alice", limit=1, which="unknown", cursor=first.next_cursor)) == ["a3"]
    assert listed(await store.list_approvals("bob", limit=9, which="claimed")) == []
    count, newest = await store.unknown(2)
    assert (count, [(one.id, one.thread_id) for one in newest]) == (3, [("b1", "u"), ("a4", "t")])
