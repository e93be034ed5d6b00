"""The interface of a turn's steps: features that add to a request, watch its answer, and decide what follows.

Theory of operation
-------------------
`model_turn` asks a model and records what it says. Everything else that is done about a request is a `TurnStep`. It has
the hooks that it needs, and the others cost nothing. A member's steps are made once for a run and a task. They are
called in one order, always the same: it is the order of what a prompt says, and providers cache prompts.

    prepare → request → (the model answers) accepted, received, taps → recorded → (its calls are dealt with) over
                 └───── refused ─────┘

`content_refusals` and `client_context` are steps of the trunk. All others are extras: `model_turn.steps_for` imports
one where the agent declares it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from agui_gate.adapter import ModelEvent, OutputSpec, ToolChoice, ToolSpec, TurnDone
from agui_gate.agents.team import Member
from agui_gate.core.sequencer import Lane
from agui_gate.core.transcript import ActivityEntry, Entry, Transcript, TurnEntry
from agui_gate.errors import ProviderError
from agui_gate.protocol.run_input import RunInput
from agui_gate.turns.turn_recorder import NOTHING, Tap, Taps

if TYPE_CHECKING:
    from agui_gate.approvals.execution import HeldCalls
    from agui_gate.threads.leased_thread import LeasedThread
    from agui_gate.turns.model_turn import ProviderContinuation


class Speaker(NamedTuple):
    """The member that is asked, in one run and one task: what a step is made for.

    ``lane`` is where it speaks, ``continuation`` what its provider remembers, ``approvals`` what its provider is told
    of people's answers. ``spent`` takes the end of a request that a step makes itself, for the usage. ``specs`` are the
    tools that the model sees.
    """

    member: Member
    run: RunInput
    thread: "LeasedThread"
    lane: Lane
    continuation: "ProviderContinuation"
    approvals: "HeldCalls"
    spent: Callable[[TurnDone], None]
    specs: tuple[ToolSpec, ...]


class Draft:
    """The next request, which the steps put together. Turns of ``transcript`` may be left out, and others put before or
    after them; none is made anew.

    Its prompt is the ``instructions``, then the server's ``notes``, then the ``client_block``. ``turn_id`` is the turn
    that the answer will be.
    """

    __slots__ = ("choice", "client_block", "instructions", "notes", "output", "state", "transcript", "turn_id")

    def __init__(self, transcript: Transcript, instructions: str, notes: list[str], turn_id: str) -> None:
        self.transcript, self.instructions, self.notes, self.turn_id = transcript, instructions, notes, turn_id
        self.client_block = ""
        self.choice: ToolChoice | None = None
        self.output: OutputSpec | None = None
        self.state: Any = None

    @property
    def prompt(self) -> str:
        """Returns the instructions, with all that is below them."""
        return "\n\n".join(filter(None, (self.instructions, *self.notes, self.client_block)))


class Verdict(NamedTuple):
    """The verdict on a turn: whether the model is asked ``again``; else, if it made no calls, its ``result`` as
    JSON.
    """

    again: bool = False
    result: bytes | None = None


DONE, AGAIN = Verdict(), Verdict(again=True)


HOOKS = ("prepare", "request", "accepted", "refused", "received", "taps", "recorded", "over")


class TurnStep:
    """One step. Its hooks do nothing; a step overrides those that it needs, and only these are called.

    What a hook raises goes on, and ends the run as any error does; so does its cancellation. After that `recorded` may
    be called, for what a broken answer said, and no other hook.
    """

    hooks: ClassVar[tuple[str, ...]] = ()
    """The names of those that the class overrides."""

    def __init_subclass__(cls) -> None:
        """Finds the hooks of the class: once, and not for each run."""
        cls.hooks = tuple(hook for hook in HOOKS if getattr(cls, hook) is not getattr(TurnStep, hook))

    async def prepare(self) -> None:
        """Gets ready, before the model is asked; again where it is asked anew, as the provider lost an approval."""

    async def request(self, draft: Draft) -> None:
        """Adds to the request, with each attempt. May take long, and may append to the journal."""

    async def accepted(self) -> None:
        """Learns that the provider took the request: its first events are there. Called for each attempt it took."""

    def refused(self, error: ProviderError) -> bool:
        """Says whether to ask once more after ``error``, because the next `request` goes without what was refused."""
        return False

    async def received(self, events: Sequence[ModelEvent]) -> None:
        """Does what takes long about the next events of the answer, before they are recorded, and lets others in."""

    def taps(self) -> Taps:
        """Returns what is called with each recorded event of a type: `CallBegun`, `Activity`, `StateChanged`."""
        return {}

    def recorded(self, turn: TurnEntry, done: TurnDone | None) -> tuple[TurnEntry, *tuple[Entry, ...]]:
        """Returns the turn as the journal is to have it, and what follows it there, saved in the same commit.

        ``done`` is None where the answer was cut off, or the request refused. If the turn has said nothing then, only
        what follows it is in the journal.
        """
        return (turn,)

    def over(self) -> Verdict:
        """Says what follows, once the turn is recorded and its calls are dealt with. Raises what ends the run."""
        return DONE


class Steps:
    """The steps of one member, by hook: each sequence has the steps that have it, in their order."""

    __slots__ = ("accepted", "over", "prepare", "received", "recorded", "refused", "request", "taps")

    def __init__(self, steps: Sequence[TurnStep]) -> None:
        none: Sequence[TurnStep] = ()
        self.prepare = self.request = self.accepted = self.refused = self.received = self.recorded = self.over = none
        self.taps: Taps = NOTHING
        for step in steps:
            for hook in step.hooks:
                if hook == "taps":
                    for kind, tap in step.taps().items():
                        both = _both(self.taps[kind], tap) if kind in self.taps else tap
                        self.taps = {**self.taps, kind: both}
                else:
                    setattr(self, hook, (*getattr(self, hook), step))

    def ask_again(self, error: ProviderError) -> bool:
        """Returns whether to make the request once more that failed with ``error``."""
        return any(step.refused(error) for step in self.refused)

    def record(self, turn: TurnEntry, done: TurnDone | None, thread: "LeasedThread") -> TurnEntry:
        """Appends the turn to the journal, with what follows it. Returns it as it is there."""
        after: list[Entry] = []
        for step in self.recorded:
            turn, *more = step.recorded(turn, done)
            after += more
        if done is not None or turn.parts:
            thread.append([turn])
        for entry in after:
            if not isinstance(entry, ActivityEntry) or thread.capacity.has_room(entry):
                thread.append([entry])
        return turn

    def verdict(self) -> Verdict:
        """Returns what follows the turn. To ask again counts more than a result."""
        verdict = DONE
        for step in self.over:
            said = step.over()
            if said.again or verdict is DONE:
                verdict = said
        return verdict


def _both(one: Tap, other: Tap) -> Tap:
    def tap(event: Any) -> None:
        one(event)
        other(event)

    return tap
