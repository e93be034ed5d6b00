"""Writes the few events of the protobuf binding that tests make up."""

from collections.abc import Callable, Iterable


def field(number: int, raw: bytes) -> bytes:
    """A field with bytes in it."""
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def framed(events: Iterable[bytes]) -> bytes:
    """A body: each event behind its length."""
    return b"".join(len(event).to_bytes(4, "big") + event for event in events)


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + _varint(value >> 7)


def _event(arm: int, kind: int) -> Callable[..., bytes]:
    def written(*texts: str) -> bytes:
        """The event with these texts in its fields 2, 3, …; an empty one is left out."""
        told = b"".join(field(number, text.encode()) for number, text in enumerate(texts, 2) if text)
        return field(arm, field(1, bytes([8, kind])) + told)

    return written


TEXT_START, TEXT_CONTENT, TEXT_END = _event(1, 0), _event(2, 1), _event(3, 2)
RUN_STARTED, RUN_FINISHED = _event(12, 11), _event(13, 12)
