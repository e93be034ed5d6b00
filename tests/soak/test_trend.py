"""The slope that a soak goes by: what grows is found, and what only jumps is not."""

from pathlib import Path

import pytest

from tests.soak.__main__ import twice
from tests.soak.trend import HOUR, Allowed, slope, trend

TEN_SECONDS = [10.0 * n for n in range(300)]


def test_what_grows_slowly_is_found_whatever_jumps() -> None:
    """A megabyte in ten minutes, beside noise of three, and a restart that shows half of it."""
    samples = [
        (at, 100 + at / 600 + 3 * (n % 3) - (50 if n in range(40, 55) else 0)) for n, at in enumerate(TEN_SECONDS)
    ]
    found = trend("rss", samples, Allowed(0.02, 1))
    assert found.an_hour == pytest.approx(HOUR / 600, rel=0.1)
    assert not found.is_flat


def test_what_only_jumps_is_flat() -> None:
    samples = [(at, 100.0 + 20 * (n % 7 == 0)) for n, at in enumerate(TEN_SECONDS)]
    found = trend("rss", samples, Allowed(0, 1))
    assert (found.growth, found.highest, found.is_flat) == (0, 120, True)


def test_a_step_that_stays_is_no_slope_of_hours_but_a_slope_that_ends_is_one() -> None:
    """A cache that fills up in the first tenth is flat; one that needs all the time is not."""
    filled = [(at, min(at, 300.0)) for at in TEN_SECONDS]
    filling = [(at, min(at, 2_900.0)) for at in TEN_SECONDS]
    assert trend("kept", filled, Allowed(0.05, 1)).is_flat
    assert not trend("kept", filling, Allowed(0.05, 1)).is_flat


def test_fewer_than_two_samples_have_no_slope() -> None:
    assert slope([]) == slope([(1.0, 5.0)]) == 0


def test_a_call_that_took_effect_twice_is_found(tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    line = '{"tool": "refund", "order": "A1", "key": "%s", "pid": 1}\n'
    effects.write_text(line % "a" + line % "b")
    assert twice(effects) == []
    effects.write_text(line % "a" + line % "b" + line % "a")
    assert twice(effects) == ["a"]
