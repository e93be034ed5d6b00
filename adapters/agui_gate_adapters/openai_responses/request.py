"""One turn's request body, from the transcript and what the provider already has. Pure.

A *continuation* sends only what is new: the outputs of the calls of the last known turn, then the newer messages. It
never sends anything that the provider issued itself (S13, S14). It is possible only if nothing else is new. In every
other case the whole history goes (S15), and then without any continuation id (S18). A new conversation may begin with
messages, but not with calls: the rule looks at the request, not at where an item came from (S16). A thread that has
calls when it needs a new conversation, or whose conversation is lost, goes on from response to response instead.

A person's approval of what the provider holds (`replay.approval_responses`) goes with a continuation, or, in stateless
mode, with the whole history. Where the provider's memory was to be used and can't be, what it asked about is gone:
`ConsentLost`.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal

import msgspec

from agui_gate.adapter import (
    AssistantTurn,
    ConversationRef,
    NamedTool,
    SettledCall,
    ToolChoice,
    ToolSpec,
    Transcript,
    TurnRequest,
    UserTurn,
)
from agui_gate.errors import ConsentLost
from agui_gate_adapters.common.decisions import output_text
from agui_gate_adapters.common.large_requests import AT_ONCE, MANY, Items, Turns, new_turns, replayed
from agui_gate_adapters.common.output_schemas import strict_schema

from .replay import approval_responses, approves_calls, held_calls, output, replay, result, user_message, written
from .wire import Body

Mode = Literal["chain", "conversation", "stateless"]

MAX_AGE_MS = 29 * 24 * 3600 * 1000
"""Responses are kept "at least 30 days"; a day is left for clocks and slow people."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for every turn of an adapter."""

    model: str
    mode: Mode
    origin: str
    newest_sealed_only: bool = False
    """Azure refuses sealed reasoning of more than one turn ("Conflicting authenticated continuation identities")."""
    hosted_tools: tuple[Body, ...] = ()
    output_window_ms: int | None = None
    """How long a response waits for the outputs of its calls, where that is limited (Foundry)."""
    reasoning: dict[str, Any] | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None


class Shape(Enum):
    """How the history travels."""

    CONTINUED = "continued"
    SEALED = "sealed"
    """Everything, with the sealed reasoning of our own turns (stateless)."""
    PLAIN = "plain"
    """Everything, by value."""


class Plan(msgspec.Struct, frozen=True):
    """How a turn is asked. ``conversation_id`` is what it continues; "" asks for a new conversation.

    ``request`` has what is told: of a continuation, the turn that it stands on and the messages since. ``ref`` is what
    a continuation continues. ``agrees``: it tells the provider to run something that it held. ``instead``: it is sent
    in place of a continuation that was refused, so if it is taken, nothing is continued there.
    """

    request: TurnRequest
    settings: Settings
    shape: Shape
    conversation_id: str | None = None
    agrees: bool = False
    instead: bool = False

    @property
    def continues_response(self) -> bool:
        """Whether it continues a response by its id."""
        return self.shape is Shape.CONTINUED and self.conversation_id is None

    @property
    def name(self) -> str:
        """The name under which what is made of the history stays with its thread."""
        return f"{self.settings.origin} {self.shape is Shape.SEALED}"

    @property
    def body(self) -> Body:
        """The request's body but for its conversation, made anew each time. It goes through all that is told."""
        body = _common(self.request, self.settings)
        if self.shape is Shape.CONTINUED:
            body["input"] = _new_items(self.request.transcript)
        else:
            body["input"] = _all_items(self.request, self.settings, self.name, sealed=self.shape is Shape.SEALED)
        if self.settings.mode != "stateless" and self.conversation_id is None:
            body["store"] = True
        if self.continues_response and self.request.ref is not None:
            body["previous_response_id"] = self.request.ref.previous_response_id
        return body


def plan(request: TurnRequest, settings: Settings, *, now_ms: int, plain: bool = False) -> Plan:
    """Plans the request for a turn; ``plain`` (the ladder's last step) relies on nothing that the provider stores.

    Raises `ConsentLost`.
    """
    new = None if plain else _since_ref(request, settings, now_ms)
    if new is not None:
        large = request.large and (len(new) > MANY or request.size > AT_ONCE)
        return _continued(msgspec.structs.replace(request, transcript=new, large=large), settings)
    agrees = approves_calls(new_turns(request), settings.hosted_tools)
    stateless = settings.mode == "stateless" and not plain
    if agrees and not stateless:
        raise ConsentLost("The provider no longer has what was approved, so it was not run.")
    begins = settings.mode == "conversation" and not plain and not _has_calls(request.transcript)
    return Plan(request, settings, Shape.SEALED if stateless else Shape.PLAIN, "" if begins else None, agrees)


def _has_calls(transcript: Transcript) -> bool:
    return any(isinstance(turn, AssistantTurn) and turn.local_calls for turn in transcript)


def _since_ref(request: TurnRequest, settings: Settings, now_ms: int) -> Transcript | None:
    """Returns the turn that the ref names, and the messages since.

    None unless this adapter may use the ref and everything since can be said on top of it.
    """
    ref = request.ref
    if ref is None or ref.origin != settings.origin or not _is_alive(ref, settings.mode, now_ms):
        return None
    age, window = now_ms - ref.committed_at, settings.output_window_ms
    for position in range(len(request.transcript) - 1, -1, -1):
        turn = request.transcript[position]
        if isinstance(turn, UserTurn):
            continue
        if turn.id == ref.turn_id and _answerable(turn) and (window is None or age < window or not _waits(turn)):
            return request.transcript[position:]
        return None  # an assistant turn that the provider does not know, or can't be told about
    return None


def _waits(turn: AssistantTurn) -> bool:
    """Whether the provider waits for something from us about this turn."""
    return any(call.part.kind != "hosted" for call in turn.calls)


def _answerable(turn: AssistantTurn) -> bool:
    """Whether everything that the provider waits for can be said: also about what it was told before, once."""
    return _ids_are_unique(turn.local_calls) and all(call.consent is not None for call in held_calls(turn))


def _is_alive(ref: ConversationRef, mode: Mode, now_ms: int) -> bool:
    if mode == "stateless":
        return False
    if mode == "conversation" and ref.conversation_id:  # conversations do not expire
        return True
    return bool(ref.previous_response_id) and now_ms - ref.committed_at < MAX_AGE_MS


def _ids_are_unique(calls: Sequence[SettledCall]) -> bool:
    """Whether the calls' wire ids can name them. An id belongs to its turn (S24). That an earlier turn had it too is
    ordinary, and the provider knows which of its calls still waits.
    """
    ids = {call.part.wire_id for call in calls}
    return len(ids) == len(calls) and "" not in ids


def _continued(request: TurnRequest, settings: Settings) -> Plan:
    ref = request.ref
    in_conversation = (ref.conversation_id or None) if ref is not None and settings.mode == "conversation" else None
    agrees = approves_calls(request.transcript, settings.hosted_tools)
    return Plan(request, settings, Shape.CONTINUED, in_conversation, agrees)


def _new_items(transcript: Transcript) -> list[Body]:
    items: list[Body] = []
    for turn in transcript:
        if isinstance(turn, UserTurn):
            items.append(user_message(turn))
        else:
            items += [
                output(call.part.wire_id, output_text(call) if call.edited else result(call.output))
                for call in turn.local_calls
            ]
            items += approval_responses(turn)
    return items


def _all_items(request: TurnRequest, settings: Settings, name: str, *, sealed: bool) -> list[Body] | Items:
    if sealed and settings.newest_sealed_only:
        said = request.transcript
        turns = [turn.id for turn in said if isinstance(turn, AssistantTurn)]
        return replay(said, origin=settings.origin, sealed=frozenset(turns[-1:]), answers=said)
    verbatim, answers = (None, request.transcript) if sealed else (frozenset[str](), ())

    def items(turns: Turns, before: frozenset[str]) -> tuple[list[Body], frozenset[str]]:
        used = set(before)
        made = replay(turns, origin=settings.origin, sealed=verbatim, answers=answers, used=used)
        return made, frozenset(used)

    def write(turns: Turns, before: frozenset[str]) -> tuple[bytes, frozenset[str]]:
        used = set(before)
        made = written(turns, origin=settings.origin, sealed=verbatim, answers=answers, used=used)
        return made, frozenset(used)

    return replayed(request, name, frozenset[str](), items, write=write)


def _common(request: TurnRequest, settings: Settings) -> Body:
    """Returns the members of every request, with instructions and tools: a continuation inherits none of them."""
    body: Body = {
        "model": settings.model,
        "input": [],
        "stream": True,
        "stream_options": {"include_obfuscation": False},
    }
    if request.instructions:
        body["instructions"] = request.instructions
    tools = [_tool(tool) for tool in request.tools] + list(settings.hosted_tools)
    if tools:
        body["tools"] = tools
        if request.tool_choice is not None:
            body["tool_choice"] = _choice(request.tool_choice)
    if request.output is not None:
        told = {"name": request.output.name, "schema": strict_schema(request.output.schema), "strict": True}
        body["text"] = {"format": {"type": "json_schema", **told}}
    if settings.mode == "stateless":
        body |= {"store": False, "include": ["reasoning.encrypted_content"]}
    options = ("reasoning", "temperature", "max_output_tokens")
    return body | {name: value for name in options if (value := getattr(settings, name)) is not None}


def _choice(choice: ToolChoice) -> Body | str:
    return {"type": "function", "name": choice.name} if isinstance(choice, NamedTool) else choice


def _tool(tool: ToolSpec) -> Body:
    """Makes a flat tool (R22). It isn't strict: schemas of signatures seldom fit strict mode's subset."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }
