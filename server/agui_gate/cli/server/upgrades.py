"""Requests that wish for another protocol are served in this one.

Java's HTTP client sends `Upgrade: h2c` with its first request. A server may ignore that, and the body comes as usual.
httptools takes the head for the whole request then, and the body for something else, so the body was missing. Such a
request is begun anew with another parser, without the wish.
"""

from contextlib import suppress
from typing import Any, Protocol

import httptools

_OF_THE_CONNECTION = (b"connection", b"upgrade", b"http2-settings")
_WISHES = (b"upgrade", b"http2-settings")


class Owner(Protocol):
    """uvicorn's protocol object: whom a parser tells what it reads, and what it was told of this request."""

    url: bytes
    headers: list[tuple[bytes, bytes]]


class PlainParser:
    """httptools' parser for ``owner``, which has to leave out what it is told while `wishes` is true."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._parser = _parser(owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    @property
    def wishes(self) -> bool:
        """True if this request is about to be begun anew. CONNECT wishes for something that can't be left out."""
        return bool(self._parser.should_upgrade()) and self._parser.get_method() != b"CONNECT"

    def feed_data(self, data: bytes) -> None:
        """Reads on. Raises `httptools.HttpParserError` and, for CONNECT, `httptools.HttpParserUpgrade`."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if not self.wishes:
                raise
            head = self._head()
            self._parser = _parser(self._owner)
            self.feed_data(head + data[upgrade.args[0] :])

    def _head(self) -> bytes:
        """Returns the request's head without the wish. What else was said of the connection stays."""
        owner = self._owner
        kept = [(name, value) for name, value in owner.headers if name not in _OF_THE_CONNECTION]
        said = [token.strip() for name, value in owner.headers if name == b"connection" for token in value.split(b",")]
        connection = b", ".join(token for token in said if token.lower() not in _WISHES)
        lines = [b"%b: %b" % header for header in [*kept, (b"connection", connection)] if header[1] or header in kept]
        version = str(self._parser.get_http_version()).encode()
        line = b"%b %b HTTP/%b" % (self._parser.get_method(), owner.url, version)
        return b"\r\n".join([line, *lines, b"", b""])


def _parser(owner: Owner) -> Any:
    """Returns a parser as uvicorn makes it."""
    parser = httptools.HttpRequestParser(owner)
    with suppress(AttributeError):  # an older httptools
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser
