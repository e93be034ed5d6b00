"""Makes tools of sources, which are found rather than written, and decides who has which tool name.

A source is asked at the start of each run (`Agent.ready`). So a server that was started later, or that changed its
tools, needs no restart here.

Names: the agent's own tools come first, then its sources in the order in which the agent lists them. A source may come
to list any name at any time. It must not end the agent's runs with it, nor take the place of another tool. So what is
listed under a taken name is left out, with one warning. A source that is away keeps the names that it had: its tools
are not swapped for another server's while it can't be reached.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import structlog

from agui_gate.agents.gate_names import check_options
from agui_gate.agents.tool import RESERVED_NAMES, Gate, Tool, ToolContext, ToolSource, identity
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.schemas import with_defaults
from agui_gate.errors import ToolError, Unavailable

if TYPE_CHECKING:
    from agui_gate.agents.agent import Agent


class SchemaTool(Tool):
    """A tool with a given JSON Schema, called as ``await call(arguments, context)``.

    ``check(arguments)`` says what is wrong with them, without the values, or None; without it any JSON object passes.
    Where there is a gate, the schema's own defaults are filled in, so that what is shown is what is called.
    ``origin`` is the name of the source. Raises `ConfigurationError` for a name that models can't use.
    """

    def __init__(
        self,
        call: Callable[[dict[str, Any], ToolContext], Awaitable[Any]],
        *,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        check: Callable[[Mapping[str, Any]], str | None] | None = None,
        gate: bool | Gate = False,
        timeout: float | None = None,
        idempotent: bool = False,
        origin: str = "",
    ) -> None:
        properties = parameters.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        self._parameters = {**parameters, "properties": known, "type": "object"}
        self._problem_with = check or (lambda _: None)

        async def fn(arguments: dict[str, Any], context: ToolContext) -> Any:
            return await call(arguments, context)

        self.origin = origin
        super().__init__(fn, name=name, description=description, gate=gate, timeout=timeout, idempotent=idempotent)

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, as the model sees it."""
        return self._parameters

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the keyword arguments for the function. Raises `ToolError`. A schema has no sloppy reading."""
        problem = self._problem_with(arguments)
        if problem is not None:
            raise ToolError(f"Invalid arguments for {self.name}: {problem}")
        return {"arguments": dict(arguments)}

    def judged(self, arguments: Mapping[str, Any]) -> str:
        """Returns the arguments that will run, as canonical JSON, with those of the schema's defaults that fit it."""
        self.validate(arguments)
        whole = dict(arguments)
        for name, value in with_defaults(self._parameters, arguments).items():
            more = {**whole, name: value}
            whole = more if _is_json(more) and self._problem_with(more) is None else whole
        return canonical(whole)

    def exactly(self, judged: str) -> dict[str, Any]:
        """Returns the keyword arguments, as `validate` does."""
        return self.validate(parse_object(judged) or {})

    def bind(self, kwargs: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Validated arguments and the context."""
        return {**kwargs, "context": context}

    @property
    def takes_context(self) -> bool:
        """See `Tool`. It always is given one."""
        return True

    def _take_signature(self) -> None:
        """Takes no signature: the schema is given."""

    def _check_gate(self, gate: Gate) -> None:
        """Checks nothing: a gate's message is for all tools that it is given to, and a place that one can't fill is
        left alone.
        """
        check_options(self.name, gate, list(self.parameters["properties"]))


def _is_json(value: Any) -> bool:
    try:
        canonical(value)
    except ValueError:
        return False
    return True


Found = tuple[ToolSource, Sequence[Tool] | None]
"""A source, and what it lists now; None while it can't be reached."""

log = structlog.get_logger("agui_gate.tools")


class Names:
    """The names of one agent's tools, over all its runs. ``own`` are the agent's own."""

    def __init__(self, agent: str, own: Iterable[str]) -> None:
        self._agent = agent
        self._own = frozenset(own)
        self._transfers: tuple[str, ...] = ()
        self._kept: dict[str, list[str]] = {}
        self._warned: set[tuple[str, str]] = set()

    def reserve(self, transfers: Iterable[str]) -> None:
        """Reserves names that no source gets: they are tools that hand off to another agent."""
        self._transfers = tuple(transfers)

    def share(self, found: Sequence[Found]) -> list[list[Tool]]:
        """Returns the tools of each source that may keep their names."""
        takers = dict.fromkeys(self._own, "the agent itself") | dict.fromkeys(RESERVED_NAMES, "confirm cards")
        takers |= dict.fromkeys(self._transfers, "a hand-off")
        shared = []
        for source, listed in found:
            left = [tool for tool in listed or () if self._takes(tool.name, source, takers)]
            if listed is None:
                takers = dict.fromkeys(self._kept.get(identity(source), ()), source.name) | takers
            else:
                self._kept[identity(source)] = [tool.name for tool in left]
            shared.append(left)
        return shared

    def _takes(self, name: str, source: ToolSource, takers: dict[str, str]) -> bool:
        """Returns whether ``source`` gets ``name``; it is taken then."""
        if name not in takers:
            takers[name] = source.name
            return True
        if (identity(source), name) not in self._warned:
            self._warned.add((identity(source), name))
            log.warning("tool_name_taken", agent=self._agent, source=source.name, tool=name, taken_by=takers[name])
        return False


async def with_found_tools(agent: "Agent") -> "Agent":
    """Returns ``agent``, which has sources, with the tools that they have now: see `Agent.ready`."""
    assert agent.names is not None  # it has sources
    listed = await asyncio.gather(*map(_tools_of, agent.sources))
    shared = agent.names.share(list(zip(agent.sources, listed, strict=True)))
    places = iter(shared)
    tools = [t for given in agent.tools for t in (next(places) if isinstance(given, ToolSource) else [given])]
    absent = {identity(s): s.name for s, found in zip(agent.sources, listed, strict=True) if found is None}
    owners = {t.name: identity(s) for s, theirs in zip(agent.sources, shared, strict=True) for t in theirs}
    ready = copy(agent)  # not made anew: its forms, and what else was looked at when it was made, stay as they are
    object.__setattr__(ready, "sources", ())
    if isinstance(agent.instructions, str):  # to those that are made later, it is added when they are made
        object.__setattr__(ready, "instructions", with_missing_tools(agent.instructions, tuple(absent.values())))
    object.__setattr__(ready, "absent", absent)
    object.__setattr__(ready, "present", {"", *map(identity, agent.sources)} - absent.keys())
    object.__setattr__(ready, "owners", owners)
    ready.set_tools(tools)  # type: ignore[arg-type]  # what was given is tools by now
    object.__setattr__(agent, "by_name", ready.by_name)
    return ready


async def _tools_of(source: ToolSource) -> Sequence[Tool] | None:
    """Returns the tools of a source; None if they can't be had now: the source has logged the reason."""
    try:
        return await source.tools()
    except Unavailable:
        return None


def with_missing_tools(instructions: str, away: Sequence[str]) -> str:
    """Returns the instructions, and which sources of tools are ``away``."""
    if not away:
        return instructions
    note = f"The tools of {', '.join(away)} can't be used right now. Say so if they are needed."
    return f"{instructions}\n\n{note}" if instructions else note
