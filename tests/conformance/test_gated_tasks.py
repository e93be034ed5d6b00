"""A gate before a task, on every two adapters: who delegates, and who works on it. Nothing that they send is refused.

Both think. The one that delegates calls a tool of its own in the same turn; the other one asks a person, too.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, Gate, create_app
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, connecting, serving
from agui_gate_adapters.testkit.conformance.ground import Item, SeenRequest, Shop, call, refund, say, search, think
from tests.conformance.test_switching import PROVIDERS
from tests.requirements import shows
from tests.support.pairwise import followers

pytestmark = [pytest.mark.anyio, shows("B14", "B24")]
every_pair = pytest.mark.parametrize(("first", "second"), followers(PROVIDERS))
STYLES: dict[str, list[Item]] = {"interrupts": [], "cards": [CARD_TOOL]}
STYLED = [pytest.param(*of.values, style, marks=of.marks) for of, style in zip(followers(PROVIDERS), cycle(STYLES))]
YES = {"approved": True}


def by(model: str, *output: Item, **more: Any) -> Any:
    return {"output": list(output), "when": {"model": model}, **more}


class Team:
    """`boss` delegates to `clerk`, whose tasks have a gate. Served again and again, from the same file."""

    def __init__(self, first: str, second: str, store: str, *script: Any) -> None:
        self.first, self.second, self.store, self.shop = first, second, store, Shop()
        self.emulator = Emulator(list(script), chat="kimi")

    @asynccontextmanager
    async def serving(self, client: AGUIClient | None = None, **more: Any) -> AsyncIterator[AGUIClient]:
        async with serve(self.emulator) as url, connecting() as http:
            clerk = Agent(name="clerk", model=PROVIDERS[self.second](url, "clerk"), tools=self.shop.tools)
            gated = clerk.as_tool(gate=Gate(editable=["task"]))
            boss = Agent(name="boss", model=PROVIDERS[self.first](url, "boss"), tools=[*self.shop.tools, gated])
            async with serving(create_app(boss, store=self.store)) as at:
                found = AGUIClient(http, at, **more)
                if client is not None:
                    found.thread_id, found.messages, found.streams = client.thread_id, client.messages, client.streams
                yield found
        assert [(entry.rule, entry.error) for entry in self.emulator.refusals] == []

    def told(self, model: str) -> list[SeenRequest]:
        """What this model was sent, request by request."""
        found = [entry for entry in self.emulator.accepted if (entry.body or {}).get("model") == model]
        return [SeenRequest(entry.items) for entry in found]


@pytest.mark.parametrize(("first", "second", "style"), STYLED)
async def test_agreed_to_after_a_restart_and_once_more_inside(
    first: str, second: str, style: str, tmp_path: Path
) -> None:
    tools = STYLES[style]
    team = Team(
        first,
        second,
        f"sqlite:///{tmp_path}/team.db",
        by("boss", think("Whose is it?"), say("One moment."), search("one"), call("clerk", task="Refund A1.")),
        by("clerk", think("Is it fair?"), search("two"), refund("A1")),
        by("clerk", think("It was."), say("Refunded.")),
        by("boss", say("All done."), repeat=True),
    )
    async with team.serving(tools=tools) as client:
        asked = await client.say("refund A1")
        assert team.told("clerk") == []
        assert not asked.of("SUBAGENT_STARTED")
    async with team.serving(client, tools=tools) as client:
        asked = await client.decide(asked, YES)
        assert team.shop.orders == []
    async with team.serving(client, tools=tools) as client:
        done = await client.decide(asked, YES)
        assert (done.text, team.shop.orders) == ("Refunded.All done.", ["A1"])
        assert (await client.say("thanks")).text == "All done."
    assert (len(team.told("boss")), len(team.told("clerk"))) == (3, 2)
    last = team.told("boss")[-1]
    assert last.users == ["refund A1", "thanks"]
    assert [json.loads(last.outputs[0]), *last.outputs[1:]] == [["found one"], "Refunded."]


@every_pair
async def test_changed_rejected_and_left(first: str, second: str, tmp_path: Path) -> None:
    tasks = [call("clerk", task=f"Refund {order}.") for order in ("A1", "A2", "A3")]
    team = Team(
        first,
        second,
        f"sqlite:///{tmp_path}/team.db",
        by("boss", think("All of them."), *tasks),
        by("clerk", think("Well."), say("Looked at.")),
        by("boss", say("All done."), repeat=True),
    )
    async with team.serving() as client:
        one, two, three = (ask["id"] for ask in (await client.say("refund all")).interrupts)
        changed = {"approved": True, "editedArgs": {"task": "Look at A1."}}
        left = await client.resume((one, changed), (two, {"approved": False, "reason": "Not A2."}))
        assert [ask["id"] for ask in left.interrupts] == [three]
        done = await client.go(resume=[{"interruptId": three, "status": "cancelled"}])
        assert done.text == "All done."
    assert [request.users for request in team.told("clerk")] == [["Look at A1."]]
    outputs = team.told("boss")[-1].outputs
    assert "Looked at." in outputs[0]
    assert [json.loads(output)["status"] for output in outputs[1:]] == ["rejected", "cancelled"]
