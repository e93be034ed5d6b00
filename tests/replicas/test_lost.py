"""A replica that is killed, and one that stands still for longer than its leases last (B5, B6, B9).

Each replica says that it is on a machine of its own, so nobody can see whether it lives. Time is made to pass in the
store, by which leases go.
"""

import asyncio
from typing import Any

import pytest

from agui_gate import tool
from agui_gate_adapters.testkit.agui.stream import apply
from tests.product.kit import TIMEOUT
from tests.product.live import connect, resuming, starting
from tests.product.shop import Shop, call, outputs, refund, say, script, status
from tests.replicas.place import Place, moved, place
from tests.replicas.stage import Stage
from tests.replicas.test_across import Slow, begun
from tests.requirements import shows

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
YES = {"approved": True}


@shows("B5", "B9", "B17")
async def test_a_killed_replicas_run_is_interrupted_when_its_lease_ends_and_its_reader_is_told(stage: Stage) -> None:
    slow = Slow()
    async with place(stage, slow.tools, slow.turns) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "go") as first:
            apply(chat.messages, await first.until("TOOL_CALL_END"))
            await begun(slow)
            async with resuming(there.at(1), first.run_key) as reader:
                await reader.until("TOOL_CALL_END")
                await there.fleet.replicas[0].kill()
                busy = await there.at(1).post("/", chat.body())
                assert (busy.status, busy[0]["error"]["code"]) == (409, "thread_busy"), "who knows that it is dead?"
                stage.time_passes()
                told = await reader.end()
        assert (told[-1]["type"], told[-1]["code"]) == ("RUN_ERROR", "interrupted")
        shown = await connect(there.at(2), chat)
        assert shown[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        after = await moved(chat, there.at(2)).say("and now?")
        assert after[-1]["type"] == "RUN_FINISHED"
        assert [status(output) for output in outputs(there.p.inputs()[-1])] == ["unknown"]
        assert slow.runs == 1, "it is not known what it did, so it is not done again"


async def paused(there: Place) -> tuple[Any, Json]:
    chat = there.at(0).chat()
    (ask,) = (await chat.say("refund A1")).interrupts
    return chat, ask


@shows("B6", "B9")
async def test_a_killed_replicas_claimed_call_is_unknown_and_never_run_again(stage: Stage) -> None:
    begun_it, runs = asyncio.Event(), []

    @tool(gate=True)
    async def pay(amount: int) -> str:
        """Pay."""
        runs.append(amount)
        begun_it.set()
        await asyncio.Event().wait()
        return "never"

    async with place(stage, [pay], script(call("pay", amount=5))) as there:
        chat, ask = await paused(there)
        deciding = asyncio.ensure_future(there.at(0).decide(ask["id"], YES))
        async with asyncio.timeout(TIMEOUT):
            await begun_it.wait()
        await there.fleet.replicas[0].kill()
        await asyncio.wait([deciding])
        stage.time_passes()
        late = await there.at(1).decide(ask["id"], YES)
        assert late["status_code"] == 409
        done = await moved(chat, there.at(2)).go()
        assert status(done.results[ask["toolCallId"]]) == "unknown"
        assert (await there.at(1).get(f"/approvals/{ask['id']}"))["state"] == "unknown"
        assert runs == [5]
        assert deciding.exception() is not None


@shows("B6", "B18")
async def test_a_replica_that_stood_still_past_its_lease_is_refused_by_the_fence(stage: Stage) -> None:
    """Its run waits for a tool when it stops. Another replica goes on with the thread. Then it wakes up."""
    slow = Slow()
    async with place(stage, slow.tools, slow.turns) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "go") as first:
            apply(chat.messages, await first.until("TOOL_CALL_END"))
            await begun(slow)
            there.fleet.replicas[0].pause()
            slow.go_on.set()  # its result is known to a process that stands still
            stage.time_passes()
            other = await moved(chat, there.at(1)).say("and now?")
            assert other[-1]["type"] == "RUN_FINISHED"
            thread = await there.at(2).get(f"/threads/{chat.thread_id}")
            there.fleet.replicas[0].go_on()
            told = await first.end()
        assert (told[-1]["type"], told[-1]["code"]) == ("RUN_ERROR", "lease_lost")
        assert await there.at(0).get(f"/threads/{chat.thread_id}") == thread, "it has written nothing since"
        assert len(there.emulator.accepted) == 2, "and asked nobody"
        assert slow.runs == 1


@shows("B6", "B9")
async def test_a_yes_that_stood_still_runs_nothing_that_was_rejected_meanwhile(stage: Stage) -> None:
    """A run has the yes and stands still before the model is asked; the lease ends; elsewhere somebody says no."""
    shop, slow = Shop(), Slow()
    turns = [{"output": [refund(), call("wait")]}, {"output": [say("Done.")], "repeat": True}]
    async with place(stage, [*shop.tools, *slow.tools], turns) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "go") as first:
            await begun(slow)
            (ask,) = (await there.at(1).get("/approvals"))["approvals"]
            deciding = asyncio.ensure_future(there.at(0).decide(ask["id"], YES))
            await _asked_to_wait(there)
            there.fleet.replicas[0].pause()
            stage.time_passes()
            rejected = await there.at(1).decide(ask["id"], {"approved": False})
            assert rejected["state"] == "rejected"
            there.fleet.replicas[0].go_on()
            slow.go_on.set()
            late = await deciding
            await first.end()
        assert (late["status_code"], late["state"]) == (409, "rejected")
        assert shop.refunds == []


async def _asked_to_wait(there: Place) -> None:
    """The first replica has taken the request: it answers one that came after it."""
    assert (await there.at(0).get("/healthz"))["status_code"] == 200
