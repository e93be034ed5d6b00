"""Token counts are what the specification calls them, whatever a provider says."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.adapter import TurnDone, Usage, token_count
from agui_gate.core.usage import MOST
from agui_gate.runs.agent_loop import totals
from tests.conforming import conforms

NO_COUNTS = [-1, 1.5, "5", "many", True, [5], {"tokens": 5}, float("nan"), float("inf"), MOST + 1, 2**70, None]
ANYTHING = st.one_of(st.none(), st.integers(), st.floats(), st.text(), st.booleans(), st.integers(0, 50))


def wire(usage: Usage) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(usage))
    return found


@conforms("USE-3")
@pytest.mark.parametrize("said", NO_COUNTS, ids=repr)
def test_what_is_no_count_is_not_reported(said: Any) -> None:
    assert token_count(said) is None
    assert wire(Usage("p", "m", said, said, said, said, said, said)) == {"provider": "p", "model": "m"}


@conforms("USE-3")
def test_zero_is_said_and_not_reported_is_left_out() -> None:
    assert wire(Usage("p", "m", 0, None, 0, 0)) == {
        "provider": "p",
        "model": "m",
        "inputTokens": 0,
        "cachedInputTokens": 0,
    }
    assert Usage("p", "m", 0).reported
    assert not Usage("p", "m").reported


@conforms("USE-3")
@pytest.mark.parametrize("most", [MOST, float(2**52), 7.0])
def test_whole_numbers_are_counts(most: float) -> None:
    assert token_count(most) == int(most)
    assert type(token_count(most)) is int


@conforms("USE-1", "USE-2")
@pytest.mark.parametrize(
    ("said", "output", "total"),
    [
        ((10, 5, 15), 5, 15),
        ((10, 5, 999), 5, 15),
        ((10, 5, None), 5, 15),
        ((10, 5, 15, None, 3), 5, 15),
        ((10, 5, 18, None, 3), 8, 18),  # beside: the provider's own total shows it
        ((10, 0, 13, None, 3), 3, 13),
        ((10, 5, None, None, 40), 45, 55),  # a part can't be larger than its whole
        ((10, 5, 10, None, 0), 5, 15),
        ((None, 5, 5), 5, None),
        ((10, None, 15), None, None),
        ((MOST, 1, MOST), 1, None),
    ],
)
def test_the_total_is_input_and_output(said: tuple[Any, ...], output: int | None, total: int | None) -> None:
    usage = Usage("p", "m", *said)
    assert (usage.output_tokens, usage.total_tokens) == (output, total)


@conforms("USE-1")
def test_cached_tokens_beside_the_input_are_added() -> None:
    usage = Usage("p", "m", 10, 5, 15, 100, cache_write_input_tokens=20)
    assert (usage.input_tokens, usage.total_tokens) == (130, 135)
    inside = Usage("p", "m", 130, 5, 135, 100, cache_write_input_tokens=20)
    assert inside.input_tokens == 130


@conforms("USE-1")
def test_one_entry_per_provider_and_model() -> None:
    """Sums are of what is known, and what was added to a whole is not added again."""
    beside = Usage("p", "m", 10, 5, 18, None, 3)
    turns = [
        beside,
        Usage("p", "n", 1, 1),
        None,
        Usage("p", "m"),
        beside,
        Usage("p", "m", 1, None, cached_input_tokens=0),
    ]
    assert totals([TurnDone(usage=usage) for usage in turns]) == (
        Usage("p", "m", 21, 16, None, 0, 6),
        Usage("p", "n", 1, 1),
    )
    assert totals([TurnDone(usage=beside)] * 2)[0].total_tokens == 36


@conforms("USE-3")
def test_without_any_count_there_is_no_entry() -> None:
    assert totals([TurnDone(), TurnDone(usage=Usage("p", "m"))]) == ()


@conforms("USE-1", "USE-2", "USE-3")
@given(st.lists(ANYTHING, min_size=6, max_size=6), st.lists(ANYTHING, min_size=6, max_size=6))
def test_counts_agree_whatever_was_said(first: list[Any], second: list[Any]) -> None:
    for usage in (Usage("", "", *first), Usage("", "", *first).plus(Usage("", "", *second))):
        counts = {name: getattr(usage, name) for name in usage.__struct_fields__[2:]}
        assert all(value is None or (type(value) is int and 0 <= value <= MOST) for value in counts.values())
        read, written = usage.input_tokens, usage.output_tokens
        if read is not None:
            assert read >= (usage.cached_input_tokens or 0) + (usage.cache_write_input_tokens or 0)
        if written is not None:
            assert written >= (usage.reasoning_tokens or 0)
        if usage.total_tokens is not None:
            assert usage.total_tokens == (read or 0) + (written or 0)
        assert msgspec.structs.replace(usage) == usage
