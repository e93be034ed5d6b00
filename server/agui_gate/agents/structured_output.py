"""`Agent(output=Model)`: the form of an agent's answers, and whether one has it."""

import re
from typing import TYPE_CHECKING

import msgspec

from agui_gate.adapter import OutputSpec
from agui_gate.agents.state_form import Unfit, guarded

if TYPE_CHECKING:
    from pydantic import BaseModel

_FENCE = "```"
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_TOLD = (
    "Your final answer, the one in which you call no tool, has to be one JSON value that fits the JSON Schema below. "
    "Write nothing before it and nothing after it."
)
MOST_CHARACTERS = 2_000
"""Characters of the message about an answer that doesn't fit."""


class OutputForm:
    """The form that the answers of one agent have to have. Making it is as slow as making the model's schema.

    Raises what Pydantic raises for a model that has no JSON Schema.
    """

    def __init__(self, model: "type[BaseModel]") -> None:
        self._model = model
        name = _NO_NAME.sub("_", model.__name__)[:64]
        self.spec = OutputSpec(name, model.model_json_schema())
        self.refused = False
        """True if the provider refused it since the process began."""

    @property
    def described(self) -> str:
        """The form in words, for a model whose provider can't be told."""
        return f"{_TOLD}\n{msgspec.json.encode(self.spec.schema).decode()}"

    def fitted(self, text: str) -> bytes:
        """Returns the answer as the model writes it: with its defaults, under its aliases, as JSON. Raises `Unfit`.

        A fence around it is taken off: models like to write one.
        """
        bare = text.strip()
        if not bare:
            raise Unfit("output: it is empty")
        said = _unfenced(bare)
        try:
            return guarded(lambda model: model.model_validate_json(said), self._model, "output")
        except Unfit as unfit:
            raise Unfit(str(unfit)[:MOST_CHARACTERS]) from None


def _unfenced(text: str) -> str:
    """Returns the lines between a fence at the beginning and one at the end, where there are such: else all of it."""
    first, _, rest = text.partition("\n")
    within, line, last = rest.rpartition("\n")
    fenced = line and first.rstrip() in (_FENCE, f"{_FENCE}json") and last.lstrip() == _FENCE
    return within if fenced else text
