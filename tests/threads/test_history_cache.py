"""What is kept of threads between their runs is never seen: only what it costs to go on."""

import asyncio
import gc
import random
import re
import sqlite3
import weakref
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from agui_gate import Agent, concurrency, create_app, tool
from agui_gate.adapter import TurnDone, Usage
from agui_gate.approvals import execution, orphan_job
from agui_gate.config.limits import DEFAULTS
from agui_gate.config.settings import Settings
from agui_gate.core.agent_view import Audience, Viewpoint
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Beginning, CallPart, Output, Text, TextPart, TurnEntry, UserEntry
from agui_gate.errors import ProviderUnavailable, Unavailable
from agui_gate.protocol import sent_messages
from agui_gate.protocol.sent_messages import SentMessages, decode_new
from agui_gate.runs import heartbeat
from agui_gate.stores.base import Change, JournalVersion, Thread
from agui_gate.stores.sql.store import SQLStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.threads import history as histories
from agui_gate.threads import leased_thread
from agui_gate.threads.history import IDLE_SECONDS, History, HistoryCache
from agui_gate.threads.large_histories import MOST_AWAITED, put_later
from tests.bench.work import history as history_sent
from tests.product.inprocess import Json, Parrot, calls, request, run, run_body, says, started, user
from tests.stores.support import gated
from tests.support.chance import seeds

pytestmark = pytest.mark.anyio

STEPS = 40
_NAME = re.compile(r"[0-9a-f]{32}|[0-9a-f]{16}|\b[0-9]{15,19}\b")
_TIME = re.compile(r"\b1[0-9]{12}\b|\d{4}-\d\d-\d\dT[\d:.]+Z|\d{4}-\d\d-\d\d \d\d:\d\d")


class Model(Parrot):
    """Says and calls what its world's chance says, and notes what it was asked."""

    def __init__(self, requests: list[Any], plan: list[Any]) -> None:
        super().__init__(plan)
        self.requests = requests

    def _turn(self, request: Any) -> list[Any]:
        assert self.plan is not None
        return list(self.plan.pop(0)) if self.plan else [*says("ok"), TurnDone(usage=Usage("p", "m", 1, 1, 2))]


class Slow(SQLiteStore):
    """A store whose commits can be held up, or fail once."""

    fails = False

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.held: asyncio.Event | None = None
        self.reached = asyncio.Event()

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        """Commits, when it is let."""
        if self.fails:
            self.fails = False
            raise Unavailable("The store is away.")
        if self.held is not None:
            self.reached.set()
            await self.held.wait()
        await super().commit(thread, change, run_key)

    def hold(self) -> asyncio.Event:
        """Holds up what is committed from now on, and returns what lets it go on. ``reached`` says that one waits."""
        self.reached, self.held = asyncio.Event(), asyncio.Event()
        return self.held


class World:
    """Two servers on one file, with ``kept_bytes`` of memory for histories each, and all that they tell and ask."""

    def __init__(self, folder: Path, kept_bytes: int) -> None:
        folder.mkdir()
        self.path, self.saved, self._kept_bytes = folder / "world.db", folder / "saved.db", kept_bytes
        self.requests: list[Any] = []
        self.plan: list[Any] = []
        self.ran: list[str] = []
        self.apps: list[Any] = []
        self._names: dict[str, str] = {}
        self.users: list[Json] = []

    def app(self) -> Any:
        """Makes a server."""

        @tool(gate=True)
        async def refund(order_id: str) -> str:
            """Refund."""
            self.ran.append(order_id)
            return f"refunded {order_id}"

        @tool
        async def look(order_id: str) -> str:
            """Look."""
            return f"seen {order_id}"

        agent = Agent(name="a", model=Model(self.requests, self.plan), tools=[refund, look])
        return create_app(agent, store=Slow(str(self.path)), settings=Settings(kept_bytes=self._kept_bytes))

    def store(self, number: int) -> Slow:
        """Returns the store of a server."""
        store = self.apps[number].state.engine.store
        assert isinstance(store, Slow)
        return store

    def sql(self, *statements: str) -> None:
        """Does something to the file, as another program would."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        for statement in ("BEGIN IMMEDIATE", *statements, "COMMIT"):
            connection.execute(statement)
        connection.close()

    async def say(self, number: int, *messages: Json, **more: Any) -> Any:
        """Runs, and returns what was told."""
        answer = await run(self.apps[number], run_body("t", *messages, **more))
        return answer.events() if answer.status == 200 else answer.json()

    async def view(self) -> Json:
        """Returns the thread as everybody may read it."""
        answer = await request(self.apps[0], "GET", "/threads/t")
        return dict(answer.json())

    def clean(self, told: Any) -> str:
        """Returns ``told`` with numbers for the names that differ from world to world, and without times: two of them
        are the same or not, as it happens.
        """
        text = _TIME.sub("(time)", msgspec.json.encode(told).decode())
        return _NAME.sub(lambda found: self._names.setdefault(found[0], f"#{len(self._names)}"), text)


class Walk:
    """Does the same in each world."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.number = chance, 0

    async def step(self, world: World) -> Any:
        """Does one thing of many, and returns what was told."""
        number = self.chance.randrange(2)
        often = (self.say, self.say, self.say, self.ask, self.ask, self.answer, self.answer, self.decide, self.decide)
        seldom = (self.back, self.edit, self.fail, self.stumble, self.hang)
        elsewhere = (self.save, self.restore, self.epoch, self.delete)
        act = self.chance.choice([*often, *seldom, *elsewhere])
        self.number += 1
        return [act.__name__, number, await act(world, number)]

    def message(self, world: World, text: str) -> Json:
        said = user(f"{text} {self.number}", f"m{self.number}")
        world.users.append(said)
        return said

    async def say(self, world: World, number: int) -> Any:
        said = self.message(world, "hello")
        world.plan += self.chance.choice([[], [[*calls("look", {"order_id": "A"}), TurnDone()]]])
        if self.chance.random() < 0.5:
            return await world.say(number, said)
        shown = (await world.view()).get("messages", [])
        return await world.say(number, *shown, said)

    async def ask(self, world: World, number: int) -> Any:
        world.plan.append([*calls("refund", {"order_id": f"o{self.number}"}), TurnDone()])
        return await world.say(number, self.message(world, "refund"))

    async def waiting(self, world: World) -> list[str]:
        page = (await request(world.apps[0], "GET", "/approvals")).json()
        return [one["id"] for one in page["approvals"]]

    async def answer(self, world: World, number: int) -> Any:
        chosen, yes = self.chance.random(), self.chance.random() < 0.7
        if not (ids := await self.waiting(world)):
            return None
        resume = {"interruptId": ids[int(chosen * len(ids))], "status": "resolved", "payload": {"approved": yes}}
        return await world.say(number, resume=[resume])

    async def decide(self, world: World, number: int) -> Any:
        chosen, yes = self.chance.random(), self.chance.random() < 0.7
        if not (ids := await self.waiting(world)):
            return None
        body = msgspec.json.encode({"approved": yes})
        answer = await request(world.apps[number], "POST", f"/approvals/{ids[int(chosen * len(ids))]}", body)
        return answer.json()

    async def back(self, world: World, number: int) -> Any:
        place = self.chance.random()
        shown = (await world.view()).get("messages", [])
        users = [at for at, message in enumerate(shown) if message["role"] == "user"]
        if not users:
            return None
        return await world.say(number, *shown[: users[int(place * len(users))] + 1])

    async def edit(self, world: World, number: int) -> Any:
        place = self.chance.random()
        shown = (await world.view()).get("messages", [])
        users = [at for at, message in enumerate(shown) if message["role"] == "user"]
        if not users:
            return None
        at = users[int(place * len(users))]
        return await world.say(number, *shown[:at], {**shown[at], "content": f"edited {self.number}"})

    async def fail(self, world: World, number: int) -> Any:
        world.plan.append([*says("half")[:2], ProviderUnavailable("gone", reached=True)])
        return await world.say(number, self.message(world, "fail"))

    async def stumble(self, world: World, number: int) -> Any:
        """A commit fails, and is tried again."""
        world.store(number).fails = True
        return await world.say(number, self.message(world, "stumble"))

    async def hang(self, world: World, number: int) -> Any:
        """A server sleeps until another one has taken its thread, and goes on."""
        store = world.store(number)
        wakes = store.hold()
        sleeper = asyncio.create_task(world.say(number, self.message(world, "sleep")))
        await store.reached.wait()
        world.sql("UPDATE threads SET lease_until = 0 WHERE id = 't'")
        other = await world.say(1 - number, self.message(world, "awake"))
        store.held = None
        wakes.set()
        return [await sleeper, other]

    async def save(self, world: World, number: int) -> None:
        """Backs the file up."""
        source, target = sqlite3.connect(world.path), sqlite3.connect(world.saved)
        source.backup(target)
        source.close()
        target.close()

    async def restore(self, world: World, number: int) -> None:
        """Restores the backup below the servers' feet, as with a database that is another process."""
        if not world.saved.exists():
            return
        connection = sqlite3.connect(world.path, isolation_level=None)
        connection.execute(f"ATTACH '{world.saved}' AS saved")
        connection.execute("BEGIN IMMEDIATE")
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table not in ("processes", "clock") and not table.startswith("sqlite_"):
                connection.execute(f"DELETE FROM main.{table}")
                connection.execute(f"INSERT INTO main.{table} SELECT * FROM saved.{table}")
        connection.execute("COMMIT")
        connection.close()
        await SQLStore.begin_epoch(world.store(number))

    async def epoch(self, world: World, number: int) -> Any:
        """Asks again what waits, as after a restored backup. No run is in between."""
        await SQLStore.begin_epoch(world.store(number))

    async def delete(self, world: World, number: int) -> Any:
        if self.chance.random() < 0.7:
            return None
        return (await request(world.apps[number], "DELETE", "/threads/t")).status


async def walked(folder: Path, seed: int, steps: int, *, kept_bytes: int) -> list[str]:
    """Walks in one world; returns what was told and asked, step by step, and what there is in the end."""
    world, told = World(folder, kept_bytes), []
    walk = Walk(random.Random(seed))
    world.apps = [world.app(), world.app()]
    async with started(world.apps[0]), started(world.apps[1]):
        for _ in range(steps):
            step = await walk.step(world)
            world.plan.clear()
            told.append(world.clean([step, world.requests, await world.view()]))
            world.requests.clear()
        told.append(world.clean([world.ran, (await request(world.apps[0], "GET", "/approvals?state=all")).json()]))
    return told


@pytest.mark.parametrize("seed", seeds(6))
async def test_what_is_kept_changes_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same walk, with and without: equal streams, equal requests to the provider, equal records (T4, T6)."""
    monkeypatch.setattr(heartbeat, "STOP_MS", 3_600_000)  # nothing by the clock: a walk takes as long as it takes
    monkeypatch.setattr(orphan_job, "LOOK_SECONDS", 3_600)
    kept = await walked(tmp_path / "kept", seed, STEPS, kept_bytes=DEFAULTS.kept_bytes)
    anew = await walked(tmp_path / "anew", seed, STEPS, kept_bytes=0)
    for number, (one, other) in enumerate(zip(kept, anew, strict=True)):
        assert one == other, number


class Counting(SQLiteStore):
    """A store that says what it was told that is known."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.known: list[tuple[bool, bool]] = []

    async def lease_thread(self, *args: Any, **more: Any) -> Thread:
        """Leases, and notes whether anything was known, and whether it was so."""
        thread = await super().lease_thread(*args, **more)
        self.known.append(("known" in more, thread.is_known))
        return thread


async def test_a_journal_is_read_once(tmp_path: Path) -> None:
    """And with ``kept_bytes`` 0 each time."""
    for kept_bytes, known in ((DEFAULTS.kept_bytes, (True, True)), (0, (False, False))):
        store = Counting(str(tmp_path / f"{kept_bytes}.db"))
        app = create_app(Agent(name="a", model=Parrot()), store=store, settings=Settings(kept_bytes=kept_bytes))
        async with started(app):
            for number in range(3):
                await run(app, run_body("t", user("hello", f"m{number}")))
        assert store.known == [(False, False), known, known]


async def test_records_are_read_each_time(tmp_path: Path) -> None:
    """What waits has another id after a restored backup, and no run was in between."""

    @tool(gate=True)
    async def refund(order_id: str) -> str:
        """Refund."""
        return "refunded"

    store = Counting(str(tmp_path / "store.db"))
    app = create_app(Agent(name="a", model=Parrot(), tools=[refund]), store=store)
    async with started(app):
        await run(app, run_body("t", user("refund", "m1")))
        await store.begin_epoch()
        (waits,) = (await request(app, "GET", "/approvals")).json()["approvals"]
        resume = [{"interruptId": waits["id"], "status": "resolved", "payload": {"approved": True}}]
        answer = await run(app, run_body("t", resume=resume))
        assert [event["content"] for event in answer.events() if event["type"] == "TOOL_CALL_RESULT"] == ["refunded"]
        assert store.known[-1] == (True, True)


async def opened(store: SQLiteStore, run_key: str) -> leased_thread.LeasedThread:
    """The thread, leased."""
    return leased_thread.LeasedThread(store, await store.lease_thread("p", "t", "a", run_key), run_key)


async def test_only_what_is_saved_is_known(tmp_path: Path) -> None:
    """Not before the lease was given back, not with anything left to save, and not after a save that failed."""
    store = Slow(str(tmp_path / "store.db"))
    await store.start()
    said = UserEntry("m1", (Text("hello"),))
    thread = await opened(store, "r1")
    thread.append([said])
    assert thread.version() is None
    await thread.commit()
    assert thread.version() is None
    await thread.commit(status="finished")
    assert thread.version() == JournalVersion(thread.thread.key, "r1", "finished", 1)
    assert (thread.is_read_as_written(), thread.has_grown_much) == (True, False)
    thread.append([said])
    assert thread.version() is None

    thread = await opened(store, "odd")  # the store's answer has a list there
    thread.append([TurnEntry(id="t1", parts=(TextPart("p1", "hello", {"a": (1, 2)}),), origin="o")])
    await thread.commit(status="finished")
    assert (thread.version() is not None, thread.is_read_as_written()) == (True, False)

    thread = await opened(store, "r2")
    store.fails = True
    with pytest.raises(Unavailable):
        await thread.commit(status="finished")
    await thread.commit(status="finished")
    assert (thread.ended, thread.version()) == (True, None)

    thread = await opened(store, "r3")
    thread.lease.lost = True
    assert thread.version() is None
    await store.aclose()


def history(key: str = "1") -> History:
    """A history of next to nothing."""
    thread = Thread(key=key, principal="p", id="t", agent="a", created_at=0, updated_at=0, now=0)
    thread.entries = [UserEntry("m1", (Text("hello"),))]
    return History(thread, DEFAULTS)


def test_the_cache_is_bounded_and_drops_the_oldest() -> None:
    one = history()
    cache = HistoryCache(3 * one.held)
    known = JournalVersion("1", "r", "finished", 1)
    for name in "abcd":
        cache.put(("p", name), history(), known, 0.0)
    assert [name for name in "abcd" if cache.find(("p", name))] == ["b", "c", "d"]
    assert cache.size == 3 * one.held
    cache.put(("p", "b"), history(), known, 1.0)
    cache.put(("p", "e"), history(), known, 1.0)
    assert [name for name in "abcde" if cache.find(("p", name))] == ["b", "d", "e"]
    cache.expire(IDLE_SECONDS + 0.5)
    assert [name for name in "abcde" if cache.find(("p", name))] == ["b", "e"]
    cache.drop(("p", "b"))
    cache.drop(("p", "b"))
    assert cache.size == one.held
    HistoryCache(0).put(("p", "a"), history(), known, 0.0)


def used(name: str) -> tuple[History, Beginning]:
    """A history of which an adapter has made something of 1,000 bytes, in a request."""
    one, to = history(name), Audience(Viewpoint(""), "openai")
    one.transcript(to)
    beginning = one.beginning(to)
    assert beginning is not None
    beginning.made["items"] = (1, b"x" * 1000)
    return one, beginning


def test_what_adapters_made_counts_and_goes_first() -> None:
    known, least = JournalVersion("1", "r", "finished", 1), history().held
    for limit, size in ((least + 1000, least + 1000), (least + 999, least), (least - 1, 0)):
        cache = HistoryCache(limit)
        cache.put(("p", "a"), used("a")[0], known, 0.0)
        assert cache.size == size


def test_what_a_request_makes_that_was_left_is_not_kept() -> None:
    """It is made on another thread, which goes on when its run is stopped."""
    one, beginning = used("a")
    cache = HistoryCache(1 << 30)
    cache.put(("p", "a"), one, JournalVersion("1", "r", "finished", 1), 0.0)
    beginning.made["more"] = (1, b"x" * 1000)
    assert one.held == cache.size


def test_the_cache_has_only_so_many_however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "MOST_KEPT", 2)
    cache = HistoryCache(1 << 30)
    for name in "abc":
        cache.put(("p", name), history(), JournalVersion("1", "r", "finished", 1), 0.0)
    assert [name for name in "abc" if cache.find(("p", name))] == ["b", "c"]


class Claiming(SQLiteStore):
    """Its answers to claims wait for ``held``."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.reached, self.held = asyncio.Event(), asyncio.Event()

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        moved = await super().move(approval_id, to, **more)
        if to is State.CLAIMED:
            self.reached.set()
            await self.held.wait()
        return moved


@pytest.mark.parametrize("way", ["run", "http"])
async def test_what_is_still_worked_on_is_not_kept(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim was called off, and the store has not answered it: it may change the history later."""
    monkeypatch.setattr(execution, "PATIENCE", 0.01)
    monkeypatch.setattr(leased_thread, "CHECKED", False)

    @tool(gate=True)
    def refund() -> str:
        """Refund."""
        return "refunded"

    model = Parrot()
    model.plan = [[*calls("refund", {}), TurnDone()]]
    store = Claiming(str(tmp_path / "store.db"))
    app = create_app(Agent(name="a", model=model, tools=[refund]), store=store)
    async with started(app):
        await run(app, run_body("t", user("refund", "m1"), protocolVersion="1.0"))
        (waits,) = (await request(app, "GET", "/approvals")).json()["approvals"]
        engine = app.state.engine
        assert engine._leaser.cache.find(("local", "t")) is not None
        path, body = f"/approvals/{waits['id']}", b'{"approved": true}'
        entry = {"interruptId": waits["id"], "status": "resolved", "payload": {"approved": True}}
        answered = asyncio.create_task(
            request(app, "POST", path, body)
            if way == "http"
            else run(app, run_body("t", resume=[entry], protocolVersion="1.0"))
        )
        await store.reached.wait()
        await engine.cancel("local", "t")
        await answered
        assert engine._leaser.cache.find(("local", "t")) is None
        store.held.set()


async def test_no_run_is_kept_alive(tmp_path: Path) -> None:
    """Of what a run is made of nothing hangs on what is kept."""
    made: list[weakref.ref[Any]] = []

    class Noted(leased_thread.LeasedThread):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(weakref.ref(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leased_thread, "LeasedThread", Noted)
        app = create_app(Agent(name="a", model=Parrot()), store=f"sqlite:///{tmp_path / 'store.db'}")
        async with started(app):
            for number in range(3):
                await run(app, run_body("t", user("hello", f"m{number}")))
            await asyncio.sleep(0)
            gc.collect()
            assert [one() for one in made] == [None] * 3


async def test_what_a_client_sent_is_known_while_its_thread_is(tmp_path: Path) -> None:
    decoded: list[bool] = []

    def known(*args: Any) -> Any:
        run = decode_new(*args)
        decoded.append(run is None)
        return run

    messages = history_sent(1000)
    app = create_app(Agent(name="a", model=Parrot()), store=SQLiteStore(str(tmp_path / "store.db")))
    with patch.object(sent_messages, "decode_new", known):
        async with started(app):
            engine = app.state.engine
            for number, expected in enumerate((True, False, False, True)):
                if number == 3:
                    await request(app, "PATCH", "/threads/t", b'{"title": "another"}')
                    engine._leaser.forget("local", "t")
                messages.append(user("hello", f"m{number}"))
                answer = await run(app, run_body("t", *messages))
                assert answer.events()[-1]["type"] == "RUN_FINISHED"
                said = next(event for event in answer.events() if event["type"] == "TEXT_MESSAGE_START")
                messages.append({"id": said["messageId"], "role": "assistant", "content": "ok"})
                await looked_at()
                assert decoded[-1] is expected
                if number < 3:
                    put = engine._leaser.cache.find(("local", "t"))
                    assert put.size >= put.history.sent.held >= len(put.history.sent.cut()[0])
            assert engine.sent_before("local", "t") is not None
            assert engine.sent_before("another", "t") is None


def test_what_a_client_sent_counts_and_goes_first() -> None:
    known, least = JournalVersion("1", "r", "finished", 1), history().held
    for limit, size in ((least + 1000, least + 1000), (least + 999, least), (least - 1, 0)):
        cache, one = HistoryCache(limit), history()
        one.sent = SentMessages(b"x" * 500, [], 1000)
        cache.put(("p", "a"), one, known, 0.0)
        assert cache.size == size
        assert (cache.sent("p", "a") is not None) is (size > least)


async def looked_at() -> None:
    """Waits until the thread for heavy work has done what it was given before."""
    await concurrency.off_loop(lambda: None)
    await asyncio.sleep(0)


async def grown(tmp_path: Path, more: int = 1000) -> leased_thread.LeasedThread:
    """A thread to which one run has added a lot."""
    store = SQLiteStore(str(tmp_path / "store.db"))
    await store.start()
    thread = await opened(store, "r1")
    thread.append(UserEntry(f"m{number}", (Text("hello"),)) for number in range(more))
    await thread.commit(status="finished")
    await store.aclose()
    assert thread.has_grown_much
    return thread


async def test_a_history_that_grew_much_is_kept_once_it_was_looked_at(tmp_path: Path) -> None:
    thread, place = await grown(tmp_path), ("p", "t")
    known = thread.version()
    assert known is not None
    cache = HistoryCache(1 << 30)
    put_later(cache, place, thread, known)
    assert cache.find(place) is None
    await looked_at()
    kept = cache.find(place)
    assert kept is not None
    assert (kept.history, kept.known, cache.awaited) == (thread.history, known, {})

    put_later(cache, place, thread, known)
    cache.drop(place)  # leased, changed, or deleted
    await looked_at()
    assert (cache.find(place), cache.size, cache.awaited) == (None, 0, {})

    small = HistoryCache(thread.history.held - 1)
    put_later(small, place, thread, known)
    await looked_at()
    assert (small.find(place), small.size) == (None, 0)


async def test_few_histories_wait_to_be_looked_at(tmp_path: Path) -> None:
    thread = await grown(tmp_path)
    known = thread.version()
    assert known is not None
    cache = HistoryCache(1 << 30)
    for number in range(MOST_AWAITED + 1):
        put_later(cache, ("p", str(number)), thread, known)
    await looked_at()
    assert [cache.find(("p", str(number))) is None for number in range(MOST_AWAITED + 1)] == [*[False] * 4, True]


async def test_a_history_that_is_not_read_as_written_is_not_kept(tmp_path: Path) -> None:
    thread = await grown(tmp_path)
    known = thread.version()
    assert known is not None
    thread._added.append(TurnEntry(id="t1", parts=(TextPart("p1", "hello", {"a": (1, 2)}),), origin="o"))
    cache = HistoryCache(1 << 30)
    put_later(cache, ("p", "t"), thread, known)
    await looked_at()
    assert (cache.find(("p", "t")), cache.awaited) == (None, {})


async def test_a_history_that_can_not_be_looked_at_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = await grown(tmp_path)
    known, failed = thread.version(), list[Any]()
    assert known is not None
    monkeypatch.setattr(thread, "_added", None)
    asyncio.get_running_loop().set_exception_handler(lambda _, about: failed.append(about))
    cache = HistoryCache(1 << 30)
    put_later(cache, ("p", "t"), thread, known)
    await looked_at()
    assert (cache.find(("p", "t")), cache.awaited, failed) == (None, {}, [])


def test_what_a_call_came_to_is_read_at_once() -> None:
    known = history()
    known.append([TurnEntry("turn", (CallPart("call-a1", "c", "refund", "{}", "m", kind="gated"),))])
    known.record(gated())
    waits = known.transcript()
    known.record(gated(state=State.DONE, output=Output("paid")))
    assert known.transcript() != waits


async def test_the_engine_drops_what_nobody_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(Agent(name="a", model=Parrot()), store="memory://")
    async with started(app):
        await run(app, run_body("t", user("hello", "m1")))
        leaser = app.state.engine._leaser
        assert leaser.cache.find(("local", "t")) is not None
        monkeypatch.setattr(histories, "IDLE_SECONDS", -1.0)
        await app.state.engine._tidy()
        assert leaser.cache.find(("local", "t")) is None


async def test_the_collector_looks_at_a_long_history_while_it_is_new() -> None:
    """Later it took 10 ms to look at those of thirty threads."""
    said = [UserEntry(f"m{number}", (Text("hi"),)) for number in range(1_000)]
    entries = [*said, TurnEntry("t", (TextPart("t", "ok"),))]
    thread = Thread(key="k", principal="p", id="t", agent="a", created_at=0, updated_at=0, now=0, entries=entries)
    History(thread, DEFAULTS).transcript()
    assert not any(gc.is_tracked(entry.content) for entry in said)
