"""Reports what a check found, rule by rule: for people, and as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from agui_gate_adapters.testkit.check.bench import Seen
from agui_gate_adapters.testkit.check.peer import Request, Requests
from agui_gate_adapters.testkit.spec.rules import RULES, Rule

Result = Literal["kept", "broken", "not tried"]

UNSEEN = "can't be observed from outside"
FRAMES = 3
"""Findings of one rule that are printed; the JSON has those of every scenario."""

MOST_TEXT = 2_000
"""Characters of a frame in the JSON."""


@dataclass(frozen=True, slots=True)
class Line:
    """A rule with its result, and what shows it."""

    id: str
    rule: Rule
    result: Result
    seen: tuple[Seen, ...] = ()
    why: str = ""
    notes: tuple[Seen, ...] = ()
    """What is worth a look and breaks nothing."""

    @property
    def is_breach(self) -> bool:
        """Whether a MUST of the rule is broken."""
        return any(one.finding.strength == "MUST" for one in self.seen)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole check."""

    url: str
    version: str
    lines: tuple[Line, ...]
    stopped: str = ""
    """Why it ended before all was tried."""
    requests: Requests = field(default_factory=Requests)

    @property
    def broken(self) -> list[Line]:
        """The rules whose MUST is broken."""
        return [line for line in self.lines if line.is_breach]

    @property
    def weak(self) -> list[Line]:
        """The rules of which something less than a MUST isn't kept."""
        return [line for line in self.lines if line.seen and not line.is_breach]

    def told(self) -> dict[str, Any]:
        """Returns the report as JSON."""
        return {
            "url": self.url,
            "protocolVersion": self.version,
            "broken": [line.id for line in self.broken],
            "stopped": self.stopped or None,
            "rules": [self._line(line) for line in self.lines],
            "requests": [self.requests.sent[number - 1].told() for number in self._needed()],
        }

    def _line(self, line: Line) -> dict[str, Any]:
        rule = line.rule
        told: dict[str, Any] = {"id": line.id, "strength": rule.strength, "rule": rule.text}
        told |= {"quote": rule.quote, "page": rule.url}
        told |= {"result": line.result, "findings": [self._seen(one) for one in line.seen]}
        told |= {"notes": [self._seen(one) for one in line.notes]} if line.notes else {}
        return {**told, "why": line.why} if line.why else told

    def _seen(self, one: Seen) -> dict[str, Any]:
        numbers = [sent.number for sent in self._upto(one)]
        return {
            "scenario": one.scenario,
            "strength": one.finding.strength,
            "sentence": _cut(one.finding.sentence, MOST_TEXT),
            "frame": one.finding.frame,
            "text": _cut(one.finding.text, MOST_TEXT),
            "request": numbers[-1] if numbers else None,
            "after": numbers[:-1],
        }

    def _upto(self, one: Seen) -> list[Request]:
        return self.requests.upto(one.request) if one.request else []

    def _needed(self) -> list[int]:
        """Returns the requests that led to findings, and those before them on their threads."""
        told = (one for line in self.lines for one in (*line.seen, *line.notes))
        return sorted({sent.number for one in told for sent in self._upto(one)})

    def table(self, *, curl: bool = False) -> Iterator[str]:
        """Lines of text: the rules that are binding, each with the frames that break it.

        ``curl``: with the requests that show it, as lines for a shell, which may be long.
        """
        binding = [line for line in self.lines if line.seen or line.rule.strength in ("MUST", "SHOULD")]
        for line in binding:
            if line.why != UNSEEN:
                yield f"{line.id:<8} {line.rule.strength:<7} {_word(line):<10} {line.why}".rstrip()
                if line.seen:
                    yield f"    “{line.rule.quote}”"
                    yield f"    {line.rule.url}"
                yield from self._frames(line.seen, curl)
        yield f"Not tried, as they {UNSEEN}: {', '.join(line.id for line in binding if line.why == UNSEEN)}."
        noted = [line for line in self.lines if line.notes]
        if noted:
            yield "Notes, which break no rule:"
        for line in noted:
            yield f"{line.id:<8} {line.rule.source}"
            yield from self._frames(line.notes, curl)

    def _frames(self, seen: tuple[Seen, ...], curl: bool) -> Iterator[str]:
        for one in seen[:FRAMES]:
            yield f"    {one.scenario}: {one.finding.sentence}"
            if one.finding.text:
                yield f"      frame {one.finding.frame}: {_cut(one.finding.text)}"
            if curl:
                yield from (f"      {sent.curl()}" for sent in self._upto(one))
        if len(seen) > FRAMES:
            yield f"    … and {len(seen) - FRAMES} more"

    def summary(self) -> str:
        """Returns the summary in one sentence."""
        results = [line.result for line in self.lines if line.rule.strength in ("MUST", "SHOULD")]
        kept, untried = results.count("kept"), results.count("not tried")
        broken, weak = len(self.broken), len(self.weak)
        return f"{kept} rules kept, {broken} broken, {weak} recommendations not kept, {untried} not tried."


def report(
    url: str,
    version: str,
    seen: list[Seen],
    tried: set[str],
    untried: dict[str, str],
    stopped: str = "",
    requests: Requests | None = None,
) -> Report:
    """Reports each rule of the specification with its result."""
    lines = []
    for rule_id, rule in RULES.items():
        own = [one for one in seen if one.finding.rule == rule_id]
        broken = tuple(one for one in own if one.finding.strength != "note")
        notes = tuple(one for one in own if one.finding.strength == "note")
        if broken:
            lines.append(Line(rule_id, rule, "broken", broken, notes=notes))
        elif rule_id in tried:
            lines.append(Line(rule_id, rule, "kept", notes=notes))
        else:
            why = untried.get(rule_id) or _why_not(rule_id, stopped)
            lines.append(Line(rule_id, rule, "not tried", why=why, notes=notes))
    return Report(url, version, tuple(lines), stopped, requests or Requests())


_ON_EVENTS = {
    "STR-2": "no chunk came",
    "SNAP-2": "no delta came",
    "STATE-1": "no state came",
    "STATE-2": "no snapshot of messages came",
    "ACT-1": "no activity came",
    "REAS-1": "no reasoning came",
    "REAS-2": "no encrypted value came",
    "REAS-5": "no encrypted value came",
    "LIFE-5": "no run was cancelled",
    "LIFE-8": "no call or result came",
    "LIFE-9": "no step came",
    "USE-1": "no usage came",
    "USE-2": "no usage came",
    "USE-3": "no usage came",
    "META-1": "no metadata came",
    "IN-6": "no delta of the state came",
    "IN-10": "no input was echoed",
    "EVT-3": "no event had a timestamp",
    "PASS-1": "no CUSTOM or RAW came",
    "SUB-1": "no subagent came",
    "SUB-2": "no subagent came",
    "SUB-3": "no subagent came",
    "SUB-4": "no subagent came",
}
"""What would have had to come."""


def _why_not(rule_id: str, stopped: str) -> str:
    return _ON_EVENTS.get(rule_id) or stopped or UNSEEN


def _word(line: Line) -> str:
    if line.result != "broken":
        return line.result
    return "BROKEN" if line.is_breach else "not kept"


def _cut(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
