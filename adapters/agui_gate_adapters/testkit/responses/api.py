"""The Responses API: creates, retrieves, replays, cancels and deletes responses. No I/O; the routes drive it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agui_gate_adapters.testkit.api import Create
from agui_gate_adapters.testkit.faults import Fault, Refused, Reply, Violation, error_reply, status_violation
from agui_gate_adapters.testkit.host import Host, parse_object
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.responses import violations as sv
from agui_gate_adapters.testkit.responses.checks import check_request, context_of, input_items, resolved
from agui_gate_adapters.testkit.responses.exchange import Exchange
from agui_gate_adapters.testkit.responses.profiles import Profile
from agui_gate_adapters.testkit.responses.state import ProviderState
from agui_gate_adapters.testkit.script import Asked
from agui_gate_adapters.testkit.wire import Json

_PATH: Final = "/v1/responses"


class Responses:
    """One host's Responses API, as strict as the profile."""

    def __init__(self, host: Host, state: ProviderState, profile: Profile) -> None:
        self.profile = profile
        self.state = state
        self._host = host
        self._running: dict[str, Exchange] = {}

    @property
    def paths(self) -> Mapping[str, Create]:
        """`POST /v1/responses`."""
        return {_PATH: self.create}

    def authorize(self, headers: Mapping[str, str]) -> None:
        """Check the bearer key; raises `Refused`."""
        self._host.check_bearer(headers.get("authorization"))

    def error_reply(self, violation: Violation, retry_after: float | None = None) -> Reply:
        """Return `{"error": {message, type, param, code}}`."""
        return error_reply(violation.status, violation.body, retry_after)

    def fault_violation(self, fault: Fault) -> Violation:
        """Return OpenAI's words for a fault."""
        return v.conversation_locked() if fault.kind == "locked" else status_violation(fault)

    def create(self, raw: bytes, headers: Mapping[str, str] | None = None) -> Exchange | Reply:
        """Handle `POST /responses`: an exchange to be delivered, or a whole reply (refusals, early faults)."""
        body = parse_object(raw)
        if body is None:
            return self._host.refuse(self, "POST", _PATH, v.bad_json())
        self._host.forget_first(body)
        told = self._heard(body)
        broken = check_request(self.state, told, self.profile, models=self._host.models)
        if broken:
            return self._host.refuse(self, "POST", _PATH, broken[0], body)
        if self._host.is_flagged(raw):
            return self._host.refuse(self, "POST", _PATH, v.flagged(), body)
        return self._answer(body, told, len(raw))

    def retrieve(self, response_id: str, *, advance: bool = True) -> Json:
        """Return a stored response; each look moves a background one on. Raises `Refused` (R23)."""
        record = self.state.responses.get(response_id)
        if record is None:
            raise Refused(sv.response_not_found(response_id))
        if advance:
            self._advance(response_id)
        return record.response

    def replay(self, response_id: str, after: int) -> list[Json]:
        """Return the events of a background response after sequence number `after`, finishing it first."""
        record = self.state.responses.get(response_id)
        if record is None:
            raise Refused(sv.response_not_found(response_id))
        if not record.background:
            raise Refused(sv.cannot_replay())
        self._advance(response_id, to_the_end=True)
        return [event for event in record.events if event["sequence_number"] > after]

    def cancel(self, response_id: str) -> Json:
        """Cancel a background response. Raises `Refused` (R23, R24)."""
        response = self.retrieve(response_id, advance=False)
        if not self.state.responses[response_id].background:
            raise Refused(sv.cannot_cancel())
        running = self._running.pop(response_id, None)
        return response if running is None else running.cancel()

    def delete(self, response_id: str) -> Json:
        """Delete a stored response. Raises `Refused` (R23)."""
        self.retrieve(response_id, advance=False)
        del self.state.responses[response_id]
        return {"id": response_id, "object": "response", "deleted": True}

    def forget(self) -> None:
        """Drop what runs in the background; the state itself is the host's."""
        self._running.clear()

    # -- inside --------------------------------------------------------------------------------------------------

    def _heard(self, body: Json) -> Json:
        """Return what of the request this host takes notice of."""
        if self.profile.continuation != "dropped":
            return body
        return {name: value for name, value in body.items() if name != "previous_response_id"}

    def _answer(self, body: Json, told: Json, size: int) -> Exchange | Reply:
        context, items = context_of(self.state, told), input_items(told)
        items = resolved(self.state, items)
        play = self._host.play(self, _PATH, body, Asked(body, context + items, items))
        if isinstance(play, Reply):
            return play
        exchange = Exchange(
            self.state,
            told,
            context,
            items,
            play.turn,
            fault=play.fault,
            zdr=self.profile.zdr,
            nulls=self.profile.continuation != "dropped",
            size=size,
        )
        if exchange.background:
            running = {name: known for name, known in self._running.items() if known.ended is None}
            self._running = {**running, exchange.id: exchange}
        return self._host.accept(_PATH, body, exchange)

    def _advance(self, response_id: str, *, to_the_end: bool = False) -> None:
        """Move a background response on: queued, in progress, then done. One that hangs stays in progress."""
        exchange = self._running.get(response_id)
        if exchange is None:
            return
        hangs = exchange.fault is not None and exchange.fault.kind == "hang"
        if exchange.response["status"] == "queued" and not to_the_end:
            exchange.response["status"] = "in_progress"
        elif not hangs:
            exchange.finish()
        if exchange.ended is not None:
            del self._running[response_id]
