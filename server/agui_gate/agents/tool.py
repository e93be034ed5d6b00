"""Tools: Python functions that a model may call, and the gates in front of them."""

import hashlib
import inspect
import json
import re
import threading
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, overload, runtime_checkable

from agui_gate.adapter import ToolSpec
from agui_gate.agents.signature import Signature
from agui_gate.core import events as ev
from agui_gate.core.schemas import of_arguments
from agui_gate.core.transcript import ActivityEntry
from agui_gate.errors import ConfigurationError
from agui_gate.extra_loader import load

if TYPE_CHECKING:
    from agui_gate.adapter import Finding
    from agui_gate.agents.agent import Agent
    from agui_gate.agents.tool_events import Emittable, Emitter
    from agui_gate.core.approvals import People
    from agui_gate.core.argument_preview import Place

F = TypeVar("F", bound=Callable[..., Any])

RESERVED_NAMES = frozenset({"confirm_changes"})
"""Names that mean something else on the wire (the confirm card)."""

MAX_EXPIRY = 1_000_000_000
"""Seconds, about 30 years: well within what a store's clock and a date can say."""


_MAKING = threading.Lock()

PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
"""An argument's place in a gate's message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """A condition before a tool runs: a person agrees.

    The arguments of a gated tool are validated once, exactly as its schema says, and defaults are filled in. That one
    value is what ``when`` gets, what people see, what is recorded, and what runs. Arguments that don't fit are an error
    for the model; nobody is asked about them.

    ``when(arguments)`` gates only some calls; it is a function, sync or async. It gets a copy of the arguments as JSON
    has them (a date is a text), and has a few seconds. Only False lets the call run: one that raises, takes too long or
    returns anything else asks. ``when(arguments, ctx)`` is a rule, which may also refuse a call: see
    docs/people.md#rules. ``editable`` names the arguments that the person may change before agreeing.
    ``expires_after`` is in seconds, by the store's clock. ``message`` is what the person is asked; ``{argument}``
    placeholders are filled in. Where a placeholder names no argument, the tool can't be made.

    ``grants`` are scopes in which the person may say yes beforehand, to calls that come after this one: see
    docs/people.md#standing-grants. With ``always=True`` there are none, and no ``when``: each call is asked about.

    ``remind`` and ``escalate`` say in how many seconds people are reminded of a call that waits, and when more people
    may decide it: see docs/notifications.md#reminders-and-escalations.

    ``approvers``, ``needs``, ``self_approval``, ``decisions``, ``max_auth_age`` and ``acr`` say who may agree, and how
    many have to: see docs/people.md#gates-that-ask-for-people. With ``break_glass=False`` nobody decides without them,
    in no emergency.
    """

    when: Callable[..., Any] | None = None
    editable: Sequence[str] = ()
    expires_after: float | None = None
    message: str | None = None
    approvers: "str | Sequence[str] | Callable[..., Any] | None" = None
    needs: int = 1
    self_approval: bool = False
    decisions: Sequence[str] = ("approve", "edit", "reject")
    max_auth_age: float | None = None
    acr: str | Sequence[str] = ()
    break_glass: bool = True
    grants: Sequence[Any] = ()
    always: bool = False
    remind: Sequence[float] = ()
    escalate: Sequence[tuple[float, Any]] = ()
    people: "People | None" = field(default=None, init=False, repr=False)
    """What records have of the six above; None where they ask for nobody in particular."""

    has_rule: bool = field(default=False, init=False, repr=False)
    """Whether ``when`` takes a context, or there are grants: each call has a record then, before that is asked."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_rule", self.when is not None and needs_context(self.when))
        if isinstance(self.editable, str):
            raise ConfigurationError("Gate(editable=…) takes a list of argument names, not one string")
        if self.expires_after is not None and not 0 < self.expires_after <= MAX_EXPIRY:
            raise ConfigurationError(
                f"Gate(expires_after=…) is a number of seconds above 0, up to {MAX_EXPIRY:,}; None means never"
            )
        object.__setattr__(self, "editable", tuple(self.editable))
        given = (self.approvers, self.needs, set(self.decisions), self.max_auth_age, self.acr or ())
        if self.remind or self.escalate:
            load("notices.steps").check_gate(self)
        if self.escalate or given != (None, 1, {"approve", "edit", "reject"}, None, ()):
            object.__setattr__(self, "people", load("people.approvers").people_of(self))
        if self.grants or self.always:
            load("people.grants").check_gate(self)

    def unknown_places(self, names: Collection[str]) -> list[str]:
        """Returns the placeholders of ``message`` that look like arguments, and name none of ``names``.

        Braces around anything else are text. A format, as in ``{amount:.2f}``, is no placeholder either.
        """
        from agui_gate.agents.gate_names import unknown_places

        return unknown_places(self.message or "", names)


def needs_context(function: Callable[..., Any]) -> bool:
    """Returns whether a gate's function needs a context besides the arguments."""
    try:
        inspect.signature(function).bind({})
    except (TypeError, ValueError) as error:  # ValueError: it has no signature
        return isinstance(error, TypeError)
    return False


class Shown(NamedTuple):
    """An activity: the event that tells it, and all that the page shows of it from then on."""

    event: ev.Event
    entry: ActivityEntry


Told = ev.Event | Shown
"""An event or an activity that a tool tells its client."""

Tell = Callable[[Told], None]
"""Takes what a tool tells."""


@dataclass(kw_only=True, slots=True)
class ToolContext:
    """The context of a call, for its tool. A parameter annotated with this class is injected.

    It is the same whichever way the call was approved. ``thread_id`` is the id under which `GET /threads/{id}` has the
    thread. ``run_id`` is the client's id of the run in which the model made the call. A person may have agreed to it in
    a later one, or in none. ``owner`` is the id of whose thread it is. ``principal`` is on whose behalf the call is
    made: the string, or the `Principal`, that ``auth`` returned. Of a gated call it is who asked, whoever agreed, and
    has no roles and no claims but ``person``. ``call_id`` is the `toolCallId` that the client sees. ``idempotency_key``
    is the same for every attempt to run this very call: hand it to systems that accept one. ``state`` is the thread's
    shared state: a dict, or an instance of the model of `Agent(state=…)`. It is one object for all tools at work on the
    thread. What a tool changes in it is saved and sent to the client after the tool ended; what doesn't fit is undone.
    Another object in its place means nothing.
    """

    thread_id: str
    run_id: str
    call_id: str
    principal: str
    idempotency_key: str
    owner: str = ""
    state: Any = field(default_factory=dict)
    tell: Tell | None = field(default=None, repr=False)
    """The function that takes what `activity` and `emit` tell. None tells nobody, for contexts that tests make."""
    _emitter: "Emitter | None" = field(default=None, init=False, repr=False, compare=False)

    def activity(self, kind: str, content: dict[str, Any]) -> Awaitable[None]:
        """Shows progress: an activity message of ``kind`` on the client's page, which the next of its kind changes.

        ``content`` is a JSON object, all of it each time; what has changed is sent. It is for people only: the model
        doesn't get it. What was shown last stays in the thread, saved with the next commit. It does so after a decision
        out of band, too, where nobody watches.

        A call may show 100 activities, of 1 MiB together. Raises TypeError for what is not a dict, and ValueError for
        one that is not JSON, too large or too deep; then nothing is shown. It is shown at once: a sync tool calls it
        from its thread, without ``await``.
        """
        self._emits().activity(kind, content)
        return _Done()

    def emit(self, event: "Emittable") -> None:
        """Puts an event of the protocol's own types (`ag_ui.core`) into the run's stream, between the server's own.

        A ``CustomEvent`` is sent as it is; names that begin with ``agui-gate:`` are the server's. A
        ``StateSnapshotEvent`` or ``StateDeltaEvent`` changes `state`, which is saved after the tool returned. A delta
        is sent as a snapshot where this call has not told the client what it changes. An ``ActivitySnapshotEvent`` or
        ``ActivityDeltaEvent`` shows progress as `activity` does, under a message id of the call's own.

        May be called from any thread. What comes after the tool's end goes nowhere. Readers who come while the run is
        kept get all of it; of a run that is over the state and the activities stay. Outside of a run (a decision over
        HTTP) nobody watches, and the state changes all the same.

        Raises TypeError for another kind of event. Raises ValueError for one that is not JSON, is too large, changes
        what is not there, or has members besides (``timestamp``, ``rawEvent``, …). Then nothing was sent or changed.
        """
        self._emits().emit(event, self.state)

    def _emits(self) -> "Emitter":
        with _MAKING:  # a tool may tell from several threads of its own, which have one emitter
            if self._emitter is None:
                from agui_gate.agents.tool_events import Emitter  # few tools tell anything

                self._emitter = Emitter(self.call_id, self.tell)
            return self._emitter


class _Done:
    """An awaitable without a result, which need not be awaited."""

    def __await__(self) -> Generator[None]:
        yield from ()


class Tool:
    """A function as a tool. Call it like the function it wraps; what reads arguments and schemas is for the engine.

    ``parameters`` is a JSON Schema of type object, made from the signature by pydantic. ``timeout`` is in seconds;
    None means five minutes. ``idempotent`` says that running a call twice does no harm, so an interrupted one may be
    run again. ``streams_to`` is a place in the shared state, as ``/draft/text`` or ``draft.text``: there the page is
    shown the arguments while they arrive (docs/state.md#previews-while-arguments-stream). ``place`` has it in parts.
    """

    origin: str = ""
    """The name of the source it comes from; empty for the agent's own."""
    agent: "Agent | None" = None
    """The agent that a call delegates its task to (`Agent.as_tool`); None for a function."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        gate: bool | Gate = False,
        timeout: float | None = None,
        idempotent: bool = False,
        streams_to: str | None = None,
    ) -> None:
        self.fn = fn
        self.name = name or fn.__name__
        self.description = inspect.cleandoc(description or fn.__doc__ or "")
        self.gate: Gate | None = Gate() if gate is True else gate or None
        self.timeout = timeout
        self.idempotent = idempotent
        self.place = None if streams_to is None else self._placed(streams_to)
        self.is_async = inspect.iscoroutinefunction(fn)
        self.__doc__ = fn.__doc__
        self._take_signature()
        self._check()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function itself, as if it weren't a tool."""
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}{' gated' if self.gate else ''}>"

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, as the model sees it."""
        return self._signature.schema

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it, made once: a tool isn't changed after it was used."""
        return ToolSpec(self.name, self.description, of_arguments(self.parameters))

    @cached_property
    def schema_digest(self) -> str:
        """SHA-256 of the JSON Schema: an approval is good for the tool as it was when it was asked for."""
        text = json.dumps(self.parameters, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the keyword arguments for the function. Raises `ToolError` that says what is wrong, without the
        values.

        Models are sloppy with types, so "5" passes for a number. For tools without a gate.
        """
        return self._signature.read(arguments)

    def judged(self, arguments: Mapping[str, Any]) -> str:
        """Returns the arguments that will run, as canonical JSON: validated exactly, with defaults. Raises
        `ToolError`.
        """
        return self._signature.judged(arguments)

    def exactly(self, judged: str) -> dict[str, Any]:
        """Returns the keyword arguments that `judged` ones stand for. Raises `ToolError` if they mean something else by
        now.
        """
        return self._signature.exactly(judged)

    @property
    def takes_context(self) -> bool:
        """True if a `ToolContext` is injected. Without it a tool can't touch the shared state."""
        return bool(self._context_name)

    def bind(self, kwargs: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Validated arguments plus the injected context, if the function asks for one."""
        extra = {self._context_name: context} if self._context_name else {}
        return {**kwargs, **extra}

    def _placed(self, path: str) -> "Place":
        from agui_gate.core.argument_preview import place_of

        try:
            return place_of(path)
        except ValueError as error:
            raise ConfigurationError(f"tool {self.name}: streams_to={error}") from None

    def _take_signature(self) -> None:
        self._signature, self._context_name = Signature.of(self.name, self.fn, ToolContext)

    def _check(self) -> None:
        if not is_tool_name(self.name):
            raise ConfigurationError(f"tool name {self.name!r}: up to 64 ASCII letters, digits, _ and - are allowed")
        if self.name in RESERVED_NAMES and not self.origin:
            raise ConfigurationError(f"tool name {self.name!r} is reserved for confirm cards")
        if self.gate is not None:
            self._check_gate(self.gate)

    def _check_gate(self, gate: Gate) -> None:
        """Raises `ConfigurationError` for a gate that can't be kept, or asks about what isn't there."""
        if gate.editable or gate.message or gate.grants:
            from agui_gate.agents.gate_names import check_names

            check_names(self.name, gate, list(self.parameters["properties"]))
        self._signature.check_shown()


def is_tool_name(name: str) -> bool:
    """Returns whether every provider takes this as a tool's name: up to 64 ASCII letters, digits, _ and -."""
    return name.isascii() and len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum()


@overload
def tool(fn: F, /) -> Tool: ...
@overload
def tool(
    fn: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    gate: bool | Gate = False,
    timeout: float | None = None,
    idempotent: bool = False,
    streams_to: str | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Makes a tool of a sync or async function, as ``@tool`` or ``@tool(gate=True, …)``.

    The JSON Schema comes from the signature, the description from the docstring. Sync functions run in threads. What
    the function returns is the result: a string as it is, anything else as JSON. Raise `ToolError` to tell the model
    and the user what went wrong.

    Arguments of a tool without a gate are read as models mean them ("5" passes for a number). Those of a tool with a
    ``gate`` are taken exactly as the schema says: see `Gate`. Raises `ConfigurationError` for a signature that can't be
    a tool, and for a gated one whose arguments could not be shown as they are.
    """
    if fn is None:
        return lambda function: Tool(function, **options)
    return Tool(fn, **options)


@runtime_checkable
class ToolSource(Protocol):
    """Tools of somewhere else, such as an MCP server. One instance serves any number of runs and agents.

    An approval is good for a tool of the very source that it was asked for. The name tells one source from another, so
    the sources of an agent have different ones. A source may say more in an attribute ``identity``, a text that is the
    same after a restart. Then an approval is good for tools of that identity alone.
    """

    @property
    def name(self) -> str:
        """The source's name for people, as in "the tools of docs"."""
        ...

    async def tools(self) -> Sequence[Tool]:
        """Returns the tools as they are now. Bounded in time, and cheap when nothing changed.

        One whose name is taken is left out of the agent, with a warning. It may be taken by the agent's own, by a
        source that the agent names earlier, or in this list.

        Raises `Unavailable`, in words for people, while they can't be had, and `ConfigurationError` when they can't be
        the tools of an agent. Cancelling harms no other caller.
        """
        ...

    async def check(self) -> "Sequence[Finding]":
        """Says whether the tools can be had, for `agui-gate doctor`. Bounded; never raises."""
        ...

    async def aclose(self) -> None:
        """Closes connections and ends processes, in bounded time. Safe to call twice; `tools` opens again."""
        ...


def identity(source: ToolSource) -> str:
    """Returns what tells a source from any other: more than its name, where it says more."""
    return str(getattr(source, "identity", None) or source.name)
