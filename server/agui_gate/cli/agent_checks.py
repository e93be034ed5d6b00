"""Checks an agent for `agui-gate doctor`: its model, the servers of its tools, and, if asked to, one request."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import msgspec

from agui_gate.adapter import Finding, Text, TurnRequest, UserTurn
from agui_gate.agents.agent import Agent
from agui_gate.errors import AguiGateError, ConfigurationError

ASK_SECONDS = 60.0
"""Seconds that the one request may take."""
QUESTION = "This is a connection test. Answer with the one word: well."


async def check_agent(agent: Agent, *, ask: bool) -> AsyncIterator[Finding]:
    """Findings about one agent, each as soon as it is known; everything that was opened is closed."""
    try:
        well = True
        for found in await agent.adapter.check():
            well = well and found.ok is not False
            yield _of(agent, found if ask else _with_hint(found))
        if ask and well:
            yield _of(agent, await _asked(agent))
        for source in agent.sources:
            for found in await source.check():
                yield _of(agent, found)
    finally:
        await agent.adapter.aclose()
        for source in agent.sources:
            await source.aclose()


def _with_hint(found: Finding) -> Finding:
    """Adds the hint that what can't be told can be asked for."""
    if found.ok is not None:
        return found
    return msgspec.structs.replace(found, fix=f"Add --ask, which asks the model. {found.fix}".strip())


def _of(agent: Agent, found: Finding) -> Finding:
    return Finding(f"{agent.name}: {found.what}", found.ok, found.detail, found.fix)


async def _asked(agent: Agent) -> Finding:
    """Asks for one turn with the agent's instructions and tools; what it says does not matter, nor is a tool run."""
    what = "a request with its tools"
    try:
        ready = await agent.ready()
        said = ready.instructions if isinstance(ready.instructions, str) else ""  # a function needs a situation
        request = TurnRequest((UserTurn("doctor", (Text(QUESTION),)),), said, ready.specs)
        async with asyncio.timeout(ASK_SECONDS), aclosing(agent.adapter.stream(request)) as batches:
            async for _ in batches:
                pass
    except TimeoutError:
        return Finding(what, False, f"no whole answer within {ASK_SECONDS:.0f} s", "Try again, or another model.")
    except ConfigurationError as error:
        return Finding(what, False, error.message, "Correct the agent.")
    except AguiGateError as error:
        return Finding(what, False, error.message, "Correct what it names.")
    return Finding(what, True, "is answered")
