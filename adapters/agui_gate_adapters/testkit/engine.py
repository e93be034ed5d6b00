"""The emulator: one object that checks, decides, remembers and keeps a journal. No I/O; the routes drive it.

    emulator = Emulator(script=[{"output": [{"type": "message", "text": "Hello"}]}])
    async with serve(emulator) as base_url:
        ...
    assert emulator.refusals == []

What the model says comes from the script, or from the demo brain when there is none. What the provider accepts is
decided before either of them is asked.
"""

from __future__ import annotations

import random
from functools import cached_property
from typing import Any

import msgspec
from starlette.types import ASGIApp

from agui_gate_adapters.testkit import state_violations as sv
from agui_gate_adapters.testkit import violations as v
from agui_gate_adapters.testkit.brain import think
from agui_gate_adapters.testkit.checks import check_request, context_of, input_items, resolved
from agui_gate_adapters.testkit.exchange import Exchange
from agui_gate_adapters.testkit.faults import BEFORE_STREAM, Fault, Reply, fault_reply
from agui_gate_adapters.testkit.journal import Entry, Journal
from agui_gate_adapters.testkit.player import Asked, Player
from agui_gate_adapters.testkit.profiles import PROFILES, Profile, ProfileName
from agui_gate_adapters.testkit.script import Chunking, Script, Turn, load_script
from agui_gate_adapters.testkit.state import Clock, ProviderState
from agui_gate_adapters.testkit.violations import Refused, Violation
from agui_gate_adapters.testkit.wire import Json, decode, encode

__all__ = ["Emulator"]

_PATH = "/v1/responses"


class Emulator:
    """A strict stand-in for the Responses API.

    `script`: anything `load_script` takes; None lets the demo brain answer. `profile`: a name or a `Profile`.
    `zdr`: zero data retention. `reject_call_id_replay` and `strict_reasoning_groups`: the two switches that are
    stricter than the real API; both default to what the profile says. `api_key`: None accepts any key but insists
    on one. `models`: None accepts any. `pace`: seconds before each streamed delta. `chunk`: how bodies are cut unless
    the script says otherwise. Not thread-safe: one event loop, one emulator.
    """

    def __init__(
        self,
        script: Any = None,
        *,
        profile: ProfileName | Profile = "openai",
        zdr: bool = False,
        reject_call_id_replay: bool | None = None,
        strict_reasoning_groups: bool | None = None,
        api_key: str | None = None,
        models: frozenset[str] | None = None,
        pace: float = 0.0,
        chunk: Chunking = "event",
        seed: int = 0,
        clock: Clock | None = None,
    ) -> None:
        base = PROFILES[profile] if isinstance(profile, str) else profile
        switches = {
            "reject_call_id_replay": reject_call_id_replay,
            "reasoning_groups_unstored": strict_reasoning_groups,
        }
        chosen = {name: value for name, value in switches.items() if value is not None}
        self.profile = msgspec.structs.replace(base, zdr=zdr or base.zdr, **chosen)
        self.state = ProviderState(seed=seed, clock=clock)
        self.journal = Journal()
        self.api_key = api_key
        self.models = models
        self.pace = pace
        self.chunk: Chunking = chunk
        self.rng = random.Random(seed)
        self._player: Player | None = None
        self._running: dict[str, Exchange] = {}
        if script is not None:
            self.load(script)

    # -- for tests -----------------------------------------------------------------------------------------------

    @cached_property
    def app(self) -> ASGIApp:
        """The ASGI application of this emulator."""
        from agui_gate_adapters.testkit.routes import create_app  # The routes import the engine.

        return create_app(self)

    @property
    def accepted(self) -> list[Entry]:
        """Journal entries of the requests that passed validation."""
        return [entry for entry in self.journal.entries if entry.accepted]

    @property
    def refusals(self) -> list[Entry]:
        """Journal entries of the requests that were refused."""
        return [entry for entry in self.journal.entries if not entry.accepted]

    @property
    def remaining_turns(self) -> int:
        """How many turns of the script are still to be played."""
        return 0 if self._player is None else self._player.remaining

    def load(self, script: Any) -> None:
        """Replace the script, at its first turn; None gives the word to the demo brain. Raises `ScriptError`."""
        loaded: Script | None = None if script is None else load_script(script)
        self._player = None if loaded is None else Player(loaded)

    def reset(self) -> None:
        """Forget everything and empty the journal; the script stays where it is."""
        self.state.forget()
        self._running.clear()
        self.journal.clear()

    # -- the API -------------------------------------------------------------------------------------------------

    def authorize(self, authorization: str | None) -> None:
        """Check the `Authorization` header; raises `Refused`."""
        scheme, _, key = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Refused(v.missing_key())
        if self.api_key is not None and key.strip() != self.api_key:
            raise Refused(v.wrong_key())

    def refuse(self, method: str, path: str, violation: Violation, body: Json | None = None) -> Reply:
        """Record a refusal and return its HTTP answer."""
        self.journal.refuse(method, path, body, violation)
        return Reply(violation.status, encode(violation.body))

    def create(self, raw: bytes) -> Exchange | Reply:
        """Handle `POST /responses`: an exchange to be delivered, or a whole reply (refusals, early faults)."""
        body = self._parse(raw)
        if not isinstance(body, dict):
            return self.refuse("POST", _PATH, v.bad_json())
        if self._player is not None and self._player.forgets(body):
            self.state.forget()
        broken = check_request(self.state, body, self.profile, models=self.models)
        if broken:
            return self.refuse("POST", _PATH, broken[0], body)
        return self._answer(body, len(raw))

    def chunking(self, exchange: Exchange) -> Chunking:
        """Return how this answer's body is cut: the turn's way, the script's, or the emulator's."""
        if exchange.turn.chunk is not None:
            return exchange.turn.chunk
        scripted: Chunking = "event" if self._player is None else self._player.script.chunk
        return self.chunk if scripted == "event" else scripted

    def release(self, exchange: Exchange) -> None:
        """The client is done with this exchange, or gone: abort it unless it has ended or runs in the background."""
        exchange.close()
        if exchange.ended is not None:
            self._running.pop(exchange.id, None)

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

    # -- inside --------------------------------------------------------------------------------------------------

    @staticmethod
    def _parse(raw: bytes) -> object:
        try:
            return decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return None

    def _answer(self, body: Json, size: int) -> Exchange | Reply:
        context, items = context_of(self.state, body), input_items(body)
        items = resolved(self.state, items)
        turn, fault = self._turn(Asked(body, context + items, items))
        if turn is None:
            message = "Emulator: the script has no turn for this request."
            return self.refuse(
                "POST", _PATH, Violation("script", 400, message, None, "emulator_script_exhausted"), body
            )
        early = self._early(body, fault)
        if early is not None:
            self.journal.accept(_PATH, body, None, None if fault is None else fault.kind, early.status)
            return early
        exchange = Exchange(self.state, body, context, items, turn, fault=fault, zdr=self.profile.zdr, size=size)
        name = None if fault is None else fault.kind
        exchange.entry = self.journal.accept(_PATH, body, exchange.id, name, 200)
        if exchange.background:
            self._running[exchange.id] = exchange
        return exchange

    def _turn(self, asked: Asked) -> tuple[Turn | None, Fault | None]:
        if self._player is None:
            return think(asked), None
        turn, fault = self._player.play(asked)
        if turn is None and self._player.script.then == "brain":
            return think(asked), None
        return turn, fault

    @staticmethod
    def _early(body: Json, fault: Fault | None) -> Reply | None:
        """Return the answer of a fault that strikes before anything is generated."""
        if fault is None or fault.kind not in BEFORE_STREAM:
            return None
        if fault.kind == "locked":
            locked = sv.conversation_locked()
            return Reply(locked.status, encode(locked.body))
        return fault_reply(fault)

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
