"""What a tool may emit, and what is refused: no run is needed to try it."""

import math
from typing import Any

import pytest
from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    EventType,
    MessagesSnapshotEvent,
    RawEvent,
    RunFinishedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
)

from agui_gate import ToolContext
from agui_gate.core import events as ev
from agui_gate.emitting import MAX_EVENT


def context(told: list[ev.Event] | None = None, **state: Any) -> ToolContext:
    return ToolContext(
        thread_id="t",
        run_id="r",
        call_id="c",
        principal="p",
        idempotency_key="k",
        state=state,
        tell=None if told is None else told.append,
    )


def add(path: str, value: object) -> dict[str, object]:
    return {"op": "add", "path": path, "value": value}


def test_a_custom_event_is_sent_as_it_is() -> None:
    told: list[ev.Event] = []
    value = {"a": [1, None]}
    context(told).emit(CustomEvent(name="shop.stock", value=value))
    value["a"].append(2)  # what is changed later was not sent
    assert told == [ev.Custom("shop.stock", {"a": [1, None]})]


def test_a_state_event_changes_the_state_of_the_context() -> None:
    told: list[ev.Event] = []
    ctx = context(told, old=1)
    held = ctx.state
    ctx.emit(StateSnapshotEvent(snapshot={"cart": []}))
    ctx.emit(StateDeltaEvent(delta=[add("/cart/-", {"id": 7})]))
    assert held == ctx.state == {"cart": [{"id": 7}]}
    held["cart"].append("later")
    assert told == [ev.StateSnapshot({"cart": []}), ev.StateDelta([add("/cart/-", {"id": 7})])]


def test_a_change_of_what_the_client_may_not_have_is_sent_whole() -> None:
    told: list[ev.Event] = []
    ctx = context(told, old=1)
    ctx.emit(StateDeltaEvent(delta=[add("/a", 1)]))
    ctx.emit(StateDeltaEvent(delta=[add("/b", 2)]))
    ctx.state["c"] = 3  # not told
    ctx.emit(StateDeltaEvent(delta=[add("/d", 4)]))
    assert told == [
        ev.StateSnapshot({"old": 1, "a": 1}),
        ev.StateDelta([add("/b", 2)]),
        ev.StateSnapshot({"old": 1, "a": 1, "b": 2, "c": 3, "d": 4}),
    ]


def test_an_activity_has_an_id_of_the_calls_own_and_is_changed_under_it() -> None:
    told: list[ev.Event] = []
    ctx = context(told)
    ctx.emit(ActivitySnapshotEvent(message_id="m1", activity_type="progress", content={"done": 1}))
    ctx.emit(ActivityDeltaEvent(message_id="m1", activity_type="progress", patch=[add("/done", 2)]))
    assert told == [
        ev.ActivitySnapshot("c-activity-m1", "progress", {"done": 1}),
        ev.ActivityDelta("c-activity-m1", "progress", [add("/done", 2)]),
    ]


@pytest.mark.anyio
async def test_what_activity_shows_can_be_changed_by_an_event() -> None:
    told: list[ev.Event] = []
    ctx = context(told)
    await ctx.activity("progress", {"done": 1})
    ctx.emit(ActivityDeltaEvent(message_id="progress", activity_type="progress", patch=[add("/done", 2)]))
    assert {event.message_id for event in told if isinstance(event, ev.ActivitySnapshot | ev.ActivityDelta)} == {
        "c-activity-progress"
    }


@pytest.mark.parametrize(
    "event",
    [
        RunFinishedEvent(thread_id="t", run_id="r"),
        TextMessageStartEvent(message_id="m", role="assistant"),
        ToolCallResultEvent(message_id="m", tool_call_id="c", content="forged"),
        MessagesSnapshotEvent(messages=[]),
        RawEvent(event={}),
        BaseEvent(type=EventType.CUSTOM),
        {"type": "CUSTOM", "name": "x", "value": 1},
        None,
    ],
    ids=lambda event: type(event).__name__,
)
def test_other_kinds_are_refused_by_name(event: Any) -> None:
    told: list[ev.Event] = []
    with pytest.raises(TypeError, match=f"ctx.emit takes CustomEvent, .*not {type(event).__name__}$"):
        context(told).emit(event)
    assert told == []


DEEP: list[Any] = []
for _ in range(500_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (CustomEvent(name="agui-gate:answer_refused", value=1), "the server's own"),
        (CustomEvent(name="x", value=object()), "not"),
        (CustomEvent(name="x", value="\ud800"), "not"),
        (CustomEvent(name="x", value=DEEP), "not"),
        (CustomEvent(name="x", value="x" * MAX_EVENT), "1,048,576 bytes"),
        (CustomEvent(name="x", value=1, timestamp=5), "doesn't send timestamp"),
        (CustomEvent(name="x", value=1, raw_event={}), "doesn't send raw_event"),
        (CustomEvent(name="x", value=1, colour="red"), "doesn't send colour"),
        (CustomEvent.model_construct(name=5, value=1), "string"),
        (StateSnapshotEvent(snapshot=[1]), "the shared state is an object"),
        (StateDeltaEvent(delta=[add("/a/b", 1)]), "nothing at '/a/b'"),
        (StateDeltaEvent(delta=[add("/b", 1), add("", [])]), "the shared state is an object"),
        (ActivityDeltaEvent(message_id="m", activity_type="k", patch=[]), "no activity 'm'"),
        (ActivitySnapshotEvent(message_id="m", activity_type="k", content={"a": object()}), "not"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_wrong_is_refused_and_changes_nothing(event: Any, why: str) -> None:
    told: list[ev.Event] = []
    ctx = context(told, kept=True)
    with pytest.raises(ValueError, match=why):
        ctx.emit(event)
    assert (told, ctx.state) == ([], {"kept": True})


def test_an_activity_stays_an_object() -> None:
    ctx = context()
    ctx.emit(ActivitySnapshotEvent(message_id="m", activity_type="k", content={}))
    with pytest.raises(ValueError, match="is an object"):
        ctx.emit(ActivityDeltaEvent(message_id="m", activity_type="k", patch=[add("", 1)]))


def test_an_activity_that_is_not_to_be_replaced_is_changed_as_it_was() -> None:
    told: list[ev.Event] = []
    ctx = context(told)
    ctx.emit(ActivitySnapshotEvent(message_id="m", activity_type="k", content={"a": 1}))
    ctx.emit(ActivitySnapshotEvent(message_id="m", activity_type="k", content={}, replace=False))
    test = {"op": "test", "path": "/a", "value": 1}
    ctx.emit(ActivityDeltaEvent(message_id="m", activity_type="k", patch=[test]))
    assert told[1] == ev.ActivitySnapshot("c-activity-m", "k", {}, replace=False)


def test_a_number_that_json_has_not_is_nothing() -> None:
    told: list[ev.Event] = []
    context(told).emit(CustomEvent(name="x", value=math.nan))
    assert told == [ev.Custom("x", None)]


def test_where_nobody_listens_it_is_checked_all_the_same() -> None:
    ctx = context()
    ctx.emit(StateSnapshotEvent(snapshot={"a": 1}))
    assert ctx.state == {"a": 1}
    with pytest.raises(TypeError):
        ctx.emit(RawEvent(event={}))  # type: ignore[arg-type]
