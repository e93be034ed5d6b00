"""JSON Patch: the examples of RFC 6902, appendix A, and what else may go wrong."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.json_changes import MAX_LEVELS, NotApplicable, patched
from agui_gate.core.work_budget import TooMuchWork, Work

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab/~", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("before", "operations", "after"),
    [
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, [{"op": "add", "path": "/foo/1", "value": "qux"}], {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
        ({"baz": "qux"}, [{"op": "replace", "path": "/baz", "value": "boo"}], {"baz": "boo"}),
        ({"a": {"b": 1}, "c": {}}, [{"op": "move", "from": "/a/b", "path": "/c/d"}], {"a": {}, "c": {"d": 1}}),
        ({"foo": [1, 2, 3, 4]}, [{"op": "move", "from": "/foo/1", "path": "/foo/3"}], {"foo": [1, 3, 4, 2]}),
        ({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}),
        ({"foo": ["bar"]}, [{"op": "add", "path": "/foo/-", "value": ["abc"]}], {"foo": ["bar", ["abc"]]}),
        ({"foo": 1}, [{"op": "replace", "path": "", "value": [1]}], [1]),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
        ({"a": 1, "b": 2}, [{"op": "test", "path": "", "value": {"b": 2, "a": 1}}], {"a": 1, "b": 2}),
        ({"a": {"": 1}}, [{"op": "replace", "path": "/a/", "value": 2}], {"a": {"": 2}}),
    ],
)
def test_operations_do_what_the_rfc_says(before: Any, operations: list[dict[str, Any]], after: Any) -> None:
    kept = deepcopy(before)
    assert patched(before, operations) == after
    assert before == kept


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "add", "path": "/nowhere/a", "value": 1}, "nothing at '/nowhere/a'"),
        ({"op": "add", "path": "/text/a", "value": 1}, "neither an object nor an array"),
        ({"op": "add", "path": "/list/3", "value": 1}, "nothing at"),
        ({"op": "add", "path": "/list/01", "value": 1}, "nothing at"),
        ({"op": "add", "path": "text", "value": 1}, "no JSON pointer"),
        ({"op": "remove", "path": "/list/-"}, "nothing at"),
        ({"op": "remove", "path": "/list/2"}, "nothing at"),
        ({"op": "remove", "path": "/list/-1"}, "nothing at"),
        ({"op": "replace", "path": "/other", "value": 1}, "nothing at"),
        ({"op": "test", "path": "/text", "value": "b"}, "another value"),
        ({"op": "test", "path": "/list/0", "value": True}, "another value"),
        ({"op": "move", "from": "/list", "path": "/list/0"}, "nothing at"),
        ({"op": "rename", "path": "/text"}, "no operation 'rename'"),
    ],
)
def test_what_can_not_be_done_says_so_and_changes_nothing(operation: dict[str, Any], why: str) -> None:
    value = {"text": "a", "list": [1, 2]}
    with pytest.raises(NotApplicable, match=why):
        patched(value, [{"op": "add", "path": "/first", "value": 1}, operation])
    assert value == {"text": "a", "list": [1, 2]}


@given(JSON, st.text("ab", max_size=2), JSON)
def test_what_was_added_is_there_and_what_is_removed_again_is_gone(value: Any, name: str, new: Any) -> None:
    before = {"in": value}
    added = {"op": "add", "path": f"/{name}", "value": new}
    assert patched(before, [added, {"op": "test", "path": f"/{name}", "value": new}]) == before | {name: new}
    assert patched(before, [added, {"op": "remove", "path": f"/{name}"}]) == before


def test_what_does_not_change_is_not_copied() -> None:
    """A change of a large state would take as long as copying all of it, and there may be many."""
    before = {"list": [{"a": 1}, {"b": 2}], "rest": {"large": [1, 2, 3]}}
    after = patched(before, [{"op": "replace", "path": "/list/0/a", "value": 3}])
    assert after["rest"] is before["rest"]
    assert after["list"][1] is before["list"][1]
    assert (before["list"][0], after["list"][0]) == ({"a": 1}, {"a": 3})


def test_what_was_copied_is_changed_in_one_place() -> None:
    operations = [
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/a/y", "value": 2},
        {"op": "copy", "from": "", "path": "/all"},
        {"op": "remove", "path": "/all/b/x"},
    ]
    after = patched({"a": {}}, operations)
    assert after == {"a": {"x": 1, "y": 2}, "b": {"x": 1}, "all": {"a": {"x": 1, "y": 2}, "b": {}}}


def test_copies_of_copies_come_to_an_end() -> None:
    value: Any = {"b": "x" * 100}
    twice = [{"op": "copy", "from": "", "path": "/a"}, {"op": "copy", "from": "", "path": "/c"}]
    with pytest.raises(NotApplicable, match="too much"):
        patched(value, twice * 40)
    work, made = Work(), [value]
    with suppress(NotApplicable):
        while len(made) < 40:
            made.append(patched(made[-1], twice, work))
    assert len(made) < 40


@pytest.mark.parametrize("way", ["move", "copy"])
def test_what_is_moved_into_itself_again_and_again_stays_such_that_it_can_be_written(way: str) -> None:
    """Else a peer makes a state that its client can't send back any more, whatever it is asked."""
    deeper = [
        {"op": "add", "path": "/w", "value": {}},
        {"op": way, "from": "/a", "path": "/w/a"},
        {"op": "move", "from": "/w", "path": "/a"},
    ]
    value: Any = {"a": {}}
    for _ in range(MAX_LEVELS):
        with suppress(NotApplicable):
            value = patched(value, deeper)
    assert msgspec.json.encode(value)
    with pytest.raises(NotApplicable, match="too deep"):
        patched(value, deeper)
    with pytest.raises(TooMuchWork):
        patched({"a": [[]] * 100_000}, deeper * 100, Work())
