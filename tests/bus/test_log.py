"""The event log: positions, blocks, trimming, waiting readers."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from agui_gate.bus.base import FellBehind
from agui_gate.bus.log import KEPT_BLOCKS, PATIENCE, EventLog, LogReader
from agui_gate.core.sse import PING
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]

LIMIT = 400


def frame(number: int, size: int = 20) -> bytes:
    return b"%d" % number + b"." * (size - len(str(number)) - 2) + b"\n\n"


def filled(count: int, limit: int = LIMIT) -> EventLog:
    log = EventLog(limit)
    for number in range(count):
        log.append(frame(number))
    return log


def read_all(log: EventLog, seq: int) -> bytes:
    data = b""
    while True:
        piece, seq = log.read(seq)
        if not piece:
            return data
        data += piece


async def told(reader: LogReader) -> bytes:
    """What a reader gets in all."""
    data = b""
    async with asyncio.timeout(60):
        while piece := await reader.read():
            data += piece
    return data


def test_every_position_gives_what_comes_after_it() -> None:
    log = filled(15)
    for seq in range(16):
        assert read_all(log, seq) == b"".join(frame(n) for n in range(seq, 15))


def test_what_is_over_the_limit_goes_oldest_first() -> None:
    log = filled(1000)
    assert LIMIT * 0.8 <= log.size <= LIMIT * 1.5
    assert log.first_seq > 900
    assert read_all(log, log.first_seq) == b"".join(frame(n) for n in range(log.first_seq, 1000))
    with pytest.raises(FellBehind):
        log.read(log.first_seq - 1)
    assert log.read(1000) == (b"", 1000)


def test_frames_larger_than_the_limit_are_kept_until_they_were_read() -> None:
    log = EventLog(LIMIT)
    whole = b""
    for number in range(KEPT_BLOCKS):
        whole += frame(number, 10 * LIMIT)
        log.append(frame(number, 10 * LIMIT))
    assert read_all(log, 0) == whole


def test_what_somebody_still_reads_stays_a_while() -> None:
    log = filled(3)
    slow = LogReader(log)
    for number in range(3, 3 + PATIENCE * LIMIT // 20 - 10):
        log.append(frame(number))
    assert log.first_seq == 0
    slow.close()
    for number in range(log.next_seq, log.next_seq + 10):
        log.append(frame(number))
    assert log.size <= LIMIT * 1.5


async def test_a_reader_that_is_too_far_behind_is_told() -> None:
    log = filled(3)
    slow = LogReader(log)
    for number in range(3, 500):
        log.append(frame(number))
    assert log.size <= PATIENCE * LIMIT * 1.2
    with pytest.raises(FellBehind):
        await slow.read()


async def test_readers_wait_for_frames_and_for_the_end() -> None:
    log = EventLog()
    readers = [asyncio.ensure_future(told(LogReader(log))) for _ in range(10)]
    for number in range(200):
        log.append(frame(number))
        if number % 3 == 0:
            await asyncio.sleep(0)
    late = asyncio.ensure_future(told(LogReader(log, after=149)))
    await asyncio.sleep(0)
    log.end()
    whole = b"".join(map(frame, range(200)))
    assert set(await asyncio.gather(*readers)) == {whole}
    assert await late == b"".join(map(frame, range(150, 200)))
    assert await told(LogReader(log, after=199)) == b""


async def test_a_closed_reader_ends_and_a_pinged_one_says_something() -> None:
    log = EventLog()
    reader = LogReader(log)
    reader.ping()  # nobody waits: nothing to say
    waiting = asyncio.ensure_future(reader.read())
    await asyncio.sleep(0)
    reader.ping()
    assert await waiting == PING
    waiting = asyncio.ensure_future(reader.read())
    await asyncio.sleep(0)
    reader.close()
    assert await waiting == b""
    assert await reader.read() == b""
    assert not log.readers


async def test_a_reader_that_is_cancelled_leaves_nothing_that_waits() -> None:
    log = EventLog()
    reader = LogReader(log)
    waiting = asyncio.ensure_future(reader.read())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    log.append(frame(0))
    assert not log._waiting
    assert await reader.read() == frame(0)


@given(st.lists(st.tuples(st.integers(3, 90), st.booleans()), max_size=80), st.integers(0, 80), st.data())
def test_any_split_gives_the_same_bytes(sizes: list[tuple[int, bool]], cut: int, data: Any) -> None:
    log, said, first, seq = EventLog(10_000), [], b"", 0
    cut = min(cut, len(sizes))
    for number, (size, read) in enumerate(sizes):
        said.append(frame(number, size))
        log.append(said[-1])
        if read and log.next_seq <= cut:
            piece, seq = log.read(seq)
            first += piece
    assert first + read_all(log, seq) == b"".join(said)


class Logs(RuleBasedStateMachine):
    """Appending, reading, leaving and coming back in any order: no reader ever sees a gap or anything twice."""

    readers = Bundle("readers")

    def __init__(self) -> None:
        super().__init__()
        self.log = EventLog(200)
        self.got: dict[int, tuple[LogReader, int]] = {}

    @rule(size=st.integers(8, 120), times=st.integers(1, 8))
    def append(self, size: int, times: int) -> None:
        for _ in range(times):
            self.log.append(frame(self.log.next_seq, size))

    @rule(target=readers, back=st.integers(0, 40))
    def come(self, back: int) -> int:
        after = max(self.log.first_seq, self.log.next_seq - back) - 1
        self.got[len(self.got)] = (LogReader(self.log, after), after + 1)
        return len(self.got) - 1

    @rule(which=readers)
    def read(self, which: int) -> None:
        reader, expected = self.got[which]
        try:
            data = reader._take()
        except FellBehind:
            assert expected < self.log.first_seq
            return
        for piece in data.split(b"\n\n")[:-1]:
            assert int(piece.rstrip(b".")) == expected
            expected += 1
        assert expected == reader.position
        self.got[which] = (reader, expected)

    @rule(which=readers)
    def leave(self, which: int) -> None:
        self.got[which][0].close()

    @invariant()
    def bounded(self) -> None:
        assert self.log.size <= PATIENCE * 200 + (KEPT_BLOCKS + 1) * 200
        assert self.log.first_seq <= self.log.next_seq


TestLogs = Logs.TestCase
