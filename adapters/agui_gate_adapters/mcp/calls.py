"""Calls tools, and repeats calls that failed on the way only where that can't do harm."""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agui_gate import ToolContext, ToolError

from .errors import Lost, Trouble, Undelivered, Unusable
from .link import Link
from .servers import Server, masked

if TYPE_CHECKING:
    from mcp_types import CallToolResult


# A server's progress notifications as an activity on the page.

KIND = "progress"
SECONDS_BETWEEN = 0.05
"""Updates that come sooner are left out, other than the last: a page shows no more, and its journal is bounded."""

MAX_MESSAGE = 500


class Progress:
    """The SDK calls it with each notification. ``over`` is set when the call is: what comes then is late."""

    def __init__(self, tool: str, context: ToolContext) -> None:
        self._tool, self._context = tool, context
        self._shown = float("-inf")
        self.over = False

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Show how far the tool is."""
        now = time.monotonic()
        complete = total is not None and progress >= total
        if self.over or (now - self._shown < SECONDS_BETWEEN and not complete):
            return
        self._shown = now
        content: dict[str, Any] = {"tool": self._tool, "done": progress}
        if total is not None:
            content["total"] = total
        if message:
            content["message"] = message[:MAX_MESSAGE]
        await self._context.activity(KIND, content)


# A tool's result as the one text that the model, the user and the record get. Pure.
#
# Text stays as it is. MCP asks servers to send structured content as text too, so the same may come twice; it is told
# once. Structured content that a text says already, or that only wraps it (``{"content": …}``, ``{"result": …}``), is
# left out. Text that the structured content repeats among other things is left out instead. Else both are told. Media
# and resources are named with their type, size and address: their bytes are for no model's text.

MAX_RESULT = 256 * 1024
"""Characters of a result that are kept."""


def as_text(result: "CallToolResult", limit: int = MAX_RESULT) -> str:
    """Returns the result as text of at most ``limit`` characters, with a note about what was cut."""
    text = "\n".join(part for part in _parts(result) if part)
    return text if len(text) <= limit else f"{text[:limit]}… (cut)"


def _parts(result: "CallToolResult") -> list[str]:
    parts, structured = [_part(content) for content in result.content], result.structured_content
    texts = [_ways(content.text) for content in result.content if content.type == "text" and content.text]
    if structured is None or _is_said(structured, texts, result.content):
        return parts
    among = {_canonical(value) for value in structured.values()} if isinstance(structured, dict) else set()
    if texts and all(ways & among for ways in texts):
        parts = [part for content, part in zip(result.content, parts, strict=True) if content.type != "text"]
    return [*parts, json.dumps(structured, ensure_ascii=False, separators=(",", ":"))]


def _is_said(structured: Any, texts: Sequence[frozenset[str]], content: Sequence[Any]) -> bool:
    """Whether the content is the structured content in other words: its JSON, or the single value that it wraps."""
    wrapped = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured
    pieces = wrapped if isinstance(wrapped, list) and len(wrapped) == len(texts) else ()
    if pieces and all(_canonical(piece) in ways for piece, ways in zip(pieces, texts, strict=True)):
        return True
    if content and wrapped == [part.model_dump(by_alias=True, exclude_none=True) for part in content]:
        return True
    values = {_canonical(structured), _canonical(wrapped)}
    return any(ways & values for ways in texts)


def _ways(text: str) -> frozenset[str]:
    """Returns what a text can mean: itself, and the JSON value that it is, if it is one."""
    try:
        return frozenset((_canonical(text), _canonical(json.loads(text))))
    except (ValueError, RecursionError):
        return frozenset((_canonical(text),))


def _canonical(value: Any) -> str:
    """Encodes a value for comparison: in Python, 1 equals True."""
    return json.dumps(value, sort_keys=True)


def _part(content: Any) -> str:
    match content.type:
        case "text":
            return str(content.text)
        case "image" | "audio":
            return f"[{content.type}: {content.mime_type}, {_bytes(content.data)}]"
        case "resource_link":
            about = [content.title or content.name, content.uri, content.mime_type, content.description]
            return f"[resource: {', '.join(str(said) for said in about if said)}]"
        case "resource":
            return _resource(content.resource)
        case other:
            return f"[{other}]"


def _resource(resource: Any) -> str:
    kind = f", {resource.mime_type}" if resource.mime_type else ""
    if (text := getattr(resource, "text", None)) is not None:
        return f"[resource: {resource.uri}{kind}]\n{text}"
    return f"[resource: {resource.uri}{kind}, {_bytes(resource.blob)}]"


def _bytes(base64: str) -> str:
    """Returns the number of bytes that base64 text stands for."""
    size = len(base64) * 3 // 4 - base64[-2:].count("=")
    return f"{size:,} bytes"


class Calls:
    """Calls over ``link`` to the server that people know as ``name``. Results are cut at ``max_result`` characters."""

    def __init__(self, link: Link, server: Server, name: str, max_result: int) -> None:
        self._link, self._server, self._name, self._max_result = link, server, name, max_result

    async def call(self, tool: str, arguments: dict[str, Any], context: ToolContext, *, twice: bool) -> str:
        """Run a tool; ``twice`` says that it may be run again when the connection broke while it ran.

        Raises `ToolError`, in words that say whether it may have taken effect. Cancelling cancels it at the server.
        """
        progress = Progress(tool, context)
        try:
            result = await self._delivered(tool, arguments, progress, twice)
        except Trouble as error:
            raise ToolError(_explained(f"{tool}: {self._name} {error}.")) from None
        finally:
            progress.over = True
        text = as_text(result, self._max_result)
        if result.is_error:
            raise ToolError(_explained(masked(text, self._server)) or f"{tool} failed.")
        return text

    async def _delivered(
        self, tool: str, arguments: dict[str, Any], progress: Progress, twice: bool
    ) -> "CallToolResult":
        """Repeats a call once, over a new connection, if it never arrived, or was lost and may run twice."""
        lost: Lost | None = None
        try:
            return await self._once(tool, arguments, progress)
        except Undelivered:
            pass
        except Lost as error:
            lost = error
            if not twice:
                raise _unknown(error, tool) from None
        try:
            return await self._once(tool, arguments, progress)
        except Undelivered as error:
            if lost is not None:
                raise Lost(f"{lost} while {tool} ran, and then {error}; it may be run again later") from None
            raise Undelivered(f"{error}; the call could not be made, try it again later") from None
        except Lost as error:
            raise _unknown(error, tool, again=lost is not None) from None

    async def _once(self, tool: str, arguments: dict[str, Any], progress: Progress) -> "CallToolResult":
        try:
            connection = await self._link.connection()
        except Unusable as error:
            raise Undelivered(str(error)) from None
        try:
            return await connection.call(tool, arguments, progress)
        except (Undelivered, Lost):
            self._link.drop(connection)
            raise


ELICITS = (
    "This tool asks a person something while it runs (MCP elicitation). agui-gate doesn't support that: "
    "pass what it asks for as an argument, and let people decide before it runs, by a gate."
)


def _explained(error: str) -> str:
    """Returns the error, with an explanation where a server requested elicitation."""
    return f"{error} {ELICITS}" if "elicitation" in error.lower() else error


def _unknown(error: Lost, tool: str, *, again: bool = False) -> Lost:
    ran = "ran, and when it was run again" if again else "ran"
    then = "" if again else ", and it was not run again"
    return Lost(f"{error} while {tool} {ran}; whether it took effect is not known{then}; check before trying again")
