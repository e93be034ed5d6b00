"""`MCPTools`: the tools of an MCP server, found when a run starts, and called over a connection that comes back.

A listing is used for half a minute, or until the server says that its tools have changed or the connection ends. So a
run begins without a round trip as a rule. It notices a server that is away before it promises its tools to a model.
"""

import hashlib
import importlib.util
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import structlog

from agui_gate import Gate, SchemaTool, Tool, ToolContext
from agui_gate.adapter import Finding
from agui_gate.errors import ConfigurationError, Unavailable

from .arguments import checker, for_models
from .calls import MAX_RESULT, Calls
from .errors import Lost, Trouble, Undelivered
from .link import Link
from .policy import GatePolicy, Hints, agent_name, gate_of, idle_patterns, matches, may_run_twice
from .servers import Headers, HTTPServer, Server, StdioServer

if TYPE_CHECKING:
    import mcp_types

    from .connection import Connection

LISTED_SECONDS = 30.0
"""How long a listing is used without asking again."""

CARD_TOOL = "confirm_changes"
"""A name that means something else on the wire."""

MAX_DESCRIPTION = 4096
"""Characters of a tool's description that models get."""

MAX_WARNINGS = 1_000
"""Different things about one server's tools that the log is told."""

log = structlog.get_logger("agui_gate_adapters.mcp")


class Options(TypedDict, total=False):
    """The options of both kinds of servers: see `MCPTools`."""

    name: str
    prefix: str
    only: Sequence[str]
    gate: GatePolicy
    idempotent: Sequence[str]
    timeout: float
    start_timeout: float
    max_result: int


class MCPTools:
    """Tools of one MCP server, for `Agent(tools=[…])`. Make it with `http` or `stdio`.

    * ``name``: what people and logs call the server.
    * ``prefix``: goes before each tool's name, so that names of two servers can't be the same.
    * ``only``: patterns of the tools to use; all without it. Patterns are about the server's names, without the prefix.
    * ``gate``: which tools wait for a person: True, False or a `Gate` for all, or those by pattern, as in
      ``{"delete_*": True, "search": False}``, of which the first that matches counts. For what no pattern matches the
      server's annotations count. Tools that say they are read-only, or that they destroy nothing (also those that add
      or send), are free. All others are gated, also unannotated ones.
    * ``idempotent``: patterns of tools that may be run again when a connection broke while they ran, beside those whose
      annotations say so. Others never are.
    * ``timeout`` for a call, ``start_timeout`` for connecting and for listing, in seconds.
    * ``max_result``: characters of a result that are kept.
    """

    def __init__(
        self,
        server: Server,
        *,
        name: str | None = None,
        prefix: str = "",
        only: Sequence[str] | None = None,
        gate: GatePolicy = None,
        idempotent: Sequence[str] = (),
        timeout: float = 60.0,
        start_timeout: float = 15.0,
        max_result: int = MAX_RESULT,
    ) -> None:
        if importlib.util.find_spec("mcp") is None:
            raise ConfigurationError("MCP tools need an extra: pip install 'agui-gate[mcp]'")
        if isinstance(only, str) or isinstance(idempotent, str):
            raise ConfigurationError("MCPTools: only=… and idempotent=… take a list of patterns, not one string")
        if min(timeout, start_timeout, max_result) <= 0:
            raise ConfigurationError("MCPTools: timeout, start_timeout and max_result are above 0")
        self._name = name or server.where
        self._prefix, self._only, self._gate, self._idempotent = prefix, only, gate, idempotent
        self._timeout = timeout
        self._where = hashlib.sha256(repr(server.address).encode()).hexdigest()[:12]
        self._link = Link(server, self._name, start_timeout)
        self._calls = Calls(self._link, server, self._name, max_result)
        self._tools: tuple[Tool, ...] = ()
        self._listed: tuple[Connection, float] | None = None
        self._warned: set[tuple[str, ...]] = set()

    @classmethod
    def stdio(
        cls,
        command: str,
        args: Sequence[str] = (),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        **options: Unpack[Options],
    ) -> "MCPTools":
        """Makes tools of a process: ``command`` with ``args`` is started when its tools are first needed.

        It gets ``env`` and, of this process's environment, only what programs need to run (PATH, HOME and the like).
        ``options`` are those of the class. Raises `ConfigurationError`.
        """
        return cls(StdioServer(command, tuple(args), dict(env or {}), cwd), **options)

    @classmethod
    def http(cls, url: str, *, headers: Headers | None = None, **options: Unpack[Options]) -> "MCPTools":
        """Makes tools of a server at a streamable HTTP endpoint, often `https://host/mcp`.

        ``headers`` go with every request; a callable, sync or async, makes them anew each time (tokens that expire).
        ``options`` are those of the class. Raises `ConfigurationError`.
        """
        return cls(HTTPServer(url, headers or {}), **options)

    def __repr__(self) -> str:
        return f"<MCPTools {self._name}>"

    @property
    def name(self) -> str:
        """What people call the server."""
        return self._name

    @property
    def identity(self) -> str:
        """Which server it is: an approval of one server's tool is not good for another's, whatever they are called."""
        return f"{self._name}#{self._where}"

    # --- a source of tools --------------------------------------------------------------------------------------
    async def tools(self) -> Sequence[Tool]:
        """Lists the tools as they are now. Raises `Unavailable`."""
        try:
            return await self._find()
        except (Undelivered, Lost):  # a connection that is gone shows at its first use
            pass
        except Trouble as error:
            raise self._unavailable(error) from None
        try:
            return await self._find(again=True)
        except Trouble as error:
            raise self._unavailable(error) from None

    async def check(self) -> Sequence[Finding]:
        """Whether the server can be reached, and how many tools it has."""
        what = f"MCP server {self._name}"
        try:
            tools = await self.tools()
        except Unavailable as error:
            reason = error.message.removeprefix(f"{self._name} ")
            return [Finding(what, False, reason, "Start it, or correct its command, URL or headers.")]
        gated = sum(tool.gate is not None for tool in tools)
        found = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}, {gated} of them gated"
        return [Finding(what, True, f"{found}{_left_out(tools)}")]

    async def aclose(self) -> None:
        """Close all connections; a process is asked to end, then killed."""
        self._listed = None
        await self._link.aclose()

    # --- finding ------------------------------------------------------------------------------------------------
    async def _find(self, *, again: bool = False) -> Sequence[Tool]:
        """Lists the tools; ``again``: this is the last attempt."""
        connection = await self._link.connection()
        if self._is_fresh(connection):
            return self._tools
        try:
            listed = await connection.list_tools()
        except Trouble as error:
            if again or not isinstance(error, Undelivered | Lost):
                self._link.give_up(connection, error)
            self._link.drop(connection)
            raise
        self._tools = self._made(listed)
        self._listed = (connection, time.monotonic())
        return self._tools

    def _is_fresh(self, connection: "Connection") -> bool:
        if self._listed is None or self._listed[0] is not connection or connection.changed:
            return False
        return time.monotonic() - self._listed[1] < LISTED_SECONDS

    def _made(self, listed: Sequence["mcp_types.Tool"]) -> tuple[Tool, ...]:
        """Makes the tools that are used, of those that the server lists."""
        used = [tool for tool in listed if self._only is None or matches(tool.name, self._only)]
        used = self._runnable(used)
        for pattern in idle_patterns(self._gate, [tool.name for tool in used]):
            self._warn("gate_names_no_tool", pattern=pattern)
        return tuple(made for tool in used if (made := self._usable(tool)) is not None)

    def _usable(self, listed: "mcp_types.Tool") -> Tool | None:
        """Leaves out tools that models can't be offered (``___``), with a warning: a listing never ends a run."""
        try:
            return self._tool(listed)
        except ConfigurationError as error:
            self._warn("tool_not_usable", tool=listed.name, reason=error.message)
            return None

    def _runnable(self, tools: Sequence["mcp_types.Tool"]) -> list["mcp_types.Tool"]:
        """Returns the tools that can be called. One that runs only as an MCP task is left out, with one warning."""
        runnable = [tool for tool in tools if tool.execution is None or tool.execution.task_support != "required"]
        left_out = [tool.name for tool in tools if tool not in runnable]
        if left_out:
            self._warn("tools_need_tasks", not_offered=left_out)
        return runnable

    def _warn(self, event: str, **about: Any) -> None:
        """Warns once for each problem, and a limited number of times: a server may list other names each time."""
        if (said := (event, *map(str, about.values()))) not in self._warned and len(self._warned) < MAX_WARNINGS:
            self._warned.add(said)
            log.warning(event, source=self._name, **about)

    def _fitting(self, gate: bool | Gate, name: str, schema: Mapping[str, Any]) -> bool | Gate:
        """Returns the gate without what concerns arguments that this tool doesn't have."""
        if not isinstance(gate, Gate):
            return gate
        known = schema.get("properties") or {}
        if places := gate.unknown_places(known):
            self._warn("gate_message_names_no_argument", tool=name, places=places)
        if unknown := [argument for argument in gate.editable if argument not in known]:
            self._warn("gate_editable_names_no_argument", tool=name, arguments=unknown)
        grants = [offer for offer in gate.grants if known.keys() >= set(offer.names)]
        if len(grants) < len(gate.grants):
            self._warn("gate_grants_name_no_argument", tool=name)
        return replace(gate, editable=[argument for argument in gate.editable if argument in known], grants=grants)

    def _tool(self, tool: "mcp_types.Tool") -> Tool:
        hints = Hints.of(tool.annotations)
        twice = may_run_twice(tool.name, hints, self._idempotent)

        async def call(arguments: dict[str, Any], context: ToolContext) -> str:
            return await self._calls.call(tool.name, arguments, context, twice=twice)

        return SchemaTool(
            call,
            name=agent_name(tool.name, self._prefix),
            description=(tool.description or tool.title or "")[:MAX_DESCRIPTION],
            parameters=for_models(tool.input_schema),
            check=checker(tool.input_schema),
            gate=self._fitting(gate_of(tool.name, hints, self._gate), tool.name, tool.input_schema),
            timeout=self._timeout,
            idempotent=twice,
            origin=self._name,
        )

    def _unavailable(self, reason: Trouble) -> Unavailable:
        return Unavailable(f"{self._name} {reason}.")


def _left_out(tools: Sequence[Tool]) -> str:
    """Finds the ``tools`` that no agent can use: names that occur twice, or that mean something else."""
    names = [tool.name for tool in tools]
    lost = sorted({n for i, n in enumerate(names) if n in names[:i] or n == CARD_TOOL})
    return f"; left out, as the name is taken: {', '.join(lost)}" if lost else ""
