"""The little of Markdown that is needed to check pages."""

import re

_FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2[^\S\n]*$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)


def without_code(text: str, *, inline: bool = True) -> str:
    """The text with its blocks of code left out, line for line. ``inline``: code within a line stays."""
    text = _FENCE.sub(lambda m: "\n" * m[0].count("\n"), text)
    return text if inline else re.sub(r"`[^`\n]*`", lambda m: m[0] if "](" not in m[0] else "", text)


def anchors(text: str) -> set[str]:
    """The names under which the headings of a page can be linked to, as GitHub makes them."""
    found: set[str] = set()
    for heading in _HEADING.findall(without_code(text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = 0
        while (unique := f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(unique)
    return found
