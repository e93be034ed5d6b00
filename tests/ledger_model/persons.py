"""A model of one call to which several persons have to agree: every order in which they may say what they say.

The steps are the product's own (`core.agreement.agree`, which a store calls within its transaction). What each of them
meant is kept beside it, and the promise is judged by that alone.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from agui_gate.core import agreement
from agui_gate.core.approvals import Approval, Asker, Decision, People, State
from agui_gate.errors import IllegalMove, MayNotDecide

ISSUED = '{"amount":20}'
EDITS = ('{"amount":5}', '{"amount":6}')
PRINCIPALS = {"ada": "ada", "ben": "ben", "bot": "ben", "cat": "cat", "dan": "dan", "eva": "eva"}
"""Principals, and the persons behind them. Eva is no approver; ada asks."""


class Said(NamedTuple):
    """What somebody said: about which question, and which arguments they meant."""

    principal: str
    question: str
    meant: str


class Moment(NamedTuple):
    """The record, and what was said so far that was taken."""

    record: Approval
    said: tuple[Said, ...] = ()


def first(needs: int) -> Moment:
    """A call that was just asked for."""
    people = People(needs=needs, approvers="finance")
    record = Approval(
        id="a1",
        principal="acme\x1fada",
        thread_id="t",
        agent="a",
        run_key="r",
        turn_id="u",
        call_id="c",
        tool="refund",
        arguments=ISSUED,
        asker=Asker("ada", "ada"),
        people=people,
        editable=("amount",),
    )
    return Moment(record)


def steps(now: Moment) -> Iterator[tuple[str, Moment]]:
    """Whatever may happen next, and what is then."""
    record = now.record
    if record.state is not State.PENDING:
        return
    for name in PRINCIPALS:
        for meant in (record.effective_arguments, ISSUED, *EDITS):
            yield from _says(now, name, meant)
    if record.id == "a1":
        yield "restored", now._replace(record=msgspec.structs.replace(record, id="a2", was="a1"))


def _says(now: Moment, name: str, meant: str) -> Iterator[tuple[str, Moment]]:
    roles = () if name == "eva" else ("finance",)
    edited = None if meant == ISSUED else meant
    decision = Decision(True, name, edited_arguments=edited, person=PRINCIPALS[name], roles=roles)
    try:
        record = agreement.agree(now.record, decision, 0)
    except (IllegalMove, MayNotDecide):
        return
    said = Said(name, now.record.id, meant)
    if said not in now.said or meant != now.record.effective_arguments:
        yield f"{name} says {meant}", Moment(record, (*now.said, said))


def broken(now: Moment, needs: int) -> str:
    """Returns which promise is broken, or ""."""
    record = now.record
    if record.state is not State.CLAIMED:
        return ""
    last: list[Said] = []
    for said in now.said:  # what was said since the last edit, about the question as it is asked now
        if said.question == record.id:
            last = [*last, said] if last and last[-1].meant == said.meant else [said]
    persons = {PRINCIPALS[said.principal] for said in last}
    if any(said.meant != record.effective_arguments for said in last):
        return "it runs with other arguments than were agreed to"
    if "eva" in persons or "ada" in persons:
        return "somebody agreed who may not"
    shown, editor = ISSUED, ""
    for said in now.said:
        if said.meant != shown:
            shown, editor = said.meant, PRINCIPALS[said.principal]
    if len(persons - {editor} if needs > 1 else persons) < needs:
        return "too few different persons agreed"
    return ""


class Layer(list[tuple[Moment, tuple[str, ...]]]):
    """What can be reached by so many steps, each moment with its history."""


def search(needs: int, depth: int = 7) -> tuple[int, str, tuple[str, ...]]:
    """Visits what can be reached. Returns how many moments there are, and the first promise broken with its history."""
    start = first(needs)
    seen, layer = {start}, Layer([(start, ())])
    for _ in range(depth):
        following = Layer()
        for now, history in layer:
            for name, then in steps(now):
                if then in seen:
                    continue
                seen.add(then)
                if why := broken(then, needs):
                    return len(seen), why, (*history, name)
                following.append((then, (*history, name)))
        layer = following
    return len(seen), "", ()
