"""The shared state of a thread that is worked on: what is kept, what tools have in hand, what clients were told."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from agui_gate.agents.state_form import StateForm, Unfit
from agui_gate.core import events as ev
from agui_gate.core.document import Document
from agui_gate.core.json_changes import patched
from agui_gate.extras.shared_state.thread_state import SharedState

LIMIT = 1_000


class Told(list[ev.Event]):
    """What a client was told, and the state that it has made of that."""

    def __init__(self, held: Any) -> None:
        super().__init__()
        self.held = held

    def take(self, event: ev.Event) -> None:
        match event:
            case ev.StateSnapshot():
                self.held = msgspec.json.decode(msgspec.json.encode(event.snapshot))
                event = ev.StateSnapshot(self.held)
            case ev.StateDelta():
                self.held = patched(self.held, event.delta)
        self.append(event)


def begun(stored: Any, held: Any = None) -> tuple[SharedState, Told]:
    shared, told = SharedState(stored, LIMIT), Told(stored if held is None else held)
    shared.holds(told.held)
    return shared, told


def test_a_change_is_kept_and_told_as_a_small_patch() -> None:
    shared, told = begun({"a": 1, "text": "x" * 100})
    shared.begin()["a"] = 2
    back, problem = shared.end()
    shared.tell(told.take)
    before = {"a": 1, "text": "x" * 100}
    assert told == [ev.StateSnapshot(before), ev.StateDelta([{"op": "replace", "path": "/a", "value": 2}])]
    assert (shared.value["a"], msgspec.json.decode(shared.to_save)["a"], problem) == (2, 2, None)
    assert patched(shared.value, back) == {"a": 1, "text": "x" * 100}


def test_where_nothing_changes_nothing_is_said_or_saved() -> None:
    shared, told = begun({"a": 1})
    saved = shared.to_save
    shared.begin()
    assert shared.end() == ([], None)
    shared.tell(told.take)
    assert told == []
    assert shared.to_save is saved


def test_without_a_baseline_there_is_no_delta() -> None:
    shared, told = SharedState({"a": 1}, LIMIT), Told(None)
    shared.begin()["a"] = 2
    shared.end()
    shared.tell(told.take)
    assert [type(event) for event in told] == [ev.StateSnapshot]
    assert told.held == {"a": 2}


@pytest.mark.parametrize("name", ["__proto__", "constructor", "prototype"])
def test_names_that_clients_do_not_follow_are_told_whole(name: str) -> None:
    shared, told = begun({"text": "x" * 100})
    shared.begin()[name] = 1
    shared.end()
    shared.tell(told.take)
    assert [type(event) for event in told] == [ev.StateSnapshot]


def test_a_change_that_is_as_large_as_the_state_is_told_whole() -> None:
    shared, told = begun({"a": 1})
    shared.begin().update(dict.fromkeys("bcdefghijklm", 1))
    shared.end()
    shared.tell(told.take)
    assert [type(event) for event in told] == [ev.StateSnapshot]
    assert told.held == shared.value


@pytest.mark.parametrize("bad", [object(), "x" * LIMIT, {1, 2, object()}, math.nan, [None, {"a": -math.inf}]])
def test_what_does_not_fit_is_undone(bad: Any) -> None:
    shared, told = begun({"a": [1]})
    state = shared.begin()
    state["a"].append(2)
    state["bad"] = bad
    _, problem = shared.end()
    shared.tell(told.take)
    assert problem in ("state_not_json", "state_too_large")
    assert (shared.value, told) == ({"a": [1]}, [])
    assert shared.begin() == {"a": [1]}


def test_what_another_tool_has_half_done_is_looked_at_when_that_ends() -> None:
    shared, told = begun({})
    first, second = shared.begin(), shared.begin()
    assert first is second
    first["half"] = object()
    second["mine"] = 1
    assert shared.end() == ([], None)
    assert shared.value == {}
    first["half"] = "whole"
    assert shared.end()[1] is None
    shared.tell(told.take)
    assert told.held == shared.value == {"half": "whole", "mine": 1}


def test_a_tool_that_was_abandoned_changes_nothing() -> None:
    shared, told = begun({"a": 1})
    abandoned = shared.begin()
    shared.end()
    abandoned["late"] = True
    assert shared.begin() == {"a": 1}
    shared.end()
    shared.tell(told.take)
    assert told == []


def test_a_state_that_is_no_object_stays_until_a_tool_puts_something_in_its_place() -> None:
    shared, _ = begun([1])
    assert shared.begin() == {}
    shared.end()
    assert shared.value == [1]
    shared.begin()["a"] = 1
    shared.end()
    assert shared.value == {"a": 1}


def test_what_a_tool_tells_itself_counts_as_told() -> None:
    shared, told = begun({"a": 1})
    state = shared.begin()
    state["a"] = 2
    event = ev.StateDelta([{"op": "add", "path": "/a", "value": 2}])
    shared.emitted(event, told.take)
    shared.end()
    shared.tell(told.take)
    assert told == [ev.StateSnapshot({"a": 1}), event]
    shared.emitted(ev.StateDelta([{"op": "remove", "path": "/nowhere"}]), told.take)
    assert told[2:] == []


# --- a model ----------------------------------------------------------------------------------------------------------
class Item(BaseModel):
    name: str
    amount: float = Field(default=1, gt=0)


class Cart(BaseModel):
    items: list[Item] = []
    note: str = Field(default="", alias="theNote")

    @field_validator("note")
    @classmethod
    def clean(cls, note: str) -> str:
        if note == "crash":
            raise RuntimeError("a validator is anybody's code")
        return note


FORM = StateForm(Cart)
EMPTY = {"items": [], "theNote": ""}


def typed(stored: Any) -> tuple[SharedState, Told]:
    shared = SharedState(stored, LIMIT)
    shared.take_form(FORM)
    told = Told(shared.shown.value)
    shared.holds(told.held)
    return shared, told


def test_tools_have_an_instance_and_clients_have_its_json() -> None:
    shared, told = typed(None)
    assert shared.shown.value == EMPTY
    cart = shared.begin()
    assert isinstance(cart, Cart)
    cart.items.append(Item(name="pen"))
    shared.end()
    shared.tell(told.take)
    assert told.held == {"items": [{"name": "pen", "amount": 1.0}], "theNote": ""}
    assert msgspec.json.decode(shared.to_save) == told.held


def test_defaults_alone_are_not_saved() -> None:
    assert typed(None)[0].to_save == b"null"
    assert typed({"items": [{"name": "pen"}]})[0].to_save == b'{"items":[{"name":"pen"}]}'


@pytest.mark.parametrize("note", [5, "crash", object()])
def test_what_the_model_does_not_take_is_undone(note: Any) -> None:
    shared, told = typed(None)
    shared.begin().note = note
    _, problem = shared.end()
    shared.tell(told.take)
    assert problem in ("state_does_not_fit", "state_not_json")
    assert (shared.value, told) == (EMPTY, [])


def test_what_was_saved_under_another_model_counts_as_none_and_stays_until_something_changes() -> None:
    shared, _ = typed({"items": 5})
    assert shared.shown.value == EMPTY
    assert msgspec.json.decode(shared.to_save) == {"items": 5}
    shared.begin().note = "new"
    shared.end()
    assert msgspec.json.decode(shared.to_save) == {"items": [], "theNote": "new"}


def test_what_comes_in_has_to_fit() -> None:
    shared, _ = typed(None)
    shared.keep(Document({"items": [{"name": "pen", "amount": "2"}], "unknown": 1}))
    assert shared.value == {"items": [{"name": "pen", "amount": 2.0}], "theNote": ""}
    with pytest.raises(Unfit, match=r"state.items.0.amount: Input should be greater than 0"):
        shared.keep(Document({"items": [{"name": "pen", "amount": -1}]}))
    with pytest.raises(Unfit, match="could not be checked"):
        shared.keep(Document({"theNote": "crash"}))
    assert shared.value["items"]


# --- at random --------------------------------------------------------------------------------------------------------
NAMES = st.sampled_from(["a", "b", "__proto__", "c/d"])
PUTS = st.tuples(st.just("put"), NAMES, st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=4) | st.just(object))
STEPS = st.lists(PUTS | st.sampled_from([("begin",), ("end",), ("tell",), ("drop",)]), max_size=30)


@given(STEPS)
def test_what_a_client_has_made_of_it_is_always_what_is_kept(steps: list[tuple[Any, ...]]) -> None:
    shared, told = begun({"a": 0, "text": "x" * 60})
    at_work: list[Any] = []
    for step in steps:
        match step:
            case ("begin",):
                at_work.append(shared.begin())
            case ("put", name, value) if at_work:
                at_work[-1][name] = value
            case ("drop",) if at_work:
                at_work[-1].pop("a", None)
            case ("end",) if at_work:
                at_work.pop()
                before = shared.value
                back, _ = shared.end()
                assert patched(shared.value, back) == before
            case ("tell",):
                shared.tell(told.take)
                assert told.held == shared.value == msgspec.json.decode(shared.to_save)
