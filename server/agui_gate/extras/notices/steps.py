"""Reminders and escalations: what happens to a call while it waits for a person.

They are judged from the time at which it was asked, by the store's clock, so a restart changes nothing. The steps of a
call are written down when its question is told (`plan`); each replica looks for what is due, and of two one does it.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

import structlog

from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import MAX_EXPIRY, Gate
from agui_gate.core.approvals import Approval
from agui_gate.errors import AguiGateError, ConfigurationError
from agui_gate.stores.capabilities import OrphanedStore
from agui_gate.stores.deliveries import DeliveryStore, Step, Stepped

MAX_STEPS = 20
"""Reminders, or escalations, of one gate."""
LOOK_SECONDS = 2.0
"""Seconds between two looks for what is due."""
BATCH = 100
"""Steps that are done at once."""

log = structlog.get_logger("agui_gate.notices")


def check_gate(gate: Gate) -> None:
    """Reads ``remind`` and ``escalate`` of a gate that has some. Raises `ConfigurationError`."""
    remind: Any = gate.remind
    escalate: Any = gate.escalate
    if isinstance(remind, str) or not isinstance(remind, Sequence):
        raise ConfigurationError("Gate(remind=…) takes a list of seconds, such as [300, 900]")
    if isinstance(escalate, str) or not isinstance(escalate, Sequence) or not all(map(_is_pair, escalate)):
        raise ConfigurationError('Gate(escalate=…) takes a list of seconds and whom, such as [(900, "team-lead")]')
    _check_times(gate, "remind", remind)
    _check_times(gate, "escalate", [at for at, _ in escalate])
    object.__setattr__(gate, "remind", tuple(remind))
    object.__setattr__(gate, "escalate", tuple((at, _who(who)) for at, who in escalate))


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def _check_times(gate: Gate, name: str, times: Sequence[Any]) -> None:
    if not all(isinstance(at, int | float) and not isinstance(at, bool) and 0.001 <= at <= MAX_EXPIRY for at in times):
        raise ConfigurationError(f"Gate({name}=…) takes seconds above 0, up to {MAX_EXPIRY:,}")
    if list(times) != sorted(set(times)):
        raise ConfigurationError(f"Gate({name}=…) takes seconds that ascend")
    if len(times) > MAX_STEPS:
        raise ConfigurationError(f"Gate({name}=…) takes up to {MAX_STEPS} of them")
    if gate.expires_after is not None and times and times[-1] >= gate.expires_after:
        raise ConfigurationError(f"Gate({name}=…) names a time at which the call has expired")


def _who(who: Any) -> str | tuple[str, ...]:
    if isinstance(who, str) and who:
        return str.__str__(who)
    names = list(who) if isinstance(who, Collection) and not isinstance(who, str) else []
    if not names or not all(isinstance(one, str) and one for one in names):
        raise ConfigurationError("Gate(escalate=…) names a role, or a list of ids, for each time")
    return tuple(dict.fromkeys(str.__str__(one) for one in names))


async def gate_of(agent: Agent | None, approval: Approval) -> Gate | None:
    """Returns the gate of a call's tool, as it is now; None if there is none. Of tools that a source has yet to list,
    it asks for them.
    """
    if agent is None or approval.is_held:
        return None
    if approval.tool not in agent.by_name and agent.sources:
        agent = await agent.ready()
    tool = agent.by_name.get(approval.tool)
    return None if tool is None else tool.gate


async def may_go_unasked(agents: Mapping[str, Agent], approval: Approval) -> bool:
    """Returns whether a rule or a grant may let the call go, so that nobody is asked."""
    gate = await gate_of(agents.get(approval.agent), approval)
    return gate is not None and gate.has_rule


def went_unasked(approval: Approval) -> bool:
    """Returns whether a rule or a grant has decided the call: nobody was asked, so nobody is told."""
    return approval.decision is not None and approval.decision.way in ("rule", "grant")


def steps_of(approval: Approval, gate: Gate) -> list[Step]:
    """Returns the steps of a call."""
    reminders = [Step(approval.id, "reminder", _ms(at)) for at in gate.remind]
    return [*reminders, *(Step(approval.id, "escalated", _ms(at), who) for at, who in gate.escalate)]


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


class StepJob:
    """Does what is due. ``written`` is told the principal and the id of each thread of which something was written.

    ``reminds``, ``orphans``: whether anybody is told of a reminder, and of a call on which nobody is at work.
    """

    def __init__(
        self,
        store: DeliveryStore,
        written: Callable[[str, str], None],
        *,
        reminds: bool,
        orphans: OrphanedStore | None = None,
        held: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._store, self._written, self._reminds = store, written, reminds
        self._orphans, self._held = orphans, held
        self._told: set[str] = set()
        self._is_failing = False

    async def work(self) -> None:
        """Looks for ever."""
        while True:
            wait: float = LOOK_SECONDS
            try:
                wait = await self.step()
                await self.report_orphans()
                self._is_failing = False
            except Exception as error:
                if not self._is_failing:
                    known = isinstance(error, AguiGateError)
                    log.warning("no_step_done", error=str(error), exc_info=not known)
                self._is_failing = True
            await asyncio.sleep(wait)

    async def step(self) -> float:
        """Does what is due. Returns the seconds until it is time to look again."""
        due, wait_ms = await self._store.due_steps(BATCH)
        for step in due:
            self._wake(await self._store.take_step(step, tell=self._reminds))
        return LOOK_SECONDS if wait_ms is None else min(LOOK_SECONDS, wait_ms / 1000)

    async def report_orphans(self) -> None:
        """Tells of calls that were let go, and on which nobody is at work."""
        if self._orphans is None:
            return
        found = (await self._orphans.orphans()).found
        held = self._held()
        for one in found:
            if one.id not in self._told and one.run_key not in held:
                self._wake(await self._store.report_orphan(one))
        self._told = {one.id for one in found if one.run_key not in held}

    def _wake(self, done: Stepped | None) -> None:
        if done is not None:
            self._written(done.principal, done.thread_id)


def orphans_of(store: Any) -> OrphanedStore | None:
    """Returns the store, if it says which calls are orphans."""
    return cast(OrphanedStore, store) if hasattr(store, "orphans") else None
