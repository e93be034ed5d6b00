"""What a provider sends is read as far as it can be, and no further."""

from typing import Any

import msgspec
import pytest

from agui_gate.errors import ProviderUnavailable
from agui_gate_adapters.common.json_decoder import ABSENT, decode_any, decode_or, event_decoder


class Leaf(msgspec.Struct, frozen=True):
    name: str | None = None
    size: int | None = None


class Event(msgspec.Struct, frozen=True):
    type: str = ""
    index: int | None = None
    leaf: Leaf | None = None
    leaves: list[Leaf] | None = None
    rest: msgspec.Raw = ABSENT


decode = event_decoder(Event)


@pytest.mark.parametrize(
    ("payload", "event"),
    [
        (b'{"type":"a","index":1,"unknown":[]}', Event("a", 1)),
        (b'{"type":"a","index":"1"}', Event("a", 1)),
        (b'{"type":7,"index":1}', Event("", 1)),
        (b'{"type":"a","index":1e400}', Event("a")),
        (b'{"type":"a","leaf":{"name":"x","size":"many"}}', Event("a", leaf=Leaf("x"))),
        (b'{"type":"a","leaf":[]}', Event("a")),
        (b'{"leaves":[{"size":[]},null,{"size":3}],"index":{}}', Event(leaves=[Leaf(), Leaf(), Leaf(size=3)])),
        (b'{"leaves":{"size":3}}', Event()),
        (b"[]", Event()),
        (b"null", Event()),
        (b'"text"', Event()),
    ],
)
def test_members_of_a_wrong_type_are_as_if_absent(payload: bytes, event: Event) -> None:
    assert decode(payload) == event


def test_a_raw_member_is_kept_beside_a_wrong_one() -> None:
    event = decode(b'{"index":[],"rest":{"a": 1}}')
    assert bytes(event.rest) == b'{"a": 1}'
    assert decode(b'{"index":[]}').rest is ABSENT


@pytest.mark.parametrize(
    "payload",
    [b"", b"hello", b'{"type":"a"', b'{"type":7,"x', b'{"type":7,"x":"\xff"}', b'{"type":"\xff"}', b'{"a":1}}'],
)
def test_what_is_no_json_ends_the_stream(payload: bytes) -> None:
    with pytest.raises(ProviderUnavailable, match="not JSON"):
        decode(payload)


DEEP = 500_000
"""Deeper than the decoder goes, on every Python that we support."""


def test_nesting_without_end_ends_the_stream() -> None:
    with pytest.raises(ProviderUnavailable):
        decode(b'{"index":[],"x":' + b"[" * DEEP + b"]" * DEEP + b"}")


@pytest.mark.parametrize("raw", [b"", b"hello", b'{"name":7}', b'{"name":"\xff"}'])
def test_a_value_or_its_default(raw: bytes) -> None:
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Leaf)
    assert decode_or(None, decoder, raw) is None
    assert decode_or(None, decoder, b'{"name":"x"}') == Leaf("x")


@pytest.mark.parametrize("raw", [b"", b"hello", b'"\xff"', b"[" * 100_000, "\ud800"])
def test_any_value_or_none(raw: bytes | str) -> None:
    assert decode_any(raw) is None
    assert decode_any(b'{"a":1}') == {"a": 1}
