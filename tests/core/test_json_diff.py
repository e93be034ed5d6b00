"""What has changed between two JSON values: the patch is right, and about as small as the change."""

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core import json_changes
from agui_gate.core.document import Document
from agui_gate.core.json_changes import (
    MAX_DEPTH,
    MOST_WORK,
    TooDifferent,
    changes,
    difference,
    patched,
    pointer,
)

Json = Any
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(0, 1) | st.text("ab/~-0", max_size=2)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text("ab/~-0", max_size=2), inner, max_size=4),
    max_leaves=25,
)


def written(value: Json) -> bytes:
    return msgspec.json.encode(value, order="sorted")


@given(VALUES, VALUES)
def test_the_patch_makes_the_new_value_of_the_old_one(old: Json, new: Json) -> None:
    kept = copy.deepcopy((old, new))
    operations = difference(old, new)
    assert written(patched(old, operations)) == written(new)
    assert (old, new) == kept
    assert bool(operations) == (written(old) != written(new))
    assert {operation["op"] for operation in operations} <= {"add", "remove", "replace"}


@given(VALUES, VALUES)
def test_it_leads_back_again(old: Json, new: Json) -> None:
    there, back = difference(old, new), difference(new, old)
    assert written(patched(patched(old, there), back)) == written(old)


@given(VALUES, VALUES)
def test_it_is_never_larger_than_the_value_itself(old: Json, new: Json) -> None:
    whole = [{"op": "replace", "path": "", "value": new}]
    assert len(written(difference(old, new))) <= max(len(written(whole)), 2)


@given(VALUES, VALUES)
def test_operations_for_the_changes_alone_are_right_too(old: Json, new: Json) -> None:
    assert written(patched(old, difference(old, new, small=False))) == written(new)


def test_those_can_be_done_to_another_value() -> None:
    operations = difference({"a": 1, "b": 2}, {"a": 3, "new": 4}, small=False)
    assert patched({"a": 1, "b": 2, "theirs": 5}, operations) == {"a": 3, "new": 4, "theirs": 5}


@given(VALUES, VALUES)
def test_under_a_path_it_is_the_same_there(old: Json, new: Json) -> None:
    operations = difference(old, new, "/x~1y")
    assert written(patched({"x/y": old}, operations)) == written({"x/y": new})


@pytest.mark.parametrize(
    ("old", "new", "operations"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"long": "x" * 50, "a": 1}, {"long": "x" * 50}, [{"op": "remove", "path": "/a"}]),
        ({"n": [1, 2, 3, 4, 5, 6, 7]}, {"n": [2, 3, 4, 5, 6, 7]}, [{"op": "remove", "path": "/n/0"}]),
        (["a" * 30, "b" * 30], ["c", "a" * 30, "b" * 30], [{"op": "add", "path": "/0", "value": "c"}]),
        ([0] * 40, [0] * 39, [{"op": "remove", "path": "/39"}]),
        ({"a/b": {"~": "x" * 40, "y": 1}}, {"a/b": {"~": "x" * 40}}, [{"op": "remove", "path": "/a~1b/y"}]),
    ],
)
def test_small_changes(old: Json, new: Json, operations: Json) -> None:
    assert difference(old, new) == operations


def test_a_pointer_names_members_as_they_are() -> None:
    assert pointer("a/b", "~", "") == "/a~1b/~0/"


def test_what_is_nested_deep_is_told_whole() -> None:
    def nested(leaf: int) -> Json:
        value: Json = leaf
        for _ in range(MAX_DEPTH * 3):
            value = {"in": [value]}
        return value

    (operation,) = difference(nested(1), nested(2))
    assert operation["path"].count("/") == MAX_DEPTH
    assert patched(nested(1), [operation]) == nested(2)


# --- a state of 200 KB ----------------------------------------------------------------------------------------------
ROWS = [{"id": n, "title": f"row {n} " + "x" * 60, "done": False, "tags": ["a", "b", str(n)]} for n in range(1_700)]
LARGE: Json = {"rows": ROWS, "by_id": {f"r{n}": {"n": n} for n in range(500)}, "draft": {"text": "hello"}}
NEW_ROW = {"id": -1, "title": "new", "done": True}


def edited(state: Json) -> int:
    state["rows"][700]["done"] = True
    return len("true")


def prepended(state: Json) -> int:
    state["rows"].insert(0, NEW_ROW)
    return len(written(NEW_ROW))


def removed_and_edited(state: Json) -> int:
    del state["rows"][300]
    state["rows"][900]["title"] = "renamed by a tool"
    return len("renamed by a tool")


def moved_on(state: Json) -> int:
    """A window of rows that slides."""
    state["rows"].pop(0)
    state["rows"].append(NEW_ROW)
    return len(written(NEW_ROW))


def scattered(state: Json) -> int:
    for at in range(0, 1_700, 100):
        state["rows"][at]["tags"].append("seen")
    return 17 * len('"seen"')


def swapped(state: Json) -> int:
    rows = state["rows"]
    rows[3], rows[1_600] = rows[1_600], rows[3]
    return len(written(rows[3])) + len(written(rows[1_600]))


CHANGES: list[Callable[[Json], int]] = [edited, prepended, removed_and_edited, moved_on, scattered, swapped]
PER_PLACE = 60
"""Bytes that an operation takes besides the value: its name, and a path in this state."""


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_small_change_of_a_large_state_is_a_small_patch(change: Callable[[Json], int]) -> None:
    assert len(written(LARGE)) > 200_000
    state = copy.deepcopy(LARGE)
    size = change(state)
    operations = difference(LARGE, state)
    assert patched(LARGE, operations) == state
    assert len(written(operations)) <= 2 * size + PER_PLACE * len(operations)
    assert len(operations) <= 17


def test_lists_without_anything_in_common_cost_no_more_than_their_size() -> None:
    old, new = [f"a{n % 7}" for n in range(20_000)], [f"b{n % 5}" for n in range(19_000)]
    assert patched(old, difference(old, new)) == new


def nested(leaf: int) -> Json:
    """120,000 changes in 30,000 lists, of 400 KB."""
    return [[[[[leaf] * 5] * 5] * 5] * 5 for _ in range(200)]


def test_where_everything_has_changed_little_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    look = json_changes._Found._lists

    def counted(*given: Any) -> None:
        nonlocal looked
        looked += 1
        look(*given)

    monkeypatch.setattr(json_changes._Found, "_lists", counted)
    assert difference(nested(1), nested(2)) == [{"op": "replace", "path": "", "value": nested(2)}]
    assert 100 < looked <= MOST_WORK / json_changes.PER_PLACE
    with pytest.raises(TooDifferent):
        difference(nested(1), nested(2), small=False)


LARGEST: Json = {f"k{n}": [n, {"a": str(n)}] for n in range(17_000)}
"""As large as a state may be, of many small members."""


def test_of_what_is_the_same_no_values_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    decode = json_changes._decode

    def counted(text: bytes) -> Json:
        made.append(bytes(text))
        return decode(text)

    monkeypatch.setattr(json_changes, "_decode", counted)
    assert len(written(LARGEST)) > 450_000
    assert difference(LARGEST, LARGEST | {"k7": 0, "new": [1]}) == [
        {"op": "replace", "path": "/k7", "value": 0},
        {"op": "add", "path": "/new", "value": [1]},
    ]
    assert sum(map(len, made)) < 200


def test_many_changes_in_the_largest_state_are_still_told_one_by_one() -> None:
    changed = {name: value if n % 20 else 0 for n, (name, value) in enumerate(LARGEST.items())}
    operations = difference(LARGEST, changed)
    assert (len(operations), patched(LARGEST, operations)) == (850, changed)


def text(json: bytes) -> Document:
    return Document(text=json)


def test_one_value_in_two_spellings_is_no_change() -> None:
    assert changes(text(b'{"a":[1e2,"\\u00e9"]}'), text('{"a":[100.0,"é"]}'.encode())) == []
    assert changes(text(b'{"a":1}'), text(b'{"a":1.0}')) == [{"op": "replace", "path": "/a", "value": 1.0}]


def test_anchors_are_not_looked_for_in_lists_that_are_long_and_quite_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rising = json_changes._longest_rising
    monkeypatch.setattr(json_changes, "_longest_rising", lambda pairs: pytest.fail("slow") if pairs else rising(pairs))
    old, new = list(range(60_000)), list(range(60_000, 0, -1))
    assert patched(old, difference(old, new)) == new
    assert difference(old, [*old[:30_000], "new", *old[30_000:]]) == [
        {"op": "add", "path": "/30000", "value": "new"}
    ], "what is the same at both ends is no matter"
