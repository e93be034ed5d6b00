"""Histories of the model of the ledger are replayed on each store: after each step the record is as the model has it.

They are chosen so that every step is taken, in every state of the record in which it can be, but for those that need
another copy of the store (a restored backup: `tests/product/drill.py`) or a network (what arrives late:
`tests/stores/test_postgres_unsure.py`).
"""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import Output
from agui_gate.engine.lease import Lease
from agui_gate.errors import IllegalMove, LeaseLost, NotFound
from agui_gate.stores.base import Change, Store
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sql.store import SQLStore
from tests.ledger_model.calls import Calls
from tests.ledger_model.search import Step, Trace, follow, search
from tests.ledger_model.world import Click, World
from tests.stores.support import Clock, gated, said

pytestmark = pytest.mark.anyio

ELSEWHERE = {"restore", "back up", "claim arrives", "nothing arrives", "under way, unanswered"}
"""Steps that are not replayed here."""
REFUSED = (IllegalMove, LeaseLost, NotFound)
EXPIRES_MS = 1_000

MODEL = Calls(budget=2)


def histories() -> Iterator[Trace[World]]:
    """One to each step in each state of the record; of those that lead over one another, the longest alone."""
    found = search(MODEL)
    replayed: dict[World, bool] = {}
    wanted: dict[tuple[str, str, bool], World] = {}
    for state, link in found.parents.items():
        replayed[state] = link is None or (replayed[link[0]] and link[1].name not in ELSEWHERE)
        if link is not None and replayed[state]:
            wanted.setdefault((link[1].name, link[0].record, link[0].free), state)
    traces = sorted((found.trace(state) for state in wanted.values()), key=lambda trace: -len(trace.steps))
    seen: set[World] = set()
    for trace in traces:
        if trace.steps[-1][1] not in seen:
            seen.update(after for _, after in trace.steps)
            yield trace


class Replay:
    """One history on one thread of a real store: each worker has a lease of its own (`engine.lease.Lease`)."""

    def __init__(self, store: Store, clock: Clock, number: int) -> None:
        self.store, self.clock = store, clock
        self.thread, self.id = f"t{number}", f"a{number}"
        self.leases: list[Lease | None] = [None, None]
        self.clicks: list[Click | None] = [None, None]
        self.effects = self._runs = 0

    async def lease(self, worker: int) -> Lease:
        """A lease of the thread, taken now."""
        self._runs += 1
        key = f"{self.thread}-{self._runs}"
        thread = await self.store.lease_thread("alice", self.thread, "support", key)
        self.leases[worker] = lease = Lease(self.store, thread, key)
        return lease

    def held(self, worker: int) -> Lease:
        lease = self.leases[worker]
        assert lease is not None
        return lease

    async def step(self, step: Step, before: World, after: World) -> None:
        """Do what the model says has happened."""
        match step.name:
            case "ask":
                await self.lease(step.worker)
            case "take":
                await self.lease(step.worker)
                self.clicks[step.worker] = before.clicks[step.click]
            case "asked" | "claim" | "reject" | "too late" | "give up" | "record" | "start" | "done, unanswered":
                with suppress(*REFUSED):
                    await self.work(step, before)
            case "release":
                with suppress(LeaseLost):
                    await self.store.commit(self.held(step.worker).thread, Change(status="waiting"), self.key(step))
            case "crash" | "suspend":
                await lapse(self.store, self.key(step))
            case "settle" | "branch" | "delete":
                await self.alone(step.name, before)
            case "expire":
                self.clock.advance(EXPIRES_MS + 1)
            case _:  # nothing of it is in the store: a message under way, a tool at work, a person who looks
                assert before.record == after.record

    def key(self, step: Step) -> str:
        return self.held(step.worker).run_key

    async def work(self, step: Step, before: World) -> None:
        """What a worker does to the store."""
        lease, at = self.held(step.worker), before.workers[step.worker].at
        if step.name == "asked" or at == "asking":
            approval = gated(self.id, expires_at=EXPIRES_MS, thread_id=self.thread)
            await lease.commit(Change(entries=said("refund it"), approvals=[approval]))
        elif step.name == "claim" or at == "claiming":
            await lease.move(self.id, State.CLAIMED, decision=self.decision(step.worker))
        elif step.name == "reject":
            await lease.move(self.id, State.REJECTED, decision=self.decision(step.worker), output=Output("no"))
        elif step.name == "give up":
            await lease.move(self.id, State.FAILED, output=Output("not executed", is_error=True))
        elif step.name == "start":
            await lease.confirm()
            self.effects += 1
        elif step.name == "record":  # it needs no lease
            to = State.UNKNOWN if at == "cut" else State.DONE
            await self.store.move(self.id, to, output=Output("refunded"))
        elif at == "claimed":  # too late: it is asked before the tool starts
            await lease.confirm()
            raise AssertionError("the tool would start")
        else:  # too late: it is refused, and changes nothing
            to = State.CLAIMED if self.decision(step.worker).approved else State.REJECTED
            await lease.move(self.id, to, decision=self.decision(step.worker))

    def decision(self, worker: int) -> Decision:
        click = self.clicks[worker]
        assert click is not None
        edited = '{"amount":5}' if click.says == "edit" else None
        return Decision(click.says != "no", by="alice", way="http", edited_arguments=edited)

    async def alone(self, name: str, before: World) -> None:
        """What is one step of the model, under a lease of its own."""
        self._runs += 1
        key = f"{self.thread}-{self._runs}"
        thread = await self.store.lease_thread("alice", self.thread, "support", key, create=False)
        if name == "delete":
            await self.store.delete_thread(thread, key)
            return
        if before.record == "claimed":
            await self.store.move(self.id, State.UNKNOWN, output=Output("?", is_error=True), run_key=key)
        elif before.record == "pending" and name == "branch":
            await self.store.move(self.id, State.SUPERSEDED, output=Output("gone"), run_key=key)
        change = Change(keep=0, replaced=[self.id], status="waiting") if name == "branch" else Change(status="waiting")
        await self.store.commit(thread, change, key)

    async def compare(self, world: World) -> None:
        """The store is as the model has it."""
        assert self.effects == sum(world.effects)
        record = await self.store.approval("alice", self.id)
        if world.gone:
            assert record is None
            left = await self.store.tombstones("alice", approval_id=self.id)
            kept = world.record in ("done", "unknown", "rejected", "not_executed")
            assert [tomb.state for tomb in left] == [world.record.replace("not_executed", "failed")] * kept
            return
        state = record.state if record is not None else "none"
        assert state == world.record.replace("not_executed", "failed")
        if record is not None and world.says:
            assert record.decision is not None
            assert record.decision.approved == (world.says != "no")
            assert (record.decision.edited_arguments is not None) == (world.says == "edit")
        working = await self.store.at_work([("alice", self.thread)])
        holder = self.leases[world.holder] if world.holder in (0, 1) and not world.lapsed else None
        expected = {("alice", self.thread): holder.run_key} if holder is not None else {}
        assert {place: at.run_key for place, at in working.items()} == expected


async def lapse(store: Store, run_key: str) -> None:
    """The lease of that run ends by itself, as nobody renews it; whose it was may still renew it."""
    if isinstance(store, SQLStore):
        await store._do("write", lambda: store._sql.threads.void(run_key))
        return
    assert isinstance(store, MemoryStore)
    for record in store._threads.values():
        if record.run_key == run_key:
            record.lease_until = 0


async def test_histories_of_the_model_come_out_the_same(store: Store, clock: Clock) -> None:
    steps: set[str] = set()
    number = 0
    for number, trace in enumerate(histories(), 1):
        replay = Replay(store, clock, number)
        at = trace.first
        for step, after in follow(MODEL, trace):
            await replay.step(step, at, after)
            try:
                await replay.compare(after)
            except AssertionError as error:
                raise AssertionError(f"after {step}:\n{trace}\n{after}") from error
            steps.add(step.name)
            at = after
    print(f"{number} histories")
    assert steps >= {"ask", "claim", "start", "record", "settle", "branch", "delete", "expire", "crash", "suspend"}
    assert steps >= {"too late", "give up", "reject", "stop", "done, unanswered", "not done, unanswered", "look"}
