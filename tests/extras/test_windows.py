"""What of a long conversation a model is sent: legal parts of it, and as much as there is room for."""

from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.transcript import (
    AssistantTurn,
    CallPart,
    Media,
    Output,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    UserTurn,
)
from agui_gate.extras.context_windows import (
    WHOLE,
    Window,
    left_out,
    longer,
    newest_rounds,
    newest_tokens,
    rounds,
    seen,
    size_of,
)

Turns = list[UserTurn | AssistantTurn]


def user(number: int, size: int = 4) -> UserTurn:
    return UserTurn(f"u{number}", (Text("x" * size),))


def assistant(number: int, size: int = 4) -> AssistantTurn:
    call = CallPart(f"c{number}", f"c{number}", "search", "{}", f"m{number}")
    parts = (ReasoningPart(f"r{number}", ("hm",)), TextPart(f"t{number}", "y" * size))
    return AssistantTurn(f"a{number}", (*parts, SettledCall(call, Output("z" * size), "{}")))


@st.composite
def conversations(draw: st.DrawFn) -> Turns:
    kinds = draw(st.lists(st.tuples(st.booleans(), st.integers(0, 400)), max_size=12))
    return [user(n, size) if speaks else assistant(n, size) for n, (speaks, size) in enumerate(kinds)]


@given(conversations(), st.integers(1, 6))
def test_rounds_are_whole(turns: Turns, number: int) -> None:
    kept = seen(turns, newest_rounds(turns, number))
    assert kept is not None
    assert list(kept) == turns[len(turns) - len(kept) :]
    if len(kept) < len(turns):
        assert len(rounds(kept)) == number
        assert rounds(kept)[0] == 0


@given(conversations(), st.integers(1, 600))
def test_what_is_sent_is_no_longer_than_it_may_be(turns: Turns, tokens: int) -> None:
    window = newest_tokens(turns, tokens)
    kept, gone = seen(turns, window), left_out(turns, window)
    assert kept is not None
    assert sorted(map(id, (*kept, *gone))) == sorted(map(id, turns))
    if window == WHOLE:
        return
    assert isinstance(kept[0], UserTurn)
    assert kept[-1] is turns[-1]
    newest = turns[rounds(turns)[-1] :]
    said = [turn for turn in newest if isinstance(turn, UserTurn)]
    assert all(turn in kept for turn in said), "what the user wants now stays"
    assert not longer(kept, tokens) or list(kept) in ([*said, turns[-1]], said)


@given(conversations(), st.integers(1, 600))
def test_one_more_round_would_be_too_long(turns: Turns, tokens: int) -> None:
    window = newest_tokens(turns, tokens)
    kept = seen(turns, window)
    assert kept is not None
    earlier = [place for place in rounds(turns) if place < len(turns) - len(kept)]
    if not window.then and earlier and window != WHOLE:
        assert longer(turns[earlier[-1] :], tokens)


def test_a_window_of_another_conversation_is_none() -> None:
    turns = (user(0), assistant(1))
    assert seen(turns, Window("u9")) is None
    assert seen(turns, Window("u0", "a9")) is None
    assert left_out(turns, Window("u9")) == ()


def test_all_that_is_said_counts() -> None:
    picture = UserTurn("u", (Text("x" * 40), Media("image", "url", "https://example.com/a.png")))
    assert size_of(picture) == 8 + 10 + 1_000
    assert size_of(UserTurn("u", (Text("ü" * 40),))) == 8 + 20
    call = CallPart("c", "c", "find", "{}", "m")
    parts = (Text("x" * 8), Text("x" * 8))
    assert size_of(AssistantTurn("a", (SettledCall(call, Output("", parts=parts), '{"q":1}'),))) == 8 + 8 + 1 + 2 + 4
    assert size_of(AssistantTurn("a", (ReasoningPart("r", ("x" * 8,), "y" * 80),))) == 8 + 20
