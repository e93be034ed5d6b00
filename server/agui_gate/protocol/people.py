"""The people of a call, as clients are told: who has to agree, who has, and in whose place."""

from typing import Any

from agui_gate.core.approvals import Decision, People
from agui_gate.protocol.cards import iso


def terms(people: People, approval_id: str) -> dict[str, Any]:
    """Returns who has to agree to a call, who has, and to whom it was escalated and handed."""
    said = [
        {"by": yes.decision.by, "at": iso(yes.at), **rights(yes.decision)}
        for yes in people.said
        if yes.of == approval_id
    ]
    named = people.approvers if isinstance(people.approvers, str | None) else list(people.approvers)
    added = [one if isinstance(one, str) else list(one) for one in people.added]
    told = {"approvers": named, "needs": people.needs, "approvals": said} | ({"escalated": added} if added else {})
    handed = {"to": people.handed_to, "by": people.handed_by}
    return told | ({"handed_to": handed} if people.handed_to else {})


def rights(decision: Decision) -> dict[str, Any]:
    """Returns in whose place somebody decided, and whether in an emergency, where that is so."""
    told: dict[str, Any] = {"deputy_of": decision.absent.id} if decision.absent else {}
    return told | ({"break_glass": True} if decision.break_glass else {})
