"""The engine: what routes and commands call to start, follow and stop runs, and to decide approvals."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Roster, Team
from agui_gate.approvals.decisions_in_progress import DecisionsInProgress
from agui_gate.approvals.expiry import ExpiryJob
from agui_gate.approvals.orphan_job import OrphanJob
from agui_gate.approvals.outbox import Courier
from agui_gate.approvals.unanswered_calls import refuse, refuse_early
from agui_gate.bus.base import Bus, Published, Reader
from agui_gate.bus.memory import MemoryBus
from agui_gate.concurrency import stop_tasks, undisturbed
from agui_gate.config.limits import DEFAULTS, DISCONNECT_GRACE, Limits
from agui_gate.core.answers import Way
from agui_gate.core.sequencer import Sequencer
from agui_gate.errors import AguiGateError, ConfigurationError, NotFound, RateLimited, ShuttingDown
from agui_gate.extension import Extension, Hint
from agui_gate.extra_loader import load
from agui_gate.log_events import Downgrades
from agui_gate.protocol.dialects.base import Choice, Deployment
from agui_gate.protocol.run_input import RunInput
from agui_gate.readers.wake_ups import Watch
from agui_gate.runs.extensions import Extensions
from agui_gate.runs.heartbeat import Heartbeat, beating
from agui_gate.runs.live_run import LiveRun
from agui_gate.runs.run import Run
from agui_gate.runs.run_context import RunContext
from agui_gate.runs.warm_up import frozen, warm_up
from agui_gate.stores import open_store
from agui_gate.stores.base import StopRequest, Store, Thread
from agui_gate.stores.lookup import capabilities
from agui_gate.threads.budget import Budget, Reservation
from agui_gate.threads.lease import SaveRetrier, What
from agui_gate.threads.leased_thread import LeasedThread, Leaser
from agui_gate.threads.reconciliation import new_id
from agui_gate.turns.client_context import is_suggestion

if TYPE_CHECKING:
    from agui_gate.approvals.out_of_band import Decided, Decisions
    from agui_gate.core.principals import By
    from agui_gate.readers.connect import Connected, Connector
    from agui_gate.runs.stop_and_delete import Ended, Endings
    from agui_gate.turns.meter import Meter


class Engine:
    """Agents over a store. ``start`` and ``aclose`` bracket its use; runs in flight belong to it."""

    agents: dict[str, Agent]
    members: dict[str, Agent]
    store: Store

    def __init__(
        self,
        agents: Sequence[Agent],
        store: Store,
        dialects: Choice = Deployment.AUTO,
        bus: Bus | None = None,
        *,
        disconnect_grace: float = DISCONNECT_GRACE,
        limits: Limits = DEFAULTS,
        extensions: Sequence[Extension] = (),
        meter: "Meter | None" = None,
    ) -> None:
        self.limits, self._meter = limits, meter
        self.roster = Roster(agents)
        self.agents, self.members, self.team = self.roster.agents, self.roster.members, self.roster.team
        self.store = store
        self._dialects = dialects
        self.bus = bus or MemoryBus(is_private=True)
        self._grace = disconnect_grace
        self._downgrades = Downgrades()
        self._runs: dict[str, LiveRun] = {}
        self._by_thread: dict[tuple[str, str], LiveRun] = {}
        self._in_flight: Counter[str] = Counter()
        self.budget = Budget(limits.open_bytes)
        self._reservations: dict[str, Reservation] = {}  # by run key, of the runs that have a lease
        self.offers = offers = capabilities(store)
        self._watch = Watch(offers.shared)
        self.extensions = Extensions(extensions)
        self._keeper = SaveRetrier(store, self.written)
        self._leaser = Leaser(store, self._keeper, self.budget, limits, meter)
        self.sent_before = self._leaser.cache.sent
        self._working = DecisionsInProgress()
        self._connector: Connector | None = None
        written = partial(self.written, what="approvals")
        self._expiry = ExpiryJob(offers.expiry, written) if offers.expiry else None
        self._orphans = OrphanJob(offers.orphans, self._keeper, new_id, self.leases) if offers.orphans else None
        self._heart: Heartbeat | None = None
        self._courier: Courier | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._starting: asyncio.Future[None] | None = None
        self._started = self._closing = False
        self._add_extras()

    def _add_extras(self) -> None:
        """Adds what the settings ask for, and nothing else."""
        if (ages := self.limits.ages) is not None:
            if self.offers.retention is None:
                raise ConfigurationError("This store can't forget what is old: leave AGUI_GATE_RETENTION_… unset.")
            self.extensions.add(load("retention_job").RetentionJob(self.offers.retention, ages))
        if not (isinstance(self.bus, MemoryBus) and self.bus.is_private):
            self.extensions.add(load("replica_signals").Replicas(self.bus, self._hear))

    # A run needs none of these, so each is imported with the first request that does.

    @property
    def _connections(self) -> "Connector":
        """Serves clients that come back."""
        if self._connector is None:
            from agui_gate.readers.connect import Connector

            readers = (self.store, self.bus, self._watch, self.budget, self.following, self.read_thread)
            self._connector = Connector(*readers, self._dialects, self._downgrades, new_id)
        return self._connector

    @cached_property
    def _decisions(self) -> "Decisions":
        """Decides out of band."""
        from agui_gate.approvals.out_of_band import Decisions

        how = (new_id, self._watch, self.check_open, self._leaser, self.limits, self._working)
        return Decisions(self.roster, self.store, *how)

    @cached_property
    def _endings(self) -> "Endings":
        """Stops runs and decisions, and deletes threads."""
        from agui_gate.runs.stop_and_delete import Endings

        work = (self.following, self._working, self._keeper, self._watch)
        return Endings(self.store, *work, self._ask_to_stop, self._deleted)

    async def start(self) -> None:
        """Opens the store, keeps leases alive, and warms up. Once: calling it again does nothing."""
        if self._started:
            return
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        try:
            await undisturbed(self._starting)
        except Exception:
            self._starting = None  # the next caller may try again
            raise

    async def _start(self) -> None:
        async with AsyncExitStack() as opened:
            await self.store.start()
            opened.push_async_callback(self.store.aclose)
            await self.bus.start()
            opened.push_async_callback(self.bus.aclose)
            await self.extensions.start()
            opened.push_async_callback(self.extensions.stop)
            if self.offers.outbox is not None:
                self._courier = Courier(self.offers.outbox, new_id(), self.extensions.consumers)
                await self._courier.want()
            opened.pop_all()
        self.roster.open()
        self._watch.open()
        self._heart = Heartbeat(self.store, self.offers.shared, self.leases, self._asked_to_stop, self._lost)
        works = {"heart": beating(self._heart, self._tidy), "tools": self.roster.find_tools()}
        if self._courier is not None:
            works["outbox"] = self._courier.work()
        if self._orphans is not None:
            works["orphans"] = self._orphans.work()
        self._tasks = [asyncio.create_task(work, name=f"agui-gate {name}") for name, work in works.items()]
        await warm_up(self.members.values())
        self._started, self._closing = True, False

    async def _tidy(self) -> None:
        if self._expiry is not None:
            await self._expiry.step()
        for live in list(self._runs.values()):
            if live.run is not None:
                await live.run.tell_expired()
        self._leaser.tidy()
        self.extensions.tick()
        await self.bus.expire()

    async def drain(self, seconds: float = 0.0, grace: float = 5.0) -> None:
        """Takes nothing new, lets what is in flight come to its end, and after ``seconds`` stops what has not.

        What is stopped ends its own stream, within ``grace`` seconds. Meanwhile everything can use the store. Called
        again, it waits for nothing before it stops what is left.
        """
        first, self._closing = not self._closing, True
        self.extensions.drain()
        if first and seconds > 0 and (self._runs or self.leases()):
            from agui_gate.runs.stop_and_delete import let_end

            await let_end(self._runs.values(), self._working, self._keeper, seconds)
        self._watch.stop()
        if self._connector is not None:
            self._connector.stop()
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        for run in list(self._runs.values()):
            run.cancel(draining=True)
        decisions = asyncio.ensure_future(self._working.stop_all(grace))
        await asyncio.wait([decisions, *tasks], timeout=grace)

    async def aclose(self, grace: float = 5.0) -> None:
        """Stops what is in flight, with ``grace`` seconds, then closes everything. `start` opens it again."""
        await self.drain(grace=grace)
        if self._started:
            frozen.leave()
        self._started, self._starting = False, None
        await stop_tasks(self._tasks)
        try:
            await self.extensions.stop()
            await self.roster.aclose()
        finally:
            await self._keeper.aclose()
            await self._watch.aclose()
            await self.bus.aclose()
            await self.store.aclose()

    async def run(
        self,
        agent: Agent,
        run: RunInput,
        principal: str,
        *,
        stop_alone: bool | None = None,
        create: bool = True,
        way: Way = "resume",
        keeps_state: bool = False,
        reads_stops: bool = False,
        by: "By" = None,
    ) -> LiveRun:
        """Begins a run. Raises `ThreadBusy` and `ApprovalPending` before anything was streamed; later errors are in it.

        A run of the thread that nobody reads any more, and that would be stopped for it, is stopped now. Its client has
        come back with something else. ``stop_alone``: whether this one is stopped when its last reader left; None means
        unless the agent's `on_disconnect` is ``continue``. ``create`` False: raises `NotFound` for an unknown thread.
        ``way`` is how its `resume[]` came. ``keeps_state``: the client keeps the state that it sends, so that patches
        alone will do. ``reads_stops``: it tells a stop from a failure. ``by``: who acts for the owner ``principal``. A
        request for suggestions, or another one that an extension wants apart, is run `aside`, however it comes.
        """
        if is_suggestion(run):
            return await self.aside(load("suggestions").without_tools(agent), run, principal, by)
        if (other := self.extensions.separate_run(agent, run)) is not None:
            return await self.aside(other, run, principal, by)
        self._admit(principal)
        if run.state:
            self.limits.check_state(run.state)
        team = self.team(agent)
        await refuse_early(team, self.store, self.read_thread, run, principal)
        left = self.following(principal, run.thread_id)
        if left is not None and left.alone:
            await self.cancel(principal, run.thread_id, left.run_id)
        key = f"run_{new_id()[:16]}"
        opened, reservation = await self._leaser.lease(principal, run.thread_id, agent.name, key, create=create)
        thread, opened.by = opened.thread, by
        alone = agent.on_disconnect != "continue" if stop_alone is None else stop_alone
        try:
            await refuse(team, run, thread)
            opened.parts.check(run, agent)
            live = await self._published_run(key, principal, thread.id, run.run_id, stop_alone=alone)
        except BaseException:
            await self._keeper.give_back(thread, key)
            raise
        live.way, live.keeps_state, live.reads_stops = way, keeps_state, reads_stops
        self._by_thread |= dict.fromkeys(((principal, thread.id), (principal, run.thread_id)), live)
        self._reservations[key] = reservation
        return self._begin(team, run, opened, self.store, live)

    async def aside(self, agent: Agent, run: RunInput, principal: str, by: "By" = None) -> LiveRun:
        """Begins a run of which nothing is kept: it has a store of its own, which goes with it. So there is no thread
        that anybody could list or continue, and no lease that a run of the person's thread would wait for.
        """
        self._admit(principal)
        if run.state:
            self.limits.check_state(run.state)
        key = f"run_{new_id()[:16]}"
        store = open_store("memory://")
        await store.start()
        thread = await store.lease_thread(principal, run.thread_id, agent.name, key)
        opened = LeasedThread(store, thread, key, self.limits)
        opened.by, opened.meter = by, self._meter
        opened.parts.check(run, agent)
        live = await self._published_run(key, principal, thread.id, run.run_id, stop_alone=True)
        return self._begin(self.team(agent), run, opened, store, live)

    async def _published_run(
        self, key: str, principal: str, thread_id: str, run_id: str, *, stop_alone: bool
    ) -> LiveRun:
        """Returns a run that can be read, and is not begun."""
        publisher = await self.bus.open(key, principal, thread_id, run_id)
        try:
            self._admit(principal)  # again: a run that began after the drain would be stopped by nobody
        except AguiGateError:
            publisher.end()
            raise
        return LiveRun(self.bus, publisher, key, principal, thread_id, run_id, stop_alone=stop_alone, grace=self._grace)

    def _begin(self, team: Team, run: RunInput, opened: LeasedThread, store: Store, live: LiveRun) -> LiveRun:
        """Starts a run on its open thread."""
        shapes = self._dialects.choose(run, reads_stops=live.reads_stops)
        opened.view = shapes.view(shapes.style(team.entry.hitl, run))
        opened.history.sent = run.sent
        opened.parts.opened(team.entry)
        live.opened(*opened.snapshot())
        seq = Sequencer(run.thread_id, run.run_id, live.publish, shapes)
        work = Run(RunContext(team, run, shapes, opened, seq, live, new_id, store, self._downgrades))
        self._runs[live.key] = live
        live.thread_bytes = opened.capacity.size
        self._in_flight[live.principal] += 1
        live.start(work, self._over)
        if self._meter is not None:
            self._meter.run_begun(team.entry.name, live, opened)
        return live

    def agent(self, name: str | None) -> Agent:
        """Returns the agent of that name; the first one for None. Raises `NotFound`."""
        agent = next(iter(self.agents.values())) if name is None else self.agents.get(name)
        if agent is None:
            raise NotFound("There is no such agent.")
        return agent

    def following(self, principal: str, thread_id: str) -> LiveRun | None:
        """Returns the thread's run, if one is in flight here."""
        return self._by_thread.get((principal, thread_id))

    async def published(self, principal: str, run_key: str) -> tuple[Published, LiveRun | None] | None:
        """Returns what is kept of a run, and the run itself while it is in flight. None for unknown ones and for
        others'.
        """
        published = await self.bus.find(run_key)
        if published is None or published.principal != principal:
            return None
        return published, self._runs.get(run_key)

    async def read(self, run_key: str, after: int) -> Reader | None:
        """Returns a reader of a run that isn't in flight here, from behind that frame on; None if it isn't kept."""
        return await self._connections.read(run_key, after)

    async def read_thread(self, principal: str, thread_id: str) -> tuple[Thread, Reservation] | None:
        """Returns a whole thread, and its part of the budget: kept for as long as the thread is used. None if there is
        none.

        Raises as `Budget.reserve`.
        """
        reservation = self.budget.expect(principal, thread_id)
        thread = await self.store.read_thread(principal, thread_id)
        return None if thread is None else (thread, reservation.found(thread_id, thread.bytes))

    async def connect(self, agent: Agent, run: RunInput, principal: str, **how: bool) -> "Connected":
        """Returns the conversation as it stands, then what is said of it: see `Connector.connect`."""
        return await self._connections.connect(self.team(agent), run, principal, **how)

    async def cancel(self, principal: str, thread_id: str, run_id: str | None = None) -> "Ended":
        """Stops what is at work on the thread, in whichever process: see `Endings.stop`."""
        return await self._endings.stop(principal, thread_id, run_id)

    async def _deleted(self, principal: str, thread_id: str) -> None:
        self.written(principal, thread_id, "approvals")
        self._leaser.forget(principal, thread_id)
        await self.bus.forget(principal, thread_id)

    async def delete_thread(self, principal: str, thread_id: str) -> bool:
        """Removes the thread: see `Endings.delete`. Raises `ThreadBusy`."""
        return await self._endings.delete(principal, thread_id)

    def _admit(self, principal: str) -> None:
        """Raises `ShuttingDown` when nothing new is taken, `RateLimited` when this principal has runs enough."""
        self.check_open()
        if self._in_flight.get(principal, 0) >= self.limits.principal_runs:
            raise RateLimited(
                f"{self.limits.principal_runs:,} of your runs are in progress, which is the limit. Wait until one ends."
            )

    def check_open(self) -> None:
        """Raises `ShuttingDown` when nothing new is taken."""
        if self._closing:
            raise ShuttingDown

    async def decide(
        self, principal: str, approval_id: str, payload: Any, *, way: Way = "http", go_on: bool = False, by: "By" = None
    ) -> "Decided":
        """Decides one approval out of band: see `Decisions.decide`.

        ``go_on``: then, if nothing else waits on its thread, the conversation goes on in a run that nobody has to read.
        """
        decided = await self._decisions.decide(principal, approval_id, payload, way, by)
        return await self._decisions.go_on(decided, self.run) if go_on and decided.ours else decided

    def _over(self, live: LiveRun) -> None:
        """Forgets a run that has ended: it is found under none of its names any more."""
        self._reservations.pop(live.key, None)
        if self._runs.pop(live.key, None) is not None:
            self._in_flight[live.principal] -= 1
            if not self._in_flight[live.principal]:
                del self._in_flight[live.principal]
        assert live.run is not None
        for thread_id in (live.thread_id, live.run.scope.input.thread_id):
            if self._by_thread.get((live.principal, thread_id)) is live:
                del self._by_thread[live.principal, thread_id]
        thread = live.run.scope.thread
        # Others are of a store that goes with them. Something that was called off may change the history still.
        if thread.lease.store is self.store and not live.deciding():
            self._leaser.release(thread)

    def leases(self) -> set[str]:
        """Returns the keys of the leases that are held here."""
        return {*self._reservations, *self._working.keys, *self._keeper.leases}

    def written(self, principal: str, thread_id: str, what: What) -> None:
        """Wakes who waits for what was written here, and the courier where others are to be told."""
        self._watch.happened(principal, thread_id)
        self.extensions.written(principal, thread_id, what)
        if what != "saved" and self._courier is not None and self.extensions.consumers:
            self._courier.wake()

    def _ask_to_stop(self, principal: str, thread_id: str) -> None:
        """Tells others that a `StopRequest` waits in the store for what works on that thread."""
        self.extensions.written(principal, thread_id, "stop")

    def _hear(self, hint: Hint) -> None:
        """Takes what another replica says as if it had been written here."""
        place = (hint.principal, hint.thread_id)
        if hint.what != "stop":
            self._watch.happened(*place)
            self._leaser.forget(*place)
        elif self._heart is not None and (place in self._by_thread or place in self._working):
            self._heart.hurry()
        self.extensions.written(*place, hint.what, here=False)

    def _lost(self, run_key: str) -> None:
        """Tells a run that its lease is lost. A decision's claim is refused then, and its tool is not cut off."""
        live = self._runs.get(run_key)
        if live is not None and live.run is not None:
            live.run.lose()

    def _asked_to_stop(self, run_key: str, request: StopRequest) -> None:
        """Stops what holds this lease, as somebody wants, most likely in another process."""
        live = self._runs.get(run_key)
        if live is None:
            self._working.asked(run_key, request.gently)
        elif request.run_id in (None, live.run_id):
            live.cancel(gently=request.gently)
