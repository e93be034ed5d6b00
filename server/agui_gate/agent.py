"""An agent: a model, its instructions and its tools."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from agui_gate.adapter import Adapter, ToolSpec
from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.models import adapter_for
from agui_gate.tool import Tool
from agui_gate.tool_source import ToolSource

Hitl = Literal["auto", "card", "interrupt"]
OnUnanswered = Literal["supersede", "represent", "refuse"]
OnDisconnect = Literal["cancel", "continue"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What answers on a thread.

    * ``model``: a provider adapter, or its name and the model's, such as ``"anthropic:claude-sonnet-4-5"``
      (see `agui_gate.models`).
    * ``tools``: functions, `Tool`s (see `agui_gate.tool`), and sources of tools, such as `MCPTools`.
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
    model: Adapter | str
    instructions: str = ""
    tools: Sequence[Tool | ToolSource | Callable[..., Any]] = ()
    hitl: Hitl = "auto"
    on_unanswered: OnUnanswered = "supersede"
    on_disconnect: OnDisconnect = "cancel"
    max_turns: int = 20
    description: str = ""
    examples: Sequence[str] = ()
    away: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)
    """Names of the sources whose tools could not be had: see `ready`."""
    sources: tuple[ToolSource, ...] = field(default=(), init=False, repr=False, compare=False)
    """Where tools are found when a run starts."""
    by_name: Mapping[str, Tool] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The tools by their names, with those of sources as they were last found."""

    def __post_init__(self) -> None:
        given = (t if isinstance(t, Tool | ToolSource) else Tool(t) for t in self.tools)
        object.__setattr__(self, "tools", tuple(given))
        # Found out once, not with every run: looking for a protocol's members is slow.
        object.__setattr__(self, "sources", tuple(t for t in self.tools if isinstance(t, ToolSource)))
        object.__setattr__(self, "by_name", self._distinct())
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(f"agent name {self.name!r}: letters, digits, _ . - (it is part of its URL)")
        if isinstance(self.model, str):
            object.__setattr__(self, "model", adapter_for(self.model))
        if not isinstance(self.model, Adapter):
            raise ConfigurationError(f"agent {self.name}: model must be a provider adapter, such as OpenAIResponses(…)")
        if self.max_turns < 1:
            raise ConfigurationError(f"agent {self.name}: max_turns must be at least 1")
        self._check_choice("hitl", Hitl)
        self._check_choice("on_unanswered", OnUnanswered)
        self._check_choice("on_disconnect", OnDisconnect)

    @property
    def adapter(self) -> Adapter:
        """The model's adapter, also where the model was given by name."""
        return cast(Adapter, self.model)

    async def ready(self) -> "Agent":
        """This agent with the tools that its sources have now in the sources' places: what a run works with.

        A source that can't be reached is in `away` then, its tools are left out, and the model is told. Raises
        `ConfigurationError` if two tools have the same name.
        """
        if not self.sources:
            return self
        found = await asyncio.gather(*map(_tools_of, self.sources))
        tools: list[Tool | Callable[..., Any]] = []
        has = iter(found)
        for given in self.tools:
            if isinstance(given, ToolSource):
                theirs = next(has)
                tools.extend(theirs or ())
            else:
                tools.append(given)
        away = tuple(source.name for source, tools_of in zip(self.sources, found, strict=True) if tools_of is None)
        ready = replace(self, tools=tools, instructions=_with_note(self.instructions, away))
        object.__setattr__(ready, "away", away)
        object.__setattr__(self, "by_name", ready.by_name)
        return ready

    def why_not(self, tool: str) -> str | None:
        """Why a call of ``tool`` has to wait: it isn't here, and a source that may have it is away. Else None."""
        if tool in self.by_name or not self.away:
            return None
        sources = ", ".join(self.away)
        return (
            f"{tool} can't run now, as {sources} can't be reached. Nothing was run; it still waits: decide again later."
        )

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them."""
        return tuple(ToolSpec(t.name, t.description, t.parameters) for t in self.by_name.values())

    def _distinct(self) -> dict[str, Tool]:
        tools: dict[str, Tool] = {}
        for tool in self.tools:
            if not isinstance(tool, Tool):
                continue
            if (other := tools.get(tool.name)) is not None:
                owners = " and ".join(t.origin or "the agent itself" for t in (other, tool))
                message = f"agent {self.name}: two tools have the same name, {tool.name} (of {owners})"
                raise ConfigurationError(message)
            tools[tool.name] = tool
        return tools

    def _check_choice(self, name: str, choices: Any) -> None:
        value = getattr(self, name)
        if value not in get_args(choices):
            raise ConfigurationError(f"agent {self.name}: {name}={value!r}; choose from {', '.join(get_args(choices))}")


async def _tools_of(source: ToolSource) -> Sequence[Tool] | None:
    """None if they can't be had now; the source has logged why."""
    try:
        return await source.tools()
    except Unavailable:
        return None


def _with_note(instructions: str, away: Sequence[str]) -> str:
    if not away:
        return instructions
    note = f"The tools of {', '.join(away)} can't be used right now. Say so if they are needed."
    return f"{instructions}\n\n{note}" if instructions else note
