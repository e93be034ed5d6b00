"""A small vocabulary for shapes: checks that say what is wrong in pydantic's words, as the Messages API does.

A check takes a value and its path and yields violations in the order of the shape's members, unknown members last. A
tagged value adds its tag to the path, so that a tool call without a name is reported as
`messages.1.content.0.tool_use.name: Field required`.

Words that no numbered rule of `docs/wire-rules.md` has are inferred, in the form of those that were reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.faults import Violation

Found = Iterator[Violation]
Check = Callable[[Any, str], Found]

_NOT_AN_OBJECT: Final = "Input should be a valid dictionary or object to extract fields from"


class Member(msgspec.Struct, frozen=True):
    """One member of a shape."""

    check: Check
    required: bool = False
    nullable: bool = False


def required(check: Check) -> Member:
    """Makes a required member."""
    return Member(check, required=True)


def optional(check: Check, *, nullable: bool = False) -> Member:
    """Makes an optional member; null is a value of the wrong type unless `nullable`."""
    return Member(check, nullable=nullable)


def ANY(_value: Any, _path: str) -> Found:
    """Accept everything."""
    return iter(())


def _typed(kind: type | tuple[type, ...], complaint: str) -> Check:
    def check(value: Any, path: str) -> Found:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            yield v.wrong(path, complaint)

    return check


TEXT: Final = _typed(str, "Input should be a valid string")
BOOLEAN: Final = _typed(bool, "Input should be a valid boolean")
OBJECT: Final = _typed(dict, "Input should be a valid dictionary")
_INTEGER: Final = _typed(int, "Input should be a valid integer")
_NUMBER: Final = _typed((int, float), "Input should be a valid number")


def number(low: float, high: float | None = None, *, whole: bool = True) -> Check:
    """Return the check of a number in its bounds, which are part of it."""

    def check(value: Any, path: str) -> Found:
        broken = list((_INTEGER if whole else _NUMBER)(value, path))
        yield from broken
        if not broken and value < low:
            yield v.wrong(path, f"Input should be greater than or equal to {low:g}")
        elif not broken and high is not None and value > high:
            yield v.wrong(path, f"Input should be less than or equal to {high:g}")

    return check


def pattern(expression: str) -> Check:
    """Return the check of a string that matches from end to end."""
    compiled = re.compile(expression.rstrip("$") + r"\Z")

    def check(value: Any, path: str) -> Found:
        if not isinstance(value, str):
            yield from TEXT(value, path)
        elif not compiled.match(value):
            yield v.bad_pattern(path, expression)

    return check


def literal(*values: str) -> Check:
    """Return the check of an enumeration."""
    named = [f"'{value}'" for value in values]
    told = " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)

    def check(value: Any, path: str) -> Found:
        if value not in values:
            yield v.wrong(path, f"Input should be {told}")

    return check


def each(check: Check) -> Check:
    """Return the check of a list."""

    def check_list(value: Any, path: str) -> Found:
        if not isinstance(value, list):
            yield v.wrong(path, "Input should be a valid list")
            return
        for index, item in enumerate(value):
            yield from check(item, f"{path}.{index}")

    return check_list


def text_or(check: Check) -> Check:
    """Return the check of a value that may be a plain string instead."""
    return lambda value, path: iter(()) if isinstance(value, str) else check(value, path)


def shape(members: Mapping[str, Member]) -> Check:
    """Return the check of an object with exactly these members."""

    def check(value: Any, path: str) -> Found:
        if not isinstance(value, dict):
            yield v.wrong(path, _NOT_AN_OBJECT)
            return
        yield from _check_members(members, value, f"{path}." if path else "")

    return check


def _check_members(members: Mapping[str, Member], value: dict[str, Any], prefix: str) -> Found:
    for name, member in members.items():
        if name in value:
            if not (member.nullable and value[name] is None):
                yield from member.check(value[name], prefix + name)
        elif member.required:
            yield v.missing(prefix + name)
    for name in value:
        if name not in members:
            yield v.unknown_member(prefix + name)


def tagged(variants: Mapping[str, Mapping[str, Member] | None], *, default: str | None = None) -> Check:
    """Return the check of an object whose `type` names a variant; the members of a variant None are not looked at."""
    checks = {
        tag: None if given is None else shape({"type": optional(ANY), **given}) for tag, given in variants.items()
    }

    def check(value: Any, path: str) -> Found:
        if not isinstance(value, dict):
            yield v.wrong(path, _NOT_AN_OBJECT)
            return
        tag = value.get("type", default)
        if tag is None:
            yield v.missing(f"{path}.type")
        elif not isinstance(tag, str) or tag not in checks:
            yield v.unknown_tag(path, tag, checks)
        elif (found := checks[tag]) is not None:
            yield from found(value, f"{path}.{tag}")

    return check
