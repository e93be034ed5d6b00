"""What a tool may emit, and what is refused: no run is needed to try it."""

import math
import threading
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
from agui_gate.agents import tool_events
from agui_gate.agents.tool import Shown
from agui_gate.agents.tool_events import MAX_ACTIVITIES, MAX_EVENT, MAX_LEVELS
from agui_gate.core import events as ev


def context(told: list[ev.Event] | None = None, **state: Any) -> ToolContext:
    return ToolContext(
        thread_id="t",
        run_id="r",
        call_id="c",
        principal="p",
        idempotency_key="k",
        state=state,
        tell=None if told is None else lambda one: told.append(one.event if isinstance(one, Shown) else one),
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


@pytest.mark.anyio
async def test_an_activity_tells_what_has_changed() -> None:
    told: list[ev.Event] = []
    ctx = context(told)
    content: dict[str, Any] = {"done": 1, "of": [1, 2, 3], "note": "n" * 40}
    await ctx.activity("progress", content)
    content["of"].append(4)  # what is changed later was not sent
    await ctx.activity("progress", content)
    await ctx.activity("progress", content)
    content["constructor"] = 1  # clients don't follow this in a patch
    await ctx.activity("progress", content)
    await ctx.activity("progress", {"new": True})
    name = "c-activity-progress"
    assert told == [
        ev.ActivitySnapshot(name, "progress", {"done": 1, "of": [1, 2, 3], "note": "n" * 40}),
        ev.ActivityDelta(name, "progress", [add("/of/3", 4)]),
        ev.ActivitySnapshot(name, "progress", content),
        ev.ActivitySnapshot(name, "progress", {"new": True}),
    ]


def test_a_sync_tool_shows_activities_without_await() -> None:
    told: list[ev.Event] = []
    context(told).activity("progress", {"done": 1})
    assert told == [ev.ActivitySnapshot("c-activity-progress", "progress", {"done": 1})]


@pytest.mark.anyio
async def test_what_a_call_shows_has_its_limits() -> None:
    told: list[ev.Event] = []
    ctx = context(told)
    for number in range(MAX_ACTIVITIES):
        await ctx.activity(f"kind {number}", {})
    with pytest.raises(ValueError, match="up to 100 activities"):
        await ctx.activity("one more", {})
    await ctx.activity("kind 0", {"text": "x" * (MAX_EVENT // 2)})
    with pytest.raises(ValueError, match="up to 1,048,576 bytes, not"):
        await ctx.activity("kind 1", {"text": "x" * (MAX_EVENT // 2)})
    grow = ActivityDeltaEvent(message_id="kind 1", activity_type="kind 1", patch=[add("/text", "x" * (MAX_EVENT // 2))])
    with pytest.raises(ValueError, match="up to 1,048,576 bytes, not"):
        ctx.emit(grow)
    deep: dict[str, Any] = {}
    for _ in range(MAX_LEVELS):
        deep = {"deeper": deep}
    for wrong in (deep, {"text": "\ud800"}, {"text": object()}):
        with pytest.raises(ValueError, match=r"levels|is not"):
            await ctx.activity("kind 1", wrong)
    with pytest.raises(ValueError, match="not: "):
        ctx.emit(ActivitySnapshotEvent(message_id="\ud800", activity_type="k", content={}))
    with pytest.raises(TypeError, match="content is a dict"):
        await ctx.activity("kind 1", [1])  # type: ignore[arg-type]  # that is what is tried
    with pytest.raises(TypeError, match="kind is a str"):
        await ctx.activity(1, {})  # type: ignore[arg-type]  # that is what is tried
    assert len(told) == MAX_ACTIVITIES + 1  # what was refused was not told
    with pytest.raises(ValueError, match="of the type 'kind 1', which a change must repeat"):
        ctx.emit(ActivityDeltaEvent(message_id="kind 1", activity_type="other", patch=[]))


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


def test_a_state_that_no_client_could_send_back_is_an_error() -> None:
    told: list[ev.Event] = []
    ctx = context(told, old=1)
    deep: dict[str, Any] = {}
    for _ in range(MAX_LEVELS):
        deep = {"a": deep}
    with pytest.raises(ValueError, match="levels"):
        ctx.emit(StateSnapshotEvent(snapshot=deep))
    ctx.emit(StateSnapshotEvent(snapshot=deep["a"]))
    assert (ctx.state, len(told)) == (deep["a"], 1)


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


def test_threads_of_one_tool_have_one_emitter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins with a snapshot of its own activity and goes on with what has changed."""

    class Slow(tool_events.Emitter):
        def __init__(self, call_id: str, tell: Any) -> None:
            threading.Event().wait(0.02)  # long enough for the others to come
            super().__init__(call_id, tell)

    monkeypatch.setattr(tool_events, "Emitter", Slow)
    one, begin, made = context(), threading.Barrier(8), list[Any]()

    def tell() -> None:
        begin.wait(10)
        made.append(one._emits())

    threads = [threading.Thread(target=tell) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(emitter) for emitter in made}) == 1
