"""Conversations nobody thought of: whatever the model and the people do, the provider refuses nothing."""

import random
from typing import Any

import pytest

from tests.adapters.support import Json
from tests.support.chance import seeds

from .support import ADAPTIVE, ENABLED, SEARCH, talking

pytestmark = pytest.mark.anyio

PROFILES: dict[str, list[Json | None]] = {
    "anthropic": [None, ENABLED, ADAPTIVE],
    "older": [None, ENABLED],
    "preserved": [None, ADAPTIVE],
}


def items(dice: random.Random, number: int) -> list[Json]:
    """What a model may say in one turn. After a call it makes other calls, and no more thoughts."""
    made: list[Json] = []
    for piece in range(dice.randint(1, 5)):
        called = any(item["type"] == "function_call" for item in made)
        kind = dice.choice(["call", "message", "search"] if called else ["reasoning", "message", "call", "search"])
        name = f"{number}{piece}"
        if kind == "reasoning":
            made.append({"type": "reasoning", "summary": dice.choice([[], [name]]), "redacted": dice.random() < 0.3})
        elif kind == "message":
            made.append({"type": "message", "text": dice.choice([name, " ", "naïve 🙂"])})
        elif kind == "search":
            made.append({"type": "web_search_call", "action": {"query": name}, "results": [{"url": "u", "title": "T"}]})
        else:
            call: Json = {"type": "function_call", "name": "weather", "arguments": {"city": name}}
            made.append(call | ({"call_id": dice.choice(["same", "f.x:0"])} if dice.random() < 0.3 else {}))
    return made


def turns(dice: random.Random, number: int) -> list[Json]:
    """One turn of a script; or, if it pauses, the two that it takes."""
    output = items(dice, number)
    match dice.random():
        case chance if chance < 0.15:
            return [{"output": output, "status": "incomplete", "reason": "max_output_tokens"}]
        case chance if chance < 0.25:
            return [{"output": output, "status": "incomplete", "reason": "content_filter"}]
        case chance if chance < 0.4:
            search = {"type": "web_search_call", "call_id": f"srvtoolu_p{number}"}
            said = [item for item in output if item["type"] != "function_call"]
            paused: Json = {"output": [*said, {**search, "pending": True}], "status": "incomplete"}
            return [paused | {"reason": "pause_turn"}, {"output": [{**search, "resumes": True}, *output]}]
        case _:
            return [{"output": output}]


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize(
    ("profile", "thinking"), [(profile, mode) for profile, modes in PROFILES.items() for mode in modes]
)
async def test_nothing_is_refused(profile: str, thinking: Json | None, seed: int) -> None:
    dice = random.Random(f"{profile} {thinking} {seed}")
    script = [turn for number in range(14) for turn in turns(dice, number)]
    options: dict[str, Any] = {"thinking": thinking, "hosted_tools": (SEARCH,)}
    async with talking(script, emulator={"anthropic": profile}, **options) as (emulator, thread):
        thread.say("Hello")
        for number in range(14):
            thread.edits = {"weather": '{"city":"Oslo"}'} if dice.random() < 0.3 else {}
            await thread.turn()
            last = thread.transcript[-1]
            if dice.random() < 0.3 or not getattr(last, "local_calls", ()):
                thread.say(f"And {number}?")
    assert emulator.refusals == []
