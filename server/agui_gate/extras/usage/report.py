"""What was used, added up by agent, principal, thread, model or day: as JSON, and as CSV."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import add, attrgetter
from typing import Any

import msgspec

from agui_gate.concurrency import Pacer
from agui_gate.errors import InvalidRequest
from agui_gate.stores.sql.usage import MOST_ROWS, UsageLedger
from agui_gate.stores.usage import DAY_MS, KINDS, NANO, Line, ModelRequest, Sums, sums_of

GROUPS = ("day", "tenant", "principal", "agent", "provider", "model", "thread")
"""What usage may be grouped by."""
USUAL = ("day", "provider", "model")
DAYS = 30
"""Days that are told where nobody says since when."""
MOST_DAYS = 3_660
AT_ONCE = 1_000
"""Lines that are added up until others may get their turn."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_SUMS = Sums.__struct_fields__
_NONE = (0,) * len(_SUMS)
_numbers = attrgetter(*_SUMS)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Wanted(msgspec.Struct, frozen=True):
    """What is asked for: groups, days (both included), and what has to be equal, by group."""

    by: Sequence[str]
    since: int
    until: int
    only: Mapping[str, str]

    @property
    def of_threads(self) -> bool:
        """True if single requests have to be read."""
        return "thread" in self.by or "thread" in self.only


def wanted(by: str, since: str, until: str, only: Mapping[str, str | None], now: int) -> Wanted:
    """Reads what is asked for, as text. ``now``: ms since the epoch. Raises `InvalidRequest`."""
    groups = tuple(dict.fromkeys(part.strip() for part in by.split(",") if part.strip())) or USUAL
    if unknown := [group for group in groups if group not in GROUPS]:
        raise InvalidRequest(f"by must be some of {', '.join(GROUPS)}; not {unknown[0][:50]}.", well_formed=True)
    last = _day(until, "until") if until else now // DAY_MS
    first = _day(since, "since") if since else last - DAYS + 1
    if not 0 <= last - first < MOST_DAYS:
        raise InvalidRequest(f"since must be a day before until, and at most {MOST_DAYS:,} days.", well_formed=True)
    return Wanted(groups, first, last, {name: value for name, value in only.items() if value is not None})


async def usage_report(ledger: UsageLedger, asked: Wanted, whose: str, values: Sequence[str]) -> dict[str, Any]:
    """Returns the report: of owners (``owner``), or of all of some tenants (``of_tenant``). Raises `InvalidRequest`
    where that is too much to be read.
    """
    lines: list[Line] = []
    for value in values:
        if asked.of_threads:
            rows, is_whole = await ledger.requests(whose, value, asked.since * DAY_MS, (asked.until + 1) * DAY_MS)
            lines += [_line(request) for request in rows]
        else:
            found, is_whole = await ledger.days(whose, value, asked.since, asked.until)
            lines += found
        if not is_whole or len(lines) > MOST_ROWS:
            raise InvalidRequest(f"This is more than {MOST_ROWS:,} rows. Ask for fewer days.", well_formed=True)
    return await _report(asked, lines)


async def _report(asked: Wanted, lines: Sequence[Line]) -> dict[str, Any]:
    """Adds up, and lets others in meanwhile: it may be a second's work."""
    groups: dict[tuple[str, ...], list[int]] = {}
    pacer = Pacer()
    for place in range(0, len(lines), AT_ONCE):
        _add(groups, asked, lines[place : place + AT_ONCE])
        if pacer.due:
            await pacer.pause()
    total = [0] * len(_SUMS)
    usage = []
    for key in sorted(groups):
        total = list(map(add, total, groups[key]))
        usage.append({**dict(zip(asked.by, key, strict=True)), **sums_view(_sums(groups[key]))})
        if len(usage) % AT_ONCE == 0 and pacer.due:
            await pacer.pause()
    return {
        "since": _date(asked.since),
        "until": _date(asked.until),
        "by": list(asked.by),
        "usage": usage,
        "total": sums_view(_sums(total)),
    }


def _add(groups: dict[tuple[str, ...], list[int]], asked: Wanted, lines: Iterable[Line]) -> None:
    wanted = [(_FACTS[name], value) for name, value in asked.only.items()]
    columns = [_FACTS[name] for name in asked.by]
    for line in lines:
        if all(fact(line) == value for fact, value in wanted):
            key = tuple([fact(line) for fact in columns])
            groups[key] = list(map(add, groups.get(key, _NONE), _numbers(line.sums)))


def _sums(numbers: Sequence[int]) -> Sums:
    return Sums(**dict(zip(_SUMS, numbers, strict=True)))


def sums_view(sums: Sums) -> dict[str, Any]:
    """Returns sums as JSON. ``cost``: US dollars, an estimate; None where no request has a price."""
    has_price = sums.cost > 0 or not sums.unpriced
    return {
        "requests": sums.requests,
        "failed": sums.failed,
        **{f"{kind}_tokens": getattr(sums, kind) for kind in KINDS},
        "cost": sums.cost / NANO if has_price else None,
        "unpriced": sums.unpriced,
    }


async def thread_view(requests: Sequence[ModelRequest], *, is_whole: bool) -> dict[str, Any]:
    """Returns what a thread has used: together, and by provider and model."""
    asked = Wanted(("provider", "model"), 0, 0, {})
    report = await _report(asked, list(map(_line, requests)))
    return {"total": report["total"], "by_model": report["usage"], "complete": is_whole}


def as_csv(report: Mapping[str, Any]) -> str:
    """Returns the lines of a report as CSV. What a spreadsheet would take for a formula has a quote before it."""
    out = io.StringIO()
    columns = [*report["by"], *report["total"]]
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for line in report["usage"]:
        writer.writerow([_cell(line[column]) for column in columns])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _line(request: ModelRequest) -> Line:
    names = (request.owner, request.principal, request.agent, request.provider, request.model, request.thread_id)
    return Line(request.at // DAY_MS, *names, sums_of(request))


@lru_cache(MOST_DAYS)
def _date(day: int) -> str:
    return datetime.fromtimestamp(day * 86_400, UTC).date().isoformat()


def _day(text: str, name: str) -> int:
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        return int(datetime.fromisoformat(f"{text}T00:00:00+00:00").timestamp()) // 86_400
    except ValueError:
        raise InvalidRequest(f"{name} must be a day such as 2026-11-27.", well_formed=True) from None


_FACTS: Mapping[str, Callable[[Line], str]] = {
    "day": lambda line: _date(line.day),
    "tenant": lambda line: line.owner.rpartition("\x1f")[0],
    "principal": attrgetter("principal"),
    "agent": attrgetter("agent"),
    "provider": attrgetter("provider"),
    "model": attrgetter("model"),
    "thread": attrgetter("thread_id"),
}
"""What a line is grouped by."""
