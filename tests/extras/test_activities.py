"""What is shown right now, and what the journal gets of it."""

import msgspec
import pytest

from agui_gate.core.journal import Journal
from agui_gate.core.transcript import ActivityEntry, CallPart, Entry, Text, TurnEntry, UserEntry
from agui_gate.extras.activities import Activities, activities_of
from agui_gate.protocol.snapshot import agui_messages
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads.leased_thread import LeasedThread

pytestmark = pytest.mark.anyio


def shown(done: int, name: str = "a", call_id: str = "c") -> ActivityEntry:
    return ActivityEntry(f"{call_id}-activity-{name}", name, {"done": done}, call_id)


def test_the_journal_gets_the_first_and_the_last() -> None:
    journal: list[Entry] = []
    activities = Activities(journal.extend, lambda _: True)
    for done in range(4):
        activities.show(shown(done))
    activities.show(shown(1, "b"))
    assert (journal, activities.entries()) == ([shown(0), shown(1, "b")], [shown(3)])
    (first, other) = agui_messages([*journal, *activities.entries()], [])
    assert (first["content"], other["content"]) == ({"done": 3}, {"done": 1})
    activities.over("another")
    activities.over("c")
    activities.over("c")
    assert (journal, activities.entries()) == ([shown(0), shown(1, "b"), shown(3)], [])


def test_a_call_that_runs_again_shows_it_in_the_same_place() -> None:
    journal: list[Entry] = []
    for done in (5, 1):
        activities = Activities(journal.extend, lambda _: True)
        activities.show(shown(done))
        activities.over("c")
    (message,) = agui_messages(journal, [])
    assert message == {"id": "c-activity-a", "role": "activity", "activityType": "a", "content": {"done": 1}}


def test_a_thread_that_is_full_keeps_none_and_snapshots_hold_them_while_they_are_shown() -> None:
    journal: list[Entry] = []
    activities = Activities(journal.extend, lambda _: False)
    activities.show(shown(1))
    activities.show(shown(2))
    assert activities.entries() == [shown(2)]
    activities.over("c")
    assert (journal, activities.entries()) == ([], [])


def test_one_that_a_call_which_stays_showed_later_outlives_a_branch() -> None:
    turns = [TurnEntry(f"t{name}", (CallPart(name, name, "copy", "{}", f"m{name}"),)) for name in "cd"]
    later = [shown(1, call_id="c"), shown(1, call_id="d"), shown(2, call_id="c")]
    dropped = Journal([turns[0], UserEntry("u", (Text("more"),)), turns[1], *later]).branch(1)
    assert [entry for entry in dropped.outlives if isinstance(entry, ActivityEntry)] == [later[0], later[2]]


async def test_a_snapshot_in_mid_run_holds_what_is_shown_right_now() -> None:
    store = MemoryStore()
    await store.start()
    thread = LeasedThread(store, await store.lease_thread("p", "t", "a", "run_1"), "run_1")
    activities_of(thread).show(shown(1))
    activities_of(thread).show(shown(2))
    await thread.commit()
    assert (await kept_in(store)) == [shown(1)]  # the change alone is worth no commit
    (message,) = msgspec.json.decode(thread.messages().messages)
    conversation, _ = thread.snapshot()
    assert message["content"] == {"done": 2}
    assert msgspec.json.decode(conversation()) == [message]
    activities_of(thread).over("c")
    await thread.commit()
    assert (await kept_in(store)) == [shown(1), shown(2)]
    assert msgspec.json.decode(thread.messages().messages) == [message]


async def kept_in(store: MemoryStore) -> list[Entry]:
    thread = await store.read_thread("p", "t")
    assert thread is not None
    return list(thread.entries)
