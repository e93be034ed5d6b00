"""Answers → verdicts: what is to be done about the calls that are answered. Pure, and it fails closed."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from agui_gate.core import open_questions
from agui_gate.core.answers import Answer, Way
from agui_gate.core.approval_index import ApprovalIndex
from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.registry import Status
from agui_gate.engine import edits
from agui_gate.errors import AguiGateError, ApprovalRefused, Unavailable
from agui_gate.tool import Tool

WhyNot = Callable[[Approval], AguiGateError | None]
"""Why an approved call can't be carried out now, if it can't: see `agui_gate.engine.belonging`."""

ToolOf = Callable[[Approval], Tool | None]
"""The tool of ours that runs a call: see `agui_gate.engine.belonging`."""


class Verdict(msgspec.Struct, frozen=True):
    """What is to be done about one pending record: move it to ``to`` (claimed means: then run it)."""

    approval: Approval
    to: State
    decision: Decision


class Refused(msgspec.Struct, frozen=True):
    """Why an approval's answers could not be taken; ``way`` is how the last of them came."""

    approval: Approval
    error: AguiGateError
    way: Way


class Judgement(msgspec.Struct, frozen=True):
    """``verdicts`` to carry out; ``refused`` says which answers could not be taken, and why."""

    verdicts: tuple[Verdict, ...]
    refused: tuple[Refused, ...]


_TO = {"approve": State.CLAIMED, "reject": State.REJECTED, "cancel": State.CANCELLED}

_REFUSED: dict[Status, str] = {
    "missing": "This call is no longer pending.",
    "name_mismatch": "The answer is about another tool than the one that was asked about.",
    "arguments_mismatch": "The answer is about other arguments than those that were asked about.",
}


def judge(
    answers: Iterable[Answer], index: ApprovalIndex, tool_of: ToolOf, principal: str, why_not: WhyNot
) -> Judgement:
    """What ``answers`` (whose ids are approval ids) amount to. Contradicting answers decide nothing.

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
            verdicts.append(_verdict(approval, said, index, tool_of(approval), principal, why_not))
        except AguiGateError as error:
            refused.append(Refused(approval, error, said[-1].way))
    return Judgement(tuple(verdicts), tuple(refused))


def _verdict(
    approval: Approval,
    said: Sequence[Answer],
    index: ApprovalIndex,
    tool: Tool | None,
    principal: str,
    why_not: WhyNot,
) -> Verdict:
    """The one thing that ``said`` amounts to. Raises `ApprovalRefused`, and what ``why_not`` says.

    An answer that can't be taken says nothing, rather than spoiling those beside it. Clients replay refused tool
    messages with their history, and a proper answer has to count all the same (B2).
    """
    verdicts: list[Verdict] = []
    refused: list[AguiGateError] = []
    for sent in said:
        answer = open_questions.read(approval, sent)
        about = None if answer.arguments is None else edits.meant(approval, answer.arguments, tool)
        try:
            edited = _edit(approval, answer, index.check(approval, answer.name, about), tool, why_not)
        except (ApprovalRefused, Unavailable) as error:
            refused.append(error)
        else:
            decision = Decision(answer.choice == "approve", principal, answer.reason, edited, answer.way)
            verdicts.append(Verdict(approval, _TO[answer.choice], decision))
    if not verdicts:
        raise refused[-1]
    if len({(verdict.to, verdict.decision.edited_arguments) for verdict in verdicts}) > 1:
        raise ApprovalRefused("The answers to this call contradict each other.")
    if (status := index.consume(approval)) != "ok":
        raise ApprovalRefused(_REFUSED[status])
    return verdicts[0]


def _edit(approval: Approval, answer: Answer, status: Status, tool: Tool | None, why_not: WhyNot) -> str | None:
    """The arguments that one answer changes, if it can be taken by itself. Raises as `_verdict`.

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
    return None if answer.edited is None else edits.edited(approval, answer.edited, tool)


def agrees(answer: Answer, approval: Approval) -> bool:
    """Whether an answer that comes too late says what was decided: then it is one that was sent twice.

    An answer that was not understood says nothing at all, so there is nothing to set right.
    """
    made, answer = approval.decision, open_questions.read(approval, answer)
    if answer.problem is not None:
        return True
    if made is None or (answer.choice == "approve") is not made.approved or answer.way != made.way:
        return False
    if not made.approved or answer.edited is None:
        return not made.approved or made.edited_arguments is None
    return edits.is_what_ran(approval, answer.edited)
