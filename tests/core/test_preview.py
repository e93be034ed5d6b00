"""A call's arguments while they arrive, laid over the shared state."""

import copy
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.agents.tool import tool
from agui_gate.core.argument_preview import MAX_SHOWN, Growing, found, laid_over, place_of, put_back
from agui_gate.core.json_text import so_far
from agui_gate.errors import ConfigurationError
from tests.core.test_json_diff import VALUES, written

OBJECTS = st.dictionaries(st.text("abc", max_size=2), VALUES, max_size=3)
PLACES = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(tuple)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("", ()),
        ("draft", ("draft",)),
        ("draft.text", ("draft", "text")),
        ("/draft/text", ("draft", "text")),
        ("/a.b/c~1d~0", ("a.b", "c/d~")),
    ],
)
def test_a_path_is_a_pointer_or_names_with_dots(path: str, place: tuple[str, ...]) -> None:
    assert place_of(path) == place

    @tool(streams_to=path)
    def write(text: str) -> None:
        """Writes."""

    assert write.place == place


@pytest.mark.parametrize("path", ["a..b", "/", "a.", "items.0", "/items/-", "/a//b"])
def test_other_paths_are_refused_when_the_tool_is_made(path: str) -> None:
    def write(text: str) -> None:
        """Writes."""

    with pytest.raises(ConfigurationError, match="names no member of an object"):
        tool(streams_to=path)(write)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", {}),
        ('{"a', None),
        ('{"a"', None),
        ('{"a":', None),
        ('{"a":1', {"a": 1}),
        ('{"a":1,', None),
        ('{"a":"x', {"a": "x"}),
        ('{"a":"x\\', {"a": 'x"'}),
        ('{"a":"\\ud83d', {"a": "\U0001f400"}),
        ('{"a":tr', {"a": True}),
        ('{"a":[{"b":"c"}', {"a": [{"b": "c"}]}),
        ('{"a":1}', {"a": 1}),
        ("no JSON", None),
        ("", None),
    ],
)
def test_what_the_beginning_of_a_text_says(text: str, said: Any) -> None:
    assert so_far(text) == said


@given(OBJECTS)
def test_it_never_says_a_name_that_is_not_there(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    for end in range(len(text)):
        said = so_far(text[:end])
        assert said is None or set(said) <= set(value)


@given(VALUES, PLACES, OBJECTS)
def test_what_is_laid_over_a_state_can_be_put_back(state: Any, place: tuple[str, ...], arguments: Any) -> None:
    state = {"a": state, "c": 1}
    kept = copy.deepcopy(state)
    over = laid_over(state, place, arguments)
    assert state == kept
    for name, value in arguments.items():
        at = found(over, place)
        if at and isinstance(at[0], dict):
            assert written(at[0][name]) == written(value)
    back = over
    for name in arguments:
        back = put_back(back, (*place, name), state)
    assert written(back) == written(state) or not arguments


def test_what_somebody_else_has_put_beside_the_arguments_stays_when_they_go() -> None:
    shown = {"draft": {"text": "a preview", "note": "the user's own"}}
    for was in ({}, {"draft": None}, {"draft": "words"}, {"draft": {}}):
        assert put_back(shown, ("draft", "text"), was) == {"draft": {"note": "the user's own"}}
    assert put_back({"draft": {"text": "a preview"}}, ("draft", "text"), {"draft": {"title": "t"}}) == {"draft": {}}
    assert put_back({"draft": {"text": "a preview"}}, ("draft", "text"), {"draft": None}) == {"draft": None}


def test_members_beside_the_arguments_stay() -> None:
    assert laid_over({"d": {"title": "t", "text": "old"}}, ("d",), {"text": "new"}) == {
        "d": {"title": "t", "text": "new"}
    }
    assert laid_over({"d": "words"}, ("d",), {"text": "new"}) == {"d": {"text": "new"}}
    assert laid_over({}, ("d", "e"), {"text": "new"}) == {"d": {"e": {"text": "new"}}}
    assert laid_over({"d": [1]}, ("d", "e"), {"text": "new"}) == {"d": [1]}


@pytest.mark.parametrize("piece", [1, 3, 50])
def test_it_is_shown_less_often_the_longer_it_gets(piece: int) -> None:
    text = json.dumps({"title": "t", "text": "x" * 100_000})
    shown: list[Any] = []
    growing = Growing(shown.append)
    for at in range(0, len(text), piece):
        growing.add(text[at : at + piece])
    growing.end(text)
    assert 20 < len(shown) < 70
    assert shown[-1] == json.loads(text)
    lengths = [len(arguments.get("text", "")) for arguments in shown]
    assert all(before <= after for before, after in pairwise(lengths))
    assert sum(lengths) < 12 * len(text)


def test_what_is_too_long_is_not_shown_further() -> None:
    shown: list[Any] = []
    growing = Growing(shown.append)
    growing.add('{"text":"')
    for _ in range(100):
        growing.add("x" * 10_000)
    growing.end('{"text":"' + "x" * 1_000_000 + '"}')
    assert len(shown) < 40
    assert max(len(arguments["text"]) for arguments in shown[:-1]) <= MAX_SHOWN + 10_000
    assert shown[-1] is None, "it can't be shown whole, so it isn't shown at all"
