"""Functions that run here when an agent elsewhere calls them."""

import asyncio
import logging

import msgspec

from agui_gate.agents.tool import Tool
from agui_gate.client.events import Json
from agui_gate.core.json_text import parse_object
from agui_gate.errors import ToolError

TIMEOUT = 300.0
"""Seconds, for tools that set none."""

log = logging.getLogger("agui_gate.client")


async def result_of(tool: Tool, call: Json) -> Json:
    """Returns the members of the tool message that answers the call. Never raises, except for cancellation.

    A gate means nothing here: nobody can be asked. A function that wants a `ToolContext` can't be called either.
    """
    name = call["function"]["name"]
    arguments = parse_object(call["function"]["arguments"] or "{}")
    if tool.gate is not None:
        return _failed(f"{name} needs an approval, and there is nobody to ask here.")
    if arguments is None:
        return _failed(f"The arguments of {name} are not a JSON object.")
    limit = tool.timeout or TIMEOUT
    try:
        async with asyncio.timeout(limit):
            kwargs = tool.validate(arguments)
            value = await (tool.fn(**kwargs) if tool.is_async else asyncio.to_thread(tool.fn, **kwargs))
        return {"content": _as_text(value)}
    except ToolError as error:
        return _failed(error.message)
    except TimeoutError:
        return _failed(f"{name} did not finish within {limit:g} seconds.")
    except Exception as error:  # whatever a function raises ends its call, not the conversation
        log.exception("the tool %s failed", name)
        return _failed(f"{name} failed: {type(error).__name__}.")


def _failed(message: str) -> Json:
    return {"content": message, "error": message}


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        from pydantic_core import to_json

        return to_json(value, fallback=str).decode()
