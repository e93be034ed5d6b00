r"""Joins characters that were cut in two by a server that counts in UTF-16.

Servers written in JavaScript cut texts where `length` says so, also between the two halves of an emoji. Then they
send `"\ud83c"` in one event and `"\udf1e"` in the next: legal JSON of what is no text. Each half waits here for the
other. A half that never finds its other is shown as U+FFFD, or left out where the answer ends with it.
"""

import re

_ESCAPES = re.compile(
    rb"""\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}  # both halves
    | (?P<first>\\u[dD][89abAB][0-9a-fA-F]{2})(?P<end>(?="))?
    | (?P<second>\\u[dD][c-fC-F][0-9a-fA-F]{2})
    | \\.  # any other escape, so that an escaped backslash is never taken for the beginning of one
    """,
    re.VERBOSE | re.DOTALL,
)
_UNKNOWN = rb"\ufffd"


class Halves:
    """Joins halves of characters in the JSON of one answer's events. It reads only surrogate escapes."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first = b""

    def joined(self, payloads: list[bytes]) -> list[bytes]:
        """Returns the payloads, with halves of characters joined."""
        return [_ESCAPES.sub(self._whole, payload) for payload in payloads]

    def _whole(self, escape: re.Match[bytes]) -> bytes:
        if escape["first"]:
            if escape["end"] is None:
                return _UNKNOWN
            self._first = escape["first"]
            return b""
        if escape["second"]:
            first, self._first = self._first, b""
            begins = escape.string[escape.start() - 1 : escape.start()] == b'"'
            return first + escape["second"] if first and begins else _UNKNOWN
        return escape[0]
