"""Erasing a person: nothing of them is left, what is others' stays whole, and another run ends what was cut off."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from agui_gate import Agent, Gate, Principal, create_app
from agui_gate.cli.program import program
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, Login, State
from agui_gate.core.audit import Event, digest
from agui_gate.core.grants import Grant, GrantLimits
from agui_gate.core.json_text import canonical
from agui_gate.errors import ThreadBusy, Unavailable
from agui_gate.extras.audit.keys import Keys, keyed
from agui_gate.extras.audit.verification import verify
from agui_gate.extras.erasure import erasure as erasing
from agui_gate.extras.erasure.erasure import Erasure
from agui_gate.extras.erasure.export import Export, _own
from agui_gate.extras.erasure.names import Name, erased_event
from agui_gate.extras.erasure.providers import Providers
from agui_gate.extras.erasure.tables import BUS, DAYS, TABLES, WITHOUT_NAMES
from agui_gate.protocol.cards import iso
from agui_gate.stores import open_store
from agui_gate.stores.base import Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.deliveries import Delivery, Step
from agui_gate.stores.operators import Act
from agui_gate.stores.sql.grants import give
from agui_gate.stores.sql.operations import Last, Statement
from agui_gate.stores.sql.usage import ledger_of
from agui_gate.stores.usage import ModelRequest
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.cli.support import environment
from tests.people.desk import Desk, ids
from tests.product.inprocess import run, run_body, started, user
from tests.requirements import shows
from tests.stores.support import ask, gated, said
from tests.support import forks
from tests.support.chance import some
from tests.support.servers import Postgres, programs

pytestmark = [pytest.mark.anyio, shows("K1")]

ZOE = "PLANTED-zoë"
KEY = "k" * 40
CLAIMS = {"jti": "PLANTED-jti", "acr": "mfa"}
PEOPLE: dict[str, Any] = {
    "ada": Principal("ada", "acme"),
    "ben": Principal("ben", "acme", ("finance",)),
    "aud": Principal("aud", "acme", ("auditor",)),
    "zoe": Principal(ZOE, "acme", ("finance",), claims=CLAIMS),
    "evil": Principal("zoe", "evil"),
}
MADE = f'{{"approved":false,"by":"{ZOE}","reason":"PLANTED-reason"}}'
KEYED = f"acme\x1f{ZOE}"


async def worked(store: FullStore) -> None:
    """What is kept about zoe: threads, decisions about others' calls, a grant, usage, deliveries."""
    gate: dict[str, Any] = {"approvers": ("ben", ZOE), "needs": 2, "self_approval": True}
    async with Desk(PEOPLE, **gate).open(store) as desk:
        await desk.say("zoe", "PLANTED-message", "PLANTED-thread")
        mine = await desk.ask("zoe", "refund PLANTED-refund", "mine")
        for who in ("ben", "zoe"):
            await desk.decide(who, mine, reason=f"PLANTED-reason by {who}" if who == "zoe" else "fine")
        rejected = await desk.ask("ada", thread="rejected")
        assert (await desk.decide("zoe", rejected, False, reason="PLANTED-reason")).status == 200
        agreed = await desk.ask("ada", thread="agreed")
        for who in ("zoe", "ben"):
            assert (
                await desk.decide(who, agreed, reason=f"PLANTED-reason {who}" if who == "zoe" else "ok")
            ).status == 200
        await desk.ask("ada", thread="waits")
        await desk.decide("zoe", (await desk.get("ben", "/approvals")).json()["approvals"][0]["id"])
    await given(store)


async def given(store: FullStore) -> None:
    """What has no test double of a whole server's: rows as extras write them."""
    any_store: Any = store
    await store.start()
    waits = (await store.list_approvals("acme\x1fada", limit=10)).approvals[0]
    limits = GrantLimits(duration=10**12)
    grant = Grant(
        id="g1", owner="acme\x1fada", agent="a", tool="t", scope="s", limits=limits, approval_id=waits.id,
        thread_id="waits", giver=ZOE, login=Login(jti="PLANTED-jti"),
    )  # fmt: skip
    notice = f'{{"tenant":"acme","owner":"ada","by":"{ZOE}"}}'
    usage = ModelRequest(
        id="r1", of_tenant="acme", owner=KEYED, principal=ZOE, thread_id="PLANTED-thread", run_key="k", agent="a",
        provider="p", model="m", at=1_000, first_ms=None, ms=1, outcome="ok", input=3, output=4,
    )  # fmt: skip
    ledger = ledger_of(store)
    assert ledger is not None
    await ledger.save([usage])
    counted = Statement(
        "INSERT INTO counted_calls (tenant, whose, place, tool, at, approval_id, numbers) "
        "VALUES ('', 'principal', :place, 't', 1, 'a', '{}')",
        {"place": KEYED},
    )
    deputy = Statement(
        "INSERT INTO deputies (tenant, id, of_tenant, absent, deputy, since, until, body) "
        "VALUES ('', 'd', 'acme', 'ben', :name, 0, 9, :body)",
        {"name": ZOE, "body": f'{{"absent":"ben","deputy":"{ZOE}"}}'},
    )
    budget = Statement(
        "INSERT INTO budgets (tenant, id, tokens, cost) VALUES ('', :id, 1, 1)", {"id": f"principal:1:{KEYED}"}
    )

    def rows() -> Any:
        yield Last([*give(grant, 1), counted, budget, deputy])

    await any_store._do("write", rows)
    await store.deliveries().add([Delivery("desk", "n1", waits.id, notice)])
    await store.deliveries().plan([Step(waits.id, "escalated", 10**9, ("ben", ZOE))], 0)
    await store.operators.ask_to_stop("acme\x1fada", "t", Act("olga", "x"), "r")
    thread = await store.lease_thread("evil\x1fzoe", "t", "a", "r1")
    await store.commit(thread, Change(entries=said("theirs"), status="finished"), "r1")
    await store.aclose()


def erasure(store: FullStore, name: str = ZOE, tenant: str = "acme", **more: Any) -> Erasure:
    return Erasure(store, Name(tenant, name), "olga", providers=Providers(), wait=more.pop("wait", 5), **more)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'gate.db'}" if request.param == "sqlite" else str(request.getfixturevalue("tables"))


def opened(url: str, *keys: str) -> FullStore:
    store: Any = open_store(url)
    return keyed(store, Settings(audit_key=keys))  # type: ignore[return-value]  # it is one


def dump(url: str) -> bytes:
    """All bytes of all files of a SQLite store; of PostgreSQL what pg_dump writes."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()) if file.name.startswith(path.name))
    pg_dump = str(programs() / "pg_dump")
    return subprocess.run([pg_dump, "--dbname", url], check=True, capture_output=True, timeout=60).stdout


def traces(url: str) -> set[bytes]:
    found = dump(url)
    return {found[max(0, at - 200) : at + 60] for word in (b"PLANTED", "zoë".encode()) if (at := found.find(word)) >= 0}


async def wrong(store: FullStore, *keys: str, heads: Any = ()) -> list[str]:
    found = await verify(store, heads, Keys([key.encode() for key in keys]) if keys else None)
    return [place.why for place in found.broken]


@pytest.mark.parametrize("keys", [(), (KEY,)], ids=["plain", "signed"])
async def test_nothing_is_left_and_what_is_others_is_whole(url: str, keys: tuple[str, ...]) -> None:
    await worked(opened(url, *keys))
    assert traces(url), "there is something to erase"
    server = opened(url, *keys)
    async with Desk(PEOPLE | {"zoe": None}).open(server) as desk:  # it goes on serving
        kept = (await server.read_heads(limit=100)).heads
        store = opened(url, *keys)
        await store.start()
        receipt = await erasure(store).erase()
        assert await wrong(store, *keys, heads=kept) == []
        again = await erasure(store).erase()
        await store.aclose()
        assert (again.deleted, again.replaced) == ({}, {}), "a second time there is nothing"
        story = (await desk.get("aud", "/audit", "limit=100")).json()["entries"]
        assert desk.app.state.engine.store is server
        waiting = (await desk.get("ada", "/approvals")).json()["approvals"]
    assert traces(url) == set()
    assert receipt.pseudonym.startswith("erased-")
    assert receipt.digest
    some = {"outbox": 0, "run_heads": 0, "run_events": 0, "run_openings": 0}
    assert receipt.deleted | some == some | {
        "threads": 2, "approvals": 1, "grants": 1, "deputies": 1, "counted_calls": 1, "budgets": 1,
    }  # fmt: skip
    assert len(receipt.threads) == 2
    assert {"events", "records", "tombstones", "model_requests", "usage_days", "approval_steps", "deliveries"} == set(
        receipt.replaced
    ) - {"outbox"}
    (end,) = [one for one in story if one["kind"] == "erased" and not one["approval_id"]]
    assert (end["owner"], end["by"]) == (receipt.pseudonym, "olga")
    (no,) = [one for one in story if one["kind"] == "rejected"]
    assert (no["by"], no["reason"], no["jti"], no["address"]) == (receipt.pseudonym, "(erased)", "", "")
    assert {one["reason"] for one in story if one["by"] == "ben" and one["reason"]} == {"ok", "fine"}
    assert len(waiting) == 1, "what waits goes on waiting"


async def test_other_tenants_and_the_threads_of_others_stay(url: str) -> None:
    await worked(opened(url))
    store = opened(url)
    await store.start()
    before = await store.read_thread("acme\x1fada", "agreed")
    await erasure(store, "zoe", "evil").erase()
    assert await store.read_thread("evil\x1fzoe", "t") is None
    assert ZOE.encode() in dump(url), "of another tenant"
    await erasure(store).erase()
    after = await store.read_thread("acme\x1fada", "agreed")
    assert before is not None
    assert after is not None
    assert before.entries == after.entries
    assert [one.state for one in after.approvals] == [State.DONE]
    await store.aclose()


@pytest.mark.parametrize("keys", [(), (KEY,)], ids=["plain", "signed"])
async def test_a_thread_that_was_handed_on_stays_with_its_new_owner(url: str, keys: tuple[str, ...]) -> None:
    store = opened(url, *keys)
    async with Desk(PEOPLE).open(store) as desk:
        await desk.decide("zoe", await desk.ask("zoe", thread="t"), False, reason="PLANTED-reason")
    await store.start()
    thread = await store.lease_thread(KEYED, "t", "support", "r1")
    await store.operators.hand_on(thread, "acme\x1fben", Act("olga", "PLANTED has left"), "r1")
    await store.commit(thread, Change(status="finished"), "r1")
    await erasure(store).erase()
    after = await store.read_thread("acme\x1fben", "t")
    assert after is not None
    assert [(one.thread_id, one.principal) for one in after.approvals] == [("t", "acme\x1fben")]
    assert await wrong(store, *keys) == []
    found = [event for event in (await store.read_events(limit=100)).events if event.kind == "handed_on"]
    assert json.loads(found[0].body)["from"].startswith("acme\x1ferased-")
    await store.aclose()
    assert traces(url) == set()


def test_a_file_that_others_read_all_the_time_is_said_to_be_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "gate.db"
    asyncio.run(worked(opened(f"sqlite:///{path}")))
    words = ["erase", ZOE, "--tenant", "acme", "--store", f"sqlite:///{path}", "--wait", "0"]
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM threads").fetchone()
        result = CliRunner().invoke(program, words)
    assert result.exit_code == 1
    assert "pseudonym: erased-" in result.output, "the receipt is there all the same"
    assert "Run this again when there is less to do." in " ".join(result.output.split())
    assert CliRunner().invoke(program, words).exit_code == 0
    assert traces(f"sqlite:///{path}") == set()


@pytest.mark.parametrize("name", ["finance", "roles", "http", "erased"])
async def test_a_name_is_no_role_nor_a_word_of_ours(name: str, tmp_path: Path) -> None:
    people = PEOPLE | {
        "zoe": Principal(name, "acme", ("finance", "user")),
        "ben": Principal("ben", "acme", ("finance",)),
    }
    store = opened(f"sqlite:///{tmp_path / 'gate.db'}")
    until = iso(store.now() + 86_400_000)
    async with Desk(people, approvers="finance").open(store) as desk:
        waits = await desk.ask("ada", thread="waits")
        assert (await desk.decide("zoe", await desk.ask("ada", thread="no"), False)).status == 200
        for to in ("ada", name):
            assert (await desk.post("ben", "/deputies", {"deputy": to, "until": until})).status == 201
        before = (await desk.get("ben", f"/approvals/{waits}")).json()
        receipt = await erasure(store, name).erase()
        assert (receipt.deleted["deputies"], receipt.replaced["records"]) == (1, 1)
        assert (await erasure(store, name).erase()).replaced == {}
        assert (await desk.get("ben", f"/approvals/{waits}")).json() == before, "of a role"
        assert [one.deputy for one in await store.deputies().find("tenant", "acme")] == ["ada"]
        assert (await desk.decide("ben", waits)).status == 200


async def test_records_that_are_older_than_the_trail_lose_the_name(url: str) -> None:
    store = opened(url)
    async with Desk(PEOPLE).open(store) as desk:
        await desk.decide("ada", await desk.ask("ada"), False, reason="no")
        any_store: Any = store
        older = [Statement("DELETE FROM approval_events WHERE tenant = :tenant")]
        older.append(Statement("UPDATE approvals SET decision = :made WHERE tenant = :tenant", {"made": MADE}))

        def rows() -> Any:
            yield Last(older)

        await any_store._do("write", rows)
        receipt = await erasure(store).erase()
        assert receipt.replaced == {"records": 1}
        (one,) = ids(await desk.get("ada", "/approvals", "state=decided"))
        made = (await desk.get("ada", f"/approvals/{one}")).json()
        assert made["decision"]["by"] == receipt.pseudonym
    assert traces(url) == set()


async def test_an_export_has_nothing_that_others_said_about_calls_of_others(tmp_path: Path) -> None:
    people = PEOPLE | {"ben": Principal("ben", "acme", ("finance", "user"), claims={"jti": "bens-jti"})}
    store = opened(f"sqlite:///{tmp_path / 'gate.db'}")
    async with Desk(people, approvers="finance", needs=2).open(store) as desk:
        both = await desk.ask("ada", thread="both")
        for who in ("ben", "zoe"):
            assert (await desk.decide(who, both, reason=f"reason-of-{who}")).status == 200
        waits = await desk.ask("ada", thread="waits")
        assert (await desk.post("ben", f"/approvals/{waits}/hand-to", {"to": ZOE})).status == 200
        until = iso(store.now() + 86_400_000)
        assert (await desk.post("zoe", "/deputies", {"deputy": "ben", "until": until})).status == 201
        assert (await desk.decide("ben", waits, reason="reason-of-ben")).status == 200
        every = [line async for line in Export(store, Name("acme", ZOE)).lines()]
    lines = str(every)
    assert "reason-of-zoe" in lines
    assert [line["body"]["jti"] for line in every if line.get("event") == "approved"] == ["PLANTED-jti"]
    assert "reason-of-ben" not in lines
    assert "bens-jti" not in lines
    assert _own({"approved": True, "reason": "mine", "login": {}}, is_theirs=False) == {"approved": True}


async def test_why_an_answer_was_refused_names_nobody(url: str, caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk(PEOPLE, approvers=("ben", ZOE), needs=2)
    async with desk.open(opened(url)):
        waits = await desk.ask("ada")
        assert (await desk.decide("zoe", waits)).status == 200
    desk.gate = Gate(approvers=("ben", "aud"), needs=2)
    store = opened(url)
    async with desk.open(store, log_principals="pseudonyms"):
        refused = await desk.decide("ben", waits)
        assert f": {ZOE}." in refused.json()["error"]["message"]
        await erasure(store).erase()
    assert ZOE not in caplog.text.partition("answer_refused")[2]
    assert traces(url) == set()
    why = Event(
        tenant="", thread="1", seq=1, at=1, kind="refused", principal="acme\x1fada", thread_id="t", approval_id="a",
        run_key="", by="ben", way="http", prev="", hash="",
        body=canonical({"why": f"{ZOE} agreed and may no longer do so."}),
    )  # fmt: skip
    assert ZOE not in erased_event(Name("acme", ZOE, "erased-1"), why, keeps_thread=True).body, "as it was said before"


def test_frames_of_others_go_only_if_they_name_the_person() -> None:
    frames = BUS[1]

    def change(name: str, frame: str, owner: str | None = "acme\x1fada") -> Any:
        row = {"run_key": "r", "next": 1} | dict(
            zip(frames.columns, (f"id: r:1\ndata: {frame}\n\n", owner), strict=True)
        )
        return frames.change(Name("acme", name), row)

    told = '{"type":"CUSTOM","role":"user","value":{"approvers":"finance","approvals":[{"by":"zoe"}]}}'
    assert change("zoe", told) == change("zoe", told, None) == "delete"
    assert change("zoe", told, "evil\x1fada") is None
    assert [change(name, told) for name in ("user", "type", "CUSTOM", "finance")] == [None] * 4


async def test_long_threads_are_erased_in_pages(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more records and events are read at once than a page has, and what was told to others of them stays told."""
    monkeypatch.setattr("agui_gate.extras.erasure.trail.RECORDS", 2)
    monkeypatch.setattr("agui_gate.extras.erasure.trail.PAGE", 3)
    gate: dict[str, Any] = {"approvers": ("ben", ZOE)}
    async with Desk(PEOPLE, **gate).open(opened(url, KEY)) as desk:
        for number in range(5):
            asked = await desk.ask("ada", thread="long")
            assert (await desk.decide("zoe", asked, number % 2 == 0, reason=f"PLANTED {number}")).status == 200
    store: Any = opened(url, KEY)
    async with Desk(PEOPLE, **gate).open(store) as desk:
        await store.deliveries().add([Delivery("desk", "n", asked, f'{{"tenant":"acme","owner":"ada","by":"{ZOE}"}}')])
        receipt = await erasure(store).erase()
        assert await wrong(store, KEY) == []
        assert receipt.replaced["records"] == 5
        (told,) = await store.deliveries().listed(limit=10)
        assert json.loads(told.body) == {"tenant": "acme", "owner": "ada", "by": receipt.pseudonym}
        record = (await desk.get("ada", f"/approvals/{asked}")).json()
        assert record["decision"]["by"] == receipt.pseudonym
    assert traces(url) == set()


KILLED = """
import asyncio, os, signal, sys
from agui_gate.config.settings import Settings
from agui_gate.extras.audit.keys import keyed
from agui_gate.extras.erasure import erasure as erasing
from agui_gate.extras.erasure.erasure import Erasure
from agui_gate.extras.erasure.names import Name
from agui_gate.extras.erasure.providers import Providers
from agui_gate.stores import open_store

async def main(url, key, name, left):
    store = keyed(open_store(url), Settings(audit_key=(key,)))
    await store.start()
    do, left = store._do, int(left)

    async def counted(kind, operation):
        nonlocal left
        if kind != "read" and not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= kind != "read"
        return await do(kind, operation)

    store._do = counted
    await Erasure(store, Name("acme", name), "olga", providers=Providers(), wait=5).erase()
    await store.aclose()

asyncio.run(main(*sys.argv[1:]))
"""
"""Erases somebody, and is killed before it makes its next transaction after so many."""


class Copies:
    """A store that `worked` has filled, of which there is a copy for each try."""

    def __init__(self, folder: Path, postgres: Postgres | None) -> None:
        self._folder, self._postgres = folder, postgres
        self._name = postgres.create() if postgres else "first.db"
        self.first = self._url(self._name)

    def _url(self, name: str) -> str:
        return self._postgres.url(name) if self._postgres else f"sqlite:///{self._folder / name}"

    @contextmanager
    def copy(self, number: int) -> Iterator[str]:
        """Its URL. A PostgreSQL takes it for the database that it is a copy of, and not for one that was restored."""
        if self._postgres is None:
            with closing(sqlite3.connect(self._folder / self._name)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            shutil.copy(self._folder / self._name, self._folder / f"n{number}.db")
            yield self._url(f"n{number}.db")
            return
        name = self._postgres.create(self._name)
        self._postgres.execute("UPDATE epoch SET goes_on_in = NULL", name)
        yield self._url(name)
        self._postgres.drop(name)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_whenever_it_is_killed_the_next_run_does_the_rest_beside_a_server(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> None:
    postgres = request.getfixturevalue("postgres") if kind == "postgres" else None
    copies = Copies(tmp_path, postgres)
    await worked(opened(copies.first, KEY))
    number, finished = 0, False
    while not finished:
        with copies.copy(number) as url:
            async with Desk(PEOPLE | {"zoe": None}, approvers="finance").open(opened(url, KEY)) as desk:
                asked = await desk.ask("ada", thread="meanwhile")
                finished = await asyncio.to_thread(killed_after, number, url, tmp_path)
                assert (await desk.decide("ben", asked)).json()["state"] == "done", number
                store = opened(url, KEY)
                await store.start()
                await erasure(store).erase()
                assert await wrong(store, KEY) == [], number
                ends = [event for event in (await store.read_events(limit=500)).events if event.kind == "erased"]
                assert len([one for one in ends if not one.approval_id]) == 1, "the end is told once"
                await store.aclose()
            assert traces(url) == set(), number
        number += some(3, 1) if postgres else 1
    assert number > 15


def killed_after(number: int, url: str, cwd: Path) -> bool:
    """Erases in a process of its own until so many transactions were made. Returns whether it was done before that."""
    with open(os.devnull, "r+") as nothing, tempfile.TemporaryFile("w+") as said:
        streams = (nothing.fileno(), nothing.fileno(), said.fileno())
        arguments = [url, KEY, ZOE, str(number)]
        code = forks.start(KILLED, arguments, cwd=cwd, env=environment(), streams=streams).wait(60)
        said.seek(0)
        assert code in (0, -signal.SIGKILL), said.read()
    return code == 0


async def test_a_payment_at_work_is_waited_for_and_nothing_happens_before(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "LOOK_SECONDS", 0.01)
    told: list[str] = []
    store = opened(url)
    await store.start()
    await ask(store, gated("a1", principal="acme\x1fzoe", thread_id="t"), principal="acme\x1fzoe")
    await ask(store, gated("a2", principal="acme\x1fzoe", thread_id="u"), principal="acme\x1fzoe", thread_id="u")
    thread = await store.lease_thread("acme\x1fzoe", "t", "support", "decide_1", whole=False)
    await store.move("a1", State.CLAIMED, decision=Decision(True, "zoe"), run_key="decide_1")
    before = (await store.list_threads("acme\x1fzoe", limit=10)).threads
    with pytest.raises(ThreadBusy, match=r"Call a1 \(refund\) is being carried out.*Nothing of this person was erased"):
        await erasure(store, "zoe", wait=0.1, say=told.append).erase()
    assert len(told) == 1, "not with each look"
    assert (await store.list_threads("acme\x1fzoe", limit=10)).threads == before
    ends: list[asyncio.Future[None]] = []

    def say(line: str) -> None:
        if not ends:
            ends.append(asyncio.ensure_future(store.commit(thread, Change(status="finished"), "decide_1")))

    assert (await erasure(store, "zoe", say=say).erase()).deleted["threads"] == 2
    assert ends
    await store.aclose()


async def test_a_role_that_can_t_change_the_trail_erases_nothing(tables: str, postgres: Postgres) -> None:
    await worked(opened(tables))
    for statement in (
        "DROP ROLE IF EXISTS erases",
        "CREATE ROLE erases LOGIN",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO erases",
        "REVOKE UPDATE ON approval_events FROM erases",
    ):
        postgres.execute(statement, tables.rpartition("/")[2])
    store = opened(tables.replace("postgres@", "erases@"))
    await store.start()
    seen = (await erasure(store).count()).deleted
    with pytest.raises(Unavailable, match=r"has UPDATE on approval_events\. Nothing of this person was erased\."):
        await erasure(store).erase()
    assert (await erasure(store).count()).deleted == seen
    assert seen["threads"] == 2
    await store.aclose()
    postgres.execute("DROP OWNED BY erases", tables.rpartition("/")[2])


async def test_a_signed_trail_needs_its_key_and_a_changed_one_is_not_vouched_for(tmp_path: Path) -> None:
    path = tmp_path / "gate.db"
    await worked(opened(f"sqlite:///{path}", KEY))
    store = opened(f"sqlite:///{path}")
    await store.start()
    with pytest.raises(Unavailable, match="AGUI_GATE_AUDIT_KEY"):
        await erasure(store).erase()
    await store.aclose()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE approval_events SET run_key = 'x' WHERE kind = 'rejected'")
    store = opened(f"sqlite:///{path}", KEY)
    await store.start()
    with pytest.raises(Unavailable, match="was changed"):
        await erasure(store).erase()
    assert len((await store.list_threads(KEYED, limit=10)).threads) == 2, "nothing was deleted"
    await store.aclose()


async def test_what_an_erased_event_says_is_vouched_for(tmp_path: Path) -> None:
    path = tmp_path / "gate.db"
    await worked(opened(f"sqlite:///{path}", KEY))
    store = opened(f"sqlite:///{path}", KEY)
    await store.start()
    await erasure(store).erase()
    chain = "thread = (SELECT thread FROM approval_events WHERE kind = 'rejected')"
    erased = f"SELECT by, erased, way, seq FROM approval_events WHERE {chain} AND erased <> '' AND by <> '' LIMIT 1"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        before = connection.execute(erased).fetchone()
        this = f"WHERE {chain} AND seq = {before[3]}"
        for change in ("by = 'ben'", "erased = ''", f"erased = ':{digest('x')}'", "way = 'card'"):
            connection.execute(f"UPDATE approval_events SET {change} {this}")
            assert await wrong(store, KEY), change
            connection.execute(f"UPDATE approval_events SET by = ?, erased = ?, way = ? {this}", before[:3])
    assert await wrong(store, KEY) == []
    await store.aclose()


async def test_every_table_is_looked_through_or_has_no_names(tmp_path: Path) -> None:
    """A new table has to say which it is."""
    store = opened(f"sqlite:///{tmp_path / 'gate.db'}")
    await store.start()
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "gate.db")) as connection:
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    ours = {"threads", "approvals", "approval_events", "approval_steps", "person_keys"}
    ours |= {table.name for table in (*TABLES, DAYS, *BUS)}
    assert {name for name in found if not name.startswith("sqlite_")} - ours - WITHOUT_NAMES == set()


@pytest.mark.parametrize("mode", ["chain", "conversation"])
async def test_what_the_provider_stores_is_deleted_there(
    mode: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'gate.db'}"
    emulator = Emulator()
    async with serve(emulator) as base_url:
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        app = create_app(Agent(name="a", model=OpenAIResponses("gpt-5.4-mini", mode=mode)), store=url)
        async with started(app):
            for text in ("hello", "and again"):
                assert (await run(app, run_body("t", user(text)))).status == 200
        stored = emulator.state.responses if mode == "chain" else emulator.state.conversations
        assert stored
        store = opened(url)
        await store.start()
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        with pytest.raises(Unavailable, match=r"keeps responses of this person.*--leave-providers"):
            await erasure(store, "local", "").erase()
        assert stored, "nothing happened"
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)
        providers = Providers()
        receipt = await Erasure(store, Name("", "local"), "olga", providers=providers).erase()
        await providers.aclose()
        assert receipt.deleted["at_providers"] == (2 if mode == "chain" else 1)
        assert not stored
        await store.aclose()


@pytest.mark.parametrize("host", ["azure", "foundry"])
@pytest.mark.parametrize("mode", ["chain", "conversation"])
async def test_other_hosts_are_asked_by_the_applications_models_also_by_those_of_a_list(
    host: Any, mode: Any, tmp_path: Path
) -> None:
    """Their origin names no address that the environment has, so ``--target`` is needed."""
    url = f"sqlite:///{tmp_path / 'gate.db'}"
    emulator = Emulator(profile="foundry" if host == "foundry" else "openai")
    async with serve(emulator) as base_url:
        more = {"conversations": True} if host == "azure" and mode == "conversation" else {}
        make: Any = OpenAIResponses.azure if host == "azure" else OpenAIResponses.foundry
        model = make("gpt", endpoint=base_url, api_key="k", mode=mode, **more)
        agent = Agent(name="a", model=[OpenAIResponses("down", base_url="http://127.0.0.1:9/v1", api_key="k"), model])
        app = create_app(agent, store=url)
        async with started(app):
            assert (await run(app, run_body("t", user("hello")))).events()[-1]["type"] == "RUN_FINISHED"
        stored = emulator.state.responses if mode == "chain" else emulator.state.conversations
        assert stored
        store = opened(url)
        await store.start()
        with pytest.raises(Unavailable, match="name the application with --target"):
            await erasure(store, "local", "").erase()
        asked = Erasure(store, Name("", "local"), "olga", providers=Providers([agent.adapter]))
        assert (await asked.erase()).deleted["at_providers"] == 1
        assert not stored
        await store.aclose()
    assert emulator.refusals == []


def test_the_command_counts_erases_and_gives_a_receipt(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'gate.db'}"
    asyncio.run(worked(opened(url)))

    def erase(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(program, ["erase", ZOE, "--store", url, *words])
        logged.append(result.stderr)
        return result.exit_code, result.output if result.exit_code else result.stdout

    logged: list[str] = []
    assert erase() == (0, "Nothing is kept under this name.\n"), "of another tenant"
    code, told = erase("--tenant", "acme", "--dry-run")
    assert (code, "would delete threads: 2" in told) == (0, True)
    assert erase("--tenant", "acme", "--dry-run") == (0, told), "nothing has changed"
    code, told = erase("--tenant", "acme", "--json", "--operator", "olga")
    receipt = json.loads(told)
    assert (code, receipt["by"], receipt["deleted"]["threads"]) == (0, "olga", 2)
    (line,) = logged[-1].splitlines()
    said = f"event=erased by=olga pseudonym={receipt['pseudonym']} receipt={receipt['digest']}"
    assert (line.endswith(said), ZOE in line, "".join(logged[:-1])) == (True, False, "")
    unsigned = receipt | {"digest": ""}
    assert receipt["digest"] == digest(canonical(unsigned))
    assert traces(url) == set()
    assert erase("--tenant", "acme") == (0, "Nothing is kept under this name.\n")
    assert erase("--target", "x:y", "--leave-providers")[0] == 2


def test_the_person_behind_a_principal_is_erased_in_the_same_command_if_that_is_said(tmp_path: Path) -> None:
    """The name of the person is another one, with reasons of its own: which it is, the trail says."""
    url = f"sqlite:///{tmp_path / 'gate.db'}"
    people = {name: Principal(f"PLANTED-{name}", "acme", claims={"person": "PLANTED-p"}) for name in ("zoe", "bot")}

    async def work() -> None:
        async with Desk(PEOPLE | people, approvers=("PLANTED-zoe", "PLANTED-bot")).open(opened(url)) as desk:
            for who in people:
                await desk.decide(who, await desk.ask("ada", thread=who), False, reason="PLANTED-reason")

    def erase(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(program, ["erase", "PLANTED-zoe", "--tenant", "acme", "--store", url, *words])
        return done.exit_code, done.stdout + done.stderr

    asyncio.run(work())
    before = erase("--dry-run")
    assert "The person 'PLANTED-p' stood behind this principal." in before[1]
    code, told = erase("--person", "PLANTED-bot")
    assert (code, "'PLANTED-bot' is not the person behind 'PLANTED-zoe', but 'PLANTED-p' is" in told) == (1, True)
    assert erase("--dry-run") == before, "nothing was changed"
    code, told = erase("--person", "PLANTED-p", "--json")
    receipt = json.loads(told[: told.rindex("}") + 1])
    (person,) = receipt["persons"]
    assert (code, person["pseudonym"] != receipt["pseudonym"], person["replaced"]["events"]) == (0, True, 1)
    left = dump(url)
    assert [word in left for word in (b"PLANTED-zoe", b'PLANTED-p"', b"PLANTED-reason")] == [False] * 3
    assert b"PLANTED-bot" in left, "another principal of theirs has a name of its own"
    assert asyncio.run(wrong_of(url)) == []
    assert erase("--person", "PLANTED-p") == (0, f"PLANTED-zoe:\n{NOTHING}PLANTED-p:\n{NOTHING}"), "killed, run again"


async def wrong_of(url: str) -> list[str]:
    store = opened(url)
    await store.start()
    try:
        return await wrong(store)
    finally:
        await store.aclose()


NOTHING = "Nothing is kept under this name.\n"


async def test_an_export_has_what_is_kept_about_a_person_and_nothing_of_others(url: str) -> None:
    await worked(opened(url))
    store = opened(url)
    await store.start()
    lines = [json.loads(msgspec.json.encode(line)) async for line in Export(store, Name("acme", ZOE)).lines()]
    kinds = {one["kind"] for one in lines}
    assert kinds >= {
        "export",
        "thread",
        "call_of_others",
        "event",
        "grant",
        "deputy",
        "counted_call",
        "delivery",
        "budget",
    }
    assert "model_request" in kinds
    assert {one["id"] for one in lines if one["kind"] == "thread"} == {"PLANTED-thread", "mine"}
    assert "PLANTED-message" in str([one for one in lines if one["kind"] == "thread"])
    reasons = {one["reason"] for one in lines if one["kind"] == "event" and one["by"] == ZOE}
    assert {"PLANTED-reason", "PLANTED-reason zoe", "PLANTED-reason by zoe"} <= reasons
    (usage,) = [one for one in lines if one["kind"] == "model_request"]
    assert (usage["input"], usage["output"]) == (3, 4)
    (rejected,) = [one for one in lines if one["kind"] == "call_of_others" and one.get("decision")]
    assert "arguments" not in rejected
    await erasure(store).erase()
    left = [one["kind"] async for one in Export(store, Name("acme", ZOE)).lines()]
    assert left == ["export"]
    await store.aclose()


def test_of_a_store_that_is_no_database_nobody_is_erased_or_exported() -> None:
    store: Any = SimpleNamespace()
    with pytest.raises(Unavailable, match="Nobody can be erased"):
        erasure(store)
    with pytest.raises(Unavailable, match="Nothing can be exported"):
        Export(store, Name("acme", ZOE))
