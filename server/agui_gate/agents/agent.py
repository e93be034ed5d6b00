"""An agent: a model, its instructions and its tools."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

from agui_gate.adapter import Adapter, ToolSpec
from agui_gate.agents.tool import RESERVED_NAMES, Gate, Tool, ToolSource, identity
from agui_gate.errors import ConfigurationError
from agui_gate.extra_loader import load

if TYPE_CHECKING:
    from pydantic import BaseModel

    from agui_gate.agents.context_window import History
    from agui_gate.agents.instruction_context import Situation
    from agui_gate.agents.state_form import StateForm
    from agui_gate.agents.structured_output import OutputForm
    from agui_gate.agents.tool_source import Names
    from agui_gate.session import Message, Result, Session, Where

Hitl = Literal["auto", "card", "interrupt"]
OnUnanswered = Literal["supersede", "represent", "refuse"]
OnDisconnect = Literal["auto", "cancel", "continue"]
ClientRoles = Literal["context", "as_sent", "drop"]

Instructing = Callable[["Situation"], str | Awaitable[str]]
"""Makes instructions, sync or async, within 10 seconds."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent, which answers on threads: a model, its instructions and its tools.

    * ``model``: a provider adapter, or its name and the model's, such as ``"anthropic:claude-sonnet-4-5"``
      (see `agui_gate.agents.model_names`). Of a list, later ones stand in for those before, up to the first token
      (docs/models.md#a-second-model).
    * ``instructions``: a text, or a function that makes it for each request to the model. It is given a `Situation` and
      may be async. What it returns is not stored. If it fails, the run ends with the code `internal`.
    * ``tools``: functions, `Tool`s (see `agui_gate.tool`), and sources of tools, such as `MCPTools`.
    * ``hitl``: how gated calls are shown: as `confirm_changes` cards, as interrupts, or (``auto``) as cards exactly
      when the client advertises a tool of that name.
    * ``on_unanswered``: what happens to waiting calls when a run comes that doesn't answer them: they are closed
      (``supersede``), shown again with what was typed kept (``represent``), or the run is refused (``refuse``). None:
      by how a call was asked. One that was asked by interrupt is shown again, one that was asked by card is closed.
    * ``on_disconnect``: whether a run whose client left is stopped (``cancel``) or goes on (``continue``). ``auto``: it
      goes on where the client says that it can stop it in another way (docs/http-api.md#disconnecting). Else it is
      stopped.
    * ``max_turns``: model turns in one run.
    * ``client_roles``: what becomes of a client's ``system`` and ``developer`` messages. ``context``: they are told in
      the marked block under the instructions, as its ``context`` is. ``as_sent``: they keep their roles. ``drop``: the
      model is not told of them.
    * ``state``: a Pydantic model of the shared state, each field with a default. What a client sends is validated, and
      ``ctx.state`` is an instance of it. None: any JSON object, as a dict (docs/state.md).
    * ``history``: how much of a long conversation the model is sent (`agents/context_window.py`); None: all of it.
    * ``output``: a Pydantic model that its final answers have to fit, as JSON. The run's ``result`` has the answer
      (docs/models.md#structured-output). None: any text.
    * ``handoffs``: agents that the model can transfer the conversation to, with the tool ``transfer_to_<name>``. May
      be added to until the agent is served, so circles can be made: ``a.handoffs.append(b)``. What they are is
      looked at then (see `agui_gate.agents.team`). Only the agent that is served needs a URL.
    * ``description`` and ``examples`` (prompts to try) are for people. A model that can hand off to this agent reads
      the description, too.

    Raises `ConfigurationError` if something is off, when it is made rather than when it is used.
    """

    name: str
    model: Adapter | str | Sequence[Adapter | str]
    instructions: str | Instructing = ""
    tools: Sequence[Tool | ToolSource | Callable[..., Any]] = ()
    hitl: Hitl = "auto"
    on_unanswered: OnUnanswered | None = None
    on_disconnect: OnDisconnect = "auto"
    max_turns: int = 20
    client_roles: ClientRoles = "context"
    history: "History | None" = None
    state: "type[BaseModel] | None" = None
    output: "type[BaseModel] | None" = None
    description: str = ""
    examples: Sequence[str] = ()
    handoffs: list["Agent"] = field(default_factory=list, repr=False, compare=False)
    absent: Mapping[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Sources whose tools could not be had (see `ready`): their names, by what tells them from others."""
    sources: tuple[ToolSource, ...] = field(default=(), init=False, repr=False, compare=False)
    """The sources in which tools are found when a run starts."""
    by_name: Mapping[str, Tool] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The tools by their names, with those of sources as they were last found."""
    present: frozenset[str] = field(default=frozenset({""}), init=False, repr=False, compare=False)
    """The sources whose tools could be had, by what tells them from others; "" is the agent itself."""
    owners: Mapping[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The source of each tool, by the tool's name: what tells that source from all others. The agent's own have
    none.
    """
    state_form: "StateForm | None" = field(init=False, repr=False, compare=False)
    """The form in which a shared state with a model is read and written; None for one without."""
    output_form: "OutputForm | None" = field(init=False, repr=False, compare=False)
    """The form that its answers have to have; None for any text."""
    names: "Names | None" = field(init=False, repr=False, compare=False)
    """The owners of tool names, over all runs; None where no source has tools."""

    def __post_init__(self) -> None:
        given = (t if isinstance(t, Tool | ToolSource) else Tool(t) for t in self.tools)
        object.__setattr__(self, "tools", tuple(given))
        object.__setattr__(self, "handoffs", list(self.handoffs))
        # Found out once, not with every run: looking for a protocol's members is slow.
        object.__setattr__(self, "sources", tuple(t for t in self.tools if isinstance(t, ToolSource)))
        object.__setattr__(self, "by_name", self._distinct())
        object.__setattr__(self, "names", self._names())
        object.__setattr__(self, "state_form", self._form())
        object.__setattr__(self, "output_form", self._output_form())
        self._check_sources()
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(f"agent name {self.name!r}: letters, digits, _ . - (it is part of its URL)")
        if isinstance(self.model, str | list | tuple):
            from agui_gate.agents.model_names import adapter_of

            object.__setattr__(self, "model", adapter_of(self.name, self.model))
        if not (isinstance(self.instructions, str) or callable(self.instructions)):
            raise ConfigurationError(
                f"agent {self.name}: instructions must be a string, or a function that returns one"
            )
        if not isinstance(self.model, Adapter):
            raise ConfigurationError(f"agent {self.name}: model must be a provider adapter, such as OpenAIResponses(…)")
        if self.max_turns < 1:
            raise ConfigurationError(f"agent {self.name}: max_turns must be at least 1")
        if self.history is not None:
            self._check_history()
        self._check_choice("hitl", Hitl)
        if self.on_unanswered is not None:
            self._check_choice("on_unanswered", OnUnanswered)
        self._check_choice("on_disconnect", OnDisconnect)
        self._check_choice("client_roles", ClientRoles)

    def as_tool(self, *, name: str | None = None, description: str | None = None, gate: bool | Gate = False) -> Tool:
        """Returns this agent as a tool of another one, with one argument: the ``task``.

        The model reads ``name`` (by default the agent's own) and ``description``. What the sub-agent says and calls is
        part of the same thread and run: its gated calls are asked about there, and its tokens are counted there. The
        entry agent's ``hitl``, ``on_unanswered`` and ``on_disconnect`` count for it, its own ``max_turns`` for a task.

        ``gate``: a person is asked whether a task may begin. With ``editable=["task"]`` they may change it. Gates of
        its own tools ask besides.

        Raises `ConfigurationError` for a name that no tool can have, and for a gate that can't be kept.
        """
        tool: Tool = load("teams").Delegation(self, name=name, description=description, gate=gate)
        return tool

    async def run(
        self, message: "Message | None" = None, *, thread: str | None = None, **where: "Unpack[Where]"
    ) -> "Result":
        """Runs this agent once in this process, without HTTP, and returns what it said and what waits for a person.

        ``message`` and ``thread`` (its id; default a new one) are those of `Session.run`, which says what is raised,
        and what cancelling does. ``store``, ``principal``, ``settings`` and ``app`` are those of `Session`. The store
        is open for as long as this takes. For many runs, open a `session`.
        """
        async with self.session(**where) as session:
            return await session.run(message, thread=thread)

    def session(self, **where: "Unpack[Where]") -> "Session":
        """Returns what runs this agent in this process, many times over one store (docs/jobs.md).

        ``store``, ``principal``, ``settings`` and ``app`` are those of `Session`.
        """
        from agui_gate.session import Session

        return Session(self, **where)

    def set_tools(self, tools: "Sequence[Tool | ToolSource]") -> None:
        """Gives it ``tools`` in place of those that it has. Only before it is served."""
        object.__setattr__(self, "tools", tuple(tools))
        object.__setattr__(self, "by_name", self._distinct())

    def shown_state(self, kept: Any) -> Any:
        """Returns what a thread's clients are shown of the state that is ``kept``; of none, the model's defaults."""
        if kept is None and self.state_form is not None:
            return self.state_form.shown(kept)
        return {} if kept is None else kept

    @property
    def adapter(self) -> Adapter:
        """The model's adapter, also where the model was given by name."""
        return self.model  # type: ignore[return-value]  # a name has become one

    @property
    def away(self) -> tuple[str, ...]:
        """Names of the sources whose tools could not be had."""
        return tuple(self.absent.values())

    async def ready(self) -> "Agent":
        """Returns this agent with the tools that its sources have now in the sources' places: what a run works with.

        A source that can't be reached is `away` then, its tools are left out, and the model is told. A tool whose name
        is taken is left out, too, with a warning: see `agui_gate.agents.tool_source`.
        """
        if self.names is None or not self.sources:
            return self
        from agui_gate.agents.tool_source import with_found_tools

        return await with_found_tools(self)

    def source_of(self, tool: str) -> str:
        """Returns the source of the tool of that name; "" for the agent's own."""
        return self.owners.get(tool, "")

    def why_not(self, tool: str, source: str | None = None) -> str | None:
        """Returns the reason for which a call of ``tool`` has to wait: it isn't here, and its source may be away. Else
        None.

        ``source`` says of which source it has to be, as `source_of` does; None where that isn't known. One that is
        none of the agent's may be one of them under another name.
        """
        if tool in self.by_name and source in (None, self.source_of(tool)):
            return None
        known = source in self.absent or source in self.present
        away = [name for key, name in self.absent.items() if key == source] if known else self.away
        if not away:
            return None
        sources = ", ".join(away)
        return (
            f"{tool} can't run now, as {sources} can't be reached. Nothing was run; it still waits: decide again later."
        )

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them."""
        return tuple([tool.spec for tool in self.by_name.values()])

    def _distinct(self) -> dict[str, Tool]:
        tools: dict[str, Tool] = {}
        for tool in self.tools:
            if not isinstance(tool, Tool):
                continue
            if tool.name in RESERVED_NAMES:
                raise ConfigurationError(f"agent {self.name}: tool name {tool.name!r} is reserved for confirm cards")
            if tool.name in tools:
                raise ConfigurationError(f"agent {self.name}: two tools have the same name, {tool.name}")
            tools[tool.name] = tool
        return tools

    def _check_history(self) -> None:
        from agui_gate.agents.context_window import History

        if not isinstance(self.history, History):
            raise ConfigurationError(f"agent {self.name}: history must be LastRounds(…), LastTokens(…) or Summary(…)")

    def _form(self) -> "StateForm | None":
        if self.state is None:
            return None
        from agui_gate.agents.state_form import StateForm, Unfit

        self._check_model("state")
        form = StateForm(self.state)
        try:
            form.default()
        except Unfit as unfit:
            needs = f"every field of {self.state.__name__} needs a default, as a thread begins without a state"
            raise ConfigurationError(f"agent {self.name}: {needs} ({unfit})") from None
        return form

    def _output_form(self) -> "OutputForm | None":
        if self.output is None:
            return None
        from agui_gate.agents.structured_output import OutputForm

        self._check_model("output")
        try:
            return OutputForm(self.output)
        except Exception as error:  # a model's hooks are anybody's
            why = f"output={self.output.__name__} has no JSON Schema ({type(error).__name__})"
            raise ConfigurationError(f"agent {self.name}: {why}") from error

    def _check_model(self, name: str) -> None:
        from pydantic import BaseModel  # slow to import, and not everybody's

        given = getattr(self, name)
        if not (isinstance(given, type) and issubclass(given, BaseModel)):
            raise ConfigurationError(f"agent {self.name}: {name}={given!r} is not a Pydantic model")

    def _names(self) -> "Names | None":
        if not self.sources:
            return None
        from agui_gate.agents.tool_source import Names

        return Names(self.name, self.by_name)

    def _check_sources(self) -> None:
        """Approvals are for tools of one source: each has to be told from all others."""
        said = [identity(source) for source in self.sources]
        for source in self.sources:
            if said.count(identity(source)) > 1:
                message = f"two sources of tools are called {source.name}; give each a name of its own"
                raise ConfigurationError(f"agent {self.name}: {message}")

    def _check_choice(self, name: str, choices: Any) -> None:
        value = getattr(self, name)
        if value not in get_args(choices):
            raise ConfigurationError(f"agent {self.name}: {name}={value!r}; choose from {', '.join(get_args(choices))}")
