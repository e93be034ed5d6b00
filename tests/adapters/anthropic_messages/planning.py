"""Requests for made-up transcripts, with turns as this adapter would have recorded them."""

from itertools import count
from typing import Any

import msgspec

from agui_gate.adapter import AssistantTurn, ReasoningPart, SettledCall, TextPart, TurnRequest, UserTurn
from agui_gate_adapters.anthropic_messages.request import Plan, Settings, plan
from agui_gate_adapters.testkit.anthropic import ANTHROPIC_PROFILES, check_messages
from agui_gate_adapters.testkit.anthropic.signatures import Signed, digest, sign
from tests.adapters.support import WEATHER, Json, Part, call, user

ORIGIN = "anthropic-messages:h:m"
OLDER = ANTHROPIC_PROFILES["older"]


def settings(**more: Any) -> Settings:
    """An adapter's settings, without cache marks."""
    return Settings(model="m", origin=ORIGIN, max_tokens=4096, **{"cache": False, **more})


def planned(*turns: UserTurn | AssistantTurn, plain: bool = False, **options: Any) -> Plan:
    """The request, which the API accepts."""
    request = TurnRequest(turns, options.pop("instructions", ""), options.pop("tools", (WEATHER,)))
    made = plan(request, settings(**options), plain=plain)
    assert check_messages(made.body, OLDER) == []
    return made


def messages(*turns: UserTurn | AssistantTurn, **options: Any) -> list[Json]:
    """Its messages."""
    result: list[Json] = planned(*turns, **options).body["messages"]
    return result


def said(words: str) -> Json:
    """A text block."""
    return {"type": "text", "text": words}


def seal(place: int, words: str = "") -> str:
    """A signature that the emulator knows."""
    return sign(Signed("msg_1", place, digest(words), "", ""))


def thought(place: int, *words: str) -> ReasoningPart:
    """Thinking at this place of its message."""
    return ReasoningPart(f"r{place}", words, seal(place, "".join(words)), {"index": place})


def ours(*parts: Part, turn_id: str = "t1") -> AssistantTurn:
    """A turn of this adapter; what the parts lack of `private` is added as the machine would have."""
    made: list[Part] = []
    places = count()
    for part in parts:
        kept: Json = {"index": next(places)}
        if isinstance(part, SettledCall):
            if not part.part.local:
                kept |= {"result_index": next(places)}
            kept = (part.part.private or {}) | kept
            made.append(msgspec.structs.replace(part, part=msgspec.structs.replace(part.part, private=kept)))
        else:
            made.append(msgspec.structs.replace(part, private={**(part.private or {}), **kept}))
    blocks = next(places)
    for position, part in enumerate(made):
        if isinstance(part, SettledCall) and part.part.local:
            kept = {**(part.part.private or {}), "blocks": blocks}
            made[position] = msgspec.structs.replace(part, part=msgspec.structs.replace(part.part, private=kept))
    return AssistantTurn(turn_id, tuple(made), ORIGIN)


def searched(wire_id: str = "srvtoolu_1", **more: Any) -> SettledCall:
    """A finished web search."""
    block = {"type": "server_tool_use", "id": wire_id, "name": "web_search", "input": {"query": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": wire_id, "content": []}
    private = {"block": block, "result": result}
    return call(wire_id, '{"query":"x"}', name="web_search", kind="hosted", private=private, **more)


def types(message: Json) -> list[str]:
    """The types of a message's blocks."""
    return [block["type"] for block in message["content"]]


LOOP = (user("hi"), ours(thought(0, "Hm"), call("a")))
DONE = (*LOOP, ours(TextPart("m", "Rain."), turn_id="t2"), user("And now?", "u2"))
