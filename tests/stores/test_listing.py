"""The contract of `ThreadStore`'s lists, titles and deletion. Over every store."""

import asyncio
import json
import re
from random import Random
from typing import Any

import pytest

from agui_gate.core.approvals import State
from agui_gate.core.transcript import ConversationRef
from agui_gate.errors import InvalidRequest, NotFound, ThreadBusy, Unavailable
from agui_gate.stores.base import LEASE_MS, Change, ThreadHead
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.cursor import MAX_CURSOR, PAGE_BYTES, Place, from_cursor, to_cursor
from agui_gate.stores.sql import lists
from agui_gate.stores.sqlite import SQLiteStore
from tests.stores.support import Clock, ask, gated, ids, pending, said
from tests.support.chance import seeds

pytestmark = pytest.mark.anyio


async def talk(
    store: FullStore, thread_id: str, principal: str = "alice", agent: str = "support", **change: Any
) -> None:
    """One run that ends."""
    thread = await store.lease_thread(principal, thread_id, agent, f"run of {thread_id}")
    await store.commit(thread, Change(entries=said("a"), status="finished", **change), f"run of {thread_id}")


async def talk_in_turn(store: FullStore, clock: Clock, *thread_ids: str, others: str = "") -> None:
    for thread_id in thread_ids:
        clock.advance(1)
        await talk(store, thread_id, agent="other" if thread_id in others else "support")


async def names(store: FullStore, principal: str = "alice", *, archived: bool = False) -> list[str]:
    page = await store.list_threads(principal, limit=100, archived=archived)
    assert page.next_cursor is None
    return [head.id for head in page.threads]


async def delete(store: FullStore, thread_id: str, principal: str = "alice") -> None:
    thread = await store.lease_thread(principal, thread_id, "support", "delete")
    await store.delete_thread(thread, "delete")


# --- lists


async def test_nobody_has_threads_at_first(store: FullStore) -> None:
    page = await store.list_threads("alice", limit=1)
    assert (page.threads, page.next_cursor) == ([], None)


async def test_a_head_says_what_a_list_needs(store: FullStore, clock: Clock) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    created = clock.now
    clock.advance(5)
    await store.commit(thread, Change(entries=said("a"), approvals=[gated()], default_title="Or\x00ders 😀"), "r1")
    (head,) = (await store.list_threads("alice", limit=10)).threads
    assert head == ThreadHead(
        id="t",
        agent="support",
        title="Or\x00ders 😀",
        archived=False,
        created_at=created,
        updated_at=clock.now,
        run_key="r1",
        run_status="running",
        pending=1,
    )


async def test_a_run_that_died_counts_as_interrupted(store: FullStore, clock: Clock) -> None:
    await store.lease_thread("alice", "t", "support", "r1")
    clock.advance(LEASE_MS)
    (head,) = (await store.list_threads("alice", limit=10)).threads
    assert (head.run_key, head.run_status) == ("r1", "interrupted")


async def test_only_what_still_waits_is_counted(store: FullStore, clock: Clock) -> None:
    await ask(store, gated("a1"), gated("a2"), gated("a3", expires_at=10), gated("a4"))
    await ask(store, gated("b1"), thread_id="other")
    await store.move("a1", State.REJECTED)
    await store.move("a2", State.CLAIMED)
    clock.advance(10)
    heads = {head.id: head.pending for head in (await store.list_threads("alice", limit=10)).threads}
    assert heads == {"t": 1, "other": 1}


async def test_the_newest_come_first_and_a_change_brings_a_thread_to_the_front(store: FullStore, clock: Clock) -> None:
    await talk_in_turn(store, clock, "a", "b", "c", "a")
    assert await names(store) == ["a", "c", "b"]


async def test_lists_are_their_principals_own(store: FullStore, clock: Clock) -> None:
    await talk_in_turn(store, clock, "a", "b", "c")
    await talk(store, "a", principal="bob")
    await ask(store, gated("hers", thread_id="a", principal="alice"), thread_id="a")
    assert await names(store, "bob") == ["a"]
    (his,) = (await store.list_threads("bob", limit=10)).threads
    assert his.pending == 0
    assert await names(store, "carol") == []
    page = await store.list_threads("alice", limit=1)
    stolen = await store.list_threads("bob", limit=10, cursor=page.next_cursor)
    assert {head.run_key for head in stolen.threads} <= {"run of a"}, "her cursor shows him his own alone"


async def test_a_page_of_many_agents_reads_the_threads_that_it_shows_alone(path: str, clock: Clock) -> None:
    """Of each agent the newest are looked for, along an index. Not all of those are read."""
    store, sent = SQLiteStore(path, clock=clock), list[str]()
    await store.start()
    for number in range(12):
        clock.advance(1)
        await talk(store, f"t{number}", agent=f"agent-{number % 4}")
    await store._run(lambda db: db.connection.set_trace_callback(sent.append))
    page = await store.list_threads("alice", limit=2)
    await store._run(lambda db: db.connection.set_trace_callback(None))
    (read,) = re.findall(r"json_each\('(\[.*?\])'\)", " ".join(sent))
    assert ([head.id for head in page.threads], len(json.loads(read))) == (["t11", "t10"], 3)
    await store.aclose()


async def test_a_list_of_many_agents_takes_a_page_of_all_and_not_of_each(
    store: FullStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[int, int]] = []

    def decode(text: str) -> list[tuple[list[tuple[int, int]]]]:
        of_agents = decode_newest(text)
        found.extend(place for (places,) in of_agents for place in places)
        return of_agents

    decode_newest = lists._decode_newest
    monkeypatch.setattr(lists, "_decode_newest", decode)
    for number in range(24):
        clock.advance(1)
        await talk(store, f"t{number}", agent=f"agent-{number % 6}")
    page = await store.list_threads("alice", limit=3)
    assert ([head.id for head in page.threads], len(found)) == (["t23", "t22", "t21"], 4)


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_a_list_of_one_agent_and_of_archived_threads_too(store: FullStore, clock: Clock, limit: int) -> None:
    await talk_in_turn(store, clock, "a", "b", "c", "d", "e", others="bc")
    await store.update_thread("alice", "a", archived=True)
    await store.update_thread("alice", "c", archived=True)

    async def listed(**wanted: Any) -> list[str]:
        seen: list[str] = []
        cursor: str | None = None
        for _ in range(6):
            page = await store.list_threads("alice", limit=limit, cursor=cursor, **wanted)
            seen += [head.id for head in page.threads]
            cursor = page.next_cursor
            if cursor is None:
                break
        return seen

    assert sorted(await listed(archived=None)) == ["a", "b", "c", "d", "e"]
    assert await listed(agent="support") == ["e", "d"]
    assert await listed(agent="support", archived=None) == ["e", "d", "a"]
    assert sorted(await listed(agent="other", archived=None)) == ["b", "c"]
    assert await listed(agent="other", archived=True) == ["c"]
    assert await listed(agent="nobody", archived=None) == []


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 12, 13])
async def test_pages_show_everything_once_even_of_one_moment(store: FullStore, clock: Clock, limit: int) -> None:
    for number in range(12):
        clock.advance(number % 3 == 0)  # three of each moment
        await talk(store, f"t{number}", agent=f"agent-{number % 4}")
    seen: list[ThreadHead] = []
    cursor: str | None = None
    for _ in range(13):
        page = await store.list_threads("alice", limit=limit, cursor=cursor)
        assert len(page.threads) <= limit
        seen += page.threads
        cursor = page.next_cursor
        if cursor is None:
            break
    assert cursor is None
    assert sorted(head.id for head in seen) == sorted(f"t{number}" for number in range(12))
    assert [head.updated_at for head in seen] == sorted((head.updated_at for head in seen), reverse=True)


@pytest.mark.parametrize("seed", seeds(6))
async def test_a_cursor_stays_right_while_threads_change(store: FullStore, clock: Clock, seed: int) -> None:
    """Nothing twice; everything that was left alone; nothing that was deleted before its page."""
    rng = Random(seed)
    alive = {f"t{number}" for number in range(30)}
    untouched = set(alive)
    await talk_in_turn(store, clock, *sorted(alive, key=lambda _: rng.random()))
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list_threads("alice", limit=rng.randint(1, 5), cursor=cursor)
        assert {head.id for head in page.threads} <= alive
        seen += [head.id for head in page.threads]
        if (cursor := page.next_cursor) is None:
            break
        clock.advance(1)
        victim, changed = rng.sample(sorted(alive), 2)
        await delete(store, victim)
        await talk(store, changed)
        await talk(store, f"new{len(seen)}")
        alive = (alive - {victim}) | {f"new{len(seen)}"}
        untouched -= {victim, changed}
    assert len(seen) == len(set(seen))
    assert untouched <= set(seen)


NO_CURSORS = [
    "", "x", "é", "\x00", "WzEsMl", "WzEsMl0=", "WzEsMl0!", " WzEsMl0", "WzEsIDJd", "W10", "WzFd",
    "WzEsMiwzXQ", "Wy0xLDJd", "WzEuNSwyXQ", "WzEsOTIyMzM3MjAzNjg1NDc3NTgwOF0", "bnVsbA", "W3RydWUsMV0", "_____w",
    "A" * (MAX_CURSOR + 1),
]  # fmt: skip
"""Cut off, padded, with blanks, too few, too many, negative, broken and too large numbers, other values, no text."""


@pytest.mark.parametrize("cursor", NO_CURSORS)
async def test_a_cursor_that_is_none_is_refused(store: FullStore, cursor: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await store.list_threads("alice", limit=1, cursor=cursor)
    assert caught.value.well_formed


def test_a_cursor_is_safe_in_a_url_and_comes_back_the_same() -> None:
    for place in (Place(0, 0), Place(1_700_000_000_000, 2**62), Place(2**63 - 1, 2**63 - 1)):
        cursor = to_cursor(place)
        assert from_cursor(cursor) == place
        assert cursor.replace("-", "").replace("_", "").isalnum()
        assert len(cursor) <= MAX_CURSOR


# --- titles and putting away


async def test_archived_threads_have_a_list_of_their_own(store: FullStore, clock: Clock) -> None:
    await talk_in_turn(store, clock, "a", "b", "c")
    head = await store.update_thread("alice", "b", archived=True)
    assert head is not None
    assert head.archived
    assert (await names(store), await names(store, archived=True)) == (["c", "a"], ["b"])
    read = await store.read_thread("alice", "b")
    assert read is not None
    assert read.archived
    clock.advance(1)
    await talk(store, "b")
    assert await names(store, archived=True) == ["b"], "it stays where the person put it"
    await store.update_thread("alice", "b", archived=False)
    assert await names(store) == ["b", "c", "a"]


async def test_a_title_is_set_kept_and_removed(store: FullStore) -> None:
    await talk(store, "t")
    for title in ("Orders", None, "x"):
        head = await store.update_thread("alice", "t", title=title)
        assert head is not None
        assert head.title == title
        unchanged = await store.update_thread("alice", "t")
        assert unchanged == head
        read = await store.read_thread("alice", "t")
        assert read is not None
        assert read.title == title


async def test_neither_makes_a_thread_newer(store: FullStore, clock: Clock) -> None:
    await talk_in_turn(store, clock, "a", "b")
    clock.advance(1)
    head = await store.update_thread("alice", "a", title="A", archived=False)
    assert head is not None
    assert head.updated_at == clock.now - 2
    assert await names(store) == ["b", "a"]


async def test_a_running_thread_can_be_named_and_the_run_goes_on(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.update_thread("alice", "t", title="Hers", archived=True)
    await store.commit(thread, Change(default_title="Automatic", entries=said("a"), status="finished"), "r1")
    read = await store.read_thread("alice", "t")
    assert read is not None
    assert (read.title, read.archived, ids(read)) == ("Hers", True, ["a"])


async def test_the_automatic_title_is_for_threads_without_one(store: FullStore) -> None:
    await talk(store, "t", default_title="first")
    await talk(store, "t", default_title="second")
    read = await store.read_thread("alice", "t")
    assert read is not None
    assert read.title == "first"


async def test_what_is_not_yours_can_not_be_changed(store: FullStore) -> None:
    await talk(store, "t")
    assert await store.update_thread("bob", "t", title="his") is None
    assert await store.update_thread("alice", "unknown", title="x") is None
    assert await store.read_thread("alice", "unknown") is None
    read = await store.read_thread("alice", "t")
    assert read is not None
    assert read.title is None


async def test_the_providers_id_names_the_thread_here_too(store: FullStore) -> None:
    await talk(store, "mine", ref=ConversationRef("t", "o", conversation_id="conv_1"))
    head = await store.update_thread("alice", "conv_1", title="x")
    assert head is not None
    assert head.id == "mine"
    assert await store.update_thread("bob", "conv_1", title="x") is None


# --- deletion


async def test_nothing_is_left_of_a_deleted_thread(store: FullStore) -> None:
    await ask(store, gated("a1"), gated("a2", provider_ref="conv_1"))
    await store.move("a2", State.CLAIMED)
    await talk(store, "t", ref=ConversationRef("t", "o", conversation_id="conv_1"), state={"a": 1})
    await delete(store, "t")
    assert await store.read_thread("alice", "t") is None
    assert await store.read_thread("alice", "conv_1") is None
    assert await pending(store, "alice") == []
    assert await store.approval("alice", "a1") is None
    with pytest.raises(NotFound):
        await store.move("a2", State.DONE)
    assert await names(store) == []


async def test_a_deleted_id_is_a_new_thread_with_another_key(store: FullStore) -> None:
    before = await ask(store, gated("a1"))
    await delete(store, "t")
    after = await ask(store, gated("a1"))
    assert (after.entries, [approval.state for approval in after.approvals]) == ([], [State.PENDING])
    assert after.key != before.key
    claimed = await store.move("a1", State.CLAIMED)
    assert claimed.state is State.CLAIMED


async def test_the_others_stay(store: FullStore) -> None:
    await ask(store, gated("a1"))
    await ask(store, gated("b1", principal="bob"), principal="bob")
    await ask(store, gated("c1"), thread_id="other")
    await delete(store, "t")
    assert [approval.id for approval in await pending(store, "alice")] == ["c1"]
    assert [approval.id for approval in await pending(store, "bob")] == ["b1"]
    assert (await names(store), await names(store, "bob")) == (["other"], ["t"])


async def test_of_two_threads_with_one_provider_id_the_other_one_keeps_it(store: FullStore, clock: Clock) -> None:
    ref = ConversationRef("t", "o", conversation_id="conv_1")
    await talk(store, "older", ref=ref)
    clock.advance(1)
    await talk(store, "newer", ref=ref)
    await delete(store, "conv_1")
    left = await store.read_thread("alice", "conv_1")
    assert left is not None
    assert left.id == "older"


async def test_only_who_holds_the_lease_deletes(store: FullStore, clock: Clock) -> None:
    await ask(store, gated("a1"))
    mine = await store.lease_thread("alice", "t", "support", "mine")
    with pytest.raises(ThreadBusy):
        await store.delete_thread(mine, "not mine")
    clock.advance(LEASE_MS)
    await store.lease_thread("alice", "t", "support", "taken over")
    with pytest.raises(ThreadBusy):
        await store.delete_thread(mine, "mine")
    assert [approval.id for approval in await pending(store, "alice")] == ["a1"]
    await store.delete_thread(mine, "taken over")
    with pytest.raises(ThreadBusy):
        await store.delete_thread(mine, "taken over")
    with pytest.raises(ThreadBusy):
        await store.commit(mine, Change(entries=said("late")), "taken over")
    await store.renew(["taken over"])
    assert await store.read_thread("alice", "t") is None


async def test_a_cancelled_deletion_happens_or_it_does_not(store: FullStore) -> None:
    await ask(store, gated("a1"))
    thread = await store.lease_thread("alice", "t", "support", "delete")
    task = asyncio.create_task(store.delete_thread(thread, "delete"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with asyncio.timeout(60):
        while await store.read_thread("alice", "t") is not None:
            pass  # on PostgreSQL it goes on meanwhile, on a connection of its own
    assert await store.approval("alice", "a1") is None


async def test_a_closed_store_says_so(store: FullStore) -> None:
    await talk(store, "t")
    thread = await store.lease_thread("alice", "t", "support", "r")
    await store.aclose()
    for attempt in (store.list_threads("a", limit=1), store.update_thread("a", "t"), store.delete_thread(thread, "r")):
        with pytest.raises(Unavailable):
            await attempt


async def test_a_page_of_approvals_is_bounded_in_bytes(store: FullStore) -> None:
    """A hundred calls of 100 KB are ten pages; one that is larger than a page is one."""
    text = '{"text":"' + "x" * 100_000 + '"}'
    await ask(store, *(gated(f"a{n:03}", arguments=text) for n in range(30)))
    await ask(store, gated("large", arguments='{"text":"' + "x" * 2 * PAGE_BYTES + '"}'))
    for which in ("pending", "all"):
        ids: list[str] = []
        cursor = None
        while True:
            page = await store.list_approvals("alice", limit=100, cursor=cursor, which=which)
            size = sum(len(approval.arguments) for approval in page.approvals)
            assert size <= PAGE_BYTES or len(page.approvals) == 1
            ids += [approval.id for approval in page.approvals]
            cursor = page.next_cursor
            if cursor is None:
                break
        expected = [*(f"a{n:03}" for n in range(30)), "large"]
        assert ids == (expected if which == "pending" else expected[::-1])
