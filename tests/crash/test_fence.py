"""A server that is stopped (SIGSTOP) for longer than its lease lasts, and then goes on (SIGCONT), as a laptop does.

Leases go by the boot clock. The tests set it forward, for all servers at once: so nothing waits for a lease to end.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate.stores.base import LEASE_MS
from tests.crash.processes import Machine, Server, machine
from tests.crash.test_kill import YES, paused, resume
from tests.crash.test_kill_hosted import asked, tried
from tests.product.kit import TIMEOUT, Stream, parse
from tests.product.shop import script, status
from tests.requirements import shows

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


class Night:
    """Two servers on one file. The first is stopped at some point, while the second goes on and time passes."""

    def __init__(self, box: Machine, slept: Server, awake: Server, clock: Path) -> None:
        self.box, self.slept, self.awake, self._clock = box, slept, awake, clock

    async def falls(self, said: str) -> None:
        """The first server has said that, and is stopped. No lease that it has is good any more."""
        assert await self.slept.line() == said
        await self.slept.process.stopped()
        self._clock.write_text(str(2 * LEASE_MS))

    def ends(self) -> None:
        """The first server goes on."""
        self.slept.process.signal(signal.SIGCONT)

    async def stream(self, body: Json) -> Stream:
        """A run of the first server, to its end."""
        response = await self.slept.product.client.post(self.slept.product.url + "/", json=body)
        return parse(response.text)

    async def ran(self) -> list[str]:
        """What ran in both servers, which are killed."""
        lines: list[str] = []
        for server in (self.slept, self.awake):
            await server.kill()
            lines += await server.rest()
        return [line for line in lines if line.startswith("ran ")]


@asynccontextmanager
async def night(path: Path, *options: str) -> AsyncIterator[Night]:
    clock = path / "ahead"
    clock.write_text("0")
    async with machine(path / "agui-gate.db", script(), "chain") as box:
        async with box.server(str(clock), *options) as slept, box.server(str(clock)) as awake:
            async with asyncio.timeout(6 * TIMEOUT):
                yield Night(box, slept, awake, clock)
        assert box.emulator.refusals == []


async def record(server: Server, approval_id: str) -> tuple[str, str]:
    """The state of an approval and its result."""
    found = await server.product.get(f"/approvals/{approval_id}")
    return found["state"], found["result"]


@shows("B6", "B9")
async def test_a_run_that_slept_when_it_was_about_to_claim_runs_nothing(tmp_path: Path) -> None:
    """Somebody approves the same call meanwhile, at the other server, and there it runs."""
    async with night(tmp_path, "dozing") as n:
        chat, asks = await paused(n.box, n.slept, "refund")
        run = asyncio.ensure_future(n.stream(resume(chat, [asks[0]["id"]])))
        await n.falls("claiming")
        assert (await n.awake.product.decide(asks[0]["id"], YES))["state"] == "done"
        n.ends()
        told = await run
        assert (told[-1]["type"], told[-1]["code"]) == ("RUN_ERROR", "lease_lost")
        assert not told.of("TOOL_CALL_RESULT")
        done = await n.awake.chat(chat).go()
        assert (done.text, done.results[asks[0]["toolCallId"]]) == ("Done.", "refunded A0")
        assert await n.ran() == ["ran refund A0"]


@shows("B6", "B9")
async def test_a_decision_that_slept_when_it_was_about_to_claim_runs_nothing(tmp_path: Path) -> None:
    """Somebody rejects the same call meanwhile. Who approved it learns that."""
    async with night(tmp_path, "dozing") as n:
        chat, asks = await paused(n.box, n.slept, "refund")
        decision = asyncio.ensure_future(n.slept.product.decide(asks[0]["id"], YES))
        await n.falls("claiming")
        assert (await n.awake.product.decide(asks[0]["id"], {"approved": False}))["state"] == "rejected"
        n.ends()
        late = await decision
        assert (late["status_code"], late["state"]) == (409, "rejected")
        assert (await n.awake.chat(chat).go()).text == "Done."
        assert await n.ran() == []


@shows("B6", "B9")
async def test_a_run_that_slept_between_its_claim_and_the_tool_starts_nothing(tmp_path: Path) -> None:
    """Others were told meanwhile that nobody knows what came of it. That stands, and nothing runs after it."""
    async with night(tmp_path, "claimed") as n:
        chat, asks = await paused(n.box, n.slept, "refund")
        run = asyncio.ensure_future(n.stream(resume(chat, [asks[0]["id"]])))
        await n.falls("claimed")
        done = await n.awake.chat(chat).go()
        assert (done.text, status(done.results[asks[0]["toolCallId"]])) == ("Done.", "unknown")
        n.ends()
        told = await run
        assert (told[-1]["type"], told[-1]["code"]) == ("RUN_ERROR", "lease_lost")
        assert status(told.results[asks[0]["toolCallId"]]) == "unknown"
        assert (await record(n.awake, asks[0]["id"]))[0] == "unknown"
        assert await n.ran() == []


@shows("B6", "B9")
async def test_a_decision_that_slept_between_its_claim_and_the_tool_starts_nothing(tmp_path: Path) -> None:
    """Who approved it is told what the others were told."""
    async with night(tmp_path, "claimed") as n:
        chat, asks = await paused(n.box, n.slept, "refund")
        decision = asyncio.ensure_future(n.slept.product.decide(asks[0]["id"], YES))
        await n.falls("claimed")
        assert (await n.awake.chat(chat).go()).text == "Done."
        n.ends()
        assert (await decision)["state"] == "unknown"
        assert (await record(n.awake, asks[0]["id"]))[0] == "unknown"
        assert await n.ran() == []


@shows("B6", "B9")
async def test_a_call_of_which_nobody_was_told_starts_after_the_sleep(tmp_path: Path) -> None:
    """Nobody took the thread: the lease is confirmed, and what was approved runs."""
    async with night(tmp_path, "claimed") as n:
        chat, asks = await paused(n.box, n.slept, "refund")
        run = asyncio.ensure_future(n.stream(resume(chat, [asks[0]["id"]])))
        await n.falls("claimed")
        n.ends()
        told = await run
        assert (told[-1]["type"], told.results) == ("RUN_FINISHED", {asks[0]["toolCallId"]: "refunded A0"})
        assert await n.ran() == ["ran refund A0"]


@shows("B6", "B9")
async def test_a_yes_that_slept_on_its_way_to_the_provider_is_not_told(tmp_path: Path) -> None:
    """Others were told meanwhile that nobody knows what came of it. That stands, and the provider hears nothing."""
    async with night(tmp_path, "passed") as n:
        chat = n.slept.chat()
        approval_id, call_id = await asked(n.box, chat)
        run = asyncio.ensure_future(n.stream(resume(chat, [approval_id])))
        await n.falls("passed")
        done = await n.awake.chat(chat).go()
        assert (done.text, status(done.results[call_id])) == ("Done.", "unknown")
        n.ends()
        told = await run
        assert (told[-1]["type"], told[-1]["code"]) == ("RUN_ERROR", "lease_lost")
        assert (await record(n.awake, approval_id))[0] == "unknown"
        assert tried(n.box) == 0


@shows("B6", "B9")
async def test_a_yes_of_which_nobody_was_told_reaches_the_provider_after_the_sleep(tmp_path: Path) -> None:
    """Nobody took the thread: the lease is confirmed, and what was approved is passed on."""
    async with night(tmp_path, "passed") as n:
        chat = n.slept.chat()
        approval_id, call_id = await asked(n.box, chat)
        run = asyncio.ensure_future(n.stream(resume(chat, [approval_id])))
        await n.falls("passed")
        n.ends()
        told = await run
        assert (told[-1]["type"], told.text, status(told.results[call_id])) == ("RUN_FINISHED", "Paid.", "approved")
        assert tried(n.box) == 1


@shows("B9", "S30")
async def test_a_tool_that_slept_and_nobody_minded(tmp_path: Path) -> None:
    """Nobody took the thread, so its run goes on as if nothing had been."""
    async with night(tmp_path) as n:
        chat, asks = await paused(n.box, n.slept, "doze")
        run = asyncio.ensure_future(n.stream(resume(chat, [asks[0]["id"]])))
        await n.falls("ran doze A0")
        n.ends()
        told = await run
        assert (told[-1]["type"], told.text) == ("RUN_FINISHED", "Done.")
        assert told.results == {asks[0]["toolCallId"]: "refunded A0"}
        assert await n.ran() == []


@shows("B9", "S30")
async def test_the_result_of_a_tool_that_slept_is_kept_as_what_it_is(tmp_path: Path) -> None:
    """Another call of the thread was decided meanwhile. Nobody has said anything about the one that slept."""
    async with night(tmp_path) as n:
        chat, asks = await paused(n.box, n.slept, "doze", "refund")
        ids = [ask["id"] for ask in asks]
        run = asyncio.ensure_future(n.stream(resume(chat, ids[:1])))
        await n.falls("ran doze A0")
        assert (await n.awake.product.decide(ids[1], YES))["state"] == "done"
        n.ends()
        told = await run
        assert told[-1]["code"] == "lease_lost"
        assert told.results[asks[0]["toolCallId"]] == "refunded A0"
        assert await record(n.awake, ids[0]) == ("done", "refunded A0")
        done = await n.awake.chat(chat).go()
        assert done.text == "Done."
        assert [done.results[ask["toolCallId"]] for ask in asks] == ["refunded A0", "refunded A1"]
        assert await n.ran() == ["ran refund A1"]


@shows("B9", "S30")
async def test_a_tool_that_slept_until_others_were_told_that_nobody_knows(tmp_path: Path) -> None:
    """Then that stands: a person and the model go by it already."""
    async with night(tmp_path) as n:
        chat, asks = await paused(n.box, n.slept, "doze")
        run = asyncio.ensure_future(n.stream(resume(chat, [asks[0]["id"]])))
        await n.falls("ran doze A0")
        done = await n.awake.chat(chat).go()
        assert (done.text, status(done.results[asks[0]["toolCallId"]])) == ("Done.", "unknown")
        n.ends()
        told = await run
        assert told[-1]["code"] == "lease_lost"
        assert status(told.results[asks[0]["toolCallId"]]) == "unknown"
        assert (await record(n.awake, asks[0]["id"]))[0] == "unknown"
        assert await n.ran() == []
