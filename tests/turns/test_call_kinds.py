"""The contracts of `CallKind` and `Cast`: held by those of teams, and by one of nobody's that a test writes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence, Set
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate import Agent, Gate, SchemaTool, Tool, ToolContext, adapter, tool
from agui_gate.agents.team import Member, Team, team_of
from agui_gate.core.approvals import State
from agui_gate.core.journal import Journal
from agui_gate.core.transcript import CallPart, HandedOffEntry, Output, ResultEntry, TurnEntry
from agui_gate.errors import ProviderUnavailable
from agui_gate.extras.teams.members import Members
from agui_gate.protocol.run_input import Message, ResumeEntry, RunInput
from agui_gate.protocol.snapshot import result_id
from agui_gate.runs import run as runs
from agui_gate.runs.agent_loop import Cast, MakeConsents, MakeTurns, cast_of
from agui_gate.runs.engine import Engine
from agui_gate.runs.run_context import RunContext
from agui_gate.stores.base import Change, Thread
from agui_gate.stores.memory import MemoryStore
from agui_gate.turns.tool_dispatch import CallKind
from agui_gate_adapters.testkit.agui import parse
from tests.product.inprocess import Parrot, calls, says
from tests.support.house import events

pytestmark = pytest.mark.anyio

PAYS = [*calls("pay", {}), adapter.TurnDone()]
DONE = [*says("Done."), adapter.TurnDone()]
Json = dict[str, Any]


class Quick(CallKind):
    """Answers calls of `quick_…` when they begin, and those of `slow_…` when they run."""

    def __init__(self, scope: RunContext) -> None:
        self._scope, self._thread = scope, scope.thread

    def claims(self, member: Member, call: CallPart) -> bool:
        return call.name.startswith(("quick_", "slow_"))

    def begin(self, member: Member, calls: Sequence[CallPart]) -> Sequence[ResultEntry]:
        results = [self._result(call) for call in calls if call.name.startswith("quick_")]
        self._thread.append(results)
        return results

    async def run(self, member: Member, call: CallPart) -> None:
        result = self._scope.untold[call.id] = self._result(call)
        self._thread.append([result])
        await self._thread.commit(patient=True)
        self._scope.tell(result)

    @staticmethod
    def _result(call: CallPart) -> ResultEntry:
        return ResultEntry(call.id, result_id(call.id), Output(f"{call.name} is done"))


class Watched(CallKind):
    """Another kind, whose every hook is noted with what was true when it was called."""

    def __init__(self, kind: CallKind, stage: "Stage") -> None:
        self._kind, self._stage, self.recorded = kind, stage, kind.recorded

    def claims(self, member: Member, call: CallPart) -> bool:
        claimed = self._kind.claims(member, call)
        assert claimed is self._kind.claims(member, call)
        self._stage.note("claims", call.name if claimed else "")
        return claimed

    def begin(self, member: Member, calls: Sequence[CallPart]) -> Sequence[ResultEntry]:
        assert not any(self._stage.is_saved(call) for call in calls)
        results = self._kind.begin(member, calls)
        self._stage.note("begin", *(call.name for call in calls))
        self._stage.begun |= {result.call_id for result in results}
        return results

    async def run(self, member: Member, call: CallPart) -> None:
        assert self._stage.is_saved(call)
        assert call.id not in self._stage.begun
        self._stage.note("run", call.name)
        await self._kind.run(member, call)

    async def resume(self) -> None:
        self._stage.note("resume", str(len(self._stage.model.requests)))
        await self._kind.resume()

    def superseded(self, waited: Set[str]) -> None:
        self._stage.note("superseded")
        self._kind.superseded(waited)

    def stopped(self, error: BaseException | None) -> None:
        self._stage.note("stopped", "" if error is None else type(error).__name__)
        self._kind.stopped(error)


class Kept(MemoryStore):
    """A store that notes the calls whose turns it has, and holds that a kind's results come with the turn."""

    stage: "Stage"

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        await super().commit(thread, change, run_key)
        made = {call.id for entry in change.entries if isinstance(entry, TurnEntry) for call in entry.calls}
        there = {entry.call_id for entry in change.entries if isinstance(entry, ResultEntry)}
        assert {call_id for call_id in self.stage.begun if call_id in made} <= there
        self.stage.saved |= made


class Stage:
    """An engine whose runs have a cast with watched kinds: those of its team, or `Quick` where nobody is in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, agent: Agent, *plan: Sequence[Any]) -> None:
        stage, self.notes, self.saved, self.begun = self, list[tuple[str, ...]](), set[str](), set[str]()
        assert isinstance(agent.model, Parrot)
        self.agent, self.model, self.store = agent, agent.model, Kept()
        self.model.plan, self.store.stage = list(plan), self
        self.engine = Engine([agent], self.store)

        class Alone(Cast):
            def call_kinds(self, scope: RunContext, *_: Any) -> Sequence[CallKind]:
                return [Watched(Quick(scope), stage)]

        class Together(Members):
            def call_kinds(
                self, scope: RunContext, make_turns: MakeTurns, make_consents: MakeConsents
            ) -> Sequence[CallKind]:
                kinds = super().call_kinds(scope, make_turns, make_consents)
                return [Watched(kind, stage) for kind in kinds]

        def cast_of(team: Team, journal: object) -> Cast:
            return Alone(team) if team.is_alone else Together(team)

        monkeypatch.setattr(runs, "cast_of", cast_of)

    def note(self, hook: str, *what: str) -> None:
        """A hook was called."""
        self.notes.append((hook, *what))

    def noted(self, hook: str) -> list[tuple[str, ...]]:
        """What was noted of calls of that hook."""
        return [note[1:] for note in self.notes if note[0] == hook and note[1:] != ("",)]

    def is_saved(self, call: CallPart) -> bool:
        """Whether the store has the turn that made the call."""
        return call.id in self.saved

    async def run(self, text: str = "go", *resume: ResumeEntry, meanwhile: Any = None) -> list[Json]:
        """One run, read to its end."""
        messages = [Message("user", id=f"u-{len(self.model.requests)}", content=text)] if text else []
        request = RunInput("t", "r", messages, resume=list(resume))
        live = await self.engine.run(self.agent, request, "alice")
        if meanwhile is not None:
            await meanwhile()
        return parse(await events(live))


@asynccontextmanager
async def staged(monkeypatch: pytest.MonkeyPatch, agent: Agent, *plan: Sequence[Any]) -> AsyncIterator[Stage]:
    stage = Stage(monkeypatch, agent, *plan)
    await stage.engine.start()
    try:
        yield stage
    finally:
        await stage.engine.aclose()


def alone() -> Agent:
    return Agent(name="a", model=Parrot([]))


def working(name: str, plan: list[Any], *tools: Tool) -> Agent:
    return Agent(name=name, model=Parrot(plan), tools=tools)


def delegating() -> Agent:
    return Agent(name="a", model=Parrot([]), tools=[working("b", [DONE]).as_tool()])


def handing_off() -> Agent:
    return Agent(name="a", model=Parrot([]), handoffs=[working("b", [DONE])])


KINDS: dict[str, tuple[Callable[[], Agent], str, Json]] = {
    "begun": (alone, "quick_look", {}),
    "run": (alone, "slow_look", {}),
    "task": (delegating, "b", {"task": "look"}),
    "hand-off": (handing_off, "transfer_to_b", {}),
}
every_kind = pytest.mark.parametrize(("agent", "name", "arguments"), KINDS.values(), ids=KINDS)


@every_kind
async def test_a_call_is_begun_with_its_turn_and_run_after_it(
    monkeypatch: pytest.MonkeyPatch, agent: Callable[[], Agent], name: str, arguments: Json
) -> None:
    two = [*calls(name, arguments, "c1", "k1"), *calls(name, arguments, "c2", "k2"), adapter.TurnDone()]
    async with staged(monkeypatch, agent(), two, DONE) as stage:
        told = await stage.run()
        assert told[-1]["type"] == "RUN_FINISHED"
        results = [event["toolCallId"] for event in told if event["type"] == "TOOL_CALL_RESULT"]
        assert len(results) == len(set(results)) == 2
        assert ("0",) in stage.noted("resume")
        assert stage.notes[0][0] == "resume", "before a model is asked"
        assert (name, name) in stage.noted("begin")
        ran = len(stage.noted("run"))
        assert ran == (0 if name in ("quick_look", "transfer_to_b") else 2)
        assert stage.noted("stopped") == stage.noted("superseded") == []
        saved = await stage.store.read_thread("alice", "t")
        assert saved is not None
        assert sorted(results) == sorted(entry.call_id for entry in saved.entries if isinstance(entry, ResultEntry))


@every_kind
async def test_no_kind_is_asked_about_a_call_that_can_not_run(
    monkeypatch: pytest.MonkeyPatch, agent: Callable[[], Agent], name: str, arguments: Json
) -> None:
    cut = [*calls(name, '{"task": '), adapter.TurnDone()]
    async with staged(monkeypatch, agent(), cut, DONE) as stage:
        told = await stage.run()
    assert told[-1]["type"] == "RUN_FINISHED"
    assert stage.noted("claims") == stage.noted("begin") == stage.noted("run") == []


async def test_a_call_of_a_kind_that_asks_a_person_is_begun_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool(gate=Gate())
    async def slow_pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent(name="a", model=Parrot([]), tools=[slow_pay], hitl="interrupt")
    asks = [*calls("slow_pay", {}, "c1", "k1"), *calls("slow_look", {}, "c2", "k2"), adapter.TurnDone()]
    async with staged(monkeypatch, agent, asks, DONE) as stage:
        told = await stage.run()
        (interrupt,) = told[-1]["outcome"]["interrupts"]
        assert interrupt["toolCallId"] not in stage.begun
        assert (stage.noted("begin"), stage.noted("run")) == ([("slow_look",)], [("slow_look",)])


@every_kind
async def test_a_kind_is_told_why_a_run_failed(
    monkeypatch: pytest.MonkeyPatch, agent: Callable[[], Agent], name: str, arguments: Json
) -> None:
    async with staged(monkeypatch, agent(), [ProviderUnavailable("It is away.")]) as stage:
        assert (await stage.run())[-1]["type"] == "RUN_ERROR"
    assert {note[1:] for note in stage.notes if note[0] == "stopped"} == {("ProviderUnavailable",)}


@every_kind
async def test_a_kind_is_told_that_somebody_stopped_the_run(
    monkeypatch: pytest.MonkeyPatch, agent: Callable[[], Agent], name: str, arguments: Json
) -> None:
    asked = asyncio.Event()

    async def stream(request: adapter.TurnRequest) -> AsyncIterator[Any]:
        asked.set()
        await asyncio.Event().wait()
        yield []

    async with staged(monkeypatch, agent()) as stage:
        monkeypatch.setattr(stage.model, "stream", stream)

        async def stop() -> None:
            await asked.wait()
            await stage.engine.cancel("alice", "t")

        await stage.run(meanwhile=stop)
    assert {note[1:] for note in stage.notes if note[0] == "stopped"} == {("",)}


async def test_a_result_that_comes_with_its_turn_is_told_though_a_stop_comes_while_it_is_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged(monkeypatch, alone(), [*calls("quick_look", {}), adapter.TurnDone()], DONE) as stage:
        saves, goes_on, commit = asyncio.Event(), asyncio.Event(), stage.store.commit

        async def slow(thread: Thread, change: Change, run_key: str) -> None:
            if any(isinstance(entry, TurnEntry) for entry in change.entries):
                saves.set()
                await goes_on.wait()
            await commit(thread, change, run_key)

        async def stop() -> None:
            await saves.wait()
            stopping = asyncio.create_task(stage.engine.cancel("alice", "t"))
            for _ in range(10):
                await asyncio.sleep(0)
            goes_on.set()
            await stopping

        monkeypatch.setattr(stage.store, "commit", slow)
        told = await stage.run(meanwhile=stop)
    assert [event["content"] for event in told if event["type"] == "TOOL_CALL_RESULT"] == ["quick_look is done"]


async def test_a_kind_is_told_that_the_user_went_on(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool(gate=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    tools = [working("b", [PAYS, DONE], pay).as_tool()]
    agent = Agent(name="a", model=Parrot([]), tools=tools, hitl="interrupt", on_unanswered="supersede")
    async with staged(monkeypatch, agent, [*calls("b", {"task": "pay"}), adapter.TurnDone()], DONE) as stage:
        assert (await stage.run())[-1]["outcome"]["type"] == "interrupt"
        assert not [note for note in stage.notes if note[0] == "superseded"]
        assert (await stage.run("never mind"))[-1]["type"] == "RUN_FINISHED"
        assert [note for note in stage.notes if note[0] == "superseded"]
        saved = await stage.store.read_thread("alice", "t")
    assert saved is not None
    assert "call_1" in {entry.call_id for entry in saved.entries if isinstance(entry, ResultEntry)}
    assert [approval.state for approval in saved.approvals] == [State.SUPERSEDED]


class Asked:
    """A source that counts how often it is asked, and takes a turn of the event loop for it."""

    name = "source"

    def __init__(self) -> None:
        self.times = 0

    async def tools(self) -> Sequence[Tool]:
        self.times += 1
        await asyncio.sleep(0)
        return [SchemaTool(name=f"found_{self.times}", description="", parameters={"type": "object"}, call=nothing)]

    async def check(self) -> Sequence[adapter.Finding]:
        return ()

    async def aclose(self) -> None:
        """Nothing to close."""


async def nothing(arguments: Json, ctx: ToolContext) -> str:
    return ""


@pytest.mark.parametrize("others", [False, True], ids=["alone", "a team"])
async def test_a_member_is_asked_for_its_tools_once_a_run(others: bool) -> None:
    source = Asked()
    helper = [Agent(name="b", model=Parrot())] if others else []
    team = team_of(Agent(name="a", model=Parrot(), tools=[source], handoffs=helper))
    cast = cast_of(team, Journal([]))
    assert type(cast) is (Members if others else Cast)
    first = await asyncio.gather(*(cast.ready(team.first) for _ in range(3)))
    await cast.get_ready(Journal([]))
    assert source.times == 1
    assert all(member is first[0] for member in first)
    assert "found_1" in first[0].agent.by_name
    assert (await cast_of(team, Journal([])).ready(team.first)).agent.by_name.keys() == {"found_2"}


@pytest.mark.parametrize("others", [False, True], ids=["alone", "a team"])
async def test_who_speaks_is_always_somebody_of_the_team(others: bool) -> None:
    """Whoever the journal names: another version of the team may have had others."""
    helper = [Agent(name="b", model=Parrot())] if others else []
    team = team_of(Agent(name="a", model=Parrot(), handoffs=helper))
    for heir, speaks in {"": "a", "b": "b" if others else "a", "gone": "a"}.items():
        journal = Journal([HandedOffEntry("c1", heir)] if heir else [])
        assert cast_of(team, journal).speaker(journal).agent.name == speaks
