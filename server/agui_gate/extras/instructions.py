"""`Agent(instructions=…)` as a function: called before each request to the model, and never stored.

It is the deployment's code, so whatever it does wrong is an error of the server (`internal`): the run ends in
RUN_ERROR, and the thread can be used as before.
"""

import asyncio

import msgspec
import structlog

from agui_gate.agents.agent import Agent, Instructing
from agui_gate.agents.instruction_context import About, Situation
from agui_gate.agents.tool_source import with_missing_tools
from agui_gate.errors import NoInstructions
from agui_gate.extras.shared_state import state_of
from agui_gate.protocol.run_input import RunInput
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns.steps import Draft, Speaker, TurnStep
from agui_gate.turns.tool_execution import call_function, is_cancelled

SECONDS = 10.0
"""Seconds that a function may take that makes instructions."""

MOST_CHARACTERS = 512 * 1024
"""Characters of what it returns."""

log = structlog.get_logger("agui_gate.instructions")


class DynamicInstructions(TurnStep):
    """The step that makes a member's instructions with its ``function``. Steps that add to the prompt come later."""

    def __init__(self, speaker: Speaker, function: Instructing) -> None:
        self._speaker, self._function = speaker, function
        self._instructions = ""

    async def prepare(self) -> None:
        """Has them made. Raises `NoInstructions`."""
        speaker = self._speaker
        self._instructions = await _made(speaker.member.agent, self._function, speaker.run, speaker.thread)

    async def request(self, draft: Draft) -> None:
        """Begins the prompt with them."""
        draft.instructions = self._instructions


def turn_step(speaker: Speaker) -> DynamicInstructions:
    """Returns the step of a member whose instructions are a function."""
    function = speaker.member.agent.instructions
    assert not isinstance(function, str)
    return DynamicInstructions(speaker, function)


async def _made(agent: Agent, function: Instructing, run: RunInput, thread: LeasedThread) -> str:
    """Returns what the agent's instructions are now. Raises `NoInstructions`."""
    said = await _said(agent, function, _situation(run, thread), thread)
    if not isinstance(said, str) or len(said) > MOST_CHARACTERS:
        what = f"{len(said):,} characters" if isinstance(said, str) else type(said).__name__
        log.error("instructions_unusable", agent=agent.name, returned=what)
        raise NoInstructions
    return with_missing_tools(said, agent.away)


async def _said(agent: Agent, function: Instructing, situation: Situation, thread: LeasedThread) -> object:
    try:
        async with asyncio.timeout(SECONDS):
            owner, limits = situation.principal, thread.limits
            return await call_function(function, situation, "instructions", owner, limits, SECONDS)
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        log.exception("instructions_failed", agent=agent.name)
    except Exception:
        log.exception("instructions_failed", agent=agent.name)
    raise NoInstructions


def _situation(run: RunInput, thread: LeasedThread) -> Situation:
    props = {} if run.forwarded_props is None else run.forwarded_props
    return Situation(
        thread_id=thread.thread.id,
        principal=thread.actor,
        context=tuple(About(item.description or "", item.value) for item in run.context or ()),
        forwarded_props=msgspec.json.decode(msgspec.json.encode(props)),  # a copy: it is anybody's code
        state=state_of(thread).copy(),
    )
