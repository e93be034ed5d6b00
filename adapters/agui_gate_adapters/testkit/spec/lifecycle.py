"""Where runs begin and end on a stream, and what they say about themselves."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agui_gate_adapters.testkit.spec.finding import Breach, Json, listed, word

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
        """What an event does at this place."""
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
        """The stream is over."""
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
