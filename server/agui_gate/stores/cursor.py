"""The cursor at which a list of threads, or of approvals, goes on; opaque to clients.

A cursor names the last thread that was shown, by what the list is ordered by, and not a number of threads to skip. So a
list stays right while threads change: nothing is shown twice, and nothing that stays as it is is left out. A thread
that changes moves to the front, where the next first page has it. Approvals never change their places: they are
ordered as they were asked for, and a cursor of theirs has 0 for the time.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Annotated

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.errors import InvalidRequest

MAX_CURSOR = 128
"""Characters; ours are shorter."""

PAGE_BYTES = 1024 * 1024
"""Bytes of a page of approvals, about, if it is not a single one that is larger."""


def size_of(approval: Approval) -> int:
    """Returns how large a record is in a list, about."""
    edited = approval.decision.edited_arguments if approval.decision is not None else None
    return len(approval.arguments) + len(approval.message or "") + len(edited or "")


def fitting(sizes: Iterable[int]) -> int:
    """Returns how many of the first things of these sizes make a page: those within `PAGE_BYTES`, and one at least."""
    sums = list(accumulate(sizes))
    return max(1, bisect_right(sums, PAGE_BYTES))


_Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Place(msgspec.Struct, frozen=True, array_like=True, order=True, forbid_unknown_fields=True):
    """A thread's place in the order of a list: newest first means falling places."""

    updated_at: _Number
    key: _Number


_decode = msgspec.json.Decoder(Place).decode


def to_cursor(place: Place) -> str:
    """Returns the cursor of the page after ``place``: URL-safe text."""
    return urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def from_cursor(cursor: str) -> Place:
    """Returns what `to_cursor` encoded. Raises `InvalidRequest` for anything else."""
    if len(cursor) > MAX_CURSOR:
        raise _refused()
    try:
        place = _decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, msgspec.DecodeError) as error:
        raise _refused() from error
    if to_cursor(place) != cursor:  # base64 decoding passes over what it doesn't know
        raise _refused()
    return place


def _refused() -> InvalidRequest:
    return InvalidRequest("The cursor does not belong to this list. Start again without it.", well_formed=True)
