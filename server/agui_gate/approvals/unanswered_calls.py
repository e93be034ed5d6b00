"""Decides what becomes of pending calls when a run comes that doesn't answer them (ADR 0016).

`Agent(on_unanswered=…)` may name one rule for all of them. Else the style in which a call was asked says it:

| asked by | the user goes on without an answer |
|---|---|
| interrupt | the call stays open and is asked about again: AG-UI allows no other reading (INT-5) |
| card | the call is closed as superseded: a card is a call of the page's, and typing over it leaves it behind |

The record knows how a call was asked. Another page on the same thread may ask in another style. So a call that was
asked by interrupt stays one for everybody, and no call is left behind by a request in whose page it is no card.

A call that stays open outlives a branch. Going back would drop the turn that made it, and so it is not done. What the
user said with it is kept, and the model is told it after the answers.

`Agent(on_unanswered="refuse")` refuses a run that doesn't answer all pending calls: `approvals/run_refusal.py`.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from agui_gate.agents.agent import OnUnanswered
from agui_gate.agents.team import Team
from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, Style
from agui_gate.core.journal import Journal
from agui_gate.core.transcript import Entry, TurnEntry, UserEntry
from agui_gate.protocol.run_input import RunInput
from agui_gate.stores.base import Thread
from agui_gate.threads.reconciliation import Intake, admitted

NOT_GONE_BACK = "Nothing was removed, because calls in that part of the conversation are still pending."


class UnansweredPolicy:
    """Decides what becomes of unanswered calls in one run. ``policy`` is the agent's; ``asks``: the style in which it
    asks.
    """

    def __init__(self, policy: OnUnanswered | None, asks: Style) -> None:
        self._policy, self._asks = policy, asks

    def closed(self, pending: Iterable[Approval]) -> list[Approval]:
        """Returns the pending calls that are closed when the user goes on."""
        return [approval for approval in pending if self._rule(approval) == "supersede"]

    def _rule(self, approval: Approval) -> OnUnanswered:
        if self._policy is not None:
            return self._policy
        return "represent" if "interrupt" in (approval.style, self._asks) else "supersede"

    def apply(self, intake: Intake, journal: Journal) -> list[Approval]:
        """Keeps calls that stay open when the request goes back over them: changes ``intake``, and returns these
        calls.
        """
        kept = self._in_the_way(intake, journal)
        if kept:
            intake.keep = None
            intake.entries = _said(intake.entries)
            intake.said = bool(intake.entries)
        return kept

    def _in_the_way(self, intake: Intake, journal: Journal) -> list[Approval]:
        if intake.keep is None:
            return []
        answered = {answer.id for answer in intake.answers}
        waiting = [approval for approval in journal.pending() if approval.id not in answered]
        left = {approval.id for approval in self.closed(waiting)}
        turns = (entry for entry in journal.entries[intake.keep :] if isinstance(entry, TurnEntry))
        dropped = {call.id for turn in turns for call in turn.calls}
        return [a for a in waiting if a.id not in left and a.call_id in dropped]


def _said(entries: Iterable[Entry]) -> list[Entry]:
    """Returns the message that was to be changed, in its new words, at the end: the model was told its old ones.

    Clients show one message of its id, with its last words.
    """
    edits = (entry for entry in entries if isinstance(entry, UserEntry))
    return [entry for edit in edits for entry in admitted(msgspec.structs.replace(edit, minted=True))]


def not_gone_back(kept: Iterable[Approval]) -> ev.Custom:
    """Returns the event that tells the client of a branch that was not made."""
    return ev.Custom(
        "agui-gate:branch_refused", {"approvalIds": [approval.id for approval in kept], "message": NOT_GONE_BACK}
    )


async def refuse_early(team: Team, *asked: Any) -> None:
    """Raises `ApprovalPending` if a run would be refused: see `run_refusal.refuse_early`."""
    if team.entry.on_unanswered == "refuse":
        from agui_gate.approvals import run_refusal

        await run_refusal.refuse_early(team, *asked)


async def refuse(team: Team, run: RunInput, thread: Thread) -> None:
    """Raises `ApprovalPending` if something waits on ``thread`` that the run doesn't answer."""
    if team.entry.on_unanswered == "refuse":
        from agui_gate.approvals import run_refusal

        await run_refusal.refuse(team, run, thread)
