"""`assert_valid` passes what is legal and fails on what isn't."""

import pytest

from tests.interop.streams import FINISHED, INTERRUPTED, RESULT, STARTED, call, sse, text
from tests.interop.validate import assert_valid, decode

ERROR = {"type": "RUN_ERROR", "message": "stopped", "code": "abort"}


@pytest.mark.parametrize(
    "events",
    [
        [STARTED, *text("Hello."), *call(), RESULT, FINISHED],
        [STARTED, *call(), INTERRUPTED],
        [STARTED, text("Hello.")[0], ERROR],
    ],
)
def test_legal_streams_pass(events: list[dict[str, object]]) -> None:
    assert_valid(events)
    assert_valid(sse(*events))


@pytest.mark.parametrize(
    ("rule", "events"),
    [
        ("AGUI001", [*text("Hello."), FINISHED]),
        ("AGUI003", [STARTED, *text("Hello.")]),
        ("AGUI203", [STARTED, *call()[:2], FINISHED]),
        ("AGUI204", [STARTED, *call('{"amount":'), RESULT, FINISHED]),
        ("AGUI204", [STARTED, *call('{"amount":'), RESULT, ERROR]),
    ],
)
def test_illegal_streams_fail(rule: str, events: list[dict[str, object]]) -> None:
    with pytest.raises(AssertionError, match=rule):
        assert_valid(sse(*events))


def test_a_result_from_an_earlier_run_is_legal_only_when_resumed() -> None:
    stream = sse(STARTED, RESULT, *text("Done."), FINISHED)
    assert_valid(stream, resumed=True)
    with pytest.raises(AssertionError, match="AGUI207"):
        assert_valid(stream)


def test_resumed_excuses_nothing_else() -> None:
    with pytest.raises(AssertionError, match="AGUI203"):
        assert_valid(sse(STARTED, RESULT, *call()[:2], FINISHED), resumed=True)


def test_frames_that_no_client_can_split_fail() -> None:
    with pytest.raises(AssertionError, match="carriage return"):
        decode(sse(STARTED, FINISHED, end="\r\n\r\n"))
    with pytest.raises(AssertionError, match="not closed"):
        decode(sse(STARTED, FINISHED).rstrip("\n"))
