"""Makes a turn's request body from the transcript. Pure: the same transcript gives the same bytes (prompt caches)."""

from typing import Any

import msgspec

from agui_gate.adapter import NamedTool, ToolChoice, ToolSpec, TurnRequest
from agui_gate_adapters.common.output_schemas import strict_schema

from .machine import Paused
from .replay import Thinking, decide, replay, text_block
from .wire import Body

MAX_ROUNDS = 5
"""How often a turn that the provider paused is continued."""

_MARK = {"cache_control": {"type": "ephemeral"}}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_ALTERNATIVES = frozenset({"allOf", "anyOf", "oneOf"})


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of all turns of an adapter."""

    model: str
    origin: str
    max_tokens: int
    thinking: dict[str, Any] | None = None
    temperature: float | None = None
    cache: bool = True
    hosted_tools: tuple[dict[str, Any], ...] = ()

    @property
    def mode(self) -> str | None:
        """The `type` of thinking that is asked for; None if that is left to the model."""
        return str(self.thinking["type"]) if self.thinking else None


class Plan(msgspec.Struct, frozen=True):
    """The plan of a request. ``thinking``: the thinking in it; ``paused``: the turn that it continues."""

    request: TurnRequest
    settings: Settings
    thinking: Thinking
    paused: Paused | None = None

    @property
    def plain(self) -> bool:
        """Whether there is no thinking in it."""
        return self.thinking.off

    @property
    def may_pause(self) -> bool:
        """Whether the turn may be continued once more."""
        return self.paused is None or self.paused.rounds < MAX_ROUNDS

    @property
    def body(self) -> Body:
        """The request's body, made anew each time. It goes through the whole conversation."""
        made = _body(self.request, self.settings, self.thinking)
        return made if self.paused is None else made | {"messages": [*made["messages"], *self._said(self.paused)]}

    def _said(self, paused: Paused) -> list[Body]:
        """Returns the paused turn's content so far, unchanged."""
        content = [block for block in paused.content if not (self.plain and block["type"] in _THOUGHTS)]
        return [{"role": "assistant", "content": content}] if content else []


def plan(request: TurnRequest, settings: Settings, *, plain: bool = False, paused: Paused | None = None) -> Plan:
    """Plans the request for a turn; ``plain`` (the ladder's last step) leaves out all thinking."""
    off = plain or (_forces(request.tool_choice) and settings.mode not in (None, "disabled"))
    thinking = Thinking(off=True) if off else decide(request.transcript, settings.origin, settings.mode)
    return Plan(request, settings, thinking, paused)


def _body(request: TurnRequest, settings: Settings, thinking: Thinking) -> Body:
    said = replay(request.transcript, origin=settings.origin, kept=thinking.kept)
    body: Body = {
        "model": settings.model,
        "max_tokens": settings.max_tokens,
        "messages": said.messages,
        "stream": True,
    }
    instructions = text_block(request.instructions)
    system = [instructions, *said.system] if instructions else said.system
    if system:
        body["system"] = system
    body |= _tools(request, settings, said.names)
    if thinking.off:
        body["thinking"] = {"type": "disabled"}
    elif settings.thinking is not None:
        body["thinking"] = settings.thinking
    if request.output is not None:
        schema = strict_schema(request.output.schema, recursive=False)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.cache:
        _mark(body)
    return body


def _tools(request: TurnRequest, settings: Settings, called: list[str]) -> Body:
    """Returns the tools. Hosts that refuse calls in a history without tools get tools that may not be called."""
    known = [*settings.hosted_tools, *map(_tool, request.tools)]
    if known:
        return {"tools": known} | _choice(request.tool_choice)
    if not called:
        return {}
    past = [{"name": name, "description": "Not available any more.", "input_schema": _schema({})} for name in called]
    return {"tools": past, "tool_choice": {"type": "none"}}


def _forces(choice: ToolChoice | None) -> bool:
    """Whether the model has to call something: then it may not think ("Thinking may not be enabled when …")."""
    return choice is not None and choice != "none"


def _choice(choice: ToolChoice | None) -> Body:
    if choice is None:
        return {}
    if isinstance(choice, NamedTool):
        return {"tool_choice": {"type": "tool", "name": choice.name}}
    return {"tool_choice": {"type": "none" if choice == "none" else "any"}}


def _tool(tool: ToolSpec) -> Body:
    return {"name": tool.name, "description": tool.description, "input_schema": _schema(tool.parameters)}


def _schema(parameters: dict[str, Any]) -> Body:
    """Makes an object schema; alternatives at the top would be refused. What is left out is checked later."""
    kept = {name: value for name, value in parameters.items() if name not in _ALTERNATIVES}
    return {**kept, "type": "object"}


def _mark(body: Body) -> None:
    """Mark what a prompt cache may keep, in the four places there are: tools, system, the last two of the user.

    The last but one is where the turn before was marked, and so is found even after a turn of many blocks.
    """
    for name in ("tools", "system"):
        if name in body:
            body[name] = _marked(body[name])
    users = [message for message in body["messages"] if message["role"] == "user"]
    for message in users[-2:]:
        message["content"] = _marked(message["content"])


def _marked(blocks: list[Body]) -> list[Body]:
    return [*blocks[:-1], blocks[-1] | _MARK]
