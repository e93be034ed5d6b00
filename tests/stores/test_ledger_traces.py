"""Histories of the model of the ledger are replayed on each store, through the engine (`tests.ledger_model.replay`).

After each step the record, the lease, the effects and what people are told are as the model has them. The histories are
chosen so that every step is taken, in every state of the record in which it can be, each of them on one of the stores.
`--explore` takes one to each kind of step (see `kind`). `--histories` takes all of them on all stores: one to each
state that no other history passes.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from agui_gate.approvals.execution import GatedCalls
from agui_gate.approvals.orphan_job import OrphanJob
from agui_gate.core.approvals import Approval
from agui_gate.extras.provider_approvals import ProviderApprovals
from agui_gate.stores import clock as boot
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.threads.lease import Lease
from tests.ledger_model.calls import Calls
from tests.ledger_model.replay import Replay
from tests.ledger_model.search import Found, Step, Trace, follow, search
from tests.ledger_model.world import Variant, Worker, World
from tests.stores.support import Clock
from tests.support.chance import some
from tests.support.pairwise import covering
from tests.support.servers import Postgres

pytestmark = pytest.mark.anyio

BUDGET = 2
STORES = (MemoryStore, SQLiteStore, PostgresStore)
VARIANTS: tuple[Variant, ...] = ("local", "hosted", "sub-agent")
EVERY = {"ask", "claim", "release", "settle", "branch", "delete", "expire", "crash", "suspend", "stop", "restore"}
EVERY |= {"too late", "reject", "look", "done, unanswered", "not done, unanswered", "under way, unanswered"}
EVERY |= {"claim arrives", "nothing arrives", "answer late", "refuse", "record"}
OF: dict[str, set[str]] = {
    "local": EVERY | {"start", "finish", "give up"},
    "hosted": EVERY | {"pass on", "passed", "accepted", "refused", "broken", "broken, and done", "give back"},
    "sub-agent": {"start", "finish", "record", "give up", "end task", "answer late", "crash", "suspend", "stop"},
}


@cache
def found(variant: Variant) -> Found[World]:
    return search(Calls(variant, budget=BUDGET))


def histories(variant: Variant, every: bool) -> Iterator[Trace[World]]:
    """One to each kind of step (see `kind`); of those that lead over one another, the longest alone."""
    wanted: dict[Any, World] = {}
    for state, link in found(variant).parents.items():
        if link is not None and (
            variant != "sub-agent" or state.over == "task"
        ):  # before that it is a call like others
            wanted.setdefault(state if every else kind(link[1], link[0], state), state)
    traces = sorted((found(variant).trace(state) for state in wanted.values()), key=lambda trace: -len(trace.steps))
    seen: set[World] = set()
    for trace in traces:
        if trace.steps[-1][1] not in seen:
            seen.update(after for _, after in trace.steps)
            yield trace


def kind(step: Step, before: World, after: World) -> Any:
    """Steps of one kind are those of a worker in one state, at a record in one state; and what begins by them."""
    worker = before.workers[step.worker] if step.worker >= 0 else Worker()
    begins = after.says if sum(after.effects) > sum(before.effects) else ""
    return step.name, before.record, before.free, begins, worker.at, worker.stopped, worker.slept


class Memory:
    """A copy of what a `MemoryStore` has."""

    def __init__(self, store: MemoryStore) -> None:
        self._store, self._copy = store, sqlite3.connect(":memory:")

    async def back_up(self) -> None:
        self._store._database.connection.backup(self._copy)

    async def restore(self) -> None:
        self._copy.backup(self._store._database.connection)
        await self._store.begin_epoch()


class File:
    """A copy of a SQLite file."""

    def __init__(self, store: SQLiteStore, path: str) -> None:
        self._store, self._path, self._copy = store, path, f"{path}.copy"

    async def back_up(self) -> None:
        self._pour(self._path, self._copy)

    async def restore(self) -> None:
        await self._store.aclose()
        self._pour(self._copy, self._path)
        await self._store.start()
        await self._store.begin_epoch()

    def _pour(self, here: str, there: str) -> None:
        with closing(sqlite3.connect(here)) as source, closing(sqlite3.connect(there)) as target:
            source.backup(target)


class Tables:
    """A copy of the tables of a PostgreSQL store, in a schema of its own."""

    def __init__(self, store: FullStore, server: Postgres, url: str) -> None:
        self._store, self._server, self._name = store, server, url.rpartition("/")[2]

    async def back_up(self) -> None:
        self._each("DROP SCHEMA IF EXISTS copied CASCADE; CREATE SCHEMA copied;", "CREATE TABLE copied.%I AS TABLE %I;")

    async def restore(self) -> None:
        await self._store.aclose()
        self._each("", "TRUNCATE %I CASCADE;")  # all before any is filled: it empties those that refer to it, too
        fill = "INSERT INTO %2$I OVERRIDING SYSTEM VALUE SELECT * FROM copied.%1$I;"
        self._each("SET session_replication_role = replica;", fill)
        await self._store.start()
        await self._store.begin_epoch()

    def _each(self, first: str, statement: str) -> None:
        self._server.execute(
            f"DO $$ DECLARE t text; BEGIN {first} FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' "
            f"LOOP EXECUTE format('{statement}', t, t); END LOOP; END $$",
            self._name,
        )


@pytest.fixture
def copies(store: FullStore, clock: Clock, request: pytest.FixtureRequest) -> Any:
    if isinstance(store, MemoryStore):
        return Memory(store)
    if isinstance(store, SQLiteStore):
        return File(store, request.getfixturevalue("path"))
    return Tables(store, request.getfixturevalue("postgres"), request.getfixturevalue("tables"))


class Ahead:
    """The boot clock, as it is after a sleep."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock, self.ahead = clock, 0

    def __call__(self) -> int:
        return self._clock() + self.ahead


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "boot_clock", Ahead(boot.boot_clock))


async def replayed(
    store: FullStore, clock: Clock, copies: Any, variant: Variant, traces: Iterator[Trace[World]]
) -> None:
    """Replay them. Raises `AssertionError` at the first step that comes out otherwise than in the model."""
    steps: set[str] = set()
    number = 0
    for number, trace in enumerate(traces, 1):
        replay, at, taken = Replay(store, clock, copies, variant, str(number)), trace.first, 0
        try:
            for step, after in follow(Calls(variant, budget=BUDGET), trace):
                taken += 1
                await replay.step(step, at, after)
                steps.add(step.name)
                at = after
        except (AssertionError, TimeoutError) as error:
            raise AssertionError(f"after step {taken} of\n{trace}\n{at}\n{error}") from error
        finally:
            await replay.end()
    print(f"{number} histories")
    assert steps >= OF[variant]


@pytest.mark.usefixtures("sleeps")
@pytest.mark.parametrize("variant", VARIANTS)
async def test_histories_of_the_model_come_out_the_same(
    store: FullStore, clock: Clock, copies: Any, variant: Variant, request: pytest.FixtureRequest
) -> None:
    every = request.config.getoption("--histories")
    traces = list(histories(variant, every))
    if not every:
        traces = of_a_store(few(traces), STORES.index(type(store)))
    await replayed(store, clock, copies, variant, iter(traces))


def few(traces: list[Trace[World]]) -> list[Trace[World]]:
    """Of them, so many that any two things that make a kind of step come up together; all of them in the night."""
    return some([traces[n] for n in covering([set(moments(trace)) for trace in traces])], traces)


def moments(trace: Trace[World]) -> Iterator[Any]:
    """What two things come up together in the steps of a history."""
    at = trace.first
    for step, after in trace.steps:
        yield from combinations(enumerate(kind(step, at, after)), 2)
        at = after


def of_a_store(traces: list[Trace[World]], turn: int) -> list[Trace[World]]:
    """Each third of them; and of the others as few as bring steps that would be missing."""
    taken = traces[turn :: len(STORES)]
    missing = {step.name for trace in traces for step, _ in trace.steps}
    missing -= {step.name for trace in taken for step, _ in trace.steps}
    others = [trace for trace in traces if trace not in taken]
    chosen = covering([missing.intersection(step.name for step, _ in trace.steps) for trace in others])
    return taken + [others[n] for n in chosen]


async def nothing(*_: Any, **__: Any) -> None:
    """What a mutant does instead."""


async def only_waits(_: Any, claim: "asyncio.Future[Any]") -> None:
    """What one does in place of saying what came of a claim."""
    await asyncio.wait([claim])
    if not claim.cancelled():
        claim.exception()


MUTANTS: dict[str, tuple[Variant, Any, str, Any]] = {
    "who slept before the tool starts doesn't ask": ("local", Lease, "confirm_if_old", nothing),
    "who slept before the request doesn't ask": ("hosted", Lease, "confirm_if_old", nothing),
    "a claim that was stopped is left as it is": ("sub-agent", GatedCalls, "_call_off", only_waits),
    "a request that was never made is left as it is": ("hosted", ProviderApprovals, "_not_run", nothing),
    "what is passed on isn't recorded": ("hosted", ProviderApprovals, "accepted", nothing),
    "orphans stay": ("local", OrphanJob, "_settle", nothing),
    "edits are forgotten": ("local", Approval, "effective_arguments", property(lambda self: self.arguments)),
    "who is dead is believed": ("hosted", ProviderApprovals, "recover", nothing),
}


@pytest.mark.usefixtures("sleeps")
@pytest.mark.parametrize("mutant", MUTANTS)
async def test_a_mutant_of_the_engine_is_found(mutant: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    variant, owner, name, instead = MUTANTS[mutant]
    monkeypatch.setattr(owner, name, instead)
    store = MemoryStore(clock=clock)
    await store.start()
    with pytest.raises(AssertionError, match="after step"):
        await replayed(store, clock, Memory(store), variant, iter(few(list(histories(variant, every=False)))))
