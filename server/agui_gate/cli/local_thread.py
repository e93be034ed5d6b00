"""A conversation with an engine of our own, without HTTP."""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from agui_gate.agents.agent import Agent
from agui_gate.approvals.answer_validation import tool_of
from agui_gate.bus.base import Reader
from agui_gate.cli.target import Target, states_of
from agui_gate.config.backends import bus_from, store_from
from agui_gate.config.settings import load_settings
from agui_gate.core.approvals import LOCAL, Approval, State
from agui_gate.core.events import PROTOCOL_VERSION
from agui_gate.core.journal import Journal
from agui_gate.core.sse import SSESplitter
from agui_gate.protocol.cards import already_ran
from agui_gate.protocol.dialects.base import stopped
from agui_gate.protocol.run_input import Message, ResumeEntry, RunInput, check_id
from agui_gate.runs.engine import Engine
from agui_gate.session import RUNS, identify
from agui_gate.session import make_engine as make_engine_of
from agui_gate.stores.base import Thread

STOP_SECONDS = 8.0
"""Seconds that a stopped run may take to say so."""

_NOT_KNOWN = (State.CLAIMED, State.UNKNOWN)

Show = Callable[[bytes, dict[str, Any]], None]
"""Takes an event as the wire's JSON and decoded."""


def make_engine(target: Target, agent: Agent, store: str | None, config: Path | None) -> Engine:
    """Returns the application's own engine, or one over the store that the settings name. Raises
    `ConfigurationError`.
    """
    if store is None:
        for state in states_of(target.app):
            if agent.name in state.engine.agents:
                engine: Engine = state.engine
                return engine
    settings = load_settings(config, options={"store": store})
    return make_engine_of(target.agents, store_from(settings), settings, bus_from(settings))


class LocalThread:
    """A thread of ``principal``'s owner. `local` is also the one of a server without auth. Not for concurrent use."""

    def __init__(self, engine: Engine, agent: Agent, thread_id: str, show: Show, principal: str = LOCAL) -> None:
        check_id(thread_id, "--thread")
        self._owner, self._by = identify(principal, RUNS)
        self._engine, self._agent, self._thread_id, self._show = engine, agent, thread_id, show

    async def start(self) -> None:
        """Opens the store. Raises `ConfigurationError`."""
        await self._engine.start()

    async def aclose(self) -> None:
        """Closes everything."""
        await self._engine.aclose()

    async def known(self) -> bool:
        """Returns whether this thread is there."""
        return await self._engine.store.read_thread(self._owner, self._thread_id, whole=False) is not None

    async def lost(self) -> list[str] | None:
        """Returns the tools that were running when the thread's last run was lost with its process; None if it was not,
        or if something waits for a person.
        """
        thread = await self._engine.store.read_thread(self._owner, self._thread_id)
        if (
            thread is None
            or thread.run_status != "interrupted"
            or any(a.waits_at(thread.now) for a in thread.approvals)
        ):
            return None
        journal = Journal(thread.entries, thread.approvals)
        gated = [a.tool for a in thread.approvals if a.state in _NOT_KNOWN and not journal.was_reported(a.call_id)]
        return [*gated, *(call.name for call in journal.open_calls() if call.kind != "client")]

    async def say(self, text: str | None) -> bool:
        """Runs with a new message, or with none to go on. False if the run failed, or was stopped by us.

        When cancelled, the run is stopped in order and its last events are shown; one that doesn't end is left.
        """
        messages = [Message("user", id=uuid.uuid4().hex, content=text)] if text else []
        return await self._run(messages, None)

    async def answer(self, answers: Sequence[ResumeEntry]) -> bool:
        """Runs with answers to what waits. False as with `say`."""
        return await self._run([], list(answers))

    async def pending(self) -> list[Approval]:
        """Returns the approvals that wait on this thread, each question ending in what ran before."""
        thread = await self._engine.store.read_thread(self._owner, self._thread_id)
        found = thread.approvals if thread else []
        return [self._with_earlier(a, thread) for a in found if thread and a.waits_at(thread.now)]

    def _with_earlier(self, approval: Approval, thread: Thread) -> Approval:
        """Returns the question, with a sentence about what its tool did before."""
        tool = tool_of(self._engine.members.get(approval.agent), approval)
        ran = already_ran(approval, tool.parameters if tool else {}, thread.approvals, thread.entries)
        if ran is None or ran.words is None:
            return approval
        return msgspec.structs.replace(approval, message=f"{approval.message or f'Run {approval.tool}?'} {ran.words}")

    async def _run(self, messages: list[Message], resume: list[ResumeEntry] | None) -> bool:
        run = RunInput(self._thread_id, uuid.uuid4().hex, messages, protocol_version=PROTOCOL_VERSION, resume=resume)
        live = await self._engine.run(self._agent, run, self._owner, way="shell", by=self._by)
        reader = await live.read()
        try:
            return await self._read(reader)
        except asyncio.CancelledError:
            live.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await self._read(reader)
            raise

    async def _read(self, reader: Reader) -> bool:
        event: dict[str, Any] = {}
        while data := await reader.read():
            for raw in SSESplitter().feed(data):  # it is whole frames
                event = msgspec.json.decode(raw)
                self._show(raw, event)
        if event.get("type") != "RUN_FINISHED":
            return False
        why = stopped(event)
        return why is None or why.reason is not None
