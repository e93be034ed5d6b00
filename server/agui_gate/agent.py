"""An agent: a model, its instructions and its tools."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from agui_gate.adapter import Adapter, ToolSpec
from agui_gate.errors import ConfigurationError
from agui_gate.tool import Tool

Hitl = Literal["auto", "card", "interrupt"]
OnUnanswered = Literal["supersede", "represent", "refuse"]
OnDisconnect = Literal["cancel", "continue"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What answers on a thread.

    * ``tools``: functions or `Tool`s (see `agui_gate.tool`).
    * ``hitl``: how gated calls are shown: as `confirm_changes` cards, as interrupts, or (``auto``) as cards exactly
      when the client advertises a tool of that name.
    * ``on_unanswered``: what happens to waiting calls when a run comes that doesn't answer them: they are closed
      (``supersede``), shown again with what was typed kept (``represent``), or the run is refused (``refuse``).
    * ``on_disconnect``: whether a run whose client left is cancelled.
    * ``max_turns``: model turns in one run.
    * ``description`` and ``examples`` (prompts to try) are for people.

    Raises `ConfigurationError` if something is off, when it is made rather than when it is used.
    """

    name: str
    model: Adapter
    instructions: str = ""
    tools: Sequence[Tool | Callable[..., Any]] = ()
    hitl: Hitl = "auto"
    on_unanswered: OnUnanswered = "supersede"
    on_disconnect: OnDisconnect = "cancel"
    max_turns: int = 20
    description: str = ""
    examples: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(t if isinstance(t, Tool) else Tool(t) for t in self.tools))
        object.__setattr__(self, "_by_name", {t.name: t for t in self.tools if isinstance(t, Tool)})
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(f"agent name {self.name!r}: letters, digits, _ . - (it is part of its URL)")
        if not isinstance(self.model, Adapter):
            raise ConfigurationError(f"agent {self.name}: model must be a provider adapter, such as OpenAIResponses(…)")
        if len(self.by_name) != len(self.tools):
            raise ConfigurationError(f"agent {self.name}: two tools have the same name")
        if self.max_turns < 1:
            raise ConfigurationError(f"agent {self.name}: max_turns must be at least 1")
        self._check_choice("hitl", Hitl)
        self._check_choice("on_unanswered", OnUnanswered)
        self._check_choice("on_disconnect", OnDisconnect)

    @property
    def by_name(self) -> dict[str, Tool]:
        """The tools by their names."""
        tools: dict[str, Tool] = getattr(self, "_by_name")  # noqa: B009  (set once in __post_init__ of a frozen class)
        return tools

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them."""
        return tuple(ToolSpec(t.name, t.description, t.parameters) for t in self.by_name.values())

    def _check_choice(self, name: str, choices: Any) -> None:
        value = getattr(self, name)
        if value not in get_args(choices):
            raise ConfigurationError(f"agent {self.name}: {name}={value!r}; choose from {', '.join(get_args(choices))}")
