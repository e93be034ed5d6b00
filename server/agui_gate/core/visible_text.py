"""Text in which nothing is hidden: what a model wrote into an argument must not look like something else to a person.

Some characters show nothing, or change the order in which others are shown: bidi overrides, zero-width spaces, tags,
controls. They are shown by their number, as ``⟦U+202E⟧``. Line breaks and tabs stay.
"""

import re
import unicodedata

_KEPT = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks by their category that show nothing."""
_PLAIN = re.compile(r"[\n\t -~\u00a1-\u00ac\u00ae-\u02ff]*")


def visible(text: str) -> str:
    """Returns ``text`` with every character that a person would not see, or that moves others about, as its number."""
    if _PLAIN.fullmatch(text):
        return text
    before, after = f"\n{text}", f"{text[1:]}\n"
    return "".join(
        f"⟦U+{ord(c):04X}⟧" if _is_hidden(c) or _is_idle(c, previous, following) else c
        for previous, c, following in zip(before, text, after, strict=False)
    )


def _is_hidden(character: str) -> bool:
    if character in _KEPT:
        return False
    return character in _BLANK or _is_selector(character) or unicodedata.category(character) in _HIDDEN


def _is_idle(character: str, previous: str, following: str) -> bool:
    """Returns whether it is the character that makes an emoji of a sign, but behind none: in a number, or behind
    another.
    """
    if character != "\ufe0f" or following == "\u20e3":  # 1️⃣
        return False
    return previous.isascii() or previous == "\ufe0f" or (previous.isalnum() and previous != "\u2139")


def _is_selector(character: str) -> bool:
    """Returns whether it is a variation selector, of which a row can carry a hidden text. The one that makes an emoji
    of a sign is none.
    """
    return "\ufe00" <= character <= "\ufe0e" or "\U000e0100" <= character <= "\U000e01ef"
