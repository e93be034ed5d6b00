"""The benchmark itself: a checker that can fail, a table that tells the truth, in-process figures with wide margins.

The margins are several times the goals: here a busy machine must not decide, only a change of the order of growth.
"""

from functools import partial

import pytest

from agui_gate.core.sanitizer import sanitize
from tests.bench import figures, provider
from tests.bench.checking import WrongStream, check_run, stamps
from tests.bench.report import Row, compared, grown, median_row, table
from tests.bench.work import history, word
from tests.support.timing import lines_run

STARTED = b'{"type":"RUN_STARTED"}'
FINISHED = b'{"type":"RUN_FINISHED"}'


def delta(text: str) -> bytes:
    return b'{"type":"TEXT_MESSAGE_CONTENT","delta":"%b"}' % text.encode()


def response(*events: bytes, end: bool = True) -> bytes:
    chunks = (b"id: run:%d\ndata: %b\n\n" % (number, event) for number, event in enumerate(events))
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + body + (b"0\r\n\r\n" if end else b"")


WORDS = [delta(word(number)) for number in range(3)]


def test_a_whole_stream_passes() -> None:
    check_run(response(STARTED, *WORDS, FINISHED), 3)


def test_merged_deltas_pass() -> None:
    check_run(response(STARTED, delta(word(0) + word(1)), WORDS[2], FINISHED), 3)


@pytest.mark.parametrize(
    "wrong",
    [
        response(*WORDS, FINISHED),
        response(STARTED, *WORDS),
        response(STARTED, *WORDS, FINISHED, end=False),
        response(STARTED, *WORDS[:2], FINISHED),
        response(STARTED, *WORDS, WORDS[2], FINISHED),
        response(STARTED, WORDS[1], WORDS[0], WORDS[2], FINISHED),
        response(STARTED, *WORDS, b'{"type":"RUN_ERROR"}', FINISHED),
        response(STARTED, STARTED, *WORDS, FINISHED),
        response(STARTED, *WORDS, b"{", FINISHED),
        response(STARTED, *WORDS, FINISHED).replace(b"200 OK", b"500 Oh", 1),
    ],
    ids=["headless", "endless", "cut off", "lost", "doubled", "swapped", "failed", "begun twice", "no JSON", "refused"],
)
def test_a_wrong_stream_is_found(wrong: bytes) -> None:
    with pytest.raises(WrongStream):
        check_run(wrong, 3)


def test_clocks_of_a_paced_stream_are_read_as_far_as_they_came() -> None:
    whole = response(STARTED, delta("7@100 "), delta("8@120 "), end=False)
    assert stamps(whole) == [100, 120]
    assert stamps(whole[:-4]) == [100]


@pytest.mark.parametrize("numbers", [(8, 7), (7, 7), (7, 9)], ids=["swapped", "doubled", "lost"])
def test_a_wrong_paced_stream_is_found(numbers: tuple[int, int]) -> None:
    with pytest.raises(WrongStream):
        stamps(response(STARTED, *(delta(f"{number}@100 ") for number in numbers), end=False))


def test_the_ratio_is_that_of_the_best_rounds() -> None:
    row = compared("x", "µs", [15, 40, 12], [10, 20, 30], goal=1.2)
    assert row.ratio == pytest.approx(1.2)
    assert row.met is True


def test_of_several_pairs_of_servers_the_middle_ratio_counts() -> None:
    rows = [grown("x", "ms", [large, 30], [10, 20], 1.1, "× y") for large in (13, 11, 12)]
    assert median_row(rows).ratio == pytest.approx(1.2)
    assert median_row(rows).met is False


def test_goals_can_be_missed_and_rows_can_have_none() -> None:
    assert Row(what="x", unit="", ours=1, goal=0).met is False
    assert Row(what="x", unit="ms", ours=1, ratio=2.6, goal=2.5).met is False
    assert Row(what="x", unit="ms", ours=1).met is None
    assert "✗" in table([Row(what="x", unit="", ours=1, goal=0)])


def test_the_provider_says_what_the_checker_expects() -> None:
    frames = provider.frames(500)
    assert len(frames) == 508
    assert all(frame.endswith(b"\n\n") for frame in frames)


def test_histories_have_a_result_for_every_call() -> None:
    messages = history(5000)
    calls = [call["id"] for message in messages for call in message.get("toolCalls", ())]
    assert len(calls) == 1000
    assert [message["toolCallId"] for message in messages if message["role"] == "tool"] == calls


def test_sanitizing_is_linear() -> None:
    """By the lines of Python that are run; `tests/core/test_sanitizer.py` holds the time."""
    small, large = (lines_run(partial(sanitize, figures.entries(messages), {})) for messages in (1000, 5000))
    assert 1000 < small < large < 6 * small
    quick, linear = figures.sanitizing()
    assert quick.ours == linear.ours > 0


def test_the_registry_is_quick() -> None:
    register, consume = min(figures.registry_times(2000) for _ in range(3))
    assert max(register, consume) < 200e-6


def test_a_second_reader_costs_microseconds() -> None:
    assert figures.reader_seconds(500) < 60e-6


def test_a_delta_costs_microseconds() -> None:
    assert max(figures.delta_seconds(960)) < 100e-6
