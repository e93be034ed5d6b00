"""Tools that are found rather than written: where they come from, and what one looks like.

A source is asked at the start of each run (`Agent.ready`), so that a server that was started later, or that changed
its tools, needs no restart here.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from agui_gate.adapter import Finding
from agui_gate.errors import ToolError
from agui_gate.tool import Gate, Tool, ToolContext


@runtime_checkable
class ToolSource(Protocol):
    """Tools of somewhere else, such as an MCP server. One instance serves any number of runs and agents."""

    @property
    def name(self) -> str:
        """What people call it, as in "the tools of docs"."""
        ...

    async def tools(self) -> Sequence[Tool]:
        """The tools as they are now. Bounded in time, and cheap when nothing changed.

        Raises `Unavailable`, in words for people, while they can't be had, and `ConfigurationError` when they can't be
        the tools of an agent. Cancelling harms no other caller.
        """
        ...

    async def check(self) -> Sequence[Finding]:
        """Say whether the tools can be had, for `agui-gate doctor`. Bounded; never raises."""
        ...

    async def aclose(self) -> None:
        """Close connections and end processes, in bounded time. Safe to call twice; `tools` opens again."""
        ...


class SchemaTool(Tool):
    """A tool with a given JSON Schema, called as ``await call(arguments, context)``.

    ``check(arguments)`` says what is wrong with them, without the values, or None; without it any JSON object passes.
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
        self.parameters = {"properties": {}, **parameters, "type": "object"}
        self._check_arguments = check

        async def fn(arguments: dict[str, Any], context: ToolContext) -> Any:
            return await call(arguments, context)

        super().__init__(fn, name=name, description=description, gate=gate, timeout=timeout, idempotent=idempotent)
        self.origin = origin

    def validate(self, arguments: Mapping[str, Any], *, strict: Collection[str] = ()) -> dict[str, Any]:
        """The keyword arguments for the function. Raises `ToolError`. A schema has no sloppy reading: always strict."""
        problem = self._check_arguments(arguments) if self._check_arguments else None
        if problem is not None:
            raise ToolError(f"Invalid arguments for {self.name}: {problem}")
        return {"arguments": dict(arguments)}

    def bind(self, kwargs: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Validated arguments and the context."""
        return {**kwargs, "context": context}

    def _make_model(self) -> None:
        """There is no signature to make one of."""

    def _argument_names(self) -> Collection[str]:
        properties: Collection[str] = self.parameters["properties"]
        return properties
