"""Answers an accepted request: its events, its commit, its abort.

The commit rules live here and nowhere else. A response is stored right before its terminal event is handed out. So a
client which has read `response.completed` can continue from it at once. A conversation gets its items in the same
moment, all or none. An exchange that is aborted before (a cut, a client that left) stores nothing and releases the
conversation. Background responses are stored from the start and finish without their client.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from agui_gate_adapters.testkit.api import Frame
from agui_gate_adapters.testkit.approvals import answered, complete
from agui_gate_adapters.testkit.faults import Fault, stream_error
from agui_gate_adapters.testkit.journal import Entry
from agui_gate_adapters.testkit.kinds import KINDS, kind_of
from agui_gate_adapters.testkit.responses.checks import conversation_id
from agui_gate_adapters.testkit.responses.events import Piece, Sealer, build_piece
from agui_gate_adapters.testkit.responses.state import ProviderState, StoredResponse, new_response, usage_of
from agui_gate_adapters.testkit.script import Turn
from agui_gate_adapters.testkit.wire import Json, sse_frame

_FAILED: Final = "The model failed to generate a response."


class Exchange:
    """The answer to one request. Iterate `events()`, then `close()`; closing before the end is the abort."""

    def __init__(
        self,
        state: ProviderState,
        body: Json,
        context: list[Json],
        items: list[Json],
        turn: Turn,
        *,
        fault: Fault | None = None,
        zdr: bool = False,
        nulls: bool = True,
        size: int = 0,
    ) -> None:
        self.body = body
        self.turn = turn
        self.fault = fault
        self.entry: Entry | None = None
        self.id = state.mint("resp_")
        self.streamed = bool(body.get("stream"))
        self.store = body.get("store") is not False and not zdr
        self.background = bool(body.get("background")) and self.store
        self.ended: str | None = None
        self._nulls = nulls
        self._state = state
        self._context = context
        self._items = items
        self._granted = answered(context + items, items, approve=True)
        self._conversation = conversation_id(body)
        self._error = {"code": "server_error", "message": _FAILED, **(turn.error or {})}
        self._tokens = max(1, size // 4) + 8 * len(context)
        self.response = new_response(self.id, body, int(state.clock.now()), store=self.store)
        self._record = StoredResponse(self.response, items, [], state.clock.now(), self.background)
        self._numbered = self._number(self._spoil(self._tell()))
        self._begin()

    def events(self) -> Iterator[Json]:
        """Yield the remaining events, numbered; a `failed` or `error_event` fault shortens them."""
        return self._numbered

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The request id."""
        return (("x-request-id", f"req_{self.id[5:29]}"),)

    def frames(self) -> Iterator[Frame]:
        """Yield the remaining events in their framing."""
        return (Frame(sse_frame(event), event["type"].endswith(".delta")) for event in self._numbered)

    def whole(self) -> Json:
        """Return the response object: queued for one in the background, else finished."""
        return self.response if self.background else self.finish()

    def finish(self) -> Json:
        """Run to the end and return the final response object."""
        for _ in self._numbered:
            pass
        return self.response

    def cancel(self) -> Json:
        """Cancel a background response; one that has already ended stays as it is."""
        if self.ended is None:
            self._end("cancelled")
        return self.response

    def close(self) -> None:
        """Give up on the client: finish in the background, or abort and store nothing."""
        if self.ended is not None:
            return
        if self.background and self.streamed and (self.fault is None or self.fault.kind != "hang"):
            self.finish()
        elif not self.background:
            self._end("aborted")

    # -- the story -----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._conversation is not None:
            self._state.conversations[self._conversation].locked_by = self.id
        if self.background:
            self.response["status"] = "queued"
            self._state.keep(self._record)

    def _tell(self) -> Iterator[Json]:
        """Yields the events of the whole answer."""
        snapshot = dict(self.response)
        yield {"type": "response.created", "response": snapshot}
        if self.background:
            yield {"type": "response.queued", "response": snapshot}
            self.response["status"] = "in_progress"
            snapshot = dict(self.response)
        yield {"type": "response.in_progress", "response": snapshot}
        told: list[Json] = []
        for piece in self._pieces():
            yield from piece.events
            if piece.item is not None:
                told.append(piece.item)
        self.response["output"] = told
        self._end(self.turn.status)
        yield {"type": f"response.{self.turn.status}", "response": self.response}

    def _spoil(self, events: Iterator[Json]) -> Iterator[Json]:
        """Let an `error_event` or `failed` fault strike: the rest of the story is not told, and not committed."""
        fault = self.fault
        if fault is None or fault.kind not in ("error_event", "failed"):
            yield from events
            return
        yield from islice(events, fault.events_before)
        if self.ended is not None:
            return  # The answer was shorter than the fault's patience.
        if fault.kind == "error_event":
            self._end("aborted")
            yield stream_error(fault)
            return
        self._error = {"code": fault.code or "server_error", "message": fault.message or _FAILED}
        self._end("failed")
        yield {"type": "response.failed", "response": self.response}

    def _pieces(self) -> Iterator[Piece]:
        wanted = "reasoning.encrypted_content" in (self.body.get("include") or ())
        sealer = Sealer(self.id, str(self.body["model"]), wanted)
        last = len(self.turn.output) - 1
        index = 0
        for number, spec in enumerate(complete(self.turn.output, self._granted)):
            status = "incomplete" if self.turn.status == "incomplete" and number == last else "completed"
            piece = build_piece(spec, index, self._state.mint, sealer, last_status=status)
            index += piece.item is not None
            yield piece

    def _number(self, events: Iterator[Json]) -> Iterator[Json]:
        options = self.body.get("stream_options") or {}
        padded = options.get("include_obfuscation") is not False
        for number, event in enumerate(events):
            told = {"type": event["type"], "sequence_number": number, **event}
            if padded and told["type"].endswith(".delta"):
                told["obfuscation"] = self._padding(len(str(event.get("delta", ""))))
            if not self._nulls and "response" in told:
                told["response"] = {name: value for name, value in told["response"].items() if value is not None}
            if self.background:
                self._record.events.append(told)
            yield told

    def _padding(self, length: int) -> str:
        digits = 16 - length % 16
        return f"{self._state.random.getrandbits(digits * 4):0{digits}x}"

    # -- the end -------------------------------------------------------------------------------------------------

    def _end(self, status: str) -> None:
        """Ends the exchange: frees the conversation, and commits unless it was aborted."""
        self.ended = status
        if self.entry is not None:
            self.entry.ended = status
        conversation = self._state.conversations.get(self._conversation or "")
        if conversation is not None and conversation.locked_by == self.id:
            conversation.locked_by = None
        if status == "aborted":
            return
        self._end_response(status)
        if status in ("completed", "incomplete"):
            self._commit()
        if self.store:
            self._state.keep(self._record)

    def _end_response(self, status: str) -> None:
        response, turn = self.response, self.turn
        response["status"] = status
        if status == "cancelled":
            return
        if status == "incomplete":
            response["incomplete_details"] = {"reason": turn.reason}
        if status == "failed":
            response["error"] = self._error
            return
        if status == "completed":
            response["completed_at"] = int(self._state.clock.now())
        response["usage"] = turn.usage or usage_of(self._tokens, response["output"])

    def _commit(self) -> None:
        """Make the answer part of what later requests continue from."""
        output: list[Json] = self.response["output"]
        conversation = self._state.conversations.get(self._conversation or "")
        kept = self.store or conversation is not None
        items = self._identified() if kept else self._items
        self._state.remember_input(items, stored=kept)
        self._state.remember_output(output, stored=kept)
        self._record.input = items
        if conversation is not None:
            conversation.items.extend([*items, *output])
        if self.store:
            self._record.context = [*self._context, *items, *output]

    def _identified(self) -> list[Json]:
        """Return the input with an id on every item, as the provider lists it."""
        return [
            item if item.get("id") else {**item, "id": self._state.mint(f"{KINDS[kind_of(item)].id_prefix}_")}
            for item in self._items
        ]
