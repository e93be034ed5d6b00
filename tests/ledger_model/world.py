"""What is true at one moment of the model: the store, two workers, two clicks, and what happened outside.

Everything is a tuple of small values, so that a state can be looked up. `Guards` are what the product does so that the
promises are kept; a mutant has one of them less.
"""

from typing import Literal, NamedTuple

import msgspec

NOBODY, DEAD, LOST = -1, 2, 3
"""Who holds the lease, besides a worker: nobody; one that is dead, whose lease is still in the store. ``LOST`` is who
sent a statement and is dead, and held no lease any more.
"""

Variant = Literal["local", "hosted", "sub-agent", "task"]
"""Whose call it is: a tool of ours; one that the provider runs, and asks about; one of a sub-agent, whose task may end
before; or one that opens a task, so that what is asked is whether that may begin.
"""

FINAL = frozenset({"done", "not_executed", "unknown", "rejected", "superseded", "cancelled", "expired"})
"""What people are told as the end of a call. ``not_executed`` is the ledger's ``failed`` of a tool that never began."""
NEVER_RAN = FINAL - {"done", "unknown"}

ENDED = {"none": "none", "pending": "dropped", "claimed": "unknown", "passed": "unknown"}
"""What is left of a record in a tombstone, where that differs."""


class Guards(msgspec.Struct, frozen=True):
    """What the product does. Each is the reason why a promise is kept."""

    claim_is_conditional: bool = True
    """A claim changes a record only if it is pending."""
    claim_is_fenced: bool = True
    """... and only for who holds the lease."""
    claim_is_first: bool = True
    """The claim is durable before the tool starts."""
    claim_is_shielded: bool = True
    """Who is stopped while the claim commits waits for it, and settles what came of it."""
    lease_is_exclusive: bool = True
    """A thread at which somebody is at work can't be taken by another run."""
    late_start_confirms: bool = True
    """Who slept since the claim asks whether the lease is still held before the tool starts."""
    unknown_is_looked_at: bool = True
    """A COMMIT without an answer is looked for, and done again only if it was not done."""
    look_waits: bool = True
    """... and the look waits for one that is still under way."""
    outcome_is_conditional: bool = True
    """What came of a call is recorded only where nothing else is yet."""
    outcome_is_first: bool = True
    """People are told only what the ledger says."""
    orphans_are_settled: bool = True
    """A claimed record at which nobody is at work is settled by any server."""
    orphans_have_no_worker: bool = True
    """... and only such a record."""
    restore_begins_an_epoch: bool = True
    """What waits in a restored backup is asked again under another id, and what had begun is unknown."""
    restored_pass_is_unknown: bool = True
    """... also what the provider had not acted on when the backup was made."""
    timeline_is_checked: bool = True
    """A database that went back to another past is refused until an epoch has begun."""
    delete_waits: bool = True
    """A thread is deleted under its lease."""
    branch_closes: bool = True
    """Regenerating an answer closes what it asked."""
    task_closes: bool = True
    """The end of a task closes what was asked in it."""
    pass_is_first: bool = True
    """That the provider is told is durable before the request."""
    passed_is_unknown: bool = True
    """Where nobody knows whether the provider took the request, it is not told again."""
    late_pass_confirms: bool = True
    """Who slept since then asks whether the lease is still held before the request."""
    old_yes_begins_nothing: bool = True
    """A yes to a task from before a restore doesn't begin it."""
    edit_is_what_runs: bool = True
    """The arguments that run are the decided ones."""


ALL = Guards()


class Worker(NamedTuple):
    """A process, and where it is with the one thing that it does."""

    at: str = "idle"
    click: int = -1
    slept: bool = False
    stopped: bool = False


class Click(NamedTuple):
    """What a person says. ``question``: to which. ``told``: "" before it is sent, "…" on its way; then what it came to:
    "nothing" (it decided nothing), "answered" or "unanswered" (the connection broke).
    """

    says: Literal["yes", "no", "edit"]
    question: int = 0
    told: str = ""


class Backup(NamedTuple):
    """What a backup has of the record."""

    record: str
    by: str
    begun: bool


class World(NamedTuple):
    """One moment."""

    record: str = "none"
    question: int = 0
    by: int = -1
    """The click that decided."""
    says: str = ""
    """What was decided: as the record has it."""
    holder: int = NOBODY
    lapsed: bool = False
    over: str = ""
    """What is over of it: the "answer" that asked was replaced, or its "task" has ended."""
    gone: bool = False
    """The thread was deleted; what the record says is its tombstone."""
    begun: bool = False
    """The journal says that the task has begun."""
    old_yes: bool = False
    """The yes to a task is of before a restore."""
    workers: tuple[Worker, Worker] = (Worker(), Worker())
    clicks: tuple[Click, Click] = (Click("yes"), Click("yes"))
    late: int = NOBODY
    """Whose statement is still on its way to the store; see `late_click`."""
    late_click: int = -1
    effects: tuple[int, int] = (0, 0)
    """How often the call took effect, for each question."""
    told: tuple[str, ...] = ()
    """What people were told as the end of the question as it is asked now."""
    excused: bool = False
    """Something ended in the middle, so that nobody may know what came of the call."""
    wrong: str = ""
    """A promise that a step broke."""
    backup: Backup | None = None
    faults: tuple[str, ...] = ()
    """What may still break, each once."""
    budget: int = 0
    """... and how many of them."""

    @property
    def free(self) -> bool:
        """Whether the lease can be taken: nobody holds it, or somebody dead, or it has ended."""
        return self.holder in (NOBODY, DEAD) or self.lapsed

    def spend(self, fault: str) -> "World":
        """After one of what may break."""
        left = tuple(one for one in self.faults if one != fault)
        return self._replace(faults=left, budget=self.budget - 1)

    def may(self, fault: str) -> bool:
        """Whether it may still break."""
        return self.budget > 0 and fault in self.faults

    def put(self, worker: int, **changes: object) -> "World":
        """With another worker at its place."""
        first, second = self.workers
        changed = self.workers[worker]._replace(**changes)  # type: ignore[arg-type]  # the fields of one
        return self._replace(workers=(first, changed) if worker else (changed, second))

    def answer(self, click: int, told: str) -> "World":
        """What a click came to."""
        if click < 0:
            return self
        first, second = self.clicks
        changed = self.clicks[click]._replace(told=told)
        return self._replace(clicks=(first, changed) if click else (changed, second))

    def tell(self, outcome: str) -> "World":
        """People are told an end. What is not one is no promise."""
        if outcome not in FINAL or outcome in self.told:
            return self
        return self._replace(told=tuple(sorted((*self.told, outcome))))

    def take(self, worker: int, at: str, click: int = -1) -> "World":
        """The lease is that worker's, and it begins."""
        return self._replace(holder=worker, lapsed=False).put(worker, at=at, click=click)

    def release(self, worker: int) -> "World":
        """It is done, and its lease goes back, if it still is its own."""
        world = self._replace(holder=NOBODY, lapsed=False) if self.holder == worker else self
        return world.put(worker, at="idle", click=-1, slept=False, stopped=False)

    def leave(self, worker: int, told: str = "answered") -> "World":
        """What it had to do is done; its lease is still to go back."""
        return self.answer(self.workers[worker].click, told).put(worker, at="leaving", click=-1)

    def effect(self, what: str) -> "World":
        """The call takes effect in the world outside."""
        first, second = self.effects
        effects = (first, second + 1) if self.question else (first + 1, second)
        wrong = self.wrong
        if self.record in FINAL and self.record != "done":
            wrong = f"the effect began after the call was {self.record}"
        elif self.over:
            wrong = f"the effect began after its {self.over} was over"
        elif what == "no" or what != self.says:
            wrong = f"what took effect is {what!r}, and what was decided {self.says!r}"
        return self._replace(effects=effects, wrong=wrong)


def in_order(world: World) -> tuple[World, tuple[int, ...]]:
    """The same world with its workers in order; and which of them is now where."""
    first, second = world.workers
    if (first, world.holder == 0, world.late == 0) >= (second, world.holder == 1, world.late == 1):
        return world, (0, 1)
    swapped = {0: 1, 1: 0}
    return world._replace(
        workers=(second, first),
        holder=swapped.get(world.holder, world.holder),
        late=swapped.get(world.late, world.late),
    ), (1, 0)
