"""Turns the provider's events into model events. Pure: no I/O, no clock, one instance a response.

Theory of operation. Each output item of the response becomes a state of its own. It is found again by item id, else by
output index: proxies are known to rewrite one or leave out the other. Text that came in deltas is never taken again
from a `.done` event. What never came in deltas is taken from it, once (B13). The same holds for the item's own
`output_item.done`, and for the whole response in the terminal event: each later source only fills what is missing.

A call ends only by a complete item (B25). A response is committed only by `completed` or `incomplete`, and only when
every call in it can be answered next time. Else its ref is withheld, and the next turn sends everything again.

A response repeats what was asked for, also what it continues. One that continues nothing although it should has dropped
it: the model has forgotten everything. That is known before anything is shown: the turn fails as `UNCONTINUED`.
(A response that repeats nothing at all says nothing about it.)
"""

from collections.abc import Callable

from agui_gate.adapter import ConversationRef, ModelEvent, Notice, TextDelta, TurnDone, Usage
from agui_gate.errors import ProviderRejected, ProviderUnavailable
from agui_gate_adapters.common.failures import ErrorReply, Failure, Kind, classify_code
from agui_gate_adapters.common.json_decoder import decode_any, inside

from .failures import API
from .hosted_tools import KINDS, NOT_HOSTING, HeldState, HostedState, Hosting, OtherState, ToolListState
from .states import CallState, ItemState, MessageState, ReasoningState
from .wire import (
    ErrorBody,
    Item,
    ResponseBody,
    WireEvent,
    decode_error,
    decode_event,
    decode_item,
    decode_output,
    decode_response,
)

Events = list[ModelEvent]
RefOf = Callable[[str], ConversationRef | None]
"""Makes the ref of a committed response from its id."""

_STATES: dict[str, type[ItemState]] = {
    **{state.type: state for state in (MessageState, ReasoningState, CallState, ToolListState)},
    **dict.fromkeys(KINDS, HostedState),
}
"""The state of an item, by its type; others are `OtherState`."""


class ResponseMachine:
    """Turns payloads into model events.

    ``done`` is true once the terminal event was seen; ``failure`` is set when the provider said that it failed,
    or when what it says can't be read. ``forgot`` is called when a request that continues something turns out not to.
    """

    __slots__ = ("_forgot", "_found", "_hosting", "_model", "_order", "_ref_of", "_response_id", "_tool_lists", "done",
                 "failure")  # fmt: skip

    def __init__(
        self,
        model: str,
        ref_of: RefOf,
        hosting: Hosting = NOT_HOSTING,
        forgot: Callable[[], None] | None = None,
    ) -> None:
        self.done = False
        self.failure: Failure | None = None
        self._model = model
        self._ref_of = ref_of
        self._hosting = hosting
        self._forgot = forgot
        self._tool_lists: dict[str, ToolListState] = {}
        self._response_id = ""
        self._found: dict[str | int | None, ItemState] = {}  # by id, and by index
        self._order: list[ItemState] = []

    def feed(self, payloads: list[bytes]) -> Events:
        """Returns the events of these payloads; what follows a failure or the terminal event is ignored."""
        out: Events = []
        for payload in payloads:
            if self.done or self.failure is not None:
                break
            if payload == b"[DONE]":
                continue
            try:
                event = decode_event(payload)
            except ProviderUnavailable as error:
                self.failure = Failure(error, Kind.AMBIGUOUS)
                break
            if event.type == "response.output_text.delta":
                self._text_delta(event, out)
            elif (handler := _HANDLERS.get(event.type)) is not None:
                handler(self, event, out)
        return out

    def end(self) -> Events:
        """Returns no events: this API says when a response is over, and what it has not ended was cut."""
        return []

    # --- deltas ---------------------------------------------------------------------------------------------------

    def _text_delta(self, event: WireEvent, out: Events) -> None:
        state = self._found.get(event.item_id) or self._found.get(event.output_index)
        if type(state) is not MessageState:
            state = self._message(event, out)
        if event.delta and not state.closed:
            if event.content_index not in state.seen:
                state.add(event.content_index)
            out.append(TextDelta(state.key, event.delta))

    def _text_done(self, event: WireEvent, out: Events) -> None:
        self._message(event, out).rest(event.content_index, event.text or event.refusal, out)

    def _annotation(self, event: WireEvent, out: Events) -> None:
        state = self._message(event, out)
        out.append(Notice("openai.annotation", {"key": state.key, "annotation": decode_any(event.annotation)}))

    def _summary_delta(self, event: WireEvent, out: Events) -> None:
        self._reasoning(event, out).delta(("summary", event.summary_index or 0), event.delta, out)

    def _summary_done(self, event: WireEvent, out: Events) -> None:
        self._reasoning(event, out).rest(("summary", event.summary_index or 0), event.text, out)

    def _reasoning_delta(self, event: WireEvent, out: Events) -> None:
        self._reasoning(event, out).delta(("text", event.content_index or 0), event.delta, out)

    def _reasoning_done(self, event: WireEvent, out: Events) -> None:
        self._reasoning(event, out).rest(("text", event.content_index or 0), event.text, out)

    def _arguments_delta(self, event: WireEvent, out: Events) -> None:
        state = self._find(event)
        if isinstance(state, CallState | HostedState):
            state.delta(event.delta, out)

    def _code_delta(self, event: WireEvent, out: Events) -> None:
        state = self._find(event)
        if isinstance(state, HostedState):
            state.code(event.delta, out)

    def _arguments_done(self, event: WireEvent, out: Events) -> None:
        state = self._find(event)
        if isinstance(state, CallState):
            state.rest(event.arguments, out)

    # --- items ----------------------------------------------------------------------------------------------------

    def _item_added(self, event: WireEvent, out: Events) -> None:
        item = decode_item(event.item)
        known = self._found.get(item.id) if item.id else None
        if known is None:
            self._begin_item(item, event.output_index, out)

    def _item_done(self, event: WireEvent, out: Events) -> None:
        self._finish(decode_item(event.item), event.output_index, out)

    def _finish(self, item: Item, index: int | None, out: Events) -> None:
        state = self._found.get(item.id) if item.id else None
        state = state or self._found.get(index)
        if state is None or not state.is_for(item):
            state = self._begin_item(item, index, out)
        if not state.closed:
            if isinstance(state, HeldState) and (listed := self._tool_lists.get(item.server_label or "")):
                state.tool_list = listed.body
            state.finish(item, out)
            if isinstance(state, ToolListState):
                self._tool_lists[state.label] = state

    def _begin_item(self, item: Item, index: int | None, out: Events) -> ItemState:
        position = len(self._order)
        key = item.id if item.id and item.id not in self._found else f"item-{position}"
        state = self._new_state(item, key, position)
        self._order.append(state)
        if index is not None:  # before the id: a dictionary that begins with a text is made anew for a number
            self._found[index] = state
        if item.id:
            self._found[item.id] = state
        state.start(item, out)
        return state

    def _new_state(self, item: Item, key: str, position: int) -> ItemState:
        if item.type == HeldState.type:
            return HeldState(key, position, self._hosting)
        return _STATES.get(item.type, OtherState)(key, position)

    def _find(self, event: WireEvent) -> ItemState | None:
        return self._found.get(event.item_id) or self._found.get(event.output_index)

    def _message(self, event: WireEvent, out: Events) -> MessageState:
        state = self._find(event)
        if not isinstance(state, MessageState):
            state = self._begin_item(Item(type="message", id=event.item_id), event.output_index, out)
        assert isinstance(state, MessageState)
        return state

    def _reasoning(self, event: WireEvent, out: Events) -> ReasoningState:
        state = self._find(event)
        if not isinstance(state, ReasoningState):
            state = self._begin_item(Item(type="reasoning", id=event.item_id), event.output_index, out)
        assert isinstance(state, ReasoningState)
        return state

    # --- the response ---------------------------------------------------------------------------------------------

    def _created(self, event: WireEvent, out: Events) -> None:
        response = decode_response(event.response)
        self._response_id = response.id or self._response_id
        if self._forgot is not None and response.continues_nothing:
            self._forgot()
            error = ProviderRejected("The provider has dropped what this request continues.")
            self.failure = Failure(error, Kind.UNCONTINUED)
            self.failure.accepted = True

    def _ended(self, event: WireEvent, out: Events) -> None:
        response = decode_response(event.response)
        if self._forgot is not None and response.continues_nothing:
            self._forgot()  # too late for this turn
        for index, item in enumerate(decode_output(response.output)):
            self._finish(item, index, out)
        for state in self._order:
            state.abandon(out)
        self.done = True
        incomplete = event.type == "response.incomplete" or response.status == "incomplete"
        details = response.incomplete_details
        out.append(
            TurnDone(
                status="incomplete" if incomplete else "completed",
                reason=(details.reason if details else None) if incomplete else None,
                usage=self._usage(response),
                ref=self._ref(response),
                refused=any(isinstance(state, MessageState) and state.refused for state in self._order),
            )
        )

    def _ref(self, response: ResponseBody) -> ConversationRef | None:
        if not all(state.answerable for state in self._order):
            return None
        return self._ref_of(response.id or self._response_id)

    def _usage(self, response: ResponseBody) -> Usage | None:
        said = decode_any(response.usage)
        if not isinstance(said, dict):
            return None
        usage = Usage(
            provider="openai",
            model=response.model or self._model,
            input_tokens=said.get("input_tokens"),
            output_tokens=said.get("output_tokens"),
            total_tokens=said.get("total_tokens"),
            cached_input_tokens=inside(said, "input_tokens_details", "cached_tokens"),
            reasoning_tokens=inside(said, "output_tokens_details", "reasoning_tokens"),
            cache_write_input_tokens=inside(said, "input_tokens_details", "cache_write_tokens"),
        )
        return usage if usage.reported else None

    def _failed(self, event: WireEvent, out: Events) -> None:
        error = decode_response(event.response).error
        self.failure = _failure(error or ErrorBody())

    def _error(self, event: WireEvent, out: Events) -> None:
        self.failure = _failure(decode_error(event))


def _failure(error: ErrorBody) -> Failure:
    failure = classify_code(ErrorReply(str(error.code or error.type or ""), error.message or ""), API)
    # Accepted first and failed later: in a conversation the items may be there, so it is never surely undone.
    if failure.kind is Kind.TRANSIENT:
        failure = Failure(failure.error, Kind.AMBIGUOUS)
    failure.accepted = True  # as its error says by itself, where it is about an attachment
    return failure


_HANDLERS: dict[str, Callable[[ResponseMachine, WireEvent, Events], None]] = {
    "error": ResponseMachine._error,
    "response.code_interpreter_call_code.delta": ResponseMachine._code_delta,
    "response.completed": ResponseMachine._ended,
    "response.created": ResponseMachine._created,
    "response.failed": ResponseMachine._failed,
    "response.function_call_arguments.delta": ResponseMachine._arguments_delta,
    "response.function_call_arguments.done": ResponseMachine._arguments_done,
    "response.incomplete": ResponseMachine._ended,
    "response.mcp_call_arguments.delta": ResponseMachine._arguments_delta,
    "response.output_item.added": ResponseMachine._item_added,
    "response.output_item.done": ResponseMachine._item_done,
    "response.output_text.annotation.added": ResponseMachine._annotation,
    "response.output_text.done": ResponseMachine._text_done,
    "response.reasoning_summary_text.delta": ResponseMachine._summary_delta,
    "response.reasoning_summary_text.done": ResponseMachine._summary_done,
    "response.reasoning_text.delta": ResponseMachine._reasoning_delta,
    "response.reasoning_text.done": ResponseMachine._reasoning_done,
    "response.refusal.delta": ResponseMachine._text_delta,
    "response.refusal.done": ResponseMachine._text_done,
}
"""What is not here (progress, partial images, audio, types that do not exist yet) means nothing to an AG-UI client."""
