"""Judged = shown = recorded = run (T1): what a function gets is what the JSON says that a person saw."""

import datetime
import enum
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import TypedDict

from agui_gate import ToolError, tool
from agui_gate.core.json_text import canonical
from agui_gate.errors import ConfigurationError
from tests.requirements import shows
from tests.support.chance import examples

pytestmark = shows("T1")


class Color(enum.Enum):
    RED = "red"
    ONE = 1


class Options(pydantic.BaseModel):
    model_config = {"extra": "forbid"}
    force: bool = True
    tags: list[str] = []


class Open(pydantic.BaseModel):
    model_config = {"extra": "allow"}
    a: int = 1


class Route(TypedDict):
    to: str
    via: NotRequired[str]


@dataclass
class Point:
    x: int
    y: int = 2


def made(annotation, default=...):
    """A gated tool of one argument."""

    def f(x) -> None: ...

    f.__annotations__["x"] = annotation
    f.__defaults__ = None if default is ... else (default,)
    return tool(gate=True)(f)


Shouted = Annotated[str, pydantic.AfterValidator(str.upper)]
Doubled = Annotated[int, pydantic.AfterValidator(lambda x: x * 2)]
Rounded = Annotated[float, pydantic.PlainSerializer(round)]
Split = Annotated[list[str], pydantic.BeforeValidator(lambda v: v.split(",") if isinstance(v, str) else v)]


@pytest.mark.parametrize(
    ("annotation", "given", "shown"),
    [
        (float, 5, 5),
        (float, 9007199254740993, 9007199254740992),
        (float, -0.0, 0),
        (int, 5.0, 5),
        (int, 2**80, 2**80),
        (Decimal, 12.5, "12.5"),
        (Decimal, "1_000", "1000"),
        (datetime.date, "2026-11-21", "2026-11-21"),
        (datetime.datetime, "2026-11-21T10:00:00+01:00", "2026-11-21T10:00:00+01:00"),
        (datetime.timedelta, "P1D", "P1D"),
        (uuid.UUID, "F973EEE6-95EF-44B9-ADFB-2E66F4D3C680", "f973eee6-95ef-44b9-adfb-2e66f4d3c680"),
        (bytes, "é", "é"),
        (Color, "red", "red"),
        (Color, 1, 1),
        (Literal[1, "a"], 1, 1),
        (int | str, "5", "5"),
        (int | str, 5, 5),
        (int | float, 5.5, 5.5),
        (bool | int, 1, 1),
        (str | None, None, None),
        (set[int], [2, 1, 2], [1, 2]),
        (frozenset[str], ["b", "a"], None),
        (tuple[int, str], [1, "a"], [1, "a"]),
        (dict[str, float], {"a": 1}, {"a": 1}),
        (dict[int, str], {"1": "a"}, {"1": "a"}),
        (Options, {}, {"force": True, "tags": []}),
        (Options | None, {"force": False}, {"force": False, "tags": []}),
        (list[Options], [{}], [{"force": True, "tags": []}]),
        (Open, {"b": [1]}, {"a": 1, "b": [1]}),
        (Route, {"to": "x"}, {"to": "x"}),
        (Point, {"x": 1}, {"x": 1, "y": 2}),
        (Shouted, "a", "A"),
        (Split, "a,b", ["a", "b"]),
        (Any, {"a": [5.0]}, {"a": [5]}),
        (str, "\u202e\U0001f600", "\u202e\U0001f600"),
    ],
)
def test_what_is_shown_is_what_runs(annotation, given, shown) -> None:
    f = made(annotation)
    judged = f.judged({"x": given})
    read = json.loads(judged)
    assert shown is None or read == {"x": shown}
    assert f.judged(read) == judged, "judging it again changes nothing"
    kwargs = f.exactly(canonical(read))
    assert (
        json.loads(f.judged(json.loads(pydantic.TypeAdapter(dict[str, Any]).dump_json(kwargs, by_alias=True)))) == read
    )


@pytest.mark.parametrize(
    ("annotation", "given"),
    [
        (bool, "true"),
        (bool, 1),
        (int, "5"),
        (int, True),
        (int, 5.5),
        (float, "1_000"),
        (float, "nan"),
        (float, "Infinity"),
        (float, True),
        (Decimal, "NaN"),
        (Decimal, True),
        (str, 5),
        (datetime.date, 0),
        (Literal[1], "1"),
        (Options, {"force": 1}),
        (Options, {"fource": True}),
        (list[int], "1"),
        (dict[str, int], {"a": "1"}),
        (Point, {"x": "1"}),
        (Route, {"to": 1}),
    ],
)
def test_what_the_schema_does_not_say_is_refused(annotation, given) -> None:
    with pytest.raises(ToolError, match="Invalid arguments for f: x"):
        made(annotation).judged({"x": given})


@pytest.mark.parametrize(
    ("annotation", "given"),
    [(Doubled, 2), (Rounded, 1.4), (Annotated[str, pydantic.BeforeValidator(lambda v: v + "!")], "a")],
)
def test_what_would_be_something_else_when_it_runs_does_not_run(annotation, given: float | int | str) -> None:
    f = made(annotation)
    with pytest.raises(ToolError, match="x: read again, they would be something else"):
        f.judged({"x": given})
    if annotation is Doubled:
        with pytest.raises(ToolError, match="x: read again, they would be something else"):
            f.exactly(canonical({"x": 2}))


def fails(error):
    def check(_) -> None:
        raise error

    return Annotated[int, pydantic.AfterValidator(check)]


@pytest.mark.parametrize(
    "error", [TypeError("secret"), SystemExit(), RecursionError(), ToolError("No."), ValueError("No.")]
)
def test_a_validator_that_fails_is_an_error_of_the_call(error) -> None:
    with pytest.raises(ToolError, match="Invalid arguments for f") as caught:
        made(fails(error)).judged({"x": 1})
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("secret", [pydantic.SecretStr, list[pydantic.SecretStr], pydantic.SecretStr | None])
def test_a_secret_can_not_be_shown(secret) -> None:
    with pytest.raises(ConfigurationError, match="can't take secrets"):
        made(secret)
    tool(lambda x: x, name="f")  # without a gate nobody has to see it


def test_what_can_be_read_only_once_can_not_be_shown_and_run() -> None:
    with pytest.raises(ConfigurationError, match="take a list"):
        made(dict[str, Iterable[int]])
    assert made(Sequence[int]).judged({"x": [1]}) == '{"x":[1]}'


@pytest.mark.filterwarnings("ignore::pydantic.json_schema.PydanticJsonSchemaWarning")
@pytest.mark.parametrize(
    ("annotation", "default"),
    [(float, "5"), (bool, 1), (float, float("inf")), (int, object()), (Literal["a"], "b"), (Options, {"force": "x"})],
)
def test_a_default_that_is_no_value_of_its_type_can_not_be_shown(annotation, default) -> None:
    with pytest.raises(ConfigurationError, match="a default is not valid for its type"):
        made(annotation, default)


def test_nothing_as_a_default_needs_no_type_of_its_own() -> None:
    f = made(str, None)
    assert (f.judged({}), f.judged({"x": None}), f.judged({"x": "a"})) == ('{"x":null}', '{"x":null}', '{"x":"a"}')
    assert f.exactly(canonical({"x": None})) == {"x": None}


class Note(pydantic.BaseModel):
    text: str = None
    to: str | None = None
    loud: bool = True


def test_nothing_as_a_default_within_a_model_is_left_out_where_it_has_to_be() -> None:
    f = made(list[Note])
    judged = f.judged({"x": [{}, {"to": None, "text": "a"}]})
    assert json.loads(judged) == {"x": [{"loud": True}, {"loud": True, "text": "a", "to": None}]}
    assert f.judged(json.loads(judged)) == judged
    assert f.exactly(judged) == {"x": [Note(), Note(text="a")]}
    assert json.loads(made(Note).judged({"x": {"text": "a"}})) == {"x": {"text": "a", "to": None, "loud": True}}
    with pytest.raises(ToolError, match="text"):
        f.judged({"x": [{"text": None}]})


def test_what_is_made_anew_each_time_is_made_once() -> None:
    f = made(Annotated[uuid.UUID, pydantic.Field(default_factory=uuid.uuid4)])
    judged = json.loads(f.judged({}))
    assert f.exactly(canonical(judged)) == {"x": uuid.UUID(judged["x"])}


def test_the_order_of_a_set_is_another_one_in_another_process() -> None:
    """Recorded in one order, it would be another value in the next process: an edit of something else was refused."""
    f = made(dict[str, set[str] | None])
    names = [f"{n:x}" for n in range(50)]
    assert f.judged({"x": {"a": names[::-1]}}) == canonical({"x": {"a": sorted(names)}})
    f = made(list[str])
    assert f.judged({"x": ["b", "a"]}) == '{"x":["b","a"]}'
    f = made(set[str])
    assert f.exactly(f.judged({"x": ["b", "a"]})) == {"x": {"a", "b"}}


@tool(gate=True)
def everything(
    amount: float,
    count: int = 3,
    note: str | None = None,
    on: datetime.date = datetime.date(2026, 1, 1),
    color: Color = Color.RED,
    options: Options = Options(),  # noqa: B008
    price: Decimal = Decimal("1.50"),
    tags: set[str] = frozenset(),
    either: int | str | list[int] = 0,
    free: Any = None,
) -> None:
    """All kinds."""


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4)
)
texts = st.sampled_from(["5", "true", "1_000", "nan", "red", "2026-01-01", "1.50", "", "null"])
values = (
    scalars
    | texts
    | st.lists(scalars | texts, max_size=2)
    | st.dictionaries(st.sampled_from(["force", "tags"]), scalars)
)
fitting = st.fixed_dictionaries(
    {"amount": st.floats(-1e15, 1e15) | st.integers()},
    optional={
        "count": st.integers(),
        "note": st.none() | st.text(max_size=4),
        "on": st.dates().map(str),
        "color": st.sampled_from(["red", 1]),
        "options": st.fixed_dictionaries(
            {}, optional={"force": st.booleans(), "tags": st.lists(st.text(), max_size=2)}
        ),
        "price": st.decimals(allow_nan=False, allow_infinity=False).map(str),
        "tags": st.lists(st.sampled_from("abc")),
        "either": st.integers() | st.text() | st.lists(st.integers(), max_size=2),
        "free": values,
    },
)
sloppy = st.dictionaries(st.sampled_from([*everything.parameters["properties"], "other"]), values)


def same(left, right):
    """As Python compares, but for booleans, which are no numbers."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)


@examples(75)
@given(fitting | sloppy)
def test_judged_is_recorded_is_run(arguments) -> None:
    """Whatever a model says: either nobody is asked, or one value is shown, and it is the one that runs."""
    try:
        judged = everything.judged(arguments)
    except ToolError:
        return
    recorded = json.loads(judged)
    assert set(recorded) == set(everything.parameters["properties"]), "every default is there"
    assert everything.judged(recorded) == judged
    kwargs = everything.exactly(canonical(recorded))
    for name in ("amount", "count", "note", "either"):
        assert same(kwargs[name], recorded[name]) or (name == "amount" and float(recorded[name]) == kwargs[name])
    assert str(kwargs["on"]) == recorded["on"]
    assert kwargs["color"].value == recorded["color"]
    assert kwargs["options"].model_dump() == recorded["options"]
    assert str(kwargs["price"]) == recorded["price"]
    assert kwargs["tags"] == set(recorded["tags"])
    for name in ("count", "note", "either"):
        assert name not in arguments or same(arguments[name], recorded[name]), "and no value was made another one"


@examples(50)
@given(fitting)
def test_what_fits_is_never_refused(arguments) -> None:
    try:
        json.dumps(arguments, allow_nan=False).encode()
    except UnicodeError:
        return
    everything.judged(arguments)
