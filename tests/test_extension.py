"""What the server promises to extensions (`agui_gate.extension`), and what no extension can do to the server."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from structlog.testing import capture_logs

from agui_gate import Agent, create_app, tool
from agui_gate.approvals import outbox
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError, NotFound, Unavailable
from agui_gate.extension import Extension, Hint, Notice, RunInput, Server
from agui_gate.runs import extensions
from agui_gate.stores.base import STOP_MS
from agui_gate.stores.memory import MemoryStore
from tests.product.inprocess import TIMEOUT, Parrot, request, run_body, started

pytestmark = pytest.mark.anyio

REFUND = {"id": "u", "role": "user", "content": "refund"}
HELLO = {"id": "u", "role": "user", "content": "hello"}


@tool(gate=True)
def refund(order_id: str) -> str:
    """Refund."""
    return f"refunded {order_id}"


def app_with(*mine: Extension, store: Any = "memory://", **settings: Any) -> Any:
    agent = Agent(name="support", model=Parrot(), tools=[refund], hitl="interrupt")
    return create_app(agent, store=store, settings=Settings(**settings), extensions=mine)


async def run(app: Any, *messages: dict[str, Any], thread: str = "t") -> list[Any]:
    body = json.dumps(run_body(thread, *messages)).encode()
    return (await request(app, "POST", "/", body)).events()


class Recorder(Extension):
    """Writes down which of its hooks were called."""

    def __init__(self, log: list[str] | None = None, name: str = "") -> None:
        self.log = [] if log is None else log
        self.name = name
        self.hints: list[Hint] = []
        self.told: list[Notice] = []
        self.more = asyncio.Event()

    def _note(self, hook: str) -> None:
        self.log.append(f"{hook} {self.name}".strip())

    async def start(self, server: Server) -> None:
        self._note("start")
        assert (await server.store.list_approvals("local", limit=1)).approvals == [], "the store is open"

    def drain(self) -> None:
        self._note("drain")

    async def stop(self) -> None:
        self._note("stop")

    def written(self, hint: Hint) -> None:
        self.hints.append(hint)

    async def notices(self, batch: Sequence[Notice]) -> None:
        self.told += batch
        self.more.set()

    async def until(self, kind: str) -> None:
        async with asyncio.timeout(TIMEOUT):
            while kind not in [notice.kind for notice in self.told]:
                self.more.clear()
                await self.more.wait()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notices are delivered without the second in which more may gather."""
    monkeypatch.setattr(outbox, "GATHER_SECONDS", 0.001)


# --- routes


class Routes(Extension):
    def routes(self, server: Server) -> Sequence[Route]:
        async def show(request: Request) -> Response:
            principal = await server.principal(request)
            approval = await server.store.approval(principal, request.path_params["id"])
            if approval is None:
                raise NotFound("There is no such approval.")
            return JSONResponse(server.record(approval))

        async def echo(request: Request) -> Response:
            return JSONResponse({"by": await server.principal(request), "said": (await server.body(request)).decode()})

        async def mine(request: Request) -> Response:
            return JSONResponse("mine")

        everywhere = [Route(path, mine) for path in ("/", "/agents", "/healthz", "/copilotkit/info", "/page/x")]
        return [Route("/mine/{id}", show), Route("/mine", echo, methods=["POST"]), *everywhere]


async def test_a_route_knows_who_asks_and_shows_a_record_as_the_server_does() -> None:
    async with started(app_with(Routes(), tokens="alice:A,bob:B")) as app:
        alice, bob = {"authorization": "Bearer A"}, {"authorization": "Bearer B"}
        body = json.dumps(run_body("t", REFUND)).encode()
        await request(app, "POST", "/", body, alice)
        (asked,) = (await request(app, "GET", "/approvals", headers=alice)).json()["approvals"]
        own = await request(app, "GET", f"/approvals/{asked['id']}", headers=alice)
        assert (await request(app, "GET", f"/mine/{asked['id']}", headers=alice)).json() == own.json()
        for headers, status, code in ((bob, 404, "not_found"), ({}, 401, "unauthorized")):
            answer = await request(app, "GET", f"/mine/{asked['id']}", headers=headers)
            assert (answer.status, answer.json()["error"]["code"]) == (status, code)


async def test_a_body_is_within_the_limits_of_the_server() -> None:
    async with started(app_with(Routes(), max_body_bytes=1024)) as app:
        said = await request(app, "POST", "/mine", b'{"a":1}')
        assert said.json() == {"by": "local", "said": '{"a":1}'}
        assert (await request(app, "POST", "/mine", b'"' + b"x" * 2000 + b'"')).status == 413
        assert (await request(app, "POST", "/mine", b"a=1", {"content-type": "text/plain"})).status == 415


async def test_a_route_starts_the_server_where_no_request_did() -> None:
    """As in a mounted application, whose lifespan nobody runs."""
    app = app_with(Routes())
    assert (await request(app, "GET", "/mine/none")).status == 404
    await app.state.engine.aclose()


async def test_no_route_replaces_one_of_the_server() -> None:
    async with started(app_with(Routes())) as app:
        for path in ("/", "/agents", "/healthz", "/copilotkit/info", "/page/x"):
            assert (await request(app, "GET", path)).body != b'"mine"', path


# --- start and stop


@pytest.mark.parametrize("wrong", [Extension, "webhook", object()])
def test_what_is_no_extension_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="extension"):
        app_with(wrong)


async def test_all_start_before_the_first_run_and_stop_after_the_last_one_each_time() -> None:
    log: list[str] = []
    app = app_with(Recorder(log, "a"), Recorder(log, "b"))
    for _ in range(2):
        async with started(app):
            assert log == ["start a", "start b"]
        assert log == ["start a", "start b", "drain a", "drain b", "drain a", "drain b", "stop a", "stop b"]
        log.clear()


async def test_a_run_in_flight_is_seen_through_between_drain_and_stop() -> None:
    log: list[str] = []
    begun, go = asyncio.Event(), asyncio.Event()

    @tool
    async def look() -> str:
        """Look."""
        begun.set()
        await go.wait()
        log.append("ran")
        return "seen"

    class Drains(Recorder):
        def drain(self) -> None:
            super().drain()
            go.set()

    from tests.support.house import DONE, LOOKS

    agent = Agent(name="support", model=Parrot([LOOKS, DONE]), tools=[look])
    mine = Drains(log)
    app = create_app(agent, store="memory://", settings=Settings(), extensions=[mine])
    async with app.router.lifespan_context(app):
        running = asyncio.ensure_future(run(app, HELLO))
        await begun.wait()
        app.state.drain_seconds = TIMEOUT
    assert (await running)[-1]["type"] == "RUN_FINISHED"
    assert [one for one in log if one != "drain"] == ["start", "ran", "stop"]
    assert log.index("drain") < log.index("ran")
    assert mine.hints[-1].what == "ended"


class FailsToStart(Recorder):
    async def start(self, server: Server) -> None:
        raise ConfigurationError("no key")


class NeverStarts(Recorder):
    async def start(self, server: Server) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize(("last", "said"), [(FailsToStart, "no key"), (NeverStarts, "NeverStarts did not start")])
async def test_one_that_does_not_start_fails_the_start_and_leaves_nothing_open(
    last: type[Recorder], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extensions, "START_SECONDS", 0.01)
    first, store = Recorder(), MemoryStore()
    app = app_with(first, last(), store=store)
    for _ in range(2):  # the next request may try again
        with pytest.raises(ConfigurationError, match=said):
            await app.state.engine.start()
    assert first.log == ["start", "stop"] * 2
    with pytest.raises(Unavailable):
        await store.check()


class Speechless(MemoryStore):
    """It can't be told who reads notices, the first time."""

    told = 0

    async def want_runs(self, wanted: bool) -> None:
        self.told += 1
        if self.told == 1:
            raise Unavailable("The store is locked.")
        await super().want_runs(wanted)


async def test_a_store_that_is_lost_once_they_have_started_fails_the_start_and_leaves_nothing_open() -> None:
    mine, store = Recorder(), Speechless()
    app = app_with(mine, store=store)
    with pytest.raises(Unavailable, match="locked"):
        await app.state.engine.start()
    assert mine.log == ["start", "stop"]
    with pytest.raises(Unavailable):
        await store.check()
    async with started(app):
        await run(app, HELLO)
        await mine.until("run_ended")
        assert mine.log == ["start", "stop", "start"]


# --- hints, notices


async def test_hints_and_notices_of_an_approval_and_of_its_run() -> None:
    mine = Recorder()
    async with started(app_with(mine)) as app:
        await run(app, REFUND)
        await mine.until("run_ended")
        (asked,) = (await request(app, "GET", "/approvals")).json()["approvals"]
        assert {hint.what for hint in mine.hints} == {"approvals", "ended"}
        assert {(hint.principal, hint.thread_id, hint.here) for hint in mine.hints} == {("local", "t", True)}
        pending, ended = mine.told
        assert (pending.kind, pending.about) == ("approval_pending", asked["id"])
        assert (ended.kind, json.loads(ended.body)) == ("run_ended", {"status": "waiting"})
        await request(app, "POST", f"/approvals/{asked['id']}", b'{"approved":true}')
        await mine.until("approval_decided")
        assert (mine.told[2].principal, mine.told[2].thread_id, mine.told[2].about) == ("local", "t", asked["id"])


async def test_what_is_written_while_nobody_listens_is_told_later(tmp_path: Path) -> None:
    """By a server that has no such extension, or by one that died."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    plain = app_with(store=url)
    plain.state.engine._courier = None
    await plain.state.engine.store.start()
    thread = await plain.state.engine.store.lease_thread("local", "t", "support", "run_1")
    await plain.state.engine.store.commit(thread, extension_change(), "run_1")
    await plain.state.engine.store.aclose()
    mine = Recorder()
    async with started(app_with(mine, store=url)):
        await mine.until("run_ended")


def extension_change() -> Any:
    from agui_gate.stores.base import Change

    return Change(status="finished")


# --- separate runs


class Apart(Extension):
    def separate_run(self, agent: Agent, run: RunInput) -> Agent | None:
        return Agent(name="other", model=Parrot()) if run.thread_id == "aside" else None


async def test_a_separate_run_is_answered_apart_from_its_thread() -> None:
    async with started(app_with(Apart())) as app:
        apart = await run(app, REFUND, thread="aside")
        assert apart[-1]["type"] == "RUN_FINISHED"
        assert (await request(app, "GET", "/threads/aside")).status == 404
        assert (await request(app, "GET", "/approvals")).json()["approvals"] == []
        await run(app, REFUND)
        assert len((await request(app, "GET", "/approvals")).json()["approvals"]) == 1


# --- what no extension can do


class Fails(Extension):
    """Raises in every hook but `start`."""

    def drain(self) -> None:
        raise ValueError("drain")

    async def stop(self) -> None:
        raise ValueError("stop")

    async def tick(self) -> None:
        raise ValueError("tick")

    def written(self, hint: Hint) -> None:
        raise ValueError("written")

    async def notices(self, batch: Sequence[Notice]) -> None:
        raise ValueError("notices")

    def separate_run(self, agent: Agent, run: RunInput) -> Agent | None:
        raise ValueError("separate_run")


class Hangs(Extension):
    """Comes back from no hook, not even when it is cancelled."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.tasks: set[asyncio.Task[Any]] = set()

    async def _hang(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                continue

    async def stop(self) -> None:
        await self._hang()

    async def tick(self) -> None:
        await self._hang()

    async def notices(self, batch: Sequence[Notice]) -> None:
        await self._hang()


class CancelsItself(Extension):
    """Gives up what it does itself, which is a failure as any other."""

    async def tick(self) -> None:
        raise asyncio.CancelledError

    async def notices(self, batch: Sequence[Notice]) -> None:
        raise asyncio.CancelledError

    async def stop(self) -> None:
        raise asyncio.CancelledError


@asynccontextmanager
async def beside(bad: Extension, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Any, Recorder]]:
    """A server with a bad extension and a good one, in which everything has little time."""
    from agui_gate import concurrency

    for module, name in (
        (outbox, "TELL_SECONDS"),
        (extensions, "TICK_SECONDS"),
        (extensions, "STOP_SECONDS"),
        (concurrency, "LEAVE_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 0.01)
    good = Recorder()
    app = app_with(bad, good)
    async with asyncio.timeout(TIMEOUT):
        async with started(app):
            app.state.engine.extensions.tick()
            yield app, good
    assert good.log[-1] == "stop"


@pytest.mark.parametrize("bad", [Fails, Hangs, CancelsItself])
async def test_a_bad_one_hinders_no_run_no_decision_and_no_other_extension(
    bad: type[Extension], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = bad()
    async with beside(one, monkeypatch) as (app, good):
        assert (await run(app, REFUND))[-1]["type"] == "RUN_FINISHED"
        (asked,) = (await request(app, "GET", "/approvals")).json()["approvals"]
        decided = await request(app, "POST", f"/approvals/{asked['id']}", b'{"approved":true}')
        assert decided.json()["result"] == "refunded A1"
        await good.until("approval_decided")
        assert (await run(app, REFUND, {"id": "v", "role": "user", "content": "hello"}))[-1]["type"] == "RUN_FINISHED"
    if isinstance(one, Hangs):
        one.let_go.set()
        await asyncio.wait(one.tasks)


async def test_of_failures_in_a_row_the_first_is_logged() -> None:
    with capture_logs() as logs:
        async with started(app_with(Fails())) as app:
            for text in ("hello", "and again"):
                await run(app, {"id": text, "role": "user", "content": text}, thread=text)
    hooks = [log["hook"] for log in logs if log["event"] == "extension_failed"]
    assert sorted(set(hooks) - {"tick"}) == ["drain", "separate_run", "stop", "written"]
    assert hooks.count("separate_run") == hooks.count("written") == 1
    assert {log["extension"] for log in logs if log["event"] == "extension_failed"} == {f"{__name__}.Fails"}


async def test_ticks_never_overlap_and_one_that_takes_too_long_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, ended = asyncio.Event(), list[str]()

    class Slow(Extension):
        async def tick(self) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")

    made = extensions.Extensions([Slow()])
    made.tick()
    made.tick()
    assert len(made._ticks) == 1
    await begun.wait()
    await made.stop()
    assert (made._ticks, ended) == ({}, ["cancelled"])
    monkeypatch.setattr(extensions, "TICK_SECONDS", 0.001)
    made.tick()
    (second,) = made._ticks.values()
    async with asyncio.timeout(TIMEOUT):
        await second
    assert (made._ticks, ended) == ({}, ["cancelled", "cancelled"])
    made.tick()
    await made.stop()  # before the tick could begin


def test_a_tick_may_take_as_long_as_a_beat() -> None:
    assert extensions.TICK_SECONDS == STOP_MS / 1000
