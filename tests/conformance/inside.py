"""A sub-agent between the user and the tools: the suite's scenarios, one floor down.

Clients post to `front`. It is behind the same adapter as the agent under test, and hands that each message as a task.
What the scenarios look at is what belongs to the agent under test: what it says and calls, how its tasks end, and what
it and the front were told, put together. What the front's provider is sent is held to the rules as well.
"""

import json
from itertools import count
from typing import Any

from agui_gate import Agent
from agui_gate.adapter import Adapter
from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.agui import AGUIClient, Stream
from agui_gate_adapters.testkit.conformance.ground import Ground, SeenRequest, Suite, call, say
from agui_gate_adapters.testkit.host import Play
from agui_gate_adapters.testkit.journal import Entry
from agui_gate_adapters.testkit.script import Asked, Turn, last_user_text, text_of

Json = dict[str, Any]
FRONT, SHOP = "front", "shop"


class Relay(Emulator):
    """A provider whose model `front` hands each message on, under a number of its own. Others play the script."""

    _numbers: Any = None

    def _pick(self, asked: Asked) -> Play | None:
        offered = [tool.get("name") for tool in asked.body.get("tools") or ()]
        if asked.body.get("model") != FRONT or SHOP not in offered:
            return super()._pick(asked)
        if asked.merged[-1].get("type") == "function_call_output":
            return Play(Turn((say("That was all."),)))
        self._numbers = self._numbers or count(1)
        answered = [n for n, item in enumerate(asked.merged) if item.get("role") != "user"]
        new = asked.merged[answered[-1] + 1 if answered else 0 :]
        words = "\n".join(map(text_of, new)) or last_user_text(asked.merged)
        return Play(Turn((call(SHOP, task=f"{words}\n\n#{next(self._numbers)}"),)))


class InsideStream(Stream):
    """A run, as far as it is the sub-agent's. ``tasks`` are the delegating calls that its client has heard of."""

    tasks: set[str]

    @property
    def text(self) -> str:
        return "".join(event["delta"] for event in self.of("TEXT_MESSAGE_CONTENT") if event.get("subagentRunId"))

    @property
    def error(self) -> str | None:
        ends = [event["code"] for event in self.of("SUBAGENT_ERROR")]
        return super().error or next(iter(ends), None)

    @property
    def calls(self) -> dict[str, str]:
        return {call_id: name for call_id, name in super().calls.items() if call_id not in self.tasks}

    @property
    def results(self) -> dict[str, str]:
        return {call_id: said for call_id, said in super().results.items() if call_id not in self.tasks}


class InsideClient(AGUIClient):
    """A client that tells what the sub-agent does from what the front does."""

    async def post(self, body: Any) -> Stream:
        told = await super().post(body)
        stream = InsideStream(told)
        stream.raw, stream.status, stream.run_key = told.raw, told.status, told.run_key
        earlier = [one.tasks for one in self.streams if isinstance(one, InsideStream)]
        own = {i for i, name in told.calls.items() if name == SHOP}
        stream.tasks = own.union(*earlier)
        return stream


class InsideGround(Ground):
    """Model requests are the sub-agent's; what the model was told is what both were."""

    def client(self, **more: Any) -> AGUIClient:
        self.clients.append(InsideClient(self.http, self.url, **more))
        return self.clients[-1]

    @property
    def requests(self) -> list[Entry]:
        return [entry for entry in self.emulator.accepted if (entry.body or {}).get("model") != FRONT]

    @property
    def newest(self) -> SeenRequest:
        """The front's conversation, with each task's in the place of the call that delegated it."""
        fronts = [entry for entry in self.emulator.accepted if (entry.body or {}).get("model") == FRONT]
        tasks = self._tasks()
        items: list[Json] = []
        delegated: set[str] = set()
        for item in fronts[-1].items if fronts else ():
            if item.get("name") == SHOP:
                delegated.add(item["call_id"])
                items += tasks.pop(json.loads(item["arguments"])["task"], [])
            elif item.get("call_id") not in delegated or item["type"] == "function_call":
                items.append(item)
        newest = list(tasks.values())[-1:] if self._is_newer(fronts) else []
        return SeenRequest(items + [item for task in newest for item in task])

    def _is_newer(self, fronts: list[Entry]) -> bool:
        return bool(self.requests) and (not fronts or self.requests[-1].number > fronts[-1].number)

    def _tasks(self) -> dict[str, list[Json]]:
        """What the sub-agent was told last in each task, but for the prompt."""
        found: dict[str, list[Json]] = {}
        for entry in self.requests:
            prompts = [text_of(item) for item in entry.items if item.get("role") == "user"]
            found[prompts[0]] = [item for item in entry.items if item.get("role") != "user"]
        return found


class Inside(Suite):
    """The suite's groups are mixed in by who uses it."""

    base_url = ""

    def adapter(self, base_url: str, model: str) -> Adapter:
        """The adapter with this model."""
        raise NotImplementedError

    def make_adapter(self, base_url: str) -> Adapter:
        self.base_url = base_url
        return self.adapter(base_url, "some-model")

    def emulator(self, script: Any) -> Emulator:
        return Relay(script, **self.emulator_options)

    def grounded(self, emulator: Emulator, http: Any, agent: Agent) -> Ground:
        return InsideGround(emulator, http, agent)

    def failures(self, stream: Stream) -> list[Json]:
        return stream.of("SUBAGENT_ERROR")

    def served(self, agent: Agent) -> Agent:
        return Agent(
            name=FRONT,
            model=self.adapter(self.base_url, FRONT),
            tools=[agent.as_tool()],
            hitl=agent.hitl,
            on_unanswered=agent.on_unanswered,
            on_disconnect=agent.on_disconnect,
            client_roles=agent.client_roles,
            history=agent.history,
        )
