"""What a model tells of the shared state while tools of ours are at work with it."""

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from agui_gate.adapter import StateChanged
from agui_gate.core.json_changes import patched
from agui_gate.core.transcript import StateEntry
from agui_gate.extras import remote_state
from agui_gate.extras.activities import Activities
from agui_gate.extras.remote_state import RemoteState
from agui_gate.extras.shared_state import thread_state
from agui_gate.extras.shared_state.part import StatePart
from agui_gate.extras.shared_state.thread_state import SharedState
from agui_gate.threads.parts import ACTIVITIES, STATE
from agui_gate_adapters.remote_agui import RemoteAgent
from tests.extras.test_shared_state import LIMIT, begun


class Cart(BaseModel):
    items: list[str] = []


AGENT = RemoteAgent("http://127.0.0.1:1/x", state=Cart)


def telling(shared: SharedState, emit: Any, sent: Any) -> RemoteState:
    limits = SimpleNamespace(state_bytes=LIMIT)
    thread = SimpleNamespace(limits=limits)
    state = StatePart(cast(Any, thread), None)
    state.shared = shared
    parts = {STATE: state, ACTIVITIES: Activities([].extend, lambda entry: True)}
    thread.parts = SimpleNamespace(need=parts.__getitem__)
    lane = SimpleNamespace(other=emit)
    made = RemoteState(AGENT, cast(Any, thread), cast(Any, lane))
    made.begin("turn", sent)
    return made


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


@pytest.mark.parametrize("kept", [{"items": []}, {"items": [], "mine": 1}], ids=["all of it", "a part of it"])
def test_a_change_is_looked_at_once(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """T15: the event loop waits for it, and a remote may send any number of them."""
    looked: list[str] = []
    shared, told = begun(kept)
    if whole := "mine" not in kept:
        shared.take_form(AGENT.state_form)
    monkeypatch.setattr(Cart, "model_validate_json", counting(Cart.model_validate_json, looked, "validated"))
    monkeypatch.setattr(thread_state, "changes", counting(thread_state.changes, looked, "compared to be told"))
    monkeypatch.setattr(remote_state, "changes", counting(remote_state.changes, looked, "compared"))
    one = telling(shared, told.take, {"items": []})
    sent = [{"items": ["milk"] * number} for number in range(1, 6)]
    for state in sent:
        one.take(StateChanged(state))
    assert Counter(looked) == {"validated": 5, "compared to be told": 5} | ({} if whole else {"compared": 5})
    assert shared.value == told.held == kept | sent[-1]


def test_the_way_back_is_that_of_the_model_alone() -> None:
    shared, told = begun({"items": [], "count": 0})
    one = telling(shared, told.take, {"items": []})
    one.take(StateChanged({"items": ["milk"]}))
    one.take(StateChanged({"items": ["milk", "bread"]}))
    shared.begin()["count"] = 1
    shared.end()
    one.take(StateChanged({"items": ["bread"]}))
    assert shared.value == {"items": ["bread"], "count": 1}
    (entry,) = one.end()
    assert isinstance(entry, StateEntry)
    assert patched(shared.value, entry.back or ()) == {"items": [], "count": 1}


def test_what_does_not_fit_is_logged_once() -> None:
    shared, told = begun({"items": []})
    one = telling(shared, told.take, {"items": []})
    with capture_logs() as logs:
        for number in range(5):
            one.take(StateChanged({"items": number}))
    assert [(line["event"], line["what"]) for line in logs] == [("left_out", "StateChanged")]
    assert shared.value == {"items": []}


def counting(function: Any, calls: list[str], name: str) -> Any:
    """``function``, whose calls are put down."""

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return function(*args, **kwargs)

    return counted
