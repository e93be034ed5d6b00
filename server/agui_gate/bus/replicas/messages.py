"""The notes by which processes tell each other something over a wire, and how they are written: many in one payload.

A note that another version knows and this one doesn't is passed over.
"""

import os
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from socket import gethostname

import msgspec

from agui_gate.bus.base import Signal
from agui_gate.bus.replicas.wire import NOTE_BYTES, Note

NO_OPENING, NOT_TO_BE_HAD = -1, -2


class _Tagged(msgspec.Struct, frozen=True, array_like=True):
    """An array whose first item says what it is."""


class Ask(_Tagged, frozen=True, tag="ask"):
    """Whoever runs ``run_key`` is to send what it has of it now.

    ``token``: to be told in an `Answer` to ``address`` once that was done; 0 for no answer. ``follow``: from now on
    `Came` is wanted too, until `Left`. ``opening``: so is one later than this number; None for no opening.
    ``watching``: this is for readers who don't keep the run going.
    """

    address: str
    run_key: str
    token: int = 0
    follow: bool = False
    opening: int | None = None
    watching: bool = False


class Answer(_Tagged, frozen=True, tag="answer"):
    """The answer to `Ask`: it was sent. ``opening`` is the opening's number, or `NO_OPENING`, or `NOT_TO_BE_HAD`."""

    token: int
    opening: int = NO_OPENING


class Came(_Tagged, frozen=True, tag="came"):
    """The run has said more, which can be read."""

    run_key: str


class Opened(_Tagged, frozen=True, tag="opened"):
    """The opening that somebody waited for was sent."""

    run_key: str


class Left(_Tagged, frozen=True, tag="left"):
    """The run has no readers at ``address`` any more."""

    address: str
    run_key: str


class Watches(_Tagged, frozen=True, tag="watches"):
    """The run's readers at ``address`` don't keep it going any more."""

    address: str
    run_key: str


class Forgotten(_Tagged, frozen=True, tag="forgotten"):
    """The thread was deleted."""

    principal: str
    thread_id: str


class Told(_Tagged, frozen=True, tag="told"):
    """A signal of the engine at ``address``."""

    address: str
    signal: Signal


class Who(_Tagged, frozen=True, tag="who"):
    """Each server is to say to ``address`` in `Here` which one it is."""

    address: str
    token: int


class Here(_Tagged, frozen=True, tag="here"):
    """The answer to `Who`: the host, the process's id, and the release."""

    token: int
    host: str
    pid: int
    version: str
    revision: str | None = None


Word = Ask | Answer | Came | Opened | Left | Watches | Forgotten | Told | Who | Here


def here(token: int) -> Here:
    """Returns which server this process is."""
    from agui_gate.release import read_revision

    return Here(token, gethostname(), os.getpid(), version("agui-gate"), read_revision())


_encode = msgspec.json.Encoder().encode
_several = msgspec.json.Decoder(list[msgspec.Raw])
_one: msgspec.json.Decoder[Word] = msgspec.json.Decoder(Word)


def pack(words: Iterable[tuple[str, Word]]) -> Iterator[Note]:
    """Notes that say ``words``, each to its address. What is too long for a note is left out: notes are hints."""
    to: dict[str, list[bytes]] = {}
    for address, word in dict.fromkeys(words):
        if len(written := _encode(word)) <= NOTE_BYTES - 2:
            to.setdefault(address, []).append(written)
    for address, all_of_them in to.items():
        yield from (Note(address, b"[%b]" % b",".join(some)) for some in _within_bounds(all_of_them))


def _within_bounds(written: list[bytes]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    size = 2
    for one in written:
        if some and size + len(one) + 1 > NOTE_BYTES:
            yield some
            some, size = [], 2
        some.append(one)
        size += len(one) + 1
    yield some


def unpack(payload: bytes) -> Iterator[Word]:
    """Yields what a payload says, as far as this version understands it."""
    try:
        written = _several.decode(payload)
    except msgspec.MsgspecError:
        return
    for one in written:
        try:
            yield _one.decode(one)
        except msgspec.MsgspecError:
            continue
