"""A request that is not exactly as the specification has it, read member by member.

Theory of operation
-------------------
Two things are told apart that a schema can't tell apart:

* *Unknown*: a member, a role, a kind of part or source, or a status that this version has no name for. A newer or an
  extended client may well mean something by it. It goes unread, and the run goes on (PROC-2, IN-9). How much that is
  (PROC-3): a member by itself; of a list, the element; and a part with its source, since a part needs one.
* *Malformed*: a member that is known, with a value that it can't have. That is refused, with its path (PROC-1).

What is malformed depends on the generation. A client that declares 1.0 or newer is held to `request_shapes.py`. One
from before versions is held to `run_input.py` alone, as it always was. What is unknown is the same for both.

Objects that are open by meaning are not looked into: metadata, state, forwarded properties, parameters, payloads, the
content of activities (PROC-5). Members of the protocol may be spelled in snake_case (`member_names.py`).

`RunInput.unread` says what it was: the paths of the first `MOST_PATHS`, and how many there were (PROC-4).
A path has names of members, cut where they are long, and nothing else that a client wrote.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from agui_gate.errors import InvalidRequest
from agui_gate.protocol import part_shapes, run_input
from agui_gate.protocol import request_shapes as shapes
from agui_gate.protocol.dialects.base import declares_v1
from agui_gate.protocol.member_names import member, members_of, respelled
from agui_gate.protocol.run_input import RunInput, Unread, check_message, one_part

MOST_PATHS = 10
MOST_NAME = 60

Json = dict[str, Any]
Kind = type[msgspec.Struct]
T = TypeVar("T")


def _by_tag(*kinds: Kind) -> dict[str, Kind]:
    return {str(kind.__struct_config__.tag): kind for kind in kinds}


ROLES = _by_tag(
    shapes.UserShape, shapes.AssistantShape, shapes.ToolShape, shapes.SystemShape, shapes.DeveloperShape,
    shapes.ActivityShape, shapes.ReasoningShape,
)  # fmt: skip
MEDIA = _by_tag(part_shapes.ImageShape, part_shapes.AudioShape, part_shapes.VideoShape, part_shapes.DocumentShape)
PARTS = MEDIA | _by_tag(part_shapes.TextShape, part_shapes.BinaryShape)
SOURCES = _by_tag(part_shapes.DataShape, part_shapes.UrlShape, part_shapes.FileShape)
STATUSES = ("resolved", "cancelled")


def read(sent: Any) -> RunInput:
    """Returns a request from its JSON. Raises `InvalidRequest`, naming the path."""
    if not isinstance(sent, dict):
        raise wrong("Expected `object`", "")
    version = member(sent, "protocolVersion", "protocol_version")
    if not isinstance(version, str | None):
        raise wrong("Expected `str`", "protocolVersion")
    return _Reader(declares_v1(version)).run(sent)


def malformed(error: msgspec.ValidationError, path: str) -> InvalidRequest:
    """Returns the refusal of what msgspec refuses in the value at ``path``; without the value that it may cite."""
    text, _, place = str(error).partition(" - at `$")
    where = (path + place.removesuffix("`")).removeprefix(".")
    return wrong("Unexpected value" if text.startswith("Invalid ") else text, where)


def wrong(what: str, path: str) -> InvalidRequest:
    """Returns the refusal of the value at ``path``."""
    return InvalidRequest(f"Not a RunAgentInput: {what} - at `${'.' * bool(path)}{path}`", well_formed=True)


class _Reader:
    """Reads one request. ``exact``: by the shapes of 1.x, else by what clients from before versions may send."""

    def __init__(self, exact: bool) -> None:
        self._exact = exact
        self._paths: list[str] = []
        self._number = 0

    def run(self, sent: Json) -> RunInput:
        top = self._members(sent, shapes.InputShape, "")
        lists: Mapping[str, list[Any]] = {
            name: top[name] for name in ("messages", "tools", "context", "resume") if isinstance(top.get(name), list)
        }
        run = self._as(top | {name: [] for name in lists}, shapes.InputShape, RunInput, "")
        elements = {
            "messages": self._elements(lists.get("messages"), self._message, "messages"),
            "tools": self._elements(lists.get("tools"), self._tool, "tools"),
            "context": self._elements(lists.get("context"), self._context, "context"),
            "resume": self._elements(lists.get("resume"), self._answer, "resume"),
        }
        unread = Unread(tuple(self._paths), self._number) if self._number else None
        kept = {field: getattr(run, field) for field in RunInput.__struct_fields__}
        return RunInput(**(kept | elements | {"unread": unread}))

    def _message(self, sent: Any, path: str) -> run_input.Message | None:
        shape = self._kind(sent, "role", ROLES, path)
        if shape is None:
            return None
        said = self._members(sent, shape, path)
        if isinstance(said.get("content"), list) and (not self._exact or shape in (shapes.UserShape, shapes.ToolShape)):
            said["content"] = self._elements(said["content"], self._part, f"{path}.content")
        if isinstance(said.get("toolCalls"), list):
            said["toolCalls"] = self._elements(said["toolCalls"], self._call, f"{path}.toolCalls")
        message = self._as(said, shape, run_input.Message, path)
        check_message(message, path)
        return message

    def _call(self, sent: Any, path: str) -> Any:
        if not isinstance(sent, dict):
            raise wrong("Expected `object`", path)
        call = self._members(sent, shapes.CallShape, path)
        if isinstance(call.get("function"), dict):
            call["function"] = self._members(call["function"], shapes.FunctionShape, f"{path}.function")
        return call

    def _part(self, sent: Any, path: str) -> Any:
        shape = self._kind(sent, "type", PARTS, path)
        if shape is None:
            return None
        part = self._members(sent, shape, path)
        if shape.__struct_config__.tag in MEDIA and isinstance(part.get("source"), dict):
            source = self._kind(part["source"], "type", SOURCES, f"{path}.source")
            if source is None:
                return None
            part["source"] = self._members(part["source"], source, f"{path}.source")
        if self._exact:
            _converted(part, shape, path)
        try:
            one_part(part)
        except InvalidRequest as error:
            raise InvalidRequest(f"{path}: {error.message}", well_formed=True) from None
        return part

    def _tool(self, sent: Any, path: str) -> run_input.ClientTool:
        shape = shapes.FrontendToolShape
        return self._as(self._members(sent, shape, path), shape, run_input.ClientTool, path)

    def _context(self, sent: Any, path: str) -> run_input.ContextItem:
        return self._as(
            self._members(sent, shapes.ContextShape, path), shapes.ContextShape, run_input.ContextItem, path
        )

    def _answer(self, sent: Any, path: str) -> run_input.ResumeEntry | None:
        entry = self._members(sent, shapes.ResumeShape, path)
        status = entry.get("status") if isinstance(entry, dict) else None
        if isinstance(status, str) and status not in STATUSES:
            self._skip(path, "status")
            return None
        return self._as(entry, shapes.ResumeShape, run_input.ResumeEntry, path)

    def _members(self, sent: Any, shape: Kind, path: str) -> Any:
        """Returns ``sent`` with the members that ``shape`` has, by their own names. What is no object is left as it
        is.
        """
        members = members_of(shape)
        if not isinstance(sent, dict) or sent.keys() <= members.names:
            return sent
        unknown = sent.keys() - members.names - members.spellings.keys()
        for name in [name for name in sent if name in unknown]:
            if self._exact or sent[name] is not None:  # before versions, null stands for absent
                self._skip(path, name)
        return respelled(sent, members)

    def _kind(self, sent: Any, name: str, kinds: Mapping[str, Kind], path: str) -> Kind | None:
        """Returns the shape that ``sent`` says it has; None if that is an unknown one, which goes unread."""
        if not isinstance(sent, dict):
            raise wrong("Expected `object`", path)
        said = sent.get(name)
        if not isinstance(said, str):
            raise wrong("Expected `str`", f"{path}.{name}")
        found = kinds.get(said)
        if found is None:
            self._skip(path, name)
        return found

    def _elements(self, sent: Sequence[Any] | None, one: Callable[[Any, str], T | None], path: str) -> list[T] | None:
        if sent is None:
            return None
        found = [one(element, f"{path}[{place}]") for place, element in enumerate(sent)]
        return [element for element in found if element is not None]

    def _as(self, value: Any, shape: type[Any], lenient: type[T], path: str) -> T:
        found: T = _converted(value, shape if self._exact else lenient, path)
        return found

    def _skip(self, path: str, name: str) -> None:
        self._number += 1
        if self._number <= MOST_PATHS:
            self._paths.append(f"{path}.{name[:MOST_NAME]}".removeprefix("."))


def _converted(value: Any, kind: type[T], path: str) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise malformed(error, path) from None
