"""An approval belongs to the tool that it was asked for: of that agent, from that source, with that schema.

What was agreed to with one tool must not run another that happens to have its name. That may be one of another MCP
server, or the same one after it changed what its arguments mean.
"""

import msgspec

from agui_gate.agent import Agent
from agui_gate.core.approvals import Approval
from agui_gate.errors import AguiGateError, ApprovalRefused, Unavailable
from agui_gate.tool import Tool

_ASK_AGAIN = "Nothing was run. Reject this and ask again."


def signed(approval: Approval, agent: Agent) -> Approval:
    """``approval``, saying which of the agent's tools it is for."""
    digest = agent.by_name[approval.tool].schema_digest
    return msgspec.structs.replace(approval, source=agent.source_of(approval.tool), schema_digest=digest)


def why_not(agent: Agent | None, approval: Approval) -> AguiGateError | None:
    """Why ``agent`` can't carry out ``approval`` now; it goes on waiting then.

    ``agent`` is the member that asked, as it is now; None where the team has none of its name. The answer is None also
    where the tool is gone for good: the call fails then, which says so.
    """
    if agent is None or approval.agent != agent.name:
        return ApprovalRefused(f"Only the agent {approval.agent}, which asked, can run this; answer it there.")
    if approval.is_held:
        return None
    source = None if approval.schema_digest is None else approval.source
    if (away := agent.why_not(approval.tool, source)) is not None:
        return Unavailable(away)
    tool = agent.by_name.get(approval.tool)
    if tool is None or approval.schema_digest is None:
        return None
    if agent.source_of(approval.tool) != approval.source:
        return ApprovalRefused(f"{approval.tool} is another tool than the one this was asked for. {_ASK_AGAIN}")
    if tool.schema_digest != approval.schema_digest:
        return ApprovalRefused(f"{approval.tool} has changed since this was asked. {_ASK_AGAIN}")
    return None


def tool_of(agent: Agent | None, approval: Approval) -> Tool | None:
    """The tool of ours that runs the call: of ``agent``, the member that asked, and of no other.

    None if there is none: the provider runs it, the tool is gone, or the agent is.
    """
    if agent is None or approval.agent != agent.name or approval.is_held:
        return None
    return agent.by_name.get(approval.tool)


def may_repeat(agent: Agent | None, approval: Approval) -> bool:
    """Whether a call that was interrupted may simply run again: its very tool is here, and it is idempotent."""
    tool = tool_of(agent, approval)
    return tool is not None and tool.idempotent and why_not(agent, approval) is None
