"""Reading a sentence without a model: words, stems, and the values that can fill arguments."""

from __future__ import annotations

import re
from typing import Final

import msgspec

__all__ = [
    "STOP_WORDS",
    "Number",
    "Reading",
    "asks_what_happened",
    "content_words",
    "past",
    "read",
    "same_verb",
    "stem",
    "stems_of_name",
    "verb_of",
    "words_of_name",
]


def asks_what_happened(text: str) -> bool:
    """Whether a person wants to know how things stand, without saying about what."""
    return _HAPPENED.search(text) is not None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final = _words(
    """a an and any are as at be can could do does did for from get got has have hello hey hi how i if in into is it its
    just kindly let like me mine my of off on one or our out please so some sure that the their them then there these
    they this those to us want was we were what when where which who will with would yes you your need now back all
    also about by her his he she him give tell know much many"""
)

_SYNONYMS: Final = tuple(
    _words(group)
    for group in (
        "search find look lookup list show get fetch check see query what which display",
        "refund reimburs repay",
        "send mail email writ messag notify forward",
        "delet remov eras drop",
        "cancel stop abort",
        "creat add mak open new book schedul start",
        "updat chang set edit renam switch turn adjust",
        "transfer hand connect escalat",
        "pay charg",
    )
)

_HAPPENED: Final = re.compile(
    r"\bwhat\b.{0,20}\b(happened|did|done|changed)\b|^\W*(so|and|and now|why|done|ok|well)\W*\?"
    r"|\b(did|has|have|was|were|is) (it|that|this|they|those)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._'-]*")
_QUOTED: Final = re.compile(
    "[\"\u201c\u201d\u00ab\u00bb]([^\"\u201c\u201d\u00ab\u00bb]+)[\"\u201c\u201d\u00ab\u00bb]|(?<!\\w)['\u2018]([^'\u2018\u2019]{2,})['\u2019](?!\\w)"
)
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b|\b(?:today|tomorrow|yesterday|tonight)\b", re.IGNORECASE)
_ID: Final = re.compile(r"\b[A-Za-z]{1,5}[-_]?\d+(?:-\w+)?\b|#\s?(\w+)")
_NUMBERED: Final = re.compile(
    r"\b(?:order|invoice|ticket|case|booking|customer|account|item|id|number|no\.?)\s+#?(\d+)\b", re.IGNORECASE
)
_NUMBER: Final = re.compile(
    r"(?<![\w.])([€$£]?)\s?(-?\d+(?:[.,]\d+)*)\s?(euros?\b|eur\b|€|dollars?\b|usd\b|£|%)?", re.IGNORECASE
)
_NAME: Final = re.compile(r"\b[A-Z][a-zà-ÿ]+(?:\s[A-Z][a-zà-ÿ]+)*\b")
_NAMED: Final = re.compile(r"\b(?:for|of|from|by|named|called|customer|user|does|did|has)\s+([A-Za-zà-ÿ][\wà-ÿ-]+)")

_PASTS: Final = {
    "get": "looked up",
    "fetch": "looked up",
    "lookup": "looked up",
    "send": "sent",
    "set": "set",
    "find": "found",
    "make": "made",
    "write": "written",
    "buy": "bought",
    "pay": "paid",
    "cancel": "cancelled",
    "ship": "shipped",
    "run": "run",
    "put": "put",
}

_MOST_DIGITS: Final = 30
"""With more it is no number that anybody means, and maybe not one that a float holds."""


_SPELLED: Final = {
    "five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100,
}  # fmt: skip
_SPELLED_MONEY: Final = re.compile(
    rf"\b(?:(?:a|one)\s+(?=hundred))?({'|'.join(_SPELLED)})(?=\s+(?:euros?|eur|dollars?|pounds?)\b)", re.IGNORECASE
)
_CONTINENTAL: Final = re.compile(r"-?\d{1,3}(?:\.\d{3})+,\d{1,2}")
"""`1.000,50`"""


class Number(msgspec.Struct, frozen=True):
    """A number in the text; `money` when a currency stands beside it, `before` is the word before it."""

    value: int | float
    money: bool
    before: str
    percent: bool = False

    @property
    def is_id_like(self) -> bool:
        """A bare whole number of three digits or more is rather an id than an amount."""
        return not self.money and isinstance(self.value, int) and self.value >= 100


class Reading(msgspec.Struct, frozen=True):
    """What one clause offers."""

    text: str
    quoted: tuple[str, ...]
    emails: tuple[str, ...]
    dates: tuple[str, ...]
    ids: tuple[str, ...]
    numbers: tuple[Number, ...]
    names: tuple[str, ...]


def stem(word: str) -> str:
    """Return a crude stem: lower case, without plural, -ing, -ed and final -e."""
    word = word.lower().removesuffix("'s").strip("'.-")
    if word.endswith(("ches", "shes", "sses", "xes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        word = word[:-1]
    for suffix in ("ing", "ed"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 4 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def stems_of_name(name: str) -> list[str]:
    """Return the stems of a tool's or parameter's name, in snake or camel case."""
    return [stem(part) for part in words_of_name(name)]


def words_of_name(name: str) -> list[str]:
    """Return the words of a tool's or parameter's name, in lower case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [part.lower() for part in re.split(r"[\s_.-]+", spaced) if part] or [name]


def verb_of(name: str) -> str:
    """The verb that a tool's name begins with."""
    return words_of_name(name)[0]


def past(verb: str) -> str:
    """`refund` → `refunded`."""
    if verb in _PASTS:
        return _PASTS[verb]
    return verb + "d" if verb.endswith("e") else re.sub(r"(?<=[^aeiou])y$", "i", verb) + "ed"


def same_verb(one: str, other: str) -> bool:
    """Say whether two stems mean the same action."""
    return one == other or any(one in group and other in group for group in _SYNONYMS)


def content_words(text: str) -> list[str]:
    """Return the words that carry meaning, in order."""
    return [word for word in _WORD.findall(text) if word.lower() not in STOP_WORDS]


def read(text: str) -> Reading:
    """Take the text apart; each value is taken once, the most specific kind first."""
    quoted = tuple(a or b for a, b in _QUOTED.findall(text))
    rest = _QUOTED.sub(" ", text)
    emails, rest = tuple(_EMAIL.findall(rest)), _EMAIL.sub(" ", rest)
    dates, rest = tuple(_DATE.findall(rest)), _DATE.sub(" ", rest)
    ids = tuple(dict.fromkeys([*(m[1] or m[0] for m in _ID.finditer(rest)), *_NUMBERED.findall(rest)]))
    rest = _NUMBERED.sub(" ", _ID.sub(" ", rest))
    rest = _SPELLED_MONEY.sub(lambda spelled: str(_SPELLED[spelled[1].lower()]), rest)
    numbers = [_number(match, rest) for match in _NUMBER.finditer(rest)]
    return Reading(text, quoted, emails, dates, ids, tuple(n for n in numbers if n is not None), _names(rest))


def _number(match: re.Match[str], text: str) -> Number | None:
    """None for what only looks like a number: a version, an address."""
    digits = match[2]
    if _CONTINENTAL.fullmatch(digits):
        digits = digits.replace(".", "")
    if re.search(r",\d{2}$", digits) and "." not in digits:
        digits = digits.replace(",", ".")  # 12,50
    digits = digits.replace(",", "")
    if digits.count(".") > 1 or len(digits) > _MOST_DIGITS:
        return None
    value = float(digits)
    words = _WORD.findall(text[: match.start()])
    before = stem(words[-1]) if words else ""
    return Number(int(value) if value.is_integer() else value, bool(match[1] or match[3]), before, match[3] == "%")


def _names(text: str) -> tuple[str, ...]:
    """Return capitalised words, without the verb that begins a sentence, then words in a name's place."""
    found = [_without_verb(m[0]) for m in _NAME.finditer(text)]
    placed = [m[1].removesuffix("'s") for m in _NAMED.finditer(text)]
    useful = [name for name in [*found, *placed] if name and name.lower() not in STOP_WORDS]
    return tuple(dict.fromkeys(useful))


def _without_verb(name: str) -> str:
    """Drop leading words that are capitalised only because they begin a sentence."""
    words = name.split()
    while words and (words[0].lower() in STOP_WORDS or any(stem(words[0]) in group for group in _SYNONYMS)):
        words = words[1:]
    return " ".join(words)
