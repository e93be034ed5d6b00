"""Calls of tools, and what becomes of one that fails on the way: made again only where that can't do harm."""

from typing import TYPE_CHECKING, Any

from agui_gate import ToolContext, ToolError

from .errors import Lost, Trouble, Undelivered, Unusable
from .link import Link
from .progress import Progress
from .results import as_text
from .servers import Server, masked

if TYPE_CHECKING:
    from mcp_types import CallToolResult


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
        """A call that never arrived is made again once, over a new connection; one that was lost only if it may be."""
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
    """The error, with what it is about where a server wanted to ask and was told that nobody can be asked."""
    return f"{error} {ELICITS}" if "elicitation" in error.lower() else error


def _unknown(error: Lost, tool: str, *, again: bool = False) -> Lost:
    ran = "ran, and when it was run again" if again else "ran"
    then = "" if again else ", and it was not run again"
    return Lost(f"{error} while {tool} {ran}; whether it took effect is not known{then}; check before trying again")
