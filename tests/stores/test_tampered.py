"""Somebody changes the ledger by SQL: what was not asked about is not carried out, and `audit verify` says so."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate import Agent, tool
from agui_gate.cli.commands.audit import _verify
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import ApprovalRefused, Unavailable
from agui_gate.protocol.run_input import RunInput
from agui_gate.runs.engine import Engine
from agui_gate.stores import open_store
from agui_gate.stores.base import Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.postgres import PostgresStore
from tests.product.inprocess import Parrot
from tests.requirements import shows
from tests.stores.support import ask, gated, said
from tests.support.servers import Postgres

pytestmark = [pytest.mark.anyio, shows("B6")]

YES = Decision(True, by="alice", way="http")
Execute = Callable[[str], object]


@pytest.fixture(params=["sqlite", "postgres"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[str, FullStore, Execute]]:
    """A store's URL, the store, and somebody who can write to its database."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'gate.db'}"

        def execute(statement: str) -> None:
            with closing(sqlite3.connect(tmp_path / "gate.db", isolation_level=None)) as connection:
                connection.execute(statement)

    else:
        url = request.getfixturevalue("tables")
        postgres: Postgres = request.getfixturevalue("postgres")

        def execute(statement: str) -> None:
            postgres.execute(statement, url.rpartition("/")[2])

    store = open_store(url)
    await store.start()
    yield url, store, execute
    await store.aclose()


async def found(url: str) -> list[str]:
    return [place.why for place in (await _verify(Settings(store=url), [])).broken]


async def test_arguments_that_were_not_asked_about_are_not_carried_out(place: tuple[str, FullStore, Execute]) -> None:
    url, store, execute = place
    await ask(store, gated("a1", arguments='{"amount":1}'), gated("a2", "c2", arguments='{"amount":1}'))
    assert await found(url) == []
    execute("""UPDATE approvals SET arguments = '{"amount":9999}' WHERE id = 'a1'""")
    with pytest.raises(ApprovalRefused, match="not those that were asked about"):
        await store.move("a1", State.CLAIMED, decision=YES)
    record = await store.approval("alice", "a1")
    assert record is not None
    assert record.state is State.PENDING
    assert await found(url) == ["approval a1: its record has arguments that were not asked about or approved"]
    await store.move("a1", State.REJECTED, decision=Decision(False, by="alice", way="http"))
    edited = Decision(True, by="alice", way="http", edited_arguments='{"amount":2}')
    assert (await store.move("a2", State.CLAIMED, decision=edited)).effective_arguments == '{"amount":2}'


async def test_a_question_that_is_not_in_the_trail_was_not_asked(place: tuple[str, FullStore, Execute]) -> None:
    url, store, execute = place
    await ask(store, gated("a1"), gated("a2", "c2"))
    execute("UPDATE approvals SET id = 'forged' WHERE id = 'a2'")
    with pytest.raises(ApprovalRefused):
        await store.move("forged", State.CLAIMED, decision=YES)
    assert await found(url) == [
        "approval forged: it has a record, but the trail has no question about it",
        "approval a2: it has no record, and the trail has no deletion of it",
    ]


async def test_consent_is_passed_on_for_what_was_agreed_to(place: tuple[str, FullStore, Execute]) -> None:
    _, store, execute = place
    await ask(store, gated(runner="provider"))
    await store.move("a1", State.CLAIMED, decision=YES)
    execute("""UPDATE approvals SET decision = '{"approved":true,"by":"alice","edited_arguments":"{}"}'""")
    with pytest.raises(ApprovalRefused):
        await store.move("a1", State.PASSED)


REPEATED = {
    "nothing": (None, "done", ["1"]),
    "arguments": ("""arguments = '{"amount":9999}'""", "unknown", []),
    "an edit": (
        """decision = '{"approved":true,"by":"alice","edited_arguments":"{\\"amount\\":9999}"}'""",
        "unknown",
        [],
    ),
    "a yes": ("state = 'claimed'", "unknown", []),
}
"""What is changed of a call whose process died while it ran, what becomes of it, and what its tool is called with."""


@pytest.mark.parametrize("changed", REPEATED)
async def test_a_call_is_repeated_as_it_was_agreed_to_or_not_at_all(
    place: tuple[str, FullStore, Execute], changed: str
) -> None:
    """Its tool may simply run again after a crash, and does with the next run of its thread."""
    _, store, execute = place
    ran: list[str] = []

    @tool(gate=True, idempotent=True)
    async def ship(amount: int) -> str:
        """Ship."""
        ran.append(str(amount))
        return "shipped"

    agent = Agent(name="support", model=Parrot(), tools=[ship])
    await ask(store, gated("a1", tool="ship", arguments='{"amount":1}'))
    forged, state, calls = REPEATED[changed]
    if changed != "a yes":
        await store.move("a1", State.CLAIMED, decision=YES)
    if forged is not None:
        execute(f"UPDATE approvals SET {forged}")
    with capture_logs() as logs:
        run = await Engine([agent], store).run(agent, RunInput("t", "r", []), "alice")
        assert run.task is not None
        await run.task
    record = await store.approval("alice", "a1")
    assert record is not None
    assert (record.state, ran) == (state, calls)
    refused = [(log["approval"], log["log_level"]) for log in logs if log["event"] == "not_repeated"]
    assert refused == ([] if forged is None else [("a1", "error")])
    assert "9999" not in str(logs)


FORGED = {
    'decision = \'{"approved":true,"by":"bob","way":"http"}\'': "another decision, or a decision of another person",
    "decision = NULL": "another decision, or a decision of another person",
    "state = 'failed'": "in another state",
    'output = \'{"content":"more"}\'': "another result",
}


@pytest.mark.parametrize("forged", FORGED)
async def test_verify_holds_the_ledger_against_the_trail(place: tuple[str, FullStore, Execute], forged: str) -> None:
    url, store, execute = place
    await ask(store, gated())
    await store.move("a1", State.CLAIMED, decision=YES)
    await store.move("a1", State.DONE, output=Output("refunded"))
    assert await found(url) == []
    execute(f"UPDATE approvals SET {forged}")
    (why,) = await found(url)
    assert FORGED[forged] in why


async def test_nothing_that_goes_its_way_is_a_contradiction(place: tuple[str, FullStore, Execute]) -> None:
    url, store, _ = place
    kinds = {"a": "c1", "b": "c2", "c": "c3", "d": "c4", "e": "c5", "f": "c6"}
    await ask(store, *(gated(name, call, runner="provider" if name == "e" else "here") for name, call in kinds.items()))
    await store.move("a", State.REJECTED, decision=Decision(False, by="bob", way="card"))
    await store.move("b", State.SUPERSEDED, output=Output("went on"))
    await store.move("c", State.CLAIMED, decision=YES)
    await store.move("c", State.UNKNOWN, output=Output("?", is_error=True))
    await store.move("e", State.CLAIMED, decision=YES)
    await store.move("e", State.PASSED)
    await store.move("e", State.GIVEN_BACK)
    await store.move("e", State.PASSED)
    await store.move("f", State.CLAIMED, decision=YES)
    assert await found(url) == []
    await store.begin_epoch()
    assert await found(url) == []
    thread = await store.lease_thread("alice", "t", "support", "r9")
    await store.commit(thread, Change(entries=said("more"), replaced=["a"]), "r9")
    await store.delete_thread(thread, "r9")
    assert await found(url) == []


async def test_a_role_that_can_only_add_to_the_trail_suffices(database: str, postgres: Postgres) -> None:
    name = database.rpartition("/")[2]
    made = PostgresStore(database)
    await made.start()
    await made.aclose()
    for statement in (
        "DROP ROLE IF EXISTS adds",
        "CREATE ROLE adds LOGIN",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO adds",
        "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO adds",
        "REVOKE UPDATE, DELETE ON approval_events FROM adds",
    ):
        postgres.execute(statement, name)
    store = PostgresStore(database.replace("postgres@", "adds@"))
    await store.start()
    await store.check()
    await ask(store, gated("a1"), gated("a2", "c2"), gated("a3", "c3", expires_at=1))
    await store.move("a1", State.CLAIMED, decision=YES)
    await store.move("a1", State.DONE, output=Output("refunded"))
    await store.list_approvals("alice", limit=9)
    thread: Any = await store.lease_thread("alice", "t", "support", "r9")
    await store.commit(thread, Change(entries=said("more"), replaced=["a1"]), "r9")
    await store.delete_thread(thread, "r9")
    assert (await store.read_events(limit=99)).events[-1].kind == "deleted"
    await store.aclose()
    postgres.execute("REVOKE INSERT ON approval_events FROM adds", name)
    with pytest.raises(Unavailable, match="lacks rights on approval_events"):
        await store.start()
    await store.aclose()
    postgres.execute("DROP OWNED BY adds; DROP ROLE adds", name)
