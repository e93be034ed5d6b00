"""Says which gates nobody could approve, as far as the people are known: where the server names all of them itself.

These are the principals of fixed tokens, and without tokens who uses this machine. They have no roles, and how they
logged in isn't known. Whom an identity provider or an ``auth`` of the application names, only they know; but where no
claim of roles is read from signed tokens, nobody has a role.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from agui_gate.agents.agent import Agent
from agui_gate.core import agreement
from agui_gate.core.approvals import People

if TYPE_CHECKING:
    from agui_gate.agents.tool import Gate


def undecidable(agents: Mapping[str, Agent], people: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yields the tools whose calls nobody of ``people`` could approve, whoever asks; and why, in words."""
    for agent in agents.values():
        for tool in agent.by_name.values():
            if tool.gate is not None and (why := _why_nobody(tool.gate, people)):
                yield tool.name, why


def undecidable_without_roles(agents: Mapping[str, Agent]) -> Iterator[tuple[str, str]]:
    """Yields the tools whose calls wait for roles alone, where no token has any; and why, in words."""
    for agent in agents.values():
        for tool in agent.by_name.values():
            terms = None if tool.gate is None else tool.gate.people
            if tool.gate is None or terms is None or terms.by_function or not isinstance(terms.approvers, str):
                continue
            added = [who for _, who in tool.gate.escalate if isinstance(who, str)]
            if len(added) == len(tool.gate.escalate):
                waited = agreement.waited_for(_with(terms, list(added)))
                yield tool.name, f"it waits for {waited}, and no token has roles: AGUI_GATE_JWT_ROLES isn't set"


def _why_nobody(gate: "Gate", people: Collection[str]) -> str | None:
    terms = gate.people
    if terms is None:
        return None
    if terms.max_auth_age is not None or terms.acr:
        return f"it asks how somebody logged in (max_auth_age, acr), and of {', '.join(people)} that isn't known"
    added = [who if isinstance(who, str) else tuple(who) for _, who in gate.escalate]
    most = max(_number(terms, added, asker, people) for asker in people)
    if most >= terms.needs:
        return None
    waited = agreement.waited_for(_with(terms, added))
    counted = "nobody" if not most else f"only {most}"
    persons = "" if terms.needs == 1 else f"{terms.needs} persons: "
    return f"it waits for {persons}{waited}, and {counted} of {', '.join(people)} can be that"


def _number(terms: People, added: list[str | tuple[str, ...]], asker: str, people: Collection[str]) -> int:
    """Returns how many could agree to a call that ``asker`` asks for."""
    if terms.approvers is None and not terms.by_function:  # those who share the thread, and whom an escalation adds
        may = {asker} | {one for one in people if agreement.is_among(added, one, ())}
    elif terms.by_function:
        may = set(people)
    else:
        may = {one for one in people if agreement.is_approver(_with(terms, added), one, ())}
    return len(may if terms.self_approval else may - {asker})


def _with(terms: People, added: list[str | tuple[str, ...]]) -> People:
    return msgspec.structs.replace(terms, added=tuple(added))
