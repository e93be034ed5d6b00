"""Signatures of tools that are made once: tests make thousands of tools, most of them with the same few signatures.

To make one is to make a model of pydantic and its JSON Schema, which takes longer than many a run. Parameters are the
same if their names, their types and their defaults are; what can't be compared is made anew.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from agui_gate.agents.signature import Signature

MOST = 500
"""Signatures that are kept."""

_kept: dict[Hashable, Any] = {}


def keep() -> None:
    """From now on a signature that was made, or found fit for a gate, is not made or looked at again."""
    make = Signature.of.__func__  # type: ignore[attr-defined]
    check = Signature.check_shown

    def of(cls: type[Signature], name: str, fn: Callable[..., Any], injected: type) -> Any:
        signature, context = make(_Plain, name, fn, injected)
        key = ("made", name, *_same(signature.fields))
        return _once(key, lambda: cls(name, signature.fields)), context

    def check_shown(self: Signature) -> None:
        _once(("fit", self), lambda: check(self))

    Signature.of = classmethod(of)  # type: ignore[assignment, method-assign]
    Signature.check_shown = check_shown  # type: ignore[method-assign]


class _Plain:
    """The parameters of a function, of which no model is made yet."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.fields = fields


def _same(fields: Mapping[str, Any]) -> list[Any]:
    return [(name, kind, default, type(default), repr(default)) for name, (kind, default) in fields.items()]


def _once(key: Hashable, make: Callable[[], Any]) -> Any:
    """What ``make`` made for this key before. What raises is not kept."""
    try:
        if key in _kept:
            return _kept[key]
    except TypeError:  # a default, or a part of a type, that has no hash
        return make()
    if len(_kept) == MOST:
        _kept.clear()
    made = _kept[key] = make()
    return made
