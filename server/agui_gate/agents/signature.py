"""The signature of a tool's function: the JSON Schema that models see, and the two readings of a call's arguments.

* Sloppy (`read`), for tools that run whenever a model asks: models say "5" where a number is meant.
* Exact (`judged`, `exactly`), for tools with a gate. The arguments are validated once, as the schema says. What comes
  out is written as JSON again, with every default filled in. That one text is what a gate's predicate gets, what a
  person is shown and what the record keeps. An edit is compared with it, and the function is called with it. So it has
  to say all: reading it again must give the same values, or the call does not run.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import structlog

from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.schemas import sets_in_order
from agui_gate.errors import ConfigurationError, ToolError

Json = dict[str, Any]

log = structlog.get_logger("agui_gate.tools")


class Signature:
    """The parameters of a function: ``fields`` are those of a pydantic model, for the tool called ``name``."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        from pydantic import ConfigDict, create_model

        self._name, self._fields = name, fields
        config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
        self._model: Any = create_model(name, __config__=config, **fields)

    @classmethod
    def of(cls, name: str, fn: Callable[..., Any], injected: type) -> tuple["Signature", str | None]:
        """Returns the signature of ``fn``, and the name of the parameter annotated with ``injected``, which is no
        argument.

        Raises `ConfigurationError` for a signature that can't be a tool.
        """
        fields: dict[str, Any] = {}
        context = None
        for parameter in inspect.signature(fn, eval_str=True).parameters.values():
            if parameter.annotation is injected:
                context = parameter.name
                continue
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise ConfigurationError(f"tool {name}: parameter {parameter.name} must be a plain named parameter")
            annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (annotation, default)
        return cls(name, fields), context

    @cached_property
    def schema(self) -> Json:
        """The JSON Schema of the arguments, of type object."""
        schema: Json = self._model.model_json_schema()
        schema.pop("title", None)
        schema.setdefault("properties", {})
        for prop in schema["properties"].values():
            prop.pop("title", None)
        return schema

    def read(self, arguments: Mapping[str, Any]) -> Json:
        """Returns the keyword arguments, read sloppily. Raises `ToolError` that says what is wrong, without the
        values.
        """
        return _fields_of(self._guarded(lambda: self._model.model_validate(dict(arguments))))

    def judged(self, arguments: Mapping[str, Any]) -> str:
        """Returns what will run: canonical JSON of all arguments, validated exactly and with defaults. Raises
        `ToolError`.

        What a default is made of anew for each call is made here, once. What was judged already stays as it is.
        """
        read = self._exact(canonical(dict(arguments)))
        text, again = self._read_again(read)
        if not _equal(read, again):
            others = [n for n in type(read).model_fields if not _equal(getattr(read, n), getattr(again, n))]
            raise self._unfaithful(others or ["arguments"])
        return text

    def exactly(self, judged: str) -> Json:
        """Returns the keyword arguments that `judged` stands for. Raises `ToolError` if it stands for something else by
        now.
        """
        read = self._exact(judged)
        if judged != self._written(read) and judged != self._written(read, sparse=True):
            raise self._unfaithful(self._names)
        return _fields_of(read)

    def check_shown(self) -> None:
        """Raises `ConfigurationError` if a call could not be shown to a person: see what `judged` asks for."""
        if _says(self.schema, "writeOnly", True):
            raise ConfigurationError(
                f"tool {self._name}: a gated tool can't take secrets (SecretStr): a person has to see what runs"
            )
        if _says(self._model.__pydantic_core_schema__, "type", "generator"):
            raise ConfigurationError(
                f"tool {self._name}: a gated tool can't take an Iterable, which is read only once; take a list"
            )
        known = self._model.model_fields.items()
        fixed = [name for name, field in known if not field.is_required() and not field.default_factory]
        try:
            Signature(self._name, {name: self._fields[name] for name in fixed}).judged({})
        except ToolError as error:
            reason = error.message.partition(": ")[2]
            raise ConfigurationError(
                f"tool {self._name}: a default is not valid for its type, so a gate can't show it: {reason}"
            ) from None

    # --- reading and writing ------------------------------------------------------------------------------------
    @cached_property
    def _nothing(self) -> list[str]:
        """Arguments that are None by default, of whatever type (``note: str = None``): null says no more than that."""
        fields = self._model.model_fields.values()
        return [n for n, f in zip(self._names, fields, strict=True) if f.default is None and not f.default_factory]

    @cached_property
    def _has_sets(self) -> bool:
        return any(_says(self._model.__pydantic_core_schema__, "type", kind) for kind in ("set", "frozenset"))

    @property
    def _names(self) -> list[str]:
        """The arguments as models know them, in the order of the fields: an alias may differ."""
        return list(self.schema["properties"])

    def _exact(self, text: str) -> Any:
        """Reads as JSON, where strictness still allows for what JSON can't say, such as dates."""
        if self._nothing and "null" in text:
            given = parse_object(text) or {}
            text = canonical({n: v for n, v in given.items() if v is not None or n not in self._nothing})
        return self._guarded(lambda: self._model.model_validate_json(text, strict=True))

    def _read_again(self, read: Any) -> tuple[str, Any]:
        """Returns what was read, as JSON, and as that reads.

        A default of None within a model may be no value of its type (``text: str = None``): then it is left out.
        """
        text = self._written(read)
        try:
            return text, self._exact(text)
        except ToolError:
            sparse = self._written(read, sparse=True)
            if sparse == text:
                raise
        return sparse, self._exact(sparse)

    def _written(self, read: Any, *, sparse: bool = False) -> str:
        """Returns what was read, as canonical JSON; ``sparse``: without None in objects where nobody said so."""
        try:
            values = read.model_dump(mode="json", by_alias=True, warnings="none")
            if sparse:
                said = read.model_dump(mode="json", by_alias=True, warnings="none", exclude_unset=True)
                values = {name: _sparse(value, said.get(name)) for name, value in values.items()}
            whole = dict(zip(self._names, values.values(), strict=True))
            return canonical(sets_in_order(whole, self.schema) if self._has_sets else whole)
        except (ValueError, TypeError, RecursionError) as error:  # a value that JSON has no words for
            log.warning("arguments_not_json", tool=self._name, error=type(error).__name__)
            raise ToolError(f"Invalid arguments for {self._name}: they can't be written as JSON.") from None

    def _guarded(self, read: Callable[[], Any]) -> Any:
        """Returns ``read()``, with what it raises as `ToolError`: validators are other people's code, too."""
        from pydantic import ValidationError

        try:
            return read()
        except ValidationError as error:
            found = (f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()[:5])
            problems = "; ".join(found)
        except ToolError as error:
            problems = error.message
        except (Exception, SystemExit) as error:
            log.exception("validator_failed", tool=self._name)
            problems = f"they could not be checked ({type(error).__name__})"
        raise ToolError(f"Invalid arguments for {self._name}: {problems}")

    def _unfaithful(self, names: list[str]) -> ToolError:
        log.error("arguments_not_faithful", tool=self._name, arguments=names)
        what = ", ".join(names)
        return ToolError(f"Invalid arguments for {self._name}: {what}: read again, they would be something else.")


def _fields_of(read: Any) -> Json:
    return {name: getattr(read, name) for name in type(read).model_fields}


def _sparse(value: Any, said: Any) -> Any:
    """Returns ``value`` without members that are None and not in ``said``, all the way down."""
    if isinstance(value, dict):
        known = said if isinstance(said, dict) else {}
        return {n: _sparse(v, known.get(n)) for n, v in value.items() if v is not None or n in known}
    if isinstance(value, list) and isinstance(said, list) and len(said) == len(value):
        return [_sparse(item, was) for item, was in zip(value, said, strict=True)]
    return value


def _equal(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except Exception:  # values decide how they are compared
        return False


def _says(schema: Any, rule: str, value: object) -> bool:
    """Returns whether a schema has this rule anywhere."""
    if isinstance(schema, dict):
        return schema.get(rule) == value or any(_says(part, rule, value) for part in schema.values())
    return isinstance(schema, list | tuple) and any(_says(part, rule, value) for part in schema)
