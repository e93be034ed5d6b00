"""Names of tools that providers don't take: one way there and back, for every adapter (T10)."""

import re
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.adapter import (
    AssistantTurn,
    CallEnd,
    CallPart,
    CallStart,
    ModelEvent,
    NamedTool,
    Output,
    SettledCall,
    Text,
    ToolSpec,
    TurnDone,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.common.names import Names, stream_named

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
NAMES = st.one_of(
    st.sampled_from(
        ["pay", "functions.pay", "functions_pay", "multi_tool_use.parallel", "a b", "a_b", "", "x" * 200, "支"]
    ),
    st.text(max_size=6),
)


def call(name: str, kind: Any = "server") -> SettledCall:
    return SettledCall(CallPart("c", "c", name, "{}", "m", kind=kind), Output("ok"), "{}")


def request(tools: Sequence[str] = (), called: Sequence[str] = (), choice: str | None = None) -> TurnRequest:
    turns = (UserTurn("u", (Text("hi"),)), AssistantTurn("t", tuple(map(call, called))))
    specs = tuple(ToolSpec(name, "", OBJECT) for name in tools)
    return TurnRequest(turns, "", specs, None, None if choice is None else NamedTool(choice))


def names_of(made: TurnRequest) -> list[str]:
    turns = [turn for turn in made.transcript if isinstance(turn, AssistantTurn)]
    return [tool.name for tool in made.tools] + [one.part.name for turn in turns for one in turn.calls]


@given(st.lists(NAMES, max_size=4, unique=True), st.lists(NAMES, max_size=4))
def test_any_names_are_legal_distinct_and_the_same_every_time(tools: list[str], called: list[str]) -> None:
    asked = request(tools, called)
    names = Names(asked)
    made = names_of(names.request(asked))
    assert all(LEGAL.fullmatch(name) for name in made)
    assert [names.ours(name) for name in made] == [*tools, *called]
    assert len(set(made)) == len({*tools, *called})
    assert made == names_of(Names(asked).request(asked))
    assert bool(names) == any(not LEGAL.fullmatch(name) for name in (*tools, *called))


@given(NAMES, NAMES)
def test_a_name_is_the_same_in_the_next_request(name: str, other: str) -> None:
    assert Names(request([name])).wire(name) == Names(request([name, other], [name])).wire(name)


def test_a_made_name_never_is_anothers() -> None:
    """Not even where somebody calls a tool like that on purpose."""
    made = Names(request(["a.b"])).wire("a.b")
    names = Names(request(["a.b", made]))
    assert names.wire(made) == made
    assert names.wire("a.b") != made
    assert names.ours(made) == made, "it is not `a.b` that is called then"


def test_a_name_that_looks_like_a_tools_is_not_that_tools() -> None:
    names = Names(request(["pay"], ["functions.pay"]))
    assert names.wire("pay") == "pay"
    assert names.ours(names.wire("functions.pay")) == "functions.pay"
    assert names.ours("functions_pay") == "functions_pay"


def test_what_is_fine_goes_as_it_is() -> None:
    asked = request(["pay"], ["x" * 100])
    assert Names(asked, longest=128).request(asked) == asked
    assert not Names(asked, longest=128)


def test_a_choice_and_hosted_calls() -> None:
    hosted = AssistantTurn("t", (call("web.search", "hosted"),))
    asked = TurnRequest((hosted,), "", (ToolSpec("a.b", "", OBJECT),), None, NamedTool("a.b"))
    made = Names(asked).request(asked)
    assert made.transcript == (hosted,), "it is told as text"
    assert made.tool_choice == NamedTool(made.tools[0].name)


def test_calls_come_back_under_their_own_names() -> None:
    asked = request(["a.b"])
    made = Names(asked).wire("a.b")
    seen: list[ModelEvent] = []

    async def stream(told: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        assert told.tools[0].name == made
        yield [CallStart("1", "c1", made), CallEnd("1", "{}")]
        yield [CallStart("2", "c2", made, hosted=True), CallStart("3", "c3", "other"), TurnDone()]

    async def main() -> None:
        async for batch in stream_named(asked, stream):
            seen.extend(batch)

    anyio.run(main)
    assert [event.name for event in seen if isinstance(event, CallStart)] == ["a.b", made, "other"]
