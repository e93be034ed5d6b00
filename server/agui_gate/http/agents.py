"""Routes that introduce agents: who is served, and what each of them can do.

The latter is AG-UI's `AgentCapabilities`: what holds and is known. The rest is left out (CAP-1, CAP-2). What the server
does itself holds for every agent. What the model can do its adapter declares (`agui_gate.core.model_capabilities`). It
binds nobody: the stream counts.
"""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Team
from agui_gate.agents.tool import Tool
from agui_gate.core.model_capabilities import Abilities, abilities_of
from agui_gate.http.server import HttpServer
from agui_gate.http.views import json_response

Json = dict[str, Any]


class AgentRoutes:
    """The handlers of these routes over one server."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server

    async def page(self, request: Request) -> Response:
        """`GET /agents`."""
        await self._server.guard.principal(request)
        engine = self._server.engine
        return json_response({"agents": [agent_view(engine.team(agent)) for agent in engine.agents.values()]})

    async def capabilities(self, request: Request) -> Response:
        """`GET /agents/{name}/capabilities`."""
        await self._server.guard.principal(request)
        agent = self._server.engine.agent(request.path_params["name"])
        return json_response(capabilities(self._server.engine.team(agent)))


def capabilities(team: Team) -> Json:
    """Returns the AG-UI `AgentCapabilities` of the team's entry agent."""
    agent, known = team.entry, _known_of_all(team)
    return _said(
        identity=_said(name=agent.name, type="agui-gate", description=agent.description or None),
        # No `resumable`: coming back to a stream is this server's own, not a transport of the specification's.
        transport={"streaming": True, "websocket": False, "httpBinary": False, "pushNotifications": False},
        tools={"supported": True, "items": _tools(agent), "parallelCalls": True, "clientProvided": True},
        output=_said(structuredOutput=agent.output is not None or None),
        state={"snapshots": True, "deltas": True, "persistentState": True},
        multiAgent=_others(team),
        reasoning=_said(supported=known.reasoning, streaming=known.reasoning_shown, encrypted=known.reasoning_sealed),
        multimodal=_said(input=_input(known)),
        execution=_said(codeExecution=known.runs_code, sandboxed=known.sandboxed, maxIterations=agent.max_turns),
        humanInTheLoop=_asking(team),
    )


def _others(team: Team) -> Json:
    """Returns how the entry agent passes work to others."""
    agent = team.entry
    delegates = [tool.agent for tool in agent.by_name.values() if tool.agent is not None]
    subagents = [_said(name=one.name, description=one.description or None) for one in delegates]
    return _said(
        supported=not team.is_alone or None,
        handoffs=bool(agent.handoffs) or None,
        delegation=bool(delegates) or None,
        subagents=subagents or None,
    )


def _known_of_all(team: Team) -> Abilities:
    """Returns the abilities that hold whoever of the team answers."""
    first, *others = (abilities_of(agent.adapter) for agent in team.agents)
    differing = (
        name for name in first.__struct_fields__ for one in others if getattr(one, name) != getattr(first, name)
    )
    return msgspec.structs.replace(first, **dict.fromkeys(differing))


def _tools(agent: Agent) -> list[Json]:
    return [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in agent.by_name.values()]


def _input(known: Abilities) -> Json:
    return _said(image=known.image, audio=known.audio, video=known.video, pdf=known.pdf, file=known.file)


def _asking(team: Team) -> Json:
    """Returns whether people are asked, by whomever of the team.

    Edits are those in an answer to an interrupt (`editedArgs`), so not those of cards.
    """
    agents = team.agents
    gates = [tool.gate for agent in agents for tool in agent.by_name.values() if tool.gate]
    asks = bool(gates) or any(abilities_of(agent.adapter).asks for agent in agents)
    if not asks and any(agent.sources for agent in agents):  # what they have is found out with a run
        return {}
    interrupts = asks and team.entry.hitl != "card"
    edits = any(gate.editable for gate in gates)
    return _said(supported=asks, approvals=asks, interrupts=interrupts, approveWithEdits=edits if interrupts else None)


def _said(**members: Any) -> Json:
    """Returns the members of which something is known."""
    return {name: value for name, value in members.items() if value not in (None, {})}


def agent_view(team: Team) -> dict[str, Any]:
    """Returns the entry agent of ``team``, as a page wants to introduce it, and who works with it. Instructions stay
    here.
    """
    agent = team.entry
    view = {**_member_view(agent), "examples": list(agent.examples)}
    others = [_member_view(one) for one in team.agents if one is not agent]
    return view | {"team": others} if others else view


def _member_view(agent: Agent) -> dict[str, Any]:
    view = {
        "name": agent.name,
        "description": agent.description,
        "tools": [_tool_view(tool) for tool in agent.by_name.values()],
    }
    return view | {"handoffs": [heir.name for heir in agent.handoffs]} if agent.handoffs else view


def _tool_view(tool: Tool) -> dict[str, Any]:
    view = {
        "name": tool.name,
        "description": tool.description,
        "gated": tool.gate is not None,
        "parameters": tool.parameters,
    }
    return view if tool.agent is None else view | {"agent": tool.agent.name}
