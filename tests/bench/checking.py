"""Whether a stream said what it should: a fast server that loses a delta is not fast."""

import re
from typing import Any

import msgspec

from tests.bench.client import END
from tests.bench.work import word

_APPROVAL = re.compile(rb'"id":"(apr_[0-9a-f]+)"')


class WrongStream(Exception):
    """What was wrong with it."""


def check_run(response: bytes, deltas: int) -> None:
    """Check a complete response: RUN_STARTED first, RUN_FINISHED last, all deltas once and in order.

    Servers may merge deltas. Raises `WrongStream`.
    """
    if not response.endswith(END):
        raise WrongStream("it has no end")
    events = read(response)
    kinds = [event.get("type") for event in events]
    if kinds[:1] != ["RUN_STARTED"] or kinds[-1] != "RUN_FINISHED":
        raise WrongStream(f"it goes from {kinds[:1]} to {kinds[-1:]}")
    if kinds.count("RUN_STARTED") != 1 or kinds.count("RUN_FINISHED") != 1 or "RUN_ERROR" in kinds:
        raise WrongStream("it begins, ends or fails in its middle")
    said, wanted = text(events), "".join(map(word, range(deltas)))
    if said != wanted:
        raise WrongStream(f"its text differs: {said[-40:]!r} at the end of {len(said)} characters, not {len(wanted)}")


def approval_id(response: bytes) -> bytes:
    """The id of the first call that the response asks about. Raises `WrongStream`."""
    found = _APPROVAL.search(response)
    if found is None:
        raise WrongStream("nobody is asked")
    return found[1]


def stamps(response: bytes) -> list[int]:
    """The clocks (ms) in the deltas of a paced stream that has not ended. Raises `WrongStream`."""
    events = read(response)
    kinds = [event.get("type") for event in events]
    if kinds[:1] != ["RUN_STARTED"] or "RUN_ERROR" in kinds or "RUN_FINISHED" in kinds:
        raise WrongStream(f"an endless stream goes from {kinds[:1]} to {kinds[-1:]}")
    said = [tuple(map(int, delta.split("@"))) for delta in text(events).split()]
    if any(number != said[0][0] + place for place, (number, _) in enumerate(said)):
        raise WrongStream("its deltas are not consecutive")
    return [clock for _, clock in said]


def text(events: list[dict[str, Any]]) -> str:
    """What the assistant said."""
    return "".join(event["delta"] for event in events if event.get("type") == "TEXT_MESSAGE_CONTENT")


def read(response: bytes) -> list[dict[str, Any]]:
    """The events of a chunked response as far as it is there. Raises `WrongStream` if it can't be read."""
    head, _, body = response.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise WrongStream(f"status: {head[:60]!r}")
    frames = _unchunked(body).replace(b"\r\n", b"\n").split(b"\n\n")[:-1]  # the last one has no end yet, or is empty
    lines = (line for frame in frames for line in frame.split(b"\n") if line.startswith(b"data:"))
    try:
        return [msgspec.json.decode(line[5:]) for line in lines]
    except msgspec.DecodeError as error:
        raise WrongStream(f"an event is no JSON: {error}") from error


def _unchunked(body: bytes) -> bytes:
    """What the complete chunks hold."""
    pieces, at = [], 0
    while (line_end := body.find(b"\r\n", at)) >= 0:
        size = int(body[at:line_end], 16)
        at = line_end + 4 + size
        if not size or at > len(body):
            break
        pieces.append(body[line_end + 2 : at - 2])
    return b"".join(pieces)
