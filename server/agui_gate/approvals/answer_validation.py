"""Validates answers to pending calls, and returns a verdict for each. It is pure and fails closed.

Edits are read by `edits`, which is imported with the first one.

Tool identity: an approval belongs to the tool that it was asked for, of that agent, from that source, with that
schema. What was agreed to with one tool must not run another that happens to have its name. That may be one of another
MCP server, or the same one after it changed what its arguments mean.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import Tool
from agui_gate.core import open_questions
from agui_gate.core.answers import Answer, Way
from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.registry import ApprovalIndex, Status
from agui_gate.errors import AguiGateError, ApprovalRefused, Unavailable
from agui_gate.extra_loader import load

if TYPE_CHECKING:
    from agui_gate.core.principals import By
    from agui_gate.threads.lease import Lease
    from agui_gate.threads.leased_thread import LeasedThread

WhyNot = Callable[[Approval], AguiGateError | None]
"""Returns the reason for which an approved call can't be carried out now, or None: see `why_not`."""

ToolOf = Callable[[Approval], Tool | None]
"""Returns our tool that runs a call, or None where there is none: see `tool_of`."""


class Verdict(msgspec.Struct, frozen=True):
    """The move to make for one pending record: to state ``to`` (claimed means: then run it). ``claim`` makes it where a
    rule has to agree as well. ``grant``: see `Answer`. ``terms``: what it depends on besides, see `Lease.move`.
    """

    approval: Approval
    to: State
    decision: Decision
    claim: "Callable[[Lease], Awaitable[Approval]] | None" = None
    grant: str | None = None
    terms: dict[str, Any] = {}


class Refused(msgspec.Struct, frozen=True):
    """An approval's answers that could not be taken, and the reason; ``way`` is how the last of them came."""

    approval: Approval
    error: AguiGateError
    way: Way


class AnswerValidation(msgspec.Struct, frozen=True):
    """``verdicts`` to carry out; ``refused`` says which answers could not be taken, and why."""

    verdicts: tuple[Verdict, ...]
    refused: tuple[Refused, ...]


_TO = {"approve": State.CLAIMED, "reject": State.REJECTED, "cancel": State.CANCELLED}

_REFUSED: dict[Status, str] = {
    "missing": "This call is no longer pending.",
    "name_mismatch": "The answer is about a different tool than the question.",
    "arguments_mismatch": "The answer is about different arguments than the question.",
}


def validate_answers(
    answers: Iterable[Answer],
    index: ApprovalIndex,
    tool_of: ToolOf,
    principal: str,
    why_not: WhyNot,
    by: "By" = None,
) -> AnswerValidation:
    """Returns the verdicts on ``answers`` (whose ids are approval ids). Contradicting answers decide nothing.

    They are decisions ``by`` who acts; None: by the ``principal`` itself.

    A verdict uses its approval up in ``index``. An approved call that can't be carried out by the very tool that it was
    asked for is refused here, before any claim.
    """
    grouped: dict[str, list[Answer]] = {}
    for answer in answers:
        grouped.setdefault(answer.id, []).append(answer)
    verdicts: list[Verdict] = []
    refused: list[Refused] = []
    for approval_id, said in grouped.items():
        if (approval := index.find(approval_id, "approval")) is None:
            continue
        try:
            verdicts.append(_verdict(approval, said, index, tool_of(approval), principal, why_not, by))
        except AguiGateError as error:
            refused.append(Refused(approval, error, said[-1].way))
    return AnswerValidation(tuple(verdicts), tuple(refused))


async def checked(
    verdicts: Sequence[Verdict], tool_of: ToolOf, thread: "LeasedThread", now: int
) -> tuple[Sequence[Verdict], Sequence[Refused]]:
    """Returns the verdicts that may be carried out, and those that may not, where gates ask for people or have a
    rule.
    """
    tools = [tool_of(verdict.approval) for verdict in verdicts if verdict.to is not State.REJECTED]
    is_ruled = any(tool and tool.gate and tool.gate.has_rule for tool in tools)
    if not is_ruled and not any(v.approval.people or v.grant is not None or v.decision.break_glass for v in verdicts):
        return verdicts, ()
    kept, refused = await load("people.approvers").check_verdicts(verdicts, tool_of, thread, now)
    return kept, refused


def _verdict(
    approval: Approval,
    said: Sequence[Answer],
    index: ApprovalIndex,
    tool: Tool | None,
    principal: str,
    why_not: WhyNot,
    by: "By",
) -> Verdict:
    """Returns the one verdict that ``said`` amounts to. Raises `ApprovalRefused`, and what ``why_not`` says.

    An answer that can't be taken says nothing, rather than spoiling those beside it. Clients replay refused tool
    messages with their history, and a proper answer has to count all the same (B2).
    """
    verdicts: list[Verdict] = []
    refused: list[AguiGateError] = []
    for sent in said:
        answer = open_questions.read(approval, sent) if approval.is_held else sent
        about = None if answer.arguments is None else _meant(approval, answer.arguments, tool)
        try:
            edited = _edit(approval, answer, index.check(approval, answer.name, about), tool, why_not)
        except (ApprovalRefused, Unavailable) as error:
            refused.append(error)
        else:
            said_yes, alarm = answer.choice == "approve", answer.break_glass
            decision = Decision(said_yes, principal, answer.reason, edited, answer.way, break_glass=alarm)
            signed_decision = decision if by is None else by.sign(decision)
            verdicts.append(Verdict(approval, _TO[answer.choice], signed_decision, grant=answer.grant))
    if not verdicts:
        raise refused[-1]
    meant = {(one.to, one.decision.edited_arguments, one.grant, one.decision.break_glass) for one in verdicts}
    if len(meant) > 1:
        raise ApprovalRefused("The answers to this call contradict each other.")
    if (status := index.consume(approval)) != "ok":
        raise ApprovalRefused(_REFUSED[status])
    return verdicts[0]


def _meant(approval: Approval, claimed: str, tool: Tool | None) -> str:
    if claimed == approval.arguments:
        return claimed
    from agui_gate.approvals.edits import meant

    return meant(approval, claimed, tool)


def _edit(approval: Approval, answer: Answer, status: Status, tool: Tool | None, why_not: WhyNot) -> str | None:
    """Returns the arguments that one answer changes, if it can be taken by itself. Raises as `_verdict`.

    ``status``: whether the answer is about the call that was asked about.
    """
    if answer.problem is not None:
        raise ApprovalRefused(f"The answer was not understood: {answer.problem}.")
    if status in ("missing", "name_mismatch"):
        raise ApprovalRefused(_REFUSED[status])
    if answer.choice == "approve" and (reason := why_not(approval)) is not None:
        raise reason
    if status != "ok":
        raise ApprovalRefused(_REFUSED[status])
    if answer.edited is None and answer.sent is None:
        return None
    from agui_gate.approvals.edits import edited

    return edited(approval, answer, tool)


_ASK_AGAIN = "Nothing was run. Reject this and ask again."


def signed(approval: Approval, agent: Agent) -> Approval:
    """Returns ``approval``, saying which of the agent's tools it is for."""
    digest = agent.by_name[approval.tool].schema_digest
    return msgspec.structs.replace(approval, source=agent.source_of(approval.tool), schema_digest=digest)


def why_not(agent: Agent | None, approval: Approval) -> AguiGateError | None:
    """Returns the reason for which ``agent`` can't carry out ``approval`` now; it goes on waiting then.

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
        return ApprovalRefused(f"{approval.tool} is not the tool that this was asked for. {_ASK_AGAIN}")
    if tool.schema_digest != approval.schema_digest:
        return ApprovalRefused(f"{approval.tool} has changed since this was asked. {_ASK_AGAIN}")
    return None


def tool_of(agent: Agent | None, approval: Approval) -> Tool | None:
    """Returns our tool that runs the call: of ``agent``, the member that asked, and of no other.

    None if there is none: the provider runs it, the tool is gone, or the agent is.
    """
    if agent is None or approval.agent != agent.name or approval.is_held:
        return None
    return agent.by_name.get(approval.tool)


def may_repeat(agent: Agent | None, approval: Approval) -> bool:
    """Returns whether a call that was interrupted may simply run again: its very tool is here, and it is idempotent."""
    tool = tool_of(agent, approval)
    return tool is not None and tool.idempotent and why_not(agent, approval) is None
