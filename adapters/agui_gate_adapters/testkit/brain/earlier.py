"""What a request's instructions say of calls that ran in answers which were replaced: one line each."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from agui_gate_adapters.testkit.brain.arguments import units_of
from agui_gate_adapters.testkit.brain.intents import is_lookup
from agui_gate_adapters.testkit.brain.plan import Call
from agui_gate_adapters.testkit.brain.results import Result, parse_output
from agui_gate_adapters.testkit.wire import Json

__all__ = ["ran_before"]

_LINE: Final = re.compile(r'^- ([\w.-]+) (\{.*?\}) gave ("(?:[^"\\]|\\.)*")', re.MULTILINE)


def ran_before(body: Json, tools: list[Json]) -> list[Result]:
    """Return those calls with what came of them, lookups first: what they found is older than what was done then.

    A line that is cut or is something else is skipped.
    """
    units = {str(tool.get("name")): units_of(tool) for tool in tools}
    lines = _LINE.finditer(str(body.get("instructions") or ""))
    found = (
        _result(name, arguments, output, units.get(name, {})) for name, arguments, output in (m.groups() for m in lines)
    )
    known = [result for result in found if result is not None]
    return sorted(known, key=lambda result: not is_lookup({"name": result.call.name}))


def _result(name: str, arguments: str, output: str, units: dict[str, str]) -> Result | None:
    try:
        given, told = msgspec.json.decode(arguments), msgspec.json.decode(output, type=str)
    except msgspec.DecodeError:
        return None
    return parse_output(Call(name, given, units), told) if isinstance(given, dict) else None
