"""What a run elsewhere is made into, event by event."""

from collections.abc import Iterator
from typing import Any

import pytest

from agui_gate.adapter import CallHeld, CallResult
from agui_gate.client import Fold, Json, events
from agui_gate_adapters.remote_agui.machine import Machine


class Counted(list[Any]):
    """Counts how often somebody goes through it."""

    looks = 0

    def __iter__(self) -> Iterator[Any]:
        Counted.looks += 1
        return super().__iter__()


def looks(monkeypatch: pytest.MonkeyPatch, calls: int) -> int:
    """How often a run with so many calls, all of which a snapshot alone has results for, goes through its messages."""
    ids = [f"c{n}" for n in range(calls)]
    machine = Machine([], frozenset())
    for one in ids:
        machine.feed(events.ToolCallStart(tool_call_id=one, tool_call_name="find"))
        machine.feed(events.ToolCallEnd(tool_call_id=one))
    made: list[Json] = [{"id": one, "type": "function", "function": {"name": "find", "arguments": "{}"}} for one in ids]
    told: list[Json] = [{"id": "m", "role": "assistant", "toolCalls": made}]
    told += [{"id": f"r-{one}", "role": "tool", "toolCallId": one, "content": f"found by {one}"} for one in ids]
    machine.feed(events.MessagesSnapshot(messages=told))
    before, messages = Counted.looks, vars(Fold)["messages"]
    monkeypatch.setattr(Fold, "messages", property(lambda fold: Counted(messages.fget(fold))))
    said = machine.feed(events.RunFinished(thread_id="t", run_id="r"))
    monkeypatch.undo()
    assert [one.content for one in said if isinstance(one, CallResult)] == [f"found by {one}" for one in ids]
    return Counted.looks - before


@pytest.mark.parametrize("asked", ["Refund it?", "clerk asks: Refund it?"])
def test_who_asks_there_is_said_once(asked: str) -> None:
    interrupt = {"id": "i1", "reason": "tool_call", "message": asked, "metadata": {"tool": "refund", "agent": "clerk"}}
    outcome: Json = {"type": "interrupt", "interrupts": [interrupt]}
    said = Machine([], frozenset()).feed(events.RunFinished(thread_id="t", run_id="r", outcome=outcome))
    assert [one.message for one in said if isinstance(one, CallHeld)] == ["clerk asks: Refund it?"]


def test_the_end_of_a_run_takes_no_longer_per_call_for_more_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(monkeypatch, 40) == looks(monkeypatch, 2)
