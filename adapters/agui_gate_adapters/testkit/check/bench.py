"""The findings of a check so far, and the requests that a scenario sends to the server."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from time import monotonic
from typing import Any, TypedDict, Unpack
from uuid import uuid4

from agui_gate.client import ClientError
from agui_gate_adapters.testkit.agui.stream import apply
from agui_gate_adapters.testkit.check.peer import MAX_BYTES, Answer, Peer, Unreachable
from agui_gate_adapters.testkit.spec.items import Chunks
from agui_gate_adapters.testkit.spec.judge import judge
from agui_gate_adapters.testkit.spec.rules import Breach, Finding, Json, Strength, finding, listed, word

# Which rules the events of a stream put to the test: without a result, say, nothing is shown about results.

ALWAYS = ("GEN-1", "EVT-1", "EVT-2", "IN-1", "VER-1", "TR-1", "SSE-1", "SSE-2", "SSE-3", "EVT-6")
ALWAYS_RUNS = ("LIFE-1", "LIFE-2", "LIFE-3", "LIFE-6", "LIFE-7", "STR-1")

BY_EVENT = {
    "TEXT_MESSAGE_START": ("TEXT-1", "EVT-4"),
    "TEXT_MESSAGE_CHUNK": ("TEXT-1", "EVT-4", "STR-2"),
    "TOOL_CALL_CHUNK": ("STR-2", "LIFE-8"),
    "TOOL_CALL_START": ("LIFE-8",),
    "TOOL_CALL_RESULT": ("TOOL-2", "LIFE-8"),
    "STATE_SNAPSHOT": ("STATE-1",),
    "STATE_DELTA": ("STATE-1", "SNAP-2", "IN-6"),
    "MESSAGES_SNAPSHOT": ("STATE-2",),
    "ACTIVITY_SNAPSHOT": ("ACT-1",),
    "ACTIVITY_DELTA": ("ACT-1", "SNAP-2"),
    "CUSTOM": ("PASS-1",),
    "RAW": ("PASS-1",),
    "STEP_STARTED": ("LIFE-9",),
    "REASONING_START": ("REAS-1",),
    "REASONING_MESSAGE_START": ("REAS-1",),
    "REASONING_MESSAGE_CHUNK": ("REAS-1", "STR-2"),
    "REASONING_ENCRYPTED_VALUE": ("REAS-2",),
    "SUBAGENT_STARTED": ("SUB-1", "SUB-2", "SUB-3", "SUB-4"),
}
BY_MEMBER = {
    "usage": ("USE-1", "USE-2", "USE-3"),
    "metadata": ("META-1",),
    "timestamp": ("EVT-3",),
    "input": ("IN-10",),
}
BY_OUTCOME = {"interrupt": ("INT-1", "INT-2"), "cancelled": ("LIFE-5",)}


def shown_by(events: Iterable[Json]) -> set[str]:
    """Returns the rules that these events show to be kept, if nothing was found."""
    shown: set[str] = set()
    for event in events:
        shown.update(ALWAYS, ALWAYS_RUNS, BY_EVENT.get(str(event.get("type")), ()))
        for member, rules in BY_MEMBER.items():
            shown.update(rules if member in event else ())
        outcome = event.get("outcome")
        kind = outcome.get("type") if isinstance(outcome, dict) else None
        shown.update(BY_OUTCOME.get(str(kind), ()))
    return shown


MOST_LATE = 3
"""Answers that may not come in time before nothing more is tried."""

MOST_TIMES = 20
"""Times the seconds for one answer, after which nothing more is tried."""

MOST_SEEN = 100
"""Findings of one rule that are kept in one scenario: a broken stream may have one a frame."""

OPTIONAL: Json = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
"""What an input may leave out, as it is where nothing is meant by it."""

SENTENCES = {
    "text": "Hello! Answer with one short sentence.",
    "long": "Count from one to two hundred in words, one number a line.",
    "tool": "Use one of your own tools now, with whatever arguments you like, and say what came out.",
    "frontend": "Call the tool agui_check_colour with the colour blue.",
    "interrupt": "Do something now that you may only do after I have approved it.",
}
"""What is said to make the model do something. A scripted model may need other words."""


class How(TypedDict, total=False):
    """How an input is sent: see `Peer.post`."""

    leave_at: Sequence[str]
    accept: str
    below: str


class GaveUp(Exception):
    """Nothing more can be tried; says why."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding, in which scenario, and the number of the request that it answers."""

    scenario: str
    finding: Finding
    request: int = 0


@dataclass
class Talk:
    """One run: what was asked, and what came back."""

    input: Json
    answer: Answer
    events: list[Json]

    @cached_property
    def plain(self) -> list[Json]:
        """The events with what came in chunk form in the long one."""
        chunks = Chunks()
        return [event for told in self.events for event in chunks.unfolded(told)]

    @property
    def last(self) -> Json:
        """The last event."""
        return self.events[-1] if self.events else {}

    @property
    def finished(self) -> bool:
        """Whether it is a stream whose run ended in order."""
        return self.answer.streams and self.last.get("type") == "RUN_FINISHED"

    @property
    def refused(self) -> bool:
        """Whether there was an answer of HTTP's own and no stream."""
        return self.answer.status >= 400

    @property
    def interrupts(self) -> list[Json]:
        """What it asks at its end."""
        outcome = self.last.get("outcome")
        return listed(outcome.get("interrupts")) if isinstance(outcome, dict) else []

    def results(self) -> set[str]:
        """Returns ids of the calls with a result."""
        return {str(e.get("toolCallId")) for e in self.events if e.get("type") == "TOOL_CALL_RESULT"}

    def calls(self) -> dict[str, str]:
        """Returns names of the calls by id."""
        started = (e for e in self.plain if e.get("type") == "TOOL_CALL_START")
        return {str(e.get("toolCallId")): str(e.get("toolCallName")) for e in started}

    def history(self) -> list[Json]:
        """Returns the messages that a page has afterwards."""
        messages = [dict(message) for message in listed(self.input.get("messages"))]
        plain = [{"parentMessageId": event.get("toolCallId"), **event} for event in self.plain]
        with suppress(ClientError, KeyError, TypeError, AttributeError, IndexError):  # malformed, which has been told
            apply(messages, plain)
        return listed(messages)  # a snapshot may hold anything

    def says(self) -> str:
        """Describes how the run ended, in a few words."""
        if not self.answer.streams:
            return f"the answer has status {self.answer.status} and type {self.answer.media or 'none'}"
        if self.last.get("type") == "RUN_ERROR":
            return f"the run failed: {str(self.last.get('message'))[:200]}"
        return f"the stream ended with {self.last.get('type', 'nothing')}"


@dataclass
class Bench:
    """One check. ``full``: every request has the members that a server asks for although they are optional."""

    peer: Peer
    sentences: Mapping[str, str]
    progress: Callable[[str], None] = lambda _: None
    full: bool = False
    scenario: str = ""
    seen: list[Seen] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    untried: dict[str, str] = field(default_factory=dict)
    version: str = ""
    late: int = 0
    began: float = 0.0
    _ids: Any = field(default_factory=lambda: count(1))
    _numbers: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    _mark: str = field(default_factory=lambda: uuid4().hex[:8])

    def fresh(self, kind: str) -> str:
        """Makes an unused id."""
        return f"{kind}-{self._mark}-{next(self._ids)}"

    def user(self, what: str) -> Json:
        """Makes a message of the user, with one of the sentences."""
        return {"id": self.fresh("user"), "role": "user", "content": self.sentences[what]}

    def asking(self, *messages: Json, thread: str = "", **more: Any) -> Json:
        """Makes an input of a client of 1.0."""
        body: Json = {"threadId": thread or self.fresh("thread"), "runId": self.fresh("run"), "protocolVersion": "1.0"}
        if self.full:
            body |= deepcopy(OPTIONAL)
        return {**body, "messages": list(messages), **more}

    async def run(self, body: Json, *, excused: Iterable[str] = (), replays: bool = False, **how: Unpack[How]) -> Talk:
        """Posts a run and judges its stream. Raises `GaveUp`, and `Unreachable` for the first run."""
        self._go_on()
        try:
            answer = await self.peer.post(body, **how)
        except Unreachable as error:
            if not self.tried:  # nothing has ever answered
                raise
            self.late += 1
            if not how.get("below"):  # nobody says that there is anything
                self.broke("TR-1", f"no response to an input: {error}")
            return Talk(body, Answer(0, "", b"", "broken", number=self._sent()), [])
        talk = Talk(body, answer, answer.events if answer.streams else [])
        if answer.streams:
            self._hold(talk, {*excused, *(("TR-1",) if answer.end != "whole" else ())}, replays)
        self._end(answer, ended=talk.last.get("type") in ("RUN_FINISHED", "RUN_ERROR"))
        return talk

    def _sent(self) -> int:
        """Returns the number of the newest request."""
        return len(self.peer.requests.sent)

    def _go_on(self) -> None:
        now = monotonic()
        self.began = self.began or now
        if self.late >= MOST_LATE:
            raise GaveUp(f"{MOST_LATE} answers did not come within {self.peer.timeout:g} s")
        if now > self.began + MOST_TIMES * self.peer.timeout:
            raise GaveUp(f"the server took longer than {MOST_TIMES * self.peer.timeout:g} s")

    def _hold(self, talk: Talk, excused: set[str], replays: bool) -> None:
        found = judge(talk.answer.body, input=talk.input, replays=replays, media=talk.answer.media)
        for one in found:
            if one.rule not in excused:
                self._keep(one, talk.answer.number)
        self.tried |= shown_by(talk.events)
        for event in talk.events:
            self.version = self.version or word(event, "protocolVersion")

    def _end(self, answer: Answer, *, ended: bool) -> None:
        """Records how the answer ended. ``ended``: the run's last event came before."""
        match answer.end:
            case "broken" if ended:
                self.broke(
                    "TR-1", "the connection was cut after the end of the run, before the end of the body", None, "note"
                )
            case "late":
                self.late += 1
                self.broke("TR-1", f"the response didn't end within {self.peer.timeout:g} s")
            case "large":
                self.broke("TR-1", f"the response didn't end within {MAX_BYTES:,} bytes")
            case "broken":
                self.broke("TR-1", "the connection was cut before the end of the response")
            case "lingering":
                self.broke("SSE-3", "the body stays open after the end of the run")
            case _:
                pass

    def broke(self, rule: str, sentence: str, talk: Talk | None = None, weight: Strength | None = None) -> None:
        """Keep a finding that is about the answer as a whole. ``weight``: another strength than the rule's.

        A note alone doesn't show that the rule was tried.
        """
        if weight != "note":
            self.tried.add(rule)
        frame = len(talk.events) - 1 if talk is not None and talk.events else None
        text = json.dumps(talk.last, ensure_ascii=False)[:300] if frame is not None and talk is not None else ""
        told = finding(Breach(rule, sentence, weight), frame, text)
        self._keep(told, talk.answer.number if talk is not None else self._sent())

    def _keep(self, found: Finding, request: int) -> None:
        place = (self.scenario, found.rule, found.strength == "note")
        if self._numbers[place] < MOST_SEEN:
            self._numbers[place] += 1
            self.seen.append(Seen(self.scenario, found, request))

    def holds(
        self, rule: str, kept: bool, sentence: str, talk: Talk | None = None, weight: Strength | None = None
    ) -> None:
        """Keep that a rule was tried, and a finding if it isn't kept."""
        self.tried.add(rule)
        if not kept:
            self.broke(rule, sentence, talk, weight)

    def has(self, rule: str) -> bool:
        """Whether something was found about a rule, if only a note."""
        return any(one.finding.rule == rule for one in self.seen)

    def cannot(self, reason: str, *rules: str) -> None:
        """Keep why rules were not tried."""
        for rule in rules:
            self.untried.setdefault(rule, reason)
