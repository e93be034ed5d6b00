"""Rows of figures, the goals they are held to, and the table that shows them."""

from collections.abc import Sequence

import msgspec

HEADINGS = ("", "ours", "proxy", "ratio", "goal", "")


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line. ``goal`` limits the ratio where there is one, else ours; without a goal it is there to know.

    ``unit`` belongs to ours and proxy. ``note`` is shown in the place of a goal.
    """

    what: str
    unit: str
    ours: float
    proxy: float | None = None
    ratio: float | None = None
    goal: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        if self.goal is None:
            return None
        return (self.ours if self.ratio is None else self.ratio) <= self.goal


def compared(what: str, unit: str, ours: Sequence[float], proxy: Sequence[float], goal: float | None = None) -> Row:
    """Rounds of both servers, each at its best: other work on the machine only ever adds to a figure."""
    mine, bare = min(ours), min(proxy)
    return Row(what=what, unit=unit, ours=mine, proxy=bare, ratio=mine / bare, goal=goal)


def grown(what: str, unit: str, large: Sequence[float], small: Sequence[float], goal: float, note: str) -> Row:
    """Our own figure for a large input against that for a small one, each at its best."""
    return Row(what=what, unit=unit, ours=min(large), ratio=min(large) / min(small), goal=goal, note=note)


def median_row(rows: Sequence[Row]) -> Row:
    """The row in the middle of an odd number of rows of the same, by their ratios."""
    return sorted(rows, key=lambda row: row.ratio or 0)[len(rows) // 2]


def table(rows: Sequence[Row]) -> str:
    """The rows, aligned."""
    return aligned([HEADINGS, *map(_cells, rows)])


def aligned(cells: Sequence[Sequence[str]]) -> str:
    """Rows of texts below each other."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_line(row, widths) for row in cells)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    texts = [first[0].ljust(first[1])]
    texts += [
        text.ljust(width) if position >= 3 else text.rjust(width) for position, (text, width) in enumerate(others)
    ]
    return "  ".join(texts).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    proxy = "" if row.proxy is None else figure(row.proxy, row.unit)
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    mark = {None: "", True: "✓", False: "✗"}[row.met]
    return (row.what, figure(row.ours, row.unit), proxy, ratio, _goal(row), mark)


def _goal(row: Row) -> str:
    if row.goal is None:
        return row.note
    limit = f"{row.goal:g}" if row.ratio is not None else figure(row.goal, row.unit)
    return f"≤ {limit} {row.note}".rstrip()


def figure(value: float, unit: str) -> str:
    """Three digits of a figure, with its unit."""
    digits = 0 if value == int(value) or value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()
