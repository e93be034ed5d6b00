"""Finds what a JSON Schema says about a place in a value. Nothing is fetched or validated, and no schema is trusted."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from agui_gate.core.json_text import canonical

MAX_REFERENCES = 100
"""References and alternatives of one place that are followed."""

MAX_DEPTH = 64
"""Levels of nesting, as in `agui_gate.core.json_text`."""


def of_arguments(schema: Any) -> dict[str, Any]:
    """Returns a schema of a tool's arguments as providers want it: of an object, with properties, be it none.

    Frontends and MCP servers write `{}`, `null` or `{"type": "object"}` for a tool without arguments. Providers refuse
    a request for one such tool.
    """
    found: dict[str, Any] = schema if isinstance(schema, dict) else {}
    kind, properties = found.get("type"), found.get("properties")
    if kind is not None and properties is not None:
        return found
    return {**found, "type": kind or "object", "properties": properties or {}}


def kinds_of(place: Mapping[str, Any]) -> list[str]:
    """Returns the types that one part of a schema names."""
    kind = place.get("type", [])
    kinds = kind if isinstance(kind, list) else [kind]
    return [one for one in kinds if isinstance(one, str)]


def below(places: list[Mapping[str, Any]], step: str | int, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns what the schema says about a member or an item of what ``places`` are about."""
    found = (_inner(place, step) for place in alternatives(places, root))
    return [inner for inner in found if isinstance(inner, Mapping)]


def _inner(place: Mapping[str, Any], step: str | int) -> Any:
    if isinstance(step, str):
        properties = place.get("properties")
        known = isinstance(properties, Mapping) and step in properties
        return properties[step] if known and isinstance(properties, Mapping) else place.get("additionalProperties")
    first = place.get("prefixItems")
    return first[step] if isinstance(first, list) and step < len(first) else place.get("items")


def alternatives(places: list[Mapping[str, Any]], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields ``places`` with what they refer to, and all that they offer or ask for."""
    left = list(places)
    for _ in range(MAX_REFERENCES):
        if not left:
            return
        place = left.pop()
        yield place
        for key in ("anyOf", "oneOf", "allOf"):
            more = place.get(key)
            left += [one for one in more if isinstance(one, Mapping)] if isinstance(more, list) else []
        meant = target(place.get("$ref"), root)
        left += [meant] if meant is not None else []


def target(reference: Any, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns what a reference within the schema points at."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


def sets_in_order(value: Any, schema: Mapping[str, Any]) -> Any:
    """Returns ``value`` with the items of sets (``uniqueItems``) sorted: a set has another order in each process."""
    return _sorted_sets(value, [schema], schema)


def _sorted_sets(value: Any, places: list[Mapping[str, Any]], root: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: _sorted_sets(item, below(places, name, root), root) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    items = [_sorted_sets(item, below(places, i, root), root) for i, item in enumerate(value)]
    is_set = any(place.get("uniqueItems") is True for place in alternatives(places, root))
    return sorted(items, key=lambda item: canonical([item])) if is_set else items


def with_defaults(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns ``arguments`` with the defaults that ``schema`` names for what is missing, in objects within them too."""
    return _filled(schema, arguments, schema, MAX_DEPTH)


def _filled(place: Mapping[str, Any], given: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    whole = dict(given)
    rules = place.get("properties")
    for name, rule in rules.items() if isinstance(rules, Mapping) and depth else ():
        if not isinstance(rule, Mapping):
            continue
        if name not in whole and "default" in rule:
            whole[name] = deepcopy(rule["default"])
        elif isinstance(whole.get(name), Mapping):
            whole[name] = _filled(target(rule.get("$ref"), root) or rule, whole[name], root, depth - 1)
    return whole
