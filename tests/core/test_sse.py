"""The splitter gives the same payloads wherever the bytes are cut."""

import itertools
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.sse import SSESplitter
from agui_gate.errors import ProviderUnavailable

STREAM = (
    "\ufeff: a comment\n\n"
    'event: a\ndata: {"n":1,"t":"naïve 🙂 data: x"}\n\n'
    'data:{"n":2}\n\n'
    'data: {"n":\ndata:  3}\nid: 7\n\n\n'
    "event: nothing\n\n"
    'retry: 5\n: mid\ndata: {"n":4}\n\n'
).encode()
PAYLOADS = ['{"n":1,"t":"naïve 🙂 data: x"}'.encode(), b'{"n":2}', b'{"n":\n 3}', b'{"n":4}']


def split(*chunks: bytes) -> list[bytes]:
    splitter = SSESplitter()
    return [payload for chunk in chunks for payload in splitter.feed(chunk)] + splitter.flush()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_cut_at_every_byte(end: bytes) -> None:
    stream = STREAM.replace(b"\n", end)
    assert split(stream) == PAYLOADS
    assert split(*(bytes([byte]) for byte in stream)) == PAYLOADS
    for cut in range(len(stream)):
        assert split(stream[:cut], stream[cut:]) == PAYLOADS
        assert split(stream[:cut], b"", stream[cut:]) == PAYLOADS


@given(st.lists(st.integers(0, len(STREAM)), max_size=6), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_cut_anywhere(cuts: list[int], end: bytes) -> None:
    stream = STREAM.replace(b"\n", end)
    edges = [0, *sorted(cuts), len(stream)]
    assert split(*(stream[start:stop] for start, stop in itertools.pairwise(edges))) == PAYLOADS


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_any_bytes_are_taken_and_cuts_do_not_matter(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert split(*chunks) == split(whole) == split(*(bytes([byte]) for byte in whole))


def test_a_frame_counts_as_soon_as_it_is_complete() -> None:
    splitter = SSESplitter()
    assert splitter.feed(b"data: 1\r\n\r") == [b"1"]
    assert splitter.feed(b"\ndata: 2\n") == []
    assert splitter.feed(b"\n") == [b"2"]


def test_the_last_frame_may_lack_its_end() -> None:
    assert split(b"data: 1\n\ndata: 2") == [b"1", b"2"]
    assert split(b"data: 1\ndata: 2\n") == [b"1\n2"]


@pytest.mark.parametrize("frame", [b"data: " + b"x" * 200, b"data: xxxxxxxx\n" * 20, b": " + b"x" * 200])
def test_a_frame_is_bounded(frame: bytes) -> None:
    splitter = SSESplitter(limit=100)
    with pytest.raises(ProviderUnavailable):
        deque((splitter.feed(bytes([byte])) for byte in frame), maxlen=0)


def test_the_bound_is_a_frame_s_not_the_stream_s() -> None:
    splitter = SSESplitter(limit=100)
    for _ in range(50):
        assert splitter.feed(b"data: " + b"x" * 60 + b"\n\n") == [b"x" * 60]
