"""One turn's request body. Pure: everything is sent by value, every time, since the provider remembers nothing."""

import msgspec

from agui_gate.adapter import NamedTool, ToolChoice, ToolSpec, TurnRequest
from agui_gate_adapters.common.output_schemas import strict_schema

from .messages import messages
from .profiles import Profile
from .wire import Body


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for every turn of an adapter."""

    model: str
    origin: str
    profile: Profile
    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None


def body(request: TurnRequest, settings: Settings) -> Body:
    """The request for a turn."""
    profile = settings.profile
    made: Body = {
        "model": settings.model,
        "messages": messages(request.transcript, request.instructions, profile, settings.origin),
        "stream": True,
    }
    if profile.stream_usage:
        made["stream_options"] = {"include_usage": True}
    if request.tools:
        made["tools"] = [_tool(tool, profile) for tool in request.tools]
        if profile.parallel_tool_calls is not None:
            made["parallel_tool_calls"] = profile.parallel_tool_calls
        made |= _choice(request.tool_choice, profile, alone=len(request.tools) == 1)
    if request.output is not None:
        told = {"name": request.output.name, "schema": strict_schema(request.output.schema), "strict": True}
        made["response_format"] = {"type": "json_schema", "json_schema": told}
    options = {
        profile.max_tokens: settings.max_output_tokens,
        "temperature": settings.temperature,
        "reasoning_effort": settings.reasoning_effort,
    }
    return made | {name: value for name, value in options.items() if value is not None}


def _choice(choice: ToolChoice | None, profile: Profile, *, alone: bool) -> Body:
    """The choice, in what the server understands of it. ``alone``: there is one tool, so `required` means that one."""
    if choice is None or (profile.forces == "nothing" and choice != "none"):
        return {}
    if not isinstance(choice, NamedTool):
        return {"tool_choice": choice}
    if profile.forces == "named":
        return {"tool_choice": {"type": "function", "function": {"name": choice.name}}}
    return {"tool_choice": "required"} if alone else {}


def _tool(tool: ToolSpec, profile: Profile) -> Body:
    function: Body = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if profile.strict is not None:
        function["strict"] = profile.strict
    return {"type": "function", "function": function}
