"""What operators read and change of everybody's, on every store."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.core.freezes import Freeze
from agui_gate.core.transcript import ConversationRef, Output
from agui_gate.errors import ApprovalRefused, InvalidRequest, LeaseLost, NotFound
from agui_gate.stores.base import LEASE_MS, Change, Store
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.operators import Act, Found, WhichCalls
from tests.stores.support import Clock, ask, gated, said

pytestmark = pytest.mark.anyio

ACT = Act("olga", "why not")
FOUND = Output("it took effect")


async def fill(store: FullStore, clock: Clock) -> None:
    """A thread of each of three owners, two of a tenant: one call waits, one is an orphan, one unknown."""
    for owner in ("alice", "acme\x1fbob", "acme\x1fcarl"):
        calls = [gated(f"{owner[-3:]}{n}", principal=owner, thread_id="t") for n in range(3)]
        await ask(store, *calls, principal=owner)
        await store.move(calls[1].id, State.CLAIMED, decision=Decision(True, "bob"))
        await store.move(calls[2].id, State.CLAIMED)
        await store.move(calls[2].id, State.UNKNOWN, output=Output("?", True))
        clock.advance(10)


async def calls(store: FullStore, which: WhichCalls, tenant: str | None = None) -> list[str]:
    return [call.id for call in (await store.operators.calls(which, tenant, 100)).items]


async def test_everybodys_calls_are_listed_by_state_and_tenant(store: FullStore, clock: Clock) -> None:
    await fill(store, clock)
    for which, number in (("pending", 0), ("orphaned", 1), ("unknown", 2)):
        assert await calls(store, which) == [f"{name}{number}" for name in ("bob", "arl", "ice")]  # type: ignore[arg-type]
        assert await calls(store, which, "acme") == [f"bob{number}", f"arl{number}"]  # type: ignore[arg-type]
        assert await calls(store, which, "") == [f"ice{number}"]  # type: ignore[arg-type]
    assert await calls(store, "claimed") == []
    await store.lease_thread("alice", "t", "support", "r9")
    assert await calls(store, "claimed") == ["ice1"]
    found = await store.operators.call("bob1")
    assert found is not None
    assert (found.principal, found.tool, found.run_key, found.is_orphaned) == ("acme\x1fbob", "refund", "r1", True)
    thread = await store.read_thread("acme\x1fbob", "t")
    assert thread is not None
    assert found.idempotency_key == f"{thread.key}:call-bob1"
    assert await store.operators.call("nothing") is None


async def test_pages_go_on_where_the_one_before_ended(store: FullStore, clock: Clock) -> None:
    await fill(store, clock)
    for list_page in (
        lambda cursor: store.operators.calls("pending", None, 1, cursor),
        lambda cursor: store.operators.threads(None, 1, cursor),
    ):
        cursor, owners = None, []
        while True:
            page = await list_page(cursor)
            owners += [one.principal for one in page.items]
            if (cursor := page.next_cursor) is None:
                break
        assert owners == ["acme\x1fbob", "acme\x1fcarl", "alice"]
    for bad in ("x", "W10", "WzEsMl0", "é"):
        with pytest.raises(InvalidRequest):
            await store.operators.threads(None, 1, bad)
        with pytest.raises(InvalidRequest):
            await store.operators.calls("unknown", None, 1, bad)


async def test_a_cursor_says_nothing_of_another_tenant(
    store: FullStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page may end behind rows of others: many of them are read before one of ours comes."""
    await fill(store, clock)
    mine = gated("zed0", principal="zeta\x1fzed", thread_id="t")
    await ask(store, mine, principal="zeta\x1fzed")
    monkeypatch.setattr("agui_gate.stores.sql.operators.STEP", 1)
    monkeypatch.setattr("agui_gate.stores.sql.operators.MOST_STEPS", 1)
    lists: list[Callable[[str | None], Awaitable[Found[Any]]]] = [
        lambda cursor: store.operators.threads("zeta", 1, cursor),
        lambda cursor: store.operators.calls("pending", "zeta", 1, cursor),
    ]
    for list_page in lists:
        cursor: str | None = None
        found: list[str] = []
        for _ in range(9):
            page = await list_page(cursor)
            found += [one.principal for one in page.items]
            if (cursor := page.next_cursor) is None:
                break
            told = urlsafe_b64decode(cursor + "==").decode()
            assert "zeta" in told or ("acme" not in told and "alice" not in told)
        assert (cursor, found) == (None, ["zeta\x1fzed"])
    gone = urlsafe_b64encode(b"[987654321]").decode()
    for list_page in lists:
        with pytest.raises(InvalidRequest):
            await list_page(gone)


async def test_threads_and_runs_say_whose_they_are_and_whether_they_are_lost(store: FullStore, clock: Clock) -> None:
    await fill(store, clock)
    await store.lease_thread("acme\x1fbob", "t", "support", "r9")
    (thread,) = [one for one in (await store.operators.threads("acme", 10)).items if one.run_key == "r9"]
    assert (thread.principal, thread.id, thread.run_status, thread.pending) == ("acme\x1fbob", "t", "running", 1)
    assert [run.thread_id for run in (await store.operators.runs("evil", 10)).items] == []
    (run,) = (await store.operators.runs("acme", 10)).items
    assert (run.run_key, run.is_lost, run.lease_ms) == ("r9", False, LEASE_MS)
    clock.advance(2 * LEASE_MS)
    (run,) = (await store.operators.runs(None, 10)).items
    assert (run.is_lost, run.lease_ms) == (True, -LEASE_MS)


async def test_a_run_is_asked_to_stop_and_the_trail_says_by_whom_and_why(store: FullStore, clock: Clock) -> None:
    assert await store.operators.ask_to_stop("alice", "t", ACT, "r1") is None
    await store.lease_thread("alice", "t", "support", "r1")
    assert await store.operators.ask_to_stop("alice", "t", ACT, "r0") is None, "a run that has ended: not the next one"
    assert await store.operators.ask_to_stop("alice", "t", ACT, "r1") == "r1"
    assert set(await store.take_stops(["r1"])) == {"r1"}
    (event,) = (await store.read_events(limit=10)).events
    assert (event.kind, event.by, event.way, event.run_key, event.approval_id) == (
        "stopped",
        "olga",
        "operator",
        "r1",
        "",
    )
    assert "why not" not in event.body
    assert await store.trail.reason(event) == "why not"
    clock.advance(2 * LEASE_MS)
    assert await store.operators.ask_to_stop("alice", "t", ACT, "r1") is None


async def _unknown(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    ref = ConversationRef("t", "o", conversation_id="conv")
    await store.commit(thread, Change(entries=said("a"), approvals=[gated()], ref=ref, status="waiting"), "r1")
    await store.move("a1", State.CLAIMED, decision=Decision(True, "bob", way="http"))
    await store.move("a1", State.UNKNOWN, output=Output("?", True))


@pytest.mark.parametrize("to", [State.DONE, State.FAILED])
async def test_an_unknown_call_is_settled_once_under_the_lease(store: FullStore, to: State) -> None:
    await _unknown(store)
    with pytest.raises(LeaseLost):
        await store.operators.settle("a1", to, FOUND, ACT, "decide_1")
    await store.lease_thread("alice", "t", "support", "decide_1", whole=False)
    settled = await store.operators.settle("a1", to, FOUND, ACT, "decide_1")
    assert (settled.state, settled.output) == (to, FOUND)
    thread = await store.read_thread("alice", "t")
    assert thread is not None
    assert (thread.approvals, thread.ref) == ([settled], None)
    assert settled.decision is not None
    assert settled.decision.by == "bob", "who approved it did"
    with pytest.raises(ApprovalRefused, match=f"is {to}"):
        await store.operators.settle("a1", State.FAILED, FOUND, ACT, "decide_1")
    with pytest.raises(NotFound):
        await store.operators.settle("a2", State.FAILED, FOUND, ACT, "decide_1")
    told = [(event.kind, event.by) for event in (await store.read_events(limit=10)).events]
    assert told[-2:] == [("settled", "olga"), (str(to), "")]
    notices = await store.take_notices("x", limit=10)
    assert [notice.about for notice in notices if str(to) in notice.body] == ["a1"]


@pytest.mark.parametrize("state", [State.CLAIMED, State.REJECTED, State.PENDING])
async def test_what_is_not_unknown_is_not_settled(store: FullStore, state: State) -> None:
    await ask(store, gated())
    if state is not State.PENDING:
        await store.move("a1", state)
    await store.lease_thread("alice", "t", "support", "decide_1", whole=False)
    with pytest.raises(ApprovalRefused):
        await store.operators.settle("a1", State.DONE, FOUND, ACT, "decide_1")
    record = await store.approval("alice", "a1")
    assert record is not None
    assert record.state is state


async def test_a_thread_is_handed_on_with_its_calls(store: FullStore) -> None:
    await ask(store, gated("a1"))
    thread = await store.lease_thread("alice", "t", "support", "decide_1", whole=False)
    with pytest.raises(LeaseLost):
        await store.operators.hand_on(thread, "bob", ACT, "decide_2")
    await store.operators.hand_on(thread, "bob", ACT, "decide_1")
    await store.commit(thread, Change(status="waiting"), "decide_1")
    assert await store.read_thread("alice", "t") is None
    assert [one.id for one in (await store.list_approvals("bob", limit=10)).approvals] == ["a1"]
    assert (await store.list_approvals("alice", limit=10)).approvals == []
    await store.move("a1", State.CLAIMED)
    events = (await store.read_events(limit=10)).events
    assert [event.kind for event in events] == ["asked", "handed_on", "claimed"]
    said = json.loads(events[1].body)
    assert (said["from"], said["to"], await store.trail.reason(events[1])) == ("alice", "bob", "why not")
    await ask(store, gated("a2"))
    other = await store.lease_thread("alice", "t", "support", "decide_3", whole=False)
    with pytest.raises(InvalidRequest, match="has a thread 't' already"):
        await store.operators.hand_on(other, "bob", ACT, "decide_3")


async def test_a_freeze_of_an_operator_is_in_the_trail(store: FullStore) -> None:
    wanted = Freeze(tool="refund", reason="why not")
    assert await store.operators.freeze(wanted, ACT)
    assert [one.tool for one in await store.freezes()] == ["refund"]
    assert await store.operators.freeze(wanted, ACT, lift=True)
    assert not await store.operators.freeze(wanted, ACT, lift=True)
    events = (await store.read_events(limit=10)).events
    assert [(event.kind, event.by, event.thread) for event in events] == [
        ("frozen", "olga", "0"),
        ("lifted", "olga", "0"),
    ]


def test_only_stores_that_have_it_have_it() -> None:
    assert hasattr(MemoryStore(), "operators")
    assert "operators" not in vars(Store)
