"""Teams at random: gates, hand-offs, tasks in tasks, also gated, stops, restarts and answers in any order (B14, B15).

More walks, and other ones: ``--explore SEED``.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from agui_gate_adapters.testkit.agui.stream import apply
from tests.product.company import Company
from tests.product.kit import CARD_TOOL, Chat, Json, Product, Stream
from tests.product.live import Following, cancel, starting
from tests.product.shop import COLOR
from tests.product.test_tabs_at_random import ANSWERS, Act, Tabs
from tests.requirements import shows
from tests.support.chance import examples

STEPS = 10
"""What happens between two starts of the server."""
NOT_RUN = ("pending", "rejected", "superseded", "cancelled", "expired")


class TeamTabs(Tabs):
    """Random clients of a thread on which a team works, and that may be stopped and restarted at any event."""

    fine = ("approval_refused", "limit_reached", "abort")
    answers = (*ANSWERS, {"accepted": True, "edited_arguments": {"task": "Other work."}})

    def __init__(self, p: Product, company: Company) -> None:
        # By 1.0 a page's own call is answered by the page, and its messages stay as they are. A stream can't show that
        # another tab has answered, or edited.
        self.new = company.random.random() < 0.3
        tools = [] if self.new else [COLOR, *company.random.choice([[], [CARD_TOOL]])]
        super().__init__(p, company.random, *tools, extra={"protocolVersion": "1.0"} if self.new else {})
        self.company = company
        self.picks: set[str] = set()
        self.hurries = count()

    def acts(self) -> list[Act]:
        often = [self.answer] * 4 + [self.shell] * 2 + [self.pick] * 2
        acts = [*super().acts(), *often, self.stop, self.leave]
        return [act for act in acts if act != self.edit] if self.new else acts

    def turns(self) -> list[Any]:
        return self.company.says()

    def learn(self, stream: Stream) -> None:
        super().learn(stream)
        self.picks |= {call_id for call_id, name in stream.calls.items() if name == "pick_color"}

    async def calls(self) -> list[Json]:
        """Mostly those that wait."""
        known = await super().calls()
        waiting = [record for record in known if record["state"] == "pending"]
        return waiting if waiting and self.random.random() < 0.7 else known

    async def pick(self, tab: Chat) -> Stream | None:
        """An answer to any call of a client's tool."""
        return await tab.answer((self.random.choice(sorted(self.picks)), "red")) if self.picks else None

    async def stop(self, tab: Chat) -> None:
        """A run is stopped after any event, whatever works in it."""
        async with self.begun(tab) as reader:
            await cancel(self.p, tab)
            stream = await reader.end()
        self.learn(stream)
        if self.random.random() < 0.5:
            apply(tab.messages, stream)

    async def leave(self, tab: Chat) -> None:
        """Nobody reads on."""
        async with self.begun(tab):
            pass
        await cancel(self.p, tab)

    @asynccontextmanager
    async def begun(self, tab: Chat) -> AsyncIterator[Following]:
        """A run, after any of its events."""
        self.p.emulator.load(self.company.says(kind="slow", ms=1))
        if self.random.random() < 0.6:
            tab.messages.append({"id": f"hurry-{next(self.hurries)}", "role": "user", "content": "go"})
        async with starting(self.p, tab) as reader:
            await reader.count(self.random.randint(1, 40))
            yield reader

    async def go_away(self) -> None:
        """The server is stopped while a run is at work."""
        async with self.begun(self.tabs[0]):
            pass

    async def die(self) -> None:
        """The process is killed after any of its writes, while it works on a yes or on something new."""
        self.p.emulator.load(self.company.asks())
        await self.say(self.tabs[0])
        waiting = [record for record in await super().calls() if record["state"] == "pending"]
        if waiting and self.random.random() < 0.7:
            self.company.store.writes = self.random.randint(0, 3)
            record = self.random.choice(waiting)
            self.said_yes.add(record["call_id"])
            if self.random.random() < 0.5:
                await self.p.decide(record["id"], {"approved": True})
            else:
                await self.tabs[0].resume((record["id"], {"approved": True}))
        else:
            self.company.store.writes = self.random.randint(0, 8)
            self.p.emulator.load(self.turns())
            await self.random.choice([self.say, self.go, self.pick])(self.tabs[0])

    def move(self, p: Product) -> None:
        """The server was started anew."""
        self.p = p
        for tab in self.tabs:
            tab.product, tab.url, tab.http = p, p.url, p.client

    async def goodbye(self) -> None:
        """All is answered, and the thread still answers, too."""
        self.p.emulator.load(self.company.goodbyes())
        tab = self.tabs[0]
        for _ in range(20):
            waiting = [record for record in await self.calls() if record["state"] == "pending"]
            if not waiting:
                break
            for record in waiting:
                await self.p.decide(record["id"], {"approved": False})
            await tab.go()
        view = await self.p.get(f"/threads/{self.thread_id}")
        assert view["status_code"] == 200, view
        tab.messages = [m for m in view["messages"] if m["role"] != "reasoning"]
        done = await tab.say("bye")
        assert done[-1]["type"] == "RUN_FINISHED", done[-1]
        assert not done.interrupts
        assert not done.cards
        assert done.text.endswith("is done."), done


async def check(tabs: TeamTabs) -> None:
    """Nothing ran that nobody said yes to, nothing twice, and no call is without an end. No provider refused any."""
    tabs.p.assert_clean()
    ran = tabs.company.ran
    assert len(ran) == len(set(ran)), "twice"
    assert set(ran) <= tabs.said_yes, "unasked"
    view = await tabs.p.get(f"/threads/{tabs.thread_id}")
    check_tasks(tabs, view)
    states = {record["call_id"]: record["state"] for record in view["calls"] if "task" not in record}
    assert {call_id for call_id, state in states.items() if state == "done"} <= set(ran)
    assert not [call_id for call_id in ran if states[call_id] in NOT_RUN], states
    assert not {"pending", "claimed"} & set(states.values())
    messages = view["messages"]
    ended = {message["toolCallId"] for message in messages if message["role"] == "tool"}
    shown = [call["id"] for message in messages for call in message.get("toolCalls", ())]
    assert len(shown) == len(set(shown))
    assert set(shown) <= ended, f"without an end: {set(shown) - ended}"
    ids = [message["id"] for message in messages]
    assert len(ids) == len(set(ids))


def check_tasks(tabs: TeamTabs, view: Json) -> None:
    """No task with a gate was worked on that nobody said yes to."""
    states = {record["call_id"]: record["state"] for record in view["calls"] if "task" in record}
    begun = {call_id for call_id, state in states.items() if state == "done"}
    assert begun <= tabs.said_yes, "unasked"
    assert set(states.values()) <= {"done", *NOT_RUN} - {"pending"}
    worked_on = {message["subagentRunId"] for message in view["messages"] if "subagentRunId" in message}
    assert not worked_on & (states.keys() - begun)


async def walk(random: Random, folder: str) -> None:
    """A team's thread, from the first message to the last. In between, its server goes away or is killed."""
    company = Company(random, Path(folder, "team.db"))
    note(repr(company))
    async with company.server() as p:
        tabs = TeamTabs(p, company)
        p.emulator.load(company.says())
        tabs.learn(await tabs.say(tabs.tabs[0]))
        await some(tabs)
        await random.choice([tabs.die, tabs.die, tabs.go_away])()
    async with company.server() as p:
        tabs.move(p)
        await some(tabs)
        await tabs.goodbye()
        await check(tabs)


async def some(tabs: TeamTabs) -> None:
    """A few steps."""
    for _ in range(STEPS):
        await tabs.step()
    tabs.p.assert_clean()


@shows("B14", "B15", "S18")
def test_whatever_a_team_does() -> None:
    """A seed that fails is said. Another one is no simpler, so none is looked for."""

    @settings(examples(8), phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32))
    def walks(seed: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(walk(Random(seed), folder))

    walks()
