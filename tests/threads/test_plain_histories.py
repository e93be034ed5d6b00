"""A history of plain messages takes a short way to entries. It leads to the same as the long one, which takes all."""

import random
import threading
from typing import Any

import msgspec
import pytest

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.protocol import request_decoder
from agui_gate.protocol.request_shapes import InputShape, PlainInputShape
from agui_gate.runs import run as runs
from agui_gate.threads.reconciliation import import_history, take
from tests.product.inprocess import Parrot, run, run_body, started, user
from tests.support.chance import seeds

TEXTS = (
    "", " \n", "hi", "größer 😀", '"a', '{"accepted":true}', '{"approved":1}', '{"approved": true, "a":[{}]}',
    "\x00\x7f", '{"order":"1"}', "[1,2", "null", "{}", '"', "\\", "</script>", '{"status":"cancelled"}',
)  # fmt: skip
NAMES = ("track", "confirm_changes", "paint", "", "a.b", "functions.pay")
IDS = ("", "m1", "m2", "m3", "m4", "m5")
CALLS = ("", "c1", "c2", "c3", "c4")


def message(chance: random.Random) -> dict[str, object]:
    """A message without anything but text and calls, of a client that may mean no good."""
    role, text = (
        chance.choice(("user", "user", "assistant", "assistant", "tool", "tool", "system")),
        chance.choice(TEXTS),
    )
    said: dict[str, object] = {"id": chance.choice(IDS), "role": role, "content": text}
    if role == "tool":
        said["toolCallId"] = chance.choice(CALLS)
    if role == "assistant":
        if chance.random() < 0.5:
            del said["content"]
        if chance.random() < 0.6:
            made = [
                (chance.choice(CALLS), chance.choice(NAMES), chance.choice(TEXTS)) for _ in range(chance.randrange(4))
            ]
            calls = [(call_id, {"name": name, "arguments": text}) for call_id, name, text in made]
            said["toolCalls"] = [{"id": call_id, "type": "function", "function": call} for call_id, call in calls]
    return said


@pytest.mark.parametrize("seed", seeds(40))
def test_both_ways_lead_to_the_same(seed: int) -> None:
    chance = random.Random(seed)
    messages = [message(chance) for _ in range(60)]
    body = msgspec.json.encode({"threadId": "t", "runId": "r", "messages": messages})
    found = []
    for shape in (PlainInputShape, InputShape):
        numbers = iter(range(1000))
        decoded = msgspec.json.decode(body, type=shape).messages
        found.append(import_history(decoded, lambda: f"new-{next(numbers)}", ["paint"]))  # noqa: B023
    assert (found[0].entries, found[0].calls) == (found[1].entries, found[1].calls)
    run = request_decoder.clean(body)
    assert run is not None
    assert {type(one) for one in run.messages} <= {
        type(one) for one in msgspec.json.decode(body, type=PlainInputShape).messages
    }


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": {"a": 1}}, {"name": "n"}, {"subagentRunId": "s"}, {"encryptedValue": "e"}, {"content": []},
        {"function_approvals": []}, {"content": [{"type": "text", "text": "hi"}]}, {"role": "activity"}, {"more": 1},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_plain_takes_the_long_way(more: dict[str, object]) -> None:
    sent = {"id": "m", "role": "user", "content": "hi", **more}
    body = msgspec.json.encode({"threadId": "t", "runId": "r", "messages": [sent]})
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=PlainInputShape)


PARTS = [{"type": "text", "text": "hi"}] * 20


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("said", "beside"),
    [({"content": "hi" * 50}, False), ({"content": PARTS}, True), ({"content": "hi" * 50, "odd": [{}] * 10}, True)],
    ids=["plain", "of parts", "unknown members"],
)
async def test_what_is_long_for_other_reasons_is_imported_beside_the_loop(
    said: dict[str, Any], beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two thousand messages of 4 MB held the loop for 50 ms."""
    where = []

    def taken(*args: Any) -> Any:
        where.append(threading.current_thread())
        return take(*args)

    monkeypatch.setattr(runs, "take", taken)
    messages = [{**user("", f"m{number}"), **said} for number in range(1_000)]
    async with started(app := create_app(Agent(name="a", model=Parrot()), store="memory://", settings=Settings())):
        assert (await run(app, run_body("t", *messages))).events()[-1]["type"] == "RUN_FINISHED"
    assert [one is not threading.main_thread() for one in where] == [beside]
