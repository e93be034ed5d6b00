"""Decodes the messages of a long request that its client has not sent before.

Clients send the whole conversation with each run, and what they sent before they send again in the same words. So the
JSON of the messages is kept with what it was decoded to. A body in which `messages` begins with just these bytes is
decoded without them: in their place it gets one message that nobody else can have written. Where that message comes out
as the first of the request's, what stands there is what was kept, and the rest of the body means what it means with it.
In any other case, and where anything is odd, all of it is decoded.

What bytes are decoded to depends on nothing else. So it doesn't matter which thread they are kept with, nor what has
become of it.
"""

import os
import re
from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from agui_gate.errors import AguiGateError
from agui_gate.protocol.request_decoder import clean, decode
from agui_gate.protocol.request_shapes import PlainShape
from agui_gate.protocol.run_input import Message, RunInput, check_run

NEAR = 64 * 1024
"""Bytes of the beginning and the end of a body in which the id of its thread and the name of `messages` are looked
for.
"""

CHECKED = False
"""True in tests: what was known is decoded as well, and both are compared."""

AT_ONCE = 1024 * 1024
"""Bytes of a body in which the messages are looked for at one go, between other work: that takes some milliseconds."""

PER_VALUE, PER_CONTAINER, PER_PLAIN = 60, 300, 400
"""Bytes of memory that a decoded value takes at most, and an object or a list, besides its text; and all that a plain
message consists of, or a call of one.
"""

_START = re.compile(rb'"messages"[ \t\r\n]*:[ \t\r\n]*(?=\[)')
_THREAD = re.compile(rb'"threadId"[ \t\r\n]*:[ \t\r\n]*"([^"\\]+)"')
_ESCAPE = re.compile(rb"\\u")  # `in` takes three times as long
_PLACES = 3
"""The number of members of that name that are looked at."""


class SentMessages:
    """Messages as a client sent them, and what they were decoded to. They are cut out of the ``body`` that they came in
    when they are first looked for, as most never are.

    ``held`` are the bytes of memory that all of it takes, about.
    """

    __slots__ = ("_body", "_cut", "held", "messages")

    def __init__(self, body: bytes, messages: list[Message], held: int, cut: tuple[bytes, int] | None = None) -> None:
        self._body, self._cut, self.messages, self.held = body, cut, messages, held

    def cut(self) -> tuple[bytes, int]:
        """Returns the JSON of their list without its end, and the number of opening brackets in it."""
        if self._cut is None:
            text = bytes(_body.decode(self._body).messages)[:-1].rstrip()
            self._body, self._cut = b"", (text, _containers(text))
        return self._cut


class _Body(msgspec.Struct, frozen=True):
    messages: msgspec.Raw


_body = msgspec.json.Decoder(_Body)

Find = Callable[[str], SentMessages | None]
"""Returns what is kept of a thread."""


def decode_new(body: bytes, find: Find, most: int) -> RunInput | None:
    """Returns what `request_decoder.decode` does, decoding only what is new; None if that can't be told from the bytes.

    It takes no time that grows with what is known, but for comparing and copying bytes. ``most`` is the number of
    objects and lists that a body may have. Raises as `decode` does.
    """
    named = _THREAD.search(body, 0, NEAR) or _THREAD.search(body, max(0, len(body) - NEAR))
    known = None if named is None else find(named[1].decode(errors="replace"))
    if known is None:
        return None
    text, _ = known.cut()
    for found in islice(_START.finditer(body, 0, NEAR), _PLACES):
        if body.startswith(text, found.end()):
            return _decode_rest(body[: found.end()], known, body[found.end() + len(text) :], most)
    return None


def _decode_rest(before: bytes, known: SentMessages, after: bytes, most: int) -> RunInput | None:
    mark = os.urandom(16).hex()
    start = b'[{"role":"user","id":"%b","content":""}' % mark.encode()
    body = b"".join((before, start, after))
    text, containers = known.cut()
    if len(body) > NEAR or containers + _containers(body) > most:
        return None
    try:
        run = clean(body)
    except (AguiGateError, RecursionError):  # said of the whole, which names other places
        return None
    if run is None or not run.messages or run.messages[0].id != mark:
        return None
    more = bytes(_body.decode(body).messages)[len(start) : -1].rstrip()
    messages, new = known.messages + run.messages[1:], _containers(more)
    held = known.held + _held(more, run.messages[1:])
    sent = SentMessages(b"", messages, held, (text + more, containers + new))
    if CHECKED:
        whole = b"".join((before, text, after))
        said = msgspec.structs.replace(run, messages=messages)
        assert msgspec.to_builtins(said) == msgspec.to_builtins(clean(whole))
        assert sent.cut() == SentMessages(whole, messages, 0).cut()
    run = msgspec.structs.replace(run, messages=messages, sent=sent)
    check_run(run)
    return run


def decode_all(body: bytes) -> RunInput:
    """Returns what `request_decoder.decode` does, and in `RunInput.sent` what is to be known of it next time."""
    try:
        run = clean(body)
    except RecursionError:
        run = None
    if run is None:
        return decode(body)
    check_run(run)
    if not run.messages:
        return run
    sent = SentMessages(body, run.messages, _held(body, run.messages))
    if len(body) > AT_ONCE:
        sent.cut()
    return msgspec.structs.replace(run, sent=sent)


def _containers(text: bytes) -> int:
    return text.count(b"{") + text.count(b"[")


def _held(text: bytes, messages: Sequence[Message]) -> int:
    """Returns the bytes of memory that a text and the messages that it was decoded to take, at most."""
    # Of a character, for each byte of the text: up to 4, and 1 of the UTF-8 that a string keeps once it was encoded.
    width = 1 if text.isascii() and _ESCAPE.search(text) is None else 5
    size = len(text) * (1 + width)
    if messages and isinstance(messages[0], PlainShape):  # all of them, or none
        return size + PER_PLAIN * (len(messages) + sum([len(m.tool_calls) for m in messages if m.tool_calls]))
    containers = _containers(text)
    return size + PER_VALUE * (text.count(b",") + containers) + PER_CONTAINER * containers
