"""The seam of a turn's steps: which hooks are called when, and what becomes of a run whose step fails."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import BaseModel

from agui_gate import Agent, LastRounds, adapter, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.core.transcript import ActivityEntry, Entry, LeftOutEntry, StateEntry, TurnEntry
from agui_gate.errors import MediaRefused, ProviderError, ProviderRejected, ProviderUnavailable
from agui_gate.stores.base import Change, Thread
from agui_gate.stores.memory import MemoryStore
from agui_gate.turns import model_turn
from agui_gate.turns.content_refusals import ContentRefusals
from agui_gate.turns.steps import AGAIN, DONE, Draft, Speaker, Steps, TurnStep, Verdict
from agui_gate.turns.turn_recorder import CallBegun, Tap
from tests.interop.validate import assert_valid
from tests.product.inprocess import Answer, Json, Parrot, calls, run, run_body, says, started, user
from tests.turns.extras import missing

pytestmark = pytest.mark.anyio
END = adapter.TurnDone()
LOOKS = [*says("Hm."), *calls("look", {}), END]
FINE = [*says("Fine."), END]
REFUSED = [ProviderRejected("no")]
CUT = [*says("I have"), ProviderUnavailable("away")]
HOOKS = ("prepare", "request", "accepted", "refused", "tap", "recorded", "over")


@tool
async def look() -> str:
    """Look."""
    return "seen"


class Probe(TurnStep):
    """It has every hook, and writes down which were called. ``at`` a hook, it does ``what``, once."""

    def __init__(self, name: str, log: list[str], at: str = "", what: Callable[[], Any] | None = None) -> None:
        self.name, self.log, self.at, self.what = name, log, at, what
        self.after: list[Entry] = []
        self.asks: Verdict = DONE

    def note(self, hook: str) -> None:
        self.log.append(f"{self.name} {hook}")
        if hook == self.at and self.what is not None:
            what, self.what = self.what, None
            what()

    async def prepare(self) -> None:
        """Write it down."""
        self.note("prepare")

    async def request(self, draft: Draft) -> None:
        """Write it down, and in the prompt."""
        draft.notes.append(self.name)
        self.note("request")

    async def accepted(self) -> None:
        """Write it down."""
        self.note("accepted")

    def refused(self, error: ProviderError) -> bool:
        """Write it down; once more, as long as that is new."""
        self.note("refused")
        return self.log.count(f"{self.name} refused") == 1

    def taps(self) -> Mapping[type, Tap]:
        """Write down which calls begin."""
        return {CallBegun: lambda call: self.note("tap")}

    def recorded(self, turn: TurnEntry, done: adapter.TurnDone | None) -> tuple[TurnEntry, *tuple[Entry, ...]]:
        """Write down whether it is whole."""
        self.note("recorded" if done is not None else "recorded cut")
        return (turn, *self.after)

    def over(self) -> Verdict:
        """Write it down."""
        self.note("over")
        asks, self.asks = self.asks, DONE
        return asks


class Store(MemoryStore):
    """It remembers what was saved with each commit."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[list[Entry]] = []

    async def commit(self, thread: Thread, change: Change, run_key: str) -> Any:
        """Save it."""
        self.commits.append(list(change.entries))
        return await super().commit(thread, change, run_key)


class House:
    """An agent whose turns have these steps, too."""

    def __init__(self, plan: list[Any], *steps: TurnStep, **more: Any) -> None:
        self.model, self.store = Parrot(plan), Store()
        self.agent = Agent(name="a", model=self.model, **{"tools": [look], **more})
        self.steps = steps
        self._said: list[Json] = []

    async def say(self, *texts: str) -> list[Answer]:
        """Say it, each in a run. Every stream is legal."""
        before = model_turn.steps_for
        answers = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model_turn, "steps_for", lambda speaker: [*before(speaker), *self.steps])
            async with started(create_app(self.agent, store=self.store, settings=Settings())) as app:
                for text in texts:
                    self._said.append(user(text, f"u{len(self._said)}"))
                    answers.append(await run(app, run_body("t", *self._said)))
                    assert_valid(answers[-1].body.decode())
        return answers


def end(answer: Answer) -> Json:
    last: Json = answer.events()[-1]
    return last


async def test_hooks_are_called_in_the_order_of_the_steps() -> None:
    log: list[str] = []
    house = House([LOOKS, FINE], Probe("a", log), Probe("b", log))
    (answer,) = await house.say("go")
    assert end(answer)["type"] == "RUN_FINISHED"
    begins = ["a prepare", "b prepare", "a request", "b request", "a accepted", "b accepted"]
    ends = ["a recorded", "b recorded", "a over", "b over"]
    assert log == [*begins, "a tap", "b tap", *ends, *begins, *ends]
    assert [request.instructions for request in house.model.requests] == ["a\n\nb", "a\n\nb"]


async def test_a_step_that_has_no_hook_is_never_called() -> None:
    steps = Steps([TurnStep(), TurnStep()])
    assert [getattr(steps, hook) for hook in ("prepare", "request", "accepted", "refused", "recorded", "over")] == [
        ()
    ] * 6
    assert steps.taps == {}
    assert steps.verdict() is DONE


async def test_what_was_refused_is_asked_once_more() -> None:
    log: list[str] = []
    house = House([REFUSED, FINE], Probe("a", log))
    (answer,) = await house.say("go")
    assert end(answer)["type"] == "RUN_FINISHED"
    refused = ["a request", "a recorded cut", "a refused"]
    assert log == ["a prepare", *refused, "a request", "a accepted", "a recorded", "a over"]


async def test_an_error_that_no_step_knows_ends_the_run() -> None:
    log: list[str] = []
    house = House([REFUSED, REFUSED], Probe("a", log))
    (answer,) = await house.say("go")
    assert end(answer)["code"] == "provider_rejected"
    assert log == ["a prepare", *["a request", "a recorded cut", "a refused"] * 2]


async def test_the_model_is_asked_once_more_if_a_step_says_so() -> None:
    first, second = Probe("a", []), Probe("b", [])
    first.asks, second.asks = Verdict(result=b"1"), AGAIN
    house = House([FINE, FINE], first, second)
    (answer,) = await house.say("go")
    assert end(answer)["type"] == "RUN_FINISHED"
    assert len(house.model.requests) == 2
    assert "result" not in end(answer), "that of the newest turn counts"


async def test_a_result_is_the_runs() -> None:
    probe = Probe("a", [])
    probe.asks = Verdict(result=b'{"n":1}')
    (answer,) = await House([FINE], probe, Probe("b", [])).say("go")
    assert end(answer)["result"] == {"output": {"n": 1}}


@pytest.mark.parametrize("hook", HOOKS)
async def test_a_step_that_raises_ends_the_run_and_not_the_thread(hook: str) -> None:
    def fail() -> None:
        raise RuntimeError("a secret")

    log: list[str] = []
    probe = Probe("a", log, hook, fail)
    house = House([*([REFUSED] if hook == "refused" else []), LOOKS, FINE, FINE], probe)
    failed, answer = await house.say("go", "and now?")
    assert end(failed)["code"] == "internal"
    assert b"secret" not in failed.body
    assert end(answer)["type"] == "RUN_FINISHED"
    late = {"accepted": ["a recorded cut"], "tap": ["a recorded cut"]}
    assert log[log.index(f"a {hook}") + 1 :][: len(late.get(hook, []))] == late.get(hook, [])


@pytest.mark.parametrize("hook", HOOKS)
async def test_a_stop_in_a_hook_stops_the_run(hook: str) -> None:
    def stop() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    house = House([*([REFUSED] if hook == "refused" else []), LOOKS, FINE, FINE], Probe("a", [], hook, stop))
    stopped, answer = await house.say("go", "and now?")
    assert end(stopped)["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert len(house.model.requests) < 4
    assert end(answer)["type"] == "RUN_FINISHED"


async def test_what_follows_a_turn_is_saved_in_its_commit() -> None:
    probe = Probe("a", [])
    probe.after = [StateEntry("mine", None)]
    house = House([LOOKS, FINE], probe)
    await house.say("go")
    (with_turn,) = [entries for entries in house.store.commits if any(_calls(entry) for entry in entries)]
    place = next(place for place, entry in enumerate(with_turn) if _calls(entry))
    assert with_turn[place + 1] == StateEntry("mine", None)
    assert house.store.commits.index(with_turn) < len(house.store.commits) - 1, "before its tool ran"


@pytest.mark.parametrize("plan", [CUT, CUT[-1:]], ids=["said something", "said nothing"])
async def test_what_follows_a_turn_is_saved_also_where_it_broke_off(plan: list[Any]) -> None:
    probe = Probe("a", [])
    probe.refused = lambda error: False  # type: ignore[method-assign]  # this one knows no error
    probe.after = [StateEntry("mine", None)]
    house = House([plan], probe)
    (answer,) = await house.say("go")
    assert end(answer)["code"] == "provider_unavailable"
    saved = [entry for entries in house.store.commits for entry in entries if isinstance(entry, TurnEntry | StateEntry)]
    assert [type(entry) for entry in saved] == ([TurnEntry] if len(plan) > 1 else []) + [StateEntry]


def _calls(entry: Entry) -> bool:
    return isinstance(entry, TurnEntry) and bool(entry.calls)


def test_a_full_thread_keeps_no_activities() -> None:
    probe, kept = Probe("a", []), list[Entry]()
    probe.after = [ActivityEntry("m", "progress", {}, "turn"), StateEntry("turn", None)]
    room = SimpleNamespace(has_room=lambda entry: False)
    thread = SimpleNamespace(append=kept.extend, capacity=room)
    Steps([probe]).record(TurnEntry("turn", ()), END, cast(Any, thread))
    assert kept == [TurnEntry("turn", ()), StateEntry("turn", None)]


async def test_what_is_left_out_is_in_the_journal_once() -> None:
    """A provider may take a request, and refuse it for something else after that."""
    kept, told = list[Entry](), list[Any]()
    thread = SimpleNamespace(append=kept.extend)
    lane = SimpleNamespace(other=told.append)
    step = ContentRefusals(cast(Speaker, SimpleNamespace(thread=thread, lane=lane)))
    await step.prepare()
    await step.accepted()
    assert kept == []
    await step.prepare()
    step._entries = [note := LeftOutEntry("[gone]", "u1", 0)]
    await step.accepted()
    await step.accepted()
    assert kept == [note]
    assert len(told) == 1
    assert not step.refused(MediaRefused("no")), "nothing is asked again once a request was taken"


class Order(BaseModel):
    status: str = "open"


@tool(streams_to="draft")
async def write(text: str) -> str:
    """Write."""
    return "written"


class Tells(Parrot):
    """Its provider tells of the state."""

    shares_state = True


DECLARED: dict[str, dict[str, Any]] = {
    "instructions": {"instructions": lambda situation: "Help."},
    "context_windows": {"history": LastRounds(1)},
    "structured_output": {"output": Order, "model": Parrot([[*says('{"status": "open"}'), END]])},
    "remote_state": {"model": Tells([FINE])},
    "shared_state.previews": {"tools": [write]},
}


@pytest.mark.parametrize("extra", DECLARED)
async def test_an_extra_that_is_declared_and_not_installed_is_named(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House([FINE])
    house.agent = replace(house.agent, **DECLARED[extra])
    with monkeypatch.context() as patch:
        missing(patch, extra)
        (answer,) = await house.say("go")
        assert end(answer)["code"] == "unavailable"
        assert f"agui_gate.extras.{extra})" in end(answer)["message"]
    (answer,) = await house.say("and now?")
    assert end(answer)["type"] == "RUN_FINISHED", "the thread is as it was"


async def test_an_agent_that_declares_none_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch, *DECLARED)
    for name in DECLARED:
        monkeypatch.delitem(sys.modules, f"agui_gate.extras.{name}", raising=False)
    house = House([LOOKS, FINE])
    (answer,) = await house.say("go")
    assert end(answer)["type"] == "RUN_FINISHED"
    assert not {f"agui_gate.extras.{name}" for name in DECLARED} & set(sys.modules)
