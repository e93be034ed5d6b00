"""Hides what must not be shown: credentials in addresses and headers, and the words of peers' exceptions.

A peer may put anything into its errors, the key that it was sent as well. So of an exception that a client of HTTP or
of a database raises, the type and the place are told, and nothing that it says.
"""

import re
from traceback import format_tb

HIDDEN = "***"

MAX_WORDS = 4_000
"""Characters of what an exception says that are told: it may quote anything, such as all of a call's arguments."""

PEERS = ("anthropic", "httpcore2", "httpx2", "mcp", "openai", "psycopg", "psycopg_pool", "pydantic_core", "redis")
"""Packages that speak with others: what they say quotes addresses, headers and answers."""
_CLIENT = "agui_gate.client"

_USER = re.compile(r"(?<=://)[^\s/?#@]{0,2000}(?:@[^\s/?#@]{0,2000}){0,8}@")
_QUERY = re.compile(r"(://[^\s?\"'<>]{1,2000})\?[^\s\"'<>]+")
_PARAMETERS = re.compile(r"\?[\w.~%-]{1,100}=[^\s\"'<>]+")
_SCHEME = re.compile(r"\b(bearer|basic)(\s+)[^\s\"',;]+", re.IGNORECASE)
_NAMED = re.compile(
    r"\b((?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?api[-_]?key|(?:access|refresh)[-_]token|(?:client[-_])?secret"
    r"|password|passwd)\b(\\?[\"']?\s{0,8}(?:[:=,]|=>)\s{0,8}(?:b(?=[\"']))?\\?[\"']?(?:(?:bearer|basic)\s+)?)[^\s\"',;\\]+",
    re.IGNORECASE,
)
_KEY = re.compile(r"\b(?:sk|pk|rk|ghp|gho|github_pat|xox[abprs]|glpat)[-_][\w-]{6,}|(?<![\w-])eyJ[\w-]{10,}+\.[\w.-]+")
_WORDS = ("api", "authorization", "basic", "bearer", "cookie", "passw", "secret", "token")
"""One of these is in whatever `_SCHEME` or `_NAMED` finds."""
_PREFIXES = ("sk", "pk", "rk", "ghp", "gho", "github_pat", "xox", "glpat", "eyJ")
"""One of these is in whatever `_KEY` finds."""


def masked(text: str) -> str:
    """Returns ``text`` without what looks like credentials: users and queries of addresses, headers, keys.

    A pattern takes about 10 µs for a line of the log, so it is looked for only where it may be.
    """
    if "://" in text:
        text = _QUERY.sub(rf"\1?{HIDDEN}", _USER.sub(f"{HIDDEN}@", text))
    if "?" in text:
        text = _PARAMETERS.sub(f"?{HIDDEN}", text)
    if not text.isascii() or any(map(text.lower().__contains__, _WORDS)):  # other letters may stand for one
        text = _NAMED.sub(rf"\1\2{HIDDEN}", _SCHEME.sub(rf"\1\2{HIDDEN}", text))
    return _KEY.sub(HIDDEN, text) if any(map(text.__contains__, _PREFIXES)) else text


def traceback_of(error: BaseException, seen: frozenset[int] = frozenset()) -> str:
    """Returns where ``error`` came from, and what before it. Only what peers can't have written is quoted."""
    seen |= {id(error)}
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    parts = []
    if before is not None and id(before) not in seen:
        parts += [traceback_of(before, seen), "\n\nIt led to this:\n\n"]
    parts += ["Traceback (most recent call last):\n", *format_tb(error.__traceback__), _named(error)]
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            parts += ["\n", *(f"  | {line}\n" for line in traceback_of(inner, seen).splitlines())]
    return masked("".join(parts).rstrip("\n"))


def _named(error: BaseException) -> str:
    module, name = type(error).__module__, type(error).__qualname__
    full = name if module == "builtins" else f"{module}.{name}"
    if module.partition(".")[0] in PEERS or module.startswith(_CLIENT):
        return full
    try:
        text = str(error)
    except Exception:
        text = ""
    if len(text) > MAX_WORDS:
        text = f"{text[:MAX_WORDS]}… ({len(text):,} characters)"
    return f"{full}: {text}" if text else full
