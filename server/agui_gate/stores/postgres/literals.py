"""How values get into PostgreSQL's texts and out of its answers: what we add to psycopg's ways.

Values are put into the text by psycopg (client-side binding), since a round trip carries several statements, and since
nothing prepared may stay in a connection that a pooler shares.

PostgreSQL's texts can't hold NUL, and ours may. So `MARK`, a character that Unicode gives no meaning, begins a pair in
the database: ``MARK 0`` is NUL, and ``MARK 1`` is MARK itself. Nobody outside of this module sees that.
"""

import re
from functools import lru_cache
from typing import Any

from psycopg import adapters
from psycopg.abc import Buffer, Transformer
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.types.string import StrDumper

from agui_gate.stores.sql.operations import NAME, Statement

MARK = "\ufdd0"
_MARK = MARK.encode()

Given = tuple[tuple[str, str], ...]
"""SQL of ours for names in statements that are no values."""


@lru_cache(maxsize=1024)
def _template(text: str, given: Given) -> tuple[bytes, tuple[str, ...]]:
    """Returns a statement with ``%b`` for its values, or with the SQL that is given, and the values' names."""
    sql, names = dict(given), []

    def place(name: re.Match[str]) -> str:
        if name[1] in sql:
            return sql[name[1]]
        names.append(name[1])
        return "%b"

    return NAME.sub(place, text.replace("%", "%%")).encode(), tuple(names)


def bind(statement: Statement, given: Given, psycopg: Transformer) -> bytes:
    """Returns the statement with its values in it, as psycopg writes them. Raises `UnicodeEncodeError` for a text that
    is none (an unpaired surrogate), as SQLite does.
    """
    text, names = _template(statement.text, given)
    values, literal = statement.values, psycopg.as_literal
    return text % tuple([b"NULL" if (value := values[name]) is None else literal(value) for name in names])


class _Text(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        if "\0" in obj or MARK in obj:
            obj = obj.replace(MARK, MARK + "1").replace("\0", MARK + "0")
        return super().dump(obj)


class _Json(Dumper):
    """Writes bytes, which are JSON here, as text. There is no NUL in it."""

    def dump(self, obj: bytes) -> Buffer:
        return obj.replace(_MARK, _MARK + b"1") if _MARK in obj else obj


class _Flag(Dumper):
    """Writes a boolean as in SQLite."""

    def dump(self, obj: bool) -> Buffer:
        return b"1" if obj else b"0"

    quote = dump


class _TextLoader(Loader):
    nul = "\0"

    def load(self, data: Buffer) -> str:
        text = str(data, "utf-8")
        return _unmarked(text, self.nul) if MARK in text else text


class _JsonLoader(_TextLoader):
    nul = "\\u0000"


def _unmarked(text: str, nul: str) -> str:
    """Returns ``text`` as it was before it was written; one that was cut in the middle of a pair lacks that."""
    return re.sub(f"{MARK}([01]?)", lambda pair: {"0": nul, "1": MARK}.get(pair[1], ""), text)


def _adapters() -> AdaptersMap:
    made = AdaptersMap(adapters)
    dumpers: tuple[tuple[type, Any], ...] = ((str, _Text), (bytes, _Json), (bool, _Flag))
    for kind, dumper in dumpers:
        made.register_dumper(kind, dumper)
    made.register_loader("text", _TextLoader)
    made.register_loader("json", _JsonLoader)
    return made


ADAPTERS = _adapters()
