"""Whatever a remote says: the stream in front stays legal, nothing runs unasked, and the thread goes on."""

import json
import random
from typing import Any

import pytest
from pydantic import BaseModel

from agui_gate import tool
from agui_gate_adapters.testkit.agui import AGUIClient, Stream, connecting
from tests.client.servers import run_of, scripted
from tests.interop.streams import FINISHED, STARTED, Event, sse, text
from tests.remote.kit import in_front
from tests.support.chance import seeds

pytestmark = pytest.mark.anyio

ROUNDS = 6
MESSAGES, CALLS, TOOLS = (
    ["m-1", "m-2", "m-3"],
    ["c-1", "c-2", "c-3"],
    ["refund", "measure", "theirs", "confirm_changes"],
)
ARGUMENTS = ['{"a":1}', "{}", "", '{"a":', "[1]", '{"function_name":"refund","function_call_id":"c-1","steps":[]}']
SCHEMAS: list[Any] = [
    None,
    {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]},
    {"type": "string"},
    {"type": "object", "properties": {"approved": {"type": "boolean"}, "level": {}}, "required": ["approved", "level"]},
]


class Counter(BaseModel):
    n: int = 0


class Chance:
    """A remote that says things at random."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self.pick = self._random.choice

    def words(self) -> list[Event]:
        return text(self.pick(["Hm.", "Let me see."]), self.pick(MESSAGES))

    def thought(self) -> list[Event]:
        ids = {"messageId": self.pick(MESSAGES)}
        said = [{"type": "REASONING_MESSAGE_START", **ids, "role": "reasoning"}]
        return [
            *said,
            {"type": "REASONING_MESSAGE_CONTENT", **ids, "delta": "x"},
            {"type": "REASONING_MESSAGE_END", **ids},
        ]

    def call(self) -> list[Event]:
        ids = {"toolCallId": self.pick(CALLS)}
        begun = {"type": "TOOL_CALL_START", **ids, "toolCallName": self.pick(TOOLS)}
        begun |= self.pick([{}, {"parentMessageId": self.pick(MESSAGES)}])
        args = {"type": "TOOL_CALL_ARGS", **ids, "delta": self.pick(ARGUMENTS)}
        return [begun, args, {"type": "TOOL_CALL_END", **ids}][: self.pick([3, 3, 3, 2])]

    def result(self) -> list[Event]:
        ids = {"toolCallId": self.pick(CALLS), "messageId": self.pick([*MESSAGES, "r-1", "r-2"])}
        return [{"type": "TOOL_CALL_RESULT", **ids, "content": self.pick(["ok", '{"approved":true}'])}]

    def aside(self) -> list[Event]:
        activity = {"messageId": self.pick(["a-1", "m-1"]), "activityType": "plan"}
        return [
            self.pick(
                [
                    {"type": "ACTIVITY_SNAPSHOT", **activity, "content": {"n": self.pick([1, 2])}},
                    {"type": "ACTIVITY_DELTA", **activity, "patch": [{"op": "replace", "path": "/n", "value": 3}]},
                    {"type": "STATE_SNAPSHOT", "snapshot": self.pick([{"n": 1}, {"n": "x"}, 7, {}])},
                    {"type": "STATE_DELTA", "delta": [{"op": "add", "path": self.pick(["/n", "/x/y"]), "value": 2}]},
                    {
                        "type": "CUSTOM",
                        "name": self.pick(["x", "on_interrupt", "agui-gate:x"]),
                        "value": {"question": "?"},
                    },
                    {"type": "SUBAGENT_STARTED", "subagentRunId": "s-1", "name": "clerk"},
                    {"type": "STEP_STARTED", "stepName": "x"},
                    {"type": "NOBODY_KNOWS_THIS"},
                ]
            )
        ]

    def snapshot(self) -> list[Event]:
        function = {"name": self.pick(TOOLS), "arguments": self.pick(ARGUMENTS)}
        made = {"id": self.pick(CALLS), "type": "function", "function": function}
        told: list[Event] = [
            {"id": self.pick(MESSAGES), "role": "assistant", "content": "Told.", "toolCalls": [made]},
            {"id": "r-9", "role": "tool", "toolCallId": self.pick(CALLS), "content": "late"},
        ]
        return [{"type": "MESSAGES_SNAPSHOT", "messages": told[: self.pick([1, 2])]}]

    def end(self) -> list[Event]:
        asked: Event = {"id": self.pick(["i-1", "i-2"]), "reason": self.pick(["tool_call", "input_required"])}
        asked |= self.pick([{}, {"toolCallId": self.pick(CALLS)}])
        asked |= {} if (schema := self.pick(SCHEMAS)) is None else {"responseSchema": schema}
        interrupts = [asked, {"id": "i-3", "reason": "confirmation"}, asked][: self.pick([1, 1, 2, 2, 3])]
        asks = FINISHED | {"outcome": {"type": "interrupt", "interrupts": interrupts}}
        return [self.pick([FINISHED, FINISHED, asks, asks, {"type": "RUN_ERROR", "message": "x"}])]

    def run(self) -> str:
        blocks = [self.words, self.thought, self.call, self.call, self.result, self.aside, self.snapshot]
        said = [block() for block in (self.pick(blocks) for _ in range(self._random.randint(0, 7)))]
        return sse(STARTED, *(event for block in said for event in block), *self.end())

    def answers(self, stream: Stream) -> list[tuple[str, Any]]:
        payloads: list[Any] = [{"approved": True}, {"approved": False}, "blue", {"approved": True, "level": 1}]
        return [(one["id"], self.pick(payloads)) for one in stream.interrupts if self.pick([True, True, False])]


def yeses(bodies: list[dict[str, Any]]) -> int:
    """How often the remote was told anything but a no."""
    entries = [entry for body in bodies for entry in body.get("resume", ()) if entry["status"] == "resolved"]
    payloads = [entry["payload"] for entry in entries]
    commands = [body["forwardedProps"]["command"]["resume"] for body in bodies if body["forwardedProps"]]
    payloads += [json.loads(said) if said.startswith(("{", '"')) else said for said in commands]
    cards = [m["content"] for body in bodies for m in body["messages"] if m["role"] == "tool"]
    agreed = sum('"accepted":true' in content for content in cards)
    return agreed + sum(not (isinstance(one, dict) and one.get("approved") is False) for one in payloads)


@pytest.mark.parametrize("seed", seeds(6))
async def test_whatever_it_says(seed: int) -> None:
    ran: list[str] = []

    @tool(gate=True)
    def refund(a: int = 0) -> str:
        """Gated."""
        ran.append("refund")
        return "refunded"

    @tool
    def measure(a: int = 0) -> str:
        """Free."""
        return "measured"

    chance = Chance(f"remote {seed}")
    async with (
        scripted() as server,
        in_front(server.url, [refund, measure], state=Counter, on_unanswered="supersede") as url,
        connecting() as http,
    ):
        chat = AGUIClient(http, url, thread_id=f"t-{seed}")
        for number in range(ROUNDS):
            server.replies[:] = [chance.run() for _ in range(20)]  # lent tools may make one run many
            answers = chance.answers(chat.streams[-1]) if chat.streams else []
            stream = await (chat.resume(*answers) if answers else chat.say(f"round {number}"))
            assert stream.error in (None, "provider_unavailable", "limit_reached")
        server.replies[:] = [run_of(*text("Well again.", "m-new"))]
        last = await chat.say("and now?")
        while last.interrupts:
            last = await chat.resume(*((one["id"], {"approved": False}) for one in last.interrupts))
        assert last.text == "Well again."
        records = (await http.get(f"{url}/approvals?state=all&limit=100")).json()["approvals"]
        agreed = [r for r in records if r["decision"] and r["decision"]["approved"]]
        assert len(ran) + yeses(server.asked) <= len(agreed)
        assert all(record["state"] != "claimed" for record in records)
        sent = server.asked[-1]["messages"]
        for place, message in enumerate(sent):
            if message["role"] == "tool":
                before = [m for m in sent[:place] if m["role"] == "assistant"][-1]
                assert message["toolCallId"] in {call["id"] for call in before["toolCalls"]}
