"""Pairs calls with their results where ids occur more than once, and tells messages apart (`core/sanitizer.py`).

Pairing is by occurrence, never by id alone: ids restart with every turn on some providers (S24-S28). For one id, the
results that come before its next call form a segment. Results go in order to the calls that still wait. If there are
fewer results than calls, they go to the latest ones. A call that never got a result is not given a later turn's. A
result with no call before it is dropped.
"""

from collections.abc import Sequence

from agui_gate.core.transcript import (
    CallPart,
    Entry,
    ResultEntry,
    TurnEntry,
    UserEntry,
)


def distinct(entries: Sequence[Entry]) -> list[Entry]:
    """Returns ``entries`` with each message id once: its last content at its first place."""
    kept: dict[str | tuple[str] | int, Entry] = {}  # users' messages by id, turns by theirs, the others by place
    for place, entry in enumerate(entries):
        if type(entry) is UserEntry and entry.id and not entry.minted:
            kept[entry.id] = entry
        elif type(entry) is TurnEntry and entry.id:
            kept[(entry.id,)] = entry
        else:
            kept[place] = entry
    return list(kept.values())


class _Line:
    """The calls of one id that still wait, and the results that came since the last of them."""

    __slots__ = ("_spent", "calls", "results")

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.results: list[ResultEntry] = []
        self._spent: set[ResultEntry] = set()

    def end_segment(self, paired: list[ResultEntry | None]) -> None:
        """Ends the segment: hands its results to the waiting calls, and forgets those left over."""
        if len(self.calls) == len(self.results) == 1 and not self._spent:  # as nearly all are
            paired[self.calls.pop()] = self.results[0]
            self._spent.add(self.results.pop())
            return
        results = self._distinct_results()
        first = max(0, len(self.calls) - len(results))
        for call, result in zip(self.calls[first:], results, strict=False):
            paired[call] = result
        del self.calls[first:]
        self.results = []

    def _distinct_results(self) -> list[ResultEntry]:
        """Returns the segment's results without messages sent twice.

        The same message again in a later segment may be a real result, as many servers derive its id from the call's.
        So it steps aside only where there are more results than calls.
        """
        results: list[ResultEntry] = []
        seen: set[ResultEntry] = set()
        for result in self.results:
            if result.message_id and result in seen:
                continue
            seen.add(result)
            results.append(result)
        if len(results) > len(self.calls):
            fresh = [result for result in results if not (result.message_id and result in self._spent)]
            results = fresh if len(fresh) >= len(self.calls) else results
        self._spent |= seen
        return results


def pair(entries: Sequence[Entry]) -> list[ResultEntry | None]:
    """Returns the result of every call, in order of issue; None where there is none."""
    paired: list[ResultEntry | None] = []
    lines: dict[str, _Line] = {}
    for entry in entries:
        if type(entry) is TurnEntry:
            for call in entry.parts:
                if type(call) is not CallPart:
                    continue
                line = lines.get(call.id)
                if line is None:
                    line = lines[call.id] = _Line()
                elif line.results:
                    line.end_segment(paired)
                line.calls.append(len(paired))
                paired.append(None)
        elif type(entry) is ResultEntry and entry.call_id in lines:
            lines[entry.call_id].results.append(entry)
    for line in lines.values():
        line.end_segment(paired)
    return paired
