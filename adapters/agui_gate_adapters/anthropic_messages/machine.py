"""Turns the provider's events into model events. Pure: no I/O, no clock, one instance a response.

Theory of operation. A message is a list of content blocks, each with a start, deltas and a stop; `message_delta` then
says why it ended, `message_stop` that it did. A block's stop does not say that it is complete: a message that ran into
`max_tokens` stops its last block too. So calls end only with the message, and only those that may run (B25):

| stop reason | calls that end |
|---|---|
| `tool_use`, `end_turn`, `stop_sequence`, one that is new | all |
| `max_tokens`, `model_context_window_exceeded` | all but the last block |
| `refusal` | none: what a classifier stopped is not to be acted on |
| none was said | none |

A paused message (`pause_turn`: the provider's own tools took long) is no end of a turn. The machine says so in
``paused``, and the next response, to the content sent back, goes on in a machine that was given it (`adapter.py`).
"""

from collections.abc import Callable
from itertools import count

import msgspec

from agui_gate.adapter import ModelEvent, TextDelta, TurnDone, Usage
from agui_gate.errors import ProviderUnavailable
from agui_gate_adapters.common.failures import ErrorReply, Failure, Kind, classify_code

from .failures import API
from .states import (
    BlockState,
    CallState,
    Events,
    HostedState,
    RedactedState,
    ResultState,
    TextState,
    ThinkingState,
    new_state,
)
from .wire import (
    Body,
    Delta,
    ErrorBody,
    UsageBody,
    WireEvent,
    decode_error,
    decode_event,
    decode_message,
    decode_object,
    decode_usage,
)

_LIMITS = frozenset({"max_tokens", "model_context_window_exceeded"})
_INCOMPLETE = _LIMITS | {"refusal", "pause_turn"}
_IMPLIED = {"text_delta": "text", "thinking_delta": "thinking"}
"""Blocks that may begin with a delta, where a host leaves out the start."""


class Paused(msgspec.Struct, frozen=True):
    """The content of a paused turn: blocks to send back, and where keys, positions and counts continue."""

    content: tuple[Body, ...] = ()
    blocks: int = 0
    positions: int = 0
    rounds: int = 0
    usage: Usage = Usage()
    hosted: tuple[HostedState, ...] = ()
    """Server tools' calls whose results may still come."""
    thinking_fits: bool = True
    """False if thinking came after blank text, which can't be sent back (A11): the thinking can't be either then."""


class MessageMachine:
    """Turns payloads into model events.

    ``done`` is true once the message ended by itself, ``paused`` is set if the turn goes on in another response (there
    is no `TurnDone` then); ``failure`` when the provider said that it failed, or when what it says can't be read.
    """

    def __init__(self, model: str, before: Paused | None = None, *, may_pause: bool = False) -> None:
        self.done = False
        self.failure: Failure | None = None
        self.paused: Paused | None = None
        self._model = model
        self._before = before or Paused()
        self._may_pause = may_pause
        self._positions = count(self._before.positions)
        self._blocks: dict[int | None, BlockState] = {}  # None is the latest, for hosts that leave out the index
        self._order: list[BlockState] = []
        self._usage = UsageBody()
        self._reason: str | None = None

    def feed(self, payloads: list[bytes]) -> list[ModelEvent]:
        """Returns the events of these payloads; what follows a failure or the end is ignored."""
        out: Events = []
        for payload in payloads:
            if self.done or self.failure is not None:
                break
            try:
                event = decode_event(payload)
            except ProviderUnavailable as error:
                self.failure = Failure(error, Kind.AMBIGUOUS)
                break
            if event.type == "content_block_delta":
                self._delta(event, out)
            elif (handler := _HANDLERS.get(event.type)) is not None:
                handler(self, event, out)
        return out

    def end(self) -> list[ModelEvent]:
        """Returns the last events at the end of the body. `message_stop` may be missing."""
        out: Events = []
        if self._reason is not None and all(state.closed for state in self._order):
            self._stop(WireEvent(), out)
        return out

    # --- blocks ---------------------------------------------------------------------------------------------------

    def _delta(self, event: WireEvent, out: Events) -> None:
        state, delta = self._blocks.get(event.index), event.delta
        if delta is None:
            return
        if type(state) is TextState and delta.text and state.pieces and not state.closed:
            # By far the most frequent.
            state.pieces.append(delta.text)
            out.append(TextDelta(state.key, delta.text))
            return
        if state is None and delta.type in _IMPLIED:
            state = self._begin({"type": _IMPLIED[delta.type]}, event.index, out)
        if state is not None:
            state.delta(delta, out)

    def _block_start(self, event: WireEvent, out: Events) -> None:
        self._begin(decode_object(event.content_block), event.index, out)

    def _block_stop(self, event: WireEvent, out: Events) -> None:
        state = self._blocks.get(event.index)
        if state is not None:
            state.stop(out)

    def _begin(self, body: Body, index: int | None, out: Events) -> BlockState:
        key = f"block-{self._before.blocks + len(self._order)}"
        call = self._call_of(body)
        state = new_state(body, key, self._take) if call is None else ResultState(body, key, self._take, call)
        self._order.append(state)
        self._blocks[index] = self._blocks[None] = state
        state.start(out)
        return state

    def _take(self) -> int:
        return next(self._positions)

    def _call_of(self, body: Body) -> HostedState | None:
        """Finds the server tool's call that this block is the result of."""
        wire_id = body.get("tool_use_id")
        if not wire_id:
            return None
        hosted = (state for state in (*self._before.hosted, *self._order) if isinstance(state, HostedState))
        return next((state for state in hosted if state.body.get("id") == wire_id), None)

    # --- the message ----------------------------------------------------------------------------------------------

    def _start(self, event: WireEvent, out: Events) -> None:
        message = decode_message(event.message)
        self._model = message.model or self._model
        self._usage = decode_usage(message.usage)

    def _reason_given(self, event: WireEvent, out: Events) -> None:
        self._reason = (event.delta or Delta()).stop_reason or self._reason
        self._usage = self._usage.updated(decode_usage(event.usage))

    def _stop(self, event: WireEvent, out: Events) -> None:
        self.done = True
        for state in self._order:
            if not state.closed and not isinstance(state, CallState):
                state.abandon(out)
        if self._pauses():
            self.paused = self._so_far()
            return
        blocks = self._take()
        for call in self._runnable():
            call.end(blocks, out)
        incomplete = self._reason in _INCOMPLETE
        reason = self._reason if incomplete else None
        usage = self._counts()
        out.append(TurnDone("incomplete" if incomplete else "completed", reason, usage if usage.reported else None))

    def _runnable(self) -> list[CallState]:
        states = self._order
        if self._reason in (None, "refusal"):
            return []
        if self._reason in _LIMITS:
            states = states[:-1]
        return [state for state in states if isinstance(state, CallState) and not isinstance(state, HostedState)]

    # --- a pause --------------------------------------------------------------------------------------------------

    def _pauses(self) -> bool:
        """Whether the turn goes on: not with a call that waits for us, nor with nothing to send back."""
        return self._reason == "pause_turn" and self._may_pause and bool(self._content()) and not self._runnable()

    def _content(self) -> list[Body]:
        return [block for state in self._order if (block := state.block()) is not None]

    def _so_far(self) -> Paused:
        before = self._before
        hosted = (*before.hosted, *(state for state in self._order if isinstance(state, HostedState)))
        return Paused(
            content=(*before.content, *self._content()),
            blocks=before.blocks + len(self._order),
            positions=self._take(),
            rounds=before.rounds + 1,
            usage=self._counts(),
            hosted=hosted,
            thinking_fits=before.thinking_fits and not self._thought_after_blank(),
        )

    def _thought_after_blank(self) -> bool:
        blank = False
        for state in self._order:
            if blank and isinstance(state, ThinkingState | RedactedState):
                return True
            blank = blank or (isinstance(state, TextState) and bool(state.pieces) and state.block() is None)
        return False

    def _counts(self) -> Usage:
        """Adds up the tokens of this response and those before a pause. Cached tokens count as input."""
        said = self._usage
        inputs = (said.input_tokens, said.cache_read_input_tokens, said.cache_creation_input_tokens)
        known = [counted for counted in inputs if counted is not None]
        usage = Usage(
            provider="anthropic",
            model=self._model,
            input_tokens=sum(known) if known else None,
            output_tokens=said.output_tokens,
            cached_input_tokens=said.cache_read_input_tokens,
            reasoning_tokens=said.thinking_tokens,
            cache_write_input_tokens=said.cache_creation_input_tokens,
        )
        return usage.plus(self._before.usage)

    def _error(self, event: WireEvent, out: Events) -> None:
        self.failure = _failure(decode_error(event))


def _failure(error: ErrorBody) -> Failure:
    return classify_code(ErrorReply(error.type or error.code or "", error.message or ""), API)


_HANDLERS: dict[str, Callable[[MessageMachine, WireEvent, Events], None]] = {
    "content_block_start": MessageMachine._block_start,
    "content_block_stop": MessageMachine._block_stop,
    "error": MessageMachine._error,
    "message_delta": MessageMachine._reason_given,
    "message_start": MessageMachine._start,
    "message_stop": MessageMachine._stop,
}
"""What is not here (`ping`, types that do not exist yet) means nothing to an AG-UI client."""
