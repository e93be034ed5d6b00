"""The base that all APIs of an emulator share: script, journal, ids, clock, keys and chunking.

An API's way through a request is: check it, `refuse` it or `play` the turn, build its answer, `accept` it.
"""

from __future__ import annotations

import random
from typing import Any, TypeVar

import msgspec

from agui_gate_adapters.testkit.api import Answer, Api, Forgetful
from agui_gate_adapters.testkit.faults import BEFORE_STREAM, IN_STREAM, Fault, Refused, Reply, Violation, html_reply
from agui_gate_adapters.testkit.journal import Entry, Journal, Memory
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.scenes import play_scene
from agui_gate_adapters.testkit.script import Asked, Chunking, Player, Script, Turn, load_script
from agui_gate_adapters.testkit.wire import Json, decode

A = TypeVar("A", bound=Answer)


class Play(msgspec.Struct, frozen=True):
    """The turn that answers a request, and the fault that strikes it."""

    turn: Turn
    fault: Fault | None = None


class Host:
    """See the module; `Emulator` is a host with its APIs."""

    def __init__(
        self,
        memory: Memory,
        *,
        api_key: str | None = None,
        models: frozenset[str] | None = None,
        pace: float = 0.0,
        chunk: Chunking = "event",
        seed: int = 0,
    ) -> None:
        self.memory = memory
        self.journal = Journal()
        self.api_key = api_key
        self.models = models
        self.pace = pace
        self.chunk: Chunking = chunk
        self.rng = random.Random(seed)
        self.flagged: tuple[str, ...] = ()
        """Phrases that are against the provider's policy: a request that has one in it is refused."""
        self._player: Player | None = None
        self._asked: Asked | None = None
        """What is being asked, from `play` to `accept`; nothing is awaited in between."""

    # -- for tests -----------------------------------------------------------------------------------------------

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
        """Replace the script, at its first turn; None gives the word to the demo model. Raises `ScriptError`."""
        loaded: Script | None = None if script is None else load_script(script)
        self._player = None if loaded is None else Player(loaded)

    def reset(self) -> None:
        """Forget everything and empty the journal; the script stays where it is."""
        self.memory.forget()
        self.journal.clear()

    # -- for the APIs --------------------------------------------------------------------------------------------

    def check_bearer(self, authorization: str | None) -> None:
        """Check an `Authorization` header; raises `Refused`."""
        scheme, _, key = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Refused(v.missing_key())
        if self.api_key is not None and key.strip() != self.api_key:
            raise Refused(v.wrong_key())

    def refuse(self, api: Api, method: str, path: str, violation: Violation, body: Json | None = None) -> Reply:
        """Record a refusal and return its HTTP answer, in the API's shape."""
        reply = api.error_reply(violation)
        told = decode(reply.body)
        self.journal.refuse(method, path, body, violation, told.get("error", told))
        return reply

    def is_flagged(self, raw: bytes) -> bool:
        """Whether this request has something in it that is against the policy. (JSON writes plain words plainly.)"""
        return any(phrase.encode() in raw for phrase in self.flagged)

    def forget_first(self, body: Json, api: Forgetful | None = None) -> None:
        """Forgets all state if the next turn's fault says so; call it before the request is checked.

        ``api`` is one with a memory of its own, whose request goes on from something: it forgets as well.
        """
        if self._player is not None and self._player.forgets(body, continues=api is not None):
            self.memory.forget()
            if api is not None:
                api.forget()

    def play(self, api: Api, path: str, body: Json, asked: Asked, *, streamed: bool = True) -> Play | Reply:
        """Pick the turn for an accepted request. Or return the answer that leaves none: the script is exhausted, or its
        fault strikes before anything is generated.

        `streamed=False` is for APIs whose whole answer cannot say that it failed: `failed` turns, and the faults of a
        stream's middle, then become HTTP errors.
        """
        self._asked = asked
        play = self._pick(asked)
        if play is None:
            message = "Emulator: the script has no turn for this request."
            exhausted = Violation("script", 400, message, None, "emulator_script_exhausted")
            return self.refuse(api, "POST", path, exhausted, body)
        early = self._early(api, play, streamed=streamed)
        if early is not None:
            kind = None if play.fault is None else play.fault.kind
            self.journal.accept(path, body, None, kind, early.status).items = asked.merged
        return play if early is None else early

    def accept(self, path: str, body: Json, answer: A) -> A:
        """Record an accepted request with its answer; returns the answer."""
        kind = None if answer.fault is None else answer.fault.kind
        answer.entry = self.journal.accept(path, body, answer.id, kind, 200)
        answer.entry.items = [] if self._asked is None else self._asked.merged
        answer.entry.tools = [] if self._asked is None else self._asked.tools
        return answer

    def chunking(self, answer: Answer) -> Chunking:
        """Return how this answer's body is cut: the turn's way, the script's, or the emulator's."""
        if answer.turn.chunk is not None:
            return answer.turn.chunk
        scripted: Chunking = "event" if self._player is None else self._player.script.chunk
        return self.chunk if scripted == "event" else scripted

    # -- inside --------------------------------------------------------------------------------------------------

    def _pick(self, asked: Asked) -> Play | None:
        if self._player is None:
            return Play(play_scene(asked))
        turn, fault = self._player.play(asked)
        if turn is None:
            return Play(play_scene(asked)) if self._player.script.then == "brain" else None
        return Play(turn, fault)

    @staticmethod
    def _early(api: Api, play: Play, *, streamed: bool) -> Reply | None:
        """Return the HTTP error of a fault, or of a failed turn that could not be told otherwise."""
        fault = play.fault
        if fault is None and play.turn.status == "failed" and not streamed:
            told = play.turn.error or {}
            fault = Fault("failed", code=told.get("code"), message=told.get("message"))
        if fault is None or not (fault.kind in BEFORE_STREAM or (fault.kind in IN_STREAM and not streamed)):
            return None
        if fault.kind == "html":
            return html_reply(fault)
        return api.error_reply(api.fault_violation(fault), fault.retry_after)


def parse_object(raw: bytes) -> Json | None:
    """Parse a body; None for anything that is not one JSON object."""
    try:
        body = decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
