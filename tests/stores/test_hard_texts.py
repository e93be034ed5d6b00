"""Whatever a text has in it, every store gives it back as it was: NUL, quotes, what Unicode gives no meaning."""

import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import ConversationRef, Output, Text, UserEntry
from agui_gate.stores.base import MAX_LISTED, Change
from agui_gate.stores.capabilities import FullStore
from tests.stores.support import gated

pytestmark = pytest.mark.anyio

HARD = (
    "a\0b",
    "\0",
    "'; DROP TABLE threads; --",
    "\\",
    "\\'",
    "\ufdd0",
    "\ufdd00\0",
    "\x1f\x7f\u2028😀",
    ":now",
    "%s",
    "{}",
)


@pytest.mark.parametrize("hard", HARD)
async def test_a_thread_and_its_approvals(store: FullStore, hard: str) -> None:
    thread = await store.lease_thread(hard, hard, hard, f"r{hard}")
    change = Change(
        entries=[UserEntry(hard, (Text(hard),))],
        approvals=[gated(hard, hard, principal=hard, thread_id=hard, tool=hard, arguments=f'{{"a":"{len(hard)}"}}')],
        state={hard: [hard]},
        ref=ConversationRef(origin=hard, turn_id=hard, conversation_id=f"c{hard}"),
        default_title=hard,
        status="waiting",
    )
    await store.commit(thread, change, f"r{hard}")
    for thread_id in (hard, f"c{hard}"):
        after = await store.read_thread(hard, thread_id)
        assert after is not None
        assert (after.principal, after.id, after.agent, after.title) == (hard, hard, hard, hard)
        assert (after.entries, after.state, after.run_key) == (list(change.entries), {hard: [hard]}, f"r{hard}")
    (head,) = (await store.list_threads(hard, limit=10, agent=hard)).threads
    assert (head.id, head.title, head.pending) == (hard, hard, 1)
    assert await store.read_thread(hard + "x", hard) is None
    await store.move(hard, State.CLAIMED, decision=Decision(True, by=hard, way="http", reason=hard))
    done = await store.move(hard, State.DONE, output=Output(hard * MAX_LISTED))
    assert await store.approval(hard, hard) == done
    assert (done.tool, done.call_id) == (hard, hard)
    (listed,) = (await store.list_approvals(hard, limit=10, which="decided")).approvals
    assert listed.output is not None
    assert listed.output.content.startswith((hard * MAX_LISTED)[:MAX_LISTED])
    found = await store.read_calls(hard, hard)
    assert found is not None
    assert found.approvals == [listed]


async def test_a_text_that_is_none_changes_nothing(store: FullStore) -> None:
    """An unpaired surrogate: nothing that comes in has one (core/json_text.py), so it is a bug of ours."""
    thread = await store.lease_thread("alice", "t", "support", "r1")
    try:
        await store.commit(thread, Change(entries=[UserEntry("\ud800", (Text("x"),))], status="finished"), "r1")
    except UnicodeEncodeError:
        await store.commit(thread, Change(status="finished"), "r1")
    assert (await store.list_threads("alice", limit=1)).threads[0].run_status == "finished"
