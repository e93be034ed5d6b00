"""The server's JSON Schema: what models see of it, and arguments against it, so that nobody is asked about a call that
can't run.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

MAX_PROBLEMS = 5
MAX_RULE = 200
"""Characters of a schema's rule that are quoted."""
MAX_REFERENCES = 100
"""References in a schema that is checked: those that double what they refer to can take for ever."""


NOT_FOR_MODELS = frozenset({"$id", "$schema", "allOf", "anyOf", "enum", "not", "oneOf"})
"""Keywords that providers refuse at the top of a tool's parameters, with the whole request; the check keeps them."""


def for_models(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema in a form that every provider accepts."""
    return {key: value for key, value in schema.items() if key not in NOT_FOR_MODELS}


def checker(schema: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], str | None]:
    """Returns a function that describes what is wrong with arguments, without their values, or None.

    A schema that is none, or that refers to other documents (which are never fetched), checks nothing. Then the server
    alone does, as it has to anyway.
    """
    made: list[Any] = []

    def check(arguments: Mapping[str, Any]) -> str | None:
        if not made:
            made.append(_validator(schema))
        (validator,) = made
        return None if validator is None else _problems(validator, arguments)

    return check


def _validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema import SchemaError
    from jsonschema.validators import extend, validator_for
    from referencing import Registry

    try:
        if json.dumps(schema).count('"$ref"') > MAX_REFERENCES:
            return None
        kind = validator_for(schema)
        kind.check_schema(dict(schema))
        patient: Any = extend(kind, _WITHOUT_PATTERNS)  # type: ignore[no-untyped-call]  # its stubs are incomplete
        return patient(dict(schema), registry=Registry())
    except (SchemaError, TypeError, ValueError, AttributeError, RecursionError):
        return None


def _unknown_names(validator: Any, rule: Any, arguments: Any, schema: Mapping[str, Any]) -> Any:
    """Yields unknown names against `additionalProperties`, where no pattern says which names are known."""
    from jsonschema.validators import Draft202012Validator

    if "patternProperties" in schema:
        return ()
    return Draft202012Validator.VALIDATORS["additionalProperties"](validator, rule, arguments, schema) or ()


_WITHOUT_PATTERNS = {
    "pattern": lambda *_: (),
    "patternProperties": lambda *_: (),
    "additionalProperties": _unknown_names,
}
"""A server's regular expressions are left to the server: one that backtracks for minutes would stop everybody here."""


def _problems(validator: Any, arguments: Mapping[str, Any]) -> str | None:
    from referencing.exceptions import Unresolvable

    try:
        errors = [error for error, _ in zip(validator.iter_errors(dict(arguments)), range(MAX_PROBLEMS), strict=False)]
    except (Unresolvable, RecursionError):
        return None
    return "; ".join(_problem(error) for error in errors) or None


def _problem(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path)) or "arguments"
    if error.validator in ("required", "additionalProperties"):  # these name arguments, not values
        return f"{where}: {error.message[:MAX_RULE]}"
    return f"{where}: has to satisfy {json.dumps({error.validator: error.validator_value}, default=str)[:MAX_RULE]}"
