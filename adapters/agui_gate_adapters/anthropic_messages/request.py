"""Makes a turn's request body from the transcript. Pure: the same transcript gives the same bytes (prompt caches)."""

from collections.abc import Sequence
from typing import Any

import msgspec

from agui_gate.adapter import NamedTool, ToolChoice, ToolSpec, TurnRequest
from agui_gate_adapters.common.large_requests import Items, Turns, replayed
from agui_gate_adapters.common.output_schemas import strict_schema

from .machine import Paused
from .replay import State, Thinking, decide, ends, replay, text_block
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
    def name(self) -> str:
        """The name under which what is made of the history stays with its thread; "" if nothing does."""
        return _history_name(self.settings, self.thinking)

    @property
    def body(self) -> Body:
        """The request's body, made anew each time. It goes through the whole conversation."""
        return _body(self.request, self.settings, self.thinking, [] if self.paused is None else self._said(self.paused))

    def _said(self, paused: Paused) -> list[Body]:
        """Returns the paused turn's content so far, unchanged."""
        content = [block for block in paused.content if not (self.plain and block["type"] in _THOUGHTS)]
        return [{"role": "assistant", "content": content}] if content else []


def plan(request: TurnRequest, settings: Settings, *, plain: bool = False, paused: Paused | None = None) -> Plan:
    """Plans the request for a turn; ``plain`` (the ladder's last step) leaves out all thinking."""
    off = plain or (_forces(request.tool_choice) and settings.mode not in (None, "disabled"))
    thinking = Thinking(off=True) if off else decide(request.transcript, settings.origin, settings.mode)
    return Plan(request, settings, thinking, paused)


def _body(request: TurnRequest, settings: Settings, thinking: Thinking, more: list[Body]) -> Body:
    messages, said = _messages(request, settings, thinking, more)
    body: Body = {
        "model": settings.model,
        "max_tokens": settings.max_tokens,
        "messages": messages,
        "stream": True,
    }
    instructions = text_block(request.instructions)
    system = [instructions, *said.system] if instructions else [*said.system]
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
    if settings.cache:  # here and in `_ends`: what a prompt cache may keep, in the four places there are
        for name in ("tools", "system"):
            if name in body:
                body[name] = _marked(body[name])
    return body


def _history_name(settings: Settings, thinking: Thinking) -> str:
    """Returns the name for `replayed`. Where thinking is brought back nothing is kept of it: it is left out later."""
    return "" if thinking.kept else f"messages {settings.origin}"


def _messages(
    request: TurnRequest, settings: Settings, thinking: Thinking, more: list[Body]
) -> tuple[list[Body] | Items, State]:
    """Returns the messages, with ``more`` behind them, and the state of the replay behind the last turn."""
    final = State()

    def turns_after(turns: Turns, state: State) -> tuple[list[Body], State]:
        return replay(turns, state, origin=settings.origin)

    def ends_of(state: State) -> tuple[list[Body], list[Body]]:
        nonlocal final
        final = state
        first, last = _ends(state, mark=settings.cache)
        return first, [*last, *more]

    if name := _history_name(settings, thinking):
        messages = replayed(request, name, final, turns_after, ends_of)
        return messages, final
    made, state = replay(request.transcript, final, origin=settings.origin, kept=thinking.kept)
    first, last = ends_of(state)
    return [*first, *made, *last], final


def _ends(state: State, *, mark: bool) -> tuple[list[Body], list[Body]]:
    """Returns the messages before and behind those that stay, with marks for a prompt cache in the last two of the
    user's.

    The last but one is where the turn before was marked, and so is found even after a turn of many blocks.
    """
    first, last = ends(state)
    if not mark:
        return first, last
    users = [id(message) for message in (*first, *last) if message["role"] == "user"][-2:]
    marked = [
        [{**one, "content": _marked(one["content"])} if id(one) in users else one for one in part]
        for part in (first, last)
    ]
    return marked[0], marked[1]


def _tools(request: TurnRequest, settings: Settings, called: Sequence[str]) -> Body:
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


def _marked(blocks: list[Body]) -> list[Body]:
    return [*blocks[:-1], blocks[-1] | _MARK]
