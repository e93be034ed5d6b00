"""What an agent can do, as AG-UI's `AgentCapabilities`: what holds and is known. The rest is left out (CAP-1, CAP-2).

What the server does itself holds for every agent. What the model can do its adapter declares
(`agui_gate.core.abilities`). It binds nobody: the stream counts.
"""

from typing import Any

from agui_gate.agent import Agent
from agui_gate.core.abilities import Abilities, abilities_of

Json = dict[str, Any]


def capabilities(agent: Agent) -> Json:
    """The agent's AG-UI `AgentCapabilities`."""
    known = abilities_of(agent.adapter)
    return _said(
        identity=_said(name=agent.name, type="agui-gate", description=agent.description or None),
        # No `resumable`: coming back to a stream is this server's own, not a transport of the specification's.
        transport={"streaming": True, "websocket": False, "httpBinary": False, "pushNotifications": False},
        tools={"supported": True, "items": _tools(agent), "parallelCalls": True, "clientProvided": True},
        state={"snapshots": True, "deltas": True, "persistentState": True},
        reasoning=_said(supported=known.reasoning, streaming=known.reasoning_shown, encrypted=known.reasoning_sealed),
        multimodal=_said(input=_input(known)),
        execution=_said(codeExecution=known.runs_code, sandboxed=known.sandboxed, maxIterations=agent.max_turns),
        humanInTheLoop=_asking(agent, known),
    )


def _tools(agent: Agent) -> list[Json]:
    return [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in agent.by_name.values()]


def _input(known: Abilities) -> Json:
    return _said(image=known.image, audio=known.audio, video=known.video, pdf=known.pdf, file=known.file)


def _asking(agent: Agent, known: Abilities) -> Json:
    """Whether people are asked. Edits are those in an answer to an interrupt (`editedArgs`), so not those of cards."""
    gates = [tool.gate for tool in agent.by_name.values() if tool.gate]
    asks = bool(gates) or bool(known.asks)
    if not asks and agent.sources:  # what they have is found out with a run
        return {}
    interrupts = asks and agent.hitl != "card"
    edits = any(gate.editable for gate in gates)
    return _said(supported=asks, approvals=asks, interrupts=interrupts, approveWithEdits=edits if interrupts else None)


def _said(**members: Any) -> Json:
    """The members of which something is known."""
    return {name: value for name, value in members.items() if value not in (None, {})}
