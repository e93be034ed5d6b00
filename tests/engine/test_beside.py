"""What a model tells of the shared state while tools of ours are at work with it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import BaseModel

from agui_gate.adapter import StateChanged
from agui_gate.engine.beside import Beside
from agui_gate.engine.shared_state import SharedState
from agui_gate_adapters.remote_agui import RemoteAgent
from tests.engine.test_shared_state import LIMIT, begun


class Cart(BaseModel):
    items: list[str] = []


def telling(shared: SharedState, emit: Any, sent: Any) -> Beside:
    agent = RemoteAgent("http://127.0.0.1:1/x", state=Cart)
    limits = SimpleNamespace(state_bytes=LIMIT)
    thread = SimpleNamespace(limits=limits, shared=shared, append=lambda entries: None)
    lane = SimpleNamespace(other=emit)
    return Beside(agent, cast(Any, thread), cast(Any, lane), "turn", sent)


@pytest.mark.parametrize("items", [["milk"], []], ids=["changed", "as it was"])
def test_a_tool_that_is_at_work_loses_nothing_and_changes_nothing_unseen(items: list[str]) -> None:
    shared, told = begun({"items": [], "notes": {"a": 1}})
    live = shared.begin()
    live["mine"] = 1
    telling(shared, told.take, {"items": []}).take(StateChanged({"items": items}))
    assert live["mine"] == 1
    live["notes"]["a"] = 2
    assert shared.value["notes"] == {"a": 1}
    assert told.held["notes"] == {"a": 1}
    back, _ = shared.end()
    shared.tell(told.take)
    assert shared.value == told.held == {"items": items, "notes": {"a": 2}, "mine": 1}
    assert {"op": "replace", "path": "/notes/a", "value": 1} in list(back)
