"""What is kept of a conversation's beginning is never seen: a request has the same bytes with it and without."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from agui_gate.adapter import (
    AssistantTurn,
    Beginning,
    CallPart,
    Output,
    SettledCall,
    Text,
    TextPart,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.anthropic_messages.request import Settings as MessagesSettings
from agui_gate_adapters.anthropic_messages.request import plan as messages_plan
from agui_gate_adapters.common import large_requests
from agui_gate_adapters.common.large_requests import encode, in_pieces
from agui_gate_adapters.common.names import Names
from agui_gate_adapters.openai_chat.profiles import PROFILES, Profile
from agui_gate_adapters.openai_chat.request import Settings as ChatSettings
from agui_gate_adapters.openai_chat.request import body
from agui_gate_adapters.openai_responses.request import Settings, plan
from tests.support.chance import seeds

SETTINGS = Settings(model="m", mode="stateless", origin="here")


def _turns(chance: random.Random) -> list[Any]:
    """A conversation in which call ids occur again, and names that no provider takes."""
    made: list[Any] = []
    for number in range(chance.randrange(30)):
        if chance.random() < 0.5:
            role = chance.choice(["user", "user", "user", "system", "developer"])
            made.append(UserTurn(f"u{number}", (Text("é" * chance.randrange(9)),), role))
            continue
        calls = [
            SettledCall(
                CallPart(f"c{number}", f"w{chance.randrange(9)}", chance.choice(["a", "b"]), "{}", "p"),
                Output("o"),
                "{}",
            )
            for _ in range(chance.randrange(3))
        ]
        made.append(AssistantTurn(f"a{number}", (TextPart("t", "said"), *calls), chance.choice(["here", ""])))
    return made


def _body(request: TurnRequest) -> Any:
    return plan(request, SETTINGS, now_ms=0).body


def _chat(profile: Profile) -> Callable[[TurnRequest], Any]:
    return lambda request: body(request, ChatSettings(model="m", origin="here", profile=profile))


def _messages(cache: bool) -> Callable[[TurnRequest], Any]:
    settings = MessagesSettings(model="m", origin="here", max_tokens=9, cache=cache)
    return lambda request: messages_plan(request, settings).body


CHATS = [*PROFILES.values(), msgspec.structs.replace(PROFILES["openai"], one_system=True)]


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("api", ["responses", "chat", "messages"])
def test_a_growing_conversation_is_sent_as_if_nothing_was_kept(
    seed: int, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    make = {
        "responses": _body,
        "chat": _chat(chance.choice(CHATS)),
        "messages": _messages(chance.choice([True, False])),
    }[api]
    said = chance.choice(["", "Be kind."])
    monkeypatch.setattr(large_requests, "PIECE", chance.choice([40, 10_000]))
    turns, made, settled = _turns(chance), dict[str, Any](), 0
    for size in sorted(chance.choices(range(len(turns) + 1), k=4)):
        transcript = tuple(turns[:size])
        settled = chance.randint(settled, size)
        large = chance.random() < 0.5
        bare = TurnRequest(transcript, said, large=large)
        kept = TurnRequest(transcript, said, large=large, beginning=Beginning(transcript, settled, made))
        whole = msgspec.json.encode(make(bare))
        assert encode(make(kept)) == whole
        assert in_pieces(make(kept)).joined() == whole
        assert vars(Names(kept)) == vars(Names(bare))
        assert {of for of, _ in made.values()} == ({settled} if settled else set())


def test_a_server_may_have_listed_its_tools_in_a_turn_that_is_kept() -> None:
    def asked(number: int, consent: bool | None, **private: Any) -> AssistantTurn:
        private |= {"id": f"mcpr_{number}", "name": "pay", "server_label": "crm"}
        part = CallPart(f"c{number}", f"mcpr_{number}", "crm__pay", "{}", "p", "held", private=private)
        return AssistantTurn(f"a{number}", (SettledCall(part, Output("no"), "{}", consent=consent),), "here")

    listed = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "crm", "tools": []}
    turns = (UserTurn("u", (Text("pay"),)), asked(1, None, tool_list=listed), asked(2, False))
    kept = _body(TurnRequest(turns, beginning=Beginning(turns, 2, {})))
    whole = _body(TurnRequest(turns))
    kinds = ["message", "message", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"]
    assert [item["type"] for item in whole["input"]] == kinds
    assert encode(kept) == msgspec.json.encode(whole)


def test_nothing_is_taken_from_another_transcript() -> None:
    turns = (UserTurn("u", (Text("a"),)), UserTurn("v", (Text("b"),)))
    made: dict[str, Any] = {}
    _body(TurnRequest(turns, beginning=Beginning(turns, 1, made)))
    other = (UserTurn("u", (Text("other"),)), *turns[1:])
    for beginning in (Beginning(turns, 1, made), Beginning(other, 0, made)):  # another's, and one from before
        body = _body(TurnRequest(other, beginning=beginning))
        assert encode(body) == msgspec.json.encode(_body(TurnRequest(other)))


def test_what_json_can_not_hold_is_told_as_without() -> None:
    turns = (UserTurn("u", (Text("\ud800"),)), UserTurn("v", (Text("b"),)))
    kept = _body(TurnRequest(turns, beginning=Beginning(turns, 1, {})))
    assert kept == _body(TurnRequest(turns))
    with pytest.raises(ValueError, match="surrogates"):
        encode(kept)
    with pytest.raises(TypeError):
        encode({"a": itertools})
