"""A simple model of the ledger, and random sequences of calls that the stores must answer as the model does."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from agui_gate.core.approvals import DECISIONS, MOVES, Decision, Runner, State
from agui_gate.core.transcript import Output
from agui_gate.errors import IllegalMove
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.stores.support import Clock, ask, gated, pending
from tests.stores.trails import whole_trail
from tests.support.chance import examples

T = TypeVar("T")


class Row:
    """What the model knows of one record."""

    def __init__(self, expires_at: int | None, runner: Runner) -> None:
        self.state = State.PENDING
        self.runner = runner
        self.expires_at = expires_at
        self.decided_at: int | None = None
        self.decision: Decision | None = None
        self.output: Output | None = None

    def overdue(self, now: int) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def may_go(self, to: State, now: int) -> bool:
        only = {State.EXPIRED: self.overdue(now)} | dict.fromkeys(DECISIONS, not self.overdue(now))
        only[State.PASSED] = self.runner == "provider"
        return to in MOVES[self.state] and only.get(to, True)

    def look(self, now: int) -> None:
        if self.state is State.PENDING and self.overdue(now):
            self.state, self.decided_at = State.EXPIRED, now


class Ledger(RuleBasedStateMachine):
    """Random calls; after each, what the model believes is compared with what it was told."""

    records = Bundle("records")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.model: dict[str, Row] = {}
        self.store = self.make()

    def make(self) -> FullStore:
        raise NotImplementedError

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(coroutine)

    @initialize()
    def start(self) -> None:
        self.run(self.store.start())

    @rule(
        target=records,
        expires_in=st.none() | st.integers(1, 30),
        thread=st.sampled_from("xy"),
        runner=st.sampled_from(["provider", "here"]),
    )
    def ask(self, expires_in: int | None, thread: str, runner: Runner) -> str:
        approval_id = f"a{len(self.model)}"
        approval = gated(approval_id, expires_at=expires_in, runner=runner)
        self.run(ask(self.store, approval, thread_id=thread))
        for row in self.model.values():
            row.look(self.clock.now)
        self.model[approval_id] = Row(None if expires_in is None else self.clock.now + expires_in, runner)
        return approval_id

    @rule(ms=st.integers(1, 20))
    def wait(self, ms: int) -> None:
        for row in self.model.values():
            row.look(self.clock.now)
        self.run(pending(self.store, "alice"))
        self.clock.advance(ms)

    @rule(
        approval_id=records,
        to=st.sampled_from(State),
        decision=st.none() | st.builds(Decision, st.booleans(), by=st.text("ab", max_size=2)),
        output=st.none() | st.builds(Output, st.text("xyz", max_size=2), st.booleans()),
    )
    def move(self, approval_id: str, to: State, decision: Decision | None, output: Output | None) -> None:
        row = self.model[approval_id]
        if not row.may_go(to, self.clock.now):
            with pytest.raises(IllegalMove):
                self.run(self.store.move(approval_id, to, decision=decision, output=output))
            return
        if row.state is State.PENDING:
            row.decided_at = self.clock.now
        row.state, row.decision, row.output = to, decision or row.decision, output or row.output
        moved = self.run(self.store.move(approval_id, to, decision=decision, output=output))
        assert (moved.state, moved.decision, moved.output) == (row.state, row.decision, row.output)
        assert moved.decided_at == row.decided_at

    @rule(approval_id=records)
    def read(self, approval_id: str) -> None:
        row = self.model[approval_id]
        row.look(self.clock.now)
        found = self.run(self.store.approval("alice", approval_id))
        assert found is not None
        assert (found.state, found.expires_at, found.decided_at) == (row.state, row.expires_at, row.decided_at)
        assert (found.decision, found.output) == (row.decision, row.output)

    @rule()
    def restart(self) -> None:
        """Close and open again where that keeps anything."""
        if isinstance(self.store, SQLiteStore):
            self.run(self.store.aclose())
            self.run(self.store.start())

    @invariant()
    def pending_are_those_the_model_believes(self) -> None:
        now = self.clock.now
        waiting = [key for key, row in self.model.items() if row.state is State.PENDING and not row.overdue(now)]
        assert [approval.id for approval in self.run(pending(self.store, "alice"))] == waiting
        for row in self.model.values():
            row.look(now)

    def teardown(self) -> None:
        """The audit trail says what the model believes of each record, as the last thing that happened to it."""
        events = self.run(whole_trail(self.store))
        last = {event.approval_id: event.kind for event in events}
        assert last == {key: "asked" if row.state is State.PENDING else row.state for key, row in self.model.items()}
        self.run(self.store.aclose())
        self.runner.close()
        shutil.rmtree(self.folder)


class MemoryLedger(Ledger):
    def make(self) -> FullStore:
        return MemoryStore(clock=self.clock)


class SQLiteLedger(Ledger):
    def make(self) -> FullStore:
        return SQLiteStore(str(self.folder / "ledger.db"), clock=self.clock)


TestMemoryLedger = MemoryLedger.TestCase
TestMemoryLedger.settings = settings(examples(30), stateful_step_count=30)
TestSQLiteLedger = SQLiteLedger.TestCase
TestSQLiteLedger.settings = settings(examples(15), stateful_step_count=25)
