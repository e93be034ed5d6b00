"""Checks where runs begin and end on a stream, subagents, usage, and names that are reserved."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agui_gate_adapters.testkit.spec.rules import Breach, Json, listed, word

_VERSION = re.compile(r"\d+\.\d+")


@dataclass(slots=True)
class Lifecycle:
    """The run that is open. ``replays``: the stream shows runs that are not the input's, as after reconnecting."""

    input: Json
    replays: bool = False
    state: str = "new"
    """new, open, finished, failed."""
    run_id: str = ""
    version: str = ""
    runs: list[str] = field(default_factory=list)

    def judge(self, event: Json) -> Iterator[Breach]:
        """Finds what an event breaks at this place."""
        kind = event["type"]
        if kind == "RUN_STARTED":
            yield from self._starts(event)
        elif kind == "RUN_ERROR":
            if self.state == "failed":
                yield Breach("LIFE-6", "RUN_ERROR after RUN_ERROR")
            self.state = "failed"
        else:
            yield from self._inside(kind)
            if kind == "RUN_FINISHED":
                yield from self._finishes(event)

    def end(self) -> Iterator[Breach]:
        """Checks the end of the stream."""
        if self.state == "new":
            yield Breach("LIFE-1", "the stream has no event")
        elif self.state == "open":
            yield Breach(
                "TR-1", "the stream ends without RUN_FINISHED or RUN_ERROR: it can't be told from a broken one"
            )
        asked = word(self.input, "runId")
        if self.runs and asked and not self.replays and asked not in self.runs:
            yield Breach("IN-1", f"no run has the input's runId `{asked}`, but {', '.join(map(repr, self.runs))}")

    def _starts(self, event: Json) -> Iterator[Breach]:
        if self.state == "open":
            yield Breach("LIFE-7", "RUN_STARTED while a run is open")
        yield from self._thread(event)
        self.state, self.run_id = "open", word(event, "runId")
        self.runs.append(self.run_id)
        version = word(event, "protocolVersion")
        if not version:
            yield Breach("VER-1", "RUN_STARTED doesn't declare the producer's `protocolVersion`")
        elif not _VERSION.fullmatch(version):
            yield Breach("VER-1", f"`protocolVersion` {version!r} is not MAJOR.MINOR")
        elif self.version not in ("", version):
            yield Breach("VER-1", f"`protocolVersion` changes from {self.version} to {version} within a stream")
        self.version = self.version or version

    def _inside(self, kind: str) -> Iterator[Breach]:
        if self.state == "new":
            yield Breach("LIFE-1", f"the stream begins with {kind}")
            self.state = "open"
        elif self.state != "open":
            yield Breach("LIFE-6", f"{kind} after the run's end")

    def _finishes(self, event: Json) -> Iterator[Breach]:
        yield from self._thread(event)
        if self.run_id and word(event, "runId") != self.run_id:
            yield Breach("IN-1", f"RUN_FINISHED has runId `{word(event, 'runId')}`, RUN_STARTED had `{self.run_id}`")
        self.state = "finished"
        outcome = event.get("outcome")
        if not isinstance(outcome, dict):
            return
        if outcome.get("type") == "cancelled" and "result" in event:
            yield Breach("LIFE-5", "a cancelled run has a `result`")
        ids = [word(interrupt, "id") for interrupt in listed(outcome.get("interrupts"))]
        for twice in sorted({i for i in ids if ids.count(i) > 1}):
            yield Breach("INT-2", f"two interrupts have the id `{twice}`")

    def _thread(self, event: Json) -> Iterator[Breach]:
        asked, told = word(self.input, "threadId"), word(event, "threadId")
        if asked and told != asked:
            yield Breach("IN-1", f"{event['type']} has threadId `{told}`, the input has `{asked}`")


# Subagents: each is announced once, and ended before its run ends.


@dataclass(slots=True)
class Subagents:
    """The subagents of the run that is open."""

    open: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)

    def judge(self, event: Json) -> Iterator[Breach]:
        """Finds what an event breaks about subagents."""
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


# What a run says it has used.


def judge_usage(event: Json) -> Iterator[Breach]:
    """Checks the usage entries at a run's end."""
    entries = listed(event.get("usage"))
    seen: list[tuple[object, object]] = []
    for entry in entries:
        who = (entry.get("provider"), entry.get("model"))
        if who in seen:
            yield Breach("USE-1", f"two entries for provider {who[0]!r} and model {who[1]!r}")
        seen.append(who)
        yield from _sums(entry)


def _sums(entry: Json) -> Iterator[Breach]:
    number = {name: value for name, value in entry.items() if isinstance(value, int) and not isinstance(value, bool)}
    total, given, made = (number.get(name) for name in ("totalTokens", "inputTokens", "outputTokens"))
    if total is not None and given is not None and made is not None and total != given + made:
        yield Breach("USE-2", f"`totalTokens` is {total}, input and output are {given} + {made}")
    cached = number.get("cachedInputTokens", 0) + number.get("cacheWriteInputTokens", 0)
    if given is not None and cached > given:
        yield Breach("USE-1", f"{cached} cached tokens are not within `inputTokens` {given}")
    if made is not None and number.get("reasoningTokens", 0) > made:
        yield Breach("USE-1", f"`reasoningTokens` {number['reasoningTokens']} are not within `outputTokens` {made}")


# What goes through without a meaning of the protocol's own: CUSTOM and metadata.

RESERVED = "ag-ui"
_PREFIX_ENDS = ":./"


def judge_passthrough(event: Json) -> Iterator[Breach]:
    """Checks names that others may use, too."""
    name = word(event, "name")
    if event["type"] == "CUSTOM" and name and not any(mark in name for mark in _PREFIX_ENDS):
        yield Breach("PASS-1", f"CUSTOM `{name}` has no prefix, such as `vendor:{name}`")
    metadata = event.get("metadata")
    if isinstance(metadata, dict) and RESERVED in metadata:
        yield Breach("META-1", f"the key `{RESERVED}` of metadata is reserved for the protocol", "SHOULD")
