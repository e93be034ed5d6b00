"""Counts the people who agree to a call: pure, and the same for every store.

A call of a gate that asks for people has `Approval.people`: the terms of its gate as they were when it was asked, and
who has said yes. `agree` is the only way from such a record to ``claimed``. A store calls it inside the transaction in
which it writes what comes of it, with the record as it is then (`core.approvals.after_move`). So of two who agree at
once the second one sees the first, and a call is claimed by exactly one of them: the last that was needed.

* The same person counts once, however many principals they have.
* Who asked doesn't count, unless the gate allows that.
* A yes is to the arguments that were shown. An edit takes back what was said before. Where several have to agree, who
  edited isn't among them.
* A deputy (`core/deputies.py`) has the right of who is away, and counts as the person that they are. One right counts
  once as well: of who is away and their deputies, the first who agrees.
* In an emergency, one person decides in the place of all who have to agree, if the gate lets them. Never who asked.
* A yes of before a restored backup counts no more: nobody knows what came of it since.
"""

from collections.abc import Iterable

import msgspec

from agui_gate.core.approvals import SEPARATOR, Approval, Asker, Decision, People, State, Yes, check_move
from agui_gate.core.audit import digest
from agui_gate.core.json_text import parse_object
from agui_gate.errors import MayNotDecide

AHEAD_MS = 60_000
"""Milliseconds by which a login may seem to be in the future, as clocks differ."""


def person_of(decision: Decision) -> str:
    """Returns who counts as one: the person, or the principal where no more is known."""
    return decision.person or decision.by


def persons_of(decision: Decision) -> set[str]:
    """Returns who can't agree once more after that: who decided, and in whose place."""
    return {person_of(decision), *(() if decision.absent is None else (decision.absent.person,))}


def right_of(decision: Decision) -> str:
    """Returns the id of the principal whose right it is: who decided, or in whose place."""
    return decision.by if decision.absent is None else decision.absent.id


def agree(approval: Approval, decision: Decision | None, now: int) -> Approval:
    """Returns the record after one more yes at ``now``: claimed if that was the last one needed, else pending still. If
    the same person has said so before, it is the same record.

    Raises `IllegalMove` if it doesn't wait any more, and `MayNotDecide` if this person may not say yes.
    """
    check_move(approval, State.CLAIMED, now)
    people = approval.people
    if people is None or decision is None or not decision.approved:
        raise MayNotDecide("Nobody in particular agreed to this call.")
    check(approval, people, decision, now)
    yes, meant = Yes(decision, now, approval.id), meant_by(approval, decision)
    if meant != approval.effective_arguments:  # an edit: what was said before was about something else
        people = msgspec.structs.replace(people, said=(yes,), edited=meant, editor=person_of(decision))
    elif not persons_of(decision) & _agreed(approval, people):
        people = msgspec.structs.replace(people, said=(*people.said, yes))
    if len(counted(approval, people)) < people.needs and not decision.break_glass:
        return approval if people is approval.people else msgspec.structs.replace(approval, people=people)
    return msgspec.structs.replace(approval, people=people, state=State.CLAIMED, decision=decision, decided_at=now)


def _agreed(approval: Approval, people: People) -> set[str]:
    """Returns who can't agree once more."""
    return {name for yes in people.said if yes.of == approval.id for name in persons_of(yes.decision)}


def meant_by(approval: Approval, decision: Decision) -> str:
    """Returns the arguments that a decision is about."""
    return approval.arguments if decision.edited_arguments is None else decision.edited_arguments


def counted(approval: Approval, people: People) -> set[str]:
    """Returns the different persons whose yes counts."""
    persons = {person_of(yes.decision) for yes in people.said if yes.of == approval.id}
    return persons - {people.editor} if people.needs > 1 and people.editor else persons


def has_each_yes(approval: Approval, people: People, events: Iterable[tuple[str, str]]) -> bool:
    """Returns whether each yes in the record is in the trail: ``events`` are kinds and bodies of its events."""
    meant = digest(approval.effective_arguments)
    yeses = [body for kind, body in events if kind == "agreed" and (parse_object(body) or {}).get("arguments") == meant]
    return len(yeses) >= sum(yes.of == approval.id for yes in people.said)


def check(approval: Approval, people: People, decision: Decision, now: int) -> None:
    """Raises `MayNotDecide` unless these terms let this person say yes at ``now``. A function of the gate is asked
    elsewhere (`extras/people/approvers.py`).
    """
    if decision.break_glass:
        check_break_glass(approval, people, decision)
        _check_login(people, decision, now)
        return
    if not people.self_approval and is_asker(approval, decision):
        raise MayNotDecide("You asked for this, so you can't approve it. Somebody else has to.")
    if decision.absent is not None:
        _check_deputy(approval, people, decision, decision.absent)
    if not is_approver(people, right_of(decision), decision.roles):
        raise MayNotDecide(f"You can't approve this: it waits for {waited_for(people)}.")
    kind = "approve" if meant_by(approval, decision) == approval.effective_arguments else "edit"
    if kind not in people.decisions:
        raise MayNotDecide(f"The gate of this call doesn't let anybody {kind} it.")
    _check_login(people, decision, now)


def check_break_glass(approval: Approval, people: People, decision: Decision) -> None:
    """Raises `MayNotDecide` unless these terms let somebody decide a call in an emergency. Whether this person may is
    looked up elsewhere (`extras/people/approvers.py`).
    """
    if not people.break_glass:
        raise MayNotDecide("The gate of this call lets nobody break the glass.")
    if is_asker(approval, decision):
        raise MayNotDecide("You asked for this, so you can't decide it in an emergency. Somebody else has to.")
    if decision.approved and people.editor == person_of(decision):  # else they would decide their own edit alone
        raise MayNotDecide("You edited this, so you can't approve it in an emergency. Somebody else has to.")
    if not any(character.isalnum() for character in decision.reason or ""):  # nor is an invisible one
        raise MayNotDecide("Breaking the glass needs a reason.")
    if decision.edited_arguments != people.edited:
        raise MayNotDecide("In an emergency a call is decided as it is shown.")


def _check_deputy(approval: Approval, people: People, decision: Decision, absent: Asker) -> None:
    """Raises `MayNotDecide` if a deputy can't decide in the place of who is away."""
    if person_of(decision) == absent.person or decision.by == absent.id:
        raise MayNotDecide("Nobody is their own deputy.")
    if is_asker(approval, decision):
        raise MayNotDecide("You asked for this, so you can't approve it as somebody's deputy.")
    if not people.self_approval and is_asker(approval, Decision(True, absent.id, person=absent.person)):
        raise MayNotDecide("The deputy of who asked for this can't approve it.")


def is_asker(approval: Approval, decision: Decision) -> bool:
    """Returns whether who decides is who asked. Where that isn't recorded, the owner asked."""
    if approval.asker is None:
        return decision.by == approval.principal.rpartition(SEPARATOR)[2]
    return person_of(decision) == approval.asker.person or decision.by == approval.asker.id


def is_approver(people: People, by: str, roles: tuple[str, ...]) -> bool:
    """Returns whether a principal of that id, with these roles, is one of those who are named, or were added."""
    return people.approvers is None or is_among((people.approvers, *people.added), by, roles)


def is_among(groups: Iterable[str | tuple[str, ...]], by: str, roles: tuple[str, ...]) -> bool:
    """Returns whether a principal of that id, with these roles, is in one of the groups: a role, or a list of ids."""
    return any(group in roles if isinstance(group, str) else by in group for group in groups)


def waited_for(people: People) -> str:
    """Returns who is waited for, in words."""
    named = (
        ("another person" if people.by_function else "somebody else") if people.approvers is None else people.approvers
    )
    groups = (one if isinstance(one, str) else ", ".join(one) for one in (named, *people.added))
    return " or ".join(groups)


def _check_login(people: People, decision: Decision, now: int) -> None:
    login = decision.login
    if people.acr and (login is None or login.acr not in people.acr):
        raise MayNotDecide(f"Log in more strongly: this needs {' or '.join(people.acr)} (acr).")
    if people.max_auth_age is not None:
        at = None if login is None or login.auth_time is None else login.auth_time * 1000
        if at is None or now - at > people.max_auth_age * 1000 or at - now > AHEAD_MS:
            raise MayNotDecide(f"Log in again: this needs a login in the last {people.max_auth_age:,} s (auth_time).")
