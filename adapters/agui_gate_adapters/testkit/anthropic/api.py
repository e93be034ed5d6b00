"""The Messages API: creates messages, counts tokens, lists models. No I/O; the routes drive it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.answer import Answer, Maker
from agui_gate_adapters.testkit.anthropic.checks import check_messages
from agui_gate_adapters.testkit.anthropic.messages import asked_of
from agui_gate_adapters.testkit.anthropic.profiles import (
    ANTHROPIC_PROFILES,
    AnthropicProfile,
    AnthropicProfileName,
)
from agui_gate_adapters.testkit.anthropic.shapes import LATEST, size_of
from agui_gate_adapters.testkit.anthropic.signatures import Record
from agui_gate_adapters.testkit.anthropic.thinking_blocks import mode_of
from agui_gate_adapters.testkit.api import Create
from agui_gate_adapters.testkit.faults import Fault, Refused, Reply, Violation, error_reply
from agui_gate_adapters.testkit.host import Host, parse_object
from agui_gate_adapters.testkit.wire import Json, encode

_PATH: Final = "/v1/messages"
_COUNT_PATH: Final = "/v1/messages/count_tokens"
_DEFAULT_MODEL: Final = "claude-sonnet-5"


class Messages:
    """One host's Messages API, as strict as the profile."""

    def __init__(self, host: Host, profile: AnthropicProfileName | AnthropicProfile = "anthropic") -> None:
        self.profile = ANTHROPIC_PROFILES[profile] if isinstance(profile, str) else profile
        self.record = Record()
        self._host = host

    @property
    def paths(self) -> Mapping[str, Create]:
        """`POST /v1/messages` and `POST /v1/messages/count_tokens`."""
        return {_PATH: self.create, _COUNT_PATH: self.count}

    def authorize(self, headers: Mapping[str, str]) -> None:
        """Check the key, from `x-api-key` or as a bearer token, and the version; raises `Refused`."""
        key = headers.get("x-api-key")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        bearer = not key and scheme.lower() == "bearer"
        given = token.strip() if bearer else key
        if not given:
            raise Refused(v.missing_key())
        if self._host.api_key is not None and given != self._host.api_key:
            raise Refused(v.wrong_key(bearer=bearer))
        if not headers.get("anthropic-version"):
            raise Refused(v.missing_version())

    def error_reply(self, violation: Violation, retry_after: float | None = None) -> Reply:
        """Return `{"type": "error", "error": {type, message}, "request_id"}`."""
        request_id = self._host.memory.mint("req_", 24)
        body = v.body_of(violation, request_id)
        return error_reply(violation.status, body, retry_after, (("request-id", request_id),))

    def fault_violation(self, fault: Fault) -> Violation:
        """Return Anthropic's words for a fault."""
        return v.of_fault(fault)

    def create(self, raw: bytes, headers: Mapping[str, str]) -> Answer | Reply:
        """Handle `POST /v1/messages`: an answer to be delivered, or a whole reply (refusals, early faults)."""
        body = parse_object(raw)
        if body is None:
            return self._host.refuse(self, "POST", _PATH, v.bad_json())
        broken = self._check(body, headers) or ([v.flagged()] if self._host.is_flagged(raw) else [])
        return self._host.refuse(self, "POST", _PATH, broken[0], body) if broken else self._answer(body)

    def count(self, raw: bytes, headers: Mapping[str, str]) -> Reply:
        """Handle `POST /v1/messages/count_tokens`: an estimate of four bytes a token."""
        body = parse_object(raw)
        if body is None:
            return self._host.refuse(self, "POST", _COUNT_PATH, v.bad_json())
        broken = self._check(body, headers, counting=True)
        if broken:
            return self._host.refuse(self, "POST", _COUNT_PATH, broken[0], body)
        self._host.journal.accept(_COUNT_PATH, body, None, None, 200)
        return Reply(200, encode({"input_tokens": size_of(body)}))

    def models(self) -> Json:
        """Return the page of models."""
        names = sorted(self._host.models or (_DEFAULT_MODEL,))
        return {"data": [_model(name) for name in names], "has_more": False, "first_id": names[0], "last_id": names[-1]}

    def model(self, name: str) -> Json:
        """Return one model; raises `Refused` for an unknown one."""
        if self._host.models is not None and name not in self._host.models:
            raise Refused(v.unknown_model(name))
        return _model(name)

    def forget(self) -> None:
        """Forget what was issued; its signatures stay good."""
        self.record = Record()

    def _check(self, body: Json, headers: Mapping[str, str], *, counting: bool = False) -> list[Violation]:
        return check_messages(
            body,
            self.profile,
            self.record,
            models=self._host.models,
            betas=_betas(headers),
            version=headers.get("anthropic-version", LATEST),
            counting=counting,
        )

    def _answer(self, body: Json) -> Answer | Reply:
        play = self._host.play(self, _PATH, body, asked_of(body), streamed=bool(body.get("stream")))
        if isinstance(play, Reply):
            return play
        message_id = self._host.memory.mint("msg_")
        thinks = mode_of(body, self.profile) is not None
        maker = Maker(message_id, body, thinks=thinks, mint=lambda prefix: self._host.memory.mint(prefix, 24))
        return self._host.accept(_PATH, body, Answer(message_id, body, maker, play.turn, play.fault, self.record))


def _betas(headers: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name.strip() for name in headers.get("anthropic-beta", "").split(",") if name.strip())


def _model(name: str) -> Json:
    return {
        "type": "model",
        "id": name,
        "display_name": name.replace("-", " ").title(),
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000,
        "max_tokens": 128_000,
    }
