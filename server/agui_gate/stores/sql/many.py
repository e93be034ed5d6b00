"""One statement for many rows: where there may be a hundred thousand of them, each statement counts."""

from collections.abc import Iterator, Mapping, Sequence

from agui_gate.stores.sql.steps import Statement

AT_ONCE = 25
"""Rows of one statement at most."""


def many(text: str, rows: Sequence[Mapping[str, object]]) -> Iterator[Statement]:
    """Statements for all ``rows``, which have the same names: ``{rows}`` in ``text`` is the list that VALUES takes."""
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        listed = ", ".join(f"({', '.join(f':{name}{i}' for name in row)})" for i, row in enumerate(some))
        values = {f"{name}{i}": value for i, row in enumerate(some) for name, value in row.items()}
        yield Statement(text.format(rows=listed), values)
