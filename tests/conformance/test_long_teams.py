"""A long conversation with three agents, each of which is sent a part of it with a summary: nothing is refused."""

import pytest

from agui_gate import Agent, LastTokens, Summary, create_app
from agui_gate.agents.context_window import History
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient, connecting, serving
from agui_gate_adapters.testkit.conformance.ground import Shop, call, refund, say, search, think, turn
from tests.conformance.test_switching import PROVIDERS
from tests.requirements import shows
from tests.support.chance import some
from tests.support.pairwise import turns

pytestmark = pytest.mark.anyio

NAMES = ("ada", "bob", "cem")
ROUNDS = some(20, 67)
"""Of three turns each: 60; 201 in the night."""
NOTES = turn(say("Much was found."), when={"user": "What came then:"}, repeat=True)


@pytest.mark.parametrize(("provider", "history"), turns(PROVIDERS, [Summary(over=400, keep=100), LastTokens(200)]))
@shows("S18", "S19", "S22", "S28", "B24")
async def test_hundreds_of_turns_of_three_agents(provider: str, history: History) -> None:
    shop, script = Shop(), [NOTES]
    for n in range(ROUNDS):
        heir = NAMES[(n + 1) % 3]
        asks = refund(f"A{n}") if n % 10 == 9 else search(f"more of {n}")
        script += [
            turn(think(), search(f"{n}"), call(f"transfer_to_{heir}")),
            turn(think(), say("I see."), asks),
            turn(say(f"Answer {n}.")),
        ]
    emulator = Emulator(script, chat="kimi")
    async with serve(emulator) as url, connecting() as http:
        model = PROVIDERS[provider]
        team = [Agent(name=name, model=model(url), tools=shop.tools, history=history) for name in NAMES]
        for agent, heir_of in zip(team, [*team[1:], team[0]], strict=True):
            agent.handoffs.append(heir_of)
        async with serving(create_app(team[0], store="memory://")) as at:
            client = AGUIClient(http, at)
            for n in range(ROUNDS):
                stream = await client.say(f"question {n}")
                if n % 10 == 9:
                    stream = await client.decide(stream, approved=True)
                assert stream.text.endswith(f"Answer {n}."), stream[-1]
            window = (await http.get(f"{at}/threads/{client.thread_id}")).json()["window"]
    assert [(entry.rule, entry.error) for entry in emulator.refusals] == []
    assert shop.orders == sorted(f"A{n}" for n in range(9, ROUNDS, 10))
    sent = [len(entry.items) for entry in emulator.accepted if "What came then:" not in str(entry.items[-1])]
    assert len(sent) == 3 * ROUNDS
    assert max(sent) < 60, "the whole conversation has ten times as many"
    assert (window["summary"] == "Much was found.") == isinstance(history, Summary)
