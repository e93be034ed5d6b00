"""Searches every state of a model, breadth first, so that what breaks a promise is found by its shortest way.

A model says what can happen in a state. Steps of kind ``system`` are what servers do by themselves, and they happen in
the end; what people do and what breaks may never happen. So a state in which no such step is left must be one in which
nothing waits for a server (`Model.stuck`), and servers must not go round in a circle.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

S = TypeVar("S")

Kind = Literal["system", "people", "fault"]


class Step(NamedTuple):
    """Something that happens. ``worker`` and ``click`` say to whom, and with which click; -1: none."""

    name: str
    worker: int = -1
    click: int = -1
    kind: Kind = "system"

    def __str__(self) -> str:
        who = "" if self.worker < 0 else f" by {'AB'[self.worker]}"
        return self.name + who + ("" if self.click < 0 else f" of click {self.click + 1}")


class Model(Protocol[S]):
    """What is searched."""

    def initial(self) -> Sequence[S]:
        """The states in which it begins."""
        ...

    def steps(self, state: S) -> Iterable[tuple[Step, S]]:
        """What can happen, and what is then."""
        ...

    def canonical(self, state: S) -> tuple[S, tuple[int, ...]]:
        """The same state with its workers in order, and which worker is now where: states that differ in the names of
        workers alone are one.
        """
        ...

    def broken(self, state: S) -> str | None:
        """The promise that is broken in it."""
        ...

    def stuck(self, state: S) -> str | None:
        """What waits for ever, if no server does anything any more."""
        ...


class Trace(NamedTuple, Generic[S]):
    """How a state is reached: the first one, and each step with the state after it."""

    first: S
    steps: tuple[tuple[Step, S], ...]

    def __str__(self) -> str:
        return "\n".join(f"  {number}. {step}" for number, (step, _) in enumerate(self.steps, 1))


class Found(NamedTuple, Generic[S]):
    """What a search came to. ``taken`` counts steps by name. ``broken``: the promise and the shortest way there."""

    states: int
    taken: Counter[str]
    broken: tuple[str, Trace[S]] | None
    parents: "dict[S, tuple[S, Step, tuple[int, ...]] | None]"

    def trace(self, state: S) -> Trace[S]:
        """The shortest way to a state; its workers keep their names along it."""
        links: list[tuple[S, Step, tuple[int, ...]]] = []
        at = state
        while (link := self.parents[at]) is not None:
            links.append((at, link[1], link[2]))
            at = link[0]
        names: tuple[int, ...] = (0, 1)
        steps = []
        for after, step, order in reversed(links):
            named = step if step.worker < 0 else step._replace(worker=names[step.worker])
            names = tuple(names[i] for i in order)
            steps.append((named, after))
        return Trace(at, tuple(steps))


def search(model: Model[S], *, limit: int = 2_000_000) -> Found[S]:
    """Look at every state. Ends at the first promise that is broken."""
    parents: dict[S, tuple[S, Step, tuple[int, ...]] | None] = {}
    taken: Counter[str] = Counter()
    onward: dict[S, list[S]] = {}
    queue: deque[S] = deque()
    for first in model.initial():
        state, _ = model.canonical(first)
        if state not in parents:
            parents[state] = None
            queue.append(state)
    while queue:
        state = queue.popleft()
        moves = [(step, *model.canonical(after)) for step, after in model.steps(state)]
        onward[state] = [after for step, after, _ in moves if step.kind == "system"]
        problem = model.broken(state) or (None if onward[state] else model.stuck(state))
        if problem is not None:
            found = Found(len(parents), taken, None, parents)
            return found._replace(broken=(problem, found.trace(state)))
        for step, after, order in moves:
            taken[step.name] += 1
            if after not in parents:
                parents[after] = (state, step, order)
                queue.append(after)
        assert len(parents) <= limit, "there are too many states to look at all of them"
    assert not _circle(onward), "servers go round in a circle"
    return Found(len(parents), taken, None, parents)


def _circle(onward: dict[S, list[S]]) -> list[S]:
    """The states from which servers could go on for ever."""
    waiting = {state: len(after) for state, after in onward.items()}
    before: dict[S, list[S]] = {}
    for state, after in onward.items():
        for one in after:
            before.setdefault(one, []).append(state)
    ends = [state for state, number in waiting.items() if number == 0]
    while ends:
        for state in before.get(ends.pop(), ()):
            waiting[state] -= 1
            if waiting[state] == 0:
                ends.append(state)
    return [state for state, number in waiting.items() if number]


def follow(model: Model[S], trace: Trace[S]) -> Iterator[tuple[Step, S]]:
    """Each step of a trace, with the state after it as it is: its workers keep their places."""
    at = next(first for first in model.initial() if model.canonical(first)[0] == trace.first)
    for step, after in trace.steps:
        same = ((s, one) for one, s in model.steps(at) if one.name == step.name and model.canonical(s)[0] == after)
        at, taken = next(same)
        yield taken, at
