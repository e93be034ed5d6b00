"""Histories of the model are replayed through the engine: `Decisions`, `GatedCalls`, `ProviderApprovals`, `OrphanJob`.

Each worker of the model is a process here: an engine's parts of its own, over a store that stops before and after each
of its writes (`Stepped`: what `tests.support.failpoints` names) until the history goes on. So a step of the model
lets a worker go to the place at which the model has it after that step, and to no other.

* A crash: nothing that the process still does reaches the store, and its lease ends.
* A suspension: its lease ends, and the boot clock goes on by as much.
* A COMMIT without an answer, and one that comes late: the write is done, or not, or later, while its caller waits. What
  a store does in that time is in `tests/stores/test_postgres_unsure.py`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import msgspec

from agui_gate import Agent, tool
from agui_gate.agents.team import Roster
from agui_gate.approvals.execution import GatedCalls
from agui_gate.approvals.orphan_job import GRACE_SECONDS, OrphanJob
from agui_gate.approvals.out_of_band import Decided, Decisions
from agui_gate.config.limits import DEFAULTS
from agui_gate.core.approvals import UNFINISHED, Approval, State
from agui_gate.core.transcript import CallPart, Output, Text, TurnEntry, UserEntry
from agui_gate.errors import AguiGateError, DecisionStopped, NotFound, ProviderUnavailable, RateLimited, Unavailable
from agui_gate.extras.provider_approvals import ProviderApprovals
from agui_gate.readers.wake_ups import Watch
from agui_gate.stores import clock as boot
from agui_gate.stores.base import LEASE_MS
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sql.store import SQLStore
from agui_gate.threads.budget import Budget
from agui_gate.threads.lease import END_SECONDS, SaveRetrier
from agui_gate.threads.leased_thread import LeasedThread, Leaser
from agui_gate.turns.tool_execution import ToolStart
from tests.ledger_model.search import Step
from tests.ledger_model.world import NOBODY, Click, Variant, World
from tests.product.inprocess import Parrot
from tests.stores.support import Clock, gated
from tests.support.failpoints import WRITES, Place

OWNER = "alice"
AGENT = "support"
EXPIRES_MS = 1_000
PAYLOADS: dict[str, Any] = {
    "yes": {"approved": True},
    "no": {"approved": False},
    "edit": {"approved": True, "editedArgs": {"amount": 5}},
}
STATES = {"not_executed": "failed"}
"""The ledger's names of what the model names otherwise."""
NAMES = {"failed": "not_executed"}
FREE = (Place.RENEW,)
"""Writes that are no step of the model."""
PLACES: dict[str, tuple[str, ...]] = {
    "asking": ("after lease", "before ask"),
    "ask unsure": ("before ask", "after ask"),
    "leased": ("after lease",),
    "again": ("before lease",),
    "claiming": ("before claim",),
    "unsure": ("before claim", "after claim"),
    "claimed": ("after claim",),
    "running": ("in tool",),
    "ran": ("before result",),
    "cut": ("before result",),
    "passing": ("after lease",),
    "passed": ("before request", "after pass", "before pass"),
    "accepted": ("before result",),
    "refused": ("before pass",),
    "broken": ("before result",),
    "leaving": ("before release", "over"),
    "idle": ("over",),
}
"""Where a process is when the model has it there."""
WAITS = 10.0
"""Seconds; a process that goes nowhere is found by this."""


class Stepped:
    """A store whose writes wait until their process may go on."""

    def __init__(self, inner: FullStore, process: "Process") -> None:
        self._inner, self._process = inner, process

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return partial(self._write, name, found) if name in WRITES else found

    async def _write(self, name: str, write: Callable[..., Awaitable[Any]], *args: Any, **more: Any) -> Any:
        process, place = self._process, WRITES[name](*args, **more)
        if name == "lease_thread":
            process.key = args[3]
        if place in FREE or process.hurries:
            process.check()
            return await write(*args, **more)
        while True:
            process.sent = partial(write, *args, **more)
            await process.reach(f"before {place}")
            done = process.arrived or (await write(*args, **more),)
            process.arrived = None
            await process.reach(f"after {place}")
            if not process.repeats:
                return done[0]
            process.repeats = False


class Process:
    """One process, at one thing. ``effects`` are the calls' effects in all processes."""

    def __init__(self, store: FullStore, effects: list[Any]) -> None:
        self.at = "over"
        self.told: Decided | AguiGateError | None = None
        self.dead = self.stops = self.repeats = self.hurries = False
        self.sent: Callable[[], Awaitable[Any]] | None = None
        self.arrived: tuple[Any] | None = None
        self._moved, self._go = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.key, self._keys = "", 0
        self._request: BaseException | None = None
        self._acts = False
        self._effects = effects

        @tool(gate=True)
        async def refund(amount: int) -> str:
            """Refund it."""
            effects.append(amount)
            await self.reach("in tool")
            return "refunded"

        self.agent = Agent(name=AGENT, model=Parrot(), tools=[refund])
        self.store: Any = Stepped(store, self)
        self.keeper, self.roster = SaveRetrier(self.store), Roster([self.agent])
        leaser = Leaser(self.store, self.keeper, Budget(DEFAULTS.open_bytes), DEFAULTS)
        watch = Watch(self.store)
        self.decisions = Decisions(self.roster, self.store, self._new_id, watch, self._registered, leaser)

    def _new_id(self) -> str:
        self._keys += 1
        return f"{id(self)}-{self._keys}"

    # --- its places

    def check(self) -> None:
        """Nothing is done by a process that is dead."""
        if self.dead:
            raise asyncio.CancelledError

    async def reach(self, place: str) -> None:
        """It is there now, and goes on when it is let."""
        self.check()
        self.at = place
        self._go.clear()
        self._moved.set()
        await self._go.wait()
        self.check()

    async def go(self, places: tuple[str, ...]) -> None:
        """Let it go on until it is at one of these."""
        async with asyncio.timeout(WAITS):
            while self.at not in places:
                self._moved.clear()
                assert self.at != "over", f"it is over, and is to be at {places}"
                self._go.set()
                await self._moved.wait()

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Begin with something."""
        self.at, self.told = "begun", None

        async def working() -> None:
            try:
                self.told = await work
            except AguiGateError as error:
                self.told = error
            finally:
                self.at = "over"
                self._moved.set()

        self._task = asyncio.create_task(working())

    def stop(self) -> None:
        """Somebody stops what it does: a decision by its work, anything else by its task."""
        if self.at == "after lease":
            self.stops = True
        elif self.decisions.working.keys:
            self._stop_decision()
        elif self._task is not None:
            self._task.cancel()

    def _stop_decision(self) -> None:
        for key in self.decisions.working.keys:
            self.decisions.working.asked(key, gently=False)

    def _registered(self) -> None:
        """Its decision can be stopped from now on."""
        if self.stops:
            self.stops = False
            self._stop_decision()

    # --- what it does

    async def ask(self, approval: Approval, turns: list[TurnEntry]) -> None:
        """A run that asks."""
        thread_id = approval.thread_id
        thread = await self.open(thread_id)
        try:
            thread.append([UserEntry(f"{thread_id}-u", (Text("refund it"),)), *turns])
            await thread.commit(approvals=[approval])
        finally:
            await thread.end("waiting", END_SECONDS)

    async def pass_on(self, thread_id: str) -> None:
        """A run that tells the provider. What comes of its request is said by `answer`."""
        thread = await self.open(thread_id)
        gated_calls = GatedCalls(thread.lease, run_nothing, thread.decided, thread.keep)
        consents = ProviderApprovals(thread, gated_calls, lambda: None)
        try:
            if self.stops:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            await consents.pass_on(self.agent)
            if consents.passing:
                await self.reach("before request")
                await consents.begin()
                self._ask_provider(thread)
                await consents.accepted()
        except BaseException as error:
            with suppress(AguiGateError):
                await consents.failed(error if isinstance(error, Exception) else None)
        finally:
            await thread.end("waiting", END_SECONDS)

    def answer(self, error: BaseException | None, *, acts: bool) -> None:
        """What the provider does with the next request."""
        self._request, self._acts = error, acts

    def _ask_provider(self, thread: LeasedThread) -> None:
        if self._acts:
            (approval,) = thread.journal.passed()
            self._effects.append(msgspec.json.decode(approval.effective_arguments)["amount"])
        if self._request is not None:
            raise self._request

    async def open(self, thread_id: str, *, create: bool = True) -> LeasedThread:
        """The thread, under a lease of its own."""
        key = self._new_id()
        thread = await self.store.lease_thread(OWNER, thread_id, AGENT, key, create=create)
        return LeasedThread(self.store, thread, key, keeper=self.keeper)

    async def kill(self) -> None:
        """Nothing of it is left."""
        self._go.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for task in self.keeper._owed():
            task.cancel()

    def decide(self, approval_id: str, click: Click) -> None:
        """A person's click, by POST."""
        self.begin(self.decisions.decide(OWNER, approval_id, PAYLOADS[click.says], "http"))


async def run_nothing(approval: Approval, start: ToolStart) -> Output:
    """Whoever takes over starts no tool."""
    raise NotImplementedError


class Copies(Protocol):
    """How a store is backed up, and put back with all servers stopped."""

    async def back_up(self) -> None:
        """Make the copy."""
        ...

    async def restore(self) -> None:
        """Put it back, and begin an epoch."""
        ...


class Replay:
    """One history on one thread of a real store. ``sleep`` lets the boot clock go on by a lease."""

    def __init__(self, store: FullStore, clock: Clock, copies: Copies, variant: Variant, name: str) -> None:
        self._store, self._clock, self._copies, self._variant = store, clock, copies, variant
        self._thread, self._ids = f"t-{name}", [f"a-{name}"]
        self.effects: list[int] = []
        self._processes: list[Process] = []
        self._workers = [self._process(), self._process()]
        self._late: Callable[[], Awaitable[Any]] | None = None
        self._clicks: dict[Process, int] = {}

    def _process(self, *, hurries: bool = False) -> Process:
        made = Process(self._store, self.effects)
        made.hurries = hurries
        self._processes.append(made)
        return made

    # --- one step

    async def step(self, step: Step, before: World, after: World) -> None:
        """Do what the model says has happened, and see that everybody is where the model has them."""
        if step.worker >= 0:
            worker = self._workers[step.worker]
            self._prepare(worker, step, before)
            if step.name == "crash":
                await self._crash(step.worker, after)
            elif step.name == "suspend":
                await lapse(self._store, worker.key)
                boot.boot_clock.ahead += LEASE_MS  # type: ignore[attr-defined]
            elif step.name == "settle":
                await self._settle()
            else:
                await self._lead(worker, step, before, after)
        else:
            await self._alone(step, before)
        await self.compare(after)
        if sum(after.effects) > sum(before.effects):
            assert self.effects[-1] == (5 if after.says == "edit" else 50), "other arguments than were decided"

    def _prepare(self, worker: Process, step: Step, before: World) -> None:
        match step.name:
            case "ask":
                worker.begin(worker.ask(*self._question()))
            case "take":
                click = before.clicks[step.click]
                self._clicks[worker] = step.click
                worker.decide(self._ids[click.question], click)
            case "pass on":
                worker.begin(worker.pass_on(self._thread))
            case "stop":
                worker.stop()
            case "accepted":
                worker.answer(None, acts=True)
            case "refused":
                worker.answer(RateLimited("Slower."), acts=False)
            case "broken" | "broken, and done":
                worker.answer(ProviderUnavailable("It broke off."), acts=step.name != "broken")

    async def _lead(self, worker: Process, step: Step, before: World, after: World) -> None:
        """Let a worker go on to its place."""
        at = after.workers[step.worker].at
        if step.name == "done, unanswered":
            await worker.go(("after ask", "after claim"))
        elif step.name == "under way, unanswered":
            self._late = worker.sent
        elif step.name == "look":
            worker.repeats = at == "claiming" and worker.at == "after claim"
            if worker.arrived is not None and at == "claiming":
                worker.arrived = None
        late = step.name == "too late" and before.workers[step.worker].at == "again"
        places = ("over",) if late else PLACES[at]  # it looks under a lease, and gives that back
        if at == "passed":  # one that was stopped gives back what it passes on, and comes no further
            places = places[1:2] if before.workers[step.worker].stopped else places[:1]
        if step.name == "look" and worker.repeats:
            worker.at = "looks"
        await worker.go(places)
        if worker.at == "over" and worker in self._clicks:
            self._heard(worker.told, after, after.clicks[self._clicks.pop(worker)])

    def _heard(self, told: Decided | AguiGateError | None, world: World, click: Click) -> None:
        """What the approver was told is what the model has them told."""
        if click.told == "nothing":
            assert isinstance(told, (DecisionStopped, Unavailable)), told
        if isinstance(told, Decided) and told.record.state not in UNFINISHED:
            assert NAMES.get(told.record.state, str(told.record.state)) in (*world.told, world.record), told

    async def _crash(self, number: int, after: World) -> None:
        """Its process is gone; what it has sent may still arrive."""
        worker = self._workers[number]
        if after.late not in (NOBODY, 1 - number) and worker.at == "before claim":
            self._late = worker.sent
        worker.dead = True
        if worker.key:
            await lapse(self._store, worker.key)
        self._workers[number] = self._process()

    async def _alone(self, step: Step, before: World) -> None:
        match step.name:
            case "claim arrives":
                assert self._late is not None
                done = await self._late()
                if before.late in (0, 1):
                    self._workers[before.late].arrived = (done,)
            case "expire":
                self._clock.advance(EXPIRES_MS + 1)
            case "answer late" | "refuse":
                await self._click_late(before, before.clicks[step.click])
            case "back up":
                await self._copies.back_up()
            case "restore":
                await self._restore(before)
            case "delete":
                other = self._process(hurries=True)
                thread = await other.open(self._thread, create=False)
                await self._store.delete_thread(thread.thread, other.key)
            case "branch" | "end task":
                await self._close(step.name)
            case _:
                assert step.name == "nothing arrives"

    async def _click_late(self, before: World, click: Click) -> None:
        other = self._process(hurries=True)
        try:
            told = await other.decisions.decide(OWNER, self._ids[click.question], PAYLOADS[click.says], "http")
        except NotFound:
            assert before.gone
            return
        assert not told.ours
        assert told.record.state.public == State(STATES.get(before.record, before.record)).public

    async def _restore(self, before: World) -> None:
        for process in self._processes:
            process.dead = True
        assert before.backup is not None
        await self._copies.restore()
        self._workers = [self._process(), self._process()]
        (record,) = (await self._store.lease_thread(OWNER, self._thread, AGENT, "look")).approvals
        await lapse(self._store, "look")
        self._ids = [self._ids[0], record.id] if record.is_pending else self._ids

    async def _settle(self) -> None:
        """Any server does."""
        other, now = self._process(hurries=True), [0.0]
        job = OrphanJob(other.store, other.keeper, lambda: f"settle-{id(other)}", set, lambda: now[0])
        await job.step()
        now[0] += GRACE_SECONDS
        await job.step()

    async def _close(self, name: str) -> None:
        """What a run does under a lease of its own: `Course.go`."""
        other = self._process(hurries=True)
        thread = await other.open(self._thread, create=False)
        gated_calls = GatedCalls(thread.lease, run_nothing, thread.decided, thread.keep)
        consents = ProviderApprovals(thread, gated_calls, lambda: None)
        await consents.recover()
        await gated_calls.recover(thread.journal.claimed(), lambda _: False)
        if name == "branch":
            dropped = thread.branch(0, [UserEntry(f"{self._thread}-again", (Text("again"),))])
            pending = [a for a in dropped if a.is_pending]
            await gated_calls.close(pending, State.SUPERSEDED)
            await consents.branched(dropped)
        else:
            await gated_calls.close(thread.journal.pending(), State.CANCELLED)
        await thread.end("waiting", END_SECONDS)

    def _question(self) -> tuple[Approval, list[TurnEntry]]:
        turn, call = f"turn-{self._thread}", f"call-{self._thread}"
        task = f"task-{self._thread}" if self._variant == "sub-agent" else ""
        kind: Any = "held" if self._variant == "hosted" else "server"
        part = CallPart(call, call, "refund", '{"amount":50}', f"message-{call}", kind)
        turns = [TurnEntry(turn, (part,), Parrot.origin, task=task)]
        if task:
            opening = CallPart(task, task, "ask_clerk", "{}", f"message-{task}", "server")
            turns.insert(0, TurnEntry(f"first-{turn}", (opening,), Parrot.origin))
        runner: Any = "provider" if self._variant == "hosted" else "here"
        editable = ("amount",) if runner == "here" else ()
        named: dict[str, Any] = {
            "editable": editable,
            "thread_id": self._thread,
            "turn_id": turn,
            "call_id": call,
            "runner": runner,
        }
        return gated(self._ids[0], expires_at=EXPIRES_MS, **named), turns

    # --- what is compared

    async def compare(self, world: World) -> None:
        """The store, the effects and the places of all are as the model has them."""
        assert len(self.effects) == sum(world.effects)
        for number, worker in enumerate(self._workers):
            assert worker.at in PLACES[world.workers[number].at], f"worker {number} is at {worker.at}"
        record = await self._store.approval(OWNER, self._ids[-1])
        if world.gone:
            assert record is None
            left = await self._store.tombstones(OWNER, approval_id=self._ids[-1])
            kept = world.record in ("done", "unknown", "rejected", "not_executed")
            assert [tomb.state for tomb in left] == [STATES.get(world.record, world.record)] * kept
            return
        assert (record.state if record is not None else "none") == STATES.get(world.record, world.record)
        if record is not None and world.says:
            assert record.decision is not None
            assert record.decision.approved == (world.says != "no")
            assert (record.decision.edited_arguments is not None) == (world.says == "edit")
        working = await self._store.at_work([(OWNER, self._thread)])
        holds = world.holder in (0, 1) and not world.lapsed
        expected = {(OWNER, self._thread): self._workers[world.holder].key} if holds else {}
        assert {place: at.run_key for place, at in working.items()} == expected

    async def end(self) -> None:
        """Nobody is at work any more, and the thread is gone."""
        for process in self._processes:
            process.dead = True
            if process.key:
                await lapse(self._store, process.key)
        for process in self._processes:
            await process.kill()
        with suppress(NotFound):
            thread = await self._store.lease_thread(OWNER, self._thread, AGENT, "end", create=False)
            await self._store.delete_thread(thread, "end")


async def lapse(store: FullStore, run_key: str) -> None:
    """The lease of that run ends by itself, as nobody renews it; whose it was may still renew it."""
    assert isinstance(store, SQLStore)
    await store._do("write", lambda: store._sql.leases.void(run_key))
