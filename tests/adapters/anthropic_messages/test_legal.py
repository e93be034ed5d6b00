"""Whatever the transcript: the request is legal, and the same the second time."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.adapter import (
    AssistantTurn,
    Content,
    Output,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.anthropic_messages.adapter import LONGEST_NAME
from agui_gate_adapters.anthropic_messages.request import plan
from agui_gate_adapters.common.names import Names
from agui_gate_adapters.testkit.anthropic import check_messages
from tests.adapters.support import WEATHER, Json, Part, call

from .planning import OLDER, ORIGIN, ours, searched, settings, thought
from .support import ADAPTIVE, ENABLED, SEARCH
from .test_request import MEDIA, PARIS, ROME

TEXTS = st.sampled_from(["", " ", "\n", "hi", "naïve 🙂"])
WIRE_IDS = st.sampled_from(["", "a", "b", "srvtoolu_a", "functions.x:0", "x" * 200])
OUTPUTS = st.builds(Output, TEXTS, st.booleans())
ARGUMENTS = st.sampled_from(["{}", PARIS, ROME, "", "nonsense"])
CALL_PRIVATE = st.none() | st.fixed_dictionaries({"index": st.integers(0, 3), "blocks": st.integers(0, 3)})
PRIVATE = st.none() | st.fixed_dictionaries({"index": st.integers(0, 3)})
LOCAL = st.builds(
    lambda wire_id, arguments, ran, **more: call(wire_id, arguments, ran=ran, **more),
    WIRE_IDS, ARGUMENTS, st.none() | ARGUMENTS, output=OUTPUTS, malformed=st.booleans(), private=CALL_PRIVATE,
    kind=st.sampled_from(["server", "gated", "client"]), name=st.sampled_from(["weather", "a.b", ""]),
)  # fmt: skip
HOSTED = st.builds(searched, st.sampled_from(["srvtoolu_1", "srvtoolu_2"]), output=OUTPUTS) | st.builds(
    lambda kind: call("h", kind=kind, name="mcp"), st.sampled_from(["hosted", "held"])
)
REASONING = st.builds(thought, st.integers(0, 3), TEXTS) | st.builds(ReasoningPart, st.just("r"), private=PRIVATE)
PARTS = st.lists(LOCAL | HOSTED | REASONING | st.builds(TextPart, st.just("m"), TEXTS, PRIVATE), min_size=1, max_size=4)
CONTENT: st.SearchStrategy[Content] = st.builds(Text, TEXTS) | st.sampled_from([media for media, _ in MEDIA])
USERS = st.builds(
    UserTurn, st.just("u"), st.lists(CONTENT, max_size=3).map(tuple), st.sampled_from(["user", "user", "system"])
)


@st.composite
def own(draw: st.DrawFn) -> AssistantTurn:
    """A turn as this adapter makes it: every block in its place, sealed for that place."""
    parts: list[Part] = []
    place = 0
    for part in draw(PARTS):
        if isinstance(part, ReasoningPart):
            words = draw(st.sampled_from(["", "Hm"]))
            parts.append(msgspec.structs.replace(thought(place, words), summary=(words,) if words else ()))
        else:
            parts.append(part)
        place += 2 if isinstance(part, SettledCall) and part.part.private and not part.part.local else 1
    return ours(*parts)


TURNS = st.lists(
    USERS | own() | st.builds(AssistantTurn, st.just("t"), PARTS.map(tuple), st.sampled_from(["", "x", ORIGIN])),
    max_size=6,
)


@given(TURNS, st.sampled_from([None, ENABLED, ADAPTIVE, {"type": "disabled"}]), st.booleans(), st.booleans())
def test_any_transcript_is_legal(
    turns: list[UserTurn | AssistantTurn], thinking: Json | None, cache: bool, tools: bool
) -> None:
    """A1 to A12, whatever was said; and the same bytes the second time."""
    ids_ = (msgspec.structs.replace(turn, id=f"{turn.id}{place}") for place, turn in enumerate(turns))
    request = TurnRequest(tuple(ids_), "Be brief.", (WEATHER,) if tools else ())
    request = Names(request, LONGEST_NAME).request(request)
    made = plan(request, settings(thinking=thinking, cache=cache, hosted_tools=(SEARCH,) if tools else ()))
    assert check_messages(made.body, OLDER) == []
    again = plan(request, settings(thinking=thinking, cache=cache, hosted_tools=(SEARCH,) if tools else ()))
    assert msgspec.json.encode(again.body) == msgspec.json.encode(made.body)
