"""The journal's commits of one run, and of the run after it, over a network that loses answers and delivers late.

What a run has to say is a row of entries, 0, 1, …; it is appended by one statement, which may be repeated with more in
it. The journal must have each once, in order, whatever becomes of the statements.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from tests.ledger_model.search import Step

WORDS = 3
"""Entries that the first run says."""
OTHER = 100
"""The first entry of the run after it."""
UNANSWERED = 2
"""Statements of which nobody knows, in one history."""

Steps = Iterator[tuple[Step, "Commits"]]


class CommitGuards(msgspec.Struct, frozen=True):
    """Why that is so."""

    expects_a_number: bool = True
    """An append says how many entries the journal has before it."""
    is_fenced: bool = True
    """... and whose lease it is under."""


ALL = CommitGuards()


class Append(NamedTuple):
    """A statement on its way: these entries, after so many."""

    first: int
    number: int
    after: int


class Commits(NamedTuple):
    """One moment. ``believed``: how many entries the run knows to be there; ``unsure``: the last one may be more."""

    entries: tuple[int, ...] = ()
    said: int = 0
    believed: int = 0
    unsure: bool = False
    taken: int = -1
    """How many entries there were when another run took the lease; -1: none has."""
    late: tuple[Append, ...] = ()
    unanswered: int = UNANSWERED


class Journal:
    """The model."""

    def __init__(self, guards: CommitGuards = ALL) -> None:
        self.guards = guards

    def initial(self) -> Sequence[Commits]:
        """An empty journal."""
        return [Commits()]

    def canonical(self, state: Commits) -> tuple[Commits, tuple[int, ...]]:
        """There is one run at a time."""
        return state, (0, 1)

    def steps(self, state: Commits) -> Steps:
        """See `Model`."""
        for number, append in enumerate(state.late):
            left = state._replace(late=state.late[:number] + state.late[number + 1 :])
            yield Step(f"late {number}"), self._applied(left, append)
            yield Step(f"lost {number}"), left
        if state.taken < 0:
            yield from self._says(state)
            yield Step("other run", kind="people"), state._replace(taken=len(state.entries))
        elif OTHER not in state.entries:
            yield Step("other says"), state._replace(entries=(*state.entries, OTHER))

    def _says(self, s: Commits) -> Steps:
        if s.unsure:
            there = len(s.entries)
            yield Step("look"), s._replace(believed=there, unsure=False)
            return
        if s.said < WORDS:
            yield Step("say", kind="people"), s._replace(said=s.said + 1)
        if s.believed < s.said:
            append = Append(s.believed, s.said - s.believed, s.believed)
            known = s._replace(unsure=False)
            done = self._applied(known, append)
            grown = len(done.entries) > len(s.entries)
            yield Step("append"), done._replace(believed=s.said) if grown else known._replace(believed=len(s.entries))
            if s.unanswered:
                unsure = s._replace(unsure=True, unanswered=s.unanswered - 1)
                yield Step("done, unanswered", kind="fault"), self._applied(unsure, append)
                yield Step("late, unanswered", kind="fault"), unsure._replace(late=(*s.late, append))

    def _applied(self, s: Commits, append: Append) -> Commits:
        """What is appended may be done by the store only under its conditions."""
        fenced = s.taken >= 0 and self.guards.is_fenced
        if fenced or (len(s.entries) != append.after and self.guards.expects_a_number):
            return s
        return s._replace(entries=s.entries + tuple(range(append.first, append.first + append.number)))

    def broken(self, state: Commits) -> str | None:
        """See `Model`."""
        ours = [entry for entry in state.entries if entry != OTHER]
        if ours != list(range(len(ours))):
            return f"the journal has {ours}"
        if state.taken >= 0 and len(ours) != state.taken:
            return "a run whose lease was lost has written"
        return None

    def stuck(self, state: Commits) -> str | None:
        """See `Model`."""
        unsaid = state.taken < 0 and len(state.entries) < state.said
        return "what was said is not in the journal" if unsaid else None
