"""Reads the lines of a server's log, in both of its forms: keys and values, and JSON."""

import json
import re
from collections.abc import Iterable, Iterator

_PAIR = re.compile(r"(\w+)(?:=(\"(?:[^\"\\]|\\.)*\"|\S*))?")


def read_lines(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yields what each line of ours says, by its names. Tracebacks and lines of others are left out."""
    for line in lines:
        said = _json(line) if line.startswith("{") else _pairs(line)
        if "timestamp" in said and "event" in said:
            yield said


def _pairs(line: str) -> dict[str, str]:
    if not line.startswith("timestamp="):
        return {}
    return {name: value.strip('"') if value else "true" for name, value in _PAIR.findall(line)}


def _json(line: str) -> dict[str, str]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in said.items()}
