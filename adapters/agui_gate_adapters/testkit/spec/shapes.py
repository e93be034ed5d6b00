"""The closed shapes of events and their members (``shapes.toml``), their faults, and the rules broken."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from agui_gate_adapters.testkit.spec.rules import Breach, Strength

Path = tuple[str | int, ...]
Kind = Literal["unknown", "missing", "null", "malformed"]

MOST = 2**53 - 1
"""The largest integer that every reader of JSON keeps."""

RUN_SCOPED = ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT")
"""Events that belong to no subagent."""

_POINTER = re.compile(r"(/([^/~]|~[01])*)*")
_TOLD = tomllib.loads(files(__package__).joinpath("shapes.toml").read_text(encoding="utf-8"))

EVENTS = tuple(_TOLD["events"])
"""The 31 types of events."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, and its place in the event."""

    path: Path
    kind: Kind
    sentence: str


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: its type, and whether it has to be there."""

    type: str
    required: bool


def faults(event: Mapping[str, Any]) -> Iterator[Fault]:
    """Finds everything that the schema doesn't allow in an event of a known type."""
    yield from _object(event, _event(event["type"]), ())


def misfits(value: object, shape: str) -> Iterator[Fault]:
    """Finds what the schema doesn't allow in a value of a named shape, such as `Input` or `Message`."""
    yield from _fits(value, shape, ())


def shown(path: Path) -> str:
    """Formats a path as people write it: `outcome.interrupts[0].id`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


@cache
def _event(kind: str) -> dict[str, Member]:
    owner = {} if kind in RUN_SCOPED else {"subagentRunId": Member("string", False)}
    return {**_members(_TOLD["objects"]["Event"]), **owner, **_members(_TOLD["events"][kind])}


@cache
def _members(line: str) -> dict[str, Member]:
    pairs = (member.split(":", 1) for member in line.split())
    return {name.rstrip("?"): Member(kind, not name.endswith("?")) for name, kind in pairs}


def _object(value: Mapping[str, Any], members: Mapping[str, Member], path: Path) -> Iterator[Fault]:
    for name in value.keys() - members.keys():
        yield Fault((*path, name), "unknown", f"`{shown((*path, name))}` is not described by the schema")
    for name, member in members.items():
        here = (*path, name)
        if name not in value:
            if member.required:
                yield Fault(here, "missing", f"`{shown(here)}` is missing")
        elif value[name] is None and not (member.required and member.type == "any"):
            yield Fault(here, "null", f"`{shown(here)}` is null; a member without a value must be omitted")
        else:
            yield from _fits(value[name], member.type, here)


def _fits(value: object, kind: str, path: Path) -> Iterator[Fault]:
    if "/" in kind:
        one, many = kind.split("/")
        kind = many if isinstance(value, list) else one
    if kind.startswith("["):
        yield from _list(value, kind, path)
    elif kind in _TOLD["unions"]:
        yield from _union(value, _TOLD["unions"][kind], path)
    elif kind in _TOLD["objects"]:
        if isinstance(value, dict):
            yield from _object(value, _members(_TOLD["objects"][kind]), path)
        else:
            yield _malformed(path, "an object")
    elif wanted := _plain(value, kind):
        yield _malformed(path, wanted)


def _list(value: object, kind: str, path: Path) -> Iterator[Fault]:
    inner = kind.rstrip("+")[1:-1]
    if not isinstance(value, list) or (kind.endswith("+") and not value):
        yield _malformed(path, "a list with an element at least" if kind.endswith("+") else "a list")
        return
    for place, element in enumerate(value):
        yield from _fits(element, inner, (*path, place))


def _union(value: object, union: Mapping[str, str], path: Path) -> Iterator[Fault]:
    by = union["by"]
    known = [name for name in union if name not in ("by", "every")]
    if not isinstance(value, dict):
        yield _malformed(path, "an object")
    elif by not in value:
        yield Fault((*path, by), "missing", f"`{shown((*path, by))}` is missing")
    elif value[by] not in known:
        yield _malformed((*path, by), f"one of {', '.join(known)}")
    else:
        members = {by: Member("any", True), **_members(union.get("every", "")), **_members(union[value[by]])}
        yield from _object(value, members, path)


def _plain(value: object, kind: str) -> str | None:
    """Finds what a value should be and isn't."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    whole = value if number and isinstance(value, int | float) and abs(value) <= MOST else None
    match kind:
        case "string":
            return None if isinstance(value, str) else "a string"
        case "integer":
            return None if whole is not None else "an integer of 53 bits at most"
        case "count":
            return None if whole is not None and whole >= 0 else "an integer that is not negative"
        case "boolean":
            return None if isinstance(value, bool) else "true or false"
        case "object":
            return None if isinstance(value, dict) else "an object"
        case "pointer":
            return None if isinstance(value, str) and _POINTER.fullmatch(value) else "a JSON Pointer"
        case "any":
            return None
    words = kind[1:].split("|")
    return None if value in words else f"one of {', '.join(words)}" if len(words) > 1 else f'"{words[0]}"'


def _malformed(path: Path, wanted: str) -> Fault:
    return Fault(path, "malformed", f"`{shown(path)}` is not {wanted}")


BY_PLACE = {
    "RUN_FINISHED.outcome": "LIFE-2",
    "RUN_FINISHED.usage": "USE-3",
    "RUN_ERROR.usage": "USE-3",
    "RUN_ERROR": "LIFE-6",
    "RUN_STARTED.protocolVersion": "VER-1",
    "RUN_STARTED.input": "IN-10",
    "RUN_STARTED": "IN-1",
    "RUN_FINISHED.threadId": "IN-1",
    "RUN_FINISHED.runId": "IN-1",
    "TEXT_MESSAGE_START.role": "TEXT-1",
    "TEXT_MESSAGE_CHUNK.role": "TEXT-1",
    "TOOL_CALL_RESULT": "TOOL-2",
    "STATE_DELTA": "SNAP-2",
    "ACTIVITY_DELTA.patch": "SNAP-2",
    "ACTIVITY_DELTA": "ACT-1",
    "ACTIVITY_SNAPSHOT": "ACT-1",
    "REASONING_MESSAGE_START.role": "REAS-1",
    "REASONING_ENCRYPTED_VALUE": "REAS-2",
    "STEP_STARTED": "LIFE-9",
    "STEP_FINISHED": "LIFE-9",
    "SUBAGENT_STARTED": "SUB-2",
    "SUBAGENT_FINISHED": "SUB-3",
    "SUBAGENT_ERROR": "SUB-3",
    "CUSTOM": "PASS-1",
    "RAW": "PASS-1",
}
"""By type and member, else by type alone. What is not here is the schema's business at large."""


def breach(kind: str, fault: Fault) -> Breach:
    """Returns the rule that a fault in an event of this type breaks. What the schema demands is always a MUST."""
    strength: Strength = "MUST"
    return Breach(_rule(kind, fault), f"{kind}: {fault.sentence}", strength)


def _rule(kind: str, fault: Fault) -> str:
    top, last = str(fault.path[0]), fault.path[-1]
    if kind in RUN_SCOPED and fault.path == ("subagentRunId",):
        return "EVT-6"
    if fault.kind == "null":
        return "EVT-2"
    if fault.kind == "unknown" and len(fault.path) == 1:
        return "EVT-1"
    if fault.path == ("timestamp",):
        return "EVT-3"
    if last == "metadata":
        return "META-1"
    if fault.path[:2] == ("outcome", "interrupts"):
        return "INT-1"
    return BY_PLACE.get(f"{kind}.{top}") or BY_PLACE.get(kind) or "GEN-1"
