"""Selects what one agent sees of a journal that several write: pure, and before the sanitizer.

A thread has one journal, whoever of a team speaks (docs/adr/0022-one-journal-per-team.md). Each agent is told of it
what it may know, in a form that its model can take:

* Its own turns are as they were made.
* Another agent's turns are *neutral*: what was said, the calls and their results. Gone is what means something only
  where it was made: reasoning, item and response ids, sealed blobs, the provider's call ids (S18 to S22). That holds
  for the same model behind both, too: one agent never goes on in another's reasoning.
* Turns of another task are not there. A task begins with its prompt, in the place of what users said.

So an adapter needs no rule for teams. What it gets looks like a history that another model began.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from agui_gate.core.transcript import (
    CallPart,
    Entry,
    LeftOutEntry,
    ReasoningPart,
    ResultEntry,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
)


class Viewpoint(NamedTuple):
    """An agent in a task, who looks at a journal. Both are spelled as in `TurnEntry`: "" is the entry agent, the
    conversation.
    """

    agent: str = ""
    task: str = ""


ALONE = Viewpoint()
"""The entry agent in the conversation: what a thread without a team has."""


class Audience(NamedTuple):
    """The audience for which a transcript is made: ``who`` looks, and the ``prompt`` of its task, if it has one.

    ``vendor``: whose handles of files its model can use (`abilities.NamesVendor`).
    """

    who: Viewpoint = ALONE
    vendor: str = ""
    prompt: str = ""


def seen(entries: Sequence[Entry], who: Viewpoint, prompt: str = "") -> list[Entry]:
    """Returns what ``who`` sees of ``entries``. ``prompt`` is what its task says, if it has one.

    What is seen can be looked at again from there, and stays as it is. Linear.
    """
    if not who.task:
        return [one for one in (_seen(entry, who) for entry in entries) if one is not None]
    told = (entry for entry in entries if isinstance(entry, TurnEntry | ResultEntry | LeftOutEntry))
    theirs = [one for one in (_seen(entry, who) for entry in told) if one is not None]
    return [UserEntry(who.task, (Text(prompt),)), *theirs]


def _seen(entry: Entry, who: Viewpoint) -> Entry | None:
    if not isinstance(entry, TurnEntry):
        return entry
    if entry.task != who.task:
        return None
    return entry if entry.agent == who.agent else neutral(entry)


def neutral(turn: TurnEntry) -> TurnEntry:
    """Returns ``turn`` as any other model can take it: no origin, and nothing that only the model that made it
    understands.
    """
    parts = tuple(_neutral(part) for part in turn.parts if not isinstance(part, ReasoningPart))
    return msgspec.structs.replace(turn, parts=parts, origin="", ref=None, unfit="")


def _neutral(part: TextPart | CallPart) -> TextPart | CallPart:
    if isinstance(part, TextPart):
        return part if part.private is None else msgspec.structs.replace(part, private=None)
    return msgspec.structs.replace(part, wire_id=part.id, private=None)
