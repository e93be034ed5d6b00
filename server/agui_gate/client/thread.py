"""A conversation with an agent: what was said, the shared state, what waits, and the runs that change them."""

import asyncio
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import inf
from typing import Any

import msgspec

from agui_gate.agents.tool import Tool
from agui_gate.client import events as ev
from agui_gate.client import questions as asked
from agui_gate.client.connection import Connection
from agui_gate.client.errors import NoWayBack, Unanswered
from agui_gate.client.events import Json
from agui_gate.client.fold import Fold
from agui_gate.client.questions import Answer, Question
from agui_gate.client.run import Outcome, Run
from agui_gate.client.tools import result_of
from agui_gate.concurrency import LARGE, LARGE_BYTES
from agui_gate.core.events import PROTOCOL_VERSION
from agui_gate.core.transcript import CARD_TOOL
from agui_gate.core.work_budget import Work

MAX_FOLLOW_UPS = 16
"""Runs in a row that bring nothing but results of our own tools."""

CARD: Json = {"name": CARD_TOOL, "description": "Show changes and ask.", "parameters": {"type": "object"}}
"""The tool that a client advertises which wants to be asked by card: see `Thread`."""


class Thread:
    """A conversation. One run at a time: a second one meanwhile is a RuntimeError.

    ``messages`` and ``state`` are as the protocol has them, from an earlier time. ``tools`` are functions that run
    here when the agent calls them (`run_tools`): they are advertised with each run. ``advertised`` are tools that
    somebody else answers, as JSON (`CARD` is one). ``context`` and ``forwarded`` go along with each run.
    """

    def __init__(
        self,
        connection: Connection,
        thread_id: str,
        *,
        messages: Sequence[Json] = (),
        state: Any = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        advertised: Sequence[Json] = (),
        context: Sequence[Json] = (),
        forwarded: Json | None = None,
    ) -> None:
        made = [one if isinstance(one, Tool) else Tool(one) for one in tools]
        self.id = thread_id
        self.tools = {tool.name: tool for tool in made}
        self.advertised, self.context, self.forwarded = list(advertised), list(context), dict(forwarded or {})
        self._connection, self._fold = connection, Fold(messages, state)
        self._legacy: Question | None = None
        self._running: Run | None = None

    @property
    def messages(self) -> list[Json]:
        """The conversation, as AG-UI messages. Not to be changed."""
        return self._fold.messages

    @property
    def state(self) -> Any:
        """The shared state. Set it to send another one with the next run."""
        return self._fold.state

    @state.setter
    def state(self, value: Any) -> None:
        self._fold.state = value

    @property
    def text(self) -> str:
        """The text that the agent said since the last message of the user."""
        said: list[str] = []
        for message in reversed(self.messages):
            if message["role"] == "user":
                break
            if message["role"] == "assistant" and message.get("content"):
                said.append(message["content"])
        return "\n\n".join(reversed(said))

    @property
    def questions(self) -> list[Question]:
        """The questions that wait for a person, oldest first."""
        fold = self._fold
        found = asked.of_interrupts(fold.interrupts, fold.call, fold.subagents)
        known = {question.call_id for question in found}  # some servers ask both ways at once
        cards = [card for card in asked.of_cards(fold.pending, fold.call) if card.call_id not in known]
        return [*found, *cards, *([self._legacy] if self._legacy is not None else [])]

    @property
    def pending(self) -> list[Json]:
        """Calls of our tools that have no result yet."""
        found = (self._fold.call(call_id) for call_id in self._fold.pending)
        return [call for call in found if call is not None and call["function"]["name"] in self.tools]

    def call(self, call_id: str) -> Json | None:
        """Returns the call of that id, as far as it has come."""
        return self._fold.call(call_id)

    def speaker(self, event: ev.Event) -> str:
        """Returns the name of the subagent that an event belongs to; "" for the agent itself."""
        return self._fold.subagents.get(event.subagent_run_id or "", "")

    def say(self, content: str | list[Json], *answers: Answer, **more: Any) -> Run:
        """Says something: text, or parts. Whatever waits by interrupt has to be answered with it.

        ``more`` are members of the request. Raises `Unanswered`.
        """
        message = {"id": uuid.uuid4().hex, "role": "user", "content": content}
        return self._run([message], answers, more)

    def answer(self, *answers: Answer, **more: Any) -> Run:
        """Answers questions. Raises `Unanswered` if an interrupt is left out."""
        return self._run([], answers, more)

    def go(self, **more: Any) -> Run:
        """Returns a run with the conversation as it is, such as after results of tools. Raises `Unanswered`."""
        return self._run([], (), more)

    async def attach(self) -> Run:
        """Comes back to the thread, where the server can (agui-gate's `connect`): all of it, then what comes live.

        Raises `NoWayBack` where the server has no such route, and `Unreachable`.
        """
        if not await self._connection.agent_name():
            raise NoWayBack("The server can't restore a thread.")
        return self._begun(Run(self._connection, self, self._body({}), attach=True, large=self._is_large))

    async def run_tools(self) -> bool:
        """Runs those of our tools that the agent called, all at once. Whether there were any: then `go` on."""
        calls = self.pending
        results = await asyncio.gather(*(result_of(self.tools[c["function"]["name"]], c) for c in calls))
        for call, result in zip(calls, results, strict=True):
            self._fold.add({"id": uuid.uuid4().hex, "role": "tool", "toolCallId": call["id"], **result})
        return bool(calls)

    async def finish(self, run: Run) -> Outcome:
        """Reads a run to its end, runs our tools and goes on, until the agent is done or asks. Raises `ClientError`."""
        outcome = await run
        for _ in range(MAX_FOLLOW_UPS):
            if outcome.failed or self._fold.interrupts or not await self.run_tools():
                break
            outcome = await self.go()
        return outcome

    async def stop(self) -> None:
        """Stops the run that is under way, if there is one: see `Run.stop`."""
        if self._running is not None:
            await self._running.stop()

    def apply(self, event: ev.AnyEvent) -> None:
        """Takes one event of the run under way."""
        match event:
            case ev.RunStarted():
                self._legacy = None
            case ev.Custom(name=asked.LEGACY):
                self._legacy = asked.of_legacy(event)
        self._fold.apply(event)
        if isinstance(event, ev.RunFinished) and self._fold.interrupts:
            self._legacy = None  # both ways at once are one question

    def leave(self) -> None:
        """Leaves the run that was under way."""
        self._running = None

    def _run(self, messages: list[Json], answers: Sequence[Answer], more: Json) -> Run:
        resume = [_entry(answer) for answer in answers if answer.question.way == "interrupt"]
        given = {entry["interruptId"] for entry in resume} | {e["interruptId"] for e in more.get("resume") or ()}
        left = [one["id"] for one in self._fold.interrupts if one["id"] not in given]
        if left:
            raise Unanswered(f"{len(left)} of the agent's questions are pending; answer or cancel all of them.")
        if self._running is not None:
            raise RuntimeError("a run of this thread is in progress")
        for answer in answers:
            if answer.question.way == "card":
                said = msgspec.json.encode(answer.payload).decode()
                result = {"id": uuid.uuid4().hex, "role": "tool", "toolCallId": answer.question.id, "content": said}
                self._fold.add(result)
        for message in messages:
            self._fold.add(message)
        forwarded = [_command(answer) for answer in answers if answer.question.way == "legacy"]
        extra: Json = {"resume": resume} if resume else {}
        if forwarded:
            extra["forwardedProps"] = {**self.forwarded, **forwarded[-1]}
        return self._begun(Run(self._connection, self, self._body(extra | more), large=self._is_large))

    @property
    def _is_large(self) -> bool:
        """True if going through all of it takes long enough to be noticed."""
        return len(self.messages) > LARGE or Work(inf, inf).size_of(self.state, LARGE_BYTES) > LARGE_BYTES

    def _begun(self, run: Run) -> Run:
        self._running = run
        return run

    def _body(self, more: Json) -> Json:
        specs = [
            {"name": t.name, "description": t.description, "parameters": t.parameters} for t in self.tools.values()
        ]
        return {
            "threadId": self.id,
            "runId": uuid.uuid4().hex,
            "protocolVersion": PROTOCOL_VERSION,
            "messages": [message for message in self.messages if message["role"] != "activity"],
            "tools": [*specs, *self.advertised],
            "context": self.context,
            "state": self.state,
            "forwardedProps": self.forwarded,
        } | more


def _entry(answer: Answer) -> Json:
    """Returns an answer as an entry of `resume[]`."""
    if answer.cancelled:
        return {"interruptId": answer.question.id, "status": "cancelled"}
    return {"interruptId": answer.question.id, "status": "resolved", "payload": answer.payload}


def _command(answer: Answer) -> Json:
    if answer.cancelled:
        return {}
    payload: Any = answer.payload
    with suppress(TypeError):
        payload = payload if isinstance(payload, str) else msgspec.json.encode(payload).decode()
    return {"command": {"resume": payload}}
