"""`Agent(output=Model)`: telling the model the form of its answers, and judging those that it gives.

An answer is the turn that makes no calls. What fits becomes the run's ``result``; of a task, the delegating call's.
What doesn't fit stays in the journal as it was said, with why (`TurnEntry.unfit`). So the next request tells the model,
in this run or, should that have died, in another. It is asked once more; then the run fails with `OutputUnfit`.

An answer that was refused or cut off is none, and nobody judges it.

What schemas a provider takes, nobody can know before: it has limits for how large and how deep they are, some of its
models take none, and some hosts have rules of their own. Where it refuses one, the model is told in words instead, from
then on (`OutputForm.refused`).
"""

import msgspec
import structlog

from agui_gate.adapter import Adapter, OutputSpec, TurnDone, tells_output
from agui_gate.agents.state_form import Unfit
from agui_gate.agents.structured_output import OutputForm
from agui_gate.core.transcript import TextPart, TurnEntry
from agui_gate.errors import FormRefused, OutputUnfit, ProviderError
from agui_gate.turns.steps import AGAIN, Draft, Speaker, TurnStep, Verdict

log = structlog.get_logger("agui_gate.output")


class StructuredOutput(TurnStep):
    """The answers of one member in one run, in one task. ``tools``: it has some.

    As a step it comes before what the application says, so that the form is told above that.
    """

    def __init__(self, form: OutputForm, adapter: Adapter, *, tools: bool) -> None:
        self._form = form
        told = not form.refused and tells_output(adapter, form.spec, tools=tools)
        self._spec: OutputSpec | None = form.spec if told else None
        self._fitted: bytes | None = None
        self._unfit = ""
        self._again = self._without = False

    async def request(self, draft: Draft) -> None:
        """Tells the form: to the provider, or in words above the other notes."""
        draft.output = self._spec
        if self._spec is None:
            draft.notes.insert(0, self._form.described)

    def refused(self, error: ProviderError) -> bool:
        """Tells the form in words from now on, if it may be why the request was refused."""
        return isinstance(error, FormRefused) and self.tell_in_words()

    def recorded(self, turn: TurnEntry, done: TurnDone | None) -> tuple[TurnEntry]:
        """Judges the answer, if it was not cut off."""
        return (turn if done is None else self.judged(turn, done),)

    def over(self) -> Verdict:
        """Has the model asked once more if its answer doesn't fit. Raises `OutputUnfit` if it was already."""
        if not self._unfit:
            return Verdict(result=self._fitted)
        if self._again:
            raise OutputUnfit(f"The model's answer does not have the required form: {self._unfit}")
        self._again = True
        return AGAIN

    def tell_in_words(self) -> bool:
        """Tells the model in the instructions, as the provider seems to refuse the form. Returns False if it is told so
        already.

        That it was the form is known once the provider takes the request without it.
        """
        if self._spec is None:
            return False
        self._spec, self._without = None, True
        log.warning("form_refused", form=self._form.spec.name)
        return True

    def judged(self, turn: TurnEntry, done: TurnDone) -> TurnEntry:
        """Returns ``turn``, with what is wrong with it if it is an answer that doesn't fit."""
        self._fitted, self._unfit = None, ""
        self._form.refused |= self._without
        if turn.awaited or done.refused or done.status == "incomplete":
            return turn
        try:
            self._fitted = self._form.fitted(_words(turn))
        except Unfit as unfit:
            self._unfit = str(unfit)
        return msgspec.structs.replace(turn, unfit=self._unfit)


def turn_step(speaker: Speaker) -> StructuredOutput:
    """Returns the step of a member whose answers have a form."""
    agent = speaker.member.agent
    assert agent.output_form is not None
    return StructuredOutput(agent.output_form, agent.adapter, tools=bool(speaker.specs))


def _words(turn: TurnEntry) -> str:
    """Returns the last text of the turn: what comes before is commentary."""
    said = (part.text for part in reversed(turn.parts) if isinstance(part, TextPart) and not part.text.isspace())
    return next(said, "")
