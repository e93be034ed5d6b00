"""The contract of `ThreadStore`: leases, journals, fields, principals. Over every store."""

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from agui_gate.core.transcript import (
    CallPart,
    CardClosedEntry,
    CardEntry,
    ConversationRef,
    Entry,
    Media,
    Output,
    ReasoningPart,
    ResultEntry,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
)
from agui_gate.errors import IllegalMove, LeaseLost, ThreadBusy, Unavailable
from agui_gate.stores.base import LEASE_MS, AtWork, Change, JournalVersion, RunStatus, new_key, provider_id
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sql import leases
from tests.stores.support import Clock, gated, ids, pending, said

pytestmark = pytest.mark.anyio

ONE_OF_EACH: list[Entry] = [
    UserEntry(
        "m1", (Text("grüß\n\x00 😀"), Media("image", "url", "https://example.org/a.png", "image/png")), minted=True
    ),
    TurnEntry(
        "t1",
        (
            ReasoningPart("rs", ("because",), encrypted="sealed", private={"nested": [1, {"a": None}]}),
            TextPart("x", "Well."),
            CallPart("c1", "w1", "refund", '{"amount": 50.0}', "x", kind="gated"),
        ),
        origin="openai",
        ref=ConversationRef("t1", "openai", previous_response_id="resp_1", committed_at=5),
    ),
    ResultEntry("c0", "m0", Output("no", is_error=True)),
    CardEntry("card", "m2", "a1", "{}"),
    CardClosedEntry("card", "m3", '{"accepted": true}'),
]


async def append(store: FullStore, *texts: str, keep: int | None = None, thread_id: str = "t") -> None:
    thread = await store.lease_thread("alice", thread_id, "support", "append")
    await store.commit(thread, Change(keep=keep, entries=said(*texts), status="finished"), "append")


# --- opening


async def test_a_thread_gets_a_key_that_no_other_one_has(store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two may be made in the same ms: then the random bits may be the same."""
    keys = iter([7, 7, 8])
    monkeypatch.setattr(leases, "new_key", lambda: next(keys))
    first = await store.lease_thread("alice", "a", "support", "r1")
    second = await store.lease_thread("alice", "b", "support", "r2")
    assert first.key != second.key
    assert [found.key for name in "ab" if (found := await store.read_thread("alice", name))] == [first.key, second.key]


def test_keys_grow_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So what is new is written side by side. A store takes keys of 63 bits."""
    year = 365 * 24 * 3600 * 10**9
    moments = [56 * year, 56 * year + 3_000_000, 140 * year]
    keys = []
    for moment in moments:
        monkeypatch.setattr("agui_gate.stores.base.time", SimpleNamespace(time_ns=lambda now=moment: now))
        keys.append(new_key())
    assert keys == sorted(keys)
    assert keys[-1] < 2**63


async def test_a_new_thread_is_empty_and_belongs_to_who_opened_it(store: FullStore, clock: Clock) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    assert (thread.principal, thread.id, thread.agent) == ("alice", "t", "support")
    assert thread.created_at == thread.updated_at == thread.now == clock.now
    assert (thread.entries, thread.approvals, thread.state, thread.ref, thread.title) == ([], [], None, None, None)
    assert (thread.run_key, thread.run_status) == (None, None)


async def test_a_journal_that_is_known_need_not_be_read(store: FullStore, clock: Clock) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1", known=JournalVersion("0", "r0", "finished", 3))
    assert (thread.is_known, thread.entries) == (False, [])
    await store.commit(thread, Change(entries=said("a", "b"), approvals=[gated("c1")], status="waiting"), "r1")

    known = JournalVersion(thread.key, "r1", "waiting", 2)
    thread = await store.lease_thread("alice", "t", "support", "r2", known=known)
    assert (thread.is_known, thread.entries, [one.id for one in thread.approvals]) == (True, [], ["c1"])
    await store.commit(thread, Change(entries=said("c"), status="waiting"), "r2")

    last = "r2"
    for name, other in {"key": "1", "run_key": "r1", "status": "finished", "entries": 2}.items():
        before = await store.read_thread("alice", "t")
        assert before is not None
        old = msgspec.structs.replace(JournalVersion(before.key, last, "waiting", 3), **{name: other})
        last = f"not by {name}"
        thread = await store.lease_thread("alice", "t", "support", last, known=old)
        assert (thread.is_known, thread.entries) == (False, before.entries)
        assert [one.id for one in thread.approvals] == ["c1"]
        await store.commit(thread, Change(status="waiting"), last)

    thread = await store.lease_thread("alice", "t", "support", "silent")
    clock.advance(LEASE_MS + 1)
    thread = await store.lease_thread(
        "alice", "t", "support", "r3", known=JournalVersion(thread.key, "silent", "waiting", 3)
    )
    assert (thread.is_known, len(thread.entries)) == (False, 3)


async def test_reading_makes_no_thread(store: FullStore) -> None:
    assert await store.read_thread("alice", "t") is None
    assert await store.read_thread("alice", "t") is None


async def test_the_same_id_of_another_principal_is_another_thread(store: FullStore) -> None:
    await append(store, "hers")
    theirs = await store.lease_thread("bob", "t", "support", "r2")
    assert theirs.entries == []
    assert ids(await store.read_thread("alice", "t")) == ["hers"]
    assert await store.read_thread("carol", "t") is None


# --- leases


async def test_a_second_run_on_a_thread_is_busy(store: FullStore) -> None:
    await store.lease_thread("alice", "t", "support", "r1")
    with pytest.raises(ThreadBusy):
        await store.lease_thread("alice", "t", "support", "r2")
    running = await store.read_thread("alice", "t")
    assert running is not None
    assert (running.run_key, running.run_status) == ("r1", "running")
    await store.lease_thread("alice", "another", "support", "r2")


async def test_of_many_runs_that_start_at_once_one_gets_the_thread(store: FullStore) -> None:
    opened = await asyncio.gather(
        *(store.lease_thread("alice", "t", "support", f"r{n}") for n in range(20)), return_exceptions=True
    )
    assert sum(isinstance(result, ThreadBusy) for result in opened) == 19


@pytest.mark.parametrize("status", ["finished", "waiting", "failed", "cancelled", "interrupted"])
async def test_a_status_ends_the_run_and_gives_the_lease_back(store: FullStore, status: RunStatus) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(status=status), "r1")
    after = await store.lease_thread("alice", "t", "support", "r2")
    assert (after.run_key, after.run_status) == ("r1", status), "what was before this run"
    with pytest.raises(ThreadBusy):
        await store.commit(thread, Change(default_title="late"), "r1")


async def test_a_commit_without_status_keeps_the_lease(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(entries=said("a")), "r1")
    with pytest.raises(ThreadBusy):
        await store.lease_thread("alice", "t", "support", "r2")
    await store.commit(thread, Change(entries=said("b"), status="finished"), "r1")
    assert ids(await store.read_thread("alice", "t")) == ["a", "b"]
    assert thread.entries == [], "the passed object is not touched"


async def test_a_silent_run_is_taken_over_and_can_change_nothing_more(store: FullStore, clock: Clock) -> None:
    silent = await store.lease_thread("alice", "t", "support", "r1")
    clock.advance(LEASE_MS - 1)
    with pytest.raises(ThreadBusy):
        await store.lease_thread("alice", "t", "support", "r2")
    clock.advance(1)
    seen = await store.read_thread("alice", "t")
    assert seen is not None
    assert (seen.run_key, seen.run_status) == ("r1", "interrupted")
    taken = await store.lease_thread("alice", "t", "support", "r2")
    assert (taken.run_key, taken.run_status) == ("r1", "interrupted")
    with pytest.raises(LeaseLost):
        await store.commit(
            silent, Change(entries=said("too late"), state=1, default_title="x", approvals=[gated()]), "r1"
        )
    await store.commit(taken, Change(entries=said("mine"), status="finished"), "r2")
    after = await store.read_thread("alice", "t")
    assert after is not None
    assert (ids(after), after.state, after.title, after.approvals) == (["mine"], None, None, [])


async def test_renewing_keeps_the_lease_of_those_named(store: FullStore, clock: Clock) -> None:
    for run_key in ("r1", "r2", "r3"):
        await store.lease_thread("alice", f"thread of {run_key}", "support", run_key)
    clock.advance(LEASE_MS - 1)
    assert set(await store.renew(["r1", "r2", "unknown"])) == {"unknown"}
    assert not await store.renew([])
    clock.advance(LEASE_MS - 1)
    for run_key in ("r1", "r2"):
        with pytest.raises(ThreadBusy):
            await store.lease_thread("alice", f"thread of {run_key}", "support", "new")
    await store.lease_thread("alice", "thread of r3", "support", "new")


async def test_renewing_does_not_bring_a_finished_or_taken_run_back(store: FullStore, clock: Clock) -> None:
    finished = await store.lease_thread("alice", "finished", "support", "r1")
    await store.commit(finished, Change(status="finished"), "r1")
    await store.lease_thread("alice", "taken", "support", "r2")
    clock.advance(LEASE_MS)
    await store.lease_thread("alice", "taken", "support", "r3")
    assert set(await store.renew(["r1", "r2", "r3"])) == {"r1", "r2"}, "they hold nothing, which is told"
    await store.lease_thread("alice", "finished", "support", "r4")
    clock.advance(LEASE_MS)
    await store.lease_thread("alice", "taken", "support", "r5")


async def test_a_late_run_that_nobody_replaced_may_go_on(store: FullStore, clock: Clock) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    clock.advance(LEASE_MS * 2)
    await store.commit(thread, Change(entries=said("slow")), "r1")
    assert not await store.renew(["r1"])
    with pytest.raises(ThreadBusy):
        await store.lease_thread("alice", "t", "support", "r2")


async def test_what_is_at_work_on_which_threads(store: FullStore, clock: Clock) -> None:
    waits = await store.lease_thread("alice", "t", "support", "r1")
    await store.lease_thread("alice", "u", "support", "r2")
    await store.lease_thread("bob", "t", "support", "r3")
    asked = [("alice", "t"), ("alice", "u"), ("bob", "t"), ("bob", "u")]
    begun = clock.now
    works = {("alice", "t"): "r1", ("alice", "u"): "r2", ("bob", "t"): "r3"}
    assert await store.at_work(asked) == {place: AtWork(run_key, begun) for place, run_key in works.items()}
    clock.advance(5)
    await store.commit(waits, Change(entries=said("a")), "r1")
    assert await store.at_work([("alice", "t")]) == {("alice", "t"): AtWork("r1", clock.now)}
    await store.commit(waits, Change(status="waiting"), "r1")
    clock.advance(LEASE_MS - 5)
    assert await store.at_work(asked) == {}, "one gave its lease back, the others' leases ended"
    assert await store.at_work([]) == {}


# --- the journal


async def test_entries_come_back_as_they_went_in(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(entries=ONE_OF_EACH[:2]), "r1")
    await store.commit(thread, Change(entries=ONE_OF_EACH[2:], status="finished"), "r1")
    after = await store.lease_thread("alice", "t", "support", "r2")
    assert after.entries == ONE_OF_EACH


async def test_many_batches_keep_their_order(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    expected: list[str] = []
    for batch in range(300):
        texts = [f"{batch}.{n}" for n in range(batch % 4)]
        expected += texts
        await store.commit(thread, Change(entries=said(*texts)), "r1")
    assert ids(await store.read_thread("alice", "t")) == expected


@pytest.mark.parametrize("keep", range(8))
async def test_keep_cuts_the_end_off_wherever_batches_lie(store: FullStore, keep: int) -> None:
    await append(store, "a", "b", "c")
    await append(store, "d")
    await append(store, "e", "f")
    await append(store, "x", "y", keep=keep)
    expected = [*"abcdef"[:keep], "x", "y"]
    assert ids(await store.read_thread("alice", "t")) == expected
    await append(store, "z")
    assert ids(await store.read_thread("alice", "t")) == [*expected, "z"], "later batches follow the cut"


async def test_cutting_everything_and_appending_nothing(store: FullStore) -> None:
    await append(store, "a", "b")
    await append(store, keep=0)
    assert ids(await store.read_thread("alice", "t")) == []
    await append(store, "c")
    assert ids(await store.read_thread("alice", "t")) == ["c"]


# --- fields


@pytest.mark.parametrize("state", [{"a": [1, 2.5, None, "x"]}, [], 0, False, "", None])
async def test_fields_are_set_and_stay_until_they_are_set_again(store: FullStore, clock: Clock, state: Any) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    ref = ConversationRef("t1", "openai", conversation_id="conv_1")
    clock.advance(5)
    await store.commit(thread, Change(state=state, ref=ref, default_title="Orders"), "r1")
    await store.commit(thread, Change(entries=said("a")), "r1")
    after = await store.read_thread("alice", "t")
    assert after is not None
    assert (after.state, after.ref, after.title, after.agent) == (state, ref, "Orders", "support")
    assert (after.created_at, after.updated_at, after.now) == (clock.now - 5, clock.now, clock.now)
    await store.commit(thread, Change(ref=None, state=None), "r1")
    after = await store.read_thread("alice", "t")
    assert after is not None
    assert (after.state, after.ref, after.title, after.agent) == (None, None, "Orders", "support")


async def test_what_was_read_is_a_copy(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(state={"list": [1]}, entries=said("a")), "r1")
    read = await store.read_thread("alice", "t")
    assert read is not None
    read.state["list"].append(2)
    read.entries.clear()
    again = await store.read_thread("alice", "t")
    assert again is not None
    assert again.state == {"list": [1]}
    assert ids(again) == ["a"]


# --- the provider's id as a name (S2)


async def name(store: FullStore, thread_id: str, ref: ConversationRef | None, principal: str = "alice") -> None:
    thread = await store.lease_thread(principal, thread_id, "support", "name")
    await store.commit(thread, Change(ref=ref, status="finished"), "name")


def test_the_alias_of_a_ref() -> None:
    assert provider_id(None) is None
    assert provider_id(ConversationRef("t", "o")) is None
    assert provider_id(ConversationRef("t", "o", previous_response_id="resp")) == "resp"
    assert provider_id(ConversationRef("t", "o", conversation_id="conv")) == "conv"


async def test_the_providers_current_id_finds_the_thread(store: FullStore) -> None:
    await name(store, "mine", ConversationRef("t", "o", conversation_id="conv_1"))
    found = await store.lease_thread("alice", "conv_1", "support", "r1")
    assert found.id == "mine"
    with pytest.raises(ThreadBusy):
        await store.lease_thread("alice", "mine", "support", "r2")
    seen = await store.read_thread("alice", "conv_1")
    assert seen is not None
    assert seen.key == found.key


async def test_only_the_current_id_does(store: FullStore) -> None:
    await name(store, "mine", ConversationRef("t", "o", previous_response_id="resp_1"))
    await name(store, "mine", ConversationRef("t", "o", previous_response_id="resp_2"))
    assert await store.read_thread("alice", "resp_1") is None
    assert await store.read_thread("alice", "resp_2") is not None
    await name(store, "mine", None)
    assert await store.read_thread("alice", "resp_2") is None


async def test_the_providers_id_is_no_way_into_another_principals_thread(store: FullStore) -> None:
    await name(store, "mine", ConversationRef("t", "o", conversation_id="conv_1"))
    assert await store.read_thread("bob", "conv_1") is None
    theirs = await store.lease_thread("bob", "conv_1", "support", "r1")
    assert (theirs.principal, theirs.id) == ("bob", "conv_1")


async def test_a_thread_of_that_very_id_comes_first(store: FullStore) -> None:
    await store.lease_thread("alice", "conv_1", "support", "r1")
    await name(store, "mine", ConversationRef("t", "o", conversation_id="conv_1"))
    seen = await store.read_thread("alice", "conv_1")
    assert seen is not None
    assert seen.id == "conv_1"


# --- atomicity and closing


async def test_a_commit_that_fails_changes_nothing(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(entries=said("a", "b"), approvals=[gated()]), "r1")
    before = await store.read_thread("alice", "t")
    ref = ConversationRef("t", "o", conversation_id="conv_1")
    for twice in (gated("a1", "another call"), gated("a2", "call-a1")):
        new = gated("fresh", "fresh call")
        change = Change(
            keep=1, entries=said("c"), approvals=[new, twice], state=1, ref=ref, default_title="x", status="finished"
        )
        with pytest.raises(IllegalMove):
            await store.commit(thread, change, "r1")
    with pytest.raises(TypeError):
        await store.commit(thread, Change(keep=0, entries=said("d"), state=object()), "r1")
    after = await store.read_thread("alice", "t")
    assert before is not None
    assert after is not None
    assert msgspec.structs.asdict(after) == msgspec.structs.asdict(before)
    assert await store.approval("alice", "fresh") is None
    assert await store.read_thread("alice", "conv_1") is None
    await store.commit(thread, Change(entries=said("still mine"), status="finished"), "r1")


async def test_one_call_of_a_commit_twice_is_refused(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    with pytest.raises(IllegalMove):
        await store.commit(thread, Change(approvals=[gated("a1", "same"), gated("a2", "same")]), "r1")
    assert await pending(store, "alice") == []


async def test_the_same_call_id_on_two_threads_is_two_calls(store: FullStore) -> None:
    for number in (1, 2):
        thread = await store.lease_thread("alice", f"t{number}", "support", "r")
        approval = gated(f"a{number}", "call", provider_ref="conv")
        await store.commit(thread, Change(approvals=[approval], status="waiting"), "r")
    assert [approval.id for approval in await pending(store, "alice")] == ["a1", "a2"]


async def test_a_closed_store_says_so(store: FullStore) -> None:
    await store.check()
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.aclose()
    await store.aclose()
    with pytest.raises(Unavailable):
        await store.check()
    with pytest.raises(Unavailable):
        await store.lease_thread("alice", "t", "support", "r2")
    with pytest.raises(Unavailable):
        await store.commit(thread, Change(), "r1")
    with pytest.raises(Unavailable):
        await pending(store, "alice")
