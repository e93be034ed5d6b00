"""Tools: Python functions that a model may call, and the gates in front of them."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, overload

import msgspec

from agui_gate.errors import ConfigurationError, ToolError

F = TypeVar("F", bound=Callable[..., Any])

RESERVED_NAMES = frozenset({"confirm_changes"})
"""Names that mean something else on the wire (the confirm card)."""

MAX_EXPIRY = 1_000_000_000
"""Seconds, about 30 years: well within what a store's clock and a date can say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """What has to happen before a tool runs: a person agrees.

    ``when(arguments) -> bool`` gates only some calls; a predicate that raises, or returns anything but False, gates.
    ``editable`` names the arguments that the person may change before agreeing. ``expires_after`` is in seconds, by the
    store's clock. ``message`` is what the person is asked; ``{argument}`` placeholders are filled in.
    """

    when: Callable[[dict[str, Any]], bool] | None = None
    editable: Sequence[str] = ()
    expires_after: float | None = None
    message: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.editable, str):
            raise ConfigurationError("Gate(editable=…) takes a list of argument names, not one string")
        if self.expires_after is not None and not 0 < self.expires_after <= MAX_EXPIRY:
            raise ConfigurationError(
                f"Gate(expires_after=…) is a number of seconds above 0, up to {MAX_EXPIRY:,}; None means never"
            )
        object.__setattr__(self, "editable", tuple(self.editable))

    def applies(self, arguments: dict[str, Any]) -> bool:
        """Whether this call waits for a person. Fails closed."""
        if self.when is None:
            return True
        try:
            return self.when(dict(arguments)) is not False
        except Exception:
            return True


@dataclass(kw_only=True, slots=True)
class ToolContext:
    """What a tool may know about the call it serves. A parameter annotated with this class is injected.

    ``call_id`` is the `toolCallId` that the client sees. ``idempotency_key`` is the same for every attempt to run
    this very call: hand it to systems that accept one. ``state`` is the thread's shared state; what a tool changes in
    it is saved and sent to the client after the tool returned.
    """

    thread_id: str
    run_id: str
    call_id: str
    principal: str
    idempotency_key: str
    state: dict[str, Any] = field(default_factory=dict)
    show: Callable[[str, dict[str, Any]], None] | None = field(default=None, repr=False)
    """Where `activity` goes; None where nobody watches."""

    async def activity(self, kind: str, content: dict[str, Any]) -> None:
        """Show progress: an activity message of ``kind`` on the client's page, replaced by the next of its kind.

        ``content`` is JSON. It is for watching only: neither the model nor the thread's journal gets it, and nothing
        happens where nobody watches (a decision out of band). Raises TypeError for what is not a JSON object.
        """
        if not isinstance(content, dict):
            raise TypeError("an activity's content is a dict")
        encoded = msgspec.json.encode(content)  # now, as the tool may go on changing it
        if self.show is not None:
            self.show(kind, msgspec.json.decode(encoded))


class Tool:
    """A function as a tool. Call it like the function it wraps; `validate` and `parameters` are for the engine.

    ``parameters`` is a JSON Schema of type object, made from the signature by pydantic. ``timeout`` is in seconds;
    None means five minutes. ``idempotent`` says that running a call twice does no harm, so an interrupted one may be
    run again.
    """

    origin: str = ""
    """The name of the source it comes from; empty for the agent's own."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        gate: bool | Gate = False,
        timeout: float | None = None,
        idempotent: bool = False,
    ) -> None:
        self.fn = fn
        self.name = name or fn.__name__
        self.description = inspect.cleandoc(description or fn.__doc__ or "")
        self.gate: Gate | None = Gate() if gate is True else gate or None
        self.timeout = timeout
        self.idempotent = idempotent
        self.is_async = inspect.iscoroutinefunction(fn)
        self.__doc__ = fn.__doc__
        self._context_name: str | None = None
        self._model = self._make_model()
        self._check()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it weren't a tool."""
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}{' gated' if self.gate else ''}>"

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, as the model sees it."""
        schema: dict[str, Any] = self._model.model_json_schema()
        schema.pop("title", None)
        schema.setdefault("properties", {})
        for prop in schema["properties"].values():
            prop.pop("title", None)
        return schema

    def validate(self, arguments: Mapping[str, Any], *, strict: Collection[str] = ()) -> dict[str, Any]:
        """The keyword arguments for the function. Raises `ToolError` that says what is wrong, without the values.

        Models are sloppy with types, so "5" passes for a number; not for the arguments named in ``strict``.
        """
        from pydantic import ValidationError

        try:
            model = self._model.model_validate(dict(arguments))
            if strict:
                self._validate_strictly(arguments, strict)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()[:5]
            )
            raise ToolError(f"Invalid arguments for {self.name}: {problems}") from None
        return {name: getattr(model, name) for name in type(model).model_fields}

    def _validate_strictly(self, arguments: Mapping[str, Any], names: Collection[str]) -> None:
        """Raises `ValidationError`. As JSON, where strictness still allows for what JSON can't say, such as dates."""
        from pydantic import ValidationError
        from pydantic_core import to_json

        try:
            self._model.model_validate_json(to_json(dict(arguments)), strict=True)
        except ValidationError as error:
            if not {str(e["loc"][0]) for e in error.errors() if e["loc"]}.isdisjoint(names):
                raise

    def bind(self, kwargs: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Validated arguments plus the injected context, if the function asks for one."""
        extra = {self._context_name: context} if self._context_name else {}
        return {**kwargs, **extra}

    def _make_model(self) -> Any:
        from pydantic import ConfigDict, create_model

        fields: dict[str, Any] = {}
        for parameter in inspect.signature(self.fn, eval_str=True).parameters.values():
            if parameter.annotation is ToolContext:
                self._context_name = parameter.name
                continue
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise ConfigurationError(f"tool {self.name}: parameter {parameter.name} must be a plain named one")
            annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
            fields[parameter.name] = (annotation, ... if parameter.default is parameter.empty else parameter.default)
        return create_model(self.name, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields)

    def _check(self) -> None:
        if not self.name.replace("_", "").replace("-", "").isalnum() or not self.name.isascii() or len(self.name) > 64:
            raise ConfigurationError(f"tool name {self.name!r}: up to 64 ASCII letters, digits, _ and - are allowed")
        if self.name in RESERVED_NAMES:
            raise ConfigurationError(f"tool name {self.name!r} is reserved for confirm cards")
        unknown = sorted(set(self.gate.editable if self.gate else ()) - set(self._argument_names()))
        if unknown:
            raise ConfigurationError(f"tool {self.name}: Gate(editable=…) names no argument: {', '.join(unknown)}")

    def _argument_names(self) -> Collection[str]:
        names: Collection[str] = self._model.model_fields
        return names


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
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a tool of a sync or async function, as ``@tool`` or ``@tool(gate=True, …)``.

    The JSON Schema comes from the signature, the description from the docstring. Sync functions run in threads. What
    the function returns is the result: a string as it is, anything else as JSON. Raise `ToolError` to tell the model
    and the user what went wrong. Raises `ConfigurationError` for a signature that can't be a tool.
    """
    if fn is None:
        return lambda function: Tool(function, **options)
    return Tool(fn, **options)
