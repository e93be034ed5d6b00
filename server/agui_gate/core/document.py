"""A JSON value and its text. What is compared and sent is text; what is changed place by place is a value."""

from typing import Any

import msgspec
from msgspec import Raw

_UNMADE: Any = object()

_members = msgspec.json.Decoder(dict[str, Raw]).decode
_elements = msgspec.json.Decoder(list[Raw]).decode


class Document:
    """Whichever was given first, the other is made of it once it is asked for. Neither is to be changed."""

    __slots__ = ("_parts", "_text", "_value")

    def __init__(self, value: Any = _UNMADE, *, text: bytes | None = None) -> None:
        self._value, self._text = value, text
        self._parts: dict[str, Raw] | list[Raw] | None = None

    @property
    def text(self) -> bytes:
        """The document as JSON, without space between its parts."""
        if self._text is None:
            self._text = msgspec.json.encode(self._value)
        return self._text

    @property
    def value(self) -> Any:
        """The document as a value."""
        if self._value is _UNMADE:
            self._value = msgspec.json.decode(self.text)
        return self._value

    @property
    def parts(self) -> dict[str, Raw] | list[Raw] | None:
        """The texts of an object's members or of a list's elements; None where it is neither."""
        if self._parts is None and self.text.startswith((b"{", b"[")):
            self._parts = (_members if self.text.startswith(b"{") else _elements)(self.text)
        return self._parts

    @property
    def raw(self) -> Raw:
        """The document's text, to be put into another one as it is."""
        return Raw(self.text)
