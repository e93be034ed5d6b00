"""The work that both servers get: histories, request bodies, and what the provider is told to answer.

The directive is the last user message, which every server passes on: ``bench deltas=500 rate=0``. Rate 0 means as
fast as it is read; else that many deltas a second, each with the clock, until the client leaves.
"""

import itertools
import re
import time
from typing import Any

import msgspec

DIRECTIVE = re.compile(rb"bench deltas=(\d+) rate=(\d+)")
CALL = b" call"
"""Behind the directive: the answer is a call of the gated tool, until its result is there."""
ENDLESS = 10**9

_numbers = itertools.count(1)


def word(number: int) -> str:
    """The text of one delta; numbered, so that a lost, doubled or misplaced one shows."""
    return f"{number} "


def paced_word(number: int) -> str:
    """The text of one paced delta: its number, which a stream may begin anywhere, and the clock in ms."""
    return f"{number}@{time.monotonic_ns() // 1_000_000} "


def history(count: int) -> list[dict[str, Any]]:
    """``count`` earlier messages: a question, a tool call, its result, an answer, a thank-you, and again.

    So a fifth of them are calls with results. ``count`` should be a multiple of 5, or the last call may
    lack its result.
    """
    return [_MAKERS[i % 5](i // 5) for i in range(count)]


_MAKERS = (
    lambda n: {"id": f"q{n}", "role": "user", "content": f"Where is order {n}, and when will it be here?"},
    lambda n: {
        "id": f"c{n}",
        "role": "assistant",
        "toolCalls": [
            {"id": f"call_{n}", "type": "function", "function": {"name": "track", "arguments": f'{{"order":"{n}"}}'}}
        ],
    },
    lambda n: {"id": f"r{n}", "role": "tool", "toolCallId": f"call_{n}", "content": f'{{"order":"{n}","days":2}}'},
    lambda n: {"id": f"a{n}", "role": "assistant", "content": f"Order {n} is on its way and arrives in two days."},
    lambda n: {"id": f"t{n}", "role": "user", "content": "Thanks, that is good to know."},
)


def encoded_history(count: int) -> bytes:
    """`history` as the inside of a JSON array, with a comma at the end."""
    return b"".join(msgspec.json.encode(message) + b"," for message in history(count))


def run_request(deltas: int, rate: int = 0, earlier: bytes = b"") -> bytes:
    """A whole HTTP request of a run on a new thread; ``earlier`` is an `encoded_history`."""
    number = next(_numbers)
    return thread_request(b"thread-%d" % number, number, deltas, rate, earlier)


def thread_request(
    thread: bytes,
    number: int,
    deltas: int,
    rate: int = 0,
    earlier: bytes = b"",
    *,
    call: bool = False,
    more: bytes = b"",
) -> bytes:
    """The same on a thread of this id. ``number`` is in the ids of the run and its message. ``call``: the model is to
    call the gated tool first. ``more`` are other members of the body, each with a comma before it.
    """
    body = (
        b'{"threadId":"%b","runId":"run-%d","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[%b'
        b'{"id":"m%d","role":"user","content":"bench deltas=%d rate=%d%b"}]%b}'
    ) % (thread, number, earlier, number, deltas, rate, CALL if call else b"", more)
    return (
        b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n"
        b"content-length: %d\r\n\r\n%b"
    ) % (len(body), body)


def resume_request(thread: bytes, number: int, approval_id: bytes) -> bytes:
    """A whole HTTP request that approves what the run ``number`` asked about."""
    answer = b',"resume":[{"interruptId":"%b","status":"resolved","payload":{"approved":true}}]' % approval_id
    return thread_request(thread, number, 2, call=True, more=answer)


def follow_request(run_key: bytes) -> bytes:
    """A whole HTTP request that reads a run from its first event on."""
    return b"GET /runs/%b/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" % run_key
