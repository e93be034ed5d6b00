"""The forms of entries of the audit trail: JSON, lines of JSON, and CSV that a spreadsheet takes for text."""

import csv
import io
from collections.abc import AsyncIterator, Iterable
from typing import Any, Literal

import msgspec

Form = Literal["json", "jsonl", "csv", "html"]

MEDIA: dict[str, Form] = {
    "application/json": "json",
    "application/jsonl": "jsonl",
    "application/x-ndjson": "jsonl",
    "text/csv": "csv",
    "text/html": "html",
}
TYPES = {"jsonl": "application/jsonl", "csv": "text/csv; charset=utf-8"}

COLUMNS = (
    *("at", "kind", "text", "approval_id", "thread_id", "agent", "tool", "owner", "tenant", "asker", "by", "person"),
    *("roles", "absent", "break_glass", "way", "grant", "address", "acr", "amr", "auth_time", "jti", "reason"),
    *("edited", "why", "arguments"),
    *("effective_arguments", "schema", "source", "state", "result", "response_id", "provider", "model"),
    *("input_tokens", "output_tokens", "run_key", "thread_key", "seq", "hash", "key_id"),
)

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The beginnings of formulas, also in full width."""


def accepted(accept: str) -> Form:
    """Returns the form that an Accept header wants most: of those of equal weight the first; JSON where it doesn't say.

    A browser that goes to an address names HTML.
    """
    best: tuple[float, Form] = (0.0, "json")
    for part in accept.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weights = [one.removeprefix("q=") for one in parameters if one.startswith("q=")]
        try:
            weight = float(weights[0]) if weights else 1.0
        except ValueError:
            weight = 0.0
        if media in MEDIA and weight > best[0]:
            best = (weight, MEDIA[media])
    return best[1]


async def lines(entries: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Yields a line of JSON for each entry."""
    async for entry in entries:
        yield msgspec.json.encode(entry) + b"\n"


async def rows(entries: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Yields a line of CSV for each entry, behind one with the names of the columns."""
    yield _row(COLUMNS)
    async for entry in entries:
        yield _row([cell(entry[name]) for name in COLUMNS])


def cell(value: Any) -> str:
    """Returns a value as the text of a cell. One that a spreadsheet would take for a formula begins with an
    apostrophe.
    """
    if value is None:
        return ""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULAS) else text


def _row(cells: Iterable[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue().encode()
