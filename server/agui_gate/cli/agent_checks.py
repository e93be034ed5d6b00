"""Checks an agent for `agui-gate doctor`: its model, the servers of its tools, and, if asked to, one request."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Set
from contextlib import aclosing

import msgspec

from agui_gate.adapter import Finding, Text, TurnRequest, UserTurn
from agui_gate.agents.agent import Agent
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import LOCAL, People
from agui_gate.errors import AguiGateError, ConfigurationError

ASK_SECONDS = 60.0
"""Seconds that the one request may take."""
QUESTION = "This is a connection test. Answer with the one word: well."


async def check_agent(agent: Agent, *, ask: bool, known: Set[str] | None = None) -> AsyncIterator[Finding]:
    """Findings about one agent, each as soon as it is known; everything that was opened is closed. ``known``: see
    `who_may_come`.
    """
    try:
        for found in () if known is None else _about_people(agent, known):
            yield _of(agent, found)
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


def who_may_come(settings: Settings) -> Set[str] | None:
    """Returns all who may use a server with these settings, where that is known: with fixed tokens alone, or with none.

    Nobody of them has a role, and each sees what is their own.
    """
    return None if settings.signed_tokens else set(settings.tokens) or {LOCAL}


def _about_people(agent: Agent, known: Set[str]) -> Iterator[Finding]:
    """Yields the finding that none of them may approve the calls of some tools."""
    gates = {tool.name: tool.gate.people for tool in agent.by_name.values() if tool.gate is not None}
    shut = [name for name, people in gates.items() if people is not None and not _is_open(people, known)]
    if shut:
        fix = "People with roles come with AGUI_GATE_JWT_ISSUER, or auth= in create_app: docs/people.md."
        yield Finding("people", True, f"nobody may approve {', '.join(shut)}: nobody who may come has a role", fix)


def _is_open(people: People, names: Set[str]) -> bool:
    """Returns whether one of these, none of whom has a role, may approve their own call."""
    if people.needs > 1 or not people.self_approval or people.acr or people.max_auth_age is not None:
        return False
    return people.approvers is None or (isinstance(people.approvers, tuple) and not names.isdisjoint(people.approvers))


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
