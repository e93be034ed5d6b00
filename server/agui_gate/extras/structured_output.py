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
from agui_gate.errors import OutputUnfit

log = structlog.get_logger("agui_gate.output")


class StructuredOutput:
    """The answers of one member in one run, in one task. ``tools``: it has some.

    ``spec`` is what requests have of the form, ``said`` the newest answer that fits, as JSON.
    """

    def __init__(self, form: OutputForm, adapter: Adapter, *, tools: bool) -> None:
        self._form = form
        told = not form.refused and tells_output(adapter, form.spec, tools=tools)
        self.spec: OutputSpec | None = form.spec if told else None
        self.said: bytes | None = None
        self._unfit = ""
        self._again = self._without = False

    @property
    def asks_again(self) -> bool:
        """Whether the newest answer did not fit, and the model is asked once more."""
        return bool(self._unfit)

    def tell_in_words(self) -> bool:
        """The provider seems to refuse the form: tell the model in the instructions. False if it is told so already.

        That it was the form is known once the provider takes the request without it.
        """
        if self.spec is None:
            return False
        self.spec, self._without = None, True
        log.warning("form_refused", form=self._form.spec.name)
        return True

    def noted(self, note: str) -> str:
        """What is added to the instructions, with ``note``."""
        return note if self.spec is not None else "\n\n".join(part for part in (self._form.told, note) if part)

    def judged(self, turn: TurnEntry, done: TurnDone) -> TurnEntry:
        """``turn``, with what is wrong with it if it is an answer that doesn't fit."""
        self.said, self._unfit = None, ""
        self._form.refused |= self._without
        if turn.awaited or done.refused or done.status == "incomplete":
            return turn
        try:
            self.said = self._form.fitted(_words(turn))
        except Unfit as unfit:
            self._unfit = str(unfit)
        return msgspec.structs.replace(turn, unfit=self._unfit)

    def check(self) -> None:
        """Raise `OutputUnfit` if the model was asked once more, and the newest answer doesn't fit either."""
        if self._unfit and self._again:
            raise OutputUnfit(f"The model's answer does not have the required form: {self._unfit}")
        self._again = self._again or self.asks_again


def _words(turn: TurnEntry) -> str:
    """The last text of the turn: what comes before is commentary."""
    said = (part.text for part in reversed(turn.parts) if isinstance(part, TextPart) and not part.text.isspace())
    return next(said, "")
