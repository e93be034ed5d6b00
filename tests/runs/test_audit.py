"""What runs and decisions put into the audit trail: questions that were shown, answers that were not taken, by whom."""

import msgspec
import pytest

from agui_gate.errors import ApprovalRefused
from agui_gate.protocol.run_input import ResumeEntry
from agui_gate.stores.base import Change, Thread
from agui_gate.stores.memory import MemoryStore
from tests.stores.trails import whole_trail
from tests.support.house import DONE, PAYS, House, events, house

pytestmark = pytest.mark.anyio


class Counting(MemoryStore):
    """Counts its commits."""

    commits = 0

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        self.commits += 1
        await super().commit(thread, change, run_key)


async def told(made: House) -> list[tuple[str, str, str]]:
    return [(e.kind, e.by, e.way) for e in await whole_trail(made.store)]


async def test_a_question_is_shown_with_the_commit_that_ends_its_run() -> None:
    async with house(PAYS, kind=Counting) as made:
        approval = await made.asked()
        asked, shown = await whole_trail(made.store)
        assert (asked.kind, shown.kind, shown.by, shown.way) == ("asked", "shown", "alice", "interrupt")
        assert {asked.run_key, shown.run_key} == {approval.run_key}
        assert isinstance(made.store, Counting)
        before = made.store.commits
        await events(await made.start(None))
        assert made.store.commits == before + 1, "a run that only shows it again writes no more than its end"
        assert await told(made) == [("asked", "", ""), *[("shown", "alice", "interrupt")] * 2]


async def test_an_answer_of_a_run_that_is_not_taken() -> None:
    async with house(PAYS) as made:
        approval = await made.asked()
        await events(await made.start(None, ResumeEntry(approval.id, "resolved", {"approved": "yes, s3cret"})))
        assert (await told(made))[2:] == [("refused", "alice", "resume"), ("shown", "alice", "interrupt")]
        refused = (await whole_trail(made.store))[2]
        body = msgspec.json.decode(refused.body)
        assert body == {"code": "approval_refused", "why": "The answer was not understood"}


async def test_a_decision_that_is_not_taken() -> None:
    async with house(PAYS) as made:
        approval = await made.asked()
        with pytest.raises(ApprovalRefused):
            await made.engine.decide("alice", approval.id, {"approved": True, "edited_arguments": {"s3cret": 1}})
        refused = (await whole_trail(made.store))[-1]
        assert (refused.kind, refused.by, refused.way) == ("refused", "alice", "http")
        assert refused.run_key.startswith("decide_")
        assert "s3cret" not in repr(await whole_trail(made.store))


async def test_what_is_approved_in_a_run() -> None:
    async with house(PAYS, DONE) as made:
        approval = await made.asked()
        made.go.set()
        live = await made.start(None, ResumeEntry(approval.id, "resolved", {"approved": True}))
        await events(live)
        assert (await told(made))[2:] == [("approved", "alice", "resume"), ("claimed", "", ""), ("done", "", "")]
        assert [e.run_key for e in await whole_trail(made.store)][2:4] == [live.key] * 2


async def test_a_no_to_a_decision_of_the_inbox() -> None:
    async with house(PAYS) as made:
        approval = await made.asked()
        await made.engine.decide("alice", approval.id, {"approved": False, "reason": "s3cret"})
        assert (await told(made))[2:] == [("rejected", "alice", "http")]
        assert "s3cret" not in repr(await whole_trail(made.store))
