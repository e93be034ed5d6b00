"""Subagents: each is announced once, and ended before its run ends."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from agui_gate_adapters.testkit.spec.finding import Breach, Json, word


@dataclass(slots=True)
class Subagents:
    """The subagents of the run that is open."""

    open: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)

    def judge(self, event: Json) -> Iterator[Breach]:
        """What an event does to them."""
        own = word(event, "subagentRunId")
        match event["type"]:
            case "RUN_STARTED" | "RUN_ERROR":
                self.open, self.ended, self.seen = set(), set(), set()
            case "SUBAGENT_STARTED":
                yield from self._starts(own, word(event, "parentSubagentRunId"))
            case "SUBAGENT_FINISHED" | "SUBAGENT_ERROR":
                if own not in self.open:
                    yield Breach("SUB-3", f"{event['type']} for `{own}`, which is not running")
                self.open.discard(own)
                self.ended.add(own)
            case "RUN_FINISHED":
                for left in sorted(self.open):
                    yield Breach("SUB-3", f"RUN_FINISHED while the subagent `{left}` runs")
            case _:
                yield from self._works(event["type"], own)

    def _starts(self, own: str, parent: str) -> Iterator[Breach]:
        if own in self.open | self.ended:
            yield Breach("SUB-1", f"`{own}` already names another invocation in this run")
        elif own in self.seen:
            yield Breach("SUB-2", f"`{own}` had events before it was announced")
        if parent and parent not in self.open | self.ended:
            yield Breach("SUB-2", f"its parent `{parent}` was not announced before")
        self.open.add(own)

    def _works(self, kind: str, own: str) -> Iterator[Breach]:
        if own and own in self.ended:
            yield Breach("SUB-3", f"{kind} of the subagent `{own}`, which has ended")
        elif own:
            self.seen.add(own)
