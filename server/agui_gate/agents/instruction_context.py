"""The context that instructions may depend on: `Agent(instructions=…)` as a function."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class About(NamedTuple):
    """An entry of the application's `context`, as it came in: a text about something."""

    description: str
    value: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """The situation in which the model is asked. Made anew for each request to it.

    ``principal`` is who asks, as the server knows them. The rest is the client's word, or a tool's: ``context`` and
    ``forwarded_props`` came with the run (``forwarded_props`` is {} where there were none). ``state`` is a copy of the
    shared state as it is now: a dict, or an instance of the model of `Agent(state=…)`. Whoever puts these into
    instructions gives the client a say in them.
    """

    thread_id: str
    principal: str
    context: tuple[About, ...] = ()
    forwarded_props: Any = None
    state: Any = None
