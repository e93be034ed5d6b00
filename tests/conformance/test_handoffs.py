"""A hand-off between every two adapters, and to the same model (microsoft/agent-framework#4083): nothing is refused.

The first agent thinks, calls and transfers in one turn. The heir thinks, asks a person and hands back.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agui_gate import Agent, create_app
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient, connecting, serving
from agui_gate_adapters.testkit.conformance.ground import (
    Item,
    SeenRequest,
    Shop,
    call,
    refund,
    say,
    search,
    think,
    turn,
)
from tests.conformance.test_switching import PROVIDERS
from tests.requirements import shows
from tests.support.pairwise import followers, pairs

pytestmark = pytest.mark.anyio
every_pair = pytest.mark.parametrize(("first", "second"), followers(PROVIDERS))

SCRIPT = [
    turn(think("Whose is it?"), say("One moment."), search("one"), call("transfer_to_heir")),
    turn(think("Is it fair?"), search("two"), refund("A1")),
    turn(think("It was."), say("Refunded."), search("three"), call("transfer_to_entry")),
    turn(think("Fine."), say("Back.")),
    turn(think("So."), call("transfer_to_heir")),
    turn(say("Bye."), repeat=True),
]


@asynccontextmanager
async def a_team(
    first: str, second: str, script: list[Item], shop: Shop, max_turns: int = 20
) -> AsyncIterator[AGUIClient]:
    """An agent with an heir that hands back. Nothing that they send may be refused."""
    emulator = Emulator(script, chat="kimi")
    async with serve(emulator) as url, connecting() as http:
        one = Agent(name="entry", model=PROVIDERS[first](url), tools=shop.tools, max_turns=max_turns)
        heir = Agent(name="heir", model=PROVIDERS[second](url), tools=shop.tools, handoffs=[one])
        one.handoffs.append(heir)
        async with serving(create_app(one, store="memory://")) as at:
            client = AGUIClient(http, at)
            yield client
    assert [(entry.rule, entry.error) for entry in emulator.refusals] == []
    client.extra["seen"] = SeenRequest(emulator.accepted[-1].items)


@every_pair
@shows("S18", "S19", "S20", "S21", "S22", "B24")
async def test_a_reasoning_agent_hands_off_and_gets_it_back(first: str, second: str) -> None:
    shop = Shop()
    async with a_team(first, second, SCRIPT, shop) as client:
        asked = await client.say("refund A1")
        assert asked.text == "One moment."
        done = await client.decide(asked, approved=True)
        assert (done.text, shop.orders) == ("Refunded.Back.", ["A1"])
        assert (await client.say("thanks")).text == "Bye."
        assert (await client.say("again")).text == "Bye."
    seen = client.extra["seen"]
    assert seen.users == ["refund A1", "thanks", "again"]
    said = [json.loads(output) for output in seen.outputs]
    assert [one.get("agent", one.get("order")) if isinstance(one, dict) else one for one in said] == [
        ["found one"], "heir", ["found two"], "A1", ["found three"], "entry", "heir",
    ]  # fmt: skip
    ids = [called for stream in client.streams for called in stream.calls]
    assert len(ids) == len(set(ids)) == 7


@every_pair
@shows("S22", "S23", "B24")
async def test_stopping_at_the_limit_between_two_agents(first: str, second: str) -> None:
    script = [turn(think(), search("one"), call("transfer_to_heir")), turn(think(), say("Bye."), repeat=True)]
    async with a_team(first, second, script, Shop(), max_turns=1) as client:
        stopped = await client.say("hello")
        assert "limit_reached" in str(stopped[-1])
        assert (await client.say("well?")).text == "Bye."
    assert len(client.extra["seen"].outputs) == 2


# --- microsoft/agent-framework#4083, case by case: the Responses API as strict as it can be ---------------------------
SEALED = {"type": "reasoning", "summary": ["Hm."], "encrypted_content": "sealed"}
FORGETS = {"kind": "forget"}
PASS = {"heir": call("transfer_to_heir"), "task": call("heir", task="Look.")}
CASES: dict[str, tuple[Item, Item, Item]] = {
    "reasoning to plain": (think("Whose?"), turn(search("two")), turn(say("Found."))),
    "reasoning to reasoning": (think("Whose?"), turn(think("How?"), search("two")), turn(think("So."), say("Found."))),
    "encrypted reasoning": (SEALED, turn(SEALED, search("two")), turn(SEALED, say("Found."))),
    "full replay": (think("Whose?"), turn(think("How?"), search("two")), turn(say("Found."), fault=FORGETS)),
    "a limit": (think("Whose?"), turn(think("How?"), search("two")), turn(think("So."), search("three"))),
}


@pytest.mark.parametrize(("case", "mode", "way"), pairs(CASES, ["chain", "conversation", "stateless"], PASS))
@shows("S18", "S19", "S20", "S22", "S23", "B24")
async def test_a_reasoning_agent_passes_work_on(case: str, mode: str, way: str) -> None:
    thought, *inner = CASES[case]
    script = [turn(thought, say("One moment."), search("one"), PASS[way]), *inner, turn(say("Bye."), repeat=True)]
    emulator = Emulator(script, reject_call_id_replay=True, strict_reasoning_groups=True, zdr=mode == "stateless")
    shop = Shop()
    async with serve(emulator) as url, connecting() as http:
        limit = 2 if case == "a limit" else 20
        heir = Agent(name="heir", model=PROVIDERS[mode](url), tools=shop.tools, max_turns=limit)
        tools = [*shop.tools, heir.as_tool()] if way == "task" else shop.tools
        entry = Agent(name="entry", model=PROVIDERS[mode](url), tools=tools, max_turns=limit)
        entry.handoffs.extend([heir] if way == "heir" else [])
        async with serving(create_app(entry, store="memory://")) as at:
            client = AGUIClient(http, at)
            first = await client.say("look")
            assert (first.error == "limit_reached") == (case == "a limit" and way == "heir")
            assert first.results.keys() == first.calls.keys()
            for words in ("thanks", "again"):
                assert (await client.say(words)).error is None
    refused = [entry for entry in emulator.refusals if case != "full replay" or entry.rule not in ("R6", "R7")]
    assert [(entry.rule, entry.error) for entry in refused] == []
    assert shop.searches[:2] == ["one", "two"]
