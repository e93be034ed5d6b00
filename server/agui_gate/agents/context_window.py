"""Limits how much of a long conversation an agent's model is sent: `Agent(history=…)`.

    Agent(name="support", model=…, history=LastRounds(20))
    Agent(name="support", model=…, history=LastTokens(30_000))
    Agent(name="support", model=…, history=Summary(over=30_000, keep=8_000))

A *round* is what the user says and all that is said and done until the user speaks again. Conversations are cut between
rounds, so no call loses its result (`extras/context_windows.py` has the rules). The thread's journal stays whole:
people see and the server keeps everything, and `GET /threads/{thread_id}` says what the model was sent. Tokens are
estimated.
"""

from dataclasses import dataclass

from agui_gate.adapter import Adapter
from agui_gate.agents.model_names import adapter_for
from agui_gate.errors import ConfigurationError


def _at_least(what: str, value: int, least: int) -> None:
    if type(value) is not int or value < least:
        raise ConfigurationError(f"{what} must be a whole number, {least:,} or more; {value!r} is not.")


@dataclass(frozen=True)
class LastRounds:
    """The newest ``number`` rounds. Raises `ConfigurationError` for less than one."""

    number: int

    def __post_init__(self) -> None:
        _at_least("LastRounds", self.number, 1)


@dataclass(frozen=True)
class LastTokens:
    """The newest rounds that are ``number`` tokens long together, at least one. Raises `ConfigurationError`."""

    number: int

    def __post_init__(self) -> None:
        _at_least("LastTokens", self.number, 100)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A history of which all but the newest ``keep`` tokens are summarised, once it is longer than ``over`` tokens.

    ``model`` writes the summary: an adapter, or its name and the model's; None for the agent's own. It is written once,
    kept in the journal, and gone on from when the rest has grown to ``over`` tokens again. Where it can't be written,
    the model is sent what ``keep`` leaves, and the next turn tries again. Raises `ConfigurationError`.
    """

    over: int
    keep: int
    model: Adapter | str | None = None

    def __post_init__(self) -> None:
        _at_least("Summary: over", self.over, 100)
        _at_least("Summary: keep", self.keep, 0)
        if self.keep > self.over // 2:
            raise ConfigurationError(
                "Summary: keep can be at most half of over, or a new summary would be needed all the time."
            )
        if isinstance(self.model, str):
            object.__setattr__(self, "model", adapter_for(self.model))
        if self.model is not None and not isinstance(self.model, Adapter):
            raise ConfigurationError("Summary: model must be a provider adapter, such as OpenAIResponses(…).")

    @property
    def adapter(self) -> Adapter | None:
        """The adapter that writes the summary, also where it was given by name; None for the agent's own."""
        return None if isinstance(self.model, str) else self.model


History = LastRounds | LastTokens | Summary
